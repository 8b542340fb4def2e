"""The judge of what is taken from a person, and of what is shown: the clipboard, the screen, keys, stores of passwords."""

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
    """A call that gives something private: of a person (`grave` when nobody takes it by accident), or of a store."""
    what, grave = call.row.what, call.row.grave
    mark = Mark("captured" if call.row.gives == "captured" else "secret", what, call.name, grave, whole=True)
    reader.fact("source", what, call.name, grave)
    if what == "the clipboard":
        reader.note("pastes")
    if mark.kind == "captured" and call.args and call.args[0].said:
        reader.write(call.args[0], call.key((0,)), Value(marks=frozenset((mark,))))
    return Value(marks=frozenset((mark,)))


def take_environment(_reader: Judges, _call: Call) -> Value:
    """All variables of the environment."""
    return Value(name="process.env", marks=frozenset((ENVIRONMENT,)))


def listen(reader: Judges, call: Call) -> Value:
    """A function that is told of every key: what it is given is what a person types."""
    pressed = Value(marks=frozenset((Mark("captured", "pressed keys", call.name, True, whole=True),)))
    reader.fact("source", "pressed keys", call.name, grave=True)
    reader.hit("listens-to-keys", "info")
    for value in call.every():
        reader.call_back(value, [pressed])
    return Value(name=call.name, marks=pressed.marks)


def show(reader: Judges, call: Call) -> None:
    """Output: several secrets, or a remote image, whose address carries something to whoever serves it."""
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
    """A log that goes to another machine, and what is written to it."""
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
"""What the tables call what functions do with what is a person's own."""
