"""`whet disable`: stop offering a skill, everywhere or on one surface."""

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
    parser.positional("name", "NAME", "The skill.")
    parser.option("--surface", metavar="S", default="", text="Only here, such as mcp or cli (default: everywhere).")


def run(context: Context, options: Namespace) -> Outcome:
    """Decide."""
    return Outcome(context.library.disable(options.name, options.surface))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A sentence."""
    where = f" on {answer['surface']}" if answer["surface"] else ""
    verb = "is not offered any more" if answer["changed"] else "was switched off already"
    screen.said.append(f"{answer['name']} {verb}{where}.")
    option = f" --surface {answer['surface']}" if answer["surface"] else ""
    screen.hints.append(f"`whet enable {answer['name']}{option}` takes it back.")
