"""What a reader of a program knows of a value without running anything: its constant, its real name, and its marks.

A constant may be known in part: `HOLE` stands in a text for what is not known, so that `"https://" + host + "/x"` is
still an address; `UNKNOWN` stands for a whole value. The name is the way to it from a module or a global
(`subprocess.run`, `child_process.exec`), whatever it is called in the file. Marks say where a value comes from (a
private key, the whole environment, the network, a decoder), and follow it through the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from whet.guard.taint.mark import HOLE, NO_MARKS, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.guard.taint.mark import Kind

LONGEST = 256 * 1024
"""The longest constant that is kept."""
PARTS = 20_000
"""How many parts of a nested constant are looked at."""
_MOST_CHOICES = 12
_MOST_PARTS = 300

Hidden = Literal["", "split", "decoded"]


class _Unknown:
    """The constant that is not known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"


UNKNOWN = _Unknown()


class Value:
    """What is known of one value."""

    __slots__ = ("choices", "const", "fn", "hidden", "items", "marks", "name", "path", "props")

    def __init__(
        self,
        const: Any = UNKNOWN,
        name: str = "",
        marks: frozenset[Mark] = NO_MARKS,
        hidden: Hidden = "",
        path: str = "",
        fn: Any = None,
        items: tuple[Value, ...] | None = None,
        props: dict[str, Value] | None = None,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.const = const
        self.name = name
        """The dotted name of a module, function or class; with `()` for what calling it gives."""
        self.marks = marks
        self.hidden = hidden
        """How a constant was kept from being read: put together from pieces, or decoded."""
        self.path = path
        """Of an open file or a path: where it lies."""
        self.fn = fn
        """The function or class of the program that it is."""
        self.items = items
        """What a list holds, where each part has marks of its own."""
        self.props = props
        """What an object holds, by name."""
        self.choices = choices
        """Other texts that it may have: the rest of a list in a loop, what else a function returns."""

    @property
    def text(self) -> str | None:
        """The constant as text, with holes; nothing when there is none."""
        const = self.const
        if isinstance(const, str):
            return const
        return const.decode("utf-8", "replace") if isinstance(const, bytes) else None

    @property
    def said(self) -> str:
        """The constant as text; empty when there is none."""
        return self.text or ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that it may have."""
        text = self.text
        return self.choices if text is None else (text, *self.choices)

    @property
    def exact(self) -> str | None:
        """The text when there is no hole in it."""
        text = self.text
        return text if text is not None and HOLE not in text else None

    def has(self, *kinds: Kind) -> list[Mark]:
        """The marks of some kinds, in a stable order."""
        return sorted(mark for mark in self.marks if mark.kind in kinds)

    def marked(self, *marks: Mark) -> Value:
        """The same value with more marks."""
        return self.but(marks=self.marks.union(marks))

    def but(self, **changes: Any) -> Value:
        """The same value with some fields changed."""
        new = Value(
            self.const, self.name, self.marks, self.hidden, self.path, self.fn, self.items, self.props, self.choices
        )
        for name, value in changes.items():
            setattr(new, name, value)
        return new


NOTHING = Value()


class Scope:
    """The names of a module or of one run of a function."""

    __slots__ = ("klass", "names", "outer", "returned", "shared")

    def __init__(self, outer: Scope | None = None, klass: Any = None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer
        self.klass = klass
        """The class whose method it is."""
        self.returned: Value = NOTHING
        self.shared: dict[str, Scope] = {}
        """Names that a statement such as `global` gives to a scope further out."""

    def home(self, name: str) -> Scope:
        """The scope that holds a name; this one when none does."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.outer
        return self

    def find(self, name: str) -> Value | None:
        """What a name stands for, here or further out."""
        scope: Scope | None = self
        while scope is not None:
            if (value := scope.names.get(name)) is not None:
                return value
            scope = scope.outer
        return None


def union(values: Iterable[Value]) -> frozenset[Mark]:
    """The marks of all of them."""
    marks = NO_MARKS
    for value in values:
        if value.marks:
            marks |= value.marks
    return marks


def hidden_in(values: Iterable[Value]) -> Hidden:
    """How the first of them that was kept from being read was so."""
    return next((value.hidden for value in values if value.hidden), "")


def everything(value: Value) -> frozenset[Mark]:
    """The marks of a value and of what is in it, as far as a few hundred parts go."""
    if not value.props and not value.items:
        return value.marks
    marks, parts, at = set(value.marks), [value], 0
    while at < len(parts) and at < _MOST_PARTS:
        one = parts[at]
        at += 1
        marks |= one.marks
        if len(parts) < _MOST_PARTS:
            parts += list((one.props or {}).values())[:60]
            parts += (one.items or ())[:60]
    return frozenset(marks)


def spell(value: Value, room: int = 8000) -> str:
    """A value about as JSON writes it, as far as it is known and there is room."""
    const = value.const
    if value.props is not None or value.items is not None:
        pieces: list[str] = []
        for name, inner in [*(value.props or {}).items(), *(("", item) for item in value.items or ())][:60]:
            if room < 40:
                break
            room //= 2
            pieces.append((f'"{name}": ' if name else "") + spell(inner, room))
            room = max(0, 2 * room - len(pieces[-1]))
        return ("{%s}" if value.items is None else "[%s]") % ", ".join(pieces)
    if isinstance(const, (int, float)):
        return str(const)
    if isinstance(const, (list, tuple, dict)):
        import json

        try:
            endless = sum(1 for _ in walk(const)) >= PARTS  # it may hold itself, or much of the same
            return "" if endless else json.dumps(const, default=lambda _: HOLE, ensure_ascii=False)[:20_000]
        except (TypeError, ValueError, RecursionError):
            return ""
    return HOLE if value.text is None else f'"{value.text[: max(room, 40)]}"'


def known(const: Any) -> bool:
    """Is all of a constant known? One that is too large to be looked through is not."""
    if isinstance(const, str):
        return HOLE not in const
    if const is UNKNOWN:
        return False
    if not isinstance(const, (list, tuple, dict)):
        return True
    count = 0
    for item in walk(const):
        count += 1
        if item is UNKNOWN or (isinstance(item, str) and HOLE in item):
            return False
    return count < PARTS


def walk(const: Any) -> Iterable[Any]:
    """The parts of a constant in their order, however it is nested; the values of a mapping, not its keys."""
    waiting: list[Any] = [const]
    for _ in range(PARTS):
        if not waiting:
            return
        item = waiting.pop()
        yield item
        if isinstance(item, (list, tuple)):
            waiting.extend(reversed(item))
        elif isinstance(item, dict):
            waiting.extend(item.values())


def strings(const: Any, most: int = 400) -> list[str]:
    """Every string in a constant, however it is nested."""
    found: list[str] = []
    for item in walk(const):
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, bytes):
            found.append(item.decode("utf-8", "replace"))
        elif isinstance(item, dict):
            found.extend(key for key in item if isinstance(key, str))
        if len(found) >= most:
            break
    return found[:most]


