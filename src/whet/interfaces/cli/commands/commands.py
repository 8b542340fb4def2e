"""`whet commands`: the slash commands, and which skills go without one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, shorten, width

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "On a pipe, each command is a line of name, arguments and description, with tabs between them."
    parser.positional("prefix", "PREFIX", "Only commands that begin like this or have it in them.", optional=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Ask for all that fit."""
    return Outcome(context.library.commands(options.prefix or "", sys.maxsize, caller=context.caller))


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table for a terminal, lines for a program; collisions are talk."""
    found = answer["commands"]
    if screen.tty and found:
        rows = [(_call(item, screen.columns // 3), item["description"]) for item in found]
        screen.table(("COMMAND", "DESCRIPTION"), rows)
    else:
        for item in found:
            screen.line("\t".join(map(clean, (f"/{item['name']}", item["hint"], item["description"]))))
    if not found:
        screen.said.append(
            f"No slash command has {options.prefix!r} in it." if options.prefix else "No slash commands."
        )
    for entry in answer["report"]:
        message = f"{entry['message']} {entry['hint']} [{entry['code']}]"
        screen.said.append(f"{screen.place(entry['path'])}: {entry['severity']}: {message}")


def _call(item: dict[str, Any], most: int) -> str:
    """The command as it is typed; its arguments are shortened, its name is not."""
    name = f"/{clean(item['name'])}"
    return f"{name} {shorten(clean(item['hint']), most - width(name) - 1)}".rstrip()
