"""Evaluate the expressions of a Python file as far as possible without running them.

Every expression has a `Value`. Names are followed through imports, aliases, `getattr`, `__import__` and the like, so
that a call is judged by the function it really calls. Work is bounded: a number of steps for the whole file, a depth
for nesting, and a few runs for each function.
"""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.python.access import attribute, combined, item, name_of
from whet.guard.python.builtins import SPECIAL
from whet.guard.python.calls import call, invoke
from whet.guard.python.loops import comprehension
from whet.guard.python.objects import member, shown
from whet.guard.python.values import Function, Inner, Klass
from whet.guard.tables import api, load_toml
from whet.guard.taint.branches import Branches
from whet.guard.taint.containers import concatenated, gathered, plain, spread
from whet.guard.taint.fold import bounded
from whet.guard.taint.judges import Judges
from whet.guard.taint.mark import HOLE, Mark
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, either, joined, known, union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.guard.finding import Seen, Severity
    from whet.guard.python.package import Package
    from whet.guard.taint.call import Call
    from whet.guard.taint.value import Hidden

DEEPEST = 90
"""Maximum nesting depth of expressions and calls."""
STEPS = 400_000
"""Maximum number of expressions that are evaluated in one file."""


_BUILTINS = api("python", "builtins")
_MODULES = api("python", "modules")
_POWER = expression(
    r"\b(?:subprocess|socket|urllib|requests|httpx|os\.(?:system|popen|environ|exec)|ctypes|__import__|exec|eval|shutil)\b"
)


def _is_code(text: str) -> bool:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text[:20_000])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


class Reader(Judges):
    """The state of reading one Python file."""

    language = "python"
    specials = SPECIAL

    def __init__(
        self,
        text: str,
        read_inner: Callable[[str, int], Seen],
        level: int = 0,
        package: Package | None = None,
        path: str = "",
        branches: Branches | None = None,
    ) -> None:
        super().__init__(level, read_inner)
        self.lines = text.split("\n")
        self.package = package
        """The other files of the package, if available."""
        self.path = path
        """The path of the file in the package."""
        if package is not None:
            self.files, self.shipped = package.files, package.shipped
        self.module = Scope()
        self.doc: str | None = None
        """The docstring of the module."""
        self.worked = 0
        """Number of loop iterations that were evaluated."""
        self.stars: list[str] = []
        self.functions: list[Function] = []
        self.klasses: list[Klass] = []
        self.gates: list[ast.expr] = []
        """The conditions of the `if` statements around the current code."""
        self.environment = "environ" in text
        self.raised: list[Value] = []
        """The exceptions that the program raises."""
        self.branch = 0
        self.branches = branches or Branches()
        self.steps = STEPS
        self.depth = 0
        self.changes = 0
        """Number of times that a name or field received new marks."""
        self.done = False
        """Whether the statements of the module were read."""
        self.inside = 0
        """Nesting depth of the functions being read."""
        self.ran = False
        """Whether any function was read."""
        self.outlived = False
        """Whether a module name or field was marked after a function may have read it."""

    def hit(
        self, rule: str, severity: Severity | None = None, subject: str = "", message: str = "", evidence: str = ""
    ) -> None:
        """Record a hit, with the condition that guards it."""
        gate = next((said for test in reversed(self.gates) if (said := condition(test))), "")
        if gate:
            message = f"{message or 'The code runs'}, but only under a condition: {gate}"
        super().hit(rule, severity, subject, message, evidence)

    def name_arguments(self, call: Call) -> None:
        """Set `call.names` to the names that the program uses for the arguments."""
        node = call.node
        call.names = {number: name_of(one) for number, one in enumerate(node.args)}
        call.names.update((one.arg, name_of(one.value)) for one in node.keywords if one.arg)
        if isinstance(node.func, ast.Attribute):
            call.names["owner"] = name_of(node.func.value)

    def name_words(self, call: Call) -> list[str]:
        """Return the names that the program uses for the words of a command."""
        listed = (one for one in call.node.args if isinstance(one, (ast.List, ast.Tuple)))
        first = next(listed, call.node.args[0] if call.node.args else None)
        parts = getattr(first, "elts", None) or getattr(first, "values", None) or ()
        return [name_of(part.value if isinstance(part, ast.FormattedValue) else part) for part in parts]

    def is_harmless(self, text: str) -> bool:
        """Return whether decoded code parses and uses nothing powerful, such as processes or the network."""
        return not _POWER.search(text) and _is_code(text)

    def is_bad_code(self, text: str) -> bool:
        """Return whether the text is Python that does something bad; report what it does."""
        return _POWER.search(text) is not None and _is_code(text) and self.look(text, True)

    def call_back(self, function: Value, args: Sequence[Value]) -> Value:
        """Call a function of the file that was passed as an argument."""
        return invoke(self, function.fn, list(args), {}, NOTHING) if isinstance(function.fn, Function) else NOTHING

    def evidence(self) -> str:
        """Return the source of the current line."""
        return self.lines[self.line - 1][:400] if 0 < self.line <= len(self.lines) else ""

    def value(self, node: ast.expr | None, scope: Scope) -> Value:
        """Return the value of an expression as far as it is known."""
        if node is None:
            return NOTHING
        handler = _HANDLERS.get(type(node))
        if handler is None or self.depth > DEEPEST or self.steps <= 0:
            return NOTHING
        self.steps -= 1
        self.depth += 1
        try:
            return handler(self, node, scope)
        finally:
            self.depth -= 1

    def invoke(self, function: Function, args: list[Value], words: dict[str, Value], owner: Value) -> Value:
        """Read a function of the file with the values it is called with, and return its result."""
        return invoke(self, function, args, words, owner)

    def values(self, nodes: list[ast.expr], scope: Scope) -> list[Value]:
        """Return the values of several expressions."""
        return [self.value(node, scope) for node in nodes]


