"""A document taken apart into passages that can stand alone: a paragraph, an item, a table, a piece of code.

Every passage knows the headings above it. A line that ends with a colon stays with what it announces, and code with
the line before it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 2_400
"""Characters of one passage; a longer one is cut at an empty line, or at a line."""
MOST = 600
"""Passages of one document."""
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.{0,200}?)[ \t#]*\Z")
_FENCE = re.compile(r"[ \t]{0,12}(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"([ \t]{0,12})(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*\Z")


class Piece(NamedTuple):
    """One passage."""

    section: str
    """The headings above it, joined by ` > `."""
    text: str
    code: bool
    """It is code, perhaps with a line that announces it."""


def taken_apart(text: str) -> list[Piece]:
    """The passages of a Markdown document in order; plain text is one without headings."""
    found: list[Piece] = []
    headings: list[tuple[int, str]] = []
    for block in _blocks(text.replace("\r\n", "\n").split("\n")):
        heading = _HEADING.match(block[0]) if len(block) == 1 else None
        if heading:
            level = len(heading[1])
            headings = [*(one for one in headings if one[0] < level), (level, heading[2].strip(" *"))]
            continue
        section = " > ".join(title for _, title in headings[-2:])
        body = "\n".join(block).strip("\n")
        code = any(_FENCE.match(line) for line in block)
        before = found[-1] if found and found[-1].section == section else None
        if (
            before
            and not before.code
            and before.text.rstrip(" *").endswith(":")
            and len(before.text) + len(body) < LONGEST
        ):
            found[-1] = Piece(section, f"{before.text}\n{body}", code)
        else:
            found.extend(Piece(section, part, code) for part in _parts(body, code=code))
        if len(found) >= MOST:
            break
    return found[:MOST]


def _blocks(lines: list[str]) -> list[list[str]]:
    """Lines that belong together: fenced code, a table, one item of a list with what is below it, a paragraph."""
    blocks: list[list[str]] = []
    block: list[str] = []
    fence, kind = "", ""

    def close() -> None:
        if any(line.strip() for line in block):
            blocks.append(block.copy())
        block.clear()

    for line in lines:
        opening = _FENCE.match(line)
        if fence:
            block.append(line)
            if opening and opening[1].startswith(fence) and not opening[2].strip():
                fence = ""
            continue
        item = _ITEM.match(line)
        sort = "row" if _ROW.match(line) else "item" if item else "text"
        if opening:
            if kind != "item" or not line[:1].isspace():
                close()
            fence, kind = opening[1], kind if block else "code"
        elif _HEADING.match(line):
            close()
            blocks.append([line])
            kind = ""
            continue
        elif not line.strip():
            if kind != "item":
                close()
                kind = ""
            elif block and block[-1].strip():
                block.append(line)
            continue
        elif sort != kind and not (kind == "item" and line[:2].isspace()):
            close()
            kind = sort
        elif item and not item[1]:
            close()
        block.append(line)
    close()
    return blocks


def _parts(body: str, *, code: bool) -> list[str]:
    """A passage, or several when it is too long; code is fenced again in each."""
    if len(body) <= LONGEST:
        return [body]
    lines = body.split("\n")
    opening = lines[0] if code and _FENCE.match(lines[0]) else ""
    parts: list[list[str]] = [[]]
    size = 0
    for line in lines:
        if size + len(line) > LONGEST or (size > LONGEST // 2 and not line.strip()):
            parts.append([])
            size = 0
        parts[-1].append(line[:LONGEST])
        size += len(line) + 1
    if not opening:
        return ["\n".join(part) for part in parts if part]
    closing = "```" if "`" in opening else "~~~"
    texts = []
    for number, part in enumerate(parts):
        head = [] if number == 0 else [opening]
        tail = [] if number == len(parts) - 1 else [closing]
        texts.append("\n".join([*head, *part, *tail]))
    return texts
