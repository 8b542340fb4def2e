"""What a YAML document says and where each part of it stands.

Both come from PyYAML: the value from its safe loader, the places from its events. The events are read first, because
they are the only part of the parser that a hostile file cannot make recurse or grow without bound.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from whet.interfaces.clients import values
from whet.interfaces.clients.values import BOM

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TO_LINE_END = re.compile(r"[^\r\n]*")
_BREAK_AT_END = re.compile(r"(?:\r\n|\n)\Z")
_MAX_NODES = 1_000_000
"""How many values a document may stand for, aliases counted as what they repeat."""
_FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""What the loader's constructors raise for a tagged or dated scalar that makes no sense."""


class Node:
    """A scalar, an alias or a collection in the text."""

    __slots__ = ("children", "end", "flow", "kind", "size", "start", "style", "word")

    def __init__(self, kind: str, start: int, end: int, *, flow: bool = False, style: str = "", word: str = "") -> None:
        self.kind = kind
        """`scalar`, `alias`, `map` or `list`."""
        self.start = start
        self.end = end
        """Of a block collection this is where the next thing begins; `end_of` knows where it really ends."""
        self.flow = flow
        self.style = style
        """Of a scalar: the quote, or `|` or `>`."""
        self.word = word
        """Of a scalar: its text."""
        self.children: list[Node] = []
        """Items; of a map, keys and values in turn."""
        self.size = 1


class Document(NamedTuple):
    """A parsed text."""

    text: str
    value: Any
    root: Node | None
    """None where there is nothing but comments."""
    begin: int
    """The offset behind a byte order mark."""


def parse(text: str) -> Document:
    """Read a text. Raises InvalidError with line and column."""
    import yaml

    values.checked_size(text)
    begin = 1 if text.startswith(BOM) else 0
    odd = _UNPRINTABLE.search(text)
    if odd:
        raise values.broken(text, odd.start(), f"the character {odd.group()!r} is not allowed")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = _nodes(text, begin, yaml, loader)
        value = _load(text[begin:], yaml, loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = begin + mark.index if mark else begin
        raise values.broken(text, at, error.problem or error.context or "this is no YAML") from None
    except yaml.YAMLError as error:
        raise values.broken(text, begin, str(error).partition("\n")[0]) from None
    except RecursionError:
        raise values.too_deep(text, begin) from None
    return Document(text, {} if value is None else value, root, begin)


def end_of(text: str, node: Node) -> int:
    """Where the last character of a node stands that is its own."""
    while node.kind in ("map", "list") and not node.flow and node.children:
        node = node.children[-1]
    if node.style not in ("|", ">"):
        return node.end
    header = text[node.start : line_end(text, node.start)].partition("#")[0]
    if "+" in header:
        return len(_BREAK_AT_END.sub("", text[: node.end]))
    return line_end(text, node.start + len(text[node.start : node.end].rstrip()))


def line_end(text: str, at: int) -> int:
    """The end of the line of this offset, before its line break."""
    found = _TO_LINE_END.match(text, at)
    return found.end() if found else at


def _nodes(text: str, begin: int, library: Any, loader: Any) -> Node | None:
    """The tree of the first document."""
    top = Node("list", 0, 0)
    open_nodes: list[tuple[Node, str | None]] = [(top, None)]
    anchors: dict[str, Node | None] = {}
    """Of a collection that is still open: None."""
    for event in library.parse(text[begin:], Loader=loader):
        start, end = begin + event.start_mark.index, begin + event.end_mark.index
        if isinstance(event, library.CollectionEndEvent):
            node, anchor = open_nodes.pop()
            node.end = end
            if anchor is not None:
                anchors[anchor] = node
        elif isinstance(event, library.NodeEvent):
            node, anchor = _node(event, start, end, library), event.anchor
            open_nodes[-1][0].children.append(node)
            if node.kind == "alias":
                node.size = _size_of(anchors, anchor)
            elif anchor is not None:
                anchors[anchor] = node if node.kind == "scalar" else None
            if node.kind in ("map", "list"):
                open_nodes.append((node, anchor))
                if len(open_nodes) - 1 > values.MAX_DEPTH:
                    raise values.too_deep(text, start)
                continue
        else:
            continue
        parent = open_nodes[-1][0]
        parent.size += node.size
        if parent.size > _MAX_NODES:
            raise values.too_large(f"The configuration stands for more than {_MAX_NODES:,} values.")
    return top.children[0] if top.children else None


def _size_of(anchors: dict[str, Node | None], name: str) -> int:
    if name not in anchors:
        return 1
    meant = anchors[name]
    if meant is None:
        raise values.too_large(f"The configuration repeats a part inside itself: {name!r}.")
    return meant.size


def _node(event: Any, start: int, end: int, library: Any) -> Node:
    if isinstance(event, library.AliasEvent):
        return Node("alias", start, end)
    if isinstance(event, library.ScalarEvent):
        return Node("scalar", start, end, style=event.style or "", word=event.value)
    kind = "map" if isinstance(event, library.MappingStartEvent) else "list"
    return Node(kind, start, end, flow=bool(event.flow_style))


def _load(text: str, library: Any, loader: Any) -> Any:
    """The value; a scalar that cannot be constructed is a failure with a place, not one of Python's."""

    class Loader(loader):  # type: ignore[misc]  # whichever of the two loaders is there
        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep)
            except _FAULTS as error:
                raise library.constructor.ConstructorError(
                    None, None, f"this value makes no sense ({error})", node.start_mark
                ) from None

    instance = Loader(text)
    try:
        return instance.get_single_data()
    finally:
        instance.dispose()
