"""What starts Whet, known by what it says: entries of MCP servers, and command lines of hooks.

A program counts as Whet by its own name, so that a moved one is still Whet, and nothing of somebody else is, whatever
it is called or however it is called with.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from whet.interfaces.clients.known import NAME

WRITES = "--allow-writes"
READ_ONLY = "--read-only"
_PYTHONS = ("python", "pypy", "graalpy")
_BETWEEN = r"\s(?:[^;&|\n]{0,400}\s)?"


class Call(NamedTuple):
    """A hook's command line."""

    program: tuple[str, ...]
    event: str
    client: str


def parse_hook(command: Any) -> Call | None:
    """The call of Whet that this command line is, and is nothing else; None for any other.

    That is `whet hook EVENT --client CLIENT` exactly, with a path before it or as `python -m whet`, in the quotes of
    POSIX or of Windows. With anything around it, it is somebody's own.
    """
    for posix in (True, False) if isinstance(command, str) else ():
        match _words(command, posix=posix):
            case [*program, "hook", event, "--client", client] if _is_whet(program):
                return Call(tuple(program), event, client)
    return None


def has_hook(command: Any, event: str, client: str) -> bool:
    """Does this command line call the hook at all, also from inside something else?"""
    if not isinstance(command, str):
        return False
    if (call := parse_hook(command)) is not None:
        return call[1:] == (event, client)
    words = (rf"(?<![\w.-]){NAME}(?:\.exe)?[\"']?", rf"hook\s+{event}", rf"--client[\s=]+[\"']?{client}(?![\w-])")
    return re.search(_BETWEEN.join(words), command, re.IGNORECASE) is not None


def server_arguments(value: Any) -> list[str] | None:
    """What follows `whet mcp` in the command line of a server's entry; None for an entry that is not Whet's."""
    words = server_words(value)
    for at, word in enumerate(words[:-1]):
        if _base(word) in (NAME, f"{NAME}.exe") and words[at + 1] == "mcp":
            return words[at + 2 :]
    return None


def server_writes(value: Any) -> Literal["propose", "allow", "read-only"]:
    """What Whet's server in this entry lets models do to skills."""
    given = server_arguments(value) or []
    return "allow" if WRITES in given else "read-only" if READ_ONLY in given else "propose"


def server_words(value: Any) -> list[str]:
    """The command line of a server's entry; empty for one that is no command."""
    if not isinstance(value, dict):
        return []
    command, arguments = value.get("command"), value.get("args", [])
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return words if all(isinstance(word, str) for word in words) else []


def _words(command: str, *, posix: bool) -> list[str]:
    """The words of a command line, with what a shell gives a meaning as words of their own; none for a broken one."""
    from shlex import shlex

    lexer = shlex(command, posix=posix, punctuation_chars=True)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    return words if posix else [word.strip("\"'") for word in words]


def _is_whet(program: list[str]) -> bool:
    match program:
        case [word]:
            assigned, equals, _ = word.partition("=")
            return _base(word) in (NAME, f"{NAME}.exe") and not (equals and assigned.isidentifier())
        case [word, "-m", module]:
            return _base(word).startswith(_PYTHONS) and module == NAME
    return False


def _base(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2].lower()
