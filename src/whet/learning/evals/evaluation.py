"""`whet skill test` and `whet learn eval NAME`: what a skill's own tests say, and what it is worth.

Nothing here changes a skill. `scorer` is what a `Gate` measures versions of a skill with.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, UsageError
from whet.learning.evals.formats import FOLDERS
from whet.learning.evals.subject import Subject, subject_at
from whet.notes import Note
from whet.store.clock import iso
from whet.values import Json, as_json, failure_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whet.authoring.journal import Journal
    from whet.learning.evals.results import Evaluation, Run, Side
    from whet.learning.evals.skill_tests import Tested
    from whet.learning.evals.task_runs import Try
    from whet.learning.models.model import Model
    from whet.library.roots import Place
    from whet.library.workspace import Workspace
    from whet.skill.tree import Item

TOKENS = 1_000_000
"""What one call may spend on a model, where the caller does not say."""
AGAINST = ("none", "old")
"""What a skill is compared with: having no skill, or the version before."""


def _silent(_done: int, _all: int) -> None:
    """Nobody is told."""


class OwnTests(NamedTuple):
    """A skill's own tests, and how they went."""

    name: str
    path: str
    found: tuple[str, ...]
    """Their paths in the package."""
    tests: tuple[Tested, ...] | None = None
    """How each went; None where they were only listed."""

    @property
    def problem(self) -> Note | None:
        """What makes it a failure."""
        failed = [row.path for row in self.tests or () if row.status not in ("passed", "skipped")]
        if not failed:
            return None
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        message = f"{len(failed)} of {len(self.found)} tests of {self.name} failed: {', '.join(failed[:3])}{more}."
        return Note("tests-failed", "error", message, "What they printed is in `output`.")

    def to_json(self) -> Json:
        """The tests as JSON."""
        told = {"success": True, "name": self.name, "path": self.path}
        if self.tests is None:
            return {**told, "tests": [{"path": path} for path in self.found], "count": len(self.found)}
        counts = {status: sum(row.status == status for row in self.tests) for status in ("passed", "skipped")}
        answer = {**told, "tests": as_json(self.tests), "count": len(self.tests), **counts}
        return failure_json({**answer, "failed": len(self.tests) - sum(counts.values())}, self.problem)


def run_own_tests(
    workspace: Workspace, name: str, *, only_list: bool = False, progress: Callable[[int, int], None] = _silent
) -> OwnTests:
    """Run a skill's tests in the sandbox, or only list them.

    Raises NotFoundError `no-tests`, RefusedError `no-sandbox`.
    """
    from whet.learning.evals.skill_tests import find_tests, run_tests

    subject = subject_at(workspace, name)
    found = OwnTests(subject.name, subject.directory, tuple(find_tests(subject.tree)))
    if only_list:
        return found
    if not found.found:
        hint = "Put tests in the skill's tests/ directory: test_*.py, *.sh, or anything executable."
        raise NotFoundError("no-tests", f"{subject.name} has no tests.", hint=hint)
    return found._replace(tests=run_tests(subject, workspace.place.env, workspace.place.home, progress=progress))


def eval_skill(
    workspace: Workspace,
    journal: Journal,
    name: str,
    model: Model,
    attempt: Try,
    *,
    grader: Model | None = None,
    runs: int = 1,
    against: str = "none",
    out: str | None = None,
    min_pass_rate: float | None = None,
    tokens: int = TOKENS,
    progress: Callable[[int, int], None] = _silent,
) -> Evaluation:
    """Have a model do a skill's evals with the skill and without it, or with its previous version, and compare.

    `attempt` has the model do a task. Sentences are judged by `grader`, else by the model itself. With `out`,
    everything is kept there. Its `problem` is that runs are missing (`eval-incomplete`), that the skill does worse than
    what it is compared with (`eval-worse`), or that it stays below `min_pass_rate` (`below-minimum`). Raises
    NotFoundError `no-output-evals`, RefusedError `no-sandbox`, ModelError where not a single run came to anything.
    """
    from whet.learning.evals import results_directory
    from whet.learning.evals.results import Evaluation
    from whet.learning.models.model import Budget, Budgeted

    subject = subject_at(workspace, name)
    found = subject.evals()
    budget, judge = Budget(tokens=tokens), grader or model
    names: tuple[Side, Side] = ("with_skill", _other(against))
    sides = {names[0]: subject, names[1]: earlier(journal, subject) if against == "old" else None}
    place = results_directory.begin(out) if out else ""
    try:
        done = measured(
            *(workspace.place, subject, sides, Budgeted(model, budget), attempt),
            grader=Budgeted(judge, budget),
            runs=runs,
            tokens=None,
            progress=progress,
        )
    except BaseException:
        results_directory.abandon(place)
        raise
    digest = workspace.open(workspace.find(name)[0]).digest
    about = (subject.name, subject.directory, digest, model.name, judge.name, against)
    answer = Evaluation(*about, names, done, iso(workspace.clock()), found.report, place or None)
    if place:
        results_directory.write(place, answer)
    return answer._replace(problem=_problem(answer, min_pass_rate))


