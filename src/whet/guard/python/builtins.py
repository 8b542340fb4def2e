"""Calls that only look up or assemble values: `getattr`, `__import__`, `chr`, path functions."""

from __future__ import annotations

import ast
import shlex
from functools import partial
from typing import TYPE_CHECKING

from whet.guard.python.access import DANGEROUS, attribute, bare, expanded, imported
from whet.guard.python.objects import above
from whet.guard.python.values import Function, Klass, Partial
from whet.guard.taint.containers import MOST, entries, gathered, literal, one_of, parts_of, plain, taken, work_out
from whet.guard.taint.fold import bounded, computed
from whet.guard.taint.formats import ini
from whet.guard.taint.mark import HOLE, Mark, comes_from
from whet.guard.taint.value import NOTHING, UNKNOWN, Hidden, Value, hidden_in, known, union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.guard.python.reader import Reader
    from whet.guard.taint.call import Call


def _hidden(reader: Reader, node: ast.expr | None, name: Value) -> Hidden:
    """Return how a name given as text is hidden; the constants `'o' 's'` and `'\\x6f\\x73'` hide a name, too."""
    if name.hidden or not isinstance(node, ast.Constant):
        return name.hidden
    return "" if name.said in "\n".join(reader.lines[node.lineno - 1 : node.end_lineno]) else "split"


def find_attribute(reader: Reader, this: Call, owner: Value, at: int) -> Value:
    """Return the attribute that argument `at` names, as in `getattr` or `owner.__getattribute__`."""
    name = this.arg(at)
    _judge_name(reader, name, owner)
    found = attribute(owner, name.exact) if name.exact else NOTHING
    hidden = _hidden(reader, next(iter(this.node.args[at:]), None), name) or owner.hidden
    return found.but(hidden=hidden) if found.name else found


_MODULE = "(module)"
"""The name of a module that is not known."""


def _judge_name(reader: Reader, name: Value, owner: Value = NOTHING) -> None:
    """Report a module or attribute whose name is decoded from unknown data, or an unknown attribute of an unknown module."""
    unknown = owner.path == _MODULE and not name.said.strip(HOLE)
    if name.exact is None and (unknown or comes_from(name.marks, "decoded")):
        reader.hit("hidden-call", "warn", message="A module or function is named by data")


def _import(reader: Reader, this: Call) -> Value | None:
    name = this.arg(0, "name")
    module = name.exact
    if not module:
        _judge_name(reader, name)
        return Value(path=_MODULE) if name.const is UNKNOWN else NOTHING
    hidden = _hidden(reader, next(iter(this.node.args), None), name)
    if hidden and DANGEROUS.fullmatch(bare(module)):
        reader.hit("hidden-call", subject=module, message=f"The module {module} is imported under a hidden name")
    imported(reader, module)
    if this.name == "__import__" and "fromlist" not in this.words and len(this.args) < 4:
        module = module.partition(".")[0]
    return Value(name=module, hidden=hidden)


def _vars(_reader: Reader, this: Call) -> Value | None:
    if this.args and isinstance(this.args[0].fn, Klass):
        return this.args[0].fn.held()
    return None if "." in this.name else Value(name=this.name, path=this.args[0].name if this.args else "")


def _field(reader: Reader, this: Call) -> Value | None:
    """Return the default value of a data class field."""
    made = this.words.get("default_factory") or this.words.get("factory")
    return reader.call_back(made, ()) if made is not None else this.words.get("default", NOTHING)


def _words(_reader: Reader, this: Call) -> Value | None:
    """Return the result of `shlex.split`."""
    first = this.arg(0)
    try:
        return literal(shlex.split(first.said), first.marks, first.hidden) if first.said else Value(marks=first.marks)
    except ValueError:
        return None


def _chr(_reader: Reader, this: Call) -> Value | None:
    const, marks = computed("chr", [this.arg(0).const], {}), this.arg(0).marks
    return Value(const, marks=marks | {Mark("decoded", "chr")} if const is UNKNOWN else marks, hidden="decoded")


