"""What the reader of Python knows of a value without running anything: its constant, its real name, and its marks.

A constant may be known in part: `HOLE` stands in a string for what is not known, `UNKNOWN` for a whole value. Marks say
where a value came from (a private key, the whole environment, the network, a local file, a decoder), and follow it
through the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from whet.guard.taint.mark import HOLE, NO_MARKS, Mark

if TYPE_CHECKING:
    import ast

    from whet.guard.python.reader import Reader

LONGEST = 256 * 1024
"""The longest constant that is kept."""
PARTS = 20_000
"""How many parts of a nested constant are looked at."""

Hidden = Literal["", "split", "decoded"]


class _Unknown:
    """The constant that is not known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"


UNKNOWN = _Unknown()


class Function:
    """A function of the file: what it is called with decides what it does."""

    __slots__ = ("home", "klass", "name", "node", "runs", "scope")

    def __init__(
        self,
        name: str,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        scope: Scope,
        klass: Klass | None,
        home: Reader,
    ) -> None:
        self.name = name
        self.node = node
        self.scope = scope
        self.klass = klass
        self.home = home
        """The reader of the file where it is written."""
        self.runs: dict[Any, Value] = {}


class Klass:
    """A class of the file: its methods, and what its instances hold."""

    __slots__ = ("bases", "fields", "methods", "name")

    def __init__(self, name: str, bases: tuple[str, ...]) -> None:
        self.name = name
        self.bases = bases
        self.methods: dict[str, Function] = {}
        self.fields: dict[str, Value] = {}


class Partial:
    """A function that is given some of its arguments before it is called."""

    __slots__ = ("args", "callee", "words")

    def __init__(self, callee: Value, args: list[Value], words: dict[str, Value]) -> None:
        self.callee = callee
        self.args = args
        self.words = words


class Value:
    """What is known of one value."""

    __slots__ = ("const", "fn", "hidden", "marks", "name", "path")

    def __init__(
        self,
        const: Any = UNKNOWN,
        name: str = "",
        marks: frozenset[Mark] = NO_MARKS,
        hidden: Hidden = "",
        path: str = "",
        fn: Function | Klass | Partial | None = None,
    ) -> None:
        self.const = const
        self.name = name
        """The dotted name of a module, function or class; with `()` for what calling it gives."""
        self.marks = marks
        self.hidden = hidden
        """How a constant was kept from being read: put together from pieces, or decoded."""
        self.path = path
        """Of an open file or a Path: where it lies."""
        self.fn = fn

    def text(self) -> str:
        """The constant as text, with holes; empty when there is none."""
        if isinstance(self.const, str):
            return self.const
        if isinstance(self.const, bytes):
            return self.const.decode("utf-8", "replace")
        return ""

    def marked(self, *marks: Mark) -> Value:
        """The same value with more marks."""
        return Value(self.const, self.name, self.marks.union(marks), self.hidden, self.path, self.fn)


NOTHING = Value()


class Scope:
    """The names of a module or of one run of a function."""

    __slots__ = ("klass", "names", "outer", "returned", "shared")

    def __init__(self, outer: Scope | None = None, klass: Klass | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer
        self.klass = klass
        self.returned: Value = NOTHING
        self.shared: dict[str, Scope] = {}
        """Names that a `global` or `nonlocal` statement gives to a scope further out."""

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


def words(text: str) -> frozenset[str]:
    """A table written as a line of words."""
    return frozenset(text.split())


def known(const: Any) -> bool:
    """Is all of a constant known? One that is too large to be looked through is not."""
    if isinstance(const, str):
        return HOLE not in const
    if const is UNKNOWN:
        return False
    if not isinstance(const, (list, tuple, dict)):
        return True
    waiting: list[Any] = [const]
    for _ in range(PARTS):
        if not waiting:
            return True
        item = waiting.pop()
        if item is UNKNOWN or (isinstance(item, str) and HOLE in item):
            return False
        if isinstance(item, (list, tuple)):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
    return False


def limited(const: Any) -> bool:
    """Can a constant be walked through? One that holds itself, or much of the same, cannot."""
    waiting: list[Any] = [const]
    for _ in range(PARTS):
        if not waiting:
            return True
        item = waiting.pop()
        if isinstance(item, (list, tuple)):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
    return False


def joined(first: Value, second: Value) -> Value:
    """Either of two values: the marks of both, the later constant where there is one."""
    if first is NOTHING or first is second:
        return second
    if second is NOTHING:
        return first
    return Value(
        second.const if second.const is not UNKNOWN else first.const,
        second.name or first.name,
        first.marks | second.marks,
        second.hidden or first.hidden,
        second.path or first.path,
        second.fn or first.fn,
    )


def either(first: Value, second: Value) -> Value:
    """One of two values, of which only one is used: keys of the other do not come along."""
    both = joined(first, second)
    keys = {mark for mark in both.marks if mark.kind == "key"}
    if not keys or (first is not NOTHING and not first.marks.isdisjoint(keys) and len(keys) == 1):
        return both
    kept = both.marks - keys
    one = sorted(keys & first.marks) or sorted(keys)
    return Value(both.const, both.name, kept | {one[0]}, both.hidden, both.path, both.fn)


def strings(const: Any, most: int = 400) -> list[str]:
    """Every string in a constant, however it is nested."""
    found: list[str] = []
    waiting: list[Any] = [const]
    for _ in range(PARTS):
        if not waiting or len(found) >= most:
            break
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, bytes):
            found.append(item.decode("utf-8", "replace"))
        elif isinstance(item, (list, tuple)):
            waiting.extend(reversed(item))
        elif isinstance(item, dict):
            waiting.extend(item.values())
            waiting.extend(item.keys())
    return found
