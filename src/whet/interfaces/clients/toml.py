"""Editing TOML.

A new table becomes a block at the end of the file with an empty line before it, a new key a line after the other keys
of its table, a new item that is a table another `[[name]]`. Tables and lists that are written on one line are edited
there. A table is every line from its header to its last key, with its sub-tables; comments and empty lines after that
belong to the next table and stay.

A table without a header of its own disappears with the last of its sub-tables: TOML has no other way to write it.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.interfaces.clients import editor
from whet.interfaces.clients.editor import BOM, Editor
from whet.skill.text_edit import (
    Frame,
    Path,
    Style,
    UnsupportedLayout,
    insert_member,
    newline_of,
    remove_member,
    skip_space,
    value_at,
    without_value,
)

if TYPE_CHECKING:
    from whet.errors import InvalidError

_PLACE = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)
_DIGITS = re.compile(r"[0-9_]++")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BREAK_AT_END = re.compile(r"\r?\n\Z")


class _Document(NamedTuple):
    text: str
    value: Any
    begin: int
    """The offset after a byte order mark."""

    @property
    def statements(self) -> list[Statement]:
        return statements(self.text, self.begin)


def _parse(text: str) -> _Document:
    editor.checked_size(text)
    body = text.removeprefix(BOM)
    try:
        value = tomllib.loads(body)
    except tomllib.TOMLDecodeError as error:
        raise _broken(text, body, str(error)) from None
    except RecursionError:
        raise editor.too_deep(text, 0) from None
    except ValueError:
        spans = [found.span() for found in _DIGITS.finditer(text)]
        longest = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
        raise editor.broken(text, longest[0], "A number is too long") from None
    if editor.is_deep(value):
        raise editor.too_deep(text, 0)
    return _Document(text, value, len(text) - len(body))


def _broken(text: str, body: str, message: str) -> InvalidError:
    found = _PLACE.match(message)
    if found is None or found.group(2) is None:
        return editor.broken(text, len(text), found.group(1) if found else message)
    at = len(text) - len(body)
    for _ in range(int(found.group(2)) - 1):
        at = text.index("\n", at) + 1
    return editor.broken(text, at + int(found.group(3)) - 1, found.group(1))


def _span(document: _Document, path: Path) -> tuple[int, int]:
    owner = _line_of(document, path)
    if owner is None:
        raise UnsupportedLayout(f"{editor.named(path)} has its own lines")
    return _inline_value(document.text, owner, path)


def _replaced(document: _Document, path: Path, value: Any) -> str:
    text = document.text
    owner = _line_of(document, path)
    if owner is not None:
        start, end = _inline_value(text, owner, path)
        return text[:start] + _inline(value) + text[end:]
    runs = _runs(document.statements, path)
    if len(runs) != 1 or not runs[0][0].header:
        raise UnsupportedLayout(f"{editor.named(path)} is written in several places")
    names = _names(path)
    block = _blocks(names, value, item=isinstance(path[-1], int))
    if block is None:
        raise UnsupportedLayout(f"{editor.named(path)} is a table")
    start, end = runs[0][0].start, runs[0][-1].end
    newline = newline_of(text)
    return text[:start] + block.replace("\n", newline) + (newline if text[end - 1] == "\n" else "") + text[end:]


def _inserted(document: _Document, parent: Path, key: str, value: Any) -> str:
    owner = _line_of(document, parent)
    if owner is not None:
        return _inserted_inline(document, owner, parent, f"{_name(key)} = {_inline(value)}")
    size = len(parent)
    if any(len(one.table) < size < len(one.path) and one.path[:size] == parent for one in document.statements):
        raise UnsupportedLayout(f"{editor.named(parent)} is written with dotted keys")
    block = _blocks((*_names(parent), key), value)
    if block is not None:
        return _with_block(document, block)
    return _with_line(document, parent, f"{_name(key)} = {_inline(value)}")


def _appended(document: _Document, path: Path, value: Any) -> str:
    owner = _line_of(document, path)
    if owner is not None:
        return _inserted_inline(document, owner, path, _inline(value))
    block = _blocks(_names(path), value, item=True)
    if block is None:
        raise UnsupportedLayout(f"the items of {editor.named(path)} are tables")
    return _with_block(document, block)


def _removed(document: _Document, path: Path) -> str:
    text = document.text
    owner = _line_of(document, path)
    if owner is not None and len(owner.path) < len(path):
        at = _inline_value(text, owner, path[:-1])[0]
        found = inline(text, at)
        return remove_member(text, found.frame, Style(COMMENT), _member(found.keys, path[-1]))
    for run in reversed(_runs(document.statements, path)):
        text = _without_run(text, document.begin, run) if run[0].header else _without_lines(text, document, run)
    return text


def _emptied(value: Any, path: Path) -> list[Any]:
    """Return the value without the parents that are empty after a removal, one more each time."""
    without = []
    for length in range(len(path) - 1, 0, -1):
        if value_at(value, path[:length]):
            break
        value = without_value(value, path[:length])
        without.append(value)
    return without


def _line_of(document: _Document, path: Path) -> Statement | None:
    """Return the key whose inline value contains the path."""
    if not path:
        return None
    found = (one for one in document.statements if not one.header and one.path == path[: len(one.path)])
    return next(found, None)


def _inline_value(text: str, owner: Statement, path: Path) -> tuple[int, int]:
    """Return start and end of the value at a path in the line of a key."""
    span = owner.value
    for step in path[len(owner.path) :]:
        found = inline(text, span[0])
        span = found.values[_member(found.keys, step)]
    return span


def _member(keys: tuple[tuple[str, ...], ...], step: str | int) -> int:
    if isinstance(step, int):
        return step
    if (step,) not in keys:
        raise UnsupportedLayout(f"{step!r} is written as a dotted key")
    return keys.index((step,))


def _inserted_inline(document: _Document, owner: Statement, path: Path, member: str) -> str:
    text = document.text
    found = inline(text, _inline_value(text, owner, path)[0])
    style = Style(COMMENT, newline_of(text), "    ")
    return insert_member(text, found.frame, style, lambda _: member)


def _with_block(document: _Document, block: str) -> str:
    """Return the text with a block at the end, after an empty line; a missing final line break stays missing."""
    text = document.text
    newline = newline_of(text)
    block = block.replace("\n", newline)
    if len(text) == document.begin:
        return text + block + newline
    return text + newline + block + newline if text.endswith("\n") else text + newline * 2 + block


def _with_line(document: _Document, parent: Path, line: str) -> str:
    """Return the text with a key after the others of its table."""
    text, newline = document.text, newline_of(document.text)
    own, inside = [], not parent
    for one in document.statements:
        if one.header:
            inside = one.path == parent
        if inside:
            own.append(one)
    if not own:
        if parent:
            raise UnsupportedLayout(f"{editor.named(parent)} has no header of its own")
        rest = text[document.begin :]
        return text[: document.begin] + line + newline + (newline + rest if rest else "")
    last = own[-1]
    indent = text[last.start : last.key]
    if text[last.end - 1] == "\n":
        return text[: last.end] + indent + line + newline + text[last.end :]
    return text[: last.end] + newline + indent + line


def _runs(found: list[Statement], path: Path) -> list[list[Statement]]:
    """Return the statements of the value at a path, consecutive ones together."""
    runs: list[list[Statement]] = []
    together = False
    for one in found:
        if one.path[: len(path)] != path:
            together = False
            continue
        if not together or (one.header and not runs[-1][0].header):
            runs.append([])
        runs[-1].append(one)
        together = True
    return runs


def _without_run(text: str, begin: int, run: list[Statement]) -> str:
    """Return the text without a block and the empty line before it."""
    before, after = text[: run[0].start], text[run[-1].end :]
    if not after and not text.endswith("\n"):
        return _BREAK_AT_END.sub("", _BREAK_AT_END.sub("", before))
    shorter = _BREAK_AT_END.sub("", before)
    return (shorter if shorter.endswith("\n") or len(shorter) == begin else before) + after


def _without_lines(text: str, document: _Document, run: list[Statement]) -> str:
    """Return the text without some keys; a key above everything is removed with the empty line after it."""
    for one in reversed(run):
        before, after = text[: one.start], text[one.end :]
        if not after and not text.endswith("\n"):
            before = _BREAK_AT_END.sub("", before)
        elif len(before) == document.begin:
            following = document.statements[1:2]
            if not following or following[0].header:
                after = re.sub(r"\A\r?\n", "", after)
        text = before + after
    return text


def _blocks(names: tuple[str, ...], value: Any, *, item: bool = False) -> str | None:
    """Return a table, or a list of tables, under its own headers; None for a value that belongs on a line."""
    if isinstance(value, list) and value and all(isinstance(table, dict) for table in value):
        return "\n\n".join(filter(None, (_blocks(names, table, item=True) for table in value)))
    if not isinstance(value, dict):
        return None
    lines, blocks = [], []
    for key, inner in value.items():
        block = _blocks((*names, key), inner)
        if block is None:
            lines.append(f"{_name(key)} = {_inline(inner)}")
        else:
            blocks.append(block)
    if item or lines or not blocks:
        dotted = ".".join(map(_name, names))
        blocks.insert(0, "\n".join([f"[[{dotted}]]" if item else f"[{dotted}]", *lines]))
    return "\n\n".join(blocks)


def _inline(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        members = ", ".join(f"{_name(key)} = {_inline(inner)}" for key, inner in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else _inline(key)


def _names(path: Path) -> tuple[str, ...]:
    return tuple(step for step in path if isinstance(step, str))


def _written(value: Any) -> str:
    return "\n\n".join(_blocks((key,), inner) or f"{_name(key)} = {_inline(inner)}" for key, inner in value.items())


# --- positions ------------------------------------------------------------------------------------------------------

COMMENT = re.compile(r"#[^\r\n]*")
_STRING = (
    r'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+"{3,5}'
    r"|'''(?:[^']++|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\\r\n]|\\.)*+"'
    r"|'[^'\r\n]*+'"
)
_TOKEN = re.compile(rf"{_STRING}|#[^\r\n]*|([\[{{])|([\]}}])|[^\"'#\[\]{{}}]+")
_STRING_VALUE = re.compile(_STRING)
_PLAIN_VALUE = re.compile(r"[^#\r\n]*[^#\s]")
_PLAIN_MEMBER = re.compile(r"[^,#\]}\r\n]*[^,#\]}\s]")
_PART = re.compile(r"""[ \t]*("(?:[^"\\\r\n]|\\.)*+"|'[^'\r\n]*+'|[A-Za-z0-9_-]+)[ \t]*""")


