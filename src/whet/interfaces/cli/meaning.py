"""Which command a command line means, and the parser of that command."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.verbs import ALIASES, VERBS

if TYPE_CHECKING:
    from whet.interfaces.cli.parser import Parser

_TAKES_VALUE = ("--root", "--project")


def parser_of(verb: str) -> tuple[Parser, Any]:
    """The parser and the module of a command. Raises UsageError with the closest name."""
    from whet.interfaces.cli.parser import Parser

    name = ALIASES.get(verb, verb)
    if name not in VERBS:
        from whet.skill.names import closest

        near = closest(verb, [*VERBS, *ALIASES], 3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`whet --help` lists the commands."
        raise UsageError("unknown-command", f"There is no command {verb!r}.", hint=hint, suggestions=list(near))
    module = import_module(VERBS[name].module)
    parser = Parser(name, VERBS[name].summary)
    module.configure(parser)
    return parser, module


def split_verb(arguments: list[str]) -> tuple[str, list[str]]:
    """The verb and every other word; the global options may stand before it."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "--":
        at += 2 if arguments[at] in _TAKES_VALUE else 1
    if at >= len(arguments) or arguments[at] == "--":
        return "", arguments
    return arguments[at], arguments[:at] + arguments[at + 1 :]
