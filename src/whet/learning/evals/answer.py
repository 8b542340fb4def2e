"""`whet test` and `whet eval NAME`, answered in plain JSON values, the same on every surface.

Nothing here changes a skill. `scorer` is what a `Gate` measures versions of a skill with.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError, UsageError
from whet.learning.evals.formats import FOLDERS
from whet.learning.evals.subject import Subject, subject_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.authoring.journal import Journal
    from whet.learning.evals.results import Run, Side
    from whet.learning.evals.running import Setup
    from whet.learning.models.door import Model
    from whet.library.workspace import Workspace
    from whet.skill.tree import Item

TOKENS = 1_000_000
"""What one call may spend on a model, where the caller does not say."""
AGAINST = ("none", "old")
"""What a skill is compared with: having no skill, or the version before."""


def _silent(_done: int, _all: int) -> None:
    """Nobody is told."""


def run_own_tests(
    workspace: Workspace, name: str, *, only_list: bool = False, progress: Callable[[int, int], None] = _silent
) -> dict[str, Any]:
    """Run a skill's own tests in the sandbox, or only tell which there are.

    `tests` are {path, status, code, seconds, output, level}. Raises NotFoundError `no-tests`, RefusedError
    `no-sandbox`.
    """
    from whet.learning.evals.testing import find_tests, run_tests

    subject = subject_at(workspace, name)
    paths = find_tests(subject.tree)
    told = {"name": subject.name, "path": subject.directory}
    if only_list:
        return {"success": True, **told, "tests": [{"path": path} for path in paths], "count": len(paths)}
    if not paths:
        hint = "Put tests into tests/ of the skill: test_*.py, *.sh, or anything executable."
        raise NotFoundError("no-tests", f"{subject.name} has no tests.", hint=hint)
    rows = run_tests(subject, workspace.place.env, workspace.place.home, progress=progress)
    counts = {status: sum(row.status == status for row in rows) for status in ("passed", "skipped")}
    failed = [row.path for row in rows if row.status not in counts]
    answer = {"success": not failed, **told, "tests": [row.to_json() for row in rows], "count": len(rows)}
    answer |= {**counts, "failed": len(failed)}
    if failed:
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        message = f"{len(failed)} of {len(rows)} tests of {subject.name} failed: {', '.join(failed[:3])}{more}."
        answer |= {"error": message, "code": "tests-failed", "hint": "What they printed is in `output`."}
    return answer


def eval_skill(
    workspace: Workspace,
    journal: Journal,
    name: str,
    model: Model,
    *,
    grader: Model | None = None,
    runs: int = 1,
    against: str = "none",
    blind: bool = False,
    out: str | None = None,
    min_pass_rate: float | None = None,
    tokens: int = TOKENS,
    progress: Callable[[int, int], None] = _silent,
) -> dict[str, Any]:
    """Have a model do a skill's evals with the skill and without it, or with its version before, and compare.

    `evals` are the pass rates of each, `summary` mean, deviation and difference of pass rate, time and tokens,
    `expectations` the same for each expectation with `flags` for what says nothing. Sentences are judged by `grader`,
    else by the model itself. With `blind`, that also says which of two outputs is better without knowing which is
    which: `blind` are wins, losses and ties of the skill. With `out`, everything is kept there. `success` is false,
    with a code, where runs are missing (`eval-incomplete`), the skill does worse than what it is compared with
    (`eval-worse`), or stays below `min_pass_rate` (`below-minimum`). Raises NotFoundError `no-output-evals`, ModelError
    where not a single run came to anything.
    """
    from whet.learning.evals import results_directory, statistics
    from whet.learning.evals.blind import compare
    from whet.learning.models.budget import Budget, budgeted

    subject = subject_at(workspace, name)
    found = subject.evals()
    budget, judge = Budget(tokens=tokens), grader or model
    names: tuple[Side, Side] = ("with_skill", _other(against))
    sides = {names[0]: subject, names[1]: earlier(journal, subject) if against == "old" else None}
    pairs = len(found.evals) * runs
    steps = pairs * (3 if blind else 2)
    history = results_directory.read_history(out) if out else {"iterations": []}
    place, number = results_directory.begin(out) if out else ("", 0)
    try:
        done = measured(
            *(workspace, subject, sides, budgeted(model, budget)),
            grader=budgeted(judge, budget),
            runs=runs,
            tokens=None,
            progress=lambda count, _: progress(count, steps),
        )
        compared = (
            compare(done, names, budgeted(judge, budget), progress=lambda count: progress(2 * pairs + count, steps))
            if blind
            else None
        )
    except BaseException:
        results_directory.abandon(place)
        raise
    stamp = _timestamp(workspace.clock())
    about = {"skill": subject.name, "path": subject.directory, "model": model.name, "grader": judge.name}
    told = statistics.benchmark(done, names, **about, timestamp=stamp)
    rate = told["run_summary"]["with_skill"]["pass_rate"]
    mean = rate["mean"] if rate and told["complete"] else None
    if out:
        results_directory.write(place, done, told, compared)
        digest = workspace.open(workspace.find(name)[0]).digest
        history = results_directory.add_to_history(
            out, history, number, skill=subject.name, digest=digest, rate=mean, timestamp=stamp
        )
        results_directory.write_page(place, done, told, history["iterations"], compared)
    by_side = {side: statistics.scores(done, side) for side in names}
    errors = [run.error for run in done] + [pair.error for pair in (compared.pairs if compared else ())]
    answer = {
        "success": True,
        "name": subject.name,
        "path": subject.directory,
        "model": model.name,
        "grader": judge.name,
        "runs": runs,
        "against": against,
        "evals": [{"id": item.id, **{side: by_side[side].get(item.id) for side in names}} for item in found.evals],
        "summary": told["run_summary"],
        "expectations": told["expectations"],
        "blind": compared.to_json() if compared else None,
        "complete": told["complete"],
        "errors": [*dict.fromkeys(filter(None, errors))],
        "tokens": sum(run.tokens + run.grading_tokens for run in done) + (compared.tokens if compared else 0),
        "out": place or None,
        "report": [entry.to_json() for entry in found.report],
    }
    return _judged(answer, names, mean, min_pass_rate)


def _other(against: str) -> Side:
    """The side that a skill is compared with. Raises UsageError."""
    if against not in AGAINST:
        raise UsageError("bad-against", f"{against!r} is nothing to compare with.", hint="Use none or old.")
    return "old_skill" if against == "old" else "without_skill"


def measured(
    workspace: Workspace,
    subject: Subject,
    sides: Mapping[Side, Subject | None],
    model: Model,
    *,
    grader: Model | None = None,
    runs: int = 1,
    tokens: int | None = TOKENS,
    progress: Callable[[int, int], None] = _silent,
) -> tuple[Run, ...]:
    """The evals of one version of a skill, done on these sides; its files are what checks and tasks use.

    `tokens` limits what it costs; None is no limit but what the models have themselves.
    """
    from whet.learning.evals.running import run_evals
    from whet.learning.evals.testing import check_sandbox

    evals = subject.evals().evals
    if any(one.check and one.check["type"] == "exit_code" for item in evals for one in item.expectations):
        check_sandbox()  # before anything is paid for
    return run_evals(
        evals,
        sides,
        _setup(workspace, subject, model, grader or model, tokens),
        task_files=subject.files_for,
        runs=runs,
        progress=progress,
    )


def _setup(workspace: Workspace, subject: Subject, model: Model, judge: Model, tokens: int | None) -> Setup:
    from whet.learning.evals.grading import grader
    from whet.learning.evals.running import Setup
    from whet.learning.evals.testing import runner_for
    from whet.learning.models.budget import Budget, budgeted

    budget = Budget(tokens=tokens)
    runner = runner_for(subject, workspace.place.env, workspace.place.home)
    return Setup(budgeted(model, budget), grader(budgeted(judge, budget), runner))


def scorer(
    workspace: Workspace, name: str, model: Model, *, runs: int = 1, tokens: int = TOKENS
) -> Callable[[Mapping[str, Item]], dict[str, float | None]]:
    """What a `Gate` measures versions of a skill with: the evals as they are on disk now, for whatever files."""
    from whet.learning.evals.statistics import scores

    now = subject_at(workspace, name)

    def score(tree: Mapping[str, Item]) -> dict[str, float | None]:
        tried = now._replace(tree=tree)
        done = measured(workspace, now, {"with_skill": tried}, model, runs=runs, tokens=tokens)
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
    hint = "Leave out --against to compare with having no skill."
    raise NotFoundError("no-such-version", f"{subject.name} has no earlier version.", hint=hint)


def _shown(tree: Mapping[str, Item]) -> dict[str, Item]:
    return {path: item for path, item in tree.items() if path.split("/")[0] not in FOLDERS}


def _judged(answer: dict[str, Any], sides: Sequence[Side], mean: float | None, least: float | None) -> dict[str, Any]:
    """The answer, as a failure where it is a no."""
    other = answer["summary"][sides[1]]["pass_rate"]
    if not answer["complete"]:
        missing = answer["errors"][0] if answer["errors"] else "some runs have no score."
        return {**answer, "success": False, "error": f"Not everything was measured: {missing}"} | {
            "code": "eval-incomplete",
            "hint": "Run it again, with a larger --budget or fewer --runs.",
        }
    if mean is not None and other and mean < other["mean"] - 1e-9:
        what = "its version before" if sides[1] == "old_skill" else "no skill at all"
        message = f"With {answer['name']} the pass rate is {mean:.2f}; with {what} it is {other['mean']:.2f}."
        hint = "Look at the expectations that are worse-with-skill."
        return {**answer, "success": False, "error": message, "code": "eval-worse", "hint": hint}
    if least is not None and mean is not None and mean < least - 1e-9:
        message = f"The pass rate of {answer['name']} is {mean:.2f}, not {least:.2f}."
        hint = "Look at the expectations that are not met, and improve the skill."
        return {**answer, "success": False, "error": message, "code": "below-minimum", "hint": hint}
    return answer


def _timestamp(now: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(now / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
