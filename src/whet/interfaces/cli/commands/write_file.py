"""`whet write-file NAME PATH`: a file beside SKILL.md, added or replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._changing import change, change_options, data_given, tell, versioned
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "What comes from a file or from standard input is written byte for byte."
    parser.positional("name", "NAME", "The skill.")
    parser.positional("path", "PATH", "The file's path in the skill, such as references/guide.md.")
    parser.option("--content", metavar="TEXT", text="What the file shall hold.")
    parser.option("--content-file", metavar="F", text="Take the content of this file; - is standard input.")
    parser.option("--executable", text="Make it a program that can be run; otherwise it stays what it was.")
    change_options(parser, version=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Write it."""
    content = data_given(options.content, options.content_file, "write-file", "content")
    if content is None:
        hint = "`whet write-file --help` explains it."
        raise UsageError("usage", "--content or --content-file is missing.", hint=hint)
    fields = {"file_path": options.path, "content": content, "executable": options.executable or None}
    return Outcome(change(context, options, "write_file", **fields))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The path of the skill."""
    tell(answer, screen, f"Wrote {answer['file']} of {versioned(answer)}.")
