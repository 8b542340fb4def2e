"""`whet learn improve`: evals fail, a model proposes a few edits, the gate decides, and only what is better stays.

Nothing is written before the end, and then all of it as one change: a proposal, or the next version. Where the skill
was changed by somebody else meanwhile, nothing is written at all: what was measured is not what is there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.drafts import improve as with_body
from whet.authoring.history import difference
from whet.authoring.main_file import main_of, version_of
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance
from whet.errors import ConflictError, FailedError, UsageError, WhetError
from whet.learning.context import held_back
from whet.learning.evals.evaluation import TOKENS, measure
from whet.learning.evals.gate import Reason, Verdict, compare, examine
from whet.learning.evals.results import scores
from whet.learning.evals.subject import Subject
from whet.learning.improvement.edits import Matter, ask, failures
from whet.learning.models.model import Budget, Budgeted
from whet.learning.usage import counted_as
from whet.library.package import read_tree
from whet.notes import Note
from whet.routing.evals.report import hold_out
from whet.values import Json, as_json, failure_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.authoring.proposals import Proposal
    from whet.learning.context import LearningContext
    from whet.learning.evals.formats import Eval
    from whet.learning.evals.results import Run
    from whet.learning.improvement.edits import Edited
    from whet.learning.models.model import Model
    from whet.library.card import Card
    from whet.skill.tree import Tree

ROUNDS = 3
EDITS = 4
"""Edits in one round: few enough to know what did it."""
_MOST = {"rounds": 20, "edits": 20, "runs": 100}
MARK = "Improved by its evals"
"""How the reason of every change begins that comes from here."""
ALL_MET = "all-met"
"""What it stops for when nothing is left to learn from."""
ENOUGH = 5
"""Evals from which on some are held out."""
_REMARKS = 5
"""Remarks of a kind that a model is told."""
_LONGEST = 300
"""Characters of one."""


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


class Round(NamedTuple):
    """One round, as it is told."""

    edited: Edited
    verdict: str
    """`accepted`, `rejected`, `unusable` (no edit could be applied), or `undecided`."""
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
    stopped: Note | None
    """Why it ended before all rounds were done."""
    diff: str
    report: tuple[Note, ...]
    kept: Kept | None = None
    """None where nothing is better, or nothing is to be kept."""

    @property
    def problem(self) -> Note | None:
        """What makes it a failure."""
        if self.improved or (self.stopped and self.stopped.code == ALL_MET):
            return None
        if self.stopped:
            return self.stopped
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
    improver = _Improver(context, name, model, grader or model, runs, tokens, progress)
    try:
        try:
            improver.run(rounds, edits)
        except KeyboardInterrupt:
            if improver.better and not dry_run:
                improver.keep(write=False)
            raise
        kept = improver.keep(write=write) if improver.better and not dry_run else None
    except WhetError as error:
        if improver.rounds:  # what was paid for is told
            error.details.update(rounds=[one.to_json() for one in improver.rounds])
        raise
    return improver.result()._replace(kept=kept)


class _Improver:
    """One skill on its way to a better version, measured by its evals as they were when it began."""

    def __init__(
        self,
        context: LearningContext,
        name: str,
        model: Model,
        grader: Model,
        runs: int,
        tokens: int,
        progress: Callable[[int, int], None],
    ) -> None:
        self._context, self._names, self._runs, self._progress = context, (model.name, grader.name), runs, progress
        self._card, _ = context.workspace.find(name)
        target = context.editor.target(self._card)
        self._path, self._tree = target.source or target.path, target.original or target.before or {}
        self._subject = Subject(self._card.full_name, self._card.directory, self._tree)
        self._evals = self._subject.evals()
        self._learn, self._held = split(self._evals.evals)
        self._budget = Budget(tokens=tokens)
        self._model, self._grader = Budgeted(model, self._budget), Budgeted(grader, self._budget)
        self._known: dict[str, tuple[Run, ...]] = {}
        refused = context.editor.proposals.all("rejected")
        self._refused = {change.after for one in refused for change in one.changes}
        body = main_of(self._tree).document.body.replace("\r\n", "\n")
        heard = heard_of(context, self._card, self._tree, self._path, refused)
        self._matter = Matter(self._subject, body, [item.prompt for item in self._evals.evals], heard)
        self.best: Tree = self._tree
        """The best version so far."""
        self.rounds: list[Round] = []
        self._stopped: Note | None = None

    @property
    def better(self) -> bool:
        """Is there anything to keep?"""
        return any(one.verdict == "accepted" for one in self.rounds)

    def run(self, rounds: int, edits: int) -> None:
        """So many rounds, or fewer where nothing is left to do or can be done.

        Raises where the skill cannot be measured as it is, or has changed; later failures only end it.
        """
        self._measure(self.best)
        while len(self.rounds) < rounds and self._stopped is None:
            self._check(digest(read_tree(self._path)))
            failed = failures(self._measure(self.best), self._learn)
            if not failed:
                self._stopped = Note(ALL_MET, "info", "Every expectation is met.")
                return
            begun = self._budget.spent().tokens
            tried = [(one.edited.done, one.reasons) for one in self.rounds if one.verdict == "rejected"]
            try:
                answer = ask(self._model, self._matter._replace(failed=failed, rejected=tried), edits)
            except FailedError as error:
                self._stopped = Note.from_error(error, "error")
                return
            done = self._try(answer)
            self.rounds.append(done._replace(tokens=self._budget.spent().tokens - begun))

    def _try(self, answer: Edited) -> Round:
        """What becomes of an answer: is it sound beside what is on disk, and better than the best so far?"""
        if not answer.done:
            return Round(answer, "unusable", tuple(Reason("edit-refused", one.reason) for one in answer.refused))
        try:
            tree = with_body(dict(self._tree), body=answer.text).tree
        except WhetError as error:  # authoring knows what it would break
            return Round(answer, "rejected", (Reason(error.code, error.message),))
        if digest(tree) in self._refused:
            why = Reason("rejected-before", "The same change was proposed before and rejected.")
            return Round(answer, "rejected", (why,))
        try:
            reasons = examine(self._tree, tree, self._subject.name)
            verdict = Verdict(reasons)
            if not reasons:
                verdict = compare(self._scores(self.best).evals, self._scores(tree).evals, strict=True)
        except FailedError as error:
            self._stopped = Note.from_error(error, "error")
            return Round(answer, "undecided", (Reason(error.code, error.message),))
        if verdict.accepted:
            self.best, self._matter = tree, self._matter._replace(text=answer.text)
        judged = "accepted" if verdict.accepted else "rejected"
        return Round(answer, judged, verdict.reasons, verdict.before, verdict.after)

    def _measure(self, tree: Tree) -> tuple[Run, ...]:
        """What the skill does with these files. Raises ModelError, or FailedError `eval-incomplete`."""
        key = digest(tree)
        if key not in self._known:
            done = measure(
                self._context.workspace.place,
                self._subject,
                {"with_skill": self._subject._replace(tree=tree)},
                self._model,
                self._context.attempt,
                grader=self._grader,
                runs=self._runs,
                progress=self._progress,
            )
            if missing := next((run.error for run in done if run.error), ""):
                hint = "Run it again with a larger budget or fewer runs."
                raise FailedError("eval-incomplete", f"Some results are missing: {missing}", hint=hint)
            self._known[key] = done
        return self._known[key]

    def _check(self, seen: str) -> bool:
        """True; raises ConflictError where what is seen is not any more what is being improved."""
        if seen != digest(self._tree):
            message = f"{self._subject.name} was changed by another process in the meantime."
            hint = "Nothing was written. Run it again to measure the current skill."
            raise ConflictError("skill-changed", message, hint=hint, path=self._path)
        return True

    def result(self) -> Improvement:
        """The answer, but for what becomes of it."""
        before, after = (self._scores(tree) for tree in (self._tree, self.best))
        return Improvement(
            *(self._subject.name, self._subject.directory, *self._names, self.better, before, after),
            *(tuple(self.rounds), len(self._learn), len(self._held), self._budget.spent().tokens, self._stopped),
            difference(self._tree, self.best, ("now", "better")) if self.better else "",
            self._evals.report,
        )

    def _scores(self, tree: Tree) -> Scores:
        rates = {name: rate or 0.0 for name, rate in scores(self._measure(tree), "with_skill").items()}
        score, learned, held = (_mean([rates[name] for name in names]) for names in (rates, self._learn, self._held))
        return Scores(score, learned, held, rates)

    def keep(self, *, write: bool) -> Kept:
        """Write the better version, or propose it where it is not to be written, or may not be."""
        if not write and (known := self._proposed_already()):
            return known
        kept_back = held_back(self._context, self._card)
        before, after = (self._scores(tree).score or 0.0 for tree in (self._tree, self.best))
        how = f"evals: {len(self._evals.evals)}, runs: {self._runs}, model: {self._names[0]}"
        reason = f"{MARK}: {before:.2f} before, {after:.2f} after ({how})."
        made = self._context.editor.apply(
            [{"action": "edit", "name": self._card.path, "body": main_of(self.best).text}],
            Provenance("agent", "background", reason),
            stage=not write or bool(kept_back),
            viewed=lambda _path, seen: self._check(seen),
        )
        change = made.one()
        if made.proposal is None:
            return Kept(change.version, reason, entry=change.id)
        cause = kept_back if write and kept_back else made.reason
        return Kept(change.version, reason, proposal=made.proposal, cause=cause, hint=made.hint)

    def _proposed_already(self) -> Kept | None:
        """The proposal that says the same and waits."""
        proposals, body = self._context.editor.proposals, main_of(self.best).document.body
        for proposal in proposals.all("pending"):
            for change in proposals.changes(proposal):
                new = main_of(change.after).document if change.after and change.path == self._path else None
                if new and new.body == body:
                    hint = f"`whet proposals approve {proposal.id}` does it."
                    cause = "The same change was already proposed."
                    return Kept(version_of(new), proposal.reason, proposal=proposal.id, cause=cause, hint=hint)
        return None


def _mean(rates: Sequence[float]) -> float | None:
    return math.fsum(rates) / len(rates) if rates else None


def split(evals: Sequence[Eval]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the evals to learn from, and of those held out; always the same ones."""
    names = [item.id for item in evals]
    return hold_out(names, str) if len(names) >= ENOUGH else (tuple(names), ())


def heard_of(context: LearningContext, card: Card, tree: Tree, path: str, refused: Sequence[Proposal]) -> Json:
    """What is known about a skill: outcomes of this version, remarks on proposals, messages that it was wrong for."""
    counts = [total for total in context.usage.versions(*counted_as(card)) if total.digest == digest(tree)]
    said = [one.remark.strip() for one in refused if any(change.path == path for change in one.changes)]
    wrong = context.feedback.examples(*card.known_as[:2]).counterexamples
    told = {
        **{name: sum(getattr(total, name) for total in counts) for name in ("helped", "failed", "corrected")},
        "refusals": [remark[:_LONGEST] for remark in said if remark][-_REMARKS:],
        "not_for": [message[:_LONGEST] for message in wrong[:_REMARKS]],
    }
    return {name: value for name, value in told.items() if value}
