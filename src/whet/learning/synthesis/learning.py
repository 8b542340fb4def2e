"""Learning from several sessions, within a day's allowance, and only while something good comes of it; the report.

One at a time, whoever learns: two processes never make two skills of one session. Where an agent loop gives its own
recording, a skill that comes of it is a step in it.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, NotFoundError, WhetError
from whet.learning.sessions import Seen
from whet.learning.synthesis.budget import ALLOWANCE, Account, Allowance, Breaker, State
from whet.learning.synthesis.consent import offered
from whet.learning.synthesis.learn import Report, Terms, learn
from whet.learning.synthesis.proposals import own_proposals
from whet.learning.transcripts.recorder import Recorder
from whet.store.clock import iso
from whet.store.locks import FileLock, lock_path
from whet.values import Json, as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.context import LearningContext
    from whet.learning.models.door import Model
    from whet.learning.synthesis.learn import Told

STEP = "skill_create"
"""What a transcript calls the step in which a skill is made of it."""
_PATIENCE = 120.0
"""Seconds to wait for whoever learns just now."""


class Lessons(NamedTuple):
    """What was learned from several sessions."""

    sessions: tuple[Report, ...]
    left: int
    """Sessions that nobody looked at."""
    used: Allowance
    """Of today's allowance."""
    stopped: str = ""
    """What held back the others: `breaker`, `allowance` or `limit`."""
    stopped_why: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def captured(self) -> int:
        """How many sessions something came of."""
        return sum(report.captured for report in self.sessions)

    @property
    def failed(self) -> int:
        """How many could not be read or written."""
        return sum(report.error is not None for report in self.sessions)

    def to_json(self) -> Json:
        """All of it as every surface answers it."""
        answer = {"success": True, "sessions": as_json(self.sessions), "captured": self.captured, "failed": self.failed}
        answer |= {"left": self.left, "used": as_json(self.used), "allowance": as_json(ALLOWANCE)}
        answer |= {"stopped": self.stopped, "stopped_why": self.stopped_why} if self.stopped else {}
        return answer | ({"warnings": list(self.warnings)} if self.warnings else {})


def learn_from(
    context: LearningContext,
    sources: Sequence[Told] = (),
    *,
    write: bool = False,
    dry_run: bool = False,
    limit: int | None = None,
    model: Model | None = None,
    asked: bool = True,
) -> Lessons:
    """Learn from these sessions, or from all that wait, the newest first.

    A session that cannot be read or written does not stop the others; one that is the only one named raises. The
    allowance and the breaker hold back what waits, and what nobody `asked` for; whoever names a session gets it, and it
    counts.
    """
    state = State(context.workspace.state, context.workspace.clock)
    account, breaker = Account(state), Breaker(state)
    if not dry_run:
        breaker.decided((one.decided, one.state) for one in own_proposals(context))
    chosen = list(sources) or list(reversed(offered(context)))
    told: list[Report] = []
    stopped, gone = "", 0
    for number, source in enumerate(chosen):
        named = bool(sources) and asked
        stopped = _stop(account, breaker, named=named) if limit is None or number < limit else "limit"
        if stopped:
            break
        lock = FileLock(lock_path(context.workspace.place.state, "learning", "session"), timeout=_PATIENCE)
        try:
            with nullcontext() if dry_run else lock:
                if not named and isinstance(source, Seen) and not _waits(context, source):
                    gone += 1
                    continue
                report = _learned(context, source, Terms(write, dry_run, model), account)
        except WhetError as error:
            if len(sources) == 1 and asked:
                raise
            report = _failure(context, source, error, None if named or dry_run else breaker)
        else:
            if not dry_run:
                breaker.worked()
        if not dry_run:
            account.spend(sessions=1, skills=int(report.captured))
            if isinstance(source, Recorder) and report.captured:
                _note_step(source, report)
        told.append(report)
    why = _why(stopped, account, breaker) if stopped else ""
    left, used = len(chosen) - len(told) - gone, account.used()
    return Lessons(tuple(told), left, used, stopped, why, (state.problem,) if state.problem else ())


def _note_step(recorder: Recorder, report: Report) -> None:
    """Note in a recording what was made of it."""
    made = {"action": report.action, "skill": report.skill, "proposal": report.proposal}
    given = {key: value for key, value in made.items() if value is not None}
    number = recorder.call(STEP, given, f"{STEP}-{len(recorder.transcript().events)}")
    done = "proposed" if report.staged else "written"
    recorder.result(f"{report.skill}, version {report.version}, was {done}.", number, failed=False)


def _learned(context: LearningContext, source: Told, terms: Terms, account: Account) -> Report:
    """The report on one session. What a model costs is taken off today's tokens, also where nothing came of it."""
    if terms.model is None or terms.dry_run:
        return learn(context, source, terms)
    from whet.learning.models.budget import Budget, budgeted

    left = account.left().tokens
    if not left:
        report = learn(context, source, terms._replace(model=None))
        why = f"Today's {ALLOWANCE.tokens:,} tokens for models are used up; no model was asked."
        return report._replace(warnings=(why, *(report.warnings or ())))
    budget = Budget(tokens=left)
    try:
        return learn(context, source, terms._replace(model=budgeted(terms.model, budget)))
    finally:
        account.spend(tokens=budget.spent().tokens)


def _waits(context: LearningContext, seen: Seen) -> bool:
    """Does a session still wait, or has somebody learned from it meanwhile?"""
    return any((one.client, one.id) == (seen.client, seen.id) for one in context.sessions.waiting())


def _stop(account: Account, breaker: Breaker, *, named: bool) -> str:
    """Why nothing more is learned now, or ""."""
    if named:
        return ""
    if breaker.until():
        return "breaker"
    left = account.left()
    return "" if left.sessions and left.skills else "allowance"


def _why(stopped: str, account: Account, breaker: Breaker) -> str:
    if stopped == "breaker":
        return f"{breaker.reason()} Learning goes on at {iso(breaker.until())}."
    if stopped == "limit":
        return "More wait than the limit allows."
    used, most = account.used(), ALLOWANCE
    spent = f"Today {used.sessions} of {most.sessions} sessions and {used.skills} of {most.skills} skills are used up."
    return f"{spent} A session that is named is looked at all the same."


def _failure(context: LearningContext, source: Told, error: WhetError, breaker: Breaker | None) -> Report:
    """An error as a report. A session whose transcript is gone or no transcript does not wait any longer."""
    label = source if isinstance(source, str) else f"{source.client}:{source.id}" if isinstance(source, Seen) else ""
    if breaker is not None and isinstance(error, (NotFoundError, InvalidError)) and isinstance(source, Seen):
        context.sessions.learned(source.client, source.id)
    elif breaker is not None:
        breaker.failed(error.message)
    return Report(
        captured=False, code=error.code, why=(error.message,), session=label, error=error.message, hint=error.hint
    )
