"""A model does the tasks of a skill, once with the skill and once without it.

Every try is one run of its own, with nothing of the others in it: the agent, the tools and the sandbox of `whet run`,
on the files of the task (`runtime.trials`). The skill is given as if the user had asked for it; whether it comes up by
itself is for the trigger evals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError
from whet.learning.evals.results import Output, Run
from whet.learning.models.model import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.learning.evals.formats import Eval
    from whet.learning.evals.results import Result, Side
    from whet.learning.evals.subject import Subject
    from whet.learning.models.model import Model
    from whet.skill.model import Skill

    Grade = Callable[[Eval, Output], tuple[tuple[Result, ...], int]]
    """Judges an output; with the tokens that took."""

FATAL = frozenset(("model-budget",))
"""Errors after which no other try can do better."""


class Task(NamedTuple):
    """What a try is about."""

    prompt: str
    files: Mapping[str, bytes]
    subject: Subject | None
    """The skill that the model gets; None without one."""
    tools: Skill
    """The skill whose tools it may use."""


class Attempt(NamedTuple):
    """What a model made of a task."""

    output: Output
    seconds: float
    tokens_in: int
    tokens_out: int
    turns: int
    calls: int
    """Tools the model called."""
    viewed: tuple[str, ...]
    """Files that the model read."""


if TYPE_CHECKING:
    Try = Callable[[Task, Model], Attempt]
    """Has a model do a task. Raises ModelError."""


def run_evals(
    evals: Sequence[Eval],
    sides: Mapping[Side, Subject | None],
    model: Model,
    grade: Grade,
    attempt: Try,
    *,
    task_files: Callable[[Eval], Mapping[str, bytes]],
    runs: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> tuple[Run, ...]:
    """Every eval on every side, so many times.

    A try that fails is kept, with why; once the budget is used up the others are not made, which their errors say.
    Raises ModelError only where not a single try came to anything.
    """
    if runs < 1:
        raise UsageError(
            "bad-runs", f"The number of runs must be above zero, not {runs}.", hint="Pass a number above zero."
        )
    files = {item.id: task_files(item) for item in evals}  # one that is missing must cost nothing
    own = next(subject for subject in sides.values() if subject is not None).skill()
    tools = {side: subject.skill() if subject else own for side, subject in sides.items()}
    wanted = [(item, side, number) for item in evals for number in range(1, runs + 1) for side in sides]
    done: list[Run] = []
    stopped: ModelError | None = None
    first: ModelError | None = None
    progress(0, len(wanted))
    for item, side, number in wanted:
        if stopped is not None:
            done.append(Run(item, side, number, Output(""), error=f"Not run: {stopped.message}"))
            continue
        try:
            tried = attempt(Task(item.prompt, files[item.id], sides[side], tools[side]), model)
            results, grading = grade(item, tried.output)
        except ModelError as error:
            first = first or error
            stopped = error if error.code in FATAL else None
            done.append(Run(item, side, number, Output(""), error=error.message))
        else:
            spent = (tried.seconds, tried.tokens_in, tried.tokens_out, grading, tried.turns, tried.calls, tried.viewed)
            done.append(Run(item, side, number, tried.output, results, "", *spent))
        progress(len(done), len(wanted))
    if first is not None and all(run.error for run in done):
        raise first
    return tuple(done)
