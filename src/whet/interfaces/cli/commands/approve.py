"""`whet approve ID`: do what was proposed."""

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
    parser.details = "Exactly what `whet pending ID` shows is written; if the skill has changed since, nothing is."
    parser.positional("id", "ID", "The number of the proposal.")
    reason_option(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Do it."""
    number = number_given(options.id, "a proposal", "approve")
    return Outcome(context.library.approve(number, options.reason))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """What became of it."""
    entries = answer["entries"]
    named = f"{'entry' if len(entries) == 1 else 'entries'} {', '.join(map(str, entries))}"
    screen.said.append(f"Proposal {answer['proposal']} is done ({named}).")
