#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Run a Python program under cProfile and show which functions of the project cost the most.

Two tables: functions by their own time, to which the library code they call directly is charged, and by the time with
everything they call. The project is the current directory without virtual environments; --all shows every function.

    python3 hot.py -- job.py data.csv
    python3 hot.py --json -- -m package.module --option

Exit codes: 0 the program ended well, 1 it failed (what was measured until then is shown), 2 wrong usage, 4 it could not
be started.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import os
import pstats
import runpy
import sys
import sysconfig
from typing import Any

OUTSIDE = ("site-packages", "dist-packages", ".venv", "venv", "node_modules", ".tox", ".nox")


def main(arguments: list[str]) -> int:
    """Read the arguments, run the program, print the tables."""
    parser = argparse.ArgumentParser(prog="hot", description="Show where a Python program spends its time.")
    parser.add_argument("--top", type=int, default=15, metavar="N", help="rows of each table (default 15)")
    parser.add_argument("--all", action="store_true", help="every function, not only the project's")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="-- FILE ARGUMENTS, or -- -m MODULE ARGUMENTS")
    options = parser.parse_args(arguments)
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not program or program == ["-m"] or options.top < 1:
        parser.print_usage(sys.stderr)
        print("hot: name a program after `--`", file=sys.stderr)
        return 2
    if program[0] != "-m" and not os.path.isfile(program[0]):
        print(f"hot: cannot run {program[0]}: there is no such file", file=sys.stderr)
        return 4
    profile, failure = run(program)
    report = summarize(profile, options.top, everything=options.all)
    report["failure"] = failure
    print(json.dumps(report) if options.json else render(report))
    if failure:
        print(f"hot: the program failed: {failure}", file=sys.stderr)
    return 1 if failure else 0


def run(program: list[str]) -> tuple[cProfile.Profile, str]:
    """Run a file or module as if Python had been started with it; its output goes to standard error."""
    module = program[0] == "-m"
    sys.argv = program[1:] if module else program
    sys.path.insert(0, os.getcwd() if module else os.path.dirname(os.path.abspath(program[0])))
    profile, failure, output = cProfile.Profile(), "", sys.stdout
    sys.stdout = sys.stderr
    try:
        profile.enable()
        if module:
            runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program[0], run_name="__main__")
    except SystemExit as end:
        failure = "" if end.code in (None, 0) else f"exit code {end.code}"
    except KeyboardInterrupt:
        failure = "interrupted"
    except Exception as error:  # whatever the program raises is its own affair
        failure = f"{type(error).__name__}: {error}"
    finally:
        profile.disable()
        sys.stdout = output
    return profile, failure


def summarize(profile: cProfile.Profile, top: int, *, everything: bool) -> dict[str, Any]:
    """The total, and the largest rows of both tables."""
    stats = pstats.Stats(profile, stream=io.StringIO())
    rows: dict[tuple[str, int, str], list[float]] = {}
    for place, (_, calls, own, whole, callers) in stats.stats.items():  # type: ignore[attr-defined]  # not in the stubs
        if everything or is_project(place[0]):
            row = rows.setdefault(place, [0.0, 0.0, 0])
            row[0] += own
            row[1] += whole
            row[2] += calls
            continue
        for caller, (_, _, part, _) in callers.items():
            if is_project(caller[0]):
                rows.setdefault(caller, [0.0, 0.0, 0])[0] += part
    named = [
        {"place": shown(place), "own": round(own, 4), "whole": round(whole, 4), "calls": int(calls)}
        for place, (own, whole, calls) in rows.items()
    ]
    total = float(stats.total_tt)  # type: ignore[attr-defined]  # not in the stubs
    return {
        "seconds": round(total, 4),
        "calls": int(stats.total_calls),  # type: ignore[attr-defined]  # not in the stubs
        "own": sorted(named, key=lambda row: (-float(str(row["own"])), str(row["place"])))[:top],
        "whole": sorted(named, key=lambda row: (-float(str(row["whole"])), str(row["place"])))[:top],
    }


def is_project(file: str) -> bool:
    """Is this a file of the project in the current directory?"""
    path = os.path.abspath(file)
    if file.startswith(("<", "~")) or path == os.path.abspath(__file__):
        return False
    library = os.path.abspath(sysconfig.get_path("stdlib"))
    inner = os.path.relpath(path, os.getcwd()).split(os.sep)
    return inner[0] != os.pardir and not set(inner) & set(OUTSIDE) and not path.startswith(library + os.sep)


def shown(place: tuple[str, int, str]) -> str:
    """A function as people find it."""
    file, line, name = place
    if file == "~":
        return name
    path = os.path.relpath(file) if is_project(file) else file
    return f"{path}:{line} {name}"


def render(report: dict[str, Any]) -> str:
    """Both tables as text."""
    total = report["seconds"] or 1e-9
    lines = [f"total {report['seconds']:.3f} s, {report['calls']:,} calls"]
    for title, field in (("own time", "own"), ("with what it calls", "whole")):
        lines.append(title)
        for row in report[field]:
            share = f"{100 * row[field] / total:5.1f}%"
            lines.append(f"  {row[field]:8.3f} s  {share}  {row['calls']:8} calls  {row['place']}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
