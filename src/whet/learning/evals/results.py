"""Results of evals as values: outputs, judgements, runs, and summaries of many runs.

The standard deviation is that of the sample: with one run there is none. An expectation that is always met, with the
skill and without, does not measure the skill; one that is never met on either side may be wrong itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from whet.values import Json, as_json, failure_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.learning.evals.formats import Eval
    from whet.notes import Note

Side = Literal["with_skill", "without_skill", "old_skill"]
"""The conditions of an attempt: the skill, nothing, or an earlier version of the skill."""
SIDES: tuple[Side, ...] = get_args(Side)


class Output(NamedTuple):
    """A model's result for a task, and its cost."""

    answer: str
    files: Mapping[str, bytes] = {}
    """The files it wrote, by their paths."""
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    """Number of tool calls."""
    viewed: tuple[str, ...] = ()
    """Files that the model read."""

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def text(self, limit: int) -> str:
        """Return all text, each file under its name."""
        parts = [self.answer]
        parts += [f"--- {path} ---\n{data.decode('utf-8', 'replace')}" for path, data in sorted(self.files.items())]
        return "\n".join(parts)[:limit]


class Result(NamedTuple):
    """One expectation and whether it is met."""

    text: str
    passed: bool
    evidence: str
    by: Literal["code", "model"] = "code"


class Run(NamedTuple):
    """One attempt at one eval."""

    eval: Eval
    side: Side
    number: int
    """From 1."""
    output: Output
    results: tuple[Result, ...] = ()
    error: str = ""
    """Why there is no score; "" if there is one."""
    grading_tokens: int = 0

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def pass_rate(self) -> float | None:
        """The share of the expectations that are met; None if there is no score."""
        return self.passed / len(self.results) if self.results and not self.error else None

    def to_counts(self) -> Json:
        """Return the number of met expectations, in the form of grading files and benchmarks."""
        total = len(self.results)
        rate = None if self.pass_rate is None else round(self.pass_rate, 4)
        return {"pass_rate": rate, "passed": self.passed, "failed": total - self.passed, "total": total}

    def to_json(self) -> Json:
        """Return the run in the form of benchmark.json."""
        return {
            "eval_id": self.eval.id,
            "configuration": self.side,
            "run_number": self.number,
            "result": {
                **self.to_counts(),
                "time_seconds": round(self.output.seconds, 3),
                "tokens": self.output.tokens,
                "tool_calls": self.output.calls,
                "errors": 1 if self.error else 0,
            },
            "expectations": as_json(self.results),
            "notes": [self.error] if self.error else [],
        }


Flag = Literal["passes-in-both", "fails-in-both", "high-variance", "worse-with-skill", "no-score"]
FLAGS: dict[Flag, str] = {
    "passes-in-both": "It is met with and without the skill, so it says nothing about the skill.",
    "fails-in-both": "It is never met; it may be wrong, or too hard.",
    "high-variance": "It is met only sometimes; use more runs or a clearer expectation.",
    "worse-with-skill": "It is met less often with the skill than without.",
    "no-score": "It is unknown; a run is missing.",
}
_UNSURE = (0.2, 0.8)
_LEAST_RUNS = 3
"""Number of runs from which on the spread is meaningful."""


class Spread(NamedTuple):
    """A summary of numbers."""

    mean: float
    stddev: float
    min: float
    max: float

    def to_json(self) -> dict[str, float]:
        """Return the rounded numbers."""
        return {name: round(value, 4) for name, value in self._asdict().items()}


class Row(NamedTuple):
    """One expectation of one eval on both sides; None if there is no score."""

    eval: str
    text: str
    rates: Mapping[Side, float | None]
    flags: tuple[Flag, ...]


class Measures(NamedTuple):
    """The measures of one side; None if no run has a score."""

    pass_rate: Spread | None
    time_seconds: Spread | None
    tokens: Spread | None


class Summary(NamedTuple):
    """The measures of all sides, and the difference between the first and the second, as texts."""

    sides: Mapping[Side, Measures]
    delta: Mapping[str, str | None]

    def to_json(self) -> Json:
        """Return the summary in the form of benchmark.json."""
        return {**as_json(self.sides), "delta": dict(self.delta)}


