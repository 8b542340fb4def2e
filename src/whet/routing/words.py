"""English words for messages in other languages and for kinds of files.

`words.txt` lists common requests, `files.txt` common kinds of files. It is not a dictionary: words that are not
listed stay as they are, so that names, technical words and skills in the language of the message are still found.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from unicodedata import combining, normalize

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.terms import WIDE, is_common, split_scripts, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_TOKEN = compile_late(r"[^\W_]+(?:['’][^\W_]+)?|[\W_]+")
_LANGUAGE = "@"
"""Prefix of a line of small words."""
_TELLING = 7
"""Minimum length of a listed word that is translated even if no small word identifies the language."""


class Words(NamedTuple):
    """The entries of the table, without case and accents."""

    whole: Mapping[str, Sequence[str]]
    """English words for each word, most common first."""
    starts: Mapping[str, Sequence[str]]
    """English words for each beginning of a word."""
    wide: Sequence[tuple[str, Sequence[str]]]
    """Words of scripts without spaces and their English words, longest first; none for small words."""


class Reading(NamedTuple):
    """A message in another language."""

    own: str
    """The message without its small words."""
    english: str
    """The message in English, as far as the table has its words."""


def read_message(message: str, known: Callable[[str], bool]) -> Reading | None:
    """Translate a message in another language to English; return None for an English message.

    If a word has several English words, the first that is `known` is used.
    """
    small = small_words()
    heard = [_fold(word) for word in split_words(message)]
    told = Counter(language for plain in heard for language in small.get(plain, ()))
    english = sum(map(is_common, heard))
    language, most = max(told.items(), key=lambda row: row[1], default=("", 0))
    foreign = most > english
    if not foreign and english and message.isascii():
        return None
    words, tokens = table(), [part for token in _TOKEN.findall(message) for part in split_scripts(token)]

    def choose(meant: Sequence[str]) -> str:
        return next(filter(known, meant), meant[0])

    own: list[str] = []
    read: list[str] = []
    for token in tokens:
        kept, meant, plain = token, token, _fold(token)
        if plain >= WIDE:
            meant = _in_english(token, words, choose)
        elif foreign and language in small.get(plain, ()):
            kept = meant = ""
        elif foreign or len(plain) >= _TELLING:
            others = _meant(plain, words)
            meant = choose(others) if others else token
        own.append(kept)
        read.append(meant)
    found = Reading("".join(own), "".join(read))
    return None if found.english == message else found


def _in_english(text: str, words: Words, choose: Callable[[Sequence[str]], str]) -> str:
    """Translate a text without spaces; unknown words are left out unless all are unknown."""
    found: list[str] = []
    rest = text
    while rest:
        word, meant = next((row for row in words.wide if rest.startswith(row[0])), (rest[0], ()))
        if meant:
            found.append(choose(meant))
        rest = rest[len(word) :]
    return f" {' '.join(found)} " if found else text


def file_words(paths: Iterable[str]) -> tuple[str, ...]:
    """Return English words for the kinds of these files, without duplicates."""
    names = (path.replace("\\", "/").rpartition("/")[2].casefold() for path in paths)
    keys = (key for name in names for key in (name, os.path.splitext(name)[1]))
    return tuple(dict.fromkeys(word for key in keys for word in file_kinds().get(key, ())))


def _meant(plain: str, words: Words) -> Sequence[str]:
    """Return the English words for a word."""
    if plain in words.whole:
        return words.whole[plain]
    return next((words.starts[plain[:end]] for end in range(len(plain), 2, -1) if plain[:end] in words.starts), ())


@cache
def small_words() -> Mapping[str, Sequence[str]]:
    """Return small words, without case and accents, and their languages."""
    small: dict[str, list[str]] = {}
    for language, listed in _rows("words.txt"):
        if language.startswith(_LANGUAGE):
            for word in _fold(listed.strip()).split():
                small.setdefault(word, []).append(language)
    return small


@cache
def table() -> Words:
    """Return the table for messages in other languages, loaded on first use because most messages are English."""
    whole: dict[str, Sequence[str]] = {}
    starts: dict[str, Sequence[str]] = {}
    wide: dict[str, Sequence[str]] = {}
    for head, listed in _rows("words.txt"):
        english = () if head.startswith(_LANGUAGE) else head.split()
        for word in listed.split():
            if word >= WIDE:
                wide.setdefault(word, english)
            elif english:
                kept = starts if word.endswith("*") else whole
                kept.setdefault(_fold(word.removesuffix("*")), english)
    return Words(whole, starts, sorted(wide.items(), key=lambda row: -len(row[0])))


@cache
def file_kinds() -> Mapping[str, Sequence[str]]:
    """Return English words for each file name or suffix."""
    files: dict[str, list[str]] = {}
    for english, listed in _rows("files.txt"):
        for name in listed.split():
            files.setdefault(name, []).extend(english.split())
    return files


def _rows(name: str) -> Iterator[tuple[str, str]]:
    """Yield the text before the colon of each line of a table, and the words after it."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        for line in file:
            head, colon, listed = line.partition(":")
            if colon and not head.startswith("//"):
                yield head, listed


def _fold(word: str) -> str:
    """Return a word without case and accents."""
    plain = word.casefold()
    if plain.isascii() or plain >= WIDE:
        return plain
    return "".join(one for one in normalize("NFKD", plain) if not combining(one))
