"""The YAML between the fences, read into plain values.

Two lanes give the same answer. The fast lane recognises with one regular expression the forms nearly all frontmatter is
written in (scalars, quoted strings, simple lists and maps, text blocks) and reads them several times faster than
the C parser; anything else takes the other lane, which builds the values from libyaml's events. Building them here
keeps every bound in our hands: nesting, number of nodes, what aliases may expand to. A property test holds the lanes
equal.

Plain scalars follow the YAML 1.2 core schema: only `true`, `false`, `null`, integers and floats are not text, so that
`no`, `on` and `2026-01-01` stay what the author wrote. A scalar that did become a number or a boolean keeps its
spelling in `texts`, because a version `1.10` is not the number 1.1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 32
MAX_NODES = 20_000


class Block(NamedTuple):
    """What a frontmatter block says."""

    values: dict[str, Any]
    lines: dict[str, int]
    """Dotted path of a key, two levels deep at most -> its line in the block, counted from 1."""
    texts: dict[str, str]
    """Dotted path -> the scalar as written, where YAML made something else than text of it."""
    duplicates: tuple[tuple[str, int], ...] = ()
    """Keys given twice, with the line of the later one, which wins."""


class BlockError(Exception):
    """The block is not YAML we accept; `line` counts from 1 within the block."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read_block(text: str) -> Block:
    """Read the text between the fences, which must use LF line ends. Raises BlockError."""
    return _read_simple(text) or _read_events(text)


_CONSTANTS: dict[str, Any] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAX_DIGITS = 300
_MAYBE_TYPED = frozenset("+-.0123456789~nNtTfF")


def resolve_plain(text: str) -> Any:
    """The value of an unquoted scalar under the YAML 1.2 core schema."""
    if text and text[0] not in _MAYBE_TYPED:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) > _MAX_DIGITS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


# --- the fast lane --------------------------------------------------------------------------------------------------

_LETTERS = re.compile("[\n\x20-\x7e]*")
_ODD = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,80}"
_PLAIN = r"""[^\s\-?:,\[\]{}#&*!|>'"%@`][^\n:#]*(?:(?::(?=[^\s])|(?<=[^\s])[#])[^\n:#]*)*"""
_QUOTED = r""""[^"\\\n]*"|'[^'\n]*'"""
_SCALAR = rf"(?:{_QUOTED}|{_PLAIN})"
_ENTRY = re.compile(
    rf"""(?P<key>{_KEY}):(?:
        [ ]+(?P<quoted>{_QUOTED})[ ]*\n
      | [ ]+(?P<plain>{_PLAIN}(?:\n[ ]+{_PLAIN})*)\n
      | [ ]+(?P<style>[|>])(?P<chomp>-?)[ ]*\n(?P<lines>(?P<indent>[ ]+)[^\s][^\n]*\n(?:(?P=indent)[^\s][^\n]*\n)*)
      | [ ]+\[(?P<flow>[^\[\]{{}}"'\#&*!|>%@`:\n]*)\][ ]*\n
      | [ ]*\n(?:(?P<list>(?P<list_indent>[ ]*)-[ ]+{_SCALAR}[ ]*\n(?:(?P=list_indent)-[ ]+{_SCALAR}[ ]*\n)*)
                |(?P<map>(?P<map_indent>[ ]+){_KEY}:[ ]+{_SCALAR}[ ]*\n(?:(?P=map_indent){_KEY}:[ ]+{_SCALAR}[ ]*\n)*))
      | (?P<null>[ ]*\n)
    )|[ ]*(?:\#[^\n]*)?\n""",
    re.VERBOSE,
)
_LIST_ITEM = re.compile(rf"[ ]*-[ ]+({_SCALAR})[ ]*\n")
_MAP_ITEM = re.compile(rf"[ ]*({_KEY}):[ ]+({_SCALAR})[ ]*\n")
_FLOW_ITEM = re.compile(r"[A-Za-z0-9_/.(][^,?]*")


def _read_simple(text: str) -> Block | None:
    """The block's values, or None when it holds anything beyond the simple forms."""
    if not text.endswith("\n"):
        text += "\n"
    if not _LETTERS.fullmatch(text) and _ODD.search(text):
        return None
    reader = _Simple()
    position, line, end, match = 0, 1, len(text), _ENTRY.match
    while position < end:
        found = match(text, position)
        if found is None or (found.lastgroup is not None and not reader.entry(found, line)):
            return None
        position = found.end()
        line += 1 if found["plain"] is None and found["quoted"] is not None else found[0].count("\n")
    return Block(reader.values, reader.lines, reader.texts)


