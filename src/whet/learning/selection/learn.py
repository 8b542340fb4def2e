"""Learning from several sessions, within the daily allowance and the breaker, and the report.

Only one process learns at a time, so that a session never becomes two skills. In the recording of an agent loop, the
resulting skill is a step.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.authoring.main_file import main_of
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance
from whet.errors import InvalidError, NotFoundError, WhetError
from whet.guard.secrets.hide import hide_secrets
from whet.learning.distill.operations import LEARNED, body_of, session_label, writing_of
from whet.learning.distill.relatives import (
    SAME_NAME,
    Relative,
    bearing_of,
    concerning,
    is_own,
    least_score,
    maker,
    relative_of,
)
from whet.learning.distill.rounds import Distillation, Source, session_of, written_by
from whet.learning.evals.formats import find_file
from whet.learning.evals.gate import DANGEROUS, INVALID, Reason, Verdict, examine
from whet.learning.evals.gate import judge as judge_change
from whet.learning.evidence.loads import short_name, with_skill
from whet.learning.evidence.session import evidence_of
from whet.learning.selection.budget import ALLOWANCE, Allowance, State
from whet.learning.selection.consent import offered
from whet.learning.selection.worth import Report, judge
from whet.learning.sessions import Seen
from whet.learning.transcripts.places import LAST, find_session
from whet.learning.transcripts.recorder import Recorder
from whet.routing.duplicates import alike
from whet.routing.texts import Texts, texts_of
from whet.skill.dialects import read_skill
from whet.skill.names import MAX_LENGTH, key, slug
from whet.store.clock import iso
from whet.store.locks import FileLock, lock_path
from whet.values import Json, as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.authoring.proposals import Proposal
    from whet.learning.context import LearningContext
    from whet.learning.distill.draft import Draft
    from whet.learning.distill.operations import Writing
    from whet.learning.models.model import Model
    from whet.learning.transcripts.events import Transcript

    Told = str | Seen | Transcript | Recorder | Sequence[Any]

STEP = "skill_create"
"""The name of the step in a transcript that creates a skill."""
_PATIENCE = 120.0
"""Seconds to wait for another process that learns."""


class Lessons(NamedTuple):
    """The results of several sessions."""

    sessions: tuple[Report, ...]
    left: int
    """Number of sessions that were not read."""
    used: Allowance
    """Use of today's allowance."""
    stopped: str = ""
    """The reason why others were not read: `breaker`, `allowance` or `limit`."""
    stopped_why: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def captured(self) -> int:
        """Number of sessions with a result."""
        return sum(report.captured for report in self.sessions)

    @property
    def failed(self) -> int:
        """Number of sessions that could not be read or written."""
        return sum(report.error is not None for report in self.sessions)

    def to_json(self) -> Json:
        """Return the lessons as JSON."""
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
    """Learn from these sessions, or from all that wait, newest first.

    A session that cannot be read or written does not stop the others; a single named session raises. The allowance and
    the breaker limit waiting sessions, and those that nobody `asked` for; a named session is always read, and counts.
    """
    state = State(context.workspace.state, context.workspace.clock)
    if not dry_run:
        state.decided((one.decided, one.state) for one in own_proposals(context))
    chosen = list(sources) or list(reversed(offered(context)))
    told: list[Report] = []
    stopped, why, gone = "", "", 0
    named = bool(sources) and asked
    for number, source in enumerate(chosen):
        if limit is not None and number >= limit:
            stopped, why = "limit", "More sessions are waiting than the limit allows."
        elif not named:
            stopped, why = _held_back(state)
        if stopped:
            break
        lock = FileLock(lock_path(context.workspace.place.state, "learning", "session"), timeout=_PATIENCE)
        try:
            with nullcontext() if dry_run else lock:
                if (
                    not named
                    and isinstance(source, Seen)
                    and source[:2] not in {one[:2] for one in context.sessions.waiting()}
                ):
                    gone += 1
                    continue
                report = _learned(context, source, Terms(write, dry_run, model), state)
        except WhetError as error:
            if len(sources) == 1 and asked:
                raise
            report = _failure(context, source, error, None if named or dry_run else state)
        else:
            if not dry_run:
                state.worked()
        if not dry_run:
            state.spend(sessions=1, skills=int(report.captured))
            if isinstance(source, Recorder) and report.captured:
                _note_step(source, report)
        told.append(report)
    left, used = len(chosen) - len(told) - gone, state.used()
    return Lessons(tuple(told), left, used, stopped, why, (state.problem,) if state.problem else ())