def condition(test: ast.expr) -> str:
    """Describe a condition that can hide behaviour (a date, a machine, a user); empty for any other condition."""
    if isinstance(test, (ast.Name, ast.Constant)):
        return ""
    gates = load_toml("python_gates")
    for count, node in enumerate(ast.walk(test)):
        if count > 60:
            break
        word = ""
        if isinstance(node, ast.Attribute):
            word = node.attr
        elif isinstance(node, ast.Name):
            word = node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value
        if word in gates:
            return str(gates[word])
    return ""


def _constant(_reader: Reader, node: Any, _scope: Scope) -> Value:
    const = node.value
    if isinstance(const, (str, bytes)):
        return Value(bounded(const))
    return Value(const) if isinstance(const, (int, float)) else NOTHING


def _name(reader: Reader, node: Any, scope: Scope) -> Value:
    name = node.id
    found = scope.find(name)
    if found is not None:
        return found
    if name in _BUILTINS or name in _MODULES:
        return Value(name=name)
    if name == "__doc__" and reader.doc is not None:
        return Value(reader.doc)
    if name == "__file__":
        return Value("<here>/file.py")
    for module in reader.stars:
        return attribute(Value(name=module), name)
    return NOTHING


def _attribute(reader: Reader, node: Any, scope: Scope) -> Value:
    owner = reader.value(node.value, scope)
    if node.attr == "value" and owner.const is not UNKNOWN and not owner.name:
        return owner
    found = member(reader, owner, node.attr)
    if isinstance(found.fn, Function) and isinstance(owner.fn, Klass) and _is_property(found.fn.node):
        return reader.invoke(found.fn, [], {}, owner)
    return reader.given.get(found.name, found)


def _is_property(node: Any) -> bool:
    return any(
        getattr(one, "attr", getattr(one, "id", "")) in ("property", "cached_property")
        for one in getattr(node, "decorator_list", ())
    )


def _binary(reader: Reader, node: Any, scope: Scope) -> Value:
    """Evaluate a chain of binary operators from its left end without recursion, however long it is."""
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp) and len(chain) < 20_000:
        chain.append(chain[-1].left)
    result = reader.value(chain[-1].left, scope)
    for link in reversed(chain):
        right = reader.value(link.right, scope)
        result = combined(type(link.op).__name__, result, right)
    return result


def _sequence(reader: Reader, node: Any, scope: Scope) -> Value:
    values = reader.values(node.elts, scope)
    return gathered(spread(zip(values, (isinstance(one, ast.Starred) for one in node.elts), strict=True)))


def _dict(reader: Reader, node: Any, scope: Scope) -> Value:
    props: dict[Any, Value] = {}
    values = []
    for key, content in zip(node.keys, node.values, strict=True):
        value = reader.value(content, scope)
        values.append(value)
        if key is None:
            props.update(value.props or {})
            continue
        name = reader.value(key, scope)
        if name.marks:
            values.append(name)
        if isinstance(name.const, (str, bytes, int)) and len(props) < 5000:
            props[name.const] = value
    return Value(props=props, marks=union(values))


