"""The results on disk, in the layout that other tools for skills read.

    DIR/history.json
    DIR/iteration-N/benchmark.json, comparison.json, report.html
    DIR/iteration-N/EVAL/with_skill/{outputs/, timing.json, grading.json}      with several runs in run-1/, run-2/, ...

Every call writes an iteration of its own; nothing that was there is changed but the history.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError, UsageError
from whet.skill.names import slug
from whet.store.atomic import make_directories, write_bytes, write_text
from whet.store.failures import os_failures
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.learning.evals.blind import Compared
    from whet.learning.evals.results import Benchmark, Run

ANSWER = "answer.md"
_ITERATION = re.compile(r"iteration-(\d{1,9})")


class History(NamedTuple):
    """The iterations of a workspace. Rows are as the file has them: other tools may have written them."""

    iterations: tuple[Mapping[str, Any], ...] = ()
    started_at: Any = None
    current_best: Any = None


def begin(directory: str) -> tuple[str, int]:
    """A new, empty directory for an iteration, and its number. Raises UsageError, FailedError."""
    top = os.path.abspath(os.path.expanduser(directory))
    if os.path.lexists(top) and not os.path.isdir(top):
        raise UsageError("not-a-directory", f"{top} is no directory.", hint="Name another with --out.", path=top)
    with os_failures(top):
        make_directories(top, durable=False)
        numbers = [int(found[1]) for name in os.listdir(top) if (found := _ITERATION.fullmatch(name))]
        number = max(numbers, default=0) + 1
        while True:
            try:
                os.mkdir(path := os.path.join(top, f"iteration-{number}"))
            except FileExistsError:
                number += 1
            else:
                return path, number


def abandon(place: str) -> None:
    """Remove the directory of an iteration that came to nothing."""
    with suppress(OSError):
        os.rmdir(place)


def write(place: str, benchmark: Benchmark, compared: Compared | None = None) -> None:
    """Everything about the runs of an iteration."""
    runs, several = benchmark.runs, benchmark.runs_each > 1
    names = _names([*dict.fromkeys(run.eval.id for run in runs)])
    with os_failures(place):
        for run in runs:
            folder = os.path.join(place, names[run.eval.id], run.side, *([f"run-{run.number}"] if several else []))
            make_directories(os.path.join(folder, "outputs"), durable=False)
            _write_outputs(folder, run)
            seconds = round(run.seconds, 3)
            timing = {
                "total_tokens": run.tokens,
                "duration_ms": round(run.seconds * 1000),
                "total_duration_seconds": seconds,
                "tokens_in": run.tokens_in,
                "tokens_out": run.tokens_out,
                "grading_tokens": run.grading_tokens,
            }
            _dump(os.path.join(folder, "timing.json"), timing)
            grades = {"expectations": as_json(run.results), "summary": run.counts, "error": run.error}
            _dump(os.path.join(folder, "grading.json"), {**grades, "skill_files_viewed": list(run.viewed)})
        for item in {run.eval.id: run.eval for run in runs}.values():
            told = {"eval_id": item.id, "prompt": item.prompt, "assertions": [one.text for one in item.expectations]}
            _dump(os.path.join(place, names[item.id], "eval_metadata.json"), told)
        _dump(os.path.join(place, "benchmark.json"), benchmark.to_json())
        if compared is not None:
            about = {"skill_name": benchmark.skill, "grader_model": benchmark.grader}
            _dump(os.path.join(place, "comparison.json"), {**about, **compared.to_json()})


def write_page(place: str, benchmark: Benchmark, history: History, compared: Compared | None = None) -> None:
    """The iteration as a page for a browser."""
    from whet.learning.evals.page import page

    write_text(os.path.join(place, "report.html"), page(benchmark, history.iterations, compared), durable=False)


def read_history(directory: str) -> History:
    """The history of a workspace; an empty one where there is none. Raises InvalidError for a file that is none."""
    path = os.path.join(os.path.abspath(os.path.expanduser(directory)), "history.json")
    if not os.path.exists(path):
        return History()
    with os_failures(path, doing="read", other="read-failed"), open(path, "rb") as file:
        data = file.read()
    try:
        found = json.loads(data)
        rows = found["iterations"]
        sound = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        hint = "Move the file away, or name another directory with --out."
        raise InvalidError("eval-history-unreadable", f"{path} is no history of evals.", hint=hint, path=path)
    return History(tuple(rows), found.get("started_at"), found.get("current_best"))


def add_to_history(
    directory: str, history: History, number: int, *, skill: str, digest: str, rate: float | None, timestamp: str
) -> History:
    """The history with one more iteration; the best one is that with the highest rate, the earlier of two."""
    iterations = history.iterations
    rates = [(row.get("expectation_pass_rate"), row) for row in iterations]
    known = [(value, row) for value, row in rates if isinstance(value, int | float)]
    best = max(known, key=lambda pair: pair[0], default=None)
    parent = best[1].get("version") if best else None
    won = rate is not None and (best is None or rate > best[0])
    result = "baseline" if best is None else "won" if won else "tie" if rate == best[0] else "lost"
    row = {
        "version": f"v{number}",
        "parent": parent,
        "digest": digest,
        "timestamp": timestamp,
        "expectation_pass_rate": None if rate is None else round(rate, 4),
        "grading_result": "no-score" if rate is None else result,
        "is_current_best": won,
    }
    if won:
        iterations = tuple({**old, "is_current_best": False} for old in iterations)
    best_now = row["version"] if won else history.current_best
    new = History((*iterations, row), history.started_at or timestamp, best_now)
    told = {"started_at": new.started_at, "skill_name": skill, "current_best": best_now}
    path = os.path.join(os.path.abspath(os.path.expanduser(directory)), "history.json")
    _dump(path, {**told, "iterations": new.iterations})
    return new


def _write_outputs(folder: str, run: Run) -> None:
    """The answer and the files a model wrote; their paths were checked when it did."""
    outputs = os.path.join(folder, "outputs")
    if ANSWER not in run.output.files:
        write_text(os.path.join(outputs, ANSWER), run.output.answer, durable=False)
    for path, data in run.output.files.items():
        target = os.path.join(outputs, *path.split("/"))
        make_directories(os.path.dirname(target), durable=False)
        write_bytes(target, data, durable=False)


def _names(ids: list[str]) -> dict[str, str]:
    """A directory's name for each eval."""
    names: dict[str, str] = {}
    for number, name in enumerate(ids, 1):
        plain = f"eval-{slug(name)[:60]}".rstrip("-")
        names[name] = plain if plain not in names.values() and plain != "eval" else f"{plain}-{number}"
    return names


def _dump(path: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace")
    write_bytes(path, text + b"\n", durable=False)
