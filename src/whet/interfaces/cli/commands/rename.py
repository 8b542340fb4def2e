"""`whet rename NAME NEW`: a skill under another name, in a directory of that name."""

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
    parser.details = "The skill's directory is renamed with it. Other skills and bundles that name it are not changed."
    parser.positional("name", "NAME", "The skill.")
    parser.positional("new", "NEW", "Its new name.")
    change_options(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Rename it."""
    return Outcome(change(context, options, "rename", new_name=options.new))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The new path of the skill."""
    tell(answer, screen, f"{answer['renamed_from']} is now {versioned(answer)}.")