def joined(first: Value, second: Value) -> Value:
    """Either of two values: the marks of both, the later constant where there is one."""
    if first is NOTHING or first is second:
        return second
    if second is NOTHING:
        return first
    choices = second.choices
    if second.const is UNKNOWN:
        choices = first.choices
    elif first.choices or (choices or (first.const is not UNKNOWN and second.const != first.const)):
        own = second.text
        choices = tuple(dict.fromkeys(text for text in (*choices, *first.texts) if text != own))[:_MOST_CHOICES]
    return Value(
        second.const if second.const is not UNKNOWN else first.const,
        second.name or first.name,
        first.marks | second.marks,
        second.hidden or first.hidden,
        second.path or first.path,
        second.fn or first.fn,
        second.items if second.items is not None else first.items,
        second.props if second.props is not None else first.props,
        choices,
    )


def either(first: Value, second: Value) -> Value:
    """One of two values, of which only one is used: keys of the other do not come along.

    What is marked and not known stays so, whatever constant is taken where it is missing.
    """
    both = joined(first, second)
    if isinstance(both.const, str) and any(one.const is UNKNOWN and one.marks for one in (first, second)):
        both = both.but(const=UNKNOWN, choices=both.texts)
    keys = {mark for mark in both.marks if mark.kind == "key"}
    if not keys or (first is not NOTHING and not first.marks.isdisjoint(keys) and len(keys) == 1):
        return both
    one = sorted(keys & first.marks) or sorted(keys)
    return both.but(marks=both.marks - keys | {one[0]})
