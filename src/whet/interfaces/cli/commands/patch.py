"""`whet patch NAME --find A --replace B`: a piece of a text replaced, and nothing else touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import change, change_options, required, tell, versioned
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "The text to find must be there exactly once; otherwise nothing is changed, and the closest lines are told. "
        "A text that begins with a hyphen is given as --find=TEXT."
    )
    parser.positional("name", "NAME", "The skill.")
    parser.option("--find", metavar="A", text="The text to find.")
    parser.option("--replace", metavar="B", text="The text to put in its place; may be empty.")
    parser.option("--file", metavar="P", text="The file of the skill to change instead of SKILL.md.")
    parser.option("--all", text="Replace it everywhere in the file.")
    parser.option("--tolerant", text="Let white space, quotes and dashes differ if the text is not there exactly.")
    change_options(parser, version=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Replace it."""
    required(options, "patch", "find", "replace")
    where = {"file_path": options.file, "all": options.all, "tolerant": options.tolerant}
    return Outcome(change(context, options, "patch", find=options.find, replace=options.replace, **where))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The path of the skill."""
    tell(answer, screen, f"Changed {versioned(answer)}: {plural(answer['replacements'], 'replacement')}.")
