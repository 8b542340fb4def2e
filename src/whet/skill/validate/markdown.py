"""The body as the linter looks at it: rows that know whether they are code, and sections."""

from __future__ import annotations

import re
from typing import NamedTuple

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_INLINE_CODE = re.compile(r"(?<!`)(`{1,8}+)(?!`)(.{1,500}?)(?<!`)\1(?!`)")


class Row(NamedTuple):
    """One row of the body."""

    line: int
    """Line in the file, counted from 1."""
    text: str
    code: bool
    """Within a fenced code block, fences included."""


class Section(NamedTuple):
    """A heading and everything below it up to the next heading of its level or above."""

    title: str
    level: int
    rows: tuple[Row, ...]
    """The heading's own row first."""
    parts: tuple[Section, ...]
    """The sections inside, of any level, in order."""

    @property
    def line(self) -> int:
        """Line of the heading in the file."""
        return self.rows[0].line


def rows_of(body: str, first_line: int) -> tuple[Row, ...]:
    """The rows of a body that begins on the given line of the file."""
    rows: list[Row] = []
    fence = ""
    for number, text in enumerate(body.replace("\r\n", "\n").split("\n"), first_line):
        found = _FENCE.match(text)
        code = bool(fence or found)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and text.strip() == found[1]:
            fence = ""
        rows.append(Row(number, text, code))
    return tuple(rows)


def sections_of(rows: tuple[Row, ...]) -> tuple[Section, ...]:
    """Every section of a body, of any level, in order."""
    headings: list[tuple[int, int, str]] = []
    for at, row in enumerate(rows):
        if not row.code and (found := _HEADING.fullmatch(row.text)):
            headings.append((at, len(found[1]), found[2].rstrip(" \t#").strip("*_ :")))
    sections: list[Section] = []
    for number in range(len(headings) - 1, -1, -1):
        at, level, title = headings[number]
        inside = 0
        while number + 1 + inside < len(headings) and headings[number + 1 + inside][1] > level:
            inside += 1
        following = number + 1 + inside
        until = headings[following][0] if following < len(headings) else len(rows)
        parts = tuple(sections[len(sections) - inside :][::-1])
        sections.append(Section(title, level, rows[at:until], parts))
    return tuple(sections[::-1])


def without_code(text: str) -> str:
    """A row without its inline code."""
    return _INLINE_CODE.sub("", text) if "`" in text else text


def inline_code(text: str) -> list[str]:
    """The pieces of inline code of a row."""
    return [found[2] for found in _INLINE_CODE.finditer(text)] if "`" in text else []