def _note_step(recorder: Recorder, report: Report) -> None:
    """Record in a recording which skill it became."""
    made = {"action": report.action, "skill": report.skill, "proposal": report.proposal}
    given = {key: value for key, value in made.items() if value is not None}
    number = recorder.call(STEP, given, f"{STEP}-{len(recorder.transcript().events)}")
    done = "proposed" if report.staged else "written"
    recorder.result(f"{report.skill}, version {report.version}, was {done}.", number, failed=False)


def _learned(context: LearningContext, source: Told, terms: Terms, state: State) -> Report:
    """Return the report on one session. The cost of a model counts against today's tokens, even without a result."""
    if terms.model is None or terms.dry_run:
        return learn(context, source, terms)
    from whet.learning.models.model import Budget, Budgeted

    left = state.left().tokens
    if not left:
        report = learn(context, source, terms._replace(model=None))
        why = f"Today's {ALLOWANCE.tokens:,} tokens for models are used up; no model was asked."
        return report._replace(warnings=(why, *(report.warnings or ())))
    budget = Budget(tokens=left)
    try:
        return learn(context, source, terms._replace(model=Budgeted(terms.model, budget)))
    finally:
        state.spend(tokens=budget.spent().tokens)


def _held_back(state: State) -> tuple[str, str]:
    """Return the code and a sentence about what limits learning now; two empty strings if nothing does."""
    if until := state.until():
        return "breaker", f"{state.read().breaker.reason} Learning continues at {iso(until)}."
    used, most = state.used(), ALLOWANCE
    if used.sessions < most.sessions and used.skills < most.skills:
        return "", ""
    spent = f"Today {used.sessions} of {most.sessions} sessions and {used.skills} of {most.skills} skills are used up."
    return "allowance", f"{spent} You can still name a session to learn from it."


def _failure(context: LearningContext, source: Told, error: WhetError, state: State | None) -> Report:
    """Return an error as a report. A session without a usable transcript no longer waits."""
    label = source if isinstance(source, str) else f"{source.client}:{source.id}" if isinstance(source, Seen) else ""
    if state is not None and isinstance(error, (NotFoundError, InvalidError)) and isinstance(source, Seen):
        context.sessions.learned(source.client, source.id)
    elif state is not None:
        state.failed(error.message)
    return Report(
        captured=False, code=error.code, why=(error.message,), session=label, error=error.message, hint=error.hint
    )


MEANINGS = {
    "waiting": "A proposal for the same job is waiting for a decision.",
    "rejected-before": "The same change was proposed before and rejected.",
    "not-ours": "A skill for the same job exists, and Whet may not change it.",
    "nothing-new": "An existing skill already says all of this.",
    "gate-refused": "The resulting skill is invalid or dangerous.",
}
"""Codes for worthwhile sessions without a result, with their meaning."""
_EVIDENCE = 12
"""Number of events that a reason names."""
_LATEST = 200
"""Number of proposals that are considered."""


class Terms(NamedTuple):
    """The terms of learning."""

    write: bool = False
    """Whether to write instead of proposing, if possible."""
    dry_run: bool = False
    model: Model | None = None
    """The model that writes the skill and does its evals, within its budget."""


def learn(context: LearningContext, source: Told, terms: Terms = Terms()) -> Report:  # noqa: B008  a value
    """Learn from one session; return the result, or why there is none.

    `source` is CLIENT:ID of a session that hooks reported, the path of a transcript, or one in memory. With `dry_run`
    nothing is changed, and no model is asked. Raises the errors of reading and writing.
    """
    transcript = read_source(context, source)
    client, session = transcript.client, transcript.session
    label = f"{client}:{session}" if session else source if isinstance(source, str) else client
    evidence = evidence_of(transcript)
    report = judge(evidence, transcript)._replace(session=label)
    if report.captured:
        whole = Lesson(Distillation(evidence, Source(client, session)), report)
        report = _capture(context, _with_skill(context, whole, transcript) or whole, terms)
    if not terms.dry_run and report.code != "waiting" and session:
        context.sessions.learned(client, session)
    return report


