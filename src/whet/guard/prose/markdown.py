"""Markdown (and plain text) as blocks: running text, code, and text that is invisible when rendered.

Wrapped lines of a paragraph become one, so that a sentence can be matched wherever it was broken. Every block has its first
line and the headings above it. Nothing is left out, and no mark hides anything: a fence or comment that is never closed is
code or hidden up to the end, and is also read as if it had not been opened; a fence that names its language ends one that
was opened before it; and code in a comment is code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.guard.expression import expression

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

BlockKind = Literal["frontmatter", "heading", "paragraph", "item", "table", "quote", "fence", "comment"]

_FENCE = expression(r"[ \t>]{0,12}(`{3,}|~{3,})[ \t]*([\w+#.-]{0,30})([^\n`]{0,200})$")
_CLOSING = expression(r"[ \t>]{0,12}(`{3,}|~{3,})[ \t]*$")
_EXAMPLES = frozenset(("markdown", "md", "text", "txt"))
"""Languages of fences that hold text with its own fences."""
_TWICE = 8
"""Number of unclosed fences that are read both ways."""
_HEADING = expression(r"[ ]{0,3}(#{1,6})[ \t]+(.{0,300})$")
_ITEM = expression(r"[ \t]{0,40}(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_LONG, _SHARED = 2000, 500
"""Longest row in characters, and the overlap of two rows that were one: more than any pattern reaches."""
_BOLD_TITLE = expression(r"[ ]{0,3}\*\*([^*\n]{2,80})\*\*:?[ \t]*$")


class Block(NamedTuple):
    """A piece of a document. `trail` is the headings above it in lower case, outermost first, joined by ` > `.

    The title of the document is not part of it, because it describes the whole and not a place in it.
    """

    kind: BlockKind
    text: str
    line: int
    trail: str = ""
    language: str = ""
    closed: bool = True
    """`False` for a fence that was never closed."""


class Row(NamedTuple):
    """A line to search in: a whole paragraph or item, or one line of code, with its origin.

    A very long line becomes several overlapping rows: a pattern is tried on the rows that contain its words, and a megabyte
    without a line end contains the words of every pattern.
    """

    text: str
    line: int
    owner: int
    """The number of the block."""


def blocks(text: str) -> list[Block]:
    """Return the blocks of a document, in order."""
    return _Reader(text).read()


def rows(found: list[Block]) -> list[Row]:
    """Return the blocks as rows, in order."""
    made: list[Row] = []
    for number, block in enumerate(found):
        lined = block.kind in ("fence", "frontmatter", "table")
        for offset, text in enumerate(block.text.split("\n") if lined else (block.text.replace("\n", " "),)):
            if len(text) <= _LONG:
                made.append(Row(text, block.line + offset, number))
            else:
                made.extend(Row(part, block.line + offset, number) for part in _parts(text))
    return made


def _parts(text: str) -> Iterator[str]:
    """Yield a long text in overlapping pieces, split between words if possible."""
    start = 0
    while len(text) - start > _LONG:
        end = max(text.rfind(" ", start + _LONG // 2, start + _LONG), 0) or start + _LONG
        yield text[start:end]
        start = max(text.find(" ", end - _SHARED, end), 0) or end - _SHARED
    yield text[start:]


class _Reader:
    def __init__(self, text: str) -> None:
        self.rows = text.split("\n")
        self.found: list[Block] = []
        self.trail: list[tuple[int, str]] = []
        self.path = ""
        self.titled = False
        self.kept: list[str] = []
        self.kept_line = 1
        self.kept_kind: BlockKind = "paragraph"
        self.longest: dict[str, list[int]] = {}
        self.twice = 0
        self.commented = False

    def read(self) -> list[Block]:
        at = self.frontmatter()
        while at < len(self.rows):
            at = self.block(at)
        self.flush()
        return self.found

    def frontmatter(self) -> int:
        """Return the row after the frontmatter; 0 if there is none, or if its end is not within 400 rows."""
        if self.rows[0].strip() != "---":
            return 0
        for number, row in enumerate(self.rows[1:400], start=1):
            if row.rstrip() in ("---", "..."):
                self.add("frontmatter", "\n".join(self.rows[1:number]), 2)
                return number + 1
        return 0

    def block(self, at: int) -> int:
        """Read the block that begins at a row, and return the row after it."""
        row = self.rows[at]
        stripped = row.strip()
        if not stripped:
            self.flush()
            return at + 1
        first = stripped[0]
        if first in "`~>" and (fence := _FENCE.match(row)) is not None:
            return self.fence(at, fence)
        if first == "<" and stripped.startswith("<!--"):
            return self.comment(at)
        if first == "#" and (heading := _HEADING.match(row)) is not None:
            self.flush()
            self.head(len(heading[1]), heading[2].strip("# \t"))
            self.add("heading", heading[2], at + 1)
            return at + 1
        if first == "*" and not self.kept and (bold := _BOLD_TITLE.match(row)) is not None:
            self.head(7, bold[1])
            self.add("heading", bold[1], at + 1)
            return at + 1
        self.line(at, row, stripped)
        return at + 1

    def line(self, at: int, row: str, stripped: str) -> None:
        kind: BlockKind = "paragraph"
        if stripped[0] == "|":
            kind = "table"
        elif stripped[0] == ">":
            kind, stripped = "quote", stripped.lstrip("> ")
        elif stripped[0] in "-*+•0123456789" and _ITEM.match(row):
            kind = "item"
        if kind == "item" or (kind != self.kept_kind and not (self.kept_kind == "item" and kind == "paragraph")):
            self.flush()
        if not self.kept:
            self.kept_line = at + 1
            self.kept_kind = kind
        self.kept.append(stripped)
        if "<!--" in stripped:
            start = stripped.index("<!--")
            end = stripped.find("-->", start)
            if end >= 0:
                self.add("comment", stripped[start + 4 : end], at + 1)

    def fence(self, at: int, opening: re.Match[str]) -> int:
        self.flush()
        mark, language = opening[1], opening[2].lower()
        if " " in opening[3].strip():
            self.add("paragraph", f"{opening[2]}{opening[3]}", at + 1)
        if self.closes(mark[0])[at] < len(mark):
            self.twice += 1
            if self.twice <= _TWICE:
                self.add("fence", "\n".join(self.rows[at + 1 :]), at + 2, language, closed=False)
            return at + 1
        end = at + 1
        while not (found := self.mark(end, mark)):
            end += 1
        closed = found == "closing" or language in _EXAMPLES
        self.add("fence", "\n".join(self.rows[at + 1 : end]), at + 2, language, closed=closed)
        if not closed and self.twice < _TWICE:
            self.twice += 1
            return at + 1
        return end + (found == "closing")

    def mark(self, at: int, mark: str) -> str:
        """Return what a row is for a fence that was opened with `mark`: "closing", "opening" (of another fence) or ""."""
        row = self.rows[at]
        if mark[:3] not in row or (found := _FENCE.match(row)) is None or found[1][0] != mark[0]:
            return ""
        if len(found[1]) >= len(mark) and _CLOSING.match(row):
            return "closing"
        return "opening" if found[2] and len(found[1]) == len(mark) else ""

    def closes(self, character: str) -> list[int]:
        """Return for each row the length of the longest mark after it that could close a fence."""
        if character not in self.longest:
            longest = [0] * len(self.rows)
            for at in range(len(self.rows) - 1, 0, -1):
                found = _CLOSING.match(self.rows[at]) if character * 3 in self.rows[at] else None
                here = len(found[1]) if found is not None and found[1][0] == character else 0
                longest[at - 1] = max(longest[at], here)
            self.longest[character] = longest
        return self.longest[character]

    def comment(self, at: int) -> int:
        self.flush()
        if self.commented:
            return at + 1  # an earlier comment is not closed, so this one is part of it
        end = at
        while end < len(self.rows) and "-->" not in self.rows[end]:
            end += 1
        text = "\n".join(self.rows[at : end + 1])
        inner, _, rest = text.partition("<!--")[2].partition("-->")
        self.add("comment", inner, at + 1)
        if end == len(self.rows):
            self.commented = True
            return at + 1
        if "```" in inner or "~~~" in inner:
            self.found += [block._replace(line=block.line + at) for block in blocks(inner) if block.kind == "fence"]
        if rest.strip():
            self.kept, self.kept_line, self.kept_kind = [rest.strip()], end + 1, "paragraph"
        return end + 1

    def head(self, level: int, title: str) -> None:
        while self.trail and self.trail[-1][0] >= level:
            self.trail.pop()
        if level > 1 or self.titled:
            self.trail.append((level, title.lower()))
        self.titled = True
        self.path = " > ".join(title for _, title in self.trail)

    def flush(self) -> None:
        if self.kept:
            self.add(self.kept_kind, "\n".join(self.kept), self.kept_line)
            self.kept = []

    def add(self, kind: BlockKind, text: str, line: int, language: str = "", *, closed: bool = True) -> None:
        self.found.append(Block(kind, text, line, self.path, language, closed))
