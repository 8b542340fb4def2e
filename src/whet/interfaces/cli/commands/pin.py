"""`whet pin NAME`: a skill that neither updates nor the curator touch."""

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
    """Pin it."""
    return Outcome(context.library.pin(options.name, options.reason))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A sentence."""
    screen.said.append(f"{answer['name']} {'is' if answer['changed'] else 'was already'} pinned.")
