"""`whet create NAME`: a new skill, or a better version of the one of that name."""

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
        "A skill that exists gets the new text and the next version, in its place; there is never a second one. "
        "A new one goes to ~/.agents/skills, where every client can find it, or to the first --root. The text may "
        "be a whole document with its own frontmatter."
    )
    parser.positional("name", "NAME", "Lowercase letters, digits and single hyphens; also the directory's name.")
    parser.option("--description", metavar="D", text="What the skill does and when to use it.")
    parser.option("--body", metavar="TEXT", text="The instructions.")
    parser.option("--body-file", metavar="F", text="Read the instructions from this file; - is standard input.")
    parser.option("--category", metavar="C", text="Put a new skill into this category.")
    change_options(parser, version=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Create it, or improve it."""
    body = text_given(options.body, options.body_file, "create", "body")
    fields = {"description": options.description, "body": body, "category": options.category}
    return Outcome({"similar": [], **change(context, options, "create", **fields)})


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The path of the skill."""
    improved = f"Improved {answer['name']} to version {answer['version']}."
    tell(answer, screen, f"Created {versioned(answer)}." if answer["created"] else improved)
