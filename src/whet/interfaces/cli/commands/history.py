"""`whet history`: who changed what, when and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._showing import grid, moment
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.text import clean_json

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Oldest first; a skill that is gone still has its history. On a pipe, each entry is a line of number, time, "
        "who, what, skill (with NAME: version) and reason, with tabs between them."
    )
    parser.positional("name", "NAME", "Only this skill.", optional=True)
    parser.option("--last", metavar="N", type=amount, text="Only the last entries.")
    parser.option("--export", text="Print the whole history of NAME as JSON, with every content it had.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask for the entries."""
    changes = context.library.changes
    if not options.export:
        return Outcome(changes.history(options.name, options.last))
    problem = "NAME is missing." if options.name is None else "--last is not for --export." if options.last else ""
    if problem:
        raise UsageError("usage", problem, hint="`whet history --help` explains it.")
    return Outcome(changes.export(options.name))


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table for a terminal, lines for a program; an export is JSON in any case."""
    if options.export:
        import json

        screen.line(clean_json(json.dumps(answer, indent=2 if screen.tty else None)))
        return
    named = answer["name"] is not None
    rows = [
        (
            str(entry["id"]),
            moment(screen, entry["time"]),
            entry["actor"],
            entry["action"],
            str(entry["version"] or "") if named else entry["skill"],
            entry["reason"],
        )
        for entry in answer["entries"]
    ]
    grid(screen, ("ID", "WHEN", "WHO", "WHAT", "VERSION" if named else "SKILL", "REASON"), rows)
    if not rows:
        about = f"about {answer['name']}" if named else "yet"
        screen.said.append(f"The history has no entries {about}.")
