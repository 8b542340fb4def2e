"""Read the YAML between the fences into plain values.

Two lanes give the same result. The fast lane matches with one regular expression the forms of nearly all frontmatter
(scalars, quoted strings, simple lists and maps, text blocks) and is about three times as fast as the C parser; anything
else takes the other lane, which builds the values from libyaml's events. Building them here enforces every limit:
nesting, number of nodes, expansion of aliases. A property test keeps the lanes equal.

Plain scalars follow the YAML 1.2 core schema: only `true`, `false`, `null`, integers and floats are not text, so that
`no`, `on` and `2026-01-01` stay as written. A scalar that became a number or a boolean keeps its spelling in `texts`,
because a version `1.10` is not the number 1.1.
"""

from __future__ import annotations

import re

from whet.patterns import compile_late
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

UNPRINTABLE = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
"""Characters that are not printable, for a regex. A set of all other characters takes milliseconds to compile."""
FORBIDDEN = compile_late("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that YAML does not allow."""
MAX_DEPTH = 32
MAX_NODES = 20_000
"""Largest number of values with aliases expanded; long text counts as several."""
_CHARACTERS_PER_NODE = 50
_MAX_PATH = 250
"""Longer dotted paths are not recorded: many values below one long key would repeat it."""


Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"
"""A YAML value."""
Values: TypeAlias = dict[str, Value]
"""A YAML mapping."""


class Block(NamedTuple):
    """The content of a frontmatter block."""

    values: Values
    lines: dict[str, int]
    """Lines in the block, from 1, by dotted path of a key, at most two levels deep."""
    texts: dict[str, str]
    """Original spelling by dotted path, for scalars that are not text."""
    duplicates: tuple[tuple[str, int], ...] = ()
    """Duplicate keys with the line of the later one, which wins."""


class BlockError(Exception):
    """The block is not acceptable YAML; `line` counts from 1 within the block."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read_block(text: str) -> Block:
    """Read the text between the fences, which must use LF line ends. Raise BlockError."""
    if not text.endswith("\n"):
        text += "\n"
    return _read_simple(text) or _read_events(text)


_CONSTANTS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = compile_late(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = compile_late(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAX_DIGITS = 300
_INFINITE = (float("inf"), float("-inf"))
_LETTERS = frozenset("~nNtTfF")
"""First characters of the constants that are not numbers: null, true and false."""
MAYBE_TYPED = _LETTERS.union("+-.0123456789")
"""First characters of plain scalars that may not be text."""


def resolve_plain(text: str) -> str | int | float | bool | None:
    """Return the value of an unquoted scalar under the YAML 1.2 core schema."""
    if text and text[0] not in MAYBE_TYPED:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) > _MAX_DIGITS or text[0] in _LETTERS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if _FLOAT.fullmatch(text) and (number := float(text)) not in _INFINITE:
        return number
    return text


# --- the fast lane --------------------------------------------------------------------------------------------------

_ODD = compile_late(f"(?!\n)[{UNPRINTABLE}]")
_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,80}"
_PLAIN = r"""[^\s\-?:,\[\]{}#&*!|>'"%@`][^\n:#]*+(?:(?::(?=[^\s])|(?<=[^\s])[#])[^\n:#]*+)*+"""
_QUOTED = r""""[^"\\\n]*+"|'[^'\n]*+'"""
_SCALAR = rf"(?:(?:{_QUOTED})[ ]*|{_PLAIN})"
"""A scalar up to the end of its line. A part that matches spaces must not be followed by more: see the tests."""
_FLOW = r"""[^\[\]{}"'\#&*!|>%@`:\n]*"""
_ENTRY = compile_late(
    rf"""(?P<key>{_KEY}):(?:
        [ ]+(?P<quoted>{_QUOTED})[ ]*\n
      | [ ]+(?P<plain>{_PLAIN}(?:\n[ ]+{_PLAIN})*)\n
      | [ ]+(?P<style>[|>])(?P<chomp>-?)[ ]*\n(?P<lines>(?P<indent>[ ]+)[^\s][^\n]*\n(?:(?P=indent)[^\s][^\n]*\n)*+)
        (?=\n*(?:[^\s]|\Z))
      | [ ]+\[(?P<flow>{_FLOW})\][ ]*\n
      | [ ]*\n(?:(?P<list>(?P<list_indent>[ ]*)-[ ]+{_SCALAR}\n(?:(?P=list_indent)-[ ]+{_SCALAR}\n)*)
                |(?P<map>(?P<map_indent>[ ]+){_KEY}:[ ]+{_SCALAR}\n(?:(?P=map_indent){_KEY}:[ ]+{_SCALAR}\n)*)
                 (?![ ]+[^\s\#])
                |(?P<nested>(?:[ ]+[^\s][^\n]*\n)+))
      | (?P<null>[ ]*\n)
    )|[ ]*(?:\#[^\n]*)?\n""",
    re.VERBOSE,
)
_LIST_ITEM = compile_late(rf"[ ]*-[ ]+({_SCALAR})\n")
_MAP_ITEM = compile_late(rf"[ ]*({_KEY}):[ ]+({_SCALAR})\n")
_FLOW_ITEM = compile_late(r"[A-Za-z0-9_/.(][^,?]*")
_ROW = compile_late(
    rf"^([ ]{{1,{MAX_DEPTH - 8}}}+)"
    rf"(?:-[ ]++({_SCALAR})|({_KEY}):(?:[ ]++({_SCALAR})|[ ]++(\[{_FLOW}\])[ ]*+|[ ]*+))\n",
    re.MULTILINE,
)
"""A line below a key: its indent, and either a list item, or a key with a scalar, with a list, or with neither because
its value is below it.
"""
_MAX_SIMPLE = 32 * 1024
"""Characters; so few that MAX_NODES cannot be reached, and more than nearly all frontmatter has."""


def _read_simple(text: str) -> Block | None:
    """Read the values of a block; return None if it has more than the simple forms."""
    if len(text) > _MAX_SIMPLE or (not text.replace("\n", "").isprintable() and _ODD.search(text)):
        return None
    reader = _Simple()
    position, line, end, match = 0, 1, len(text), _ENTRY.match
    while position < end:
        found = match(text, position)
        if found is None or (found.lastgroup is not None and not reader.entry(found, line)):
            return None
        position = found.end()
        line += 1 if found.lastgroup == "quoted" else found[0].count("\n")
    return Block(reader.values, reader.lines, reader.texts)


class _Simple:
    """Collects entries of the fast lane; each method returns whether the entry was simple enough."""

    __slots__ = ("lines", "texts", "values")

    def __init__(self) -> None:
        self.values: Values = {}
        self.lines: dict[str, int] = {}
        self.texts: dict[str, str] = {}

    def scalar(self, path: str, text: str) -> Value:
        text = text.rstrip(" ")
        if text[0] in "\"'":
            return text[1:-1]
        value = resolve_plain(text)
        if value.__class__ is not str:
            self.texts[path] = text
        return value

    def entry(self, found: re.Match[str], line: int) -> bool:
        key = found["key"]
        if key in self.values:
            return False
        self.lines[key] = line
        kind = found.lastgroup or ""
        text = found[kind]
        value: Value = None
        if kind == "quoted":
            value = text[1:-1]
        elif kind == "plain":
            value = self.scalar(key, " ".join(row.strip(" ") for row in text.split("\n")) if "\n" in text else text)
        elif kind == "lines":
            indent = len(found["indent"])
            rows = [row[indent:] for row in text[:-1].split("\n")]
            value = ("\n" if found["style"] == "|" else " ").join(rows) + ("" if found["chomp"] else "\n")
        elif kind == "flow":
            if (value := self.flow(key, text)) is None:
                return False
        elif kind == "list":
            value = [self.scalar(f"{key}.{n}", item) for n, item in enumerate(_LIST_ITEM.findall(text))]
        elif kind == "map":
            members: Values = {}
            for number, (name, item) in enumerate(_MAP_ITEM.findall(text), line + 1):
                if name in members:
                    return False
                members[name] = self.scalar(f"{key}.{name}", item)
                self.lines[f"{key}.{name}"] = number
            value = members
        elif kind == "nested":
            rows = _ROW.findall(text)
            found_rows = self.rows(key, rows, 0, line + 1) if len(rows) == text.count("\n") else None
            if found_rows is None or found_rows[1] != len(rows):
                return False
            value = found_rows[0]
        else:
            self.texts[key] = ""
        self.values[key] = value
        return True

    def flow(self, path: str, text: str) -> list[Value] | None:
        """Return a list in brackets; None if it is not simple enough."""
        items = [item.strip(" ") for item in text.split(",")]
        if items == [""]:
            return []
        if not all(_FLOW_ITEM.fullmatch(item) for item in items):
            return None
        return [self.scalar(f"{path}.{number}", item) for number, item in enumerate(items)]

    def rows(self, path: str, rows: list[tuple[str, ...]], at: int, line: int = 0) -> tuple[Value, int] | None:
        """Return the list or mapping that begins at a row, and the row after it; None if it is not simple enough.

        `line` is the line of the first row; without it, no lines are recorded.
        """
        indent, members, items = rows[at][0], dict[str, Value](), list[Value]()
        while at < len(rows) and rows[at][0] == indent:
            _, item, key, scalar, flow = rows[at]
            below = f"{path}.{key or len(items)}"
            if len(below) > _MAX_PATH or key in members or (members if item else items):
                return None
            if line and key:
                self.lines[below] = line + at
            at += 1
            value: Value
            if item or scalar:
                value = self.scalar(below, item or scalar)
            elif flow and (listed := self.flow(below, flow[1:-1])) is not None:
                value = listed
            elif (
                not flow and at < len(rows) and len(rows[at][0]) > len(indent) and (found := self.rows(below, rows, at))
            ):
                value, at = found
            else:
                return None
            if item:
                items.append(value)
            else:
                members[key] = value
        return (items or members), at


# --- the event lane -------------------------------------------------------------------------------------------------

_OTHER_BREAKS = compile_late("[\r\x85\u2028\u2029]")
"""Line breaks of libyaml that editors do not count."""


def _read_events(text: str) -> Block:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    odd = text if _OTHER_BREAKS.search(text) else ""
    try:
        return _Builder(yaml.parse(text, Loader=loader), odd).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BlockError(error.problem or str(error), _line(mark, odd) if mark else None) from error
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise BlockError("a character that YAML does not allow", _forbidden_line(text)) from error


def _line(mark: Any, odd: str) -> int:
    return (odd.count("\n", 0, mark.index) if odd else int(mark.line)) + 1


def _forbidden_line(text: str) -> int | None:
    found = FORBIDDEN.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else None


class _Anchor(NamedTuple):
    """An anchored value: its content, its number of nodes, and where its typed scalars are logged."""

    value: Any
    nodes: int
    path: str | None
    log: tuple[int, int]


class _Builder:
    """Builds values from parse events, counting everything it builds."""

    def __init__(self, events: Iterator[Any], odd: str) -> None:
        self._events = events
        self._odd = odd
        self._anchors: dict[str, _Anchor] = {}
        self._nodes = 0
        self._lines: dict[str, int] = {}
        self._log: list[tuple[str, str] | None] = []
        """Path and spelling of every scalar that is not text; None if a later duplicate replaced it."""
        self._duplicates: list[tuple[str, int]] = []

    def document(self) -> Block:
        from yaml import events

        next(self._events)  # stream start
        if isinstance(next(self._events), events.StreamEndEvent):
            return Block({}, {}, {})
        value = self._node(next(self._events), None, 1)
        next(self._events)  # document end
        if not isinstance(event := next(self._events), events.StreamEndEvent):
            raise BlockError("a second YAML document", _line(event.start_mark, self._odd))
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise BlockError("not a mapping of keys to values", 1)
        texts = dict(entry for entry in self._log if entry)
        return Block(value, self._lines, texts, tuple(self._duplicates))

    def _count(self, nodes: int, line: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise BlockError(f"more than {MAX_NODES:,} values once aliases are followed", line)

    def _node(self, event: Any, path: str | None, depth: int) -> Any:
        from yaml import events

        line = _line(event.start_mark, self._odd)
        if depth > MAX_DEPTH:
            raise BlockError(f"nested deeper than {MAX_DEPTH} levels", line)
        nodes, logged = self._nodes, len(self._log)
        self._count(1, line)
        if isinstance(event, events.ScalarEvent):
            value = self._scalar(event, path, line)
        elif isinstance(event, events.AliasEvent):
            return self._alias(event.anchor, path, line)
        elif isinstance(event, events.SequenceStartEvent):
            value = []
            while not isinstance(item := next(self._events), events.SequenceEndEvent):
                value.append(self._node(item, _join(path, str(len(value))), depth + 1))
        else:
            value = self._mapping(path, depth)
        if event.anchor:
            self._anchors[event.anchor] = _Anchor(value, self._nodes - nodes, path, (logged, len(self._log)))
        return value

    def _alias(self, name: str | None, path: str | None, line: int) -> Any:
        anchor = self._anchors.get(name or "")
        if anchor is None:
            raise BlockError(f"alias *{name} has no anchor before it", line)
        self._count(anchor.nodes, line)
        if anchor.path is not None and path is not None:
            for entry in self._log[slice(*anchor.log)]:
                if entry and len(below := entry[0][len(anchor.path) :]) + len(path) <= _MAX_PATH:
                    self._log.append((path + below, entry[1]))
        return anchor.value

    def _scalar(self, event: Any, path: str | None, line: int) -> Any:
        text: str = event.value
        self._count(len(text) // _CHARACTERS_PER_NODE, line)
        if not event.implicit[0] or event.tag:
            return text
        value = resolve_plain(text)
        if path is not None and not isinstance(value, str):
            self._log.append((path, text))
        return value

    def _mapping(self, path: str | None, depth: int) -> Values:
        from yaml import events

        value: Values = {}
        logged: dict[str, tuple[int, int]] = {}
        while not isinstance(event := next(self._events), events.MappingEndEvent):
            line = _line(event.start_mark, self._odd)
            if not isinstance(event, events.ScalarEvent):
                raise BlockError("a key that is not a plain word", line)
            key: str = event.value
            self._count(1 + len(key) // _CHARACTERS_PER_NODE, line)
            if event.anchor:
                self._anchors[event.anchor] = _Anchor(self._scalar(event, None, line), 1, None, (0, 0))
            child = key if depth == 1 else _join(path, key)
            if key in value:
                self._log[slice(*logged[key])] = [None] * (logged[key][1] - logged[key][0])
                if depth == 1 and isinstance(replaced := value[key], dict):
                    for name in replaced:
                        self._lines.pop(f"{key}.{name}", None)
                self._duplicates.append((child or key, line))
            if depth <= 2 and child is not None:
                self._lines[child] = line
            start = len(self._log)
            value[key] = self._node(next(self._events), child, depth + 1)
            logged[key] = (start, len(self._log))
        return value


def _join(path: str | None, key: str) -> str | None:
    if path is None or len(path) + len(key) > _MAX_PATH:
        return None
    return f"{path}.{key}"
