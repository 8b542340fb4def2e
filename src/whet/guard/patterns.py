"""Rules that are patterns: words that must be there, and a regular expression that must match.

The words are looked up first, as a set, so that a text pays only for the few patterns whose words it contains, and
most patterns are never even compiled. Expressions are matched without regard to case, on canonical text, with bounded
repetitions only (a test of the house looks at every one of them), so that no text can make a scan hang.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.finding import Hit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from whet.guard.finding import Severity

WORD = re.compile(r"[^\W_]+")
"""Words for the first look: letters and digits; `_`, `-`, `.` and `/` part them."""
_BEGINNING = re.compile(r"([^\W_]{1,4})[^\W_]*")
EVIDENCE = 200
"""Characters of evidence that a finding shows."""


class Pattern(NamedTuple):
    """One way in which a rule shows."""

    rule: str
    words: str
    """What must be there, in lower case: alternatives parted by `|`, several needs by a blank: `curl|wget bash|sh`."""
    regex: str
    unless: str = ""
    """An expression that, found on the same line, says it is something else."""
    severity: Severity | None = None


def vocabulary(text: str) -> frozenset[str]:
    """The words of a text, in lower case."""
    return frozenset(WORD.findall(text.lower()))


def search(patterns: Sequence[Pattern], text: str, words: Collection[str]) -> Iterator[tuple[Pattern, re.Match[str]]]:
    """Every match of every pattern whose words are there; at most a few for each pattern."""
    for pattern in patterns:
        if all(any(word in words for word in need) for need in needs(pattern.words)):
            yield from _matches(pattern, text)


def hits(patterns: Sequence[Pattern], text: str, words: Collection[str]) -> Iterator[Hit]:
    """The matches as hits, with the line they begin in."""
    for pattern, match in search(patterns, text, words):
        yield Hit(pattern.rule, line_of(text, match.start()), shorten(match[0]), pattern.severity)


class Rows:
    """A text by its rows, and the rows that each beginning of a word stands in: most patterns look at few rows only.

    Words are known by their first four letters, so that `ignore` is also found where `ignoring` stands. What is asked
    for must be known beforehand (`needs_of`): only needs that the whole text meets are looked for in its rows.
    """

    __slots__ = ("_met", "_present", "_where", "_words", "rows")

    def __init__(self, rows: Sequence[str], asked: Mapping[str, tuple[frozenset[str], ...]]) -> None:
        self.rows = rows
        self._words = [_BEGINNING.findall(row.lower()) for row in rows]
        self._present = present = set[str]().union(*self._words)
        self._met: dict[str, tuple[frozenset[str], ...]] = {}
        for words, needs_ in asked.items():
            for need in needs_:
                if present.isdisjoint(need):
                    break
            else:
                self._met[words] = needs_
        self._where: dict[str, set[int]] = {}

    def having(self, words: str) -> list[int]:
        """The rows in which every need is met, in order."""
        if (met := self._met.get(words)) is None:
            return []
        where = self._where or self._look()
        found: set[int] | None = None
        for need in met:
            rows: set[int] = set()
            for beginning in self._present & need:
                rows |= where[beginning]
            found = rows if found is None else found & rows
            if not found:
                return []
        return sorted(found or ())

    def search(self, patterns: Sequence[Pattern]) -> Iterator[tuple[Pattern, int, re.Match[str]]]:
        """Every match of every pattern, with the number of its row; one for a pattern and row, and a few in all."""
        for pattern in patterns:
            count = 0
            for number in self.having(pattern.words) if pattern.words else range(len(self.rows)):
                match = compiled(pattern.regex).search(self.rows[number])
                if match is None or (pattern.unless and compiled(pattern.unless).search(self.rows[number])):
                    continue
                yield pattern, number, match
                count += 1
                if count >= _MOST:
                    break

    def _look(self) -> dict[str, set[int]]:
        asked = self._present.intersection(frozenset().union(*(need for met in self._met.values() for need in met)))
        where = self._where
        where.update((beginning, set()) for beginning in asked)
        for number, words in enumerate(self._words):
            for beginning in asked.intersection(words):
                where[beginning].add(number)
        return where


def line_of(text: str, offset: int) -> int:
    """The number of the line at an offset, from 1."""
    return text.count("\n", 0, offset) + 1


def shorten(text: str) -> str:
    """Evidence on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= EVIDENCE else line[: EVIDENCE - 3] + "..."


@lru_cache(maxsize=4096)
def beginnings(words: str) -> tuple[frozenset[str], ...]:
    """The needs, each by the beginnings of its words; the one with the fewest first."""
    asked = (frozenset(word[:4] for word in need.split("|")) for need in words.split())
    return tuple(sorted(asked, key=len))


def needs_of(words: Iterable[str]) -> dict[str, tuple[frozenset[str], ...]]:
    """What is asked for, ready to be looked for in many texts; nothing asked for is met anywhere."""
    return {one: beginnings(one) for one in words if one}


@lru_cache(maxsize=4096)
def needs(words: str) -> tuple[frozenset[str], ...]:
    """The needs that a pattern's words spell."""
    return tuple(frozenset(need.split("|")) for need in words.split())


@lru_cache(maxsize=4096)
def compiled(regex: str) -> re.Pattern[str]:
    """An expression, compiled once."""
    return re.compile(regex, re.IGNORECASE | re.MULTILINE)


_MOST = 5


def _matches(pattern: Pattern, text: str) -> Iterator[tuple[Pattern, re.Match[str]]]:
    count = 0
    for match in compiled(pattern.regex).finditer(text):
        if pattern.unless:
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.end())
            if compiled(pattern.unless).search(text, start, end if end >= 0 else len(text)):
                continue
        yield pattern, match
        count += 1
        if count >= _MOST:
            return
