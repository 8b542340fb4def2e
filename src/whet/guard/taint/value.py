"""The static knowledge of a value in a program: its constant, its full name, and its marks.

A constant may be known in part: `HOLE` replaces an unknown part of a text, so that `"https://" + host + "/x"` is
still an address; `UNKNOWN` replaces a whole value. The name is the path from a module or a global
(`subprocess.run`, `child_process.exec`), regardless of its name in the file. Marks say where a value comes from (a
private key, the whole environment, the network, a decoder), and follow it through the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from whet.guard.expression import expression
from whet.guard.hosts import distrust
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.guard.taint.mark import Kind

LONGEST = 256 * 1024
"""Maximum length of a constant."""
PARTS = 20_000
"""Maximum number of parts of a nested constant that are read."""
_MOST_CHOICES = 12
_MOST_PARTS = 300
_LONGEST_CHOICE = 2000
TELLING = expression(r"://|^[~/.]|^[A-Za-z]:[/\\]|^\d{1,3}(?:\.\d{1,3}){3}|\s|^[\w-]{1,60}\.[a-z]{2,10}\b")
"""A text that may be an address, a path or a command."""

Hidden = Literal["", "split", "decoded"]


class _Unknown:
    """The type of `UNKNOWN`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"


UNKNOWN = _Unknown()


class Value:
    """Everything that is known about a value."""

    __slots__ = ("choices", "const", "fn", "hidden", "items", "marks", "name", "path", "props")

    def __init__(
        self,
        const: Any = UNKNOWN,
        name: str = "",
        marks: frozenset[Mark] = NO_MARKS,
        hidden: Hidden = "",
        path: str = "",
        fn: Any = None,
        items: Sequence[Value] | None = None,
        props: dict[str, Value] | None = None,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.const = const
        self.name = name
        """The dotted name of a module, function or class; with `()` for the result of a call."""
        self.marks = marks
        self.hidden = hidden
        """How a constant was hidden: assembled from pieces, or decoded."""
        self.path = path
        """The path of an open file, or the address of a connection."""
        self.fn = fn
        """The function or class of the program that the value stands for."""
        self.items = items
        """The items of a list, each with its own marks."""
        self.props = props
        """The members of an object, by name."""
        self.choices = choices
        """Other possible texts: the rest of a list in a loop, other results of a function."""

    @property
    def text(self) -> str | None:
        """The constant as text, with holes; None if it is not text."""
        const = self.const
        if isinstance(const, str):
            return const
        return const.decode("utf-8", "replace") if isinstance(const, bytes) else None

    @property
    def said(self) -> str:
        """The constant as text; empty if it is not text."""
        return self.text or ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All possible texts."""
        text = self.text
        return self.choices if text is None else (text, *self.choices)

    @property
    def exact(self) -> str | None:
        """The text if it has no hole, else None."""
        text = self.text
        return text if text is not None and HOLE not in text else None

    def has(self, *kinds: Kind) -> list[Mark]:
        """Return the marks of some kinds, sorted."""
        return sorted(mark for mark in self.marks if mark.kind in kinds)

    def marked(self, *marks: Mark) -> Value:
        """Return a copy with more marks."""
        return self.but(marks=self.marks.union(marks))

    def but(self, **changes: Any) -> Value:
        """Return a copy with some fields changed."""
        new = Value(
            self.const, self.name, self.marks, self.hidden, self.path, self.fn, self.items, self.props, self.choices
        )
        for name, value in changes.items():
            setattr(new, name, value)
        return new


NOTHING = Value()


def one_of(texts: Sequence[str], marks: frozenset[Mark] = NO_MARKS) -> Value:
    """Return a value that is one of some texts."""
    return Value(texts[0] if texts else UNKNOWN, marks=marks, choices=tuple(texts[1:]))


class Scope:
    """The names of a module or of one run of a function."""

    __slots__ = ("klass", "names", "outer", "returned", "shared")

    def __init__(self, outer: Scope | None = None, klass: Any = None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer
        self.klass = klass
        """The class of the method."""
        self.returned: Value = NOTHING
        self.shared: dict[str, Scope] = {}
        """Names that a statement such as `global` binds to an outer scope."""

    def home(self, name: str) -> Scope:
        """Return the scope that holds a name; this scope if none does."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.outer
        return self

    def find(self, name: str) -> Value | None:
        """Return the value of a name in this scope or an outer one."""
        scope: Scope | None = self
        while scope is not None:
            if (value := scope.names.get(name)) is not None:
                return value
            scope = scope.outer
        return None


def union(values: Iterable[Value]) -> frozenset[Mark]:
    """Return the marks of all values."""
    marks = NO_MARKS
    for value in values:
        if value.marks:
            marks |= value.marks
    return marks


def hidden_in(values: Iterable[Value]) -> Hidden:
    """Return how the first hidden value is hidden; empty if none is."""
    return next((value.hidden for value in values if value.hidden), "")


def everything(value: Value) -> frozenset[Mark]:
    """Return the marks of a value and of its parts, up to a few hundred parts."""
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
    """Return a value in a form close to JSON, as far as it is known and fits in `room`."""
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
    return HOLE if value.text is None else f'"{value.text[: max(room, 40)]}"'


def known(const: Any) -> bool:
    """Return whether all of a constant is known. A constant that is too large to search is not."""
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
    """Yield all nested parts of a constant; of a mapping the values, not the keys."""
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
    """Return all strings in a nested constant."""
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


def choose(texts: Iterable[str], other: str | None = None) -> tuple[str, ...]:
    """Return different texts except for an `other` one; of many, those that can be trusted least."""
    found = dict.fromkeys(text for text in texts if text != other)
    return tuple(found if len(found) <= _MOST_CHOICES else sorted(found, key=distrust, reverse=True)[:_MOST_CHOICES])


def joined(first: Value, second: Value) -> Value:
    """Return either of two values: the marks of both, and the second constant if it is known."""
    if first is NOTHING or first is second:
        return second
    if second is NOTHING:
        return first
    choices = second.choices
    if second.const is UNKNOWN:
        choices = choose((*first.choices, *choices)) if choices else first.choices
    elif first.choices or (choices or (first.const is not UNKNOWN and second.const != first.const)):
        own = second.text
        choices = choose((*choices, *first.texts), own)
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


def perhaps(old: Value, new: Value) -> Value:
    """Return a new value that may still have an old text, because a branch or a later run may not change it."""
    if not old.texts:
        return new
    kept = (text for text in old.texts if len(text) < _LONGEST_CHOICE and TELLING.search(text))
    choices = choose((*new.choices, *kept), new.text)
    return new if choices == new.choices else new.but(choices=choices)


def either(first: Value, second: Value) -> Value:
    """Return one of two alternative values; of their keys only one is kept.

    An unknown marked alternative keeps the result unknown, even if the other alternative is a constant.
    """
    both = joined(first, second)
    if isinstance(both.const, str) and any(one.const is UNKNOWN and one.marks for one in (first, second)):
        both = both.but(const=UNKNOWN, choices=both.texts)
    keys = {mark for mark in both.marks if mark.kind == "key"}
    if not keys or (first is not NOTHING and not first.marks.isdisjoint(keys) and len(keys) == 1):
        return both
    one = sorted(keys & first.marks) or sorted(keys)
    return both.but(marks=both.marks - keys | {one[0]})
