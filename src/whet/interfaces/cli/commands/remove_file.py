"""`whet remove-file NAME PATH`: a skill without one of its files."""

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
    parser.details = "The history keeps the file; `whet undo` and `whet rollback` bring it back."
    parser.positional("name", "NAME", "The skill.")
    parser.positional("path", "PATH", "The file's path in the skill, such as references/guide.md.")
    change_options(parser, version=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Remove it."""
    return Outcome(change(context, options, "remove_file", file_path=options.path))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The path of the skill."""
    tell(answer, screen, f"Removed {answer['file']} of {versioned(answer)}.")
