"""`whet adopt [NAME...]`: skills that are there already, known to the lock from now on."""

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
        "Where another tool installed a skill (skills-lock.json, .skill-lock.json, .clawhub/lock.json, gh), its source "
        "is taken over. No file of a skill is changed."
    )
    parser.positional("names", "NAME", "The skills (default: all that are not installed).", many=True, optional=True)
    parser.option("--from", metavar="SOURCE", dest="source", default="", text="Where one skill comes from.")
    plan_options(parser, override=False)


def run(context: Context, options: Namespace) -> Outcome:
    """Plan, ask, apply."""
    return planned(
        context,
        options,
        lambda library: library.plan_adopt(*options.names, source=options.source, here=options.here),
        "Adopt",
    )


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each skill."""
    if not answer["plan"]:
        screen.said.append("There is nothing to adopt.")
    show_plan(answer, screen, options)
