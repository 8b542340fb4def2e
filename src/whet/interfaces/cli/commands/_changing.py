"""What the commands that change skills share: their options, texts from files, the change itself, how it is told."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from whet.errors import InvalidError, NotFoundError, UsageError
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.learning.transcripts.events import Transcript

STDIN = "-"
_CHUNK = 1 << 20


def reason_option(parser: Parser) -> None:
    """Take the reason."""
    parser.option("--reason", metavar="R", default="", text="Why; the history keeps it.")


def change_options(parser: Parser, *, version: bool = False) -> None:
    """Take what every change can be told; `--version` is taken, by the version of Whet."""
    if version:
        text = "The skill's next version: major, minor, patch, keep, or the version itself."
        parser.option("--set-version", metavar="V", default="", text=text)
    reason_option(parser)
    parser.option("--stage", text="Only propose it; `whet approve` does it.")


def change(
    context: Context,
    options: Namespace,
    action: str,
    *,
    viewed: Callable[[str, str], bool] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Do one operation on the skill that the options name; fields that are None are not given."""
    operation = {"action": action, "name": options.name, **fields}
    if version := getattr(options, "set_version", ""):
        operation["version"] = version
    given = {name: value for name, value in operation.items() if value is not None}
    return context.library.manage([given], reason=options.reason, stage=options.stage, viewed=viewed)


def tell(answer: dict[str, Any], screen: Screen, done: str, *, path: bool = True) -> None:
    """The path of the skill as data, and as talk what was done, or what it waits for, and what is worth knowing."""
    if answer.get("staged"):
        number = answer["proposal"]
        screen.said.append(f"Proposal {number} waits: {answer['reason']} `whet approve {number}` does it.")
    else:
        if path:
            screen.line(screen.place(answer["path"]))
        if answer["entry"] is not None:
            screen.said.append(done)
    screen.said.extend(answer["warnings"])


def versioned(answer: dict[str, Any]) -> str:
    """The name of a skill and the version it has now."""
    return f"{answer['name']}, version {answer['version']}" if answer["version"] else str(answer["name"])


def required(options: Namespace, command: str, *names: str) -> None:
    """Raise UsageError for the first of these options that is not given."""
    for name in names:
        if getattr(options, name) is None:
            raise UsageError("usage", f"--{name} is missing.", hint=f"`whet {command} --help` explains it.")


def text_given(text: str | None, file: str | None, command: str, name: str) -> str | None:
    """The text of `--NAME`, or of the file of `--NAME-file`; None when neither is given."""
    data = data_given(text, file, command, name)
    if not isinstance(data, bytes):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        where = _shown(file or "")
        hint = "Save it as UTF-8 and try again."
        raise InvalidError("not-a-text-file", f"{where} is not UTF-8 at byte {error.start}.", hint=hint) from error


def data_given(text: str | None, file: str | None, command: str, name: str) -> str | bytes | None:
    """The same for any content: what comes from a file or from standard input stays as it is."""
    if text is not None and file is not None:
        hint = f"`whet {command} --help` explains it."
        raise UsageError("usage", f"Give --{name} or --{name}-file, not both.", hint=hint)
    return text if file is None else _read(file)


def piped_session(context: Context) -> Transcript:
    """The session that standard input is."""
    from whet.learning.distilling.piped import read_piped

    pieces = iter(lambda: sys.stdin.buffer.read(_CHUNK) if sys.stdin else b"", b"")
    return read_piped(context.library.place.state, pieces, "Standard input")


def _read(file: str) -> bytes:
    """The content of a file, or of standard input, as far as a skill may hold it."""
    from whet.authoring.drafts_limits import LIMITS

    path = os.path.expanduser(file)
    if file != STDIN and not os.path.lexists(path):
        hint = f"Check the path; {STDIN} is standard input."
        raise NotFoundError("path-not-found", f"There is nothing at {path}.", hint=hint, path=path)
    with os_failures(_shown(path), doing="read", other="read-failed"):
        if file != STDIN:
            with open(path, "rb") as stream:
                data = stream.read(LIMITS.file + 1)
        else:
            data = sys.stdin.buffer.read(LIMITS.file + 1) if sys.stdin else b""
    if len(data) > LIMITS.file:
        message = f"{_shown(path)} has more than {LIMITS.file:,} bytes, which is the most a file may have."
        raise InvalidError("file-too-large", message, hint="Split it into several files.", limit=LIMITS.file)
    return data


def _shown(file: str) -> str:
    return "standard input" if file == STDIN else file


def number_given(text: str, what: str, command: str) -> int:
    """An argument that is a number above zero, such as that of a proposal."""
    if text.isascii() and text.isdecimal() and int(text[:18]) > 0 and len(text) <= 18:
        return int(text)
    raise UsageError("usage", f"{text!r} is not the number of {what}.", hint=f"`whet {command} --help` explains it.")
