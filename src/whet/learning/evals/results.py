"""What came out of running evals, as values: outputs, judgements, runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.learning.evals.formats import Eval

Side = Literal["with_skill", "without_skill", "old_skill"]
"""What a model had when it did a task: the skill, nothing, or an earlier version of the skill."""


class Output(NamedTuple):
    """What a model made of a task."""

    answer: str
    files: Mapping[str, bytes] = {}
    """The files it wrote, by their paths."""

    def text(self, limit: int) -> str:
        """All of it that is text, each file under its name."""
        parts = [self.answer]
        parts += [f"--- {path} ---\n{data.decode('utf-8', 'replace')}" for path, data in sorted(self.files.items())]
        return "\n".join(parts)[:limit]


class Result(NamedTuple):
    """One expectation and whether it is met."""

    text: str
    passed: bool
    evidence: str
    by: Literal["code", "model"] = "code"

    def to_json(self) -> dict[str, Any]:
        """As grading files hold it."""
        return self._asdict()


class Run(NamedTuple):
    """One try at one eval."""

    eval: Eval
    side: Side
    number: int
    """Counted from 1."""
    output: Output
    results: tuple[Result, ...] = ()
    error: str = ""
    """Why there is no score; empty where there is one."""
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    grading_tokens: int = 0
    turns: int = 0
    calls: int = 0
    """Tools the model called."""
    viewed: tuple[str, ...] = ()
    """Files of the skill that the model looked at."""

    @property
    def tokens(self) -> int:
        """What the task took, grading left out."""
        return self.tokens_in + self.tokens_out

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def pass_rate(self) -> float | None:
        """The share of the expectations that are met; None where there is no score."""
        return self.passed / len(self.results) if self.results and not self.error else None


def by_expectation(runs: list[Run], place: int) -> list[bool]:
    """What the runs say about the expectation at one place of their eval."""
    return [run.results[place].passed for run in runs if run.pass_rate is not None]
