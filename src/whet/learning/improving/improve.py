"""`whet improve`: evals fail, a model proposes a few edits, the gate decides, and only what is better stays.

Nothing is written before the end, and then all of it as one change: a proposal, or the next version. Where the skill
was changed by somebody else meanwhile, nothing is written at all: what was measured is not what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.history import difference
from whet.authoring.main_file import main_of, version_of
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance
from whet.errors import ConflictError, UsageError, WhetError
from whet.learning.context import held_back
from whet.learning.evals.evaluation import TOKENS
from whet.learning.evals.subject import Subject
from whet.learning.improving.asking import Matter
from whet.learning.improving.heard import heard_of
from whet.learning.improving.rejected import Buffer
from whet.learning.improving.rounds import ALL_MET, Course, body_of
from whet.learning.improving.trying import Trials, split
from whet.learning.models.budget import Budget, budgeted
from whet.library.package import read_tree
from whet.notes import Note
from whet.values import Json, failure_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whet.learning.context import LearningContext
    from whet.learning.improving.rounds import Round, Stop
    from whet.learning.improving.trying import Measured
    from whet.learning.models.door import Model
    from whet.skill.tree import Item

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
        message = f"{self.name} stays as it is: no candidate is better.{why}"
        hint = "`rounds` tells what was tried. Try more --rounds, another --model, or look at the evals themselves."
        return Note("not-improved", "error", message, hint)

    def to_json(self) -> Json:
        """It as every surface answers it."""
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
            message, hint = f"{value} is no number of {what}.", f"Ask for 1 to {_MOST[what]}."
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
        doing = budgeted(model, self._budget)
        self._trials = Trials(
            workspace, self._subject, doing, budgeted(grader, self._budget), runs=runs, progress=progress
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
            message = f"{self._subject.name} was changed by somebody else meanwhile."
            hint = "Nothing was written. Run it again; it is measured as it is then."
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
                    cause, hint = "The same was proposed before.", f"`whet approve {proposal.id}` does it."
                    return Kept(version_of(new), proposal.reason, proposal=proposal.id, cause=cause, hint=hint)
        return None


def _rest(tree: Mapping[str, Item]) -> dict[str, Item]:
    """What is there beside the main file."""
    main = main_of(tree).path
    return {path: item for path, item in tree.items() if path != main}
