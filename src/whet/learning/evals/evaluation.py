"""`whet learn eval NAME`: measure a skill. A model does its tasks, once with the skill and once without it.

Every attempt is a separate run: the agent, the tools and the sandbox of `whet run`, on the files of the task
(`runtime.trials`). The skill is given as if the user had asked for it; whether it comes up automatically is for the
trigger evals. Nothing here changes a skill. `scorer` returns the function with which the gate measures versions.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, UsageError
from whet.learning.evals import results_directory
from whet.learning.evals.grading import grade
from whet.learning.evals.results import Evaluation, Output, Run, scores
from whet.learning.evals.skill_tests import check_sandbox, runner_for, silent
from whet.learning.evals.subject import Subject, subject_at
from whet.learning.models.model import Budget, Budgeted, ModelError
from whet.notes import Note
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whet.authoring.journal import Journal
    from whet.learning.evals.results import Side
    from whet.learning.models.model import Model
    from whet.library.roots import Place
    from whet.library.workspace import Workspace
    from whet.skill.model import Skill
    from whet.skill.tree import Item

TOKENS = 1_000_000
"""Tokens that one call may spend on a model, by default."""
AGAINST: Mapping[str, Side] = {"none": "without_skill", "old": "old_skill"}
"""Comparisons: no skill, or the previous version."""


class Task(NamedTuple):
    """The task of an attempt."""

    prompt: str
    files: Mapping[str, bytes]
    subject: Subject | None
    """The skill that the model gets; None for no skill."""
    tools: Skill
    """The skill whose tools it may use."""


if TYPE_CHECKING:
    Try = Callable[[Task, Model], Output]
    """Lets a model do a task. Raises ModelError."""


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
    progress: Callable[[int, int], None] = silent,
) -> Evaluation:
    """Let a model do a skill's evals with the skill and without it, or with its previous version, and compare.

    `attempt` lets the model do a task. `grader` judges sentences, by default the model itself. With `out`, all results
    are stored there. Its `problem` is that runs are missing (`eval-incomplete`), that the skill does worse than its
    comparison (`eval-worse`), or that it stays below `min_pass_rate` (`below-minimum`). Raises NotFoundError
    `no-output-evals`, RefusedError `no-sandbox`, ModelError if no run produced a result.
    """
    if against not in AGAINST:
        raise UsageError("bad-against", f"Whet cannot compare with {against!r}.", hint="Use none or old.")
    subject = subject_at(workspace, name)
    found = subject.evals()
    budget, judge = Budget(tokens=tokens), grader or model
    names: tuple[Side, Side] = ("with_skill", AGAINST[against])
    sides = {names[0]: subject, names[1]: earlier(journal, subject) if against == "old" else None}
    place = results_directory.begin(out) if out else ""
    try:
        done = measure(
            *(workspace.place, subject, sides, Budgeted(model, budget), attempt),
            grader=Budgeted(judge, budget),
            runs=runs,
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


def measure(
    place: Place,
    subject: Subject,
    sides: Mapping[Side, Subject | None],
    model: Model,
    attempt: Try,
    *,
    grader: Model | None = None,
    runs: int = 1,
    progress: Callable[[int, int], None] = silent,
) -> tuple[Run, ...]:
    """Run every eval of a skill on every side, `runs` times; checks and tasks use the files of `subject`.

    A failed attempt is kept with its error; once the budget is used up, the others are skipped, as their errors say.
    Raises ModelError only if no attempt produced a result.
    """
    if runs < 1:
        message = f"The number of runs must be above zero, not {runs}."
        raise UsageError("bad-runs", message, hint="Pass a number above zero.")
    evals = subject.evals().evals
    if any(one.check and one.check.type == "exit_code" for item in evals for one in item.expectations):
        check_sandbox()  # before anything is paid for
    files = {item.id: subject.files_for(item) for item in evals}  # a missing file must cost nothing
    own, run_check = subject.skill(), runner_for(subject, place)
    wanted = [(item, side, number) for item in evals for number in range(1, runs + 1) for side in sides]
    done: list[Run] = []
    errors: list[ModelError] = []
    progress(0, len(wanted))
    for item, side, number in wanted:
        given = sides[side]
        if errors and errors[-1].code == "model-budget":
            done.append(Run(item, side, number, Output(""), error=f"Not run: {errors[-1].message}"))
            continue
        try:
            task = Task(item.prompt, files[item.id], given, given.skill() if given else own)
            output = attempt(task, model)
            results, grading = grade(item, output, grader or model, run_check)
        except ModelError as error:
            errors.append(error)
            done.append(Run(item, side, number, Output(""), error=error.message))
        else:
            done.append(Run(item, side, number, output, results, grading_tokens=grading))
        progress(len(done), len(wanted))
    if errors and all(run.error for run in done):
        raise errors[0]
    return tuple(done)


def scorer(
    workspace: Workspace, name: str, model: Model, attempt: Try
) -> Callable[[Mapping[str, Item]], dict[str, float | None]]:
    """Return the function with which a `Gate` measures versions of a skill: the current evals, for any files."""
    now = subject_at(workspace, name)

    def score(tree: Mapping[str, Item]) -> dict[str, float | None]:
        limited = Budgeted(model, Budget(tokens=TOKENS))
        return scores(
            measure(workspace.place, now, {"with_skill": now._replace(tree=tree)}, limited, attempt), "with_skill"
        )

    return score


def earlier(journal: Journal, subject: Subject) -> Subject:
    """Return the skill before its last visible change. Raises NotFoundError `no-such-version`."""
    from whet.authoring.history import versions

    now = subject.shown()
    for version in reversed(versions(journal, os.path.realpath(subject.directory))):
        tree = journal.content(version.entry.after)
        if tree is not None and (before := subject._replace(tree=tree)).shown() != now:
            return before
    hint = "Leave out `--against` to compare with no skill."
    raise NotFoundError("no-such-version", f"{subject.name} has no earlier state.", hint=hint)


def _problem(answer: Evaluation, least: float | None) -> Note | None:
    """Return the problem of an evaluation; `least` is the required pass rate."""
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
        message = f"The pass rate of {answer.name} is {rate:.2f}, below the minimum of {least:.2f}."
        hint = "Look at the expectations that are not met, and improve the skill."
        return Note("below-minimum", "error", message, hint)
    return None
