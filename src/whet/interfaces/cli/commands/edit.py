"""`whet edit NAME`: the whole text of a skill, in the editor of your choice or from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import change, change_options, tell, text_given, versioned
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Without --body and --body-file, the editor that VISUAL or EDITOR names is opened on a copy of SKILL.md. A "
        "text that cannot be taken is never lost: you may go on editing it, or it is kept and its path is told. A text "
        "with frontmatter replaces the whole file, one without only the instructions."
    )
    parser.positional("name", "NAME", "The skill.")
    parser.option("--body", metavar="TEXT", text="The new text.")
    parser.option("--body-file", metavar="F", text="Read the new text from this file; - is standard input.")
    change_options(parser, version=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Replace the text."""
    body = text_given(options.body, options.body_file, "edit", "body")
    if body is not None:
        return Outcome(change(context, options, "edit", body=body))
    from whet.interfaces.cli.commands._editor import edited

    return Outcome(edited(context, options))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The path of the skill."""
    tell(answer, screen, f"Changed {versioned(answer)}.")
