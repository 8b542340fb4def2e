"""Reflection of .NET: classes, methods and variables that a program names by texts, in C# and PowerShell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.taint.call import find_row
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.guard.code.reader import Reader
    from whet.guard.taint.call import Call


def _get_class(_reader: Reader, call: Call) -> Value | None:
    """Return the class that a text names."""
    name = call.arg(0).said.partition(",")[0].rpartition(".")[2]
    return Value(name=name) if name else None


def _get_method(_reader: Reader, call: Call) -> Value | None:
    """Return the method of a class that a text names."""
    name = f"{call.owner.name}.{call.arg(0).said}"
    return Value(name=name, marks=call.owner.marks) if find_row("code", name) is not None else None


def _call_method(reader: Reader, call: Call) -> Value | None:
    """Call a method that was found by its name, or a block."""
    if call.owner.fn is not None:
        return reader.call_back(call.owner, call.args)
    if find_row("code", call.owner.name) is None:
        return None
    made = reader.made(call.node, _given(call.args[1:]), call.scope, call.owner.name, call.arg(0))
    return reader.outside(made, (call.owner.name,))


def _call_member(reader: Reader, call: Call) -> Value | None:
    """Call the method of an object that a text names."""
    owner, verb = call.arg(3), call.arg(0).said
    made = reader.made(call.node, _given(call.args[4:5]), call.scope, verb, owner)
    made.verb = verb
    return reader.outside(made, (f"{owner.name}.{verb}", f"*.{verb}")) if verb else None


def _create(reader: Reader, call: Call) -> Value | None:
    """Return an object of a class that was found by its name."""
    name = call.arg(0).name or call.arg(0).said.rpartition(".")[2]
    return reader.outside(reader.made(call.node, _given(call.args[1:]), call.scope, name), (name,)) if name else None


def _given(args: Sequence[Value]) -> list[Value]:
    return [part for one in args for part in (one.items or [one]) if part is not NOTHING]


REFLECTION: dict[str, Callable[[Reader, Call], Value | None]] = {
    "get class": _get_class, "get method": _get_method, "call method": _call_method, "call member": _call_member, "create": _create,
}  # fmt: skip
"""These functions by their names in the table."""
