"""`whet learn improve`: evals fail, a model proposes a few edits, the gate decides, and only what is better stays.

Nothing is written before the end, and then all of it as one change: a proposal, or the next version. Where the skill
was changed by somebody else meanwhile, nothing is written at all: what was measured is not what is there.
"""

from __future__ import annotations

import json
import math
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.drafts import improve as with_body
from whet.authoring.history import difference
from whet.authoring.main_file import main_of, version_of
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance
from whet.errors import ConflictError, FailedError, UsageError, WhetError
from whet.learning.context import held_back
from whet.learning.evals.evaluation import TOKENS, measured
from whet.learning.evals.gate import Gate, Reason, Verdict
from whet.learning.evals.results import scores
from whet.learning.evals.subject import Subject
from whet.learning.improvement.edits import Edit, Matter, ask, failures
from whet.learning.models.model import Budget, Budgeted
from whet.learning.usage import counted_as
from whet.library.package import read_tree
from whet.notes import Note
from whet.skill.tree import Item
from whet.store.clock import iso
from whet.values import Json, as_json, failure_json, fields_json, read_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from whet.authoring.proposals import Proposal
    from whet.learning.context import LearningContext
    from whet.learning.evals.formats import Eval
    from whet.learning.evals.results import Run
    from whet.learning.evals.task_runs import Try
    from whet.learning.improvement.edits import Edited
    from whet.learning.models.model import Model
    from whet.learning.usage import Usage
    from whet.library.card import Card
    from whet.library.roots import Place
    from whet.routing.feedback import Feedback
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase
    from whet.values import Json

ROUNDS = 3
EDITS = 4
"""Edits in one round: few enough to know what did it."""
_MOST = {"rounds": 20, "edits": 20, "runs": 100}
MARK = "Improved by its evals"
"""How the reason of every change begins that comes from here."""


class Scores(NamedTuple):
    """How one version does: on all evals, on those it was learned from, and on those held out."""

    score: float | None
    learned: float | None
    held_out: float | None
    evals: Mapping[str, float]


class Kept(NamedTuple):
    """What became of a better version: it is written, or waits as a proposal."""

    version: str
    reason: str
    entry: int | None = None
    """What the history got."""
    proposal: int | None = None
    cause: str = ""
    """Why it is a proposal."""
    hint: str = ""

    def to_json(self) -> Json:
        """As answers hold it."""
        told = {"version": self.version, "reason": self.reason}
        if self.proposal is None:
            return {**told, "written": True, "entry": self.entry}
        return {**told, "staged": True, "proposal": self.proposal, "cause": self.cause, "hint": self.hint}


class Improvement(NamedTuple):
    """What came of improving a skill by its evals."""

    name: str
    path: str
    model: str
    grader: str
    improved: bool
    before: Scores
    after: Scores
    rounds: tuple[Round, ...]
    learned_from: int
    held_out: int
    tokens: int
    stopped: Stop | None
    """Why it ended early."""
    diff: str
    report: tuple[Note, ...]
    warnings: tuple[str, ...]
    kept: Kept | None = None
    """None where nothing is better, or nothing is to be kept."""

    @property
    def problem(self) -> Note | None:
        """What makes it a failure."""
        if self.improved or (self.stopped and self.stopped.code == ALL_MET):
            return None
        if self.stopped:
            return Note(self.stopped.code, "error", self.stopped.message, self.stopped.hint)
        last = self.rounds[-1]
        why = f" The last one: {last.reasons[0].message}" if last.reasons else ""
        message = f"{self.name} is unchanged: no candidate is better.{why}"
        hint = "`rounds` lists what was tried. Try more `--rounds`, another `--model`, or review the evals."
        return Note("not-improved", "error", message, hint)

    def to_json(self) -> Json:
        """The value as JSON."""
        told = fields_json(self)
        kept = told.pop("kept") or {}
        return failure_json({"success": True, **told, "written": False}, self.problem) | kept


