"""The sort order of texts in JavaScript."""

from __future__ import annotations

import unicodedata

_ORDER = "\t\n\x0b\x0c\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
_WEIGHTS = {character: weight for weight, character in enumerate(_ORDER)}


def collation_key(text: str) -> tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...]]:
    """Return a sort key for the order of JavaScript's `localeCompare`, which other tools use.

    It is the root order of the Unicode collation: first by the letters alone (punctuation before digits before letters,
    ignoring case), then by accents, then lower before upper case. For ASCII this is exact; other scripts are sorted by
    their base letters, which is correct for one script at a time and good enough to recognise a hash.
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
        elif unicodedata.category(character) != "Cc":  # control characters are ignored
            letters.append(len(_ORDER) + ord(small[0]))
            accents.append(0)
            capitals.append(small != character)
    return tuple(letters), tuple(accents), tuple(capitals)