def _bytes(_reader: Reader, this: Call) -> Value | None:
    source = this.arg(0)
    if source.items:
        try:
            return Value(
                bounded(bytes(plain(source))), marks=source.marks | {Mark("decoded", "bytes")}, hidden="decoded"
            )
        except (ValueError, TypeError):
            return Value(marks=source.marks)
    if isinstance(source.const, str):
        return Value(source.const.encode("utf-8", "replace"), marks=source.marks, hidden=source.hidden)
    if len(this.args) == 1 and source.const is UNKNOWN and any(mark.kind == "file" for mark in source.marks):
        return Value(marks=source.marks | {Mark("decoded", "bytes")})
    return None


def _map(reader: Reader, this: Call) -> Value | None:
    if len(this.args) < 2:
        return None
    function, items = this.args[0], this.args[1]
    name = bare(function.name)
    parts = parts_of(items, "")
    if parts is None or len(parts) > MOST or not known(plain(items)):
        marks = items.marks | {Mark("decoded", "chr")} if name == "chr" else items.marks
        return Value(marks=marks)
    if name in ("chr", "str", "int", "ord"):
        consts = [computed(name, [plain(part)], {}) for part in parts]
        return literal(consts, items.marks, "decoded" if name == "chr" else items.hidden)
    if not isinstance(function.fn, Function):
        return None
    return work_out("map", parts, partial(_compute, reader, function, 1))


def _compute(reader: Reader, function: Value, count: int, args: Sequence[Value]) -> Value:
    """Return the result of a function of the file for constants, however often it was read before."""
    function.fn.runs.clear()
    return reader.invoke(function.fn, list(args[:count]), {}, NOTHING)


def _reduce(reader: Reader, this: Call) -> Value | None:
    items = this.arg(1)
    if not isinstance(this.arg(0).fn, Function) or not items.items or not known(plain(items)):
        return None
    if len(items.items) > 2000:
        return None
    found = work_out("reduce", items.items, partial(_compute, reader, this.args[0], 2), this.args[2:3])
    return None if found is None else found.but(marks=union((*this.args, found)), hidden="split")


def _named_tuple(_reader: Reader, this: Call) -> Value | None:
    names = plain(this.arg(1, "field_names"))
    klass = Klass(this.arg(0).said, ())
    for name in names.replace(",", " ").split() if isinstance(names, str) else names if isinstance(names, list) else ():
        klass.fields[str(name)] = NOTHING
    return Value(fn=klass)


def _reversed(_reader: Reader, this: Call) -> Value | None:
    items = this.arg(0)
    parts = parts_of(items, "")
    if parts is not None and known(plain(items)):
        turned = bool(parts) and all(len(part.said) <= 2 for part in parts)
        return gathered(parts[::-1]).but(marks=items.marks, hidden="decoded" if turned else items.hidden)
    return None


def _join(_reader: Reader, this: Call) -> Value | None:
    """Join paths; a method joins them to its owner or to the parent of its owner."""
    owner = [attribute(this.owner, "parent") if this.row.what == "parent" else this.owner]
    parts = [*owner, *this.args] if this.row.at == ("owner",) else this.args
    path = ""
    for value in parts:
        part = value.said or HOLE
        path = part if part.startswith(("/", "~")) or not path else f"{path.rstrip('/')}/{part}"
    name = "pathlib.Path" if this.name.startswith("pathlib.") else ""
    return Value(bounded(path or "."), name, union(parts), hidden_in(parts))


def _dirname(_reader: Reader, this: Call) -> Value | None:
    text = this.arg(0).said
    return Value(text.rpartition("/")[0] or HOLE, marks=this.arg(0).marks)


def _suffixed(_reader: Reader, this: Call) -> Value | None:
    """Return the path that `Path.with_suffix` makes of its owner."""
    folder, slash, name = this.owner.said.rpartition("/")
    bare = name.rpartition(".")[0] or name
    return this.owner.but(const=f"{folder}{slash}{bare}{this.arg(0).said}") if name else None


