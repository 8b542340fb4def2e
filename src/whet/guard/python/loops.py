"""Loops, comprehensions and assignments: the items they iterate over, filters, and short loops evaluated in full."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.python.access import item
from whet.guard.python.objects import iterable as gone_through
from whet.guard.python.values import Function, Inner, Klass
from whet.guard.tables import api
from whet.guard.taint.branches import replaces
from whet.guard.taint.containers import MOST, gathered, one_of, parts_of, plain, put, taken, work_out
from whet.guard.taint.files import named_places
from whet.guard.taint.mark import ENVIRONMENT, HOLE, Mark
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, known, perhaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.guard.python.reader import Reader

_SECRET_FILTER = expression(r"KEY|TOKEN|SECRET|PASS|CRED|AUTH", re.IGNORECASE)


def element(iterable: Value) -> Value:
    """Return a representative item of the values that a loop iterates over."""
    parts = _lines(iterable) if iterable.name == "open" else iterated(iterable)
    first = next((part for part in parts if part.fn is not None), one_of(parts)) if parts else NOTHING
    marks = iterable.marks | first.marks | named_places(iterable)
    name = "pathlib.Path" if iterable.name.startswith("pathlib.") else first.name
    return first.but(name=name, marks=marks, hidden=first.hidden or iterable.hidden, path=first.path or iterable.path)


def _lines(file: Value) -> list[Value] | None:
    """Return the lines of an open file."""
    return [file.but(const=line, name="") for line in file.said.splitlines(keepends=True)] if file.text else None


def iterated(value: Value) -> Sequence[Value] | None:
    """Return what a loop over a value gives: items, letters, bytes or the keys of a mapping."""
    if value.props is not None and not (value.items or value.fn or value.name):
        return [Value(key) for key in value.props]
    parts = parts_of(value.but(name=""), "")
    return parts if parts is None or not value.marks else [taken(value, part) for part in parts]


def bind(reader: Reader, target: ast.expr, value: Value, scope: Scope) -> None:
    """Assign a value to a name, attribute or item, or its parts to the names of a pattern."""
    if isinstance(target, ast.Name):
        scope = scope.shared.get(target.id, scope)
        old = scope.names.get(target.id)
        if old is not None and reader.branch:
            if value is NOTHING or not counts(reader, target.id, target, old, value):
                return
            if old.marks - value.marks:
                value = value.marked(*(mark for mark in old.marks if mark.kind != "key"))
            value = perhaps(old, value)
        if value.marks and (old is None or value.marks - old.marks):
            reader.changes += 1
            if reader.inside and scope is reader.module:
                outlives(reader, value.marks)
        scope.names[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        value = gone_through(reader, value)
        for index, part in enumerate(target.elts):
            piece = item(value, Value(index)) if value.items is not None else Value(marks=value.marks)
            if value.name == "asyncio.open_connection":
                piece = Value(name=f"{value.name}().{index}", path=value.path)
            elif value.name.startswith("socket.") and value.name.endswith(".accept()") and index == 0:
                piece = Value(name="socket.socket()", path="<served>")
            if piece.marks is not value.marks:
                piece = piece.but(marks=value.marks)
            bind(reader, part.value if isinstance(part, ast.Starred) else part, piece, scope)
    elif isinstance(target, ast.Attribute):
        _bind_attribute(reader, target, value, scope)
    elif isinstance(target, ast.Subscript):
        _bind_item(reader, target, value, scope)


def define(reader: Reader, scope: Scope, name: str, value: Value, place: ast.AST) -> None:
    """Give a value, which a definition or import at a place makes, its name."""
    old = scope.names.get(name)
    if old is None or not reader.branch or counts(reader, name, place, old, value):
        scope.names[name] = value


def counts(reader: Reader, name: str, place: ast.AST, old: Value, new: Value) -> bool:
    """Return whether a branch that replaces the value of a name counts in this reading."""
    lacks = replaces(old, new, "python") or any(mark.kind == "key" and mark not in new.marks for mark in old.marks)
    return not lacks or reader.branches.takes(name, id(place))


_PATCHED = api("python", "patched")
"""Modules and classes whose functions other code calls, so that replacing one intercepts its arguments."""


def _bind_attribute(reader: Reader, target: ast.Attribute, value: Value, scope: Scope) -> None:
    owner = reader.value(target.value, scope)
    if isinstance(value.fn, Function) and owner.name in _PATCHED:  # its arguments belong to other code
        passing = f"what passes through {owner.name}.{target.attr}"
        mark = Mark("secret", passing, target.attr, whole=not owner.name.startswith("requests"))
        reader.invoke(value.fn, [Value(marks=frozenset((mark,)))] * 2, {}, NOTHING)
    if isinstance(owner.fn, Klass):
        old = owner.fn.fields.get(target.attr, NOTHING)
        if reader.branch and not counts(reader, target.attr, target, old, value):
            return
        if value.marks - old.marks:
            reader.changes += 1
            outlives(reader, value.marks - old.marks)
        owner.fn.fields[target.attr] = perhaps(old, value.marked(*old.marks) if old.marks else value)
    elif isinstance(target.value, ast.Name) and value.marks:
        kept = scope.find(target.value.id)
        if kept is not None and not kept.name.startswith(("os", "sys", "subprocess")):
            scope.home(target.value.id).names[target.value.id] = kept.marked(*value.marks)


def _bind_item(reader: Reader, target: ast.Subscript, value: Value, scope: Scope) -> None:
    key = reader.value(target.slice, scope)
    if value.marks and isinstance(key.const, str) and reader.value(target.value, scope).name == "os.environ":
        reader.exported[key.const] = value
    root, keys = chain(target.value)
    if isinstance(root, ast.Name) and root.id != "os":
        old = scope.find(root.id)
        if old is not None and not old.name:
            held = put(old, [*keys, key.const if isinstance(key.const, str) else HOLE], value, sure=not reader.branch)
            scope.home(root.id).names[root.id] = held
    mark_root(reader, target.value, value.marks, scope)


def mark_root(reader: Reader, target: ast.expr, marks: frozenset[Mark], scope: Scope) -> None:
    """Add marks to the name or field that holds the list or mapping `target`."""
    root = chain(target)[0]
    if isinstance(root, ast.Name):
        old = scope.find(root.id)
        if old is not None and marks - old.marks and old.name != "os.environ":
            reader.changes += 1
            home = scope.home(root.id)
            home.names[root.id] = old.marked(*marks)
            if home is reader.module:
                outlives(reader, marks)
    elif isinstance(root, ast.Attribute) and marks:
        _hold(reader, root, marks, scope)


def _hold(reader: Reader, target: ast.Attribute, marks: frozenset[Mark], scope: Scope) -> None:
    """Add marks to a field of a class of the file, or to an attribute, such as the headers, of a client."""
    klass = reader.value(target.value, scope).fn
    if isinstance(klass, Klass):
        field = klass.fields.get(target.attr, NOTHING)
        if marks - field.marks:
            reader.changes += 1
            outlives(reader, marks)
        klass.fields[target.attr] = field.marked(*marks)
        return
    name = target.value.id if isinstance(target.value, ast.Name) else ""
    owner = scope.find(name)
    if owner is not None and owner.name:
        held = (owner.props or {}).get(target.attr, NOTHING).marked(*marks)
        scope.home(name).names[name] = owner.but(props={**(owner.props or {}), target.attr: held})


def outlives(reader: Reader, marks: frozenset[Mark]) -> None:
    """Record that a private value was stored where a function may have looked before."""
    if (reader.inside or reader.ran) and any(mark.kind in ("secret", "env", "captured") for mark in marks):
        reader.outlived = True


def chain(node: ast.expr) -> tuple[ast.expr, list[str]]:
    """Return the expression at the root of `a["x"].setdefault("y", {})["z"]`, and the keys in order."""
    keys: list[str] = []
    while True:
        if isinstance(node, ast.Subscript):
            key: ast.expr | None = node.slice
            node = node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("setdefault", "get")
        ):
            key = node.args[0] if node.args else None
            node = node.func.value
        else:
            return node, keys[::-1]
        keys.append(key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else HOLE)


def comprehension(reader: Reader, node: Any, scope: Scope) -> Value:
    """Evaluate a comprehension in full over short constants, else with one item for all."""
    inner = Inner(scope, scope.klass)
    first = node.generators[0]
    iterable = gone_through(reader, reader.value(first.iter, scope))
    content = node.value if isinstance(node, ast.DictComp) else node.elt

    def turn(args: Sequence[Value]) -> Value:
        bind(reader, first.target, args[0].but(hidden=args[0].hidden or iterable.hidden), inner)
        return reader.value(content, inner)

    items = _items(iterable) if len(node.generators) == 1 and not (first.ifs and iterable.marks) else None
    if items is not None:
        found = work_out("map", items, turn) or NOTHING
        marks = found.marks | iterable.marks | named_places(iterable)
        return Value(marks=marks) if isinstance(node, ast.DictComp) else found.but(marks=marks)
    bind(reader, first.target, element(iterable), inner)
    narrow = any(picks(test) == "some" for test in first.ifs)
    if ENVIRONMENT in iterable.marks and any(picks(test) == "secrets" and not _negates(test) for test in first.ifs):
        reader.line = node.lineno
        reader.hit("gathers-secrets", None, "", "It selects the secrets from the environment")
    for test in first.ifs:
        reader.value(test, inner)
    for generator in node.generators[1:]:
        bind(reader, generator.target, element(gone_through(reader, reader.value(generator.iter, inner))), inner)
        for test in generator.ifs:
            reader.value(test, inner)
    value = reader.value(content, inner)
    if isinstance(node, ast.DictComp):
        result = Value(marks=reader.value(node.key, inner).marks | value.marks)
    else:
        result = gathered([value])
    return result.but(marks=without_environment(result.marks)) if narrow else result


def _items(iterable: Value) -> Sequence[Value] | None:
    """Return the items of an iterable that is short and known."""
    parts = iterated(iterable) if iterable.props is None else None
    if isinstance(iterable.fn, Klass) and any(base.startswith("enum.") for base in iterable.fn.bases):
        parts = [field for field in iterable.fn.fields.values() if field.const is not UNKNOWN]
    if iterable.name == "open":
        parts = _lines(iterable)
    if parts is None or not 1 < len(parts) <= MOST or not all(known(plain(part)) for part in parts):
        return None
    return parts


def picks(test: ast.expr) -> str:
    """Return `secrets` if a condition selects secrets by name, `some` if another part, else an empty string."""
    found = ""
    for node in ast.walk(test):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
            if _SECRET_FILTER.search(node.value):
                return "secrets"
            found = "some"
        elif isinstance(node, (ast.Name, ast.Attribute)):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if _SECRET_FILTER.search(name) and name.lower() not in ("key", "keys"):
                return "secrets"
        if isinstance(node, (ast.In, ast.NotIn)):
            found = found or "some"
    return found


def _negates(test: ast.expr) -> bool:
    return any(isinstance(node, (ast.Not, ast.NotIn)) for node in ast.walk(test))


def without_environment(marks: frozenset[Mark]) -> frozenset[Mark]:
    """Return the marks without the mark of the whole environment: only a named part of it was selected."""
    return frozenset(mark for mark in marks if mark.kind != "env")
