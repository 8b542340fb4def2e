"""`whet needs`: what skills ask for and this machine lacks, each thing once. Values are neither asked for nor shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, shorten

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Environment variables, programs, settings and tools, with the skills that ask for them. Values are neither "
        "asked for nor shown. On a pipe, each is a line of kind, name, skills and help, with tabs between them."
    )
    parser.positional("names", "NAME", "Only these skills.", many=True, optional=True)
    parser.option("--check", text="Exit with 1 when something is missing.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask for the list."""
    answer = context.library.needs(*options.names, caller=context.caller)
    return Outcome(answer, 1 if options.check and not answer["ready"] else 0)


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A table for a terminal, lines for a program."""
    rows = [(need["kind"], need["name"], ", ".join(need["skills"]), need["help"]) for need in answer["needs"]]
    if not rows:
        screen.said.append("Nothing is missing.")
    elif screen.tty:
        most = screen.columns // 3
        shown = [(kind, name, shorten(clean(skills), most), text) for kind, name, skills, text in rows]
        screen.table(("KIND", "NAME", "FOR", "HELP"), shown)
    else:
        for row in rows:
            screen.line("\t".join(map(clean, row)))
