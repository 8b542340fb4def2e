"""`whet restore NAME`: a deleted skill, back where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import change, change_options, tell, versioned
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "Of several that had the name, the one that was deleted last comes back."
    parser.positional("name", "NAME", "The skill that was deleted.")
    change_options(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Bring it back."""
    return Outcome(change(context, options, "restore"))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The path of the skill."""
    tell(answer, screen, f"Restored {versioned(answer)}.")
