"""`whet unpin NAME`: a skill like any other again."""

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
    parser.positional("name", "NAME", "The skill, which may be gone by now.")


def run(context: Context, options: Namespace) -> Outcome:
    """Take the pin back."""
    return Outcome(context.library.unpin(options.name))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A sentence."""
    screen.said.append(f"{answer['name']} {'is no longer' if answer['changed'] else 'was not'} pinned.")