def _formatted(reader: Reader, node: Any, scope: Scope) -> Value:
    parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    found = concatenated([shown(reader, one) for one in reader.values(parts, scope)], pieced=False)
    return found.but(const=HOLE) if found.const is UNKNOWN else found


def _subscript(reader: Reader, node: Any, scope: Scope) -> Value:
    owner = reader.value(node.value, scope)
    if isinstance(node.slice, ast.Slice):
        return _sliced(reader, node.slice, owner, scope)
    key = reader.value(node.slice, scope)
    if owner.name in ("globals()", "locals()", "vars()", "globals", "locals") and isinstance(key.const, str):
        named = scope.find(key.const)
        if named is not None:
            return named
    if owner.name == "os.environ" and isinstance(key.const, str) and key.const in reader.exported:
        return reader.exported[key.const]
    return item(owner, key)


def _sliced(reader: Reader, part: ast.Slice, owner: Value, scope: Scope) -> Value:
    bounds = [reader.value(bound, scope).const if bound else None for bound in (part.lower, part.upper, part.step)]
    const: Any = UNKNOWN
    items = None
    if bounds[2] != 0 and all(bound is None or isinstance(bound, int) for bound in bounds):
        const = owner.const[slice(*bounds)] if isinstance(owner.const, (str, bytes)) else UNKNOWN
        items = None if owner.items is None else list(owner.items[slice(*bounds)])
    turned = isinstance(bounds[2], int) and bounds[2] < 0
    marks = owner.marks
    if turned and any(mark.kind == "file" for mark in marks):
        marks |= {Mark("decoded", "reversed")}
    hidden: Hidden = "decoded" if turned and (const is not UNKNOWN or items) else owner.hidden
    return Value(const, marks=marks, hidden=hidden, items=items)


def _lambda(reader: Reader, node: Any, scope: Scope) -> Value:
    return Value(fn=Function("lambda", node, scope, None, reader))


def _either(reader: Reader, node: Any, scope: Scope) -> Value:
    reader.value(node.test, scope)
    return either(reader.value(node.orelse, scope), reader.value(node.body, scope))


def _boolean(reader: Reader, node: Any, scope: Scope) -> Value:
    result = NOTHING
    for value in reversed(reader.values(node.values, scope)):
        result = either(result, value)
    return result


def _compared(reader: Reader, node: Any, scope: Scope) -> Value:
    left, others = reader.value(node.left, scope), reader.values(node.comparators, scope)
    first, second = plain(left), plain(others[0]) if len(others) == 1 else UNKNOWN
    if not known(first) or not known(second):
        return NOTHING
    compare = _COMPARISONS.get(type(node.ops[0]))
    try:
        return NOTHING if compare is None else Value(bool(compare(first, second)))
    except TypeError:
        return NOTHING


def _inner(reader: Reader, node: Any, scope: Scope) -> Value:
    return reader.value(node.value, scope)


def _unary(reader: Reader, node: Any, scope: Scope) -> Value:
    value = reader.value(node.operand, scope)
    if isinstance(value.const, int) and isinstance(node.op, (ast.USub, ast.Invert)):
        return Value(-value.const if isinstance(node.op, ast.USub) else ~value.const)
    return NOTHING


def _walrus(reader: Reader, node: Any, scope: Scope) -> Value:
    value = reader.value(node.value, scope)
    while isinstance(scope, Inner) and scope.outer is not None:
        scope = scope.outer
    if isinstance(node.target, ast.Name):
        scope.names[node.target.id] = value
    return value


def _yielded(reader: Reader, node: Any, scope: Scope) -> Value:
    value = reader.value(node.value, scope)
    whole = isinstance(node, ast.Yield) and value.items is not None  # one of the items of what iterates over it
    scope.returned = joined(scope.returned, gathered([value]) if whole else value)
    return NOTHING if isinstance(node, ast.Yield) else value


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_HANDLERS: dict[type[ast.AST], Callable[[Reader, Any, Scope], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: call,
    ast.BinOp: _binary,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.JoinedStr: _formatted,
    ast.FormattedValue: _inner,
    ast.Subscript: _subscript,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: comprehension,
    ast.Lambda: _lambda,
    ast.IfExp: _either,
    ast.BoolOp: _boolean,
    ast.Compare: _compared,
    ast.Await: _inner,
    ast.Starred: _inner,
    ast.UnaryOp: _unary,
    ast.NamedExpr: _walrus,
    ast.Yield: _yielded,
    ast.YieldFrom: _yielded,
}
