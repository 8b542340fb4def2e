"""`pending`, `approve`, `reject`: the changes that wait for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.authoring.writer import Provenance
from whet.interfaces.cli.arguments import read_number, reason_option
from whet.interfaces.cli.context import Command
from whet.interfaces.cli.rendering import format_time, paint_diff
from whet.interfaces.cli.text import clean

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Answer, Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.values import Json


_LABEL = 10


def configure_pending(parser: Parser) -> None:
    parser.details = (
        "A change of a skill that is not yours to change, and one with --stage, waits until you approve or reject it. "
        "On a pipe, each is a line of number, time, who, what, skills and reason, with tabs between them."
    )
    parser.positional("id", "ID", "Show this one, with what it would change.", optional=True)


def run_pending(context: Context, options: Namespace) -> Answer:
    """Ask for all of them, or for one."""
    proposals = context.library.proposals
    if options.id is None:
        return proposals.pending()
    return proposals.show(read_number(options.id, "a proposal", "pending"))


def render_pending(answer: Json, screen: Screen, options: Namespace) -> None:
    """A table, or one proposal with its difference."""
    if options.id is not None:
        _render_proposal(answer, screen)
        return
    rows = [
        (
            str(proposal["id"]),
            format_time(screen, proposal["time"]),
            proposal["actor"],
            _join_changes(proposal, "action"),
            _join_changes(proposal, "skill"),
            proposal["reason"] or proposal["cause"],
        )
        for proposal in answer["proposals"]
    ]
    screen.grid(("ID", "WHEN", "WHO", "WHAT", "SKILL", "REASON"), rows, "Nothing waits.")
    if rows:
        screen.hint("`whet pending ID` shows one; `whet approve ID` does it, `whet reject ID` does not.")


def _render_proposal(answer: Json, screen: Screen) -> None:
    facts = {
        "proposal": str(answer["id"]),
        "skill": _join_changes(answer, "skill"),
        "what": _join_changes(answer, "action"),
        "who": answer["actor"],
        "when": format_time(screen, answer["time"]),
        "reason": answer["reason"],
        "waits": answer["cause"],
    }
    screen.facts(((label, clean(text)) for label, text in facts.items() if text), _LABEL)
    screen.line()
    paint_diff(screen, answer["diff"])
    screen.hint(f"`whet approve {answer['id']}` does it, `whet reject {answer['id']}` does not.")


def _join_changes(proposal: Json, field: str) -> str:
    return ", ".join(dict.fromkeys(change[field] for change in proposal["changes"]))


def configure_approve(parser: Parser) -> None:
    parser.details = "Exactly what `whet pending ID` shows is written; if the skill has changed since, nothing is."
    configure_reject(parser)


def run_approve(context: Context, options: Namespace) -> Answer:
    number = read_number(options.id, "a proposal", "approve")
    return context.library.proposals.approve(number, Provenance("user", reason=options.reason))


def render_approve(answer: Json, screen: Screen, _options: Namespace) -> None:
    entries = answer["entries"]
    named = f"{'entry' if len(entries) == 1 else 'entries'} {', '.join(map(str, entries))}"
    screen.say(f"Proposal {answer['proposal']} is done ({named}).")


def configure_reject(parser: Parser) -> None:
    parser.positional("id", "ID", "The number of the proposal.")
    reason_option(parser)


def run_reject(context: Context, options: Namespace) -> Answer:
    number = read_number(options.id, "a proposal", "reject")
    return context.library.proposals.reject(number, options.reason)


def render_reject(answer: Json, screen: Screen, _options: Namespace) -> None:
    screen.say(f"Proposal {answer['proposal']} is rejected.")


COMMANDS = {
    "pending": Command(configure_pending, run_pending, render_pending),
    "approve": Command(configure_approve, run_approve, render_approve),
    "reject": Command(configure_reject, run_reject, render_reject),
}
