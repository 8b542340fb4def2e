"""`whet tap add|remove|list`: names for sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_ARGUMENTS = {"add": ("NAME", "SOURCE"), "remove": ("NAME",), "list": ()}


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "A tap is searched by `whet search`, and its skills are installed as NAME:SKILL. `whet tap add NAME SOURCE`, "
        "`whet tap remove NAME`, `whet tap list`."
    )
    parser.positional("action", "ACTION", "What to do.", choices=tuple(_ARGUMENTS))
    parser.positional("words", "NAME", "The name, and for `add` the source.", many=True, optional=True)


def run(context: Context, options: Namespace) -> Outcome:
    """Do it."""
    wanted = _ARGUMENTS[options.action]
    if len(options.words) != len(wanted):
        takes = " and ".join(wanted) or "nothing else"
        usage = " ".join(("whet tap", options.action, *wanted))
        raise UsageError("usage", f"`whet tap {options.action}` takes {takes}.", hint=f"Usage: {usage}")
    library = context.library
    if options.action == "add":
        return Outcome(library.add_tap(*options.words))
    if options.action == "remove":
        return Outcome(library.remove_tap(*options.words))
    return Outcome(library.list_taps())


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table, or a sentence."""
    if options.action == "list":
        rows = [(tap["name"], tap["trust"], tap["shown"]) for tap in answer["taps"]]
        screen.table(("NAME", "TRUST", "SOURCE"), rows)
        return
    tap = answer["tap"]
    done = "is a tap now" if options.action == "add" else "is no tap any more"
    screen.said.append(f"{tap['name']} ({tap['shown']}) {done}.")
