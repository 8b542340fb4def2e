"""`whet reject ID`: leave undone what was proposed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import number_given, reason_option
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.positional("id", "ID", "The number of the proposal.")
    reason_option(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Leave it."""
    number = number_given(options.id, "a proposal", "reject")
    return Outcome(context.library.changes.reject(number, options.reason))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """What became of it."""
    screen.said.append(f"Proposal {answer['proposal']} is rejected.")
