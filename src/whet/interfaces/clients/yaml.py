"""Editing YAML.

In block style a new key gets lines of its own behind the last one of its table, with the indentation of its siblings;
flow style (`{a: 1}`) is edited like JSON. An empty table or list, or a null, that stands behind its key at the end of a
line is opened up below the key.

A table in block style cannot be empty. When its last key is taken, `{}` is written behind the key it belonged to,
unless the table came about by filling a null: then the line of that key ends in blanks that say what stood there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.interfaces.clients import values
from whet.interfaces.clients.brackets import Frame, Style, insert, remove
from whet.interfaces.clients.edits import Editor
from whet.interfaces.clients.values import Path, Unusual
from whet.interfaces.clients.yaml_nodes import end_of, line_end, parse
from whet.interfaces.clients.yaml_writing import flow, lines, lines_of_item

if TYPE_CHECKING:
    from whet.interfaces.clients.yaml_nodes import Document, Node

_COMMENT = re.compile(r"#[^\r\n]*")
_BREAK = re.compile(r"\r\n|[\r\n]")
_COLON = re.compile(r"[ \t]*:")
_DASH = re.compile(r"( *)-[ \t]+")
_REMARK = re.compile(r"(?:\r\n|\n)([ \t]*)(#[^\r\n]*)?(?=[\r\n]|\Z)")
_NULLS = {"": " ", " null": "  ", " ~": "   ", " ": "    "}
"""What stood behind a key, and what its line ends in once that was filled."""
_FILLED = {blanks: null for null, blanks in _NULLS.items()}


class _Spot(NamedTuple):
    """Something in a table or a list."""

    above: Node
    member: int
    key: Node | None
    """None for an item."""
    node: Node


def _span(document: Document, path: Path) -> tuple[int, int]:
    node = _find(document, path)[-1].node
    return node.start, end_of(document.text, node)


def _replaced(document: Document, path: Path, value: Any) -> str:
    text = document.text
    spot = _find(document, path)[-1]
    old, end = spot.node, end_of(text, spot.node)
    if old.start == old.end:
        return text[: old.end] + " " + flow(value) + text[old.end :]
    if not _is_block(old):
        return text[: old.start] + flow(value) + text[end:]
    if value and isinstance(value, dict if old.kind == "map" else list):
        indent = " " * (old.start - _line_start(document, old.start))
        body = (values.newline_of(text) + indent).join(lines(value, _unit(document)))
        return text[: old.start] + body + text[end:]
    if spot.key is None:
        return text[: old.start] + flow(value) + text[end:]
    colon = _behind_colon(text, spot.key)
    if text[colon : line_end(text, colon)].strip():
        raise Unusual("a comment stands where the value has to go")
    return text[:colon] + " " + flow(value) + text[end:]


def _inserted(document: Document, parent: Path, key: str, value: Any) -> str:
    unit = _unit(document)
    return _grown(document, parent, flow({key: value})[1:-1], lines({key: value}, unit))


def _appended(document: Document, path: Path, value: Any) -> str:
    return _grown(document, path, flow(value), lines_of_item(value, _unit(document)))


def _grown(document: Document, path: Path, member: str, body: list[str]) -> str:
    """The collection at a path with one more member, which is given for flow and for block style."""
    text, newline = document.text, values.newline_of(document.text)
    spots = _find(document, path)
    node = spots[-1].node if spots else document.root
    if node is None or (not spots and node.start == node.end):
        made = newline.join(body)
        at_line = len(text) == document.begin or text.endswith("\n")
        return text + made + newline if at_line else text + newline + made
    if node.kind == "alias":
        raise Unusual(f"{values.named(path)} is an alias")
    if _is_block(node):
        indent, at = _behind(document, node)
        return text[:at] + newline + indent + (newline + indent).join(body) + text[at:]
    opened = _opened_up(document, spots[-1], body) if spots else None
    if opened is not None:
        return opened
    if not node.flow:
        raise Unusual(f"{values.named(path)} is neither a table nor a list")
    style = Style(_COMMENT, newline, " " * _unit(document))
    return insert(text, _frame(text, node), style, lambda _: member)


def _removed(document: Document, path: Path) -> str:
    text = document.text
    spots = _find(document, path)
    spot = spots[-1]
    if spot.above.flow:
        return remove(text, _frame(text, spot.above), Style(_COMMENT), spot.member)
    size = len(spot.above.children) // (1 if spot.key is None else 2)
    owner = spots[-2] if len(spots) > 1 else None
    if size == 1 and owner is not None and owner.key is None:
        empty = "[]" if spot.key is None else "{}"
        return text[: owner.node.start] + empty + text[end_of(text, owner.node) :]
    start, end = _own_lines(document, spot)
    if size > 1 or owner is None or owner.key is None:
        return text[:start] + text[end:]
    colon = _behind_colon(text, owner.key)
    head_end = line_end(text, colon)
    if head_end > start:
        raise Unusual("it stands on the line of its table")
    head = _emptied_head(text[colon:head_end], "[]" if spot.key is None else "{}")
    return text[:colon] + head + text[head_end:start] + text[end:]


def _emptied(value: Any, path: Path) -> list[Any]:
    """A table that was made by filling a null is a null again."""
    parent = path[:-1]
    return [] if not parent or values.value_at(value, parent) else [values.with_value(value, parent, None)]


def _find(document: Document, path: Path) -> list[_Spot]:
    """Everything on the way to a path."""
    spots: list[_Spot] = []
    node = document.root
    for step in path:
        if node is None or node.kind not in ("map", "list"):
            raise Unusual("an alias is on the way")
        if isinstance(step, int):
            spot = _Spot(node, step, None, node.children[step])
        else:
            entries = list(zip(node.children[::2], node.children[1::2], strict=True))
            at = [at for at, (key, _) in enumerate(entries) if key.kind == "scalar" and key.word == step]
            if len(at) != 1:
                raise Unusual(f"{step!r} is there twice" if at else f"{step!r} comes from elsewhere")
            spot = _Spot(node, at[0], *entries[at[0]])
        spots.append(spot)
        node = spot.node
    return spots


def _behind(document: Document, node: Node) -> tuple[str, int]:
    """The indentation of the members of a block, and the end of the line behind which a new one goes.

    Remarks below the last member that are indented deeper than it belong to it.
    """
    text = document.text
    first = node.children[0].start
    start = _line_start(document, first)
    column = first - start
    if node.kind == "list":
        dash = _DASH.fullmatch(text, start, first)
        if dash is None:
            raise Unusual("its items do not begin on the lines of their dashes")
        column = len(dash.group(1))
    at = seen = line_end(text, end_of(text, node))
    while remark := _REMARK.match(text, seen):
        seen = remark.end()
        if remark.group(2):
            if len(remark.group(1)) <= column:
                break
            at = seen
    return " " * column, at


def _opened_up(document: Document, spot: _Spot, body: list[str]) -> str | None:
    """A null or an empty collection behind its key, filled below it; None where that is not how it is written."""
    text, newline = document.text, values.newline_of(document.text)
    if spot.key is None or spot.above.flow or spot.node.children:
        return None
    indent = " " * (spot.key.start - _line_start(document, spot.key.start) + _unit(document))
    colon = _behind_colon(text, spot.key)
    end = line_end(text, colon)
    head = text[colon:end]
    if spot.node.flow:
        if head not in (" {}", " []"):
            return None
        head = ""
    elif head in _NULLS:
        head = _NULLS[head]
    elif spot.node.start == spot.node.end and head.lstrip(" \t").startswith("#"):
        head += " "
    else:
        return None
    return text[:colon] + head + newline + indent + (newline + indent).join(body) + text[end:]


def _emptied_head(head: str, empty: str) -> str:
    """What stands behind a key whose block is gone: the null that was filled, or an empty collection."""
    if head in _FILLED:
        return _FILLED[head]
    if "#" in head and head.endswith(" "):
        return head[:-1]
    return f" {empty}{head}"


def _own_lines(document: Document, spot: _Spot) -> tuple[int, int]:
    """The lines of a member of a block, with the line break before them, or at the top the one behind."""
    text = document.text
    begin = spot.node.start if spot.key is None else spot.key.start
    start, end = _line_start(document, begin), end_of(text, spot.node)
    before = text[start:begin]
    if spot.key is None and _DASH.fullmatch(before) is None:
        raise Unusual("it does not begin on the line of its dash")
    if spot.key is not None and before.strip(" "):
        following = spot.above.children[2 * spot.member + 2 : 2 * spot.member + 3]
        if _DASH.fullmatch(before) is None or not following or "#" in text[end : following[0].start]:
            raise Unusual("it does not begin a line")
        return begin, following[0].start
    end = line_end(text, end)
    if start == document.begin:
        after = _BREAK.match(text, end)
        return start, after.end() if after else end
    return start - (2 if text[start - 2 : start] == "\r\n" else 1), end


def _frame(text: str, node: Node) -> Frame:
    """The brackets of a collection in flow style."""
    opened = text.index("{" if node.kind == "map" else "[", node.start) + 1
    if node.kind == "list":
        members = [(item.start, item.end) for item in node.children]
    else:
        pairs = zip(node.children[::2], node.children[1::2], strict=True)
        members = [(key.start, max(key.end, value.end)) for key, value in pairs]
    return Frame(opened, node.end - 1, tuple(members))


def _is_block(node: Node) -> bool:
    return node.kind in ("map", "list") and not node.flow


def _behind_colon(text: str, key: Node) -> int:
    found = _COLON.match(text, key.end)
    if found is None:
        raise Unusual(f"{key.word!r} has its value on another line")
    return found.end()


def _line_start(document: Document, at: int) -> int:
    text = document.text
    return max(text.rfind("\n", 0, at) + 1, text.rfind("\r", 0, at) + 1, document.begin)


def _unit(document: Document) -> int:
    """How far the file indents, as the first table inside its table shows."""
    children = document.root.children if document.root is not None and document.root.kind == "map" else []
    for key, node in zip(children[::2], children[1::2], strict=True):
        if node.kind == "map" and not node.flow and node.children:
            first = node.children[0].start
            width = (first - _line_start(document, first)) - (key.start - _line_start(document, key.start))
            return width if 0 < width <= 8 else 2
    return 2


def _written(value: Any) -> str:
    return "\n".join(lines(value, 2))


EDITOR = Editor(parse, _span, _replaced, _inserted, _appended, _removed, _written, _emptied, null_is_empty=True)
