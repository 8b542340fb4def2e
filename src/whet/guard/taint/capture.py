"""The judge of captured and shown data: the clipboard, the screen, key presses, password stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.hosts import host_of
from whet.guard.taint.files import judge_kept
from whet.guard.taint.mark import ENVIRONMENT, Mark
from whet.guard.taint.network import Judgement
from whet.guard.taint.secret import belongs
from whet.guard.taint.value import Value, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.taint.call import Call
    from whet.guard.taint.judges import Judges

_LOGS_AWAY = ("HTTPHandler", "SMTPHandler", "SocketHandler", "DatagramHandler", "SysLogHandler")


def capture(reader: Judges, call: Call) -> Value:
    """Judge a call that returns private data of a person (`grave` if that cannot happen by accident) or of a store."""
    what, grave = call.row.what, call.row.grave
    mark = Mark("captured" if call.row.gives == "captured" else "secret", what, call.name, grave, whole=True)
    reader.fact("source", what, call.name, grave)
    if what == "the clipboard":
        reader.note("pastes")
    if mark.kind == "captured" and call.args and call.args[0].said:
        reader.write(call.args[0], call.key((0,)), Value(marks=frozenset((mark,))))
    return Value(marks=frozenset((mark,)))


def take_environment(_reader: Judges, _call: Call) -> Value:
    """Return all environment variables."""
    return Value(name="process.env", marks=frozenset((ENVIRONMENT,)))


def listen(reader: Judges, call: Call) -> Value:
    """Judge a function that is called for every key press: its argument is what a person types."""
    pressed = Value(marks=frozenset((Mark("captured", "pressed keys", call.name, True, whole=True),)))
    reader.fact("source", "pressed keys", call.name, grave=True)
    reader.hit("listens-to-keys", "info")
    for value in call.every():
        reader.call_back(value, [pressed])
    return Value(name=call.name, marks=pressed.marks)


def show(reader: Judges, call: Call) -> None:
    """Judge output: several secrets, or a remote image whose URL carries a secret to its server."""
    if "file" in call.words:
        handle = call.words["file"]
        reader.write(handle, handle.path, call.arg(0), appends=handle.name == "open.append")
    reader.report(judge_kept(union(call.args), ""))
    for value in call.args:
        if value.hidden == "decoded" and value.exact:
            reader.unveil(value.exact)
        for mark in sorted(value.marks):
            if mark.kind == "fetched" and mark.grave:
                reader.fact("fetch", "text that is shown", mark.subject, grave=True)
            elif mark.grave and mark.kind in ("env", "secret") and "](http" in value.said:
                message = f"The code puts {mark.what} into the URL of an image"
                reader.report([Judgement("secret-sent", None, "", message)])


def log(reader: Judges, call: Call) -> None:
    """Record a log handler that sends to another machine, and secrets that are logged."""
    if call.verb in _LOGS_AWAY:
        if not host_of(call.arg(0, "host").said or "unknown.host").near:
            reader.note("logs away")
    elif any(
        (mark.kind in ("env", "key", "secret") and mark.grave)
        or (mark.kind == "key" and belongs(mark.subject) == "vendor")
        for mark in union(call.args)
    ):
        reader.note("logs secrets")


JUDGES: dict[str, Callable[[Judges, Call], Value | None]] = {
    "capture": capture, "take environment": take_environment, "listen": listen, "show": show, "log": log,
}  # fmt: skip
"""The judges of private data by their names in the tables."""
