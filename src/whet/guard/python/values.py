"""The functions and classes of a Python file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.taint.value import Scope, Value, union

if TYPE_CHECKING:
    import ast

    from whet.guard.python.reader import Reader


class Function:
    """A function of the file, which is read again for different arguments."""

    __slots__ = ("defaults", "given", "home", "klass", "name", "node", "runs", "scope", "told")

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
        """The reader of the file that defines it."""
        self.runs: dict[Any, Value] = {}
        self.told: set[object] = set()
        """What the arguments of its runs told: secrets, hosts and paths."""
        self.given: list[Any] = []
        """The arguments of all calls, kept alive because keys of `runs` contain the `id()` of lists."""
        spec = node.args
        last = zip(reversed((*spec.posonlyargs, *spec.args)), reversed(spec.defaults), strict=False)
        named = (*last, *zip(spec.kwonlyargs, spec.kw_defaults, strict=True))
        self.defaults = {one.arg: home.value(default, scope) for one, default in named if default is not None}


class Klass:
    """A class of the file: its methods, and the fields of its instances."""

    __slots__ = ("bases", "fields", "methods", "name", "parents")

    def __init__(self, name: str, bases: tuple[str, ...]) -> None:
        self.name = name
        self.bases = bases
        self.parents: list[Klass] = []
        """The classes of the file that it is made from."""
        self.methods: dict[str, Function] = {}
        self.fields: dict[str, Value] = {}

    def held(self) -> Value:
        """Return all fields as one mapping."""
        return Value(props=dict(self.fields), marks=union(self.fields.values()))


class Inner(Scope):
    """The names of a comprehension; those of assignments in it belong to the scope around it."""


class Partial(NamedTuple):
    """A function with some of its arguments bound in advance, as by `functools.partial`."""

    callee: Value
    args: list[Value]
    words: dict[str, Value]
