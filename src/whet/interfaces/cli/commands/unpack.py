"""`whet unpack`: take a skill out of an archive, wholly or not at all."""

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
    parser.details = "Reads zip, tar and tar.gz. Anything unsafe or damaged in the archive refuses all of it."
    parser.positional("file", "FILE", "The archive.")
    parser.option("-C", "--directory", metavar="DIR", text="Put the skill into this directory (default: here).")
    parser.option("--force", text="Replace a skill of that name; the old one stays until the new one is complete.")


def run(context: Context, options: Namespace) -> Outcome:
    """Unpack the archive."""
    from whet.library.workbench import unpack

    state = context.library.place.state
    return Outcome(unpack(options.file, options.directory, force=options.force, state=state))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The path of the skill."""
    screen.line(screen.place(answer["path"]))
    replaced = ", replacing the old one" if answer["replaced"] else ""
    screen.said.append(f"{plural(answer['files'], 'file')}, {answer['digest']}{replaced}.")
    screen.said.extend(f"Left out {name}." for name in answer["skipped"])
