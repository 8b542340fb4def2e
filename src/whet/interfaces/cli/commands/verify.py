"""`whet verify [NAME...]`: is everything as it was installed?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._plans import here_option
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Parser

_STYLES: dict[str, Style] = {"ok": "green", "edited": "yellow", "missing": "red", "unreadable": "red"}


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "Compares every file with the lock and exits with 1 when something differs. Asks nobody."
    parser.positional("names", "NAME", "The skills (default: all that are installed).", many=True, optional=True)
    here_option(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Compare."""
    answer = context.library.verify(*options.names, here=options.here)
    return Outcome(answer, 0 if answer["valid"] else 1)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each skill, and the files that differ."""
    for item in answer["skills"]:
        screen.line(f"{clean(item['name'])}: {screen.paint(item['status'], _STYLES[item['status']])}")
        for file in item["files"]:
            screen.line(f"  {file['change']:<8}{clean(file['path'])}")
        if item["reason"]:
            screen.line(f"  {clean(item['reason'])}")
    here = " --here" if options.here else ""
    wrong = [item for item in answer["skills"] if item["status"] != "ok"]
    count = plural(len(answer["skills"]), "skill")
    if not answer["skills"]:
        screen.said.append("Nothing is installed.")
    else:
        screen.said.append(f"{len(wrong)} of {count} not as installed." if wrong else f"{count} as installed.")
    if any(item["status"] == "missing" for item in wrong):
        screen.hints.append(f"`whet restore{here}` brings back what is missing.")
    if answer["unmanaged"]:
        others = plural(len(answer["unmanaged"]), "skill")
        verb, them = ("is", "it") if len(answer["unmanaged"]) == 1 else ("are", "them")
        screen.hints.append(f"{others} here {verb} not in the lock; `whet adopt{here}` takes charge of {them}.")
