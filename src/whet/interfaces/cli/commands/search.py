"""`whet search QUERY`: skills that others offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.progress import Bar
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Asks all taps at once (`whet tap list`), or one source. What a source has is remembered for an hour. To look "
        "for skills you have, use `whet list --query`."
    )
    parser.positional("query", "QUERY", "What to look for.", many=True)
    parser.option("--source", metavar="SOURCE", default="", text="Look in this tap or source only.")
    parser.option("--limit", metavar="N", type=amount, default=20, text="Show at most so many (default 20).")
    parser.option("--offline", text="Look only at what is remembered.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask the sources."""
    library = context.library
    with Bar(options) as bar:
        library.progress = bar
        query = " ".join(options.query)
        return Outcome(library.search(query, options.limit, source=options.source, offline=options.offline))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A table, best first."""
    if answer["skills"]:
        rows = [(item["install"], item["trust"], item["description"]) for item in answer["skills"]]
        screen.table(("INSTALL", "TRUST", "DESCRIPTION"), rows)
    screen.said.append(f"{plural(len(answer['skills']), 'skill')} found in {plural(answer['asked'], 'source')}.")
    screen.said.extend(note["message"] for note in answer["notes"])
    if answer["skills"]:
        screen.hints.append("`whet inspect` shows one in full, `whet install` takes it in.")
    else:
        screen.hints.append("`whet tap list` shows where was looked; `whet tap add` adds a source.")
