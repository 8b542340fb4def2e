"""Read the Markdown body: its first prose line, its first sentence and its sections."""

from __future__ import annotations

import re
from functools import lru_cache

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.coerce import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_HIDING = ("```", "~~~", "<!--")
"""What fenced code and comments begin with."""
_HEADING = compile_late(r"[ ]{0,3}#{1,6}[ \t]+[\W\d_]*")
"""Beginning of a heading, up to its first letter."""
_NOT_PROSE = compile_late(r"[#>|`~<!\[]|---|===|\*\*\*|[-*+][ ]|\d+[.)][ ]")
_SENTENCE_END = compile_late(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!^\d\.)\s|(?<=[。！？])")
WHEN = compile_late(r"when to use|when should (?:i|you) use|use this (?:skill )?when", re.IGNORECASE)
WHEN_NOT = compile_late(r"(?:do\s+not|do\s?n['’]t|when\s+not\s+to|when\s+to\s+not)\s+use\b|not\s+for\b", re.IGNORECASE)


class Section(NamedTuple):
    """A heading and everything below it, up to the next heading of its level or above."""

    level: int
    title: str
    start: int
    """Row of the heading, from 0."""
    end: int
    """First row after it."""


def first_prose(body: str) -> str:
    """Return the first line of running text, or else the first list or quote line."""
    return _first_paragraph(body)[0]


def first_sentence(body: str) -> str:
    """Return the first sentence of the paragraph that begins with `first_prose`, in one line."""
    return _SENTENCE_END.split(one_line(" ".join(_first_paragraph(body))), maxsplit=1)[0]


def _first_paragraph(body: str) -> list[str]:
    found: list[str] = []
    second_best = ""
    for row in _visible(body.split("\n", 200)[:200]):
        line = row.strip()
        if line and not _NOT_PROSE.match(line):
            found.append(line)
        elif found:
            break
        elif line and not second_best and line[0] in "-*+>0123456789[":
            second_best = line.lstrip("-*+> ")
    return found or [second_best]


def section(body: str, title: re.Pattern[str]) -> str:
    """Return the text below the first heading that matches, up to the next heading of any level."""
    if not any(title.match(row, start) for row, start in _titles(body)):
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


@lru_cache(maxsize=1)
def _titles(body: str) -> list[tuple[str, int]]:
    """Return the headings of a body, with the start of each title. One body is asked for several sections."""
    return [(row, heading.end()) for row in _marked(body) if (heading := _HEADING.match(row))]


def _marked(body: str) -> Iterator[str]:
    """Yield the rows that may be headings, including those in fenced code."""
    at = body.find("#")
    while at >= 0:
        start, end = body.rfind("\n", 0, at) + 1, body.find("\n", at)
        end = end if end >= 0 else len(body)
        if at - start < 4:
            yield body[start:end]
        at = body.find("#", end)


def sections(rows: list[str]) -> list[Section]:
    """Return every section of a body, in order; a section contains its subsections."""
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


def visible_text(body: str) -> str:
    """Return a body without fenced code and comments."""
    if any(sign in body for sign in _HIDING):
        return "\n".join(_visible(body.split("\n")))
    return body


def _visible(rows: list[str]) -> Iterator[str]:
    """Yield each row, or an empty one for fenced code or a comment."""
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
