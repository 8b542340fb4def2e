"""`whet rollback NAME`: a skill as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import reason_option
from whet.interfaces.cli.commands._going_back import tell_back
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "Going back is a change like any other: nothing is lost by it, and it can be undone."
    parser.positional("name", "NAME", "The skill; also one that is gone.")
    parser.option(
        "--to", metavar="V", type=amount, text="To this version (default: what was there before the present)."
    )
    reason_option(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Go back."""
    return Outcome(context.library.rollback(options.name, options.to, options.reason))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The path of the skill."""
    tell_back(answer, screen)
