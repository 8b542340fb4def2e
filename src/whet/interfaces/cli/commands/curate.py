"""`whet curate`: what becomes of skills that an agent wrote and nobody uses; a plan, unless it is to be applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean_block, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Without --apply nothing changes. Only skills that an agent created are touched, never pinned, new or "
        "referenced ones; archived skills can be restored, and `whet undo RUN` takes a whole run back."
    )
    parser.option("--apply", text="Do what the plan says.")
    parser.option("--if-due", text="Do it only if a week has gone by since the last run; for schedules.")


def run(context: Context, options: Namespace) -> Outcome:
    """Make the plan; apply it where that is wanted."""
    if options.apply and options.if_due:
        raise UsageError("usage", "Give --apply or --if-due, not both.", hint="`whet curate --help` explains it.")
    return Outcome(context.library.curate(apply=options.apply, if_due=options.if_due))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The report, and what came of it."""
    screen.line(clean_block(answer["report"]).rstrip("\n"))
    if not answer["applied"]:
        screen.said.append("Nothing was changed.")
        return
    screen.said.append(f"Archived {plural(len(answer['entries']), 'skill')}.")
    if answer["run"]:
        screen.hints.append(f"`whet undo {answer['run']}` takes it back.")
    if answer["proposals"]:
        screen.hints.append("`whet pending` shows what it proposes to merge.")