def read_source(context: LearningContext, source: Told) -> Transcript:
    """Return the requested session, under the name that hooks use.

    Raises NotFoundError `no-such-session` and the errors of reading a transcript.
    """
    from whet.learning.transcripts.reader import read_transcript

    if not isinstance(source, (str, Seen)):
        return session_of(source)
    seen: Seen | None = None
    if isinstance(source, Seen):
        seen, client, id_ = source, source.client, source.id
    else:
        path, sessions = os.path.expanduser(source), context.sessions.all()
        client, _, id_ = source.partition(":")
        if not source.strip():
            raise NotFoundError("no-such-session", "The session is empty.", hint="Pass CLIENT:ID or a file.")
        if not client or not id_ or os.path.lexists(path):
            found, where = read_transcript(path), os.path.realpath(path)
            known = (one for one in sessions if one.transcript and os.path.realpath(one.transcript) == where)
            told = next(known, None)
            return found._replace(client=told.client, session=told.id) if told else found
        seen = next((one for one in sessions if (one.client, one.id) == (client, id_)), None)
    place = context.workspace.place
    file = (seen.transcript if seen else "") or find_session(client, id_, place.home, place.env)
    if not file and seen:
        hint = "Pass the file of its transcript instead."
        raise NotFoundError("no-transcript", f"{client} does not say where {id_} is.", hint=hint)
    if not file:
        hint = "`whet learn sessions` without arguments takes all that wait; a file works, too."
        raise NotFoundError("no-such-session", f"There is no session {source!r}.", hint=hint)
    found = read_transcript(file, client=client, session="" if id_ == LAST else id_)._replace(client=client)
    return found._replace(session=id_) if seen else found


class Lesson(NamedTuple):
    """The evidence to learn from and, if the session used a skill, that skill."""

    begun: Distillation
    report: Report
    near: Relative | None = None


def _with_skill(context: LearningContext, whole: Lesson, transcript: Transcript) -> Lesson | None:
    """Return the lesson for a used skill that was not sufficient; None if there is none.

    Only work after a skill was loaded, and related to it, may change it; that alone must be worth it.
    """
    cards = {key(card.name): card for card in reversed(context.workspace.snapshot().catalogue.cards)}
    found: list[tuple[int, Lesson]] = []
    for name in whole.begun.evidence.skills:
        card = cards.get(short_name(name))
        if card is None or not is_own(context, card):
            continue
        part = with_skill(transcript, name)
        evidence = evidence_of(part)
        report = judge(evidence, part)._replace(session=whole.report.session)
        texts = texts_of(context.workspace.read(card))
        bearing = bearing_of(texts, evidence, part) if report.captured else 0
        if bearing:
            begun = Distillation(concerning(evidence, texts), whole.begun.source)
            near = Relative(card, own=True, used=slug(card.name) != begun.draft().name)
            found.append((bearing, Lesson(begun, report, near)))
    return max(found, key=lambda one: one[0])[1] if found else None


def _capture(context: LearningContext, lesson: Lesson, terms: Terms) -> Report:
    """Turn a worthwhile session into a better version of an existing skill, or a new one.

    A skill that was only used gains missing parts and keeps the rest.
    """
    begun, report, near = lesson
    made = begun.draft()
    near = near or relative_of(context, made)
    journal, existing = context.editor.journal, ""
    if near is not None:
        report = report._replace(action="improve", skill=near.card.full_name)
        if not near.own:
            return _left(report, "not-ours")
        if not terms.dry_run and (number := _waiting_for(context, near.card.place)):
            return _left(report._replace(proposal=number), "waiting")
        begun = begun._replace(known=near.card.name)
        existing = texts_of(context.workspace.read(near.card)).body
    elif (before := _proposed_already(context, made)) is not None:
        report = report._replace(skill=before.changes[0].skill, proposal=before.id)
        return _left(report, "waiting" if before.state == "pending" else "rejected-before")
    if terms.model is not None and not terms.dry_run:
        begun = written_by(begun, terms.model, existing)
    if near is None:
        name = _free(context, begun.draft().name)
        begun = begun._replace(edits={**begun.edits, "name": name})
        report = report._replace(action="create", skill=name)
        return _settle(context, begun, writing_of(context.workspace, journal, begun), terms, report)
    refused = _refused_bodies(context, near.card.place)
    writing = writing_of(context.workspace, journal, begun, card=near.card, gains=near.used, refused=refused)
    if writing.before is None:
        raise NotFoundError("skill-gone", f"{near.card.path} no longer exists.", hint="Try again.")
    if body_of(writing.before).strip() == body_of(writing.after).strip():
        return _left(report, "nothing-new")
    return _settle(context, begun, writing, terms, report)


