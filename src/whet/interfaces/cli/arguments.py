"""Arguments that several commands share, and reading their values: numbers, files, standard input."""

from __future__ import annotations

import os
import sys

from whet.errors import InvalidError, NotFoundError, UsageError
from whet.library.settings import MOST_DAYS
from whet.store.failures import os_failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.interfaces.cli.parser import Namespace, Parser

STDIN = "-"
_LONGEST_MESSAGE = 1_000_000
"""Bytes of standard input that are read."""


def misuse(command: str, message: str) -> UsageError:
    """Return the error for options and arguments that do not go together."""
    return UsageError("usage", message, hint=f"`whet {command} --help` explains it.")


def reason_option(parser: Parser) -> None:
    parser.option("--reason", metavar="R", default="", text="The reason, for the history.")


def require(options: Namespace, command: str, *names: str) -> None:
    """Raise UsageError for the first missing option."""
    for name in names:
        if getattr(options, name) is None:
            raise misuse(command, f"--{name} is missing.")


def read_text(text: str | None, file: str | None, command: str, name: str) -> str | None:
    """Return the text of `--NAME`, or of the file of `--NAME-file`; None if neither is given."""
    data = read_data(text, file, command, name)
    if not isinstance(data, bytes):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        where = _place(file or "")
        hint = "Save it as UTF-8 and try again."
        raise InvalidError("not-a-text-file", f"{where} is not UTF-8 at byte {error.start}.", hint=hint) from error


def read_data(text: str | None, file: str | None, command: str, name: str) -> str | bytes | None:
    """Return the same for any content; data from a file or from standard input is not decoded."""
    if text is not None and file is not None:
        raise misuse(command, f"Use `--{name}` or `--{name}-file`, not both.")
    return text if file is None else _read_file(file)


def _read_file(file: str) -> bytes:
    """Return the content of a file, or of standard input, up to the size limit of a file in a skill."""
    from whet.authoring.drafts import LIMITS

    path = os.path.expanduser(file)
    if file != STDIN and not os.path.lexists(path):
        hint = f"Check the path; {STDIN} is standard input."
        raise NotFoundError("path-not-found", f"{path} does not exist.", hint=hint, path=path)
    with os_failures(_place(path), doing="read", other="read-failed"):
        if file != STDIN:
            with open(path, "rb") as stream:
                data = stream.read(LIMITS.file + 1)
        else:
            data = sys.stdin.buffer.read(LIMITS.file + 1) if sys.stdin else b""
    if len(data) > LIMITS.file:
        message = f"{_place(path)} has more than {LIMITS.file:,} bytes, the limit for a file."
        raise InvalidError("file-too-large", message, hint="Split it into several files.", limit=LIMITS.file)
    return data


def _place(file: str) -> str:
    return "standard input" if file == STDIN else file


def skill_argument(parser: Parser, text: str = "The skill.") -> None:
    parser.positional("name", "NAME", text)


def chosen_skill_argument(parser: Parser, text: str = "The skill") -> None:
    """Add the name of a skill; `picker.choose_skills` asks for it if it is missing."""
    parser.positional("name", "NAME", f"{text}; without it, you choose from a list.", optional=True)


def names_argument(parser: Parser, default: str = "every installed skill") -> None:
    text = f"The skills (default: {default})."
    parser.positional("names", "NAME", text, many=True, optional=True)


def read_number(text: str, what: str, command: str) -> int:
    """Parse an argument that is a number above zero, such as that of a proposal."""
    if text.isascii() and text.isdecimal() and int(text[:18]) > 0 and len(text) <= 18:
        return int(text)
    raise misuse(command, f"{text!r} is not the number of {what}.")


def message_argument(parser: Parser) -> None:
    parser.positional("message", "MESSAGE", "What the user said; - reads it from standard input.", many=True)


def read_message(words: Sequence[str]) -> str:
    """Return the message: the words, or standard input for a single `-`."""
    if list(words) != ["-"]:
        return " ".join(words)
    data = sys.stdin.buffer.read(_LONGEST_MESSAGE) if sys.stdin else b""
    return data.decode("utf-8", "replace")


def here_option(parser: Parser) -> None:
    parser.option("--here", text="Use the project's skills and lock (.agents/) instead of your own.")


def age_option(parser: Parser) -> None:
    text = "Skip what a community source published less than DAYS days ago (default: the setting `min_age`)."
    parser.option("--min-age", metavar="DAYS", read=_days, text=text)


def _days(text: str) -> int:
    if text.isascii() and text.isdecimal() and int(text[:6]) <= MOST_DAYS:
        return int(text[:6])
    raise ValueError(f"{text!r} is not a number of days from 0 to {MOST_DAYS}")


def skill_option(parser: Parser) -> None:
    """Add `--skill` to a command that can work on some of the skills."""
    text = "Only this skill, or several with commas; can be repeated."
    parser.option("--skill", metavar="S", many=True, default=[], text=text)


def chosen_skills(options: Namespace) -> list[str]:
    """Return the skills that `--skill` names."""
    texts: list[str] = options.skill
    return [name for text in texts for name in [*filter(None, map(str.strip, text.split(",")))] or [text]]


def nonempty(text: str) -> str:
    """Parse the reason of an option, which must not be empty."""
    if text.strip():
        return text.strip()
    raise ValueError("a reason is missing")
