"""`pending`, `approve`, `reject`: changes that wait for a decision."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from whet.authoring.writer import Provenance
from whet.interfaces.cli.arguments import misuse, read_number, reason_option
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.rendering import format_time, paint_diff
from whet.interfaces.cli.terminal import can_ask
from whet.interfaces.cli.text import clean, join_unique
from whet.notes import name_action

if TYPE_CHECKING:
    from whet.authoring.proposals import PendingProposals, Proposal, Proposals, ShownProposal
    from whet.authoring.results import Decision
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser


_LABEL = 10


def configure_pending(parser: Parser) -> None:
    parser.details = (
        "Changes that need your approval wait here, and so do changes made with --stage. In a pipe, each line has "
        "number, time, actor, action, skills and reason, separated by tabs."
    )
    parser.positional("id", "ID", "Show this proposal, like `whet proposals show`.", optional=True)


def run_pending(context: Context, options: Namespace) -> Answer:
    """Return all proposals, or one."""
    proposals = context.library.proposals
    if options.id is None:
        return Answer(proposals.pending(), render_pending)
    return Answer(proposals.show(read_number(options.id, "a proposal", "proposals show")), render_proposal)


def _number(context: Context, options: Namespace, verb: str) -> int:
    """Return the proposal that is named, or that a person chooses. Raises UsageError and RefusedError."""
    if options.id is not None:
        return read_number(options.id, "a proposal", verb)
    proposals = context.library.proposals
    pending = proposals.pending()
    if not pending or not can_ask(options):
        raise misuse(verb, "ID is missing." if pending else "There are no proposals.")
    from whet.interfaces.cli.output import screen_for
    from whet.interfaces.cli.picker import Choice, pick_one

    screen = screen_for(sys.stderr, context.env)
    choices = [Choice(_cells(proposal, screen), partial(_render_diff, proposals, proposal)) for proposal in pending]
    return pending[pick_one(f"{verb.rsplit(maxsplit=1)[-1].capitalize()} which proposal?", choices, context.env)].id


def _render_diff(proposals: Proposals, proposal: Proposal, screen: Screen) -> None:
    paint_diff(screen, proposals.diff(proposal))


def _cells(proposal: Proposal, screen: Screen) -> tuple[str, ...]:
    return (
        str(proposal.id),
        format_time(screen, proposal.time),
        proposal.actor,
        join_unique(name_action(change.action) for change in proposal.changes),
        join_unique(change.skill for change in proposal.changes),
        proposal.reason or proposal.cause,
    )


def render_pending(pending: PendingProposals, screen: Screen, _options: Namespace) -> None:
    rows = [_cells(proposal, screen) for proposal in pending]
    screen.grid(("ID", "WHEN", "WHO", "WHAT", "SKILL", "REASON"), rows, "There are no proposals.")
    if rows:
        screen.hint(
            "`whet proposals show ID` shows one; `whet proposals approve ID` applies it; `whet proposals reject ID` "
            "rejects it."
        )


def render_proposal(shown: ShownProposal, screen: Screen, _options: Namespace) -> None:
    """Print one proposal with its difference."""
    proposal = shown.proposal
    facts = {
        "proposal": str(proposal.id),
        "skill": join_unique(change.skill for change in proposal.changes),
        "what": join_unique(name_action(change.action) for change in proposal.changes),
        "who": proposal.actor,
        "when": format_time(screen, proposal.time),
        "reason": proposal.reason,
        "waits": proposal.cause,
    }
    screen.facts(((label, clean(text)) for label, text in facts.items() if text), _LABEL)
    screen.line()
    paint_diff(screen, shown.diff)
    screen.hint(f"`whet proposals approve {proposal.id}` applies it; `whet proposals reject {proposal.id}` rejects it.")


def configure_approve(parser: Parser) -> None:
    parser.details = (
        "Writes exactly what `whet proposals show ID` shows. If the skill has changed in the meantime, nothing is "
        "written."
    )
    configure_reject(parser)


def run_approve(context: Context, options: Namespace) -> Answer:
    number = _number(context, options, "proposals approve")
    decision = context.library.proposals.approve(number, Provenance("user", reason=options.reason))
    return Answer(decision, render_approve)


def render_approve(decision: Decision, screen: Screen, _options: Namespace) -> None:
    entries = decision.entries
    named = f"{'entry' if len(entries) == 1 else 'entries'} {', '.join(map(str, entries))}"
    screen.say(f"Applied proposal {decision.proposal} ({named}).")


def configure_reject(parser: Parser) -> None:
    parser.positional("id", "ID", "The number of the proposal; without it, you choose from a list.", optional=True)
    reason_option(parser)


def run_reject(context: Context, options: Namespace) -> Answer:
    number = _number(context, options, "proposals reject")
    return Answer(context.library.proposals.reject(number, options.reason), render_reject)


def render_reject(decision: Decision, screen: Screen, _options: Namespace) -> None:
    screen.say(f"Rejected proposal {decision.proposal}.")


COMMANDS = {
    "proposals list": Command(configure_pending, run_pending),
    "proposals show": Command(lambda p: p.positional("id", "ID", "The number of the proposal."), run_pending),
    "proposals approve": Command(configure_approve, run_approve),
    "proposals reject": Command(configure_reject, run_reject),
}
