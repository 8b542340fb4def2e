"""Learning from several sessions, within a day's allowance, and only while something good comes of it; the report.

Also for agent loops: `synthesise` learns from what a recorder took down so far and notes in it what it made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import InvalidError, NotFoundError, WhetError
from whet.learning.sessions import Seen
from whet.learning.synthesis.budget import Account, Allowance, Breaker, State
from whet.learning.synthesis.learn import learn
from whet.learning.synthesis.relatives import own_proposals
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.synthesis.relatives import Shelf
    from whet.learning.transcripts.events import Transcript
    from whet.learning.transcripts.recorder import Recorder

STEP = "skill_create"
"""What a transcript calls the step in which a skill is made of it."""


def learn_from(
    shelf: Shelf,
    sources: Sequence[str | Seen | Transcript] = (),
    *,
    write: bool = False,
    dry_run: bool = False,
    limit: int | None = None,
    allowance: Allowance | None = None,
) -> dict[str, Any]:
    """Learn from these sessions, or from all that wait, the newest first.

    A session that cannot be read or written does not stop the others; one that is the only one named raises. The
    allowance and the breaker hold back what waits; whoever names a session gets it, and it counts. `sessions` are the
    reports of `learn`.
    """
    state = State(shelf.lookout.place.state, shelf.lookout.clock)
    account, breaker = Account(state, allowance), Breaker(state)
    if not dry_run:
        breaker.decided((one.decided, one.state) for one in own_proposals(shelf))
    chosen = list(sources) or list(reversed(shelf.sessions.waiting()))
    told: list[dict[str, Any]] = []
    stopped = ""
    for number, source in enumerate(chosen):
        stopped = _stop(account, breaker, named=bool(sources)) if limit is None or number < limit else "limit"
        if stopped:
            break
        try:
            report = learn(shelf, source, write=write, dry_run=dry_run)
        except WhetError as error:
            if len(sources) == 1:
                raise
            report = _failure(shelf, source, error, None if sources or dry_run else breaker)
        else:
            if not dry_run:
                breaker.worked()
        if not dry_run:
            account.spend(sessions=1, skills=int(report["captured"]))
        told.append(report)
    left = len(chosen) - len(told)
    answer: dict[str, Any] = {
        "success": True,
        "sessions": told,
        "captured": sum(report["captured"] for report in told),
        "failed": sum("error" in report for report in told),
        "left": left,
        "used": account.used()._asdict(),
        "allowance": account.allowance._asdict(),
    }
    if stopped:
        answer |= {"stopped": stopped, "stopped_why": _why(stopped, account, breaker)}
    return answer | ({"warnings": [state.problem]} if state.problem else {})


def synthesise(shelf: Shelf, recorder: Recorder, *, write: bool = False) -> dict[str, Any]:
    """Learn from an agent loop's own recording when its task is done; a skill that comes of it is a step in it."""
    report: dict[str, Any] = learn_from(shelf, [recorder.transcript()], write=write)["sessions"][0]
    if report["captured"]:
        given: dict[str, Any] = {key: report[key] for key in ("action", "skill", "proposal") if key in report}
        number = recorder.call(STEP, given, f"{STEP}-{len(recorder.transcript().events)}")
        done = "proposed" if report.get("staged") else "written"
        recorder.result(f"{report['skill']}, version {report['version']}, was {done}.", number, failed=False)
    return report


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
    used, most = account.used(), account.allowance
    return f"Today {used.sessions} of {most.sessions} sessions and {used.skills} of {most.skills} skills are used up."


def _failure(
    shelf: Shelf, source: str | Seen | Transcript, error: WhetError, breaker: Breaker | None
) -> dict[str, Any]:
    """An error as a report. A session whose transcript is gone or no transcript does not wait any longer."""
    label = source if isinstance(source, str) else f"{source.client}:{getattr(source, 'id', '')}"
    if breaker is not None and isinstance(error, (NotFoundError, InvalidError)) and isinstance(source, Seen):
        shelf.sessions.learned(source.client, source.id)
    elif breaker is not None:
        breaker.failed(error.message)
    told = {"error": error.message, "hint": error.hint}
    return {"session": label, "captured": False, "code": error.code, "why": [error.message], "evidence": [], **told}
