"""What a run of installing.py amounts to: tables for the terminal and the docs, and a JSON document."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any, NamedTuple

from handout import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable

    from handout import Handout

TASKS = {
    "install": "install all",
    "install-file": "install all, by file://",
    "install-directory": "install all, from a directory",
    "one": "install one of them",
    "current": "update, nothing changed",
    "outdated": "ask what changed, one did",
    "update": "update, one changed",
    "remove": "remove all",
}


class Run(NamedTuple):
    """One program, start to end."""

    seconds: float
    cpu: float
    """Of it and of the programs it started, not of the server."""
    memory: float
    """Peak, in MB, of the largest of these programs."""
    traffic: Traffic = Traffic(0, 0, 0, 0)


Results = dict[str, dict[str, Run]]
"""Contender -> task -> what it took."""
Parts = dict[str, float]
"""Part of an install -> seconds."""


def tables(results: Results, parts: Parts) -> str:
    """The results as Markdown; a ratio above 1 is in Whet's favour."""
    titled = {
        "Requests for objects / requests / KB received": _table(results, _wire, None),
        "Seconds": _table(results, lambda run: f"{run.seconds:.2f}", lambda run: run.seconds),
        "CPU seconds": _table(results, lambda run: f"{run.cpu:.2f}", lambda run: run.cpu),
        "Peak memory, MB": _table(results, lambda run: f"{run.memory:.0f}", lambda run: run.memory),
        "Whet's install of all, taken apart": "\n".join(
            ["| part | seconds |", "|---|---:|", *(f"| {name} | {value:.2f} |" for name, value in parts.items())]
        ),
    }
    return "\n\n".join(f"{title}\n\n{text}" for title, text in titled.items())


def _table(results: Results, cell: Callable[[Run], str], value: Callable[[Run], float] | None) -> str:
    """A row for each task, a column for each contender, and how many times Whet's value that of `skills` is."""
    heads = [*results, *(["skills / whet"] if value else [])]
    rows = [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for task, title in TASKS.items():
        runs = {name: told[task] for name, told in results.items() if task in told}
        if not value and not any(run.traffic.requests for run in runs.values()):
            continue
        cells = [cell(runs[name]) if name in runs else "-" for name in results]
        if value:
            both = "whet" in runs and "skills" in runs
            cells.append(f"{value(runs['skills']) / value(runs['whet']):.2f}" if both else "-")
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _wire(found: Run) -> str:
    traffic = found.traffic
    return f"{traffic.fetches} / {traffic.requests} / {traffic.down / 1e3:,.1f}" if traffic.requests else "none"


def to_json(results: Results, parts: Parts, handout: Handout, peer: str) -> dict[str, Any]:
    """Everything a run brought."""
    return {
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()},
        "skills": peer,
        "repository": {"skills": len(handout.names), "files": handout.files, "bytes": handout.size},
        "results": {
            name: {task: {**found._asdict(), "traffic": found.traffic._asdict()} for task, found in told.items()}
            for name, told in results.items()
        },
        "parts": parts,
    }
