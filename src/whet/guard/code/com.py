"""Objects of other programs (COM) that PowerShell and Windows Script Host use: requests, files, shortcuts, mail, programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.taint import network
from whet.guard.taint.containers import concatenated
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.code.powershell import PowerShell
    from whet.guard.taint.call import Call

_WORDS = expression(r'"([^"]*)"|\'([^\']*)\'|(\S+)')


def _answer(reader: PowerShell, call: Call) -> Value:
    """Return what a request fetched."""
    return network.deliver(reader, Value(call.owner.path), [])


def _attach(reader: PowerShell, call: Call) -> Value:
    """Put a file into a mail."""
    holder = call.node.parts[0].parts[0].parts[0]
    content = Value(marks=reader.read(call.arg(0), call.key((0,))) | call.arg(0).marks)
    reader.fill(holder, reader.value(holder, call.scope), call.scope, content, "Attachment")
    return NOTHING


def _send_item(reader: PowerShell, call: Call) -> Value:
    """Judge a mail that is sent."""
    to = re.search(r"@([\w.-]{3,200})", (call.owner.props or {}).get("To", NOTHING).said)
    return network.deliver(reader, Value(f"smtp://{to[1]}") if to else NOTHING, [call.owner])


def _shortcut(reader: PowerShell, call: Call) -> Value:
    """Judge a shortcut that is saved."""
    props = call.owner.props or {}
    content = concatenated([props[name] for name in ("TargetPath", "Arguments") if name in props], " ", pieced=False)
    reader.write(Value(call.owner.path), call.owner.path, content)
    return call.owner


def words_of(line: Value) -> list[Value]:
    """Return the words of a command line of Windows; the command of a PowerShell is one of them."""
    found = ["".join(one) for one in _WORDS.findall(line.said)]
    at = next((number for number, one in enumerate(found, 1) if one.lower() in ("-c", "-command")), len(found))
    return [line.but(const=one) for one in (*found[:at], " ".join(found[at:])) if one] or [line]


def _run_line(reader: PowerShell, call: Call) -> Value:
    """Judge a command line that is run."""
    return reader.outside(reader.made(call.node, words_of(call.arg(0)), call.scope, "(program)"), ("(program)",))


def _write_key(reader: PowerShell, call: Call) -> Value:
    """Judge a value of the registry that is written."""
    reader.judge_text(f"reg add {call.arg(0).said} /d {call.arg(1).said}")
    return NOTHING


COM: dict[str, Callable[[PowerShell, Call], Value | None]] = {
    "answer": _answer, "attach": _attach, "send item": _send_item, "shortcut": _shortcut, "run line": _run_line, "write key": _write_key,
}  # fmt: skip
"""These functions by their names in the table."""
