"""`whet pack`: one skill, one file, the same bytes everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "The same content gives the same bytes on every machine. A path that exists wins over a name."
    parser.positional("path", "PATH|NAME", "The skill, by path or by name.")
    parser.option(
        "-o", "--output", metavar="FILE", text="Write this file, or into this directory (default NAME.skill)."
    )


def run(context: Context, options: Namespace) -> Outcome:
    """Write the archive."""
    from whet.library.workbench import pack

    return Outcome(pack(context.locate(options.path), options.output))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The path of the archive."""
    screen.line(screen.place(answer["path"]))
    screen.said.append(f"{plural(answer['files'], 'file')}, {answer['size']:,} bytes, {answer['digest']}.")
    if not answer["valid"]:
        screen.hints.append("The skill breaks the format; `whet validate` tells how. Strict hosts will refuse it.")
