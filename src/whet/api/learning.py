"""How skills improve: usage, feedback, the curator, evals, and skills distilled from sessions.

library.learning.distill("session.jsonl").skill
library.learning.improve("release-notes", "openai:gpt-5").rounds

distillation = library.learning.begin_distillation("session.jsonl")
while not distillation.done:
    distillation = distillation.answer(ask_somebody(distillation.question()))
library.learning.finish_distillation(distillation)
"""

from __future__ import annotations

from whet.errors import FailedError, NotFoundError, UsageError, WhetError, path_text
from whet.records import NamedTuple
from whet.values import Json, answer_json, as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from whet.api.stores import Stores
    from whet.authoring.editor import SkillEditor
    from whet.authoring.results import Change, Changes, Similar
    from whet.learning.context import LearningContext
    from whet.learning.curator import Curating, Curation
    from whet.learning.distill.draft import Draft
    from whet.learning.distill.rounds import Distillation
    from whet.learning.distill.rounds import Kept as DistillationStore
    from whet.learning.distill.writer import Help
    from whet.learning.evals.descriptions import Description
    from whet.learning.evals.evaluation import Task
    from whet.learning.evals.results import Evaluation, Output
    from whet.learning.evals.skill_tests import OwnTests
    from whet.learning.evals.subject import SkillEvals
    from whet.learning.evidence.session import Evidence
    from whet.learning.improve import Improvement
    from whet.learning.models.model import Model
    from whet.learning.selection.learn import Lessons
    from whet.learning.selection.recent import RecentSession
    from whet.learning.selection.worth import Report
    from whet.learning.sessions import Seen, Sessions
    from whet.learning.transcripts.events import Transcript
    from whet.learning.transcripts.recorder import Recorder
    from whet.learning.usage import Usage, UsageTotals
    from whet.learning.usage_log import Kind
    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.workspace import Workspace
    from whet.notes import Note, Progress
    from whet.prompt.index import Use
    from whet.prompt.matcher import SkillMatcher
    from whet.routing.duplicates import Duplicates
    from whet.routing.evals.generated import TriggerSet
    from whet.routing.evals.report import TriggerEvals
    from whet.routing.feedback import Forgotten, Noted, Remarks
    from whet.skill.evals_proof import CollectedEvals, OutputResults
    from whet.sources.publish.prepare import Prepared

    Session = str | os.PathLike[str] | Transcript | Recorder | Sequence[Any]

TOKENS = 1_000_000
"""Tokens that one call may spend on models, by default."""
OUTCOMES: dict[str, Kind] = {"helped": "helped", "failed": "failed", "corrected": "corrected"}
"""The outcomes of using a skill."""

_SHORTEST_ID = 4
"""Characters of a session's id that are enough to name it."""


class OutcomeNoted(NamedTuple):
    """The record of an outcome."""

    name: str
    outcome: str
    recorded: bool
    """False if it could not be recorded."""

    def to_json(self) -> Json:
        """Return the value as JSON."""
        return answer_json(self)


class SessionRead(NamedTuple):
    """A session as Whet reads it, with secrets hidden."""

    transcript: Transcript
    evidence: Evidence | None = None
    """The evidence in the session, if it was requested."""

    def to_json(self) -> Json:
        """Return the session as JSON."""
        answer = answer_json(self.transcript)
        return answer if self.evidence is None else {**answer, "evidence": _evidence_json(self.evidence)}


def _evidence_json(evidence: Evidence) -> Json:
    """Return the evidence without the list of all names, which only checks need."""
    return {name: value for name, value in as_json(evidence).items() if name != "names"}


