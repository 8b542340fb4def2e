"""`whet install SOURCE...`: skills from anywhere into the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._plans import plan_options, planned, show_plan

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context, Outcome
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "SOURCE is owner/repo[/path][@ref] on GitHub, any git address, a directory or archive (./...), the address of "
        "a SKILL.md, an archive or a site with a skill index, clawhub:owner/slug, hub:ADDRESS, marketplace:SOURCE, or "
        "tap:skill.\n\n"
        "Everything is fetched, checked and scanned before anything is written; then all of it is placed in one step "
        "and recorded in the lock."
    )
    parser.positional("sources", "SOURCE", "Where the skills come from.", many=True)
    parser.option("--skill", metavar="S", action="append", default=[], text="This skill of it; may be given again.")
    parser.option("--all", text="All skills it has.")
    plan_options(parser)


def run(context: Context, options: Namespace) -> Outcome:
    """Plan, ask, apply."""
    if options.all and options.skill:
        raise UsageError("usage", "Give --skill or --all, not both.", hint="`whet install --help` explains it.")
    return planned(
        context,
        options,
        lambda library: library.plan_install(
            *options.sources, skills=options.skill, every=options.all, here=options.here
        ),
        "Install",
    )


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each skill."""
    show_plan(answer, screen, options)