def improve(
    context: LearningContext,
    name: str,
    model: Model,
    *,
    grader: Model | None = None,
    rounds: int = ROUNDS,
    edits: int = EDITS,
    runs: int = 1,
    write: bool = False,
    dry_run: bool = False,
    tokens: int = TOKENS,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Improvement:
    """A better version of a skill, proved by its evals; see `SkillLearning.improve`."""
    for what, value in (("rounds", rounds), ("edits", edits), ("runs", runs)):
        if not 1 <= value <= _MOST[what]:
            message, hint = f"{value} is not a number of {what}.", f"Use 1 to {_MOST[what]}."
            raise UsageError("bad-amount", message, hint=hint)
    bench = _Bench(context, name, model, grader or model, edits, runs, tokens, progress)
    course = bench.course
    try:
        try:
            course.run(rounds, bench.check_unchanged, remember=not dry_run)
        except KeyboardInterrupt:
            if bench.better and not dry_run:
                bench.keep(write=False)
            raise
        kept = bench.keep(write=write) if bench.better and not dry_run else None
    except WhetError as error:
        if course.rounds:  # what was paid for is told
            error.details.update(rounds=[one.to_json() for one in course.rounds])
        raise
    return bench.told()._replace(kept=kept)


class _Bench:
    """One skill that is being improved, with all that takes."""

    def __init__(
        self,
        context: LearningContext,
        name: str,
        model: Model,
        grader: Model,
        edits: int,
        runs: int,
        tokens: int,
        progress: Callable[[int, int], None],
    ) -> None:
        workspace, editor = context.workspace, context.editor
        self._context, self._model, self._grader, self._runs = context, model, grader, runs
        self._card, _ = workspace.find(name)
        target = editor.target(self._card)
        self._path = target.source or target.path
        self._tree = target.original or target.before or {}
        self._subject = Subject(self._card.full_name, self._card.directory, self._tree)
        self._evals = self._subject.evals()
        self._learn, self._held = split(self._evals.evals)
        self._budget = Budget(tokens=tokens)
        doing = Budgeted(model, self._budget)
        judge = Budgeted(grader, self._budget)
        self._trials = Trials(
            workspace.place, self._subject, doing, judge, context.attempt, runs=runs, progress=progress
        )
        self._buffer = Buffer(workspace.state, self._path, workspace.clock)
        refused = editor.proposals.all("rejected")
        matter = Matter(
            self._subject.name,
            self._subject.skill().description,
            body_of(self._tree),
            self._subject.visible(),
            (),
            heard_of(self._card, self._tree, self._path, context.usage, context.feedback, refused),
            (),
            [item.prompt for item in self._evals.evals],
        )
        self.course = Course(
            *(self._trials, matter, doing, self._budget, self._buffer),
            learn=self._learn,
            refused={change.after for one in refused for change in one.changes},
            edits=edits,
        )

    @property
    def better(self) -> bool:
        """Is there anything to keep?"""
        return any(one.verdict == "accepted" for one in self.course.rounds)

    def check_unchanged(self) -> None:
        """Raise ConflictError where the skill is not any more what is being improved."""
        self._check(digest(read_tree(self._path)))

    def _check(self, seen: str) -> None:
        if seen != digest(self._tree):
            message = f"{self._subject.name} was changed by another process in the meantime."
            hint = "Nothing was written. Run it again to measure the current skill."
            raise ConflictError("skill-changed", message, hint=hint, path=self._path)

    def told(self) -> Improvement:
        """The answer, but for what becomes of it."""
        course = self.course
        before, after = (self._trials.measure(tree) for tree in (self._tree, course.best))
        return Improvement(
            *(self._subject.name, self._subject.directory, self._model.name, self._grader.name, self.better),
            *(self._scores(before), self._scores(after), tuple(course.rounds), len(self._learn), len(self._held)),
            *(self._budget.spent().tokens, course.stopped),
            difference(self._tree, course.best, ("now", "better")) if self.better else "",
            self._evals.report,
            (self._buffer.problem,) if self._buffer.problem else (),
        )

    def _scores(self, measured: Measured) -> Scores:
        return Scores(measured.mean(), measured.mean(self._learn), measured.mean(self._held), dict(measured.scores))

    def keep(self, *, write: bool) -> Kept:
        """Write the better version, or propose it where it is not to be written, or may not be."""
        kept_back = held_back(self._context, self._card)
        before, after = (self._trials.measure(tree).mean() or 0.0 for tree in (self._tree, self.course.best))
        how = f"evals: {len(self._evals.evals)}, runs: {self._runs}, model: {self._model.name}"
        reason = f"{MARK}: {before:.2f} before, {after:.2f} after ({how})."

        def viewed(_path: str, seen: str) -> bool:
            self._check(seen)
            return True

        if not write and (known := self._proposed_already()):
            return known
        made = self._context.editor.apply(
            [{"action": "edit", "name": self._card.path, "body": main_of(self.course.best).text}],
            Provenance("agent", "background", reason),
            stage=not write or bool(kept_back),
            viewed=viewed,
        )
        change = made.one()
        if made.proposal is None:
            return Kept(change.version, reason, entry=change.id)
        cause = kept_back if write and kept_back else made.reason
        return Kept(change.version, reason, proposal=made.proposal, cause=cause, hint=made.hint)

    def _proposed_already(self) -> Kept | None:
        """The proposal that says the same and waits."""
        proposals, best = self._context.editor.proposals, self.course.best
        for proposal in proposals.all("pending"):
            for change in proposals.changes(proposal):
                after = change.after if change.path == self._path else None
                new = main_of(after).document if after else None
                if after and new and _rest(after) == _rest(best) and new.body == main_of(best).document.body:
                    cause, hint = (
                        "The same change was already proposed.",
                        (f"`whet proposals approve {proposal.id}` does it."),
                    )
                    return Kept(version_of(new), proposal.reason, proposal=proposal.id, cause=cause, hint=hint)
        return None


def _rest(tree: Mapping[str, Item]) -> dict[str, Item]:
    """What is there beside the main file."""
    main = main_of(tree).path
    return {path: item for path, item in tree.items() if path != main}


ALL_MET = "all-met"
"""What it stops for when nothing is left to learn from."""


class Round(NamedTuple):
    """One round, as it is told."""

    edited: Edited
    verdict: str
    """`accepted`, `rejected`, `known` (rejected before), `unusable` (no edit could be applied), or `undecided`."""
    reasons: tuple[Reason, ...] = ()
    before: float | None = None
    after: float | None = None
    """Mean scores; None where nothing was measured."""
    tokens: int = 0

    def to_json(self) -> Json:
        """As answers hold it."""
        edited, verdict, *others = (as_json(part) for part in self)
        told = {"verdict": verdict, "edits": edited["done"], "refused": edited["refused"]}
        return told | dict(zip(self._fields[2:], others, strict=True))


class Stop(NamedTuple):
    """Why it ended before all rounds were done."""

    code: str
    message: str
    hint: str = ""


class Course:
    """A skill on its way."""

    def __init__(
        self,
        trials: Trials,
        matter: Matter,
        model: Model,
        budget: Budget,
        buffer: Buffer,
        *,
        learn: Collection[str],
        refused: Collection[str],
        edits: int,
    ) -> None:
        """`learn` are the evals that a model may see, `refused` digests of what people did not want."""
        self.best = trials.subject.tree
        """The best version so far."""
        self.rounds: list[Round] = []
        self.stopped: Stop | None = None
        self._trials, self._matter, self._model, self._budget = trials, matter, model, budget
        self._buffer, self._learn, self._refused, self._edits = buffer, learn, refused, edits
        self._rejected = buffer.read()

    def run(self, rounds: int, unchanged: Callable[[], None], *, remember: bool) -> None:
        """So many rounds, or fewer where nothing is left to do or can be done.

        `unchanged` raises where the skill is not any more what it was. Raises where the skill cannot be measured as it
        is; later failures only end it.
        """
        self._trials.measure(self.best)
        while len(self.rounds) < rounds and self.stopped is None:
            unchanged()
            failed = failures(self._trials.measure(self.best).runs, self._learn)
            if not failed:
                self.stopped = Stop(ALL_MET, "Every expectation is met.")
                return
            begun = self._budget.spent().tokens
            try:
                edited = ask(self._model, self._matter._replace(failed=failed, rejected=self._rejected), self._edits)
            except FailedError as error:
                self.stopped = Stop(error.code, error.message, error.hint)
                return
            done = self._tried(edited, remember=remember)
            self.rounds.append(done._replace(tokens=self._budget.spent().tokens - begun))

    def _tried(self, edited: Edited, *, remember: bool) -> Round:
        """What becomes of an answer."""
        if not edited.done:
            return Round(edited, "unusable", tuple(Reason("edit-refused", one.reason) for one in edited.refused))
        base = dict(self._trials.subject.tree)
        key = digest({**base, main_of(base).path: Item(edited.text.encode("utf-8", "surrogateescape"))})
        if known := next((one for one in self._rejected if one.digest == key), None):
            return Round(edited, "known", tuple(Reason("rejected-before", one.message) for one in known.reasons))
        try:
            tree = with_body(base, body=edited.text).tree
        except WhetError as error:  # authoring knows what it would break
            return self._refuse(key, edited, [Reason(error.code, error.message)], remember=remember)
        if digest(tree) in self._refused:
            why = Reason("rejected-before", "The same change was proposed before and rejected.")
            return Round(edited, "known", (why,))
        try:
            verdict = self._trials.judge(self.best, tree)
        except FailedError as error:
            self.stopped = Stop(error.code, error.message, error.hint)
            return Round(edited, "undecided", (Reason(error.code, error.message),))
        if verdict.accepted:
            self.best, self._matter = tree, self._matter._replace(text=edited.text)
            done = Round(edited, "accepted")
        else:
            done = self._refuse(key, edited, verdict.reasons, remember=remember)
        return done._replace(before=verdict.before, after=verdict.after)

    def _refuse(self, key: str, edited: Edited, reasons: Sequence[Reason], *, remember: bool) -> Round:
        new = rejection(key, edited.done, reasons)
        self._rejected = [*self._rejected, new]
        if remember:
            self._buffer.add(new)
        return Round(edited, "rejected", tuple(reasons))


def body_of(tree: Mapping[str, Item]) -> str:
    """The instructions as edits are made to them: with plain line ends."""
    return main_of(tree).document.body.replace("\r\n", "\n")


ENOUGH = 5
"""Evals from which on some are held out."""
HELD_OUT = 0.4
"""The share of them."""


class Measured(NamedTuple):
    """How one version of a skill does."""

    runs: tuple[Run, ...]
    scores: Mapping[str, float]

    def mean(self, among: Sequence[str] | None = None) -> float | None:
        """The mean score of all evals, or of those of these names; None of none."""
        chosen = [score for name, score in self.scores.items() if among is None or name in among]
        return math.fsum(chosen) / len(chosen) if chosen else None


class Trials:
    """Measures versions of one skill by its evals as they were when it began."""

    def __init__(
        self,
        place: Place,
        subject: Subject,
        model: Model,
        grader: Model,
        attempt: Try,
        *,
        runs: int,
        progress: Callable[[int, int], None],
    ) -> None:
        self.subject = subject
        self.gate = Gate(strict=True)
        self._place, self._model, self._grader, self._attempt = place, model, grader, attempt
        self._runs, self._progress = runs, progress
        self._known: dict[str, Measured] = {}

    def measure(self, tree: Mapping[str, Item]) -> Measured:
        """How the skill does with these files. Raises ModelError, or FailedError `eval-incomplete`."""
        key = digest(tree)
        if key not in self._known:
            done = measured(
                self._place,
                self.subject,
                {"with_skill": self.subject._replace(tree=tree)},
                self._model,
                self._attempt,
                grader=self._grader,
                runs=self._runs,
                tokens=None,
                progress=self._progress,
            )
            found = scores(done, "with_skill")
            known = {name: score for name, score in found.items() if score is not None}
            if len(known) < len(found):
                missing = next(run.error for run in done if run.error)
                hint = "Run it again with a larger budget or fewer runs."
                raise FailedError("eval-incomplete", f"Some results are missing: {missing}", hint=hint)
            self._known[key] = Measured(done, known)
        return self._known[key]

    def judge(self, now: Mapping[str, Item], tree: Mapping[str, Item]) -> Verdict:
        """Is a candidate sound beside what is on disk, and better than the best so far? Raises as `measure` does."""
        if reasons := self.gate.examine(self.subject.tree, tree, self.subject.name):
            return Verdict(reasons)
        return self.gate.compare(self.measure(now).scores, self.measure(tree).scores)


def split(evals: Sequence[Eval]) -> tuple[list[str], list[str]]:
    """The names of the evals to learn from, and of those held out; always the same ones."""
    names = [item.id for item in evals]
    if len(names) < ENOUGH:
        return names, []
    by_hash = sorted(names, key=lambda name: sha256(name.encode("utf-8", "replace")).digest())
    held = {*by_hash[: round(len(names) * HELD_OUT)]}
    return [name for name in names if name not in held], [name for name in names if name in held]


KEPT = 20
"""Candidates of one skill that are remembered."""
_SHORT = 500
"""Characters of an edit's texts that are remembered."""


class Rejected(NamedTuple):
    """A candidate that was no good."""

    digest: str
    edits: tuple[Edit, ...]
    """With the beginnings of their texts only."""
    reasons: tuple[Reason, ...]
    """What spoke against it."""
    time: str = ""


def rejection(digest: str, edits: Sequence[Edit], reasons: Sequence[Reason]) -> Rejected:
    """A candidate as it is remembered."""
    short = (Edit(**{field: text[:_SHORT] for field, text in edit.to_json().items()}) for edit in edits)
    return Rejected(digest, tuple(short), tuple(reasons))


class Buffer:
    """The rejected candidates of one skill, by the path of its directory."""

    def __init__(self, state: StateDatabase, path: str, clock: Clock) -> None:
        self._state, self._clock = state, clock
        self._skill = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
        self.problem = ""
        """What is wrong with what is remembered, a sentence."""

    def read(self) -> list[Rejected]:
        """What is remembered, the oldest first."""
        found = []
        for (content,) in self._state.read(
            "SELECT content FROM rejected_edits WHERE skill = ? ORDER BY number", (self._skill,)
        ):
            try:
                found.append(read_value(Rejected, json.loads(content), "it"))
            except (ValueError, TypeError, RecursionError):
                self.problem = "A rejected candidate cannot be read; it is forgotten."
        return found[-KEPT:]

    def add(self, new: Rejected) -> None:
        """Remember a candidate."""
        content = json.dumps(as_json(new._replace(time=iso(self._clock()))))
        with self._state.write() as connection:
            connection.execute("DELETE FROM rejected_edits WHERE skill = ? AND digest = ?", (self._skill, new.digest))
            query = "INSERT INTO rejected_edits (skill, digest, content) VALUES (?, ?, ?)"
            connection.execute(query, (self._skill, new.digest, content))
            connection.execute(
                "DELETE FROM rejected_edits WHERE skill = ?1 AND number NOT IN "
                "(SELECT number FROM rejected_edits WHERE skill = ?1 ORDER BY number DESC LIMIT ?2)",
                (self._skill, KEPT),
            )


_REMARKS = 5
"""Remarks of a kind that are told."""
_LONGEST = 300
"""Characters of one."""


class Heard(NamedTuple):
    """Outcomes of the version that is there now, remarks on proposals, messages that it was wrong for."""

    helped: int = 0
    failed: int = 0
    corrected: int = 0
    refusals: tuple[str, ...] = ()
    """What people said when they rejected a change of it, the latest last."""
    not_for: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """Only what there is."""
        return {name: value for name, value in self._asdict().items() if value}


def heard_of(
    card: Card, tree: Mapping[str, Item], path: str, usage: Usage, remarks: Feedback, refused: Iterable[Proposal]
) -> Heard:
    """What is known about the skill at a path."""
    now = digest(tree)
    counts = [total for total in usage.versions(*counted_as(card)) if total.digest == now]
    said = [
        proposal.remark.strip()[:_LONGEST]
        for proposal in refused
        if proposal.remark.strip() and any(change.path == path for change in proposal.changes)
    ]
    wrong = remarks.examples(*card.known_as[:2]).counterexamples[:_REMARKS]
    return Heard(
        sum(total.helped for total in counts),
        sum(total.failed for total in counts),
        sum(total.corrected for total in counts),
        tuple(said[-_REMARKS:]),
        tuple(message[:_LONGEST] for message in wrong),
    )