def _settle(context: LearningContext, state: Distillation, writing: Writing, terms: Terms, report: Report) -> Report:
    """Write or propose the result, or neither, as the gate decides. Changes to a person's skill are only proposed."""
    write = terms.write and not terms.dry_run
    write = write and (not writing.path or maker(context.editor.journal, writing.path) == "agent")
    passed = _gate(context, writing, report.skill or "", terms.model, measure=write)
    said = " ".join(reason.message for reason in passed.reasons)
    sentence = f"It fails a check: {said}" if said else "It passes all checks."
    report = report._replace(gate=passed, model=state.help)
    if {reason.code for reason in passed.reasons} & {INVALID, DANGEROUS}:
        return _left(report, "gate-refused")._replace(why=(MEANINGS["gate-refused"], sentence))
    warnings = (*state.warnings, *writing.kept)
    if terms.dry_run:
        return report._replace(preview=writing.text, warnings=warnings)
    seen = digest(writing.before)
    made = context.editor.apply(
        list(writing.operations),
        Provenance("agent", "background", hide_secrets(f"{_reason(state, report)} {sentence}")[0]),
        stage=not (write and passed.accepted),
        viewed=lambda where, what: (os.path.realpath(where), what) == (writing.path, seen),
    )
    last = made.changes[-1]
    report = report._replace(version=last.version, place=last.path, warnings=(*warnings, *made.notes))
    if made.proposal is not None:
        return report._replace(staged=True, proposal=made.proposal, hint=made.hint)
    return report._replace(staged=False, entries=made.entries)


def _left(report: Report, code: str) -> Report:
    return report._replace(captured=False, code=code, why=(MEANINGS[code], *report.why[1:]))


def _free(context: LearningContext, name: str) -> str:
    """Return the name, with a number if another skill already has it."""
    taken = {slug(card.name) for card in context.workspace.snapshot().catalogue.cards}
    number, found = 1, name
    while found in taken:
        number += 1
        end = f"-{number}"
        found = name[: MAX_LENGTH - len(end)].rstrip("-") + end
    return found


def _reason(state: Distillation, report: Report) -> str:
    """Return origin and reason, for the history and for whoever decides."""
    numbers = ", ".join(map(str, report.evidence[:_EVIDENCE]))
    more = ", …" if len(report.evidence) > _EVIDENCE else ""
    events = f", events {numbers}{more}" if numbers else ""
    return f"{LEARNED}{session_label(state)}{events}. {' '.join(report.why[1:])}".strip()


def _gate(context: LearningContext, writing: Writing, name: str, model: Model | None, *, measure: bool) -> Verdict:
    """Return the gate's verdict on a change. `measure` needs the skill's evals, if it has some, and a model.

    Without a model, existing evals cannot be met, which is a rejection.
    """
    before, after = writing.before, writing.after
    if not measure or before is None or not find_file(before):
        return Verdict(examine(before, after, name))
    from whet.learning.evals.evaluation import scorer

    try:
        score = None if model is None else scorer(context.workspace, name, model, context.attempt)
        return judge_change(before, after, name, score)
    except WhetError as error:
        return Verdict((Reason("gate-no-score", f"Its evals could not run: {error.message}"),))


def own_proposals(context: LearningContext, state: str = "") -> list[Proposal]:
    """Return the latest proposals of learning."""
    every = context.editor.proposals.all(state)
    return [one for one in every if one.origin == "background" and one.reason.startswith(LEARNED)][-_LATEST:]


def _waiting_for(context: LearningContext, path: str) -> int:
    """Return the number of a waiting proposal for the skill at a path, by anyone; 0 if there is none."""
    every = context.editor.proposals.all("pending")
    return next((one.id for one in every if any(change.path == path for change in one.changes)), 0)


def _refused_bodies(context: LearningContext, path: str) -> list[str]:
    """Return the rejected bodies that learning proposed for the skill at a path."""
    return [
        body_of(change.after)
        for proposal in own_proposals(context, "rejected")
        for change in context.editor.proposals.changes(proposal)
        if change.path == path and change.after
    ]


def _proposed_already(context: LearningContext, made: Draft) -> Proposal | None:
    """Return the waiting or rejected proposal of a new skill for the same job; a waiting one comes first."""
    proposals = {str(one.id): one for one in (*own_proposals(context, "pending"), *own_proposals(context, "rejected"))}
    known = {
        number: texts_of(read_skill(main_of(change.after).document))._replace(name=change.skill)
        for number, proposal in proposals.items()
        for change in context.editor.proposals.changes(proposal)
        if change.action == "create" and change.after
    }
    texts = Texts(made.name, made.description, made.body)
    near = [
        proposals[found.name]
        for found in alike(texts, known, threshold=SAME_NAME, most=len(known))
        if found.score >= least_score(known[found.name].name, made.name, distilled=True)
    ]
    return next((one for one in near if one.state == "pending"), next(iter(near), None))
