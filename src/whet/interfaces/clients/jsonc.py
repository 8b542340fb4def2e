"""Editing JSON with comments and trailing commas, as editors and agents allow.

The text is changed only at the place of the edit. Comments and trailing commas are blanked out in a copy of the same
length, so that Python's own parser does the reading, the errors have the right line and column, and a file of several
megabytes on one line takes no longer than it must.

A repeated key is read as clients read it (the last one counts), but such an object is not edited.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

from whet.errors import InvalidError
from whet.interfaces.clients import editor
from whet.interfaces.clients.editor import BOM, Editor
from whet.skill.text_edit import (
    Frame,
    Path,
    Style,
    UnsupportedLayout,
    insert_member,
    line_indent,
    newline_of,
    remove_member,
    skip_space,
)

_COMMENT = re.compile(r"//[^\r\n]*|/\*[\s\S]*?\*/")
_STRING = r'"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"?'
_STRING_OR_COMMENT = re.compile(rf"({_STRING})|//[^\r\n]*|/\*[\s\S]*?(?:\*/|\Z)")
_STRING_OR_COMMA = re.compile(rf"({_STRING}|[\[{{,][ \t\r\n]*+,)|,(?=[ \t\r\n]*+[\]}}])")
_STRING_OR_BRACKET = re.compile(rf"{_STRING}|([\[{{])|([\]}}])")
_STRING_OR_NUMBER = re.compile(rf"{_STRING}|(NaN|-?Infinity|[0-9]{{4000,}}+)|[0-9]++")
_COLON = re.compile(r'"([ \t]*:[ \t]*)')
_INDENT = re.compile(r"\n([ \t]+)[^ \t\r\n]")


class _Container(NamedTuple):
    """An object or an array in the text."""

    frame: Frame
    keys: tuple[str, ...]
    starts: tuple[int, ...]
    """Start of the value of each member, after the key."""


class _Document(NamedTuple):
    text: str
    clean: str
    """Plain JSON of the same length."""
    root: int
    """Start of the value; the end of the text if there is none."""
    value: Any
    seen: dict[int, _Container]
    """The containers that were parsed, by their start."""

    @property
    def empty(self) -> bool:
        return self.root == len(self.text)


def _parse(text: str) -> _Document:
    editor.checked_size(text)
    clean = " " + text[1:] if text.startswith(BOM) else text
    try:
        value = _loads(clean, text)
    except InvalidError:
        clean = _STRING_OR_COMMA.sub(_blanked_comma, _STRING_OR_COMMENT.sub(_blanked_comment, clean))
        if not clean.strip(" \t\r\n"):
            return _Document(text, clean, len(text), {}, {})
        value = _loads(clean, text)
    if editor.is_deep(value):
        raise _deep(clean, text)
    return _Document(text, clean, skip_space(clean, 0), value, {})


def _loads(clean: str, text: str) -> Any:
    try:
        return json.loads(clean, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        at = error.pos
        if text[at : at + 2] == "/*":
            raise editor.broken(text, at, "A comment does not end") from None
        raise editor.broken(text, at, error.msg) from None
    except RecursionError:
        raise _deep(clean, text) from None
    except ValueError:
        found = next((found for found in _STRING_OR_NUMBER.finditer(clean) if found.group(1)), None)
        raise editor.broken(text, found.start() if found else 0, "This is not a JSON number") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _blanked_comment(found: re.Match[str]) -> str:
    """Return white space in place of a comment; an unclosed one stays, so that the parser fails on it."""
    comment = found.group()
    if found.group(1) or (comment.startswith("/*") and (len(comment) < 4 or not comment.endswith("*/"))):
        return comment
    return re.sub(r"[^\r\n]", " ", comment)


def _blanked_comma(found: re.Match[str]) -> str:
    return found.group(1) or " "


def _deep(clean: str, text: str) -> InvalidError:
    """Return the error at the first bracket that is too deep."""
    depth = at = 0
    for found in _STRING_OR_BRACKET.finditer(clean):
        depth += (found.lastindex == 1) - (found.lastindex == 2)
        if depth > editor.MAX_DEPTH:
            at = found.start()
            break
    return editor.too_deep(text, at)


def _find(document: _Document, path: Path) -> tuple[_Container, int]:
    """Return the container of the value at a path, and its index.

    Raises UnsupportedLayout for an object with a repeated key.
    """
    above, last = path[:-1], path[-1]
    container = _container(document, _start(document, above))
    return container, last if isinstance(last, int) else container.keys.index(last)


def _start(document: _Document, path: Path) -> int:
    """Return the start of the value at a path."""
    start = document.root
    for step in path:
        container = _container(document, start)
        start = container.starts[step if isinstance(step, int) else container.keys.index(step)]
    return start


def _container(document: _Document, start: int) -> _Container:
    """Return the container that opens at this offset."""
    if start in document.seen:
        return document.seen[start]
    clean = document.clean
    if clean[start : start + 1] not in ("{", "["):
        raise UnsupportedLayout("the document is not an object")
    decode = json.JSONDecoder().raw_decode
    is_object = clean[start] == "{"
    members, keys, starts = [], [], []
    at = skip_space(clean, start + 1)
    while clean[at] not in "}]":
        begin = at
        if is_object:
            key, at = decode(clean, at)
            keys.append(key)
            at = skip_space(clean, skip_space(clean, at) + 1)
        starts.append(at)
        _, at = decode(clean, at)
        members.append((begin, at))
        at = skip_space(clean, at)
        if clean[at] == ",":
            at = skip_space(clean, at + 1)
    if len(set(keys)) < len(keys):
        raise UnsupportedLayout("an object on the path has a key twice")
    found = document.seen[start] = _Container(Frame(start + 1, at, tuple(members)), tuple(keys), tuple(starts))
    return found


def _span(document: _Document, path: Path) -> tuple[int, int]:
    container, member = _find(document, path)
    return container.starts[member], container.frame.members[member][1]


def _appended(document: _Document, path: Path, value: Any) -> str:
    return _inserted(document, path, None, value)


def _inserted(document: _Document, parent: Path, key: str | None, value: Any) -> str:
    """Return the text with a new last member in the container at a path: with a key, or an item."""
    text = document.text
    if document.empty:
        newline = newline_of(text)
        made = _dump({key: value}, indent=_unit(document), separators=(",", ": ")).replace("\n", newline)
        return text + made + newline if text in ("", BOM) or text[-1] in "\r\n" else text + newline + made
    container = _container(document, _start(document, parent))
    style = _style(document)
    if parent:
        above, member = _find(document, parent)
        begin = above.frame.members[member][0]
        style = style._replace(open_up=not text[text.rfind("\n", 0, begin) + 1 : begin].strip(" \t"))
    colon = _colon(document)

    def render(indent: str | None) -> str:
        name = "" if key is None else _dump(key) + colon
        return name + _written(value, indent, style, colon)

    return insert_member(text, container.frame, style, render)


def _replaced(document: _Document, path: Path, value: Any) -> str:
    text = document.text
    container, member = _find(document, path)
    (begin, end), start = container.frame.members[member], container.starts[member]
    old = text[start:end]
    on_line = text[text.rfind("\n", 0, begin) + 1 : begin].strip(" \t") or (
        len(old) > 2 and old[0] in "[{" and "\n" not in old
    )
    indent = None if on_line else line_indent(text, begin)
    return text[:start] + _written(value, indent, _style(document), _colon(document)) + text[end:]


def _removed(document: _Document, path: Path) -> str:
    container, member = _find(document, path)
    return remove_member(document.text, container.frame, _style(document), member)


def _written(value: Any, indent: str | None, style: Style, colon: str) -> str:
    if indent is None:
        return _dump(value, separators=("," + style.gap, colon))
    return _dump(value, indent=style.unit, separators=(",", colon)).replace("\n", style.newline + indent)


def _dump(value: Any, **layout: Any) -> str:
    """Return the value as JSON; escaped only if the text could not be written as UTF-8 otherwise."""
    made = json.dumps(value, ensure_ascii=False, allow_nan=False, **layout)
    try:
        made.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, **layout)
    return made


def _snippet(value: Any) -> str:
    return _dump(value, indent=2)


def _style(document: _Document) -> Style:
    one_line = "\n" not in document.clean.strip(" \t\r\n")
    tight = one_line and _colon(document).endswith(":")
    return Style(_COMMENT, newline_of(document.text), _unit(document), "" if tight else " ", open_up=True)


def _unit(document: _Document) -> str:
    found = _INDENT.search(document.clean)
    return found.group(1) if found else "  "


def _colon(document: _Document) -> str:
    found = _COLON.search(document.clean)
    return found.group(1) if found else ": "


EDITOR = Editor(_parse, _span, _replaced, _inserted, _appended, _removed, _snippet, escapes=True)
