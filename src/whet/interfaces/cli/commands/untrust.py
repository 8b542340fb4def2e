"""`whet untrust`: take trust back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.positional("path", "DIR", "A repository as `whet trust --list` shows it (default: this one).", optional=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Take the trust back."""
    return Outcome(context.library.untrust(options.path))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A sentence."""
    verb = "is no longer trusted" if answer["changed"] else "was not trusted"
    screen.said.append(f"{screen.place(answer['project'])} {verb}.")
