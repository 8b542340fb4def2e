"""`whet update [NAME...]`: installed skills as their sources have them now, without losing an edit."""

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
        "A skill is asked for at the source it was installed from, and nowhere else, and compared by content. Where "
        "you edited it, your edits are merged with what changed; where both changed the same lines, the skill stays as "
        "it is and both sides are shown."
    )
    parser.positional("names", "NAME", "The skills (default: all that are installed).", many=True, optional=True)
    text = "Where edits clash, keep your lines (ours) or take the source's (theirs)."
    parser.option("--prefer", metavar="SIDE", default="", choices=("ours", "theirs"), text=text)
    plan_options(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Plan, ask, apply."""
    return planned(
        context,
        options,
        lambda library: library.plan_update(*options.names, here=options.here, prefer=options.prefer),
        "Update",
    )


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each skill."""
    if not answer["plan"]:
        screen.said.append("Nothing is installed.")
    show_plan(answer, screen, options)