def _other(against: str) -> Side:
    """The side that a skill is compared with. Raises UsageError."""
    if against not in AGAINST:
        raise UsageError("bad-against", f"{against!r} cannot be compared with.", hint="Use none or old.")
    return "old_skill" if against == "old" else "without_skill"


def measured(
    place: Place,
    subject: Subject,
    sides: Mapping[Side, Subject | None],
    model: Model,
    attempt: Try,
    *,
    grader: Model | None = None,
    runs: int = 1,
    tokens: int | None = TOKENS,
    progress: Callable[[int, int], None] = _silent,
) -> tuple[Run, ...]:
    """The evals of one version of a skill, done on these sides; its files are what checks and tasks use.

    `tokens` limits what it costs; None is no limit but what the models have themselves.
    """
    from whet.learning.evals.grading import grader as grader_of
    from whet.learning.evals.skill_tests import check_sandbox, runner_for
    from whet.learning.evals.task_runs import run_evals
    from whet.learning.models.model import Budget, Budgeted

    evals, budget = subject.evals().evals, Budget(tokens=tokens)
    if any(one.check and one.check.type == "exit_code" for item in evals for one in item.expectations):
        check_sandbox()  # before anything is paid for
    grade = grader_of(Budgeted(grader or model, budget), runner_for(subject, place.env, place.home))
    how = (Budgeted(model, budget), grade, attempt)
    return run_evals(evals, sides, *how, task_files=subject.files_for, runs=runs, progress=progress)


def scorer(
    workspace: Workspace, name: str, model: Model, attempt: Try
) -> Callable[[Mapping[str, Item]], dict[str, float | None]]:
    """What a `Gate` measures versions of a skill with: the evals as they are on disk now, for whatever files."""
    from whet.learning.evals.results import scores

    now = subject_at(workspace, name)

    def score(tree: Mapping[str, Item]) -> dict[str, float | None]:
        tried = now._replace(tree=tree)
        done = measured(workspace.place, now, {"with_skill": tried}, model, attempt)
        return scores(done, "with_skill")

    return score


def earlier(journal: Journal, subject: Subject) -> Subject:
    """The skill as it was before what a model sees of it now. Raises NotFoundError `no-such-version`."""
    from whet.authoring.history import versions

    now = _shown(subject.tree)
    for version in reversed(versions(journal, os.path.realpath(subject.directory))):
        tree = journal.content(version.entry.after)
        if tree is not None and _shown(tree) != now:
            return subject._replace(tree=tree)
    hint = "Leave out `--against` to compare with no skill."
    raise NotFoundError("no-such-version", f"{subject.name} has no earlier state.", hint=hint)


def _shown(tree: Mapping[str, Item]) -> dict[str, Item]:
    return {path: item for path, item in tree.items() if path.split("/")[0] not in FOLDERS}


def _problem(answer: Evaluation, least: float | None) -> Note | None:
    """What makes an evaluation a no; `least` is the pass rate that is asked for."""
    if not answer.complete:
        message = f"Some results are missing: {answer.errors[0] if answer.errors else 'some runs have no score.'}"
        hint = "Run it again with a larger `--budget` or fewer `--runs`."
        return Note("eval-incomplete", "error", message, hint)
    rate, other = (answer.rate(side) or 0.0 for side in answer.sides)
    if rate < other - 1e-9:
        what = "its previous version" if answer.against == "old" else "no skill at all"
        message = f"With {answer.name} the pass rate is {rate:.2f}; with {what} it is {other:.2f}."
        return Note("eval-worse", "error", message, "Look at the expectations marked worse-with-skill.")
    if least is not None and rate < least - 1e-9:
        message = f"The pass rate of {answer.name} is {rate:.2f}, not {least:.2f}."
        hint = "Look at the expectations that are not met, and improve the skill."
        return Note("below-minimum", "error", message, hint)
    return None
