"""`whet undo ID`: one change taken back, also when others came after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import number_given, reason_option
from whet.interfaces.cli.commands._going_back import tell_back
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "What was changed since stays, unless it is about the same files. An undo is a change like any other and can "
        "itself be undone."
    )
    parser.positional("id", "ID", "The number of an entry, or the id of a run (`whet history --json`).")
    reason_option(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Take it back."""
    if options.id.isdecimal() or not options.id:
        number_given(options.id, "an entry", "undo")
    return Outcome(context.library.undo(options.id, options.reason))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The paths of the skills."""
    tell_back(answer, screen)
