"""What the Markdown body says: its first prose line and its sections."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+[\W\d_]*")
"""The beginning of a heading, up to its first letter."""
_NOT_PROSE = re.compile(r"[#>|`~<!\[]|---|===|\*\*\*|[-*+][ ]|\d+[.)][ ]")
WHEN = re.compile(r"when to use|when should (?:i|you) use|use this (?:skill )?when", re.IGNORECASE)
WHEN_NOT = re.compile(r"(?:do\s+not|do\s?n['’]t|when\s+not\s+to|when\s+to\s+not)\s+use\b|not\s+for\b", re.IGNORECASE)


class Section(NamedTuple):
    """A heading and everything below it, up to the next heading of its level or above."""

    level: int
    title: str
    start: int
    """The row of the heading, counted from 0."""
    end: int
    """The first row that is not part of it."""


def first_prose(body: str) -> str:
    """The first line of running text, or the first list or quote line when there is nothing else."""
    second_best = ""
    for row in _visible(body.split("\n", 200)[:200]):
        if not (line := row.strip()):
            continue
        if not _NOT_PROSE.match(line):
            return line
        if not second_best and line[0] in "-*+>0123456789[":
            second_best = line.lstrip("-*+> ")
    return second_best


def section(body: str, title: re.Pattern[str]) -> str:
    """The text below the first heading that matches, up to the next heading of any level."""
    if not title.search(body):
        return ""
    rows = body.split("\n")
    start: int | None = None
    for number, row in enumerate(_visible(rows)):
        heading = _HEADING.match(row)
        if heading is None:
            continue
        if start is not None:
            return "\n".join(rows[start:number]).strip()
        if title.match(row, heading.end()):
            start = number + 1
    return "" if start is None else "\n".join(rows[start:]).strip()


def sections(rows: list[str]) -> list[Section]:
    """Every section of a body, in order; one contains those below it."""
    found: list[Section] = []
    open_: list[int] = []
    for number, row in enumerate(_visible(rows)):
        if _HEADING.match(row):
            text = row.strip()
            level = len(text) - len(text.lstrip("#"))
            while open_ and found[open_[-1]].level >= level:
                at = open_.pop()
                found[at] = found[at]._replace(end=number)
            open_.append(len(found))
            found.append(Section(level, text.strip("# \t"), number, len(rows)))
    return found


def _visible(rows: list[str]) -> Iterator[str]:
    """Each row, or an empty one where it belongs to fenced code or a comment."""
    until = ""
    for row in rows:
        line = row.strip()
        if until:
            if (until in line) if until == "-->" else (line.startswith(until) and not line.strip(until[0])):
                until = ""
        elif line.startswith("~~~") or (line.startswith("```") and "`" not in line.lstrip("`")):
            until = line[: len(line) - len(line.lstrip(line[0]))]
        elif line.startswith("<!--"):
            until = "" if "-->" in line else "-->"
        else:
            yield row
            continue
        yield ""
