"""`whet archive NAME`: a skill put away, as the curator does it; it can be restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import reason_option
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.positional("name", "NAME", "The skill.")
    reason_option(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Put it away."""
    return Outcome(context.library.archive(options.name, options.reason))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """What was put away, and the way back."""
    screen.said.append(f"Archived {answer['name']}; `whet restore {answer['name']}` brings it back.")