class GeneratedTriggers(NamedTuple):
    """Trigger evals that were made from a skill's own text."""

    messages: TriggerSet
    path: str
    """The file that was written; "" in a dry run."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class Distilled(NamedTuple):
    """The skill that was distilled from a session, or that a dry run would write."""

    skill: str
    description: str
    allowed_tools: tuple[str, ...]
    fork: bool
    findings: tuple[Note, ...]
    """Findings of the linter."""
    created: bool
    """Whether the skill is new."""
    changes: Changes | None
    """The changes that were written or proposed; None in a dry run."""
    path: str
    version: str
    text: str
    """The whole SKILL.md."""
    files: Mapping[str, str]
    """The other files of the skill."""
    changed: bool
    """Whether the content differs from before."""
    similar: tuple[Similar, ...]
    warnings: tuple[str, ...]
    model: Help | None
    """The model that wrote it."""
    draft: bool
    """Whether it is an outline that no model wrote. No model is offered it until its draft note is removed."""
    evidence: Evidence
    """The evidence that the skill is based on."""
    report: tuple[Note, ...] | None = None
    """Notes about parts left out of the transcript; None if no transcript was read."""

    def to_json(self) -> Json:
        """Return the skill as JSON; in a dry run, with the content that would be written."""
        answer = {"success": True, "skill": self.skill, "description": self.description}
        answer |= {"allowed_tools": list(self.allowed_tools), "fork": self.fork}
        answer["findings"] = [finding.to_finding() for finding in self.findings]
        if self.changes is None:
            answer |= {"path": self.path, "version": self.version, "created": self.created, "changes": self.changed}
            answer |= {"dry_run": True, "text": self.text, "files": dict(self.files), "similar": as_json(self.similar)}
        else:
            answer |= self._written(self.changes)
        answer |= {"warnings": list(self.warnings), "model": as_json(self.model), "draft": self.draft}
        answer["evidence"] = _evidence_json(self.evidence)
        return answer if self.report is None else {**answer, "report": as_json(self.report)}

    def _written(self, changes: Changes) -> Json:
        """Return the change as one value, whether it took one operation or several."""
        told = changes.to_json()
        if (results := told.pop("results", None)) is not None:
            last = {name: results[-1][name] for name in ("version", "digest")}
            told = {**results[0], **last, **told, "entry": changes.entries[-1] if changes.entries else None}
        told = {"created": False, "similar": [], **told, "skill": told["name"]}
        return {name: value for name, value in told.items() if name not in ("name", "action")}


class SkillLearning:
    """Turns experience into skills. Its parts are created when they are first needed."""

    def __init__(
        self,
        workspace: Workspace,
        stores: Stores,
        *,
        editor: Callable[[], SkillEditor],
        matcher: Callable[[], SkillMatcher],
        progress: Callable[[Progress], None],
    ) -> None:
        self._workspace = workspace
        self._place = workspace.place
        self._stores = stores
        self._editor, self._matcher, self._progress = editor, matcher, progress

    @property
    def context(self) -> LearningContext:
        """The context for the functions of `whet.learning`."""
        from whet.learning.context import LearningContext

        stores = self._stores
        known = (stores.sessions, stores.usage, stores.feedback)
        return LearningContext(self._workspace, self._editor(), *known, self._attempt)

    def _attempt(self, task: Task, model: Model) -> Output:
        """Let a model do a task of a skill's evals in a run."""
        from whet.runtime.trials import Trials

        return Trials(self._workspace)(task, model)

    @property
    def usage(self) -> Usage:
        """Views, uses and outcomes of each skill. All of it stays on this machine."""
        return self._stores.usage

    @property
    def sessions(self) -> Sessions:
        """The sessions that the hooks of clients reported, and the failures of hooks."""
        return self._stores.sessions

    # outcomes

    def usage_totals(self) -> UsageTotals:
        """Return the counts of every skill, and the skills that cost tokens in every prompt but are not used."""
        from whet.learning.curator import find_dead
        from whet.learning.usage import UsageTotals
        from whet.library.visibility import MODEL
        from whet.prompt.requests import visible

        snapshot = self._workspace.snapshot()
        names = {str(card.id): card.qualified for card in snapshot.catalogue.cards}
        dead = find_dead(visible(snapshot, MODEL), self.usage.totals(), self._workspace.clock())
        return UsageTotals(self.usage.named(names), self.usage.problems, dead)

    def note_outcome(self, name: str, outcome: str) -> OutcomeNoted:
        """Record the outcome of a skill: it `helped`, it `failed`, or the user `corrected` the result.

        It counts for the current version. Raises UsageError `bad-outcome`.
        """
        if outcome not in OUTCOMES:
            raise UsageError(
                "bad-outcome", f"{outcome!r} is not an outcome.", hint=f"Use one of {', '.join(OUTCOMES)}."
            )
        card, _ = self._workspace.find(name)
        recorded = self.usage.record(OUTCOMES[outcome], str(card.id), self._workspace.open(card).digest)
        return OutcomeNoted(card.full_name, outcome, recorded)

    def used(self, catalogue: Catalogue) -> dict[str, Use]:
        """Return how often each skill was used and when last, by the key of its name, in any scope."""
        if not (totals := self.usage.totals()):
            return {}
        from whet.library.catalogue import CardsById
        from whet.prompt.index import Use
        from whet.skill.names import key

        found: dict[str, Use] = {}
        cards = CardsById(catalogue)
        for total in totals:
            if (card := cards.get(total.skill)) is None:
                continue  # the skill no longer exists
            name = key(card.name)
            before = found.get(name, Use(0, 0))
            found[name] = Use(before.times + total.uses, max(before.last, total.last_used))
        return found

    def record(self, kind: Kind, card: Card, digest: str) -> None:
        """Count that a skill was viewed or used. It never fails and never waits."""
        self.usage.record(kind, str(card.id), digest)

    # the curator

    @property
    def curating(self) -> Curating:
        """The curator behind `curate`, `pin` and `archive`."""
        from whet.learning.curator import Curating

        return Curating(self._editor(), self.usage)

    def archive(self, name: str, reason: str = "", run: str = "") -> Change:
        """Archive a skill: it leaves the library and the lock, and `undo` restores it.

        Changes with the same `run` are undone together. Raises ConflictError for a pinned skill, RefusedError for one
        that the user may not archive.
        """
        return self.curating.archive(name, reason, run)

    def curate(self, *, apply: bool = False, if_due: bool = False) -> Curation:
        """Return the plan or, with `apply`, the result of the curator for skills that an agent wrote and nobody uses.

        With `if_due`, it works only after an interval. Everything archived is one `run`, which `undo` reverses; merges
        become proposals.
        """
        return self.curating.curate(apply=apply, if_due=if_due)

    # routing

    def duplicates(
        self, name: str | None = None, threshold: float | None = None, limit: int | None = None
    ) -> Duplicates:
        """Return the pairs of skills for the same job, or the skills similar to one skill, most similar first.

        It returns at most `limit` of them, with a score of at least `threshold` (0.5).
        """
        from whet.routing.duplicates import find_duplicates

        most = {} if limit is None else {"most": limit}
        return find_duplicates(self._workspace, name, threshold, **most)

    def eval_triggers(
        self, names: Sequence[str] = (), *, file: str | None = None, held_out: bool = False, suggest: bool = False
    ) -> TriggerEvals:
        """Measure how well these skills, or all skills with trigger evals, come up for the messages they are for.

        The cases come with the skills, or from a `file`. With `held_out`, the numbers are about two fifths of them, and
        suggestions come from the rest; with `suggest`, the report has words that would help. Raises NotFoundError for a
        skill without evals, InvalidError for a file without any.
        """
        from whet.routing.evals.judge import IndexJudge, Trial
        from whet.routing.evals.report import eval_triggers

        index_manager, snapshot = self._matcher().index_manager, self._workspace.snapshot()
        with Trial(index_manager, snapshot) as trial:
            return eval_triggers(
                self._workspace,
                IndexJudge(index_manager, snapshot),
                names,
                file=file,
                held_out=held_out,
                suggest=suggest,
                try_phrase=trial.with_phrase,
            )

    def list_evals(self, *names: str) -> tuple[SkillEvals, ...]:
        """Return the skills that have trigger evals, tasks or tests; with names, what these skills have."""
        from whet.learning.evals.subject import list_evals

        if names:
            return list_evals(self._workspace.find(name)[0] for name in names)
        found = list_evals(self._workspace.snapshot().catalogue.cards)
        return tuple(skill for skill in found if skill.triggers or skill.tasks or skill.tests)

    def collect_evals(self, path: str | os.PathLike[str], *, results: str | os.PathLike[str] = "") -> CollectedEvals:
        """Collect the eval results of the skill in a directory of the library, for publishing with the skill.

        It runs the trigger evals. `results` is where `eval_skill` kept the results of a model; they must be for exactly
        this content. Raises NotFoundError for a skill that is not in the library or has no evals, InvalidError
        `evals-outdated` for results of another version.
        """
        from whet.learning.evals.publication import collect_evals

        return collect_evals(
            self._workspace, path_text(path), path_text(results), lambda name: self.eval_triggers([name])
        )

    def generate_triggers(self, name: str, *, dry_run: bool = False) -> GeneratedTriggers:
        """Generate fifty messages for the trigger evals of a skill from its text, marked as generated.

        They are written into the skill and replace earlier generated ones; the version stays, and `undo` reverses it.
        Raises RefusedError for a plugin's or an administrator's skill, UsageError for one that is a single file,
        ConflictError for a file that no longer says that it was generated.
        """
        from whet.authoring.main_file import main_of
        from whet.authoring.writer import USER
        from whet.library.package import read_tree
        from whet.routing.evals.generated import generate
        from whet.skill.dialects import read_skill

        card, _ = self._workspace.find(name)
        if dry_run:
            document = main_of(read_tree(card.place) or {}).document
            return GeneratedTriggers(generate(read_skill(document, fallback_name=card.name)), "")
        return GeneratedTriggers(*self._editor().write_triggers(card, USER._replace(reason="Generated trigger evals.")))

    def feedback(self, name: str | None, message: str, *, fits: bool, origin: str = "person") -> Noted:
        """Record that a message is, or is not, for a skill; later answers take it into account.

        With None for the name and `fits=False`, no skill comes up for such a message. Use `note_outcome` for how a
        skill did once it was used.
        """
        from whet.routing.feedback import give

        return give(self._stores.feedback, self._workspace, name, message, fits=fits, origin=origin)

    def list_feedback(self, name: str | None = None) -> Remarks:
        """Return the feedback on a skill, or on all of them, newest first; "" is for messages for no skill."""
        from whet.routing.feedback import listed

        return listed(self._stores.feedback, self._workspace, name)

    def forget_feedback(self, name: str | None, message: str | None = None) -> Forgotten:
        """Delete the feedback on a message, or all feedback on a skill; None is for messages for no skill."""
        from whet.routing.feedback import forget

        return forget(self._stores.feedback, self._workspace, name, message)

    # tests and evals

    def model(self, spec: str | Model | None = None) -> Model | None:
        """Return the language model of that name, such as `openai:gpt-5`, or the one that the settings name.

        A Model is returned as it is; an empty name means no model, regardless of the settings.
        """
        named = self._workspace.config().settings.model if spec is None else spec
        if not isinstance(named, str):
            return named
        if not named:
            return None
        from whet.learning.models.providers import open_model

        return open_model(named, self._place.env)

    def run_tests(self, name: str, *, only_list: bool = False) -> OwnTests:
        """Run a skill's tests in the sandbox, or only list them.

        If one fails, `problem` says so (`tests-failed`). Raises NotFoundError `no-tests`, RefusedError `no-sandbox`.
        """
        from whet.learning.evals.skill_tests import run_own_tests

        return run_own_tests(self._workspace, name, only_list=only_list, progress=self._counting("Tests", "tests"))

    def eval_skill(
        self,
        name: str,
        model: str | Model | None = None,
        *,
        grader: str | Model | None = None,
        runs: int = 1,
        against: str = "none",
        out: str | os.PathLike[str] | None = None,
        min_pass_rate: float | None = None,
        budget: int = TOKENS,
    ) -> Evaluation:
        """Let a model do a skill's evals with the skill and without it, or with its previous version, and compare.

        `grader` judges sentences; without it, the model itself does. With `out`, all results are kept there. `budget`
        is the number of tokens for the whole call. The `problem` is that runs are missing (`eval-incomplete`), that the
        skill does worse than its comparison (`eval-worse`), or that it stays below `min_pass_rate` (`below-minimum`).
        Raises NotFoundError `no-output-evals`, UsageError `model-not-named`, and ModelError if no run produced a
        result.
        """

        from whet.learning.evals.evaluation import eval_skill
        from whet.learning.evals.publication import record_evaluation
        from whet.learning.evals.subject import subject_at

        digest = self._workspace.open(self._workspace.find(name)[0]).digest
        subject_at(self._workspace, name).evals()  # report problems of the evals before missing models
        evaluation = eval_skill(
            self._workspace,
            self._editor().journal,
            name,
            self._needed(model, "Measuring what a skill does needs a model."),
            self._attempt,
            grader=self.model(grader or ""),
            runs=runs,
            against=against,
            out=None if out is None else path_text(out),
            min_pass_rate=min_pass_rate,
            tokens=budget,
            progress=self._counting(f"Evals of {name}", "runs"),
        )
        record_evaluation(self._workspace.gate.audit, evaluation, digest)
        return evaluation

    def check_release(self, skill: Prepared, path: str, outputs: OutputResults | None = None) -> tuple[Note, ...]:
        """Run the tests of a skill that is about to be published, and check whether its evals passed.

        The notes name the problems: `tests-failed`, `tests-not-run`, `evals-failed`, `evals-not-run`. Evals count if
        `eval_skill` measured exactly this content, or if `outputs` are their results.
        """
        from whet.learning.evals.publication import find_problems

        audit, told = self._workspace.gate.audit, self._counting(f"Tests of {skill.name}", "tests")
        return tuple(find_problems(skill, path, audit, self._place, outputs, told))

    def optimise_description(self, name: str, model: str | Model | None = "", *, apply: bool = False) -> Description:
        """Look for a description that brings a skill up more often when it fits, and less often when it does not.

        Candidates come from a model, if one is named, otherwise from words in the trigger evals. One is `improved` only
        if it does better on messages that were held out, and no other skill does worse. It is written only with
        `apply`; `applied` says whether it was: one that a model worded for an installed skill becomes a proposal.
        Raises NotFoundError `too-few-trigger-evals`.
        """
        from whet.learning.evals.descriptions import optimise_description

        asked = self.model(model)
        found = optimise_description(self._workspace, self._matcher().index_manager, name, asked)
        if not (apply and found.improved):
            return found
        from whet.authoring.main_file import main_of
        from whet.authoring.writer import Provenance
        from whet.learning.evals.subject import subject_at
        from whet.skill.edit import set_value

        text = set_value(main_of(subject_at(self._workspace, name).tree).text, "description", found.description)
        gain = f"{found.before.held_out:.2f} to {found.after.held_out:.2f}"
        reason = f"A description that does better on held-out trigger evals: {gain}."
        actor = "agent" if asked else "user"
        change = self._editor().edit(name, text, by=Provenance(actor, reason=reason))
        return found._replace(applied=change.proposal is None, version=change.version)

    def improve(
        self,
        name: str,
        model: str | Model | None = None,
        *,
        grader: str | Model | None = None,
        rounds: int = 3,
        edits: int = 4,
        runs: int = 1,
        write: bool = False,
        dry_run: bool = False,
        budget: int = TOKENS,
    ) -> Improvement:
        """Improve a skill by its evals: a model proposes at most `edits` small edits a round, and the gate decides.

        A candidate is accepted only if it is valid, strictly better on the evals, and worse on none. An accepted
        candidate becomes a proposal or, with `write`, the next version; for a skill that is pinned, installed or not
        the user's own, it always becomes a proposal. With `dry_run`, nothing is kept at all. The `problem` is that
        nothing is better (`not-improved`), or that a model failed. Raises NotFoundError `no-output-evals`,
        ConflictError `skill-changed` if the skill changed in the meantime, FailedError if the skill cannot be measured.
        """
        from whet.learning.evals.subject import subject_at
        from whet.learning.improve import improve

        subject_at(self._workspace, name).evals()
        return improve(
            self.context,
            name,
            self._needed(model, "Improving a skill needs a model."),
            grader=self.model(grader or ""),
            rounds=rounds,
            edits=edits,
            runs=runs,
            write=write,
            dry_run=dry_run,
            tokens=budget,
            progress=self._counting(f"Evals of {name}", "runs"),
        )

    def _needed(self, spec: str | Model | None, why: str) -> Model:
        """Return the model of that name or of the settings. Raises UsageError if there is none."""
        model = self.model(spec)
        if model is None:
            from whet.library.settings import config_path

            file = config_path(self._place.state, self._place.env)
            hint = f"Pass `--model`, such as openai:gpt-5 or recorded:FILE, or set `model` in {file}."
            raise UsageError("model-not-named", why, hint=hint)
        return model

    def _counting(self, what: str, unit: str) -> Callable[[int, int], None]:
        """Return a function that reports progress in units of this kind."""
        from whet.notes import Progress

        return lambda done, every: self._progress(Progress(what, done, every, unit))

    # sessions

    def transcript(self, source: Session, *, evidence: bool = False) -> SessionRead:
        """Return a session as Whet reads it, with secrets hidden; with `evidence`, also the evidence in it.

        `source` is the path of a transcript, a Transcript, a Recorder, or a list of messages. Raises InvalidError
        `not-a-transcript`, NotFoundError `transcript-missing`.
        """
        from whet.learning.distill.rounds import session_of

        read = session_of(source)
        if not evidence:
            return SessionRead(read)
        from whet.learning.evidence.session import evidence_of

        return SessionRead(read, evidence_of(read))

    def recent_sessions(self, limit: int = 20) -> tuple[RecentSession, ...]:
        """Return the sessions that wait and the newest ones that clients keep on this machine, newest first.

        `about` is its subject, with secrets hidden; `source` names it for `open_session`, `learn` and `distill`.
        """
        from whet.learning.selection.recent import list_recent

        return list_recent(self.context, limit)

    def open_session(self, source: str | os.PathLike[str]) -> Transcript:
        """Return the session that CLIENT:ID, CLIENT, `last` or the path of a transcript names, with secrets hidden.

        CLIENT alone and CLIENT:last are its newest session; the beginning of an ID that hooks reported is enough.
        Raises NotFoundError `no-such-session`, `no-session-waits` or `transcript-missing`, InvalidError
        `not-a-transcript`.
        """
        import os

        from whet.learning.distill.rounds import session_of
        from whet.learning.selection.learn import read_source

        source = path_text(source)
        if not os.path.lexists(os.path.expanduser(source)):
            source = self._name_session(source)
        if ":" not in source or os.path.lexists(os.path.expanduser(source)):
            return session_of(source)
        try:
            return read_source(self.context, source)
        except NotFoundError as error:
            if error.code != "no-such-session":
                raise
            hint = "`whet distill` lists recent sessions on a terminal; `whet distill FILE` takes any other."
            raise NotFoundError("no-such-session", error.message, hint=hint) from None

    def _name_session(self, said: str) -> str:
        """Return CLIENT:ID for `last`, a client or its alias, or the beginning of an id; otherwise the text itself."""
        from whet.learning.selection.recent import no_session
        from whet.library.clients import client_named

        if said == "last":
            if newest := self.recent_sessions(1):
                return newest[0].source
            raise no_session()
        client, colon, id_ = said.partition(":")
        try:
            client = client_named(client).name
        except NotFoundError:
            client, id_ = "", "" if colon else said
        if client and not colon:
            return f"{client}:last"
        known = [(one.client, one.id) for one in self.context.sessions.all() if client in ("", one.client)]
        begin = [one for one in known if len(id_) >= _SHORTEST_ID and one[1].startswith(id_)]
        if len(begin) == 1:
            return ":".join(begin[0])
        return f"{client}:{id_}" if client else said

    @property
    def distillations(self) -> DistillationStore:
        """The unfinished distillations, which can be continued."""
        from whet.learning.distill.rounds import Kept

        return Kept(self._workspace.state, self._workspace.clock)

    def distill(
        self,
        source: Session,
        *,
        name: str = "",
        answers: Mapping[str, Any] | None = None,
        model: str | Model | None = None,
        dry_run: bool = False,
    ) -> Distilled:
        """Turn a session into a skill. Missing answers are the proposed ones; without a model the skill is an outline.

        `source` is the path of a transcript, a Transcript, a Recorder, or a list of messages. `answers` are those of
        the rounds, by the names of their fields, where they differ from the proposed ones; `model` is that of
        `begin_distillation`. Returns the same as `finish_distillation`; `report` says what was left out of the
        transcript. Raises InvalidError `not-a-transcript` or `nothing-to-distill`, UsageError `bad-answer`.
        """
        from whet.learning.distill.rounds import session_of

        transcript = session_of(source)
        given = {**(answers or {}), **({"name": name} if name else {})}
        distillation = self.begin_distillation(transcript, model=model).answer_all(given)
        return self.finish_distillation(distillation, dry_run=dry_run)._replace(report=transcript.report)

    def begin_distillation(self, source: Session, *, model: str | Model | None = None) -> Distillation:
        """Begin the four rounds in which a session becomes a skill. Nothing is written before the end.

        If one of the user's own skills is already for the same job, its name is proposed, and that skill is improved.
        `model` writes the skill: the name of a model, a Model, "" for none, None for the one in the setting `model`.
        Without a model, or if it fails, the skill is an outline. A model that is named here and cannot be opened raises
        an error.
        """
        from whet.learning.distill.rounds import begin, session_of, without_taken_name

        distillation = begin(session_of(source))
        made = distillation.draft()
        known = self._known(made)
        distillation = self._written(distillation._replace(known=known), model)
        if known or distillation.written is None:
            return distillation
        if known := self._known(distillation.draft()._replace(name=made.name)):
            return distillation._replace(known=known)
        return without_taken_name(distillation, {card.name for card in self._workspace.snapshot().catalogue.cards})

    def finish_distillation(
        self,
        distillation: Distillation,
        *,
        dry_run: bool = False,
        stage: bool = False,
        actor: str = "user",
        allowed: Callable[[Card], None] | None = None,
    ) -> Distilled:
        """Write the skill from the rounds: a new one, or the next version of the skill with that name.

        Rounds without an answer use the proposed one. With `stage`, it waits as a proposal; `allowed` raises for a
        skill that must not be changed. It raises the same errors as the editor. With `dry_run`, nothing is written.
        """
        from whet.authoring.writer import Provenance
        from whet.learning.distill.operations import reason_of, writing_of
        from whet.skill.validate import ValidationInput, validate

        distillation = distillation.answer_all({})
        writing = writing_of(self._workspace, self._editor().journal, distillation)
        made, editor = writing.made, self._editor()
        package = ValidationInput(made.name, writing.text, files=("SKILL.md", *made.files))
        warnings = [*distillation.warnings, *writing.kept]
        new = not writing.path
        if made.here and not new:
            warnings.append(f"{made.name} already exists; it stays in {writing.path}.")
        elif made.here and not self._workspace.config().trusted:
            warnings.append("The project is not trusted yet; after `whet guard trust`, its skills load.")
        changes = None
        if not dry_run:
            by = Provenance(actor, reason=reason_of(distillation))
            changes = editor.apply(
                list(writing.operations), by, stage=stage, allowed=allowed, triggers=True, here=made.here
            )
            warnings += changes.notes
            if stage or changes.proposal is None:
                warnings += self._note_learned(distillation)
        return Distilled(
            *(made.name if changes is None else changes.changes[0].skill, made.description, made.tools),
            made.fork,
            tuple(validate(package, "quality")),
            new if changes is None else bool(changes.changes[0].created),
            changes,
            writing.path if changes is None else changes.changes[0].path,
            writing.version if changes is None else changes.changes[-1].version,
            writing.text,
            dict(made.files),
            writing.after != writing.before,
            (editor.similar(made.name, made.description, made.body) if new else ())
            if changes is None
            else changes.changes[0].similar,
            tuple(warnings),
            distillation.help,
            made.outline,
            distillation.evidence,
        )

    def learn(
        self,
        *sources: Session | Seen,
        write: bool | None = None,
        model: str | Model | None = None,
        dry_run: bool = False,
        limit: int | None = None,
    ) -> Lessons:
        """Learn from finished sessions: the named ones, or all that wait, newest first, within the daily limit.

        A source is CLIENT:ID of a session that hooks reported, the path of a transcript, or one in memory: a
        Transcript, a Recorder, messages. A session that is worth it becomes a proposal or, with `write`, a skill, if it
        passes the checks; None means the setting `learn`. `model` is that of `begin_distillation`. A single source that
        does not exist raises an error; among several, it gets a report with an `error`.
        """
        return self._learn(sources, write, model, dry_run=dry_run, limit=limit)

    def recorder(self, session: str = "", path: str = "") -> Recorder:
        """Return a recorder for an agent loop, for `finish`. With a `path`, it writes a file for `learn sessions`."""
        from whet.learning.transcripts.recorder import Recorder

        return Recorder(path, session=session, project=self._place.directory, clock=self._workspace.clock)

    def finish(self, source: Session | Seen, *, write: bool | None = None, model: str | Model | None = None) -> Report:
        """Learn from a session that is over, as the setting `learn` says, and return the report.

        It does nothing if the setting is `off` or `note`, if the daily limit or the breaker stops it, or if a session
        that hooks reported does not wait; `code` says so. `write` and `model` are those of `learn`. A failure is an
        `error` in the report.
        """
        from whet.learning.selection.worth import Report

        level = self._workspace.config().settings.learn
        if level in ("off", "note"):
            return Report(False, "learning-off", (f"The setting `learn` is {level}.",))
        try:
            lessons = self._learn((source,), write, model, asked=False)
        except FailedError as error:
            return Report(False, error.code, (error.message,), error=error.message, hint=error.hint)
        if lessons.sessions:
            report = lessons.sessions[0]
            warnings = (*lessons.warnings, *(report.warnings or ()))
            return report._replace(warnings=warnings) if warnings else report
        if lessons.stopped:
            return Report(False, lessons.stopped, (lessons.stopped_why,))
        return Report(False, "not-waiting", ("It is still running, or a skill has already been made from it.",))

    def _learn(
        self,
        sources: tuple[Any, ...],
        write: bool | None,
        model: str | Model | None,
        *,
        dry_run: bool = False,
        limit: int | None = None,
        asked: bool = True,
    ) -> Lessons:
        import os

        from whet.learning.selection.learn import learn_from

        sources = tuple(os.fspath(one) if isinstance(one, os.PathLike) else one for one in sources)
        if write is None:
            write = self._workspace.config().settings.learn == "write"
        warnings: list[str] = []
        opened = None if dry_run else self._opened(model, warnings)
        lessons = learn_from(
            self.context, sources, write=write, model=opened, dry_run=dry_run, limit=limit, asked=asked
        )
        return lessons._replace(warnings=(*warnings, *lessons.warnings))

    def _opened(self, named: str | Model | None, warnings: list[str]) -> Model | None:
        """Return the requested model. If the one in the settings cannot be opened, only add a warning."""
        try:
            return self.model(named)
        except WhetError as error:
            if named is not None:
                raise
            warnings.append(f"The skill was made without the configured model ({error.code}): {error.message}")
            return None

    def _known(self, made: Draft) -> str:
        """Return the name of the skill that a draft will improve; "" if the draft is a new skill."""
        from whet.learning.distill.relatives import relative_of

        if made.name in {card.name for card in self._workspace.snapshot().catalogue.cards}:
            return made.name
        near = relative_of(self.context, made)
        return near.card.name if near is not None and near.own else ""

    def _written(self, distillation: Distillation, named: str | Model | None) -> Distillation:
        """Return the distillation with the skill that a model wrote, if there is a model."""
        warnings: list[str] = []
        model = self._opened(named, warnings)
        if model is None:
            return distillation._replace(warnings=tuple(warnings))
        from whet.learning.distill.rounds import written_by

        existing = self._workspace.read(self._workspace.find(distillation.known)[0]).body if distillation.known else ""
        return written_by(distillation, model, existing)

    def _note_learned(self, distillation: Distillation) -> list[str]:
        """Record that a session was learned from; return warnings if that fails."""
        try:
            self.sessions.learned(*distillation.source)
        except WhetError as error:
            return [f"The session still counts as waiting: {error.message}"]
        return []
