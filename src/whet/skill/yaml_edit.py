"""Edit YAML text at any depth: one entry changes, and no other byte.

Nothing is ever rewritten from its values. The parser's marks locate each part of the text, so that everything in YAML
(text blocks, folded plain text, flow style, comments) is found the way YAML reads it; the edit replaces the text of one
entry and copies the rest. Order, comments, quoting, blank lines and line ends are untouched. Callers read the result
again and compare it with what it should say.

In block style a new key gets its own lines after the last one of its mapping, with the indentation of its siblings;
flow style (`{a: 1}`) is edited like JSON. An empty collection or a null after its key is filled below the key. A block
cannot be empty: when its last member is removed, `{}` or `[]` is written after its key, unless it was made by filling a
null with `mark_null`: then blanks at the end of the key's line record the original null.

A value gets the shortest spelling that every reader reads as the same value: a word stays plain only if YAML 1.1
readers (PyYAML, Ruby, Go) and YAML 1.2 readers agree that it is text, so `no`, `1.10` and `2026-01-01` get quotes.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from whet.errors import InvalidError
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.block import UNPRINTABLE
from whet.skill.text_edit import (
    Frame,
    Path,
    Style,
    UnsupportedLayout,
    insert_member,
    newline_of,
    remove_member,
)

MAX_DEPTH = 200
MAX_NODES = 1_000_000
"""Largest number of values in a document, with aliases expanded."""

WIDTH = 100
"""Columns at which a folded text is wrapped."""

_UNPRINTABLE = compile_late(f"[{UNPRINTABLE}]")
_NOT_PLAIN = compile_late(r"""^[\s\-?:,\[\]{}#&*!|>'"%@`]|:(?:\s|$)|\s#|\s$""")
_TYPED = compile_late(
    r"""(?ix) ~ | = | << | null | true | false | yes | no | on | off | y | n
      | [-+]? (?: 0b[01_]+ | 0o?[0-7_]+ | 0x[0-9a-f_]+ )
      | [-+]? [0-9][0-9_]* (?: :[0-5]?[0-9] )* (?: \.[0-9_]* )? (?: e[-+]?[0-9]+ )?
      | [-+]? \.[0-9][0-9_]* (?: e[-+]?[0-9]+ )? | [-+]?\.inf | \.nan
      | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2} (?: [t\s].* )?"""
)
_FLOW_PLAIN = compile_late(r"[A-Za-z0-9_/.()][A-Za-z0-9_/.()*+ -]*")
_ESCAPED = compile_late(rf"[{UNPRINTABLE}\"\\]")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_SURROGATE = compile_late("[\ud800-\udfff]")
_BLANK_ROW = compile_late(r"^[^\S\n]+$", re.MULTILINE)

_COMMENT = compile_late(r"#[^\r\n]*")
_BREAK = compile_late(r"\r\n|[\r\n]")
_COLON = compile_late(r"[ \t]*:")
_DASH = compile_late(r"( *)-[ \t]+")
_REMARK = compile_late(r"(?:\r\n|\n)([ \t]*)(#[^\r\n]*)?(?=[\r\n]|\Z)")
_TO_LINE_END = compile_late(r"[^\r\n]*")
_BREAK_AT_END = compile_late(r"(?:\r\n|\n)\Z")
_HEADER_COMMENT = compile_late(r"(?:[ \t]+[|>][-+0-9]*)?([ \t]+#.*)")
_NULLS = {"": " ", " null": "  ", " ~": "   ", " ": "    "}
"""The null after a key, and how its line ends once that was filled."""
_FILLED = {blanks: null for null, blanks in _NULLS.items()}


# --- positions in the text ------------------------------------------------------------------------------------------


class TooLarge(Exception):  # noqa: N818 - every caller turns it into its own error
    """The document is nested too deeply (`at` is the offset) or has too many values (`at` is None)."""

    def __init__(self, reason: str, at: int | None = None) -> None:
        super().__init__(reason)
        self.at = at


class Node:
    """A scalar, an alias or a collection in the text."""

    __slots__ = ("children", "end", "flow", "kind", "size", "start", "style", "word")

    def __init__(self, kind: str, start: int, end: int, *, flow: bool = False, style: str = "", word: str = "") -> None:
        self.kind = kind
        """`scalar`, `alias`, `map` or `list`."""
        self.start = start
        self.end = end
        """For a block collection, the start of the next token; `_end_of` returns the real end."""
        self.flow = flow
        self.style = style
        """Quote, `|` or `>` of a scalar."""
        self.word = word
        """Text of a scalar."""
        self.children: list[Node] = []
        """Items; for a map, keys and values in turn."""
        self.size = 1

    @property
    def block(self) -> bool:
        """Whether it is a collection with one member per line."""
        return self.kind in ("map", "list") and not self.flow


class YamlText(NamedTuple):
    """A text and the positions of its parts."""

    text: str
    root: Node | None
    """None if there are only comments."""
    begin: int
    """Offset after a byte order mark."""
    newline: str
    later_counts: bool = False
    """Whether the later of two equal keys counts; else such a key is not edited."""


class _Spot(NamedTuple):
    """A member of a mapping or a list."""

    above: Node
    member: int
    key: Node | None
    """None for an item of a list."""
    node: Node


def read_nodes(text: str, newline: str = "") -> YamlText:
    """Locate everything in a text. Raise yaml.YAMLError, or TooLarge before anything can grow without bound."""
    import yaml

    begin = 1 if text.startswith("\ufeff") else 0
    top = Node("list", 0, 0)
    open_nodes: list[tuple[Node, str | None]] = [(top, None)]
    anchors: dict[str, Node | None] = {}
    """None for a collection that is still open."""
    for event in yaml.parse(text[begin:], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        start, end = begin + event.start_mark.index, begin + event.end_mark.index
        if isinstance(event, yaml.CollectionEndEvent):
            node, anchor = open_nodes.pop()
            node.end = end
            if anchor is not None:
                anchors[anchor] = node
        elif isinstance(event, yaml.NodeEvent):
            node, anchor = _node(event, start, end), event.anchor
            open_nodes[-1][0].children.append(node)
            if node.kind == "alias":
                node.size = _size_of(anchors, event.anchor)
            elif anchor is not None:
                anchors[anchor] = node if node.kind == "scalar" else None
            if node.kind in ("map", "list"):
                open_nodes.append((node, anchor))
                if len(open_nodes) - 1 > MAX_DEPTH:
                    raise TooLarge(f"nests deeper than {MAX_DEPTH} levels", start)
                continue
        else:
            continue
        parent = open_nodes[-1][0]
        parent.size += node.size
        if parent.size > MAX_NODES:
            raise TooLarge(f"expands to more than {MAX_NODES:,} values")
    return YamlText(text, top.children[0] if top.children else None, begin, newline or newline_of(text))


def _node(event: Any, start: int, end: int) -> Node:
    import yaml

    if isinstance(event, yaml.AliasEvent):
        return Node("alias", start, end)
    if isinstance(event, yaml.ScalarEvent):
        return Node("scalar", start, end, style=event.style or "", word=event.value)
    kind = "map" if isinstance(event, yaml.MappingStartEvent) else "list"
    return Node(kind, start, end, flow=bool(event.flow_style))


def _size_of(anchors: dict[str, Node | None], name: str | None) -> int:
    if name is None or name not in anchors:
        return 1
    meant = anchors[name]
    if meant is None:
        raise TooLarge(f"repeats a part inside itself: {name!r}")
    return meant.size


def find(tree: YamlText, path: Path) -> list[_Spot]:
    """Return the members along a path. Raise UnsupportedLayout if the text does not determine them."""
    spots: list[_Spot] = []
    node = tree.root
    for step in path:
        if node is None or node.kind not in ("map", "list"):
            raise UnsupportedLayout("the path goes through an alias")
        if isinstance(step, int):
            spot = _Spot(node, step, None, node.children[step])
        else:
            entries = list(zip(node.children[::2], node.children[1::2], strict=True))
            at = [at for at, (key, _) in enumerate(entries) if key.kind == "scalar" and key.word == step]
            if not at:
                raise UnsupportedLayout(f"{step!r} comes from an alias or a merge")
            if len(at) > 1 and not tree.later_counts:
                raise UnsupportedLayout(f"{step!r} appears twice")
            spot = _Spot(node, at[-1], *entries[at[-1]])
        spots.append(spot)
        node = spot.node
    return spots


def span(tree: YamlText, path: Path) -> tuple[int, int]:
    """Return the start and end of the value at a path."""
    node = find(tree, path)[-1].node
    return node.start, _end_of(tree.text, node)


def entry_layout(tree: YamlText, path: Path) -> tuple[str, str]:
    """Return the comment beside a value, with the space before it, and the style of the value."""
    spot = find(tree, path)[-1]
    return _comment(tree, spot)[0], _style(spot.node)


def _end_of(text: str, node: Node) -> int:
    """Return the end of a node's own text."""
    while node.block and node.children:
        node = node.children[-1]
    if node.style not in ("|", ">"):
        return node.end
    header = text[node.start : _line_end(text, node.start)].partition("#")[0]
    if "+" in header:
        return len(_BREAK_AT_END.sub("", text[: node.end]))
    return _line_end(text, node.start + len(text[node.start : node.end].rstrip()))


def _line_end(text: str, at: int) -> int:
    """Return the end of the line of this offset, before its line break."""
    found = _TO_LINE_END.match(text, at)
    return found.end() if found else at


def _line_start(tree: YamlText, at: int) -> int:
    return max(tree.text.rfind("\n", 0, at) + 1, tree.text.rfind("\r", 0, at) + 1, tree.begin)


def _column(tree: YamlText, at: int) -> int:
    return at - _line_start(tree, at)


def _behind_colon(text: str, key: Node) -> int:
    found = _COLON.match(text, key.end)
    if found is None:
        raise UnsupportedLayout(f"{key.word!r} has its value on another line")
    return found.end()


def _behind_remarks(text: str, at: int, column: int) -> int:
    """Return the end of the last comment below a line that is indented deeper than a column."""
    at = seen = _line_end(text, at)
    while remark := _REMARK.match(text, seen):
        seen = remark.end()
        if remark.group(2):
            if len(remark.group(1)) <= column:
                break
            at = seen
    return at


def _style(node: Node) -> str:
    """Return the style: `"` `'` `|` `>`; `[` or `{` in brackets; `-` or `:` one member per line; else plain."""
    if node.kind in ("map", "list"):
        return ("{:" if node.kind == "map" else "[-")[not node.flow]
    return node.style


def _unit(tree: YamlText) -> int:
    """Return the indentation of the file, from the first mapping inside its mapping."""
    children = tree.root.children if tree.root is not None and tree.root.kind == "map" else []
    for key, node in zip(children[::2], children[1::2], strict=True):
        if node.kind == "map" and node.block and node.children:
            width = _column(tree, node.children[0].start) - _column(tree, key.start)
            return width if 0 < width <= 8 else 2
    return 2


# --- edits ----------------------------------------------------------------------------------------------------------


def replace(tree: YamlText, path: Path, value: Any, *, style: str | None = None, comment: str | None = None) -> str:
    """Return the text with another value at an existing path.

    The value keeps its place, its comment and its style if the new value allows it; `style` and `comment` override
    them.
    """
    text = tree.text
    spot = find(tree, path)[-1]
    old, end = spot.node, _end_of(text, spot.node)
    style = _style(old) if style is None else style
    colon = _behind_colon(text, spot.key) if spot.key is not None and not spot.above.flow else None
    below = colon is None or old.start > _line_end(text, colon)
    if old.block and below and value and isinstance(value, dict if old.kind == "map" else list):
        body = _indented(spell_block(value, _unit(tree)), _column(tree, old.start), tree.newline)
        return text[: old.start] + body.lstrip(" ") + text[end:]
    if colon is None or spot.key is None:
        gap = " " if old.start == old.end else ""
        word = spell_flow(value)
        if isinstance(value, str) and style in ("'", '"'):
            word = spell(value, style)[0]
        return text[: old.start] + gap + word + text[end:]
    column = _column(tree, spot.key.start)
    rows = _rows(tree, value, style, column, end if old.block else _line_end(text, end))
    beside, stop = _comment(tree, spot)
    if len(rows) == 1 and old.start < old.end and not old.block and old.style not in ("|", ">") and comment is None:
        return text[: old.start] + rows[0] + text[end:]
    on_line = old.start < old.end and old.start <= _line_end(text, colon)
    gap = text[colon : old.start] if on_line else ""
    first = f"{gap or ' '}{rows[0]}" if rows[0] else ""
    return text[:colon] + first + (beside if comment is None else comment) + _below(tree, rows[1:]) + text[stop:]


def insert(
    tree: YamlText,
    parent: Path,
    keys: tuple[str, ...],
    value: Any,
    *,
    after: str = "",
    style: str = "",
    comment: str = "",
    mark_null: bool = False,
) -> str:
    """Return the text with new, nested keys in the mapping at an existing path.

    They are added after the last key, or after the key `after` if it exists.
    """
    unit = _unit(tree)
    spots = find(tree, parent)
    node = spots[-1].node if spots else tree.root
    at, column = None, 0
    if node is not None and node.block:
        at, column = _behind_last(tree, node, after)
    inner = column + unit * (len(keys) - 1)
    rows = _rows(tree, value, style, inner, len(tree.text) if at is None else at)
    rows = [f"{quote(keys[-1])}:{' ' if rows[0] else ''}{rows[0]}{comment}", *_dedented(rows[1:], inner)]
    for key in reversed(keys[:-1]):
        rows = [f"{quote(key)}:", *(" " * unit + row if row else "" for row in rows)]
    if at is not None:
        return tree.text[:at] + tree.newline + _indented(rows, column, tree.newline) + tree.text[at:]
    nested = value
    for key in reversed(keys):
        nested = {key: nested}
    return _fill(tree, spots, parent, spell_flow(nested)[1:-1], rows, mark_null=mark_null)


def append(tree: YamlText, path: Path, value: Any, *, mark_null: bool = False) -> str:
    """Return the text with a new item at the end of the list at an existing path."""
    spots = find(tree, path)
    node = spots[-1].node if spots else tree.root
    rows = _spell_item(value, _unit(tree))
    if node is not None and node.block:
        at, column = _behind_last(tree, node)
        return tree.text[:at] + tree.newline + _indented(rows, column, tree.newline) + tree.text[at:]
    return _fill(tree, spots, path, spell_flow(value), rows, mark_null=mark_null)


def remove(tree: YamlText, path: Path) -> str:
    """Return the text without the entry at a path, including key and comments."""
    text = tree.text
    spots = find(tree, path)
    spot = spots[-1]
    if spot.above.flow:
        return remove_member(text, _frame(text, spot.above), Style(_COMMENT), spot.member)
    size = len(spot.above.children) // (1 if spot.key is None else 2)
    owner = spots[-2] if len(spots) > 1 else None
    empty = "[]" if spot.key is None else "{}"
    if size == 1 and owner is not None and owner.key is None:
        return text[: owner.node.start] + empty + text[_end_of(text, owner.node) :]
    start, end = _own_lines(tree, spot)
    if size > 1 or owner is None or owner.key is None:
        return text[:start] + text[end:]
    colon = _behind_colon(text, owner.key)
    head_end = _line_end(text, colon)
    if head_end > start:
        raise UnsupportedLayout("it is on the same line as its mapping")
    head = _emptied_head(text[colon:head_end], empty)
    return text[:colon] + head + text[head_end:start] + text[end:]


def _emptied_head(head: str, empty: str) -> str:
    """Return the text after a key whose block was removed: the original null, or an empty collection."""
    if head in _FILLED:
        return _FILLED[head]
    return head[:-1] if "#" in head and head.endswith(" ") else f" {empty}{head}"


def _comment(tree: YamlText, spot: _Spot) -> tuple[str, int]:
    """Return the comment beside a value, and the end of the entry with it."""
    text, node = tree.text, spot.node
    if spot.key is None or spot.above.flow:
        return "", _end_of(text, node)
    colon = _behind_colon(text, spot.key)
    head_end = _line_end(text, colon)
    if node.start == node.end:
        return text[colon:head_end], head_end
    end = _end_of(text, node)
    if not node.block and node.style not in ("|", ">") and node.start <= head_end:
        stop = _line_end(text, end)
        return text[end:stop], stop
    header = _HEADER_COMMENT.fullmatch(text[colon:head_end])
    column = _column(tree, spot.key.start)
    stop = _behind_remarks(text, end, column) if node.block else _line_end(text, end)
    return header[1] if header else "", stop


def _rows(tree: YamlText, value: Any, style: str, column: int, at: int) -> list[str]:
    """Return the rows of a value whose key is at a column and which ends at an offset.

    A text block is only used if nothing below it would become part of it.
    """
    rows = spell(value, style, " " * (column + 2), column + _unit(tree), _unit(tree))
    if len(rows) > 1 and isinstance(value, str):
        if at == len(tree.text) and not tree.text.endswith("\n") and len(tree.text) > tree.begin:
            return [quote(value)]
        if _behind_remarks(tree.text, at, column) > _line_end(tree.text, at):
            return [quote(value)]
    return rows


def _behind_last(tree: YamlText, node: Node, after: str = "") -> tuple[int, int]:
    """Return the end of the line after which a new member of a block is inserted, and its column.

    Comments below the last member that are indented deeper belong to it.
    """
    text = tree.text
    first = node.children[0].start
    start = _line_start(tree, first)
    column = first - start
    if node.kind == "list":
        dash = _DASH.fullmatch(text, start, first)
        if dash is None:
            raise UnsupportedLayout("its items do not start on the line of their dash")
        column = len(dash.group(1))
    last = node
    if after and node.kind == "map":
        entries = zip(node.children[::2], node.children[1::2], strict=True)
        last = next((value for key, value in entries if key.word == after), node)
    return _behind_remarks(text, _end_of(text, last), column), column


def _fill(tree: YamlText, spots: list[_Spot], path: Path, member: str, rows: list[str], *, mark_null: bool) -> str:
    """Return the text with a first member in a document or a collection, or with one more in flow style."""
    text, newline = tree.text, tree.newline
    node = spots[-1].node if spots else tree.root
    if node is None or (not spots and node.start == node.end):
        made = newline.join(rows)
        at_line = len(text) == tree.begin or text.endswith("\n")
        return text + made + newline if at_line else text + newline + made
    name = ".".join(map(str, path)) or "the document"
    if node.kind == "alias":
        raise UnsupportedLayout(f"{name} is an alias")
    if spots and (filled := _fill_below(tree, spots[-1], rows, mark_null=mark_null)) is not None:
        return filled
    if not node.flow:
        raise UnsupportedLayout(f"{name} is neither a mapping nor a list")
    return insert_member(text, _frame(text, node), Style(_COMMENT, newline, " " * _unit(tree)), lambda _: member)


def _fill_below(tree: YamlText, spot: _Spot, rows: list[str], *, mark_null: bool) -> str | None:
    """Fill a null or an empty collection below its key; return None if it is written in another way."""
    text = tree.text
    if spot.key is None or spot.above.flow or spot.node.children:
        return None
    column = _column(tree, spot.key.start)
    colon = _behind_colon(text, spot.key)
    end = _line_end(text, colon)
    head = text[colon:end]
    if spot.node.flow:
        if head not in (" {}", " []"):
            return None
        head = ""
    elif head in _NULLS:
        head = _NULLS[head] if mark_null else ""
    elif spot.node.start == spot.node.end and head.lstrip(" \t").startswith("#"):
        head += " " if mark_null else ""
    else:
        return None
    at = _behind_remarks(text, end, column)
    body = tree.newline + _indented(rows, column + _unit(tree), tree.newline)
    return text[:colon] + head + text[end:at] + body + text[at:]


def _own_lines(tree: YamlText, spot: _Spot) -> tuple[int, int]:
    """Return the lines of a block member, with the line break before them, or at the top the one after."""
    text = tree.text
    begin = spot.node.start if spot.key is None else spot.key.start
    start, end = _line_start(tree, begin), _end_of(text, spot.node)
    before = text[start:begin]
    if spot.key is None and _DASH.fullmatch(before) is None:
        raise UnsupportedLayout("it does not start on the line of its dash")
    if spot.key is not None and before.strip(" "):
        following = spot.above.children[2 * spot.member + 2 : 2 * spot.member + 3]
        if _DASH.fullmatch(before) is None or not following or "#" in text[end : following[0].start]:
            raise UnsupportedLayout("it does not start a line")
        return begin, following[0].start
    column = len(before) - len(before.lstrip(" "))
    end = _behind_remarks(text, end, column) if spot.node.block else _line_end(text, end)
    if start == tree.begin:
        after = _BREAK.match(text, end)
        return start, after.end() if after else end
    return start - (2 if text[start - 2 : start] == "\r\n" else 1), end


def _frame(text: str, node: Node) -> Frame:
    """Return the brackets of a collection in flow style."""
    opened = text.index("{" if node.kind == "map" else "[", node.start) + 1
    if node.kind == "list":
        members = [(item.start, item.end) for item in node.children]
    else:
        pairs = zip(node.children[::2], node.children[1::2], strict=True)
        members = [(key.start, max(key.end, value.end)) for key, value in pairs]
    return Frame(opened, node.end - 1, tuple(members))


def _indented(rows: list[str], column: int, newline: str) -> str:
    return newline.join(" " * column + row if row else "" for row in rows)


def _dedented(rows: list[str], column: int) -> list[str]:
    return [row[column:] for row in rows]


def _below(tree: YamlText, rows: list[str]) -> str:
    return "".join(tree.newline + row for row in rows)


# --- spelling -------------------------------------------------------------------------------------------------------


def quote(value: str) -> str:
    """Return the shortest one-line spelling that reads back as exactly this text: plain if safe, else quoted."""
    if value and not _UNPRINTABLE.search(value) and not _NOT_PLAIN.search(value) and not _TYPED.fullmatch(value):
        return value
    double = _double(value)
    single = _single(value)
    return single if single and len(single) < len(double) else double


def _double(value: str) -> str:
    """Return the text in double quotes, with unprintable characters escaped."""
    if _SURROGATE.search(value):
        raise InvalidError(
            "cannot-edit",
            "The value contains half of a surrogate pair, which UTF-8 cannot encode.",
            hint="Write the whole character.",
        )
    return '"' + _ESCAPED.sub(_escape, value) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def _single(value: str) -> str:
    """Return the text in single quotes; "" if only double quotes can express it."""
    return "'" + value.replace("'", "''") + "'" if not _UNPRINTABLE.search(value) else ""


def _literal(value: str, indent: str) -> list[str] | None:
    """Return the text as a `|` block; None if a block would not preserve it exactly."""
    content = value.removesuffix("\n")
    if not content or content[0].isspace() or content.endswith("\n"):
        return None
    if _UNPRINTABLE.search(content.replace("\n", "")) or _BLANK_ROW.search(content):
        return None
    header = "|" if value.endswith("\n") else "|-"
    return [header, *(indent + row if row else "" for row in content.split("\n"))]


def _folded(value: str, indent: str) -> list[str] | None:
    """Return the text as a wrapped `>` block; None if a block would not preserve it exactly."""
    content = value.removesuffix("\n")
    if not content or content != content.strip() or _UNPRINTABLE.search(content):
        return None
    rows = [""]
    for word in content.split(" ") if "  " not in content else [content]:
        if rows[-1] and len(indent) + len(rows[-1]) + 1 + len(word) > WIDTH:
            rows.append(word)
        else:
            rows[-1] += f" {word}" if rows[-1] else word
    return [">" if value.endswith("\n") else ">-", *(indent + row for row in rows)]


def spell(value: Any, style: str = "", indent: str = "  ", column: int = 2, unit: int = 2) -> list[str]:
    """Return the rows of a value, the first after the colon of its key, in the given style if the value allows it.

    Text blocks have `indent` before their rows, members of collections start at `column`.
    """
    if value and isinstance(value, dict | list):
        if style == ("{" if isinstance(value, dict) else "["):
            return [spell_flow(value)]
        return ["", *(" " * column + row for row in spell_block(value, unit))]
    if not isinstance(value, str):
        return [spell_flow(value)]
    rows: list[str] | None = None
    if style == '"':
        rows = [_double(value)]
    elif style == "'" and (single := _single(value)):
        rows = [single]
    elif style == ">" and "\n" not in value.removesuffix("\n"):
        rows = _folded(value, indent)
    elif style in ("|", ">") or (style != "'" and "\n" in value):
        rows = _literal(value, indent)
    return rows or [quote(value)]


def spell_block(value: Any, unit: int = 2) -> list[str]:
    """Return a mapping or a list that is not empty, with one member per line and no indentation."""
    if isinstance(value, list):
        return [row for item in value for row in _spell_item(item, unit)]
    rows = []
    for key, inner in value.items():
        if inner and isinstance(inner, dict | list):
            rows.append(f"{quote(key)}:")
            rows.extend(" " * unit + row for row in spell_block(inner, unit))
        else:
            rows.append(f"{quote(key)}: {_one_row(inner)}")
    return rows


def _spell_item(value: Any, unit: int) -> list[str]:
    if not (value and isinstance(value, dict | list)):
        return [f"- {_one_row(value)}"]
    first, *rest = spell_block(value, unit)
    return [f"- {first}", *(f"  {row}" for row in rest)]


def _one_row(value: Any) -> str:
    return quote(value) if isinstance(value, str) else spell_flow(value)


def spell_flow(value: Any) -> str:
    """Return a value on one line, as inside brackets."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{spell_flow(key)}: {spell_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(spell_flow, value)) + "]"
    if isinstance(value, str):
        spelled = quote(value)
        return spelled if spelled != value or _FLOW_PLAIN.fullmatch(value) else _double(value)
    return _float(value) if isinstance(value, float) else json.dumps(value)


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    digits, exponent, power = repr(value).partition("e")
    return digits + (".0" if exponent and "." not in digits else "") + exponent + power