class Statement(NamedTuple):
    """A header or a key with its value."""

    path: Path
    """Its path in the document, with the numbers of items of arrays of tables."""
    table: Path
    """The path of the header it is under; its own for a header."""
    start: int
    """The offset of its first line."""
    key: int
    """The offset after the indentation."""
    value: tuple[int, int]
    """Start and end of the value; empty for a header."""
    end: int
    """The offset after its last line, including the line break."""

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
    """Start and end of the value of each member."""


@lru_cache(maxsize=1)  # an edit, and hiding secrets, need the same document repeatedly
def statements(text: str, start: int) -> list[Statement]:
    """Return every header and key of a valid document, in order, from this offset on."""
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
            names, at = _dotted(text, at + 1 + item)
            table = path = _table(names, sizes, item=item)
        else:
            names, at = _dotted(text, at)
            path = (*table, *names)
            value = value_span(text, skip_space(text, at + 1), _PLAIN_VALUE)
            at = value[1]
        at = _line_end(text, at)
        found.append(Statement(path, table, line, key, value, at))
    return found


def value_span(text: str, at: int, plain: re.Pattern[str] = _PLAIN_MEMBER) -> tuple[int, int]:
    """Return start and end of the value that begins here."""
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
    """Return the array or inline table that begins here."""
    if text[at] not in "[{":
        raise UnsupportedLayout("a value on the path is not a table or list")
    table = text[at] == "{"
    opened = at + 1
    members, keys, spans = [], [], []
    at = _skip_gap(text, opened)
    while text[at] not in "]}":
        begin = at
        if table:
            names, at = _dotted(text, at)
            keys.append(names)
            at = skip_space(text, at + 1)
        span = value_span(text, at)
        spans.append(span)
        members.append((begin, span[1]))
        at = _skip_gap(text, span[1])
    return Inline(Frame(opened, at, tuple(members)), tuple(keys), tuple(spans))


def _table(names: tuple[str, ...], sizes: dict[Path, int], *, item: bool) -> Path:
    """Return the path of a header; the name of an array of tables stands for its last item."""
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


def _dotted(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """Return the parts of a dotted key and the offset after it."""
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
    """Return the offset of the next member or the closing bracket."""
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


EDITOR = Editor(_parse, _span, _replaced, _inserted, _appended, _removed, _written, _emptied)