class Evaluation(NamedTuple):
    """The comparison of a skill's evals with the skill, and without it or with its previous version."""

    name: str
    path: str
    digest: str
    """The digest of the measured skill."""
    model: str
    grader: str
    against: str
    sides: tuple[Side, ...]
    done: tuple[Run, ...]
    timestamp: str
    report: tuple[Note, ...] = ()
    out: str | None = None
    """The directory of the stored results."""
    problem: Note | None = None
    """The reason why it is a failure."""

    @property
    def runs(self) -> int:
        """Number of attempts at each eval on each side."""
        return max((run.number for run in self.done), default=0)

    @property
    def complete(self) -> bool:
        """Whether every run has a score."""
        return all(run.pass_rate is not None for run in self.done)

    @property
    def evals(self) -> dict[str, dict[Side, float | None]]:
        """The pass rates of each eval; None if a run has no score."""
        rates = {side: scores(self.done, side) for side in self.sides}
        names = dict.fromkeys(run.eval.id for run in self.done)
        return {name: {side: rates[side].get(name) for side in self.sides} for name in names}

    @property
    def summary(self) -> Summary:
        """Pass rate, time and tokens of each side, and the difference between the first and the second."""
        found: dict[Side, Measures] = {}
        for side in self.sides:
            scored = [run for run in self.done if run.side == side and run.pass_rate is not None]
            found[side] = Measures(
                spread(run.pass_rate or 0.0 for run in scored),
                spread(run.output.seconds for run in scored),
                spread(float(run.output.tokens) for run in scored),
            )
        delta: dict[str, str | None] = dict.fromkeys(Measures._fields)
        if len(self.sides) > 1:
            for name, one, other in zip(Measures._fields, *(found[side] for side in self.sides[:2]), strict=True):
                if one is not None and other is not None:
                    gap = round(one.mean, 4) - round(other.mean, 4)
                    delta[name] = f"{gap:+.{2 if name == 'pass_rate' else 1}f}"
        return Summary(found, delta)

    @property
    def expectations(self) -> tuple[Row, ...]:
        """Every expectation with its rate on each side, and flags."""
        found = []
        for item in {run.eval.id: run.eval for run in self.done}.values():
            own = [run for run in self.done if run.eval.id == item.id]
            scored = [run for run in own if run.pass_rate is not None]
            for place, wanted in enumerate(item.expectations):
                met = {side: [run.results[place].passed for run in scored if run.side == side] for side in self.sides}
                rates = {side: sum(given) / len(given) if given else None for side, given in met.items()}
                sure = all(_is_sure(given) for given in met.values())
                flags = _flags([*rates.values()], missing=len(scored) < len(own), sure=sure)
                found.append(Row(item.id, wanted.text, rates, flags))
        return tuple(found)

    @property
    def tokens(self) -> int:
        return sum(run.output.tokens + run.grading_tokens for run in self.done)

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors of runs, each once."""
        return tuple(dict.fromkeys(run.error for run in self.done if run.error))

    def rate(self, side: Side) -> float | None:
        """Return the rounded mean pass rate of a side."""
        rate = self.summary.sides[side].pass_rate
        return None if rate is None else round(rate.mean, 4)

    def to_json(self) -> Json:
        """Return the comparison as JSON."""
        names = ("name", "path", "model", "grader", "runs", "against", "summary", "expectations", "complete")
        told = {name: as_json(getattr(self, name)) for name in (*names, "errors", "tokens", "out", "report")}
        evals = [{"id": name, **rates} for name, rates in self.evals.items()]
        return failure_json({"success": True, **told, "evals": evals}, self.problem)

    def to_benchmark(self) -> Json:
        """Return the common form of benchmark.json."""
        expectations = self.expectations
        return {
            "metadata": {
                "skill_name": self.name,
                "skill_path": self.path,
                "skill_digest": self.digest,
                "executor_model": self.model,
                "analyzer_model": self.grader,
                "timestamp": self.timestamp,
                "evals_run": [*self.evals],
                "runs_per_configuration": self.runs,
            },
            "runs": as_json(self.done),
            "run_summary": self.summary.to_json(),
            "expectations": as_json(expectations),
            "complete": self.complete,
            "notes": [f"{row.eval}: {row.text}: {FLAGS[flag]}" for row in expectations for flag in row.flags],
        }


def spread(values: Iterable[float]) -> Spread | None:
    """Return mean, deviation and limits; None without values."""
    given = [*values]
    if not given:
        return None
    mean = math.fsum(given) / len(given)
    variance = math.fsum((value - mean) ** 2 for value in given) / (len(given) - 1) if len(given) > 1 else 0.0
    return Spread(mean, math.sqrt(variance), min(given), max(given))


def scores(runs: Sequence[Run], side: Side) -> dict[str, float | None]:
    """Return the mean pass rate of each eval on one side; None if any of its runs has no score."""
    found: dict[str, float | None] = {}
    for name in dict.fromkeys(run.eval.id for run in runs if run.side == side):
        rates = [run.pass_rate for run in runs if run.side == side and run.eval.id == name]
        known = [rate for rate in rates if rate is not None]
        found[name] = math.fsum(known) / len(known) if len(known) == len(rates) else None
    return found


def _is_sure(met: Sequence[bool]) -> bool:
    """Return whether an expectation is met nearly always or nearly never; with few runs, always True."""
    low, high = _UNSURE
    return len(met) < _LEAST_RUNS or not low <= sum(met) / len(met) <= high


def _flags(rates: Sequence[float | None], *, missing: bool, sure: bool) -> tuple[Flag, ...]:
    flags: list[Flag] = ["no-score"] if missing else []
    known = [rate for rate in rates if rate is not None]
    if len(known) == len(rates) > 1:
        if min(known) == 1.0:
            flags.append("passes-in-both")
        if max(known) == 0.0:
            flags.append("fails-in-both")
        if known[0] < known[1]:
            flags.append("worse-with-skill")
    return (*flags, *(() if sure else ("high-variance",)))
