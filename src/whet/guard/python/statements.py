"""Read the statements of a Python file in order, including branches and loops, and collect its functions for later."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from whet.guard.python.access import attribute, combined, imported, several
from whet.guard.python.loops import bind, define, element, iterated, picks, without_environment
from whet.guard.python.objects import captured, held, method
from whet.guard.python.objects import iterable as gone_through
from whet.guard.python.values import Function, Klass
from whet.guard.tables import api
from whet.guard.taint.containers import MOST, plain
from whet.guard.taint.files import judge_gathered
from whet.guard.taint.mark import HOLE
from whet.guard.taint.secret import secret_name
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, joined, known, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.python.package import Package
    from whet.guard.python.reader import Reader


def block(reader: Reader, body: list[ast.stmt], scope: Scope) -> None:
    """Read statements in order."""
    if reader.depth > 80:
        return
    reader.depth += 1
    for statement in body:
        handler = _HANDLERS.get(type(statement))
        if handler is not None:
            handler(reader, statement, scope)
    reader.depth -= 1


def _assign(reader: Reader, node: Any, scope: Scope) -> None:
    value = reader.value(node.value, scope)
    if len(value.marks) > 1:
        reader.line = node.lineno
        reader.report(judge_gathered(value.marks))
    for target in node.targets:
        bind(reader, target, value, scope)


def _annotated(reader: Reader, node: Any, scope: Scope) -> None:
    if node.value is not None or (scope.klass is not None and isinstance(node.target, ast.Name)):
        bind(reader, node.target, reader.value(node.value, scope), scope)


def _augmented(reader: Reader, node: Any, scope: Scope) -> None:
    value = reader.value(node.value, scope)
    old = reader.value(node.target, scope) if isinstance(node.target, (ast.Name, ast.Attribute)) else Value()
    new = combined(type(node.op).__name__, old, value)
    if reader.branch and isinstance(new.const, (str, bytes)):
        new = Value(f"{new.said[:200]}{HOLE}", "", new.marks, new.hidden)
    if reader.branch and value.marks and isinstance(node.op, ast.Add):
        new = new.marked(*several(value.marks))
    bind(reader, node.target, new, scope)


def _import(reader: Reader, node: Any, scope: Scope) -> None:
    reader.line = node.lineno
    for alias in node.names:
        if reader.files:
            imported(reader, alias.name)
        if reader.package is not None and (module := reader.package.module(reader, alias.name, 0)) is not None:
            define(reader, scope, alias.asname or alias.name.partition(".")[0], Value(fn=module), alias)
            continue
        root = alias.name.partition(".")[0]
        define(reader, scope, alias.asname or root, Value(name=alias.name if alias.asname else root), alias)


def _import_from(reader: Reader, node: Any, scope: Scope) -> None:
    reader.line = node.lineno
    if reader.files and node.module:
        imported(reader, node.module)
    if reader.package is not None and _from_package(reader.package, reader, node, scope):
        return
    for alias in node.names:
        if node.level:
            scope.names[alias.asname or alias.name] = Value(name=f".{node.module or ''}.{alias.name}")
        elif alias.name == "*":
            reader.stars.append(node.module or "")
        else:
            full = f"{node.module}.{alias.name}"
            known = reader.given.get(full) or Value(name=full)
            if full == "os.environ":
                known = attribute(Value(name=node.module or ""), alias.name)
            define(reader, scope, alias.asname or alias.name, known, alias)


def _from_package(package: Package, reader: Reader, node: Any, scope: Scope) -> bool:
    """Import names from another file of the package; return False if the file does not exist."""
    module = package.module(reader, node.module or "", node.level)
    found = module is not None
    for alias in node.names:
        if module is not None and alias.name == "*":
            scope.names.update(module.fields)
        elif module is not None and alias.name in module.fields:
            scope.names[alias.asname or alias.name] = module.fields[alias.name]
        else:
            prefix = f"{node.module}." if node.module else ""
            inner = package.module(reader, prefix + alias.name, node.level)
            if inner is not None:
                scope.names[alias.asname or alias.name] = Value(fn=inner)
                found = True
    return found


def _shared(reader: Reader, node: Any, scope: Scope) -> None:
    for name in node.names:
        scope.shared[name] = reader.module if isinstance(node, ast.Global) or scope.outer is None else scope.outer


def _function(reader: Reader, node: Any, scope: Scope) -> None:
    function = Function(node.name, node, scope, None, reader)
    define(reader, scope, node.name, Value(fn=function), node)
    reader.functions.append(function)
    for decorator in node.decorator_list:
        found = reader.value(decorator, scope)
        reader.call_back(found, [Value(fn=function)])
        if found in reader.given.values():  # its parameters are the arguments of the program
            reader.invoke(function, [found] * len(node.args.args), {}, NOTHING)


def _class(reader: Reader, node: Any, scope: Scope) -> None:
    bases = [reader.value(base, scope) for base in node.bases]
    klass = Klass(node.name, tuple(base.name for base in bases))
    for base in bases:
        if isinstance(base.fn, Klass):
            klass.methods.update(base.fn.methods)
            klass.parents.append(base.fn)
    for word in node.keywords:
        meta = reader.value(word.value, scope).fn
        if isinstance(meta, Klass):
            klass.methods.update((name, one) for name, one in meta.methods.items() if name in _OF_CLASSES)
    define(reader, scope, node.name, Value(fn=klass), node)
    reader.klasses.append(klass)
    inner = Scope(scope, klass)
    rest = []
    for statement in node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            method = Function(statement.name, statement, scope, klass, reader)
            klass.methods[statement.name] = method
            reader.functions.append(method)
            rest += _restored(statement) if statement.name.startswith("__reduce") else []
        else:
            rest.append(statement)
    block(reader, rest, inner)
    for fields in (inner.names, *(parent.fields for parent in reversed(klass.parents))):
        for name, value in fields.items():
            klass.fields.setdefault(name, value)


_OF_CLASSES = ("__getattr__", "__getitem__", "__iter__", "__call__")
"""Methods of a metaclass that code uses through its classes."""


def _restored(method: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """Return the calls that unpickling makes: the function and arguments that a `__reduce__` method returns."""
    pairs = [
        (node, node.value.elts[0], node.value.elts[1].elts)
        for node in ast.walk(method)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1
        if isinstance(node.value.elts[1], ast.Tuple)
    ]
    return [
        ast.copy_location(ast.Expr(ast.copy_location(ast.Call(one, args, []), node)), node) for node, one, args in pairs
    ]


def _if(reader: Reader, node: Any, scope: Scope) -> None:
    """Read every branch of an `if` chain in order; names keep the marks of all branches."""
    reader.branch += 1
    count = 0
    while True:
        reader.value(node.test, scope)
        reader.gates.append(node.test)
        narrowed = _narrowed(node.test, scope) if reader.environment else {}
        block(reader, node.body, scope)
        if not (narrowed and node.body and isinstance(node.body[-1], (ast.Continue, ast.Return))):
            scope.names.update(narrowed)
        reader.gates.pop()
        count += 1
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) and count < 2000:
            node = node.orelse[0]
            continue
        break
    block(reader, node.orelse, scope)
    reader.branch -= 1


def _narrowed(test: ast.expr, scope: Scope) -> dict[str, Value]:
    """Drop the mark of the whole environment from names that a condition filters; return their old values."""
    names = {
        name: value
        for name, value in scope.names.items()
        if value.marks and value.name != "os.environ" and any(mark.kind == "env" for mark in value.marks)
    }
    if not names or not any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(test)):
        return {}
    if picks(test) != "some":
        return {}
    for name, value in names.items():
        scope.names[name] = value.but(marks=without_environment(value.marks))
    return names


_PURE = api("python", "pure")
_PLAIN = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.While, ast.Pass, ast.Continue, ast.Break,
)  # fmt: skip
_TURNS = 20_000


def _builds_text(body: list[ast.stmt]) -> bool:
    """Return whether a loop body only combines constants, so that each iteration can be evaluated."""
    for statement in body:
        if not isinstance(statement, _PLAIN):
            return False
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name not in _PURE:
                    return False
    return True


def _run(reader: Reader, body: list[ast.stmt], scope: Scope) -> bool:
    """Run statements that combine constants; return False if the loop ends here."""
    for node in body:
        if isinstance(node, ast.If):
            test = reader.value(node.test, scope).const
            if test is UNKNOWN:
                block(reader, [node], scope)
            elif not _run(reader, node.body if test else node.orelse, scope):
                return False
        elif isinstance(node, ast.Continue):
            return True
        elif isinstance(node, ast.Break):
            return False
        else:
            block(reader, [node], scope)
    return True


def _turn_by_turn(reader: Reader, node: Any, iterable: Value, scope: Scope) -> bool:
    """Evaluate a loop over constants that only combines constants; return False if the loop is of another kind."""
    parts = iterated(iterable)
    if parts is None or not 1 < len(parts) <= MOST or not known(plain(iterable)):
        return False
    if reader.branch or reader.worked + len(parts) > _TURNS or not _builds_text(node.body):
        return False
    for part in list(parts):
        reader.worked += 1
        bind(reader, node.target, part, scope)
        if not _run(reader, node.body, scope):
            break
    return True


_MOST_CALLED = 12


def _for(reader: Reader, node: Any, scope: Scope) -> None:
    iterable = gone_through(reader, reader.value(node.iter, scope))
    if _turn_by_turn(reader, node, iterable, scope):
        return
    reader.branch += 1
    for value in _chosen(node, iterable):
        bind(reader, node.target, value, scope)
        block(reader, node.body, scope)
    bind(reader, node.target, element(iterable), scope)
    _twice(reader, node.body, scope)
    block(reader, node.orelse, scope)
    reader.branch -= 1


def _chosen(node: ast.For, iterable: Value) -> list[Value]:
    """Return the items that a loop must be read with one by one: functions that it calls, and names of secrets."""
    if iterable.items is None:
        return []
    own = {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
    calls = (one.func for part in node.body for one in ast.walk(part) if isinstance(one, ast.Call))
    called = (one.slice if isinstance(one, ast.Subscript) else one for one in calls)
    if any(isinstance(one, ast.Name) and one.id in own for one in called):
        return list(iterable.items[:_MOST_CALLED])
    return [part for part in iterable.items[1:40] if part.text and secret_name(part.text)][:4]


def _while(reader: Reader, node: Any, scope: Scope) -> None:
    if isinstance(node.test, ast.Constant):
        reader.line = node.lineno
        reader.note("repeats")
    test = reader.value(node.test, scope)
    if not reader.branch and isinstance(test.const, bool) and _builds_text(node.body):
        turns = 0
        while test.const is True and turns < 4096 and reader.worked < _TURNS and reader.steps > 0:
            turns += 1
            reader.worked += 1
            if not _run(reader, node.body, scope):
                break
            test = reader.value(node.test, scope)
        return
    reader.branch += 1
    _twice(reader, node.body, scope)
    block(reader, node.orelse, scope)
    reader.branch -= 1


def _twice(reader: Reader, body: list[ast.stmt], scope: Scope) -> None:
    """Read the body of a loop, and read it again if it marked names that its beginning may use."""
    before = reader.changes
    block(reader, body, scope)
    if reader.changes != before:
        block(reader, body, scope)


def _with(reader: Reader, node: Any, scope: Scope) -> None:
    managers: list[Value] = []
    for entry in node.items:
        value = reader.value(entry.context_expr, scope)
        entered = next((one for way in _ENTERS if (one := method(reader, value, way)) is not None), value)
        managers.append(value)
        if entry.optional_vars is not None:
            bind(reader, entry.optional_vars, entered, scope)
    block(reader, node.body, scope)
    for value in managers:
        for way in _LEAVES:
            method(reader, value, way, [NOTHING] * 3)


_ENTERS, _LEAVES = ("__enter__", "__aenter__"), ("__exit__", "__aexit__")


def _try(reader: Reader, node: Any, scope: Scope) -> None:
    reader.branch += 1
    block(reader, node.body, scope)
    for handler in node.handlers:
        kind = reader.value(handler.type, scope)
        if handler.name:
            raised = Value(marks=union(map(held, reader.raised)))
            define(reader, scope, handler.name, kind if isinstance(kind.fn, Klass) else raised, handler)
        block(reader, handler.body, scope)
    block(reader, node.orelse, scope)
    block(reader, node.finalbody, scope)
    reader.branch -= 1


def _match(reader: Reader, node: Any, scope: Scope) -> None:
    subject = reader.value(node.subject, scope)
    reader.branch += 1
    for case in node.cases:
        for name, part in captured(case.pattern, subject):
            define(reader, scope, name, part, case.pattern)
        if case.guard is not None:
            reader.value(case.guard, scope)
        block(reader, case.body, scope)
    reader.branch -= 1


def _return(reader: Reader, node: Any, scope: Scope) -> None:
    if node.value is not None:
        value = reader.value(node.value, scope)
        if len(value.marks) > 1:
            reader.line = node.lineno
            reader.report(judge_gathered(value.marks))
        scope.returned = joined(scope.returned, value)


def _raise(reader: Reader, node: Any, scope: Scope) -> None:
    value = reader.value(node.exc, scope)
    if isinstance(node.exc, ast.Call) and not isinstance(value.fn, Klass):
        value = value.marked(*union(reader.values(node.exc.args, scope)))
    if value is not NOTHING and len(reader.raised) < _MOST_RAISED:
        reader.raised.append(value)


_MOST_RAISED = 50
_HANDLERS: dict[type[ast.AST], Callable[[Reader, Any, Scope], object]] = {
    ast.Expr: lambda reader, node, scope: reader.value(node.value, scope),
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.Return: _return,
    ast.Assert: lambda reader, node, scope: reader.value(node.test, scope),
    ast.Raise: _raise,
    ast.Global: _shared,
    ast.Nonlocal: _shared,
}
