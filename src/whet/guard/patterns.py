"""Rules that are patterns: a regular expression that must match, tried only where the words stand that it needs.

What an expression needs is derived from it (`literals`), so that a text pays only for the few patterns whose words it
contains, and most patterns are never even compiled. Expressions are matched without regard to case, on canonical text, with
bounded repetitions only (a test of the house looks at every one of them), so that no text can make a scan hang.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.finding import Hit
from whet.guard.literals import Literals
from whet.guard.tables import load_toml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from whet.guard.finding import Severity

EVIDENCE = 200
"""Characters of evidence that a finding shows."""
_MOST = 5


class Pattern(NamedTuple):
    """One way in which a rule shows."""

    rule: str
    regex: str
    unless: str = ""
    """An expression that, found on the same line, says it is something else."""
    severity: Severity | None = None


def load_patterns(name: str) -> tuple[Pattern, ...]:
    """The patterns of one list in `data/patterns.toml`."""
    return tuple(Pattern(**row) for row in load_toml("patterns")[name])


def search(patterns: tuple[Pattern, ...], text: str) -> Iterator[tuple[Pattern, re.Match[str]]]:
    """Every match of every pattern; at most a few for each pattern."""
    met = _literals(patterns).met(text)
    for pattern in patterns:
        if pattern.regex in met:
            for match in islice(compiled(pattern.regex).finditer(text), _MOST):
                yield pattern, match


def hits(patterns: tuple[Pattern, ...], text: str) -> Iterator[Hit]:
    """The matches as hits, with the line they begin in."""
    for pattern, match in search(patterns, text):
        yield Hit(pattern.rule, line_of(text, match.start()), shorten(match[0]), pattern.severity)


@lru_cache(maxsize=64)
def _literals(patterns: tuple[Pattern, ...]) -> Literals:
    return Literals(pattern.regex for pattern in patterns)


class Rows:
    """A text by its rows, and the rows that each of some expressions may match: most of them look at few rows only."""

    __slots__ = ("_having", "_matched", "_starts", "rows", "whole")

    def __init__(self, rows: Sequence[str], literals: Literals) -> None:
        self.rows = rows
        self.whole = "\n".join(rows)
        self._having = literals.rows(rows)
        self._matched: dict[str, list[int]] = {}
        self._starts: list[int] = []

    def having(self, regex: str) -> Collection[int]:
        """The rows that have what one of the expressions needs, in order."""
        return self._having.get(regex, ())

    def search(self, patterns: Sequence[Pattern]) -> Iterator[tuple[Pattern, int, re.Match[str]]]:
        """Every match of every pattern, with the number of its row; one for a pattern and row, and a few in all."""
        for pattern in patterns:
            found = (
                (number, compiled(pattern.regex).search(self.rows[number])) for number in self.having(pattern.regex)
            )
            matches = (
                (pattern, number, match)
                for number, match in found
                if match and not (pattern.unless and compiled(pattern.unless).search(self.rows[number]))
            )
            yield from islice(matches, _MOST)

    def matched(self, regex: re.Pattern[str]) -> list[int]:
        """The rows that an expression matches, which must not match the end of a row."""
        if (found := self._matched.get(regex.pattern)) is None:
            if not self._starts:
                self._starts = [0, *accumulate(len(row) + 1 for row in self.rows)]
            places = (bisect_right(self._starts, match.start()) - 1 for match in regex.finditer(self.whole))
            found = self._matched[regex.pattern] = list(dict.fromkeys(places))
        return found


def line_of(text: str, offset: int) -> int:
    """The number of the line at an offset, from 1."""
    return text.count("\n", 0, offset) + 1


def shorten(text: str) -> str:
    """Evidence on one line, cut where it is long; an address at the cut stays whole, up to as much again."""
    line = " ".join(text.split())
    if len(line) <= EVIDENCE:
        return line
    cut = EVIDENCE - 3
    word = line[line.rfind(" ", 0, cut) + 1 :].partition(" ")[0]
    if "://" in word:
        cut = min(line.rfind(" ", 0, cut) + 1 + len(word), 2 * EVIDENCE)
    return line if cut >= len(line) else line[:cut] + "..."


@lru_cache(maxsize=4096)
def compiled(regex: str) -> re.Pattern[str]:
    """An expression, compiled once."""
    return expression(regex, re.IGNORECASE | re.MULTILINE)
