"""Functions of a JavaScript program that other code calls: listeners, timers, promises, streams, `call`, `apply` and `bind`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.taint.mark import NO_MARKS
from whet.guard.taint.network import carry
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from whet.guard.javascript.reader import Reader
    from whet.guard.taint.call import Call

LISTENING = frozenset(("on", "once", "addEventListener", "addListener", "prependListener", "subscribe"))
_EMITTING = frozenset(("emit", "dispatchEvent", "publish", "trigger"))
_LATER = {"setTimeout": 2, "setInterval": 2, "setImmediate": 1, "nextTick": 1}
"""Timers, each with the number of its arguments before those of the function."""
_SETTLE, _CONTROLLER = "(settle)", "(controller)"
"""The functions that a promise is settled with, and the object that a stream is filled with; their paths say where it is made."""


def call_on(reader: Reader, call: Call) -> Value | None:
    """Return the result of a call that calls a function of the program with other arguments; None for any other call."""
    if call.owner.fn and call.verb in ("call", "apply", "bind"):
        given = call.arg(1).items or () if call.verb == "apply" else call.args[1:]
        result = reader.bind(call.owner.fn, given)
        return call.owner if call.verb == "bind" else result
    if call.name in (_SETTLE, f"{_CONTROLLER}.enqueue"):
        reader.pass_on(call.callee.path or call.owner.path, call.arg(0))
        return NOTHING
    if call.made and call.name in ("Promise", "ReadableStream"):
        return _made(reader, call)
    if call.verb in ("run", "enterWith") and call.args and (call.verb == "enterWith" or call.arg(1).fn):
        reader.pass_on("store", call.args[0])
    elif call.verb == "getStore":
        return reader.passed.get("store")
    elif call.verb == "use" and ".interceptors." in call.name and call.arg(0).fn:
        config = reader.bind(call.args[0].fn, (Value(name="(config)", path=call.owner.path),))
        carry(reader, call.owner.path, NO_MARKS, [config])
    elif call.verb in _LATER and len(call.args) > _LATER[call.verb]:
        reader.bind(call.args[0].fn, call.args[_LATER[call.verb] :])
    elif call.verb in LISTENING and call.arg(1).fn:
        reader.listen(call.args[0].said, call.args[1].fn)
    elif call.verb in _EMITTING and call.args:
        name = call.args[0].exact
        for function in (
            reader.listeners.get(name, ()) if name else [one for own in reader.listeners.values() for one in own]
        ):
            reader.bind(function, call.args[1:] if name else call.args)
    return None


def _made(reader: Reader, call: Call) -> Value | None:
    """Return what a promise or a stream of the program is given by the functions in it."""
    place = f"{call.name} {call.node.start_byte}"
    first = call.arg(0)
    if first.fn:
        reader.bind(first.fn, [Value(name=_SETTLE, path=place)] * 2)
    for part in (first.props or {}).values():
        if part.fn:
            reader.bind(part.fn, [Value(name=_CONTROLLER, path=place)] * 2)
    return reader.passed.get(place)
