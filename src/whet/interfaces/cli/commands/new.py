"""`whet new NAME`: a skill to start from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "The skill goes to ~/.agents/skills, where every client can find it, or to the first --root. "
        "Nothing is overwritten."
    )
    parser.positional("name", "NAME", "Lowercase letters, digits and single hyphens; also the directory's name.")
    parser.option("--description", metavar="D", text="What the skill does and when to use it.")
    parser.option("--dir", metavar="DIR", text="Put it here instead.")
    parser.option("--here", text="Put it into the project's .agents/skills.")


def run(context: Context, options: Namespace) -> Outcome:
    """Make the skill."""
    from whet.library.workbench import begin

    library = context.library
    root = os.path.abspath(options.dir) if options.dir else library.new_root(project=options.here)
    return Outcome(begin(root, options.name, options.description, state=library.place.state))


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The path of the file to edit."""
    screen.line(screen.place(answer["file"]))
    screen.said.append("Fill in what is marked TODO.")
    trust = " The project has to be trusted once (`whet trust`)." if options.here else ""
    screen.hints.append(f"Then run `whet validate --profile quality {screen.place(answer['path'])}`.{trust}")
