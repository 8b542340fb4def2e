"""Versions of a skill, measured and judged: the evals as they are, the skill as it would be, and the gate between them.

Some evals are held out when there are enough of them: whoever proposes never sees them, and a candidate has to do no
worse on them like on all others. With few evals all are learnt from. A version is measured once, however often it is
asked about.
"""

from __future__ import annotations

import math
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.trees import digest
from whet.errors import FailedError
from whet.learning.evals.evaluation import measured
from whet.learning.evals.gate import Gate, Verdict
from whet.learning.evals.results import scores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.learning.evals.formats import Eval
    from whet.learning.evals.results import Run
    from whet.learning.evals.subject import Subject
    from whet.learning.models.door import Model
    from whet.library.workspace import Workspace
    from whet.skill.tree import Item

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
        workspace: Workspace,
        subject: Subject,
        model: Model,
        grader: Model,
        *,
        runs: int,
        progress: Callable[[int, int], None],
    ) -> None:
        self.subject = subject
        self.gate = Gate(strict=True)
        self._workspace, self._model, self._grader = workspace, model, grader
        self._runs, self._progress = runs, progress
        self._known: dict[str, Measured] = {}

    def measure(self, tree: Mapping[str, Item]) -> Measured:
        """How the skill does with these files. Raises ModelError, or FailedError `eval-incomplete`."""
        key = digest(tree)
        if key not in self._known:
            done = measured(
                self._workspace,
                self.subject,
                {"with_skill": self.subject._replace(tree=tree)},
                self._model,
                grader=self._grader,
                runs=self._runs,
                tokens=None,
                progress=self._progress,
            )
            found = scores(done, "with_skill")
            known = {name: score for name, score in found.items() if score is not None}
            if len(known) < len(found):
                missing = next(run.error for run in done if run.error)
                hint = "Run it again, with a larger budget or fewer runs."
                raise FailedError("eval-incomplete", f"Not everything was measured: {missing}", hint=hint)
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
