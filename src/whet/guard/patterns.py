"""Rules that are regular expressions, each tried only on text that contains the words it needs.

The needed words are derived from the expression (`literals`), so that a text is searched only with the few patterns
whose words it contains, and most patterns are never compiled. Expressions ignore case and match canonical text, and
their repetitions are bounded (a test checks all of them), so that no text can make a scan hang.
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
"""Maximum length of the evidence of a finding."""
_MOST = 5


class Pattern(NamedTuple):
    """A regular expression for a rule."""

    rule: str
    regex: str
    unless: str = ""
    """An expression that, found on the same line, excludes the match."""
    severity: Severity | None = None


def load_patterns(name: str) -> tuple[Pattern, ...]:
    """Return the patterns of one list in `data/patterns.toml`."""
    return tuple(Pattern(**row) for row in load_toml("patterns")[name])


def search(patterns: tuple[Pattern, ...], text: str) -> Iterator[tuple[Pattern, re.Match[str]]]:
    """Yield the first few matches of each pattern."""
    met = _literals(patterns).met(text)
    for pattern in patterns:
        if pattern.regex in met:
            for match in islice(compiled(pattern.regex).finditer(text), _MOST):
                yield pattern, match


def hits(patterns: tuple[Pattern, ...], text: str) -> Iterator[Hit]:
    """Yield the matches as hits, with the line where each begins."""
    for pattern, match in search(patterns, text):
        yield Hit(pattern.rule, line_of(text, match.start()), shorten(match[0]), pattern.severity)


@lru_cache(maxsize=64)
def _literals(patterns: tuple[Pattern, ...]) -> Literals:
    return Literals(pattern.regex for pattern in patterns)


class Rows:
    """The rows of a text, and for each expression the rows that it may match, which are usually few."""

    __slots__ = ("_having", "_matched", "_starts", "rows", "whole")

    def __init__(self, rows: Sequence[str], literals: Literals) -> None:
        self.rows = rows
        self.whole = "\n".join(rows)
        self._having = literals.rows(rows)
        self._matched: dict[str, list[int]] = {}
        self._starts: list[int] = []

    def having(self, regex: str) -> Collection[int]:
        """Return the numbers of the rows that contain the words an expression needs, sorted."""
        return self._having.get(regex, ())

    def search(self, patterns: Sequence[Pattern]) -> Iterator[tuple[Pattern, int, re.Match[str]]]:
        """Yield the matches with their row numbers: one for each pattern and row, and a few for each pattern."""
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
        """Return the rows that an expression matches; the expression must not match a line break."""
        if (found := self._matched.get(regex.pattern)) is None:
            if not self._starts:
                self._starts = [0, *accumulate(len(row) + 1 for row in self.rows)]
            places = (bisect_right(self._starts, match.start()) - 1 for match in regex.finditer(self.whole))
            found = self._matched[regex.pattern] = list(dict.fromkeys(places))
        return found


def line_of(text: str, offset: int) -> int:
    """Return the line number of an offset, from 1."""
    return text.count("\n", 0, offset) + 1


def shorten(text: str) -> str:
    """Return evidence on one line, shortened; a URL at the cut stays whole, up to twice the limit."""
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
    """Return an expression that ignores case and is compiled once."""
    return expression(regex, re.IGNORECASE | re.MULTILINE)