class _Simple:
    """Collects entries of the fast lane; each method answers whether the entry was simple enough."""

    __slots__ = ("lines", "texts", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self.texts: dict[str, str] = {}

    def scalar(self, path: str, text: str) -> Any:
        if text[0] in "\"'":
            return text[1:-1]
        text = text.rstrip(" ")
        value = resolve_plain(text)
        if value.__class__ is not str:
            self.texts[path] = text
        return value

    def entry(self, found: re.Match[str], line: int) -> bool:
        key = found["key"]
        if key in self.values:
            return False
        self.lines[key] = line
        value: Any = None
        if (text := found["quoted"]) is not None:
            value = text[1:-1]
        elif (text := found["plain"]) is not None:
            value = self.scalar(key, text if "\n" not in text else re.sub(r"[ ]*\n[ ]*", " ", text))
        elif (text := found["lines"]) is not None:
            indent = len(found["indent"])
            rows = [row[indent:] for row in text[:-1].split("\n")]
            value = ("\n" if found["style"] == "|" else " ").join(rows) + ("" if found["chomp"] else "\n")
        elif (text := found["flow"]) is not None:
            items = [item.strip(" ") for item in text.split(",")]
            if items == [""]:
                items = []
            if not all(_FLOW_ITEM.fullmatch(item) for item in items):
                return False
            value = [self.scalar(f"{key}.{number}", item) for number, item in enumerate(items)]
        elif (text := found["list"]) is not None:
            value = [self.scalar(f"{key}.{n}", item) for n, item in enumerate(_LIST_ITEM.findall(text))]
        elif (text := found["map"]) is not None:
            value = {}
            for number, (name, item) in enumerate(_MAP_ITEM.findall(text), line + 1):
                if name in value:
                    return False
                value[name] = self.scalar(f"{key}.{name}", item)
                self.lines[f"{key}.{name}"] = number
        elif found["null"] is not None:
            self.texts[key] = ""
        self.values[key] = value
        return True


# --- the event lane -------------------------------------------------------------------------------------------------


def _read_events(text: str) -> Block:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(yaml.parse(text, Loader=loader)).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BlockError(error.problem or str(error), mark.line + 1 if mark else None) from error
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        raise BlockError("a character that YAML does not allow", line) from error


class _Builder:
    """Builds values from parse events, counting everything it builds."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._lines: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._duplicates: list[tuple[str, int]] = []

    def document(self) -> Block:
        from yaml import events

        next(self._events)  # stream start
        if isinstance(next(self._events), events.StreamEndEvent):
            return Block({}, {}, {})
        value = self._node(next(self._events), "", 1)
        next(self._events)  # document end
        if not isinstance(event := next(self._events), events.StreamEndEvent):
            raise BlockError("a second YAML document", event.start_mark.line + 1)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise BlockError("not a mapping of keys to values", 1)
        return Block(value, self._lines, self._texts, tuple(self._duplicates))

    def _count(self, nodes: int, line: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise BlockError(f"more than {MAX_NODES:,} values once aliases are followed", line)

    def _node(self, event: Any, path: str, depth: int) -> Any:
        from yaml import events

        line = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise BlockError(f"nested deeper than {MAX_DEPTH} levels", line)
        before = self._nodes
        self._count(1, line)
        if isinstance(event, events.ScalarEvent):
            value = self._scalar(event, path)
        elif isinstance(event, events.AliasEvent):
            if event.anchor not in self._anchors:
                raise BlockError(f"alias *{event.anchor} without an anchor before it", line)
            value, nodes = self._anchors[event.anchor]
            self._count(nodes, line)
            return value
        elif isinstance(event, events.SequenceStartEvent):
            value = []
            while not isinstance(item := next(self._events), events.SequenceEndEvent):
                value.append(self._node(item, f"{path}.{len(value)}", depth + 1))
        else:
            value = self._mapping(path, depth)
        if event.anchor:
            self._anchors[event.anchor] = (value, self._nodes - before)
        return value

    def _scalar(self, event: Any, path: str) -> Any:
        text: str = event.value
        if event.implicit[0] and not event.tag:
            value = resolve_plain(text)
            if not isinstance(value, str):
                self._texts[path] = text
            return value
        return text

    def _mapping(self, path: str, depth: int) -> dict[str, Any]:
        from yaml import events

        value: dict[str, Any] = {}
        while not isinstance(event := next(self._events), events.MappingEndEvent):
            line = event.start_mark.line + 1
            if not isinstance(event, events.ScalarEvent):
                raise BlockError("a key that is not a plain word", line)
            self._count(1, line)
            key: str = event.value
            child = f"{path}.{key}" if path else key
            if key in value:
                self._duplicates.append((child, line))
            if child.count(".") < 2:
                self._lines[child] = line
            value[key] = self._node(next(self._events), child, depth + 1)
        return value
