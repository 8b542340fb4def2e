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
from typing import TYPE_CHECKING, Any

from whet.errors import InvalidError, UsageError
from whet.skill.names import slug
from whet.store.atomic import make_directories, write_bytes, write_text
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.evals.blind import Compared
    from whet.learning.evals.results import Run

ANSWER = "answer.md"
_ITERATION = re.compile(r"iteration-(\d{1,9})")


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


def write(place: str, runs: Sequence[Run], benchmark: dict[str, Any], compared: Compared | None = None) -> None:
    """Everything about the runs of an iteration."""
    several = benchmark["metadata"]["runs_per_configuration"] > 1
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
            _dump(os.path.join(folder, "grading.json"), grading(run))
        for item in {run.eval.id: run.eval for run in runs}.values():
            told = {"eval_id": item.id, "prompt": item.prompt, "assertions": [one.text for one in item.expectations]}
            _dump(os.path.join(place, names[item.id], "eval_metadata.json"), told)
        _dump(os.path.join(place, "benchmark.json"), benchmark)
        if compared is not None:
            about = {"skill_name": benchmark["metadata"]["skill_name"]}
            grader = benchmark["metadata"]["analyzer_model"]
            _dump(os.path.join(place, "comparison.json"), {**about, "grader_model": grader, **compared.to_json()})


def write_page(
    place: str,
    runs: Sequence[Run],
    benchmark: dict[str, Any],
    history: Sequence[dict[str, Any]],
    compared: Compared | None = None,
) -> None:
    """The iteration as a page for a browser."""
    from whet.learning.evals.page import page

    write_text(os.path.join(place, "report.html"), page(benchmark, runs, history, compared), durable=False)


def grading(run: Run) -> dict[str, Any]:
    """One run in the common form of grading.json."""
    total = len(run.results)
    return {
        "expectations": [result.to_json() for result in run.results],
        "summary": {
            "passed": run.passed,
            "failed": total - run.passed,
            "total": total,
            "pass_rate": None if run.pass_rate is None else round(run.pass_rate, 4),
        },
        "error": run.error,
        "skill_files_viewed": list(run.viewed),
    }


def read_history(directory: str) -> dict[str, Any]:
    """The history of a workspace; an empty one where there is none. Raises InvalidError for a file that is none."""
    path = os.path.join(os.path.abspath(os.path.expanduser(directory)), "history.json")
    if not os.path.exists(path):
        return {"iterations": []}
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
    return dict(found)


def add_to_history(
    directory: str, history: dict[str, Any], number: int, *, skill: str, digest: str, rate: float | None, timestamp: str
) -> dict[str, Any]:
    """The history with one more iteration; the best one is that with the highest rate, the earlier of two."""
    iterations = [row for row in history["iterations"] if isinstance(row, dict)]
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
        iterations = [{**old, "is_current_best": False} for old in iterations]
    new = {
        "started_at": history.get("started_at") or timestamp,
        "skill_name": skill,
        "current_best": row["version"] if won else history.get("current_best"),
        "iterations": [*iterations, row],
    }
    _dump(os.path.join(os.path.abspath(os.path.expanduser(directory)), "history.json"), new)
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
