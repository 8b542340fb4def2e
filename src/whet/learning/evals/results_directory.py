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
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError, UsageError
from whet.learning.evals.results import FLAGS, SIDES
from whet.skill.names import slug
from whet.store.atomic import write_bytes, write_text
from whet.store.directories import make_directories
from whet.store.failures import os_failures
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.learning.evals.grading import Compared
    from whet.learning.evals.results import Benchmark, Row, Run, Side

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
        raise UsageError("not-a-directory", f"{top} is not a directory.", hint="Choose another with `--out`.", path=top)
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
        hint = "Move the file, or choose another directory with `--out`."
        raise InvalidError("eval-history-unreadable", f"{path} is not an eval history.", hint=hint, path=path)
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


_SHOWN = 6_000
"""Characters of an output that the page has."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_LABELS = {
    "with_skill": "with the skill",
    "without_skill": "without it",
    "old_skill": "with the earlier version",
}
_STYLE = """
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid #8884;vertical-align:top}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#8881;padding:.7rem;max-height:24rem;overflow:auto}
.yes{color:#2f7d4f}.no{color:#b3402f}.flag{font-size:.85em;border:1px solid #8888;border-radius:3px;padding:0 .3rem}
.dim{opacity:.7}meter{width:10rem}summary{cursor:pointer}
"""


def page(benchmark: Benchmark, history: Sequence[Mapping[str, Any]] = (), compared: Compared | None = None) -> str:
    """The page for a benchmark and its runs; with the iterations before it, how the pass rate went on.

    With a blind comparison, also what came of that.
    """
    runs, sides = benchmark.runs, [side for side in SIDES if side in benchmark.summary.sides]
    made = f"{_text(benchmark.timestamp)}, {_text(benchmark.model)}"
    parts = [
        f"<h1>{_text(benchmark.skill)}</h1>",
        f"<p class=dim>{made}, runs of each eval: {benchmark.runs_each}</p>",
        _summary(benchmark, sides),
        "<h2>Pass rate of each eval</h2>",
        _evals(runs, sides),
        *(["<h2>Over the iterations</h2>", _iterations(history)] if len(history) > 1 else []),
        *(["<h2>Blind comparison</h2>", _compared(compared)] if compared else []),
        "<h2>Expectations</h2>",
        _expectations(benchmark.rows, sides),
        "<h2>Outputs</h2>",
        *(_run(run) for run in runs),
    ]
    if not benchmark.complete:
        parts.insert(2, "<p class=no>Some runs did not finish; the numbers cover those that did.</p>")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>Evals of {_text(benchmark.skill)}</title>'
        f"<style>{_STYLE}</style></head><body>\n"
    )
    return head + "\n".join(parts) + "\n</body></html>\n"


def _text(value: object) -> str:
    """A text of anybody's, as harmless text of the page; what cannot be seen is shown as its number."""
    shown = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", str(value))
    return escape(shown, quote=True)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _meter(rate: float | None) -> str:
    return _number(rate) if rate is None else f'<meter value="{rate:.4f}"></meter> {_number(rate)}'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; what is in it is HTML."""
    head = "".join(f"<th>{text}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _summary(benchmark: Benchmark, sides: Sequence[Side]) -> str:
    told = benchmark.summary
    rows = []
    for at, (name, unit, digits) in enumerate((("pass_rate", "", 2), ("time_seconds", " s", 1), ("tokens", "", 0))):
        measured = [told.sides[side][at] for side in sides]
        means = ["–" if one is None else f"{one.mean:,.{digits}f}{unit} ± {one.stddev:,.{digits}f}" for one in measured]
        rows.append([name.replace("_", " "), *means, _text(told.delta[name] or "–")])
    return _table(["", *(_LABELS[side] for side in sides), "difference"], rows)


def _evals(runs: Sequence[Run], sides: Sequence[Side]) -> str:
    """The pass rate of each eval on each side; of several runs, also that of each."""
    rows = []
    for name in dict.fromkeys(run.eval.id for run in runs):
        cells = []
        for side in sides:
            given = [run.pass_rate for run in runs if run.eval.id == name and run.side == side]
            rates = [rate for rate in given if rate is not None]
            each = f" ({', '.join(map(_number, rates))})" if len(rates) > 1 else ""
            cells.append(_meter(sum(rates) / len(rates) if rates else None) + each)
        rows.append([_text(name), *cells])
    return _table(["eval", *(_LABELS[side] for side in sides)], rows)


def _iterations(history: Sequence[Mapping[str, Any]]) -> str:
    """The pass rate of each iteration."""
    given = [(row, row.get("expectation_pass_rate")) for row in history[-40:]]
    rows = [
        [_text(row.get("version", ""))[:40], _meter(rate), "best" if row.get("is_current_best") else ""]
        for row, rate in given
        if isinstance(rate, int | float) and 0 <= rate <= 1
    ]
    return _table(["iteration", "pass rate", ""], rows)


def _expectations(rows: Sequence[Row], sides: Sequence[Side]) -> str:
    lines = []
    for row in rows:
        flags = " ".join(f'<span class=flag title="{_text(FLAGS[flag])}">{flag}</span>' for flag in row.flags)
        lines.append([_text(row.eval), _text(row.text), *(_number(row.rates.get(side)) for side in sides), flags])
    return _table(["eval", "expectation", *(_LABELS[side] for side in sides), ""], lines)


def _compared(compared: Compared) -> str:
    """How often the skill was preferred by somebody who did not know, and what that was said for."""
    wins, losses, ties, missed = compared.counts()
    counts = f"With the skill: {wins} won, {losses} lost, {ties} tied"
    missing = f", {missed} missing" if missed else ""
    rows = []
    for pair in compared.pairs:
        said = "<br>".join(
            f"{_LABELS[opinion.first]} first: {_LABELS.get(opinion.better, opinion.better)}. {_text(opinion.reason)}"
            for opinion in pair.opinions
        )
        winner = _LABELS.get(pair.winner, pair.winner) or "–"
        rows.append([_text(pair.eval), str(pair.number), winner, said or _text(pair.error)])
    return f"<p>{counts}{missing}</p>{_table(['eval', 'run', 'better', 'why, shown in both orders'], rows)}"


def _run(run: Run) -> str:
    score = _number(run.pass_rate)
    head = f"{_text(run.eval.id)}, {_LABELS[run.side]}, run {run.number}: {score}, {run.tokens:,} tokens"
    rows = [
        [f"<span class={'yes' if met else 'no'}>{'met' if met else 'not met'}</span>", _text(text), _text(evidence)]
        for text, met, evidence, _ in run.results
    ]
    error = f"<p class=no>{_text(run.error)}</p>" if run.error else ""
    text = run.output.text(_SHOWN + 1)
    cut = "\n…" if len(text) > _SHOWN else ""
    return (
        f"<details><summary>{head}</summary>{error}<p class=dim>{_text(run.eval.prompt[:_SHOWN])}</p>"
        f"{_table(['', 'expectation', 'evidence'], rows)}<pre>{_text(text[:_SHOWN])}{cut}</pre></details>"
    )
