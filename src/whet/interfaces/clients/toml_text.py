"""Where things stand in the text of a TOML document.

`tomllib` says what a document means, never where. This reads text that `tomllib` has accepted, so it does not check
anything: it tells headers, keys and values apart and gives their offsets.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from typing import NamedTuple

from whet.skill.text_edit import Frame, Path, UnsupportedLayout, skip_space

COMMENT = re.compile(r"#[^\r\n]*")
_STRING = (
    r'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+"{3,5}'
    r"|'''(?:[^']++|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\\r\n]|\\.)*+"'
    r"|'[^'\r\n]*+'"
)
_TOKEN = re.compile(rf"{_STRING}|#[^\r\n]*|([\[{{])|([\]}}])|[^\"'#\[\]{{}}]+")
_STRING_VALUE = re.compile(_STRING)
_PLAIN = re.compile(r"[^#\r\n]*[^#\s]")
_PLAIN_MEMBER = re.compile(r"[^,#\]}\r\n]*[^,#\]}\s]")
_PART = re.compile(r"""[ \t]*("(?:[^"\\\r\n]|\\.)*+"|'[^'\r\n]*+'|[A-Za-z0-9_-]+)[ \t]*""")


class Statement(NamedTuple):
    """A header or a key with its value."""

    path: Path
    """Where it stands in the document, with the numbers of items of arrays of tables."""
    table: Path
    """The path of the header it is under; its own for a header."""
    start: int
    """The offset where its first line begins."""
    key: int
    """The offset behind the indentation."""
    value: tuple[int, int]
    """Where the value begins and ends; empty for a header."""
    end: int
    """The offset behind its last line, line break included."""

    @property
    def header(self) -> bool:
        """Whether it is a header."""
        return self.path == self.table


class Inline(NamedTuple):
    """An array or an inline table."""

    frame: Frame
    keys: tuple[tuple[str, ...], ...]
    """The key of each member of a table."""
    values: tuple[tuple[int, int], ...]
    """Where the value of each member begins and ends."""


@lru_cache(maxsize=1)  # an edit, and whoever hides much of a document, asks again and again for the same one
def statements(text: str, start: int) -> list[Statement]:
    """Every header and key of a valid document, in order, from this offset on."""
    found: list[Statement] = []
    sizes: dict[Path, int] = {}
    table: Path = ()
    at = start
    while at < len(text):
        line = at
        at = _skip_blanks(text, at)
        if at == len(text) or text[at] in "#\r\n":
            at = _line_end(text, at)
            continue
        key, value = at, (at, at)
        if text[at] == "[":
            item = text.startswith("[[", at)
            names, at = _key(text, at + 1 + item)
            table = path = _table(names, sizes, item=item)
        else:
            names, at = _key(text, at)
            path = (*table, *names)
            value = value_span(text, skip_space(text, at + 1), _PLAIN)
            at = value[1]
        at = _line_end(text, at)
        found.append(Statement(path, table, line, key, value, at))
    return found


def value_span(text: str, at: int, plain: re.Pattern[str] = _PLAIN_MEMBER) -> tuple[int, int]:
    """Where the value that begins here ends."""
    if text[at] not in "[{":
        found = _STRING_VALUE.match(text, at) or plain.match(text, at)
        return at, found.end() if found else at
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += (token.lastindex == 1) - (token.lastindex == 2)
        if not depth:
            return at, token.end()
    raise UnsupportedLayout("a bracket does not close")


def inline(text: str, at: int) -> Inline:
    """The array or inline table that begins here."""
    if text[at] not in "[{":
        raise UnsupportedLayout("a value on the way is no table or list")
    table = text[at] == "{"
    opened = at + 1
    members, keys, spans = [], [], []
    at = _skip_gap(text, opened)
    while text[at] not in "]}":
        begin = at
        if table:
            names, at = _key(text, at)
            keys.append(names)
            at = skip_space(text, at + 1)
        span = value_span(text, at)
        spans.append(span)
        members.append((begin, span[1]))
        at = _skip_gap(text, span[1])
    return Inline(Frame(opened, at, tuple(members)), tuple(keys), tuple(spans))


def _table(names: tuple[str, ...], sizes: dict[Path, int], *, item: bool) -> Path:
    """The path of a header; a name of an array of tables stands for its last item."""
    path: Path = ()
    for name in names[:-1]:
        path = (*path, name)
        if path in sizes:
            path = (*path, sizes[path] - 1)
    path = (*path, names[-1])
    if item:
        sizes[path] = sizes.get(path, 0) + 1
        path = (*path, sizes[path] - 1)
    return path


def _key(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The parts of a dotted key and the offset behind it."""
    names = []
    while found := _PART.match(text, at):
        name = found.group(1)
        names.append(tomllib.loads(f"x = {name}")["x"] if name[0] in "\"'" else name)
        at = found.end()
        if text[at : at + 1] != ".":
            break
        at += 1
    return tuple(names), at


def _skip_gap(text: str, at: int) -> int:
    """The offset of the next member or the closing bracket."""
    while True:
        at = skip_space(text, at)
        if text[at] == ",":
            at += 1
        elif text[at] == "#":
            at = _line_end(text, at)
        else:
            return at


def _skip_blanks(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return found + 1 if found >= 0 else len(text)
