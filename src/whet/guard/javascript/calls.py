"""Read JavaScript calls: their results, and the values they pass to functions of the file.

A table says what the functions of Node, Deno, Bun and the browser do, for the judges; other calls pass on marks.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import serves_modules
from whet.guard.javascript.callbacks import LISTENING, call_on
from whet.guard.javascript.values import (
    APPLY,
    GET,
    SET,
    either,
    list_call,
    maybe,
    member,
    module,
    regex_of,
    text_call,
)
from whet.guard.tables import api
from whet.guard.taint.call import Call
from whet.guard.taint.containers import concatenated, entries, literal, one_of, parts_of, work_out
from whet.guard.taint.execute import evaluate, judge_started
from whet.guard.taint.files import plain_path
from whet.guard.taint.fold import decoded
from whet.guard.taint.formats import parsed
from whet.guard.taint.harm import conclude
from whet.guard.taint.judges import decode
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark, comes_from
from whet.guard.taint.network import deliver, follow_service, host_at
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, everything, spell, union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from whet.guard.javascript.reader import Reader

_AGAIN = re.compile(
    rb"\bsetInterval\s{0,9}\(|\bwhile\s{0,9}\(\s{0,9}(?:true|1|!0)\s{0,9}\)|\bfor\s{0,9}\(\s{0,9};\s{0,9};"
)
_KEYBOARD = expression(r"^(?:iohook|uiohook-napi|uiohook|node-global-key-listener|keylogger\.js|gkm|keysender)\b")
_FOREIGN = expression(r"https?:", re.IGNORECASE)
_ALL_KEYS = frozenset({Mark("captured", "pressed keys", whole=True)})


_SENSITIVE = expression(
    r"^(?:child_process|eval|Function|exec|execSync|spawn|spawnSync|execFile|vm|net|require|process|fs|dns|https?)$"
)
_PASSING = api("javascript", "passing")
_NAMED_PASSING = expression(r"compress|encode|encrypt|stringif|serializ|tohex|base64|pack|zip", re.IGNORECASE)
_PICKING = frozenset({"match", "exec", "matchAll", "find", "get", "getItem"})
"""Methods that look up one item of their owner."""
_FILLING = api("javascript", "filling")
_HANDING = api("javascript", "handing")
PUSHED = "(pushed)"
"""The field of what the streams of the file pass on with `this.push`."""
_PUTTING = frozenset({"fastPut", "putFile", "uploadFile", "uploadFrom"})
"""Methods that send the file at the given path."""
_OWN = ("fs", "process", "console", "path", "os", "crypto", "Object", "Buffer", "res", "response", "child", "worker")
_BASES = api("javascript", "bases")


def call_of(
    name: str, verb: str, owner: Value, callee: Value, args: Sequence[Value], node: Node, *, made: bool = False
) -> Call:
    """Return the `Call` for a call, `new`, tagged template or member assignment; object arguments become options."""
    words = {key: value for arg in args if arg.props for key, value in arg.props.items()}
    return Call(name.replace("()", ""), callee, owner, args, words, node, verb=verb.rpartition(".")[2], made=made)


def read_call(reader: Reader, call: Call) -> Value:
    """Return the result of a call, and record what the call does."""
    reader.node, reader.line = call.node, call.node.start_point[0] + 1
    if call.callee.hidden and _SENSITIVE.match(call.verb):
        reader.hit("hidden-call", "warn")
    if (found := call_on(reader, call)) is not None:
        return found
    if (own := reader.replaced.get(call.name)) is not None:
        reader.bind(own, call.args)
    result = reader.given.get(call.name) or _known(reader, call)
    if call.made and call.name in reader.constructors:
        reader.bind(reader.constructors[call.name], call.args)
    if (trap := (call.callee.props or {}).get(APPLY)) is not None:
        given = Value(items=tuple(call.args), marks=union(call.args))
        result = either(reader.bind(trap.fn, (NOTHING, NOTHING, given)), result)
    if call.callee.fn:
        given = either(reader.work_out(call.callee.fn, call.args), reader.bind(call.callee.fn, call.args))
        result = either(given, result)
    if call.args and call.verb in _FILLING and not call.made:
        _filled(reader, call)
    return _callbacks(reader, call, result)


def _filled(reader: Reader, call: Call) -> None:
    """Store the arguments of a method such as `push` or `set` in its owner."""
    owner = call.node.child_by_field_name("function")
    owner = owner.child_by_field_name("object") if owner is not None else None
    if owner is None:
        return
    if call.verb == "push" and call.owner.items is not None and len(call.owner.items) < 2000:
        items = (*call.owner.items, *call.args)
        reader.fill(owner, call.owner.but(items=items, marks=union((call.owner, *call.args))))
    elif call.verb == "set" and len(call.args) > 1 and call.args[1].fn and call.args[0].exact:
        props = {**(call.owner.props or {}), call.args[0].exact: call.args[1]}
        reader.fill(owner, call.owner.but(props=props))
    elif marks := union([Value(marks=everything(arg)) for arg in call.args]):
        if owner.type == "this":
            reader.put(PUSHED, marks)
        else:
            reader.taint(owner, marks)


def _callbacks(reader: Reader, call: Call, result: Value) -> Value:
    """Call the functions of the file that are passed as arguments, and return the result of the call."""
    functions = [arg.fn for arg in call.args if arg.fn]
    if not functions or call.callee.fn:
        return result
    if (worked := _worked_out(reader, call)) is not None:
        return worked
    carry = Value(marks=union((result, call.owner)))
    given = [carry] * 3
    if call.verb in LISTENING and hooks_keys(call.owner.name):
        given[0] = Value(marks=_ALL_KEYS)
    if call.verb in LISTENING and call.args[0].exact == _MESSAGES and _MESSAGES in reader.passed:
        message = reader.passed[_MESSAGES]
        given[0] = message.but(props={"data": message, **(message.props or {})})
    if result.name == "(server)":
        given[0] = result.but(name="(socket)")
    if call.owner.items and call.verb in ("map", "forEach", "flatMap", "filter", "some", "every"):
        given[0] = one_of(call.owner.items)
    outs = [reader.bind(function, given) for function in functions]
    if call.verb == "catch":
        return either(call.owner, outs[0])
    return outs[0] if call.verb in ("then", "map", "flatMap", "reduce") else result


def _known(reader: Reader, call: Call) -> Value:
    """Return the result of a call of a function that is not of the file."""
    if call.verb in ("call", "apply") and call.owner.name and len(call.args) > 1:
        function, args = (call.arg(0), call.args[1:]) if call.owner.name == "Reflect" else (call.owner, call.args)
        given = args[1].items if call.verb == "apply" and len(args) > 1 else args[1:]
        return _known(reader, call_of(function.name, function.name, NOTHING, function, given or (), call.node))
    if call.verb == "get" and (found := (call.owner.props or {}).get(call.arg(0).exact or "")) is not None:
        return found
    if call.name == "Reflect.get" and call.arg(1).exact:
        return member(call.arg(0), call.arg(1).exact or "")
    found = follow_service(reader, call, _BASES)
    found = reader.judge(call) if found is None else found
    if found is None and call.owner.name.startswith("(shell)"):
        found = _on_shell(reader, call)
    return _passed(reader, call) if found is None else found


def _on_shell(reader: Reader, call: Call) -> Value:
    """Judge a method of a started shell or of its input."""
    owner, first = call.owner.name, call.arg(0)
    fed = (call.verb in ("write", "end") or "stdin" in owner) and first.has("socket", "fetched")
    if fed or (call.verb == "pipe" and first.has("socket")):
        reader.hit("shell-handed-over")
    return Value(name=owner) if call.verb == "on" else NOTHING


def _worked_out(reader: Reader, call: Call) -> Value | None:
    """Evaluate a function passed to `map`, `reduce`, `replace` and the like over constants; None if that fails."""
    receiver, method, function = call.owner, call.verb, call.args[0].fn
    if method in ("replace", "replaceAll") and len(call.args) > 1:
        pattern, function = regex_of(call.args[0]), call.args[1].fn
        if pattern is None or not function or receiver.exact is None or len(receiver.exact) > 4000:
            return None
        put = pattern.sub(lambda found: reader.apply(function, [Value(found[0])]).text or HOLE, receiver.exact)
        return Value(put, marks=receiver.marks | {Mark("decoded", "replacement")}, hidden="decoded")
    if method not in ("map", "reduce", "sort", "filter", "flatMap") or not function:
        return None
    parts = parts_of(receiver)
    if not parts or not all(part.const is not UNKNOWN or part.items or part.props for part in parts):
        return None
    found = work_out(method, parts, partial(reader.apply, function), call.args[1:2] if method == "reduce" else ())
    unknown = found is None or all(
        one.const is UNKNOWN and not everything(one) for one in (found, *(found.items or ()))
    )
    return None if found is None or (unknown and method not in ("filter", "sort")) else found.marked(*receiver.marks)


@lru_cache(maxsize=8192)
def _passes(method: str) -> bool:
    return method in _PASSING or _NAMED_PASSING.search(method) is not None


def _passed(reader: Reader, call: Call) -> Value:
    receiver, method = call.owner, call.verb
    if receiver is NOTHING and all(arg is NOTHING for arg in call.args) and not call.made:
        return NOTHING
    known = text_call(receiver, method, call.args) or list_call(receiver, method, call.args)
    if known is not None:
        return known
    if method == "pipe" and call.args:
        _piped(reader, receiver, call.args[0])
    if method == "keys" and receiver.name == "Object":
        whole = call.args and call.args[0].name == "process.env"
        return Value(marks=frozenset({Mark("names", "every variable")})) if whole else NOTHING
    if method in _PUTTING and (secret := reader.read(call.arg(0), call.arg(0).said)):
        reader.handed([Value(marks=secret)])
    if method in _HANDING and not receiver.name.startswith(_OWN) and any(map(everything, call.args)):
        reader.handed(call.args)
    if _passes(method):
        marks = union((receiver, *call.args))
        if method in _PICKING:
            marks = frozenset(mark._replace(whole=False) if mark.kind == "secret" else mark for mark in marks)
        text = call.args[0].text if method in ("String", "text", "from", "encode") and call.args else None
        return Value(maybe(text), marks=marks) if marks or text else NOTHING
    if not call.made:
        return NOTHING
    if call.name in reader.klasses:
        return Value(name="this")
    return Value(name=call.name if hooks_keys(call.name) else "", marks=union(call.args))


def _piped(reader: Reader, source: Value, target: Value) -> None:
    """Judge data that is piped into a file, a connection or a shell."""
    if target.name == "(file)":
        reader.write(target, target.path, source)
    elif target.name in ("(request)", "(socket)", "(websocket)"):
        deliver(reader, Value(target.path), [source])
    elif target.name.startswith("(shell)") and source.name == "(socket)":
        reader.hit("shell-handed-over")


def _pipeline(reader: Reader, call: Call) -> Value | None:
    """Read `pipeline(...)`: every stream is piped into the next."""
    flow = NOTHING
    for stage in call.args[:-1]:
        made = reader.bind(stage.fn, (flow,)) if stage.fn else stage
        if stage.name == "this":
            made = reader.field(PUSHED)
        flow = made.but(marks=everything(made) | flow.marks)
    if len(call.args) > 1:
        _piped(reader, flow, call.args[-1])
    return NOTHING


def _require(reader: Reader, call: Call) -> Value:
    wanted = call.arg(0)
    text = wanted.exact
    if call.name in ("import", "importScripts") and _FOREIGN.match(wanted.said):
        marks = deliver(reader, wanted, ()).marks
        for mark in marks if not serves_modules(wanted.said) and not host_at(wanted.said).near else ():
            reader.report([judge_started(mark)])
        return NOTHING
    if (wanted.text or "")[:5].lower() == "data:":
        evaluate(reader, data_url(wanted), "require")
        return NOTHING
    if text is None:
        if comes_from(wanted.marks, "decoded"):
            reader.hit("hidden-call", "warn")
        return NOTHING
    if (own := reader.load(text, call.node)) is not None:
        return own
    content = reader.data(wanted) if text.endswith(".json") else UNKNOWN
    if content is not UNKNOWN:
        return _parsed(Value(content))
    found = module(text)
    if wanted.hidden and _SENSITIVE.match(found.name):
        reader.hit("hidden-call", "warn")
    if text.startswith((".", "/", "~")):
        reader.run_files(reader.files.get(plain_path(text), NO_MARKS))
    return found


def _join(_reader: Reader, call: Call) -> Value:
    parts = [arg for arg in call.args if arg.text != ""]
    return concatenated(parts, "/", pieced=False)


def _worker(reader: Reader, call: Call) -> Value:
    """Read the start of a worker: the data it is given, and its code if that is not a file."""
    if "eval" in (call.arg(1).props or {}) or call.arg(0).has("fetched", "decoded"):
        evaluate(reader, call.arg(0), "Worker")
    reader.pass_on(_GIVEN, call.words.get("workerData", NOTHING))
    return Value(name=call.row.gives)


_GIVEN, _MESSAGES = "worker_threads.workerData", "message"


def _message(reader: Reader, call: Call) -> Value | None:
    """Record a message to another thread or process of the program."""
    reader.pass_on(_MESSAGES, call.arg(0))
    return NOTHING


def _prototype(_reader: Reader, call: Call) -> Value:
    return Value(name="(prototype)") if call.arg(0).fn else NOTHING


def _assigned(_reader: Reader, call: Call) -> Value:
    """Return the result of `Object.assign`."""
    props: dict[str, Value] = {}
    for arg in call.args:
        props.update(arg.props or {})
    return Value(marks=union(call.args), props=props)


def _defined(reader: Reader, call: Call) -> Value:
    """Read `Object.defineProperty`."""
    name, given = call.arg(1).exact, call.arg(2).props or {}
    value = reader.bind(given["get"].fn, ()) if "get" in given else given.get("value", NOTHING)
    target = call.node.child_by_field_name("arguments")
    if name and target is not None:
        reader.fill(target.named_children[0], call.arg(0).but(props={**(call.arg(0).props or {}), name: value}))
    return call.arg(0)


def _proxied(_reader: Reader, call: Call) -> Value:
    """Return a proxied object with the traps that run when it is written to or called."""
    target, traps = call.arg(0), call.arg(1).props or {}
    own = {key: traps[name] for key, name in ((GET, "get"), (SET, "set"), (APPLY, "apply")) if name in traps}
    return target.but(props={**(target.props or {}), **own} or target.props)


def _stringify(_reader: Reader, call: Call) -> Value:
    first = call.arg(0)
    if first.props and call.name != "JSON.stringify":
        return entries(first, "values" if call.name == "Object.values" else "items")
    text = spell(first) if call.name == "JSON.stringify" and (first.props or first.items) else None
    return Value(maybe(text), marks=everything(first))


def _parsed(first: Value) -> Value:
    """Return the parsed value of a JSON text."""
    const = parsed("json.loads", first.exact) if first.exact else UNKNOWN
    return literal(const, first.marks, first.hidden) if const is not UNKNOWN else Value(marks=first.marks)


def hooks_keys(name: str) -> bool:
    """Return whether the library receives every key press of the machine."""
    return _KEYBOARD.match(name) is not None


def finish(reader: Reader, source: bytes) -> None:
    """Judge what shows only in the file as a whole."""
    if _AGAIN.search(source):
        reader.did.setdefault("repeats", 1)
    text = source.decode("utf-8", "replace")
    reader.check_together()
    conclude(reader, text, lambda: enumerate(text.split("\n"), 1))


# --- decoding what a script decodes at run time: character codes, base64, hex, escapes, compression -------------------


def characters(_reader: Reader, call: Call) -> Value:
    """Return the text that `String.fromCharCode` or an array of bytes spells."""
    codes = [item for arg in call.args for item in (arg.items if arg.items is not None else (arg,))]
    out = []
    for code in codes:
        number = code.const
        if not isinstance(number, int) or not 0 <= number <= 0x10FFFF:
            return Value(marks=union(codes) | {Mark("decoded", "character codes")})
        out.append(chr(number) if not 0xD800 <= number < 0xE000 else "\ufffd")
    marks = union(codes) | {Mark("decoded", "character codes")} if len(out) > 3 else union(codes)
    return Value("".join(out), marks=marks, hidden="decoded")


def buffer(reader: Reader, call: Call) -> Value:
    """Return the result of `Buffer.from(text, encoding)`."""
    first = call.arg(0)
    if first.items and len(first.items) > 3:
        spelled = characters(reader, call_of("", "", NOTHING, NOTHING, (first,), call.node))
        return spelled.but(const=spelled.const.encode("latin-1", "replace")) if spelled.exact else spelled
    return decode(reader, call) if call.arg(1).exact in ("base64", "hex", "base64url") else first.but(name="")


_DATA = expression(r"data:[^,]{0,100}?(;base64)?,", re.IGNORECASE)


def data_url(value: Value) -> Value:
    """Return the code in a `data:` URL."""
    found = _DATA.match(value.text or "")
    if found is None or value.exact is None:
        return Value(marks=value.marks)
    inner = value.exact[found.end() :]
    const = decoded("codecs.decode", [inner, "base64"]) if found[1] else decoded("urllib.parse.unquote", [inner])
    return Value(const, marks=value.marks | {Mark("decoded", "data address")}, hidden="decoded")


def _spread(_reader: Reader, call: Call) -> Value:
    """Return the result of `Array.from`."""
    first = call.arg(0)
    return Value(marks=first.marks, items=parts_of(first))


SPECIAL: dict[str, Callable[[Reader, Call], Value | None]] = {
    "require": _require, "join": _join, "letters": characters,
    "buffer": buffer, "spread": _spread, "worker": _worker,
    "prototype": _prototype, "assign": _assigned, "define": _defined, "proxy": _proxied, "stringify": _stringify,
    "parse": lambda _, call: _parsed(call.arg(0)), "message": _message, "pipeline": _pipeline,
}  # fmt: skip
"""The functions of this module by their names in the table."""
