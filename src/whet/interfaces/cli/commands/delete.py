"""`whet delete NAME`: a skill taken away; the history keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import change, change_options, tell
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "The history keeps everything it held; `whet restore NAME` brings it back."
    parser.positional("name", "NAME", "The skill.")
    change_options(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Delete it."""
    return Outcome(change(context, options, "delete"))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """What was deleted, and the way back."""
    tell(answer, screen, f"Deleted {answer['name']}; `whet restore {answer['name']}` brings it back.", path=False)
