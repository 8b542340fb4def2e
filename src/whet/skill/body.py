"""What the Markdown body says: its first prose line and its sections."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+[\W\d_]*")
"""The beginning of a heading, up to its first letter."""
_NOT_PROSE = re.compile(r"[#>|`~<!\[]|---|===|\*\*\*|[-*+][ ]|\d+[.)][ ]")
WHEN = re.compile(r"when to use|when should (?:i|you) use|use this (?:skill )?when", re.IGNORECASE)
WHEN_NOT = re.compile(r"(?:do\s+not|do\s?n['’]t|when\s+not\s+to|when\s+to\s+not)\s+use\b|not\s+for\b", re.IGNORECASE)


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
