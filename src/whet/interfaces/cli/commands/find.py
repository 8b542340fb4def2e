"""`whet find MESSAGE`: the skills that fit a message, the best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._message import configure_message, message_of, say_notes, share
from whet.interfaces.cli.commands._showing import grid
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.progress import Bar

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Looks at names, triggers, descriptions and bodies. FIT is how probable it is that the skill is the right one "
        "for the message, WHY what speaks for it; skills that the message names (/name, $name) come first. On a pipe, "
        "each skill is a line of name, fit from 0 to 1 and why, with tabs between them. `whet feedback` tells when an "
        "answer was right or wrong; `whet search` looks for skills that you do not have."
    )
    configure_message(parser)
    parser.option("-k", metavar="N", type=amount, default=5, text="At most this many (default 5).")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask the library."""
    library, message = context.library, message_of(options.message)
    with Bar(options) as bar:
        library.progress = bar
        return Outcome(library.find_relevant(message, options.k, caller=context.caller))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A table, the best first."""
    rows = [
        (item["name"], share(item["score"]) if screen.tty else f"{item['score']:.4f}", "; ".join(item["why"]))
        for item in answer["results"]
    ]
    grid(screen, ("SKILL", "FIT", "WHY"), rows)
    if not rows:
        screen.said.append("No skill fits.")
        screen.hints.append("`whet list` shows every skill, `whet search` looks for others.")
    say_notes(answer, screen)
