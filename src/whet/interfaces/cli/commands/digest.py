"""`whet digest`: what a skill's content amounts to, in one word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "A .skill file has the digest of the skill inside it. A path that exists wins over a name."
    parser.positional("path", "PATH|NAME", "The skill, by path or by name.", optional=True)
    parser.option("--library", text="The digest of all skills together.")


def run(context: Context, options: Namespace) -> Outcome:
    """Hash the skill, or all of them."""
    if options.library == (options.path is not None):
        raise UsageError("usage", "Name one skill, or give --library.", hint="`whet digest --help` explains it.")
    if options.library:
        return Outcome({"success": True, "digest": context.library.digest()})
    from whet.library.workbench import digest

    path = context.locate(options.path)
    return Outcome({"success": True, "digest": digest(path), "path": path})


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The digest."""
    screen.line(answer["digest"])
