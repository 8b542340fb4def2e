"""Read calls: resolve the function, its arguments and its result.

Functions of the file are read with the values they are called with. Other calls go to the judges (network,
execution, files, harm), each of which may return the result of the call; an unknown call passes on the marks of its
owner and some of its arguments.
"""

from __future__ import annotations

import ast
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from whet.guard.hosts import URL, distrust, host_of
from whet.guard.python.access import DANGEROUS, bare, expanded, item, name_of, several
from whet.guard.python.builtins import find_attribute
from whet.guard.python.loops import mark_root
from whet.guard.python.objects import held, member, method
from whet.guard.python.statements import block
from whet.guard.python.values import Function, Klass, Partial
from whet.guard.tables import api
from whet.guard.taint.call import Call
from whet.guard.taint.commands import private
from whet.guard.taint.containers import entries, gathered, literal, parts_of, plain, spread, taken
from whet.guard.taint.fold import method as fold_method
from whet.guard.taint.formats import PARSERS, parsed
from whet.guard.taint.mark import HOLE, NO_MARKS
from whet.guard.taint.names import variable
from whet.guard.taint.network import always_sent, follow_service
from whet.guard.taint.value import (
    NOTHING,
    TELLING,
    UNKNOWN,
    Scope,
    Value,
    either,
    everything,
    hidden_in,
    joined,
    spell,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.python.reader import Reader
    from whet.guard.taint.mark import Mark
    from whet.guard.taint.value import Hidden

_RUNS, _MOST_RUNS, _MOST_GRAVE = 5, 60, 400
"""Number of times that a function is read for any arguments, for other paths and commands, and for other secrets and hosts."""
_MOST_PIECES = 500
_COPIERS = api("python", "copiers")
_NUMBERS = api("python", "numbers")
_BASES = api("python", "bases")
_CHANGERS = api("python", "changers")
_KEEPERS = api("python", "keepers")
_PASSING = ("itertools.", "operator.", "more_itertools.")
_DUMPERS = api("python", "dumpers")
_SAVERS = api("python", "savers")
_FILLERS = api("python", "fillers")
_FIELDWISE = api("python", "fieldwise")
_TEMPLATES = ("format", "format_map", "substitute", "safe_substitute")
_PUTTERS = frozenset(("append", "appendleft", "add", "put", "put_nowait", "set", "push"))
_TAKERS = frozenset(("get", "get_nowait", "pop", "popleft", "popitem"))
"""Methods that put something into a list, queue or variable of a context, and those that take something out."""
_MOST_TAKEN = 12
_MODULES_SAFE = ("re.", "logging.", "os.path.", "argparse.", "typing.", "collections.")


def call(reader: Reader, node: ast.Call, scope: Scope) -> Value:
    """Return the result of a call, and report what the call does."""
    func = node.func
    owner = NOTHING
    if isinstance(func, ast.Attribute):
        owner = reader.value(func.value, scope)
        callee = member(reader, owner, func.attr)
    else:
        callee = reader.value(func, scope)
    args = reader.values(node.args, scope)
    if ast.Starred in map(type, node.args):
        args = spread(zip(args, (isinstance(one, ast.Starred) for one in node.args), strict=True), mixed=True)
    words: dict[str, Value] = {}
    for word in node.keywords:
        value = reader.value(word.value, scope)
        if word.arg is not None:
            words[word.arg] = value
        elif value.props is not None:
            words.update((str(key), taken(value, part)) for key, part in value.props.items())
            words.setdefault("**", value)
        else:
            words["**"] = value
    if owner is NOTHING and callee.marks:  # a method that was stored in a variable
        owner = Value(name=callee.name.rpartition(".")[0], marks=callee.marks, path=callee.path)
    if isinstance(callee.fn, Partial):
        args, words = [*callee.fn.args, *args], {**callee.fn.words, **words}
        callee = callee.fn.callee
    name = bare(callee.name) if callee.name else ""
    verb = func.attr if isinstance(func, ast.Attribute) else ""
    this = Call(name, callee, owner, args, words, node, verb=verb, scope=scope)
    reader.line = node.lineno
    if callee.hidden and callee.name and DANGEROUS.fullmatch(this.name):
        reader.hit("hidden-call", subject=this.name, message=f"The name {this.name} is assembled from pieces")
    if isinstance(callee.fn, Function):
        return invoke(reader, callee.fn, args, words, owner)
    if isinstance(callee.fn, Klass):
        called = method(reader, callee, "__call__", args) if getattr(func, "id", "") != callee.fn.name else None
        return _constructed(reader, callee.fn, args, words) if called is None else called
    return _outside(reader, this)


def _outside(reader: Reader, this: Call) -> Value:
    """Read a call of a function that is not defined in the file."""
    name = this.name
    if isinstance(this.owner.fn, Klass):
        return _of_object(this)
    this.args = [held(value) for value in this.args]
    this.words = {word: held(value) for word, value in this.words.items()}
    if this.verb in ("__getattribute__", "__getattr__"):
        return find_attribute(reader, this, this.owner, 0)
    result = follow_service(reader, this, _BASES)
    if result is not None:
        return result
    if name and (result := reader.given.get(name) or reader.judge(this)) is not None:
        return result
    if (result := _called_back(reader, this)) is not None:
        return result
    if this.owner is not NOTHING and not (this.owner.name and this.owner.const is UNKNOWN):
        result = _of_value(this)
        if result is not None:
            return result
    if name.startswith("os.environ.") and this.verb in ("get", "pop", "setdefault"):
        return variable(this.arg(0))
    return _passed_on(reader, this)


def _of_object(this: Call) -> Value:
    """Return the result of a method that the class of an object has from elsewhere, such as `_asdict` or `model_copy`."""
    klass = this.owner.fn
    for word, value in this.words.items():
        if word in klass.fields:
            klass.fields[word] = joined(klass.fields[word], value)
    return this.owner if this.words else Value(props=klass.held().props, marks=klass.held().marks | union(this.args))


def _of_value(this: Call) -> Value | None:
    """Return the result of a method of a constant; None if nothing is known of it."""
    owner = this.owner
    verb = this.verb
    if verb in _TEMPLATES and any(one.name == "os.environ" for one in this.every()):
        return expanded(owner)
    if isinstance(owner.items, list) and verb in _TAKERS:
        return taken(owner, reduce(joined, owner.items[-_MOST_TAKEN:], NOTHING))
    if owner.props is not None and verb in ("keys", "values", "items"):
        return entries(owner, verb)
    if verb == "get" and owner.props is not None:
        found = item(owner, this.arg(0))
        return found if this.arg(0).exact in owner.props or this.arg(1) is NOTHING else either(this.arg(1), found)
    if isinstance(owner.const, (str, bytes)):
        words = {key: plain(value) for key, value in this.words.items()}
        consts = [plain(value) for value in this.args]
        const = fold_method(verb, owner.const, consts, words)
        marks = owner.marks | union(this.every()) if verb in ("join", "format", "replace") else owner.marks
        hidden = owner.hidden or hidden_in(this.args)
        if verb == "join" and not hidden and this.args:
            hidden = _pieces(owner.const, consts[0])
            if marks and isinstance(this.node.args[0], (ast.GeneratorExp, ast.ListComp)):
                marks = marks.union(several(marks))
        if const is not UNKNOWN or marks:
            return literal(const, marks, hidden)
    return None


def _pieces(separator: Any, pieces: Any) -> Hidden:
    """Return `split` if a join assembles words from parts of words."""
    if separator or not isinstance(pieces, (list, tuple)) or len(pieces) < 2:
        return ""
    texts = [piece for piece in pieces[:_MOST_PIECES] if isinstance(piece, str) and piece]
    if any(left[-1:].isalnum() and right[:1].isalnum() for left, right in pairwise(texts)):
        return "split"
    return ""


def _passed_on(reader: Reader, this: Call) -> Value:
    """Return the result of an unknown call: the marks of its owner, and of its arguments if it copies them."""
    name, verb = this.name, this.verb
    owner_marks = this.owner.marks
    if verb in _CHANGERS and isinstance(this.node.func, ast.Attribute):
        mark_root(reader, this.node.func.value, union(this.every()), this.scope)
        if (stored := _store(this)) is not None:
            return stored
    if name in _NUMBERS or (
        not name and verb in ("startswith", "endswith", "exists", "is_file", "is_dir", "index", "count")
    ):
        return NOTHING
    if name in _COPIERS or name.startswith(_PASSING):
        first = this.arg(0)
        found = first.but(fn=None) if name in _KEEPERS else NOTHING
        if name in _DUMPERS and plain(first) is not UNKNOWN:
            found = Value(spell(first) or UNKNOWN)
        elif name in PARSERS and this.args:
            found = literal(parsed(name, first.const))
        kept = first.name if first.name.startswith("pathlib.") and name != "str" else ""
        return found.but(name=kept, marks=union(this.every()), hidden=first.hidden, path=first.path)
    given = union(this.args)
    if name and not this.owner.marks and name.startswith(_MODULES_SAFE):
        part = frozenset(mark._replace(whole=False) for mark in given if mark.kind == "secret" and mark.grave)
        return Value(name=f"{name}()", marks=part if name.startswith("re.") else NO_MARKS)
    if verb in _SAVERS and this.args and (saved := owner_marks | union(this.words.values())):
        _saved(reader, this, saved)
    marks = owner_marks
    if verb in _FILLERS and marks:
        marks |= union(this.every())
    if verb in _FIELDWISE and marks:
        marks = frozenset(mark._replace(whole=False) if mark.whole and mark.kind != "env" else mark for mark in marks)
    if given:
        marks |= frozenset(mark for mark in given if mark.kind == "captured" or (mark.kind == "secret" and mark.grave))
    path = next((this.words[word].said for word in this.words if word in _BASES), "") or this.callee.path
    return Value(
        UNKNOWN, f"{this.callee.name}()" if this.callee.name else "", marks, path=path, props=always_sent(this)
    )


def _store(this: Call) -> Value | None:
    """Store the argument of a method such as `append` in the list or mapping that it is called on."""
    items, props, last = this.owner.items, this.owner.props, this.args[-1] if this.args else NOTHING
    if this.verb == "setdefault" and props is not None and this.args:
        return props.setdefault(this.args[0].exact or HOLE, this.arg(1)).marked(*this.owner.marks)
    if not isinstance(items, list) or not this.args:
        return None
    if this.verb in _PUTTERS and len(items) < 5000:
        items.append(last)
    elif this.verb == "insert" and isinstance(this.args[0].const, int):
        items.insert(this.args[0].const, last)
    elif this.verb == "extend":
        items.extend((parts_of(last, "") or ())[:5000])
    return None


def _saved(reader: Reader, this: Call, marks: frozenset[Mark]) -> None:
    """Read a method by which a value saves itself to a file or to a buffer variable."""
    first, node = this.args[0], this.node.args[0]
    if isinstance(node, ast.Name) and not first.said and not first.path:
        this.scope.home(node.id).names[node.id] = first.marked(*marks)
    else:
        reader.write(first, first.path or first.said or name_of(node), Value(marks=marks))


def _called_back(reader: Reader, this: Call) -> Value | None:
    """Return the result of a function of the file that is passed to a thread, an executor or a task; None if none is."""
    if this.verb == "result" and not this.args and this.owner is not NOTHING:
        return this.owner
    if this.verb == "add_done_callback" and this.args:
        return reader.call_back(this.args[0], [this.owner])
    target = this.words.get("target")
    args = this.words.get("args")
    if target is not None and isinstance(target.fn, Function):
        return invoke(reader, target.fn, list((args.items if args else None) or ()), {}, NOTHING)
    if this.verb in ("submit", "run_in_executor", "to_thread", "map", "apply_async", "create_task") and this.args:
        for index, value in enumerate(this.args[:2]):
            if isinstance(value.fn, Function):
                return invoke(reader, value.fn, this.args[index + 1 :], {}, NOTHING)
    return None


def _constructed(reader: Reader, klass: Klass, args: list[Value], words: dict[str, Value]) -> Value:
    this = Value(fn=klass)
    start = klass.methods.get("__init__")
    if start is not None:
        invoke(reader, start, args, words, this)
    elif args or words:
        given = {**dict(zip(klass.fields, args, strict=False)), **words}
        klass.fields.update((name, value) for name, value in given.items() if name in klass.fields)
        for way in _AFTER:
            if (after := klass.methods.get(way)) is not None:
                invoke(reader, after, [], given, this)
    return this


_AFTER = ("__post_init__", "__attrs_post_init__", "model_post_init")
"""Methods that run after the fields of an object are set."""


def invoke(reader: Reader, function: Function, args: list[Value], words: dict[str, Value], owner: Value) -> Value:
    """Read a function of the file with the values it is called with, and return its result."""
    key = (*map(_key, args), *((name, _key(value)) for name, value in words.items()))
    if key in function.runs:
        return function.runs[key]
    told = {token for value in (*args, *words.values(), owner) for token in _tokens(value)} - function.told
    most = _RUNS if not told else _MOST_RUNS if all(isinstance(one, str) for one in told) else _MOST_GRAVE
    function.told |= told
    if len(function.runs) >= most or reader.depth > 60:
        result = NOTHING
        for run in function.runs.values():
            result = joined(result, run)
        return either(NOTHING, result)
    function.runs[key] = NOTHING
    function.given.append((args, words))
    scope = Scope(function.scope, function.klass)
    _parameters(function, args, words, owner, scope)
    node = function.node
    home = function.home
    branch, home.branch = home.branch, 0
    depth, home.depth = home.depth, reader.depth
    home.inside += 1
    home.ran = True
    line = reader.line
    if isinstance(node, ast.Lambda):
        result = home.value(node.body, scope)
    else:
        block(home, node.body, scope)
        result = scope.returned
    home.inside -= 1
    reader.line = line
    home.branch, home.depth = branch, depth
    function.runs[key] = result
    return result


def _tokens(value: Value) -> Iterator[object]:
    """Yield what may make a run differ from others: secrets, and the hosts and paths in texts."""
    yield from private(everything(value))
    for text in value.texts:
        if (url := URL.search(text)) is not None:
            yield host_of(url[0]).name, distrust(text)
        elif TELLING.search(text):
            yield text[:60]


def _key(value: Value) -> Any:
    const = value.const
    whole = value.props if value.items is None else value.items
    same = const if isinstance(const, (str, int, bytes)) else id(whole) if whole is not None else None
    return (same, value.name, value.marks, value.hidden, id(value.fn) if value.fn else 0)


def _parameters(function: Function, args: list[Value], words: dict[str, Value], owner: Value, scope: Scope) -> None:
    spec = function.node.args
    names = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
    given = list(args)
    static = not isinstance(function.node, ast.Lambda) and any(
        isinstance(item, ast.Name) and item.id == "staticmethod" for item in function.node.decorator_list
    )
    if function.klass is not None and names and not static:
        scope.names[names.pop(0)] = owner if isinstance(owner.fn, Klass) else Value(fn=function.klass)
    for name in (*names, *(argument.arg for argument in spec.kwonlyargs)):
        scope.names[name] = function.defaults.get(name, NOTHING)
    for name, value in zip(names, given, strict=False):
        scope.names[name] = value
    for name, value in words.items():
        if name in scope.names:
            scope.names[name] = value
    if spec.vararg is not None:
        rest = given[len(names) :]
        scope.names[spec.vararg.arg] = gathered(rest)
    if spec.kwarg is not None:
        scope.names[spec.kwarg.arg] = Value(props=words, marks=union(words.values()))
