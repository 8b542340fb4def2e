"""One finished session, from its transcript to a skill: read, judged, drafted, put where it belongs.

    report = learn(library, "session.jsonl")

It takes the path of `whet distill`, without a person on it: what is learned waits as a proposal, or is written where
`write` says so, an agent made the skill and the gate lets it through. A skill for the same job is improved where it is;
only where there is none, a new one is made. What is already waiting or was rejected is not proposed again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.authoring.writer import Provenance
from whet.errors import NotFoundError
from whet.guard.secrets.hide import hide_secrets
from whet.learning.distilling.merging import added
from whet.learning.distilling.relatives import maker, relative_of
from whet.learning.distilling.rounds import Distillation, Source, session_of
from whet.learning.distilling.writing import session_label, writing_of
from whet.learning.facts import facts as facts_of
from whet.learning.sessions import Seen
from whet.learning.synthesis.gating import gated
from whet.learning.synthesis.judging import judge
from whet.learning.synthesis.proposals import MARK, proposed_already, refused_bodies, waiting_for
from whet.learning.synthesis.work import taught
from whet.values import Json, as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.context import LearningContext
    from whet.learning.distilling.relatives import Relative
    from whet.learning.distilling.rounds import Help
    from whet.learning.distilling.writing import Writing
    from whet.learning.evals.gate import Verdict as GateVerdict
    from whet.learning.facts.model import Facts
    from whet.learning.models.door import Model
    from whet.learning.synthesis.judging import Verdict
    from whet.learning.transcripts.events import Transcript
    from whet.learning.transcripts.recorder import Recorder

    Told = str | Seen | Transcript | Recorder | Sequence[Any]

MEANINGS = {
    "waiting": "A proposal for the same job waits for a decision.",
    "rejected-before": "The same was proposed before, and rejected.",
    "not-ours": "A skill for the same job is there, and not ours to change.",
    "nothing-new": "The skill for it says all of this already.",
    "gate-refused": "What came of it is invalid or dangerous.",
}
"""What can keep a session that is worth it from becoming anything, and what that means."""
_EVIDENCE = 12
"""Numbers of events that a reason names."""


class Terms(NamedTuple):
    """How something is learned."""

    write: bool = False
    """Write instead of proposing, where that may be."""
    dry_run: bool = False
    model: Model | None = None
    """What words it better, and does the evals of a skill; held to what may be spent."""


class Learned(NamedTuple):
    """A step of what was learned, and the numbers of the events that it rests on."""

    title: str
    events: tuple[int, ...]


class Report(NamedTuple):
    """What became of one session. None is for what there is nothing to say about."""

    captured: bool
    code: str
    why: tuple[str, ...]
    """Sentences; the first is what decided."""
    evidence: tuple[int, ...] = ()
    """Numbers of the events that it rests on."""
    session: str | None = None
    path: str | None = None
    goal: str | None = None
    action: str | None = None
    """`create` or `improve`."""
    skill: str | None = None
    description: str | None = None
    steps: tuple[Learned, ...] | None = None
    """Of a new skill."""
    added: tuple[str, ...] | None = None
    """What a skill that was there gains."""
    gate: GateVerdict | None = None
    model: Help | None = None
    preview: str | None = None
    """Of a dry run: the text that would be written."""
    version: str | None = None
    place: str | None = None
    staged: bool | None = None
    """Whether it waits as a proposal; False where it is written."""
    proposal: int | None = None
    entries: tuple[int, ...] | None = None
    """What the history got."""
    error: str | None = None
    hint: str | None = None
    warnings: tuple[str, ...] | None = None

    def to_json(self) -> Json:
        """The report as every surface answers it."""
        return {name: as_json(value) for name, value in self._asdict().items() if value is not None}


class Read(NamedTuple):
    """A session and where it is from."""

    transcript: Transcript
    client: str
    id: str
    path: str

    @property
    def label(self) -> str:
        """How people name it."""
        return f"{self.client}:{self.id}" if self.id else self.path or self.client


def learn(context: LearningContext, source: Told, terms: Terms = Terms()) -> Report:  # noqa: B008  a value
    """Learn from one session; what was captured, or why nothing was.

    `source` is CLIENT:ID of a session that hooks told of, the path of a transcript, or one in memory. With `dry_run`
    nothing at all is changed, and no model is asked. Raises what reading and writing raise.
    """
    read = read_source(context, source)
    facts = sober(facts_of(read.transcript))
    verdict = judge(facts, read.transcript)
    told = verdict.capture, verdict.code, verdict.why, verdict.evidence
    report = Report(*told, read.label, read.path, hide_secrets(facts.goal)[0])
    if verdict.capture:
        report = _captured(context, Distillation(facts, Source(read.client, read.id)), verdict, terms, report)
    if not terms.dry_run and report.code != "waiting" and read.id:
        context.sessions.learned(read.client, read.id)
    return report


def sober(facts: Facts) -> Facts:
    """The facts without dead ends that were bad luck or only of this machine."""
    return facts._replace(dead_ends=tuple(end for end in facts.dead_ends if taught(end)))


def read_source(context: LearningContext, source: Told) -> Read:
    """The session that is meant. Raises NotFoundError `no-such-session` and what reading a transcript raises."""
    if isinstance(source, Seen):
        if not source.transcript:
            hint = "Name the file of its transcript instead."
            raise NotFoundError("no-transcript", f"{source.client} does not tell where {source.id} is.", hint=hint)
        return Read(_at(source.transcript, source.client), source.client, source.id, source.transcript)
    if not isinstance(source, str):
        found = session_of(source)
        return Read(found, found.client, found.session, "")
    path = os.path.expanduser(source)
    client, colon, id_ = source.partition(":")
    if colon and client and id_ and not os.path.lexists(path):
        seen = next((one for one in context.sessions.all() if (one.client, one.id) == (client, id_)), None)
        if seen is not None:
            return read_source(context, seen)
        hint = "`whet learn` without arguments takes all that wait; a file works, too."
        raise NotFoundError("no-such-session", f"No session {source!r} is known.", hint=hint)
    if not source.strip():
        raise NotFoundError("no-such-session", "An empty text names no session.", hint="Give CLIENT:ID or a file.")
    found = _at(path)
    where = os.path.realpath(path)
    told = next(
        (one for one in context.sessions.all() if one.transcript and os.path.realpath(one.transcript) == where), None
    )
    return Read(found, told.client if told else found.client, told.id if told else found.session, path)


def _at(path: str, client: str = "") -> Transcript:
    from whet.learning.transcripts.reading import read_transcript

    return read_transcript(path, client=client)


def _captured(context: LearningContext, begun: Distillation, verdict: Verdict, terms: Terms, report: Report) -> Report:
    """What becomes of a session that is worth it."""
    near = relative_of(context, begun.draft(), verdict.skills)
    if near is not None and not near.own:
        return _left(report._replace(skill=near.card.full_name), "not-ours")
    if near is not None:
        path = os.path.realpath(near.card.directory)
        if not terms.dry_run and (number := waiting_for(context, path)):
            return _left(report._replace(skill=near.card.full_name, proposal=number), "waiting")
        return _improved(context, _worded(begun._replace(known=near.card.name), terms), near, verdict, terms, report)
    if (before := proposed_already(context, begun.draft())) is not None:
        code = "waiting" if before.state == "pending" else "rejected-before"
        return _left(report._replace(skill=before.changes[0].skill, proposal=before.id), code)
    return _created(context, _worded(begun, terms), verdict, terms, report)


def _worded(begun: Distillation, terms: Terms) -> Distillation:
    """The distillation in the words of a model, where there is one that helps."""
    if terms.model is None or terms.dry_run:
        return begun
    from whet.learning.distilling.refining import helped

    return helped(begun, terms.model)


def _created(context: LearningContext, state: Distillation, verdict: Verdict, terms: Terms, report: Report) -> Report:
    """A new skill, under a name that no other has."""
    name = _free(context, state.draft().name)
    state = state._replace(edits={**state.edits, "name": name})
    writing = writing_of(context.workspace, context.editor.journal, state)
    steps = tuple(Learned(hide_secrets(step.title)[0], tuple(step.evidence)) for step in state.worded.steps)
    report = report._replace(action="create", skill=name, description=writing.made.description, steps=steps)
    return _done(context, state, writing, verdict, terms, report, agents=True)


def _improved(
    context: LearningContext, state: Distillation, near: Relative, verdict: Verdict, terms: Terms, report: Report
) -> Report:
    """A better version of the skill that is there; one that was only used gains what it lacks and keeps the rest."""
    from whet.authoring.main_file import main_of

    path = os.path.realpath(near.card.directory)
    journal, refused = context.editor.journal, refused_bodies(context, path)
    writing = writing_of(context.workspace, journal, state, card=near.card, gains=near.used, refused=refused)
    if writing.before is None:
        raise NotFoundError("skill-gone", f"{near.card.path} is not there any more.", hint="Try again.")
    old, new = (main_of(tree).document.body for tree in (writing.before, writing.after))
    report = report._replace(action="improve", skill=near.card.full_name, added=added(old, new))
    if old.strip() == new.strip():
        return _left(report, "nothing-new")
    agents = maker(journal, path) == "agent"
    return _done(context, state, writing, verdict, terms, report, agents=agents)


def _done(
    context: LearningContext,
    state: Distillation,
    writing: Writing,
    verdict: Verdict,
    terms: Terms,
    report: Report,
    *,
    agents: bool,
) -> Report:
    """What the gate lets become of it: written, proposed, or nothing."""
    from whet.authoring.trees import digest

    name = report.skill or ""
    passed = gated(context, writing, name, terms.model, measure=terms.write and agents and not terms.dry_run)
    report = report._replace(gate=passed.verdict, model=state.help())
    if passed.is_nothing:
        return _left(report, "gate-refused")._replace(why=(MEANINGS["gate-refused"], passed.sentence))
    warnings = (*state.warnings, *writing.kept)
    if terms.dry_run:
        return report._replace(preview=writing.text, warnings=warnings)
    seen = digest(writing.before)
    made = context.editor.apply(
        list(writing.operations),
        Provenance("agent", "background", hide_secrets(f"{_reason(state, verdict)} {passed.sentence}")[0]),
        stage=not (terms.write and agents and passed.verdict.accepted),
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
    """The name, or one with a number behind it where it is taken by a skill for something else."""
    from whet.skill.names import MAX_LENGTH, slug

    taken = {slug(card.name) for card in context.workspace.snapshot().catalogue.cards}
    number, found = 1, name
    while found in taken:
        number += 1
        end = f"-{number}"
        found = name[: MAX_LENGTH - len(end)].rstrip("-") + end
    return found


def _reason(state: Distillation, verdict: Verdict) -> str:
    """Where it comes from and why, for the history and for whoever decides."""
    numbers = ", ".join(map(str, verdict.evidence[:_EVIDENCE]))
    more = ", …" if len(verdict.evidence) > _EVIDENCE else ""
    events = f", events {numbers}{more}" if numbers else ""
    return f"{MARK}{session_label(state)}{events}. {' '.join(verdict.why[1:])}".strip()
