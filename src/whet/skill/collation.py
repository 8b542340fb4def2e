"""The order in which programs written in JavaScript sort texts."""

from __future__ import annotations

import unicodedata

_ORDER = "\t\n\x0b\x0c\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
_WEIGHTS = {character: weight for weight, character in enumerate(_ORDER)}


def collation_key(text: str) -> tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...]]:
    """Texts sorted by this are in the order of JavaScript's `localeCompare`; other tools sort by it.

    It is the root order of the Unicode collation: first by the letters alone (punctuation before digits before letters,
    no matter whether small or capital), then by accents, then small before capital. For ASCII this is exact; other
    scripts are sorted by their base letters, which is right for one script at a time and good enough to recognise a
    hash.
    """
    letters: list[int] = []
    accents: list[int] = []
    capitals: list[bool] = []
    for character in text if text.isascii() else unicodedata.normalize("NFD", text):
        small = character.lower()
        if unicodedata.combining(character):
            accents.append(ord(character))
        elif small in _WEIGHTS:
            letters.append(_WEIGHTS[small])
            accents.append(0)
            capitals.append(small != character)
        elif unicodedata.category(character) != "Cc":  # a control character counts for nothing
            letters.append(len(_ORDER) + ord(small[0]))
            accents.append(0)
            capitals.append(small != character)
    return tuple(letters), tuple(accents), tuple(capitals)
