"""`whet uninstall NAME...`: installed skills taken away; the history keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._plans import plan_options, planned, show_plan

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context, Outcome
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "What it held, edits too, stays in the history: `whet restore NAME` or `whet undo ID` brings it back."
    )
    parser.positional("names", "NAME", "The skills.", many=True)
    plan_options(parser, override=False)


def run(context: Context, options: Namespace) -> Outcome:
    """Plan, ask, apply."""
    return planned(
        context, options, lambda library: library.plan_uninstall(*options.names, here=options.here), "Uninstall"
    )


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each skill."""
    show_plan(answer, screen, options)
