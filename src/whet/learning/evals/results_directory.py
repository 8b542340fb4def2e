"""The results on disk, in the layout that other tools for skills read.

    DIR/iteration-N/benchmark.json
    DIR/iteration-N/EVAL/with_skill/{outputs/, timing.json, grading.json}      with several runs in run-1/, run-2/, ...

Every call writes a new iteration; existing ones are not changed.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whet.errors import InvalidError, UsageError
from whet.skill.names import slug
from whet.store.atomic import write_bytes, write_text
from whet.store.directories import make_directories
from whet.store.failures import os_failures
from whet.values import as_json

if TYPE_CHECKING:
    from whet.learning.evals.results import Evaluation, Run

ANSWER = "answer.md"
BENCHMARK = "benchmark.json"
_ITERATION = re.compile(r"iteration-(\d{1,9})")


def begin(directory: str) -> str:
    """Create an empty directory for an iteration. Raises UsageError, FailedError."""
    top = os.path.abspath(os.path.expanduser(directory))
    if os.path.lexists(top) and not os.path.isdir(top):
        raise UsageError("not-a-directory", f"{top} is not a directory.", hint="Choose another with `--out`.", path=top)
    with os_failures(top):
        make_directories(top, durable=False)
        number = max(_iterations(top), default=0) + 1
        while True:
            try:
                os.mkdir(path := os.path.join(top, f"iteration-{number}"))
            except FileExistsError:
                number += 1
            else:
                return path


def abandon(place: str) -> None:
    """Remove the directory of an iteration without results."""
    with suppress(OSError):
        os.rmdir(place)


def write(place: str, evaluation: Evaluation) -> None:
    """Write everything about the runs of an iteration."""
    runs, several = evaluation.done, evaluation.runs > 1
    names = _names([*dict.fromkeys(run.eval.id for run in runs)])
    with os_failures(place):
        for run in runs:
            folder = os.path.join(place, names[run.eval.id], run.side, *([f"run-{run.number}"] if several else []))
            make_directories(os.path.join(folder, "outputs"), durable=False)
            _write_outputs(folder, run)
            output = run.output
            timing = {
                "total_tokens": output.tokens,
                "duration_ms": round(output.seconds * 1000),
                "total_duration_seconds": round(output.seconds, 3),
                "tokens_in": output.tokens_in,
                "tokens_out": output.tokens_out,
                "grading_tokens": run.grading_tokens,
            }
            _dump(os.path.join(folder, "timing.json"), timing)
            grades = {"expectations": as_json(run.results), "summary": run.to_counts(), "error": run.error}
            _dump(os.path.join(folder, "grading.json"), {**grades, "skill_files_viewed": list(output.viewed)})
        for item in {run.eval.id: run.eval for run in runs}.values():
            told = {"eval_id": item.id, "prompt": item.prompt, "assertions": [one.text for one in item.expectations]}
            _dump(os.path.join(place, names[item.id], "eval_metadata.json"), told)
        _dump(os.path.join(place, BENCHMARK), evaluation.to_benchmark())


def find_results(directory: str, digest: str) -> tuple[str, Any]:
    """Return the newest results of exactly this content: the path of its benchmark.json, and its value.

    Raises InvalidError `evals-outdated` if there is none.
    """
    top = os.path.abspath(os.path.expanduser(directory))
    for number in sorted(_iterations(top), reverse=True) if os.path.isdir(top) else ():
        path = os.path.join(top, f"iteration-{number}", BENCHMARK)
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError), open(path, "rb") as file:
            told = json.loads(file.read())
            if told["metadata"]["skill_digest"] == digest:
                return path, told
    message = f"{directory} has no results of the skill as it is now."
    hint = "Run `whet learn eval NAME --out DIR` again."
    raise InvalidError("evals-outdated", message, hint=hint, path=directory)


def _iterations(top: str) -> list[int]:
    return [int(found[1]) for name in os.listdir(top) if (found := _ITERATION.fullmatch(name))]


def _write_outputs(folder: str, run: Run) -> None:
    """Write the answer and the files of a model; their paths were checked before."""
    outputs = os.path.join(folder, "outputs")
    if ANSWER not in run.output.files:
        write_text(os.path.join(outputs, ANSWER), run.output.answer, durable=False)
    for path, data in run.output.files.items():
        target = os.path.join(outputs, *path.split("/"))
        make_directories(os.path.dirname(target), durable=False)
        write_bytes(target, data, durable=False)


def _names(ids: list[str]) -> dict[str, str]:
    """Return a directory name for each eval."""
    names: dict[str, str] = {}
    for number, name in enumerate(ids, 1):
        plain = f"eval-{slug(name)[:60]}".rstrip("-")
        names[name] = plain if plain not in names.values() and plain != "eval" else f"{plain}-{number}"
    return names


def _dump(path: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace")
    write_bytes(path, text + b"\n", durable=False)
