"""The words that a text must contain for an expression to match, derived from the expression.

A need is a set of word beginnings, one of which must be in the text: `\\b(?:send|post)\\b.{0,40}\\bkeys?\\b` needs
`send` or `post`, and `key` or `keys`. An expression with alternatives has several ways to match, each with its own
needs. A text is split into words once, and only expressions whose needs its words meet are compiled and tried. Words
are identified by their first eight letters; a shorter beginning of a longer word ends in `*`.

Deriving needs takes longer than matching, so the needs of all shipped expressions are prepared in
`data/literals.json`, which `benchmarks/literals.py` writes and a test compares. Any other expression is always tried.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from whet.guard.expression import expression
from whet.guard.tables import load_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

Needs = tuple[tuple[frozenset[str], ...], ...]
"""The ways to match an expression, each with its needs."""
FLAGS = re.IGNORECASE | re.MULTILINE
LENGTH = 8
"""Number of letters that identify a word."""
_KNOWN = 100_000
_WORD = expression(r"[^\W_]+")
_LETTERS = bytes(code if chr(code).isascii() and chr(code).isalnum() else 32 for code in range(256)).lower()
_ASCII = bytes(range(128))
_ROWS = _LETTERS[:10] + b"\n" + _LETTERS[11:]


def vocabulary(text: str) -> set[str]:
    """Return the words of a text in lower case; `_` and all punctuation separate words."""
    if has_foreign_letters(text):
        return set(_WORD.findall(text.lower()))
    return set(text.encode("ascii", "replace").translate(_LETTERS).decode().split())


@lru_cache(maxsize=4)
def has_foreign_letters(text: str) -> bool:
    """Return whether there are letters beyond ASCII. Dashes, arrows and emoji, which most texts have, do not count."""
    if text.isascii():
        return False
    rest = text.encode("utf-8", "replace").translate(None, _ASCII).decode()
    return any(map(str.isalnum, set(rest)))


def _row_words(rows: Sequence[str]) -> list[Collection[str]]:
    """Return the words of each row."""
    whole = "\n".join(rows)
    if whole.count("\n") == len(rows) - 1 and not has_foreign_letters(whole):
        return [row.split() for row in whole.encode("ascii", "replace").translate(_ROWS).decode().split("\n")]
    return [vocabulary(row) for row in rows]


class Way(NamedTuple):
    """One way to match an expression: its rarest need, as a number, and all its needs, as bits."""

    regex: str
    rarest: int
    mask: int


class Literals:
    """The needs of several expressions, each a bit, so that the needs which a text meets are one number."""

    __slots__ = ("_always", "_dull", "_known", "_telling", "_ways", "_whole", "_within")

    def __init__(self, expressions: Iterable[str], prepared: Callable[[str], Needs] | None = None) -> None:
        numbers: dict[frozenset[str], int] = {}
        self._always: list[str] = []
        self._ways: dict[int, list[Way]] = {}
        for regex in expressions:
            for way in (prepared or needs)(regex):
                if not way:
                    self._always.append(regex)
                    continue
                bits = [numbers.setdefault(need, len(numbers)) for need in way]
                self._ways.setdefault(bits[0], []).append(Way(regex, bits[0], sum(1 << bit for bit in bits)))
        self._whole: dict[str, list[int]] = {}
        self._within: dict[str, list[int]] = {}
        for need, number in numbers.items():
            for key in need:
                table = self._within if key.endswith("*") else self._whole
                table.setdefault(key.rstrip("*"), []).append(number)
        self._known: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._telling: set[str] = set()
        self._dull: set[str] = set()

    def met(self, text: str) -> set[str]:
        """Return the expressions that may match a text, by its words."""
        return {*self._always, *(way.regex for way in self._live(self._tell(vocabulary(text))))}

    def rows(self, rows: Sequence[str]) -> dict[str, Collection[int]]:
        """Return the expressions that may match, each with the numbers of the rows."""
        found: dict[str, Collection[int]] = {regex: range(len(rows)) for regex in self._always}
        words = _row_words(rows)
        told = self._tell(set().union(*words))
        live = self._live(told)
        if not live:
            return found
        where: dict[int, list[int]] = {way.rarest: [] for way in live}
        wanted = 0
        for way in live:
            wanted |= way.mask
        telling: dict[str, tuple[int, tuple[int, ...]]] = {}
        for word in told:
            bits, rarest = self._known[word]
            if bits & wanted:
                telling[word] = bits, tuple(one for one in rarest if one in where)
        rare = {word for word, (_, rarest) in telling.items() if rarest}
        common = set(telling)
        met = [0] * len(rows)
        for number, row in enumerate(words):
            if rare.isdisjoint(row):
                continue
            mask = 0
            for word in common.intersection(row):
                bits, rarest = telling[word]
                mask |= bits
                for one in rarest:
                    where[one].append(number)
            met[number] = mask
        chosen: dict[str, set[int]] = {}
        for regex, rarest_, mask in live:
            if numbers := [number for number in where[rarest_] if met[number] & mask == mask]:
                chosen.setdefault(regex, set()).update(numbers)
        found.update((regex, sorted(numbers)) for regex, numbers in chosen.items())
        return found

    def _tell(self, words: set[str]) -> set[str]:
        """Return the words that an expression needs."""
        if len(self._dull) > _KNOWN:
            self._dull.clear()
            self._telling.clear()
            self._known.clear()
        for word in words.difference(self._dull).difference(self._telling):
            self._learn(word)
        return words.intersection(self._telling)

    def _live(self, words: set[str]) -> list[Way]:
        """Return the ways whose needs the words meet."""
        mask = 0
        rarest: set[int] = set()
        for word in words:
            bits, rare = self._known[word]
            mask |= bits
            rarest.update(rare)
        ways = chain.from_iterable(map(self._ways.__getitem__, rarest))
        return [way for way in ways if mask & (needed := way[2]) == needed]

    def _learn(self, word: str) -> None:
        numbers = {*self._whole.get(word[:LENGTH], ())}.union(
            *(self._within.get(word[:end], ()) for end in range(1, LENGTH))
        )
        if not numbers:
            self._dull.add(word)
            return
        rarest = tuple(number for number in numbers if number in self._ways)
        self._known[word] = sum(1 << number for number in numbers), rarest
        self._telling.add(word)


@lru_cache(maxsize=4096)
def needs(regex: str) -> Needs:
    """Return the needs of an expression: all needs of at least one way must be met."""
    prepared = _prepared().get(key_of(regex))
    return ((),) if prepared is None else tuple(tuple(map(frozenset, way)) for way in prepared)


def key_of(regex: str) -> str:
    """Return the key of an expression in the prepared table."""
    return f"{crc32(regex.encode()):08x}"


@cache
def _prepared() -> dict[str, list[list[list[str]]]]:
    table: dict[str, list[list[list[str]]]] = load_table("literals")
    return table


@cache
def all_beginnings() -> frozenset[str]:
    """Return the first four letters of the words that any shipped expression needs; shorter words are whole."""
    keys = (key for ways in _prepared().values() for way in ways for need in way for key in need)
    return frozenset(key[:4] for key in keys if "*" not in key[:4])
