"""Editing JSON, with the comments and trailing commas that editors and agents allow in theirs.

Nothing is re-written: the place of a change is found in the text, and only there it is changed. Comments and trailing
commas are blanked out in a copy of the same length, so that Python's own parser does the reading, the errors have the
right line and column, and a file of several megabytes on one line takes no longer than it must.

A key that an object has twice is read as clients read it (the last one counts), but such an object is not edited.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

from whet.errors import InvalidError
from whet.interfaces.clients import edits, values
from whet.interfaces.clients.brackets import Frame, Style, insert, line_indent, remove, skip_space
from whet.interfaces.clients.values import BOM, Path, Unusual

_COMMENT = re.compile(r"//[^\r\n]*|/\*[\s\S]*?\*/")
_STRING = r'"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"?'
_STRING_OR_COMMENT = re.compile(rf"({_STRING})|//[^\r\n]*|/\*[\s\S]*?(?:\*/|\Z)")
_STRING_OR_COMMA = re.compile(rf"({_STRING}|[\[{{,][ \t\r\n]*+,)|,(?=[ \t\r\n]*+[\]}}])")
_STRING_OR_BRACKET = re.compile(rf"{_STRING}|([\[{{])|([\]}}])")
_STRING_OR_NUMBER = re.compile(rf"{_STRING}|(NaN|-?Infinity|[0-9]{{4000,}}+)|[0-9]++")
_COLON = re.compile(r'"([ \t]*:[ \t]*)')
_INDENT = re.compile(r"\n([ \t]+)[^ \t\r\n]")


class _Document(NamedTuple):
    text: str
    clean: str
    """Plain JSON of the same length."""
    root: int
    """Where the value begins; the end of the text where there is none."""
    value: Any

    @property
    def empty(self) -> bool:
        return self.root == len(self.text)


class _Spot(NamedTuple):
    """A container on the way, and the member of it that the next step names."""

    frame: Frame
    keys: tuple[str, ...]
    starts: tuple[int, ...]
    """Where the value of each member begins; behind the key."""
    member: int
    """The member that was asked for; -1 when it is not there."""


def read(text: str) -> Any:
    """What the text says; an empty text is an empty object. Raises InvalidError with line and column."""
    return _parse(text).value


def put(text: str, path: Path, value: Any) -> str:
    """The text with this value at the path; objects that are missing on the way are made."""
    return edits.put(_EDITOR, text, path, value)


def append(text: str, path: Path, value: Any) -> str:
    """The text with an item behind the others of the array at the path; what is missing on the way is made."""
    return edits.append(_EDITOR, text, path, value)


def take(text: str, path: Path) -> str:
    """The text without what stands at the path; the same text where nothing does. `()` is the whole value."""
    return edits.take(_EDITOR, text, path) if path else _without_root(_parse(text))


def added(text: str, path: Path) -> Path:
    """The topmost path that `put`, or for a list that is there `append`, would make; `take` of it undoes them.

    It is `()` where the text has no value yet, and where `put` makes nothing because something is there.
    """
    return () if _parse(text).empty else edits.added(_EDITOR, text, path)


def _parse(text: str) -> _Document:
    values.checked_size(text)
    clean = " " + text[1:] if text.startswith(BOM) else text
    try:
        value = _loads(clean, text)
    except InvalidError:
        clean = _STRING_OR_COMMA.sub(_blanked_comma, _STRING_OR_COMMENT.sub(_blanked_comment, clean))
        if not clean.strip(" \t\r\n"):
            return _Document(text, clean, len(text), {})
        value = _loads(clean, text)
    if values.is_deep(value):
        raise _deep(clean, text)
    return _Document(text, clean, skip_space(clean, 0), value)


def _loads(clean: str, text: str) -> Any:
    try:
        return json.loads(clean, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        at = error.pos
        if text[at : at + 2] == "/*":
            raise values.broken(text, at, "A comment does not end") from None
        raise values.broken(text, at, error.msg) from None
    except RecursionError:
        raise _deep(clean, text) from None
    except ValueError:
        found = next((found for found in _STRING_OR_NUMBER.finditer(clean) if found.group(1)), None)
        raise values.broken(text, found.start() if found else 0, "This is no number in JSON") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _blanked_comment(found: re.Match[str]) -> str:
    """White space in the place of a comment; one that does not end stays, for the parser to stumble over."""
    comment = found.group()
    if found.group(1) or (comment.startswith("/*") and (len(comment) < 4 or not comment.endswith("*/"))):
        return comment
    return re.sub(r"[^\r\n]", " ", comment)


def _blanked_comma(found: re.Match[str]) -> str:
    return found.group(1) or " "


def _deep(clean: str, text: str) -> InvalidError:
    """The failure, at the bracket that is one too many."""
    depth = at = 0
    for found in _STRING_OR_BRACKET.finditer(clean):
        depth += (found.lastindex == 1) - (found.lastindex == 2)
        if depth > values.MAX_DEPTH:
            at = found.start()
            break
    return values.too_deep(text, at)


def _find(document: _Document, path: Path) -> list[_Spot]:
    """Every container on the way. Raises Unusual for an object with a key twice."""
    spots = []
    start = document.root
    for step in path:
        spot = _container(document.clean, start, step)
        spots.append(spot)
        if spot.member >= 0:
            start = spot.starts[spot.member]
    return spots


def _container(clean: str, start: int, step: str | int | None) -> _Spot:
    """The brackets that open at this offset."""
    if clean[start : start + 1] not in ("{", "["):
        raise Unusual("the document is no object")
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
        raise Unusual("an object on the way has a key twice")
    index = step if isinstance(step, int) else keys.index(step) if step in keys else -1
    return _Spot(Frame(start + 1, at, tuple(members)), tuple(keys), tuple(starts), index)


def _appended(document: _Document, path: Path, value: Any) -> str:
    return _inserted(document, path, None, value)


def _inserted(document: _Document, parent: Path, key: str | None, value: Any) -> str:
    """A member behind the last one of the container at a path: with a key, or an item."""
    text = document.text
    if document.empty:
        newline = values.newline_of(text)
        made = _dump({key: value}, indent=_unit(document), separators=(",", ": ")).replace("\n", newline)
        return text + made + newline if text in ("", BOM) or text[-1] in "\r\n" else text + newline + made
    spots = _find(document, parent)
    start = spots[-1].starts[spots[-1].member] if spots else document.root
    spot = _container(document.clean, start, key)
    style = _style(document)
    if spots:
        above = spots[-1]
        begin = above.frame.members[above.member][0]
        style = style._replace(open_up=not text[text.rfind("\n", 0, begin) + 1 : begin].strip(" \t"))
    colon = _colon(document)

    def render(indent: str | None) -> str:
        name = "" if key is None else _dump(key) + colon
        return name + _written(value, indent, style, colon)

    return insert(text, spot.frame, style, render)


def _replaced(document: _Document, path: Path, value: Any) -> str:
    text = document.text
    spot = _find(document, path)[-1]
    start, end = spot.starts[spot.member], spot.frame.members[spot.member][1]
    begin = spot.frame.members[spot.member][0]
    old = text[start:end]
    on_line = text[text.rfind("\n", 0, begin) + 1 : begin].strip(" \t") or (
        len(old) > 2 and old[0] in "[{" and "\n" not in old
    )
    indent = None if on_line else line_indent(text, begin)
    return text[:start] + _written(value, indent, _style(document), _colon(document)) + text[end:]


def _removed(document: _Document, path: Path) -> str:
    spot = _find(document, path)[-1]
    return remove(document.text, spot.frame, _style(document), spot.member)


def _nothing_else(value: Any, path: Path) -> tuple[Any, ...]:  # noqa: ARG001 - an empty object or array can be written
    return ()


def _without_root(document: _Document) -> str:
    """The text without its value and the line break that an empty document got with it."""
    text = document.text
    if document.empty:
        return text
    _, end = json.JSONDecoder().raw_decode(document.clean, document.root)
    before, after = text[: document.root], text[end:]
    if after:
        return before + values.NEWLINE.sub("", after, count=1)
    return re.sub(r"\r?\n\Z", "", before)


def _written(value: Any, indent: str | None, style: Style, colon: str) -> str:
    if indent is None:
        return _dump(value, separators=("," + style.gap, colon))
    return _dump(value, indent=style.unit, separators=(",", colon)).replace("\n", style.newline + indent)


def _dump(value: Any, **layout: Any) -> str:
    """The value as JSON; escaped only where the text could not be written as UTF-8 otherwise."""
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
    return Style(_COMMENT, values.newline_of(document.text), _unit(document), "" if tight else " ", open_up=True)


def _unit(document: _Document) -> str:
    found = _INDENT.search(document.clean)
    return found.group(1) if found else "  "


def _colon(document: _Document) -> str:
    found = _COLON.search(document.clean)
    return found.group(1) if found else ": "


def _check(value: Any) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise values.bad_value(f"The value cannot be written as JSON: {error}.") from None


_EDITOR = edits.Editor(_parse, _check, _replaced, _inserted, _appended, _removed, _snippet, _nothing_else)
