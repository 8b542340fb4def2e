"""What many runs say together: means, how far they spread, what the skill changes, and which expectations tell nothing.

The standard deviation is that of the sample: with one run there is none to tell. An expectation that is always met,
with the skill and without, does not measure the skill; one that is never met on either side may be wrong itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.learning.evals.results import by_expectation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whet.learning.evals.results import Run, Side

Flag = Literal["passes-in-both", "fails-in-both", "high-variance", "worse-with-skill", "no-score"]
FLAGS: dict[Flag, str] = {
    "passes-in-both": "It is met with and without the skill, so it says nothing about the skill.",
    "fails-in-both": "It is never met; it may be wrong, or too hard.",
    "high-variance": "It is met at times and at times not; more runs, or a clearer expectation, would tell.",
    "worse-with-skill": "It is met less often with the skill than without.",
    "no-score": "Nobody could tell; a run is missing.",
}
_UNSURE = (0.2, 0.8)
_LEAST_RUNS = 3
"""Runs from which on spread tells anything."""


class Spread(NamedTuple):
    """Numbers, summed up."""

    mean: float
    stddev: float
    min: float
    max: float

    def to_json(self) -> dict[str, float]:
        """Rounded."""
        return {name: round(value, 4) for name, value in self._asdict().items()}


class Row(NamedTuple):
    """One expectation of one eval on both sides; None where there is no score."""

    eval: str
    text: str
    rates: dict[Side, float | None]
    flags: tuple[Flag, ...]

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "flags": list(self.flags)}


def spread(values: Iterable[float]) -> Spread | None:
    """Mean, deviation and limits; None of nothing."""
    given = [*values]
    if not given:
        return None
    mean = math.fsum(given) / len(given)
    variance = math.fsum((value - mean) ** 2 for value in given) / (len(given) - 1) if len(given) > 1 else 0.0
    return Spread(mean, math.sqrt(variance), min(given), max(given))


def scores(runs: Sequence[Run], side: Side) -> dict[str, float | None]:
    """The mean pass rate of each eval on one side; None where any of its runs has no score."""
    found: dict[str, float | None] = {}
    for name in dict.fromkeys(run.eval.id for run in runs if run.side == side):
        rates = [run.pass_rate for run in runs if run.side == side and run.eval.id == name]
        known = [rate for rate in rates if rate is not None]
        found[name] = math.fsum(known) / len(known) if len(known) == len(rates) else None
    return found


def summary(runs: Sequence[Run], sides: Sequence[Side]) -> dict[str, Any]:
    """Pass rate, time and tokens of each side, and the difference between the first and the second."""
    measures: dict[str, Callable[[Run], float]] = {
        "pass_rate": lambda run: run.pass_rate or 0.0,
        "time_seconds": lambda run: run.seconds,
        "tokens": lambda run: float(run.tokens),
    }
    found: dict[str, Any] = {}
    for side in sides:
        scored = [run for run in runs if run.side == side and run.pass_rate is not None]
        spreads = {name: spread(map(measure, scored)) for name, measure in measures.items()}
        found[side] = {name: None if one is None else one.to_json() for name, one in spreads.items()}
    delta: dict[str, str | None] = dict.fromkeys(measures)
    if len(sides) > 1:
        for name in measures:
            one, other = found[sides[0]][name], found[sides[1]][name]
            if one is not None and other is not None:
                delta[name] = f"{one['mean'] - other['mean']:+.{2 if name == 'pass_rate' else 1}f}"
    return {**found, "delta": delta}


def rows(runs: Sequence[Run], sides: Sequence[Side]) -> tuple[Row, ...]:
    """Every expectation with its rate on each side, and what is worth a look."""
    found = []
    for item in {run.eval.id: run.eval for run in runs}.values():
        own = {side: [run for run in runs if run.eval.id == item.id and run.side == side] for side in sides}
        for place, wanted in enumerate(item.expectations):
            met = {side: by_expectation(own[side], place) for side in sides}
            rates = {side: sum(given) / len(given) if given else None for side, given in met.items()}
            missing = any(run.pass_rate is None for side in sides for run in own[side])
            found.append(Row(item.id, wanted.text, rates, _flags(sides, rates, met, missing=missing)))
    return tuple(found)


def _flags(
    sides: Sequence[Side], rates: dict[Side, float | None], met: dict[Side, list[bool]], *, missing: bool
) -> tuple[Flag, ...]:
    flags: list[Flag] = ["no-score"] if missing else []
    known = [rate for side in sides if (rate := rates[side]) is not None]
    if len(known) == len(sides) > 1:
        if min(known) == 1.0:
            flags.append("passes-in-both")
        if max(known) == 0.0:
            flags.append("fails-in-both")
        if known[0] < known[1]:
            flags.append("worse-with-skill")
    low, high = _UNSURE
    if any(len(met[side]) >= _LEAST_RUNS and low <= (rates[side] or 0.0) <= high for side in sides):
        flags.append("high-variance")
    return tuple(flags)


def benchmark(
    runs: Sequence[Run], sides: Sequence[Side], *, skill: str, path: str, model: str, grader: str, timestamp: str
) -> dict[str, Any]:
    """The whole comparison in the common form of benchmark.json, with our remarks on each expectation."""
    judged = rows(runs, sides)
    notes = [f"{row.eval}: {row.text}: {FLAGS[flag]}" for row in judged for flag in row.flags]
    return {
        "metadata": {
            "skill_name": skill,
            "skill_path": path,
            "executor_model": model,
            "analyzer_model": grader,
            "timestamp": timestamp,
            "evals_run": [*dict.fromkeys(run.eval.id for run in runs)],
            "runs_per_configuration": max((run.number for run in runs), default=0),
        },
        "runs": [_run(run) for run in runs],
        "run_summary": summary(runs, sides),
        "expectations": [row.to_json() for row in judged],
        "complete": all(run.pass_rate is not None for run in runs),
        "notes": notes,
    }


def _run(run: Run) -> dict[str, Any]:
    total = len(run.results)
    return {
        "eval_id": run.eval.id,
        "configuration": run.side,
        "run_number": run.number,
        "result": {
            "pass_rate": None if run.pass_rate is None else round(run.pass_rate, 4),
            "passed": run.passed,
            "failed": total - run.passed,
            "total": total,
            "time_seconds": round(run.seconds, 3),
            "tokens": run.tokens,
            "tool_calls": run.calls,
            "errors": 1 if run.error else 0,
        },
        "expectations": [result.to_json() for result in run.results],
        "notes": [run.error] if run.error else [],
    }