def _temporary(_reader: Reader, this: Call) -> Value | None:
    suffix = this.words["suffix"].said if "suffix" in this.words else ""
    path = f"/tmp/tmp{this.node.lineno}{suffix}"  # noqa: S108  a path in the scanned program, not a file of ours
    if this.name == "tempfile.mkstemp":
        return literal([UNKNOWN, path])
    if this.name == "tempfile.NamedTemporaryFile":
        return Value(name="open", path=path)
    return Value(path)


def _one_of(_reader: Reader, this: Call) -> Value | None:
    """Return any item of a list."""
    items = this.arg(0).items
    return taken(this.arg(0), one_of(items)) if items else None


def _expand(_reader: Reader, this: Call) -> Value | None:
    """Return a path with variables of the environment in it."""
    return expanded(this.arg(0)) if "$" in this.arg(0).said or "%" in this.arg(0).said else this.arg(0)


def _argument(_reader: Reader, this: Call) -> Value | None:
    """Remember the default value of an argument of the program."""
    target = getattr(this.node.func, "value", None)
    flag = next((one.said for one in reversed(this.args) if one.said.startswith("--")), this.arg(0).said)
    name = this.words["dest"].said if "dest" in this.words else flag.lstrip("-").replace("-", "_")
    if isinstance(target, ast.Name) and "default" in this.words:
        props = {**(this.owner.props or {}), name: this.words["default"]}
        this.scope.home(target.id).names[target.id] = this.owner.but(props=props)
    return NOTHING


def _partial(_reader: Reader, this: Call) -> Value | None:
    return Value(fn=Partial(this.args[0], this.args[1:], this.words)) if this.args else None


def _type(reader: Reader, this: Call) -> Value | None:
    """Return a class made by `type(name, bases, members)` with the members as its fields."""
    body = this.node.args[2] if len(this.node.args) == 3 else None
    if not isinstance(body, ast.Dict):
        return None
    klass = Klass(this.arg(0).said, ())
    for key, value in zip(body.keys, body.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            inner = value.args[0] if isinstance(value, ast.Call) and value.args else value
            klass.fields[key.value] = reader.value(inner, this.scope)
    return Value(fn=klass)


def _configure(reader: Reader, this: Call) -> Value | None:
    """Read a `configparser` call: the parser holds the content and marks of the files that it reads."""
    target, given = getattr(this.node.func, "value", None), this.arg(0)
    if this.verb in ("get", "items") and this.owner.props is not None:
        section = this.owner.props.get(this.arg(0).said, NOTHING)
        found = (
            (section.props or {}).get(this.arg(1).said, NOTHING) if this.verb == "get" else entries(section, "items")
        )
        return found.marked(*this.owner.marks)
    if this.verb not in ("read", "read_file", "read_string") or not isinstance(target, ast.Name):
        return None
    marks = reader.read(given, given.said) if this.verb == "read" else given.marks
    text = reader.data(given) if this.verb == "read" else given.const
    held = literal(ini(text) if isinstance(text, str) else UNKNOWN)
    this.scope.home(target.id).names[target.id] = this.owner.but(props=held.props, marks=this.owner.marks | marks)
    return NOTHING


SPECIAL: dict[str, Callable[[Reader, Call], Value | None]] = {
    "attribute": lambda reader, this: find_attribute(reader, this, this.arg(0), 1), "import": _import, "names": _vars, "letter": _chr, "bytes": _bytes, "map": _map,
    "reduce": _reduce, "reverse": _reversed,
    "named tuple": _named_tuple, "join": _join, "folder": _dirname, "suffix": _suffixed,
    "temporary": _temporary, "partial": _partial, "class": _type,
    "settings": _configure, "expand": _expand, "argument": _argument, "super": above,
    "arguments": lambda _, this: Value(props=this.owner.props), "items": lambda _, this: gathered(this.args),
    "new list": lambda _, this: Value(items=[*(this.arg(0).items or ()), *this.words.values()]), "namespace": lambda _, this: Value(props=this.words), "one of": _one_of, "field": _field, "words": _words,
}  # fmt: skip
"""The functions of this module by their names in the table."""
