#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Run a command many times and report how often it fails, how long it takes and how many different outputs it has.

Each run gets no standard input and the environment variable FLAKY_RUN (1, 2, 3, ...), which a command can use as a
seed. Outputs are compared by hash after addresses, clock times, durations and ruler lines have been masked, so that
"passed in 0.12s" and "passed in 0.14s" count as one output.

Exit codes: 0 every run passed, 1 some passed and some failed, 2 wrong usage, 3 every run failed, 4 the command could
not be started.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import IO, Any, NamedTuple

EXIT_PASSES, EXIT_FLAKY, EXIT_USAGE, EXIT_FAILS, EXIT_CANNOT_RUN = 0, 1, 2, 3, 4
EXIT_BY_VERDICT = {"passes": EXIT_PASSES, "flaky": EXIT_FLAKY, "fails": EXIT_FAILS}

MAX_LISTED = 10
MAX_LINE = 200
CHUNK = 64 * 1024

MASKS = (
    rb"0x[0-9a-fA-F]+",
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?",
    rb"\b\d\d:\d\d:\d\d(?:[.,]\d+)?",
    rb"\b\d+(?:\.\d+)?\s?(?:ns|us|ms|s|sec|secs|seconds?)\b",
    rb"\bpid[ =:]+\d+",
    rb"[=_-]{4,}",
)


class CannotRunError(Exception):
    """The command could not be started at all."""


class Run(NamedTuple):
    """What one run did."""

    number: int
    outcome: str
    exit_code: int | None
    seconds: float
    digest: str
    tail: tuple[str, ...]


def read_output(output: IO[bytes], masks: list[re.Pattern[bytes]], tail_lines: int) -> tuple[str, tuple[str, ...]]:
    """The digest of the masked output and its last lines as they were."""
    digest = hashlib.sha256()
    tail: collections.deque[str] = collections.deque(maxlen=tail_lines)
    output.seek(0)
    while line := output.readline(CHUNK):
        if shown := line.decode("utf-8", "backslashreplace").rstrip():
            tail.append(shown[:MAX_LINE])
        for mask in masks:
            line = mask.sub(b"~", line)
        digest.update(line)
    return digest.hexdigest()[:12], tuple(tail)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a run and what it started."""
    if sys.platform == "win32":
        process.kill()
    else:
        # Gone, or not yet collected (macOS calls that a permission): it ended between the deadline and the signal.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_once(command: list[str], number: int, timeout: float, masks: list[re.Pattern[bytes]], tail_lines: int) -> Run:
    """One run in its own process group. Output goes to a file, so a child that stays behind cannot block the read."""
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        try:
            process = subprocess.Popen(  # noqa: S603 - running the given command is the purpose
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "FLAKY_RUN": str(number)},
                start_new_session=True,
            )
        except OSError as error:
            raise CannotRunError(f"cannot run {command[0]}: {error.strerror}") from error
        code: int | None
        try:
            code = process.wait(timeout)
            outcome = "fail" if code else "pass"
        except subprocess.TimeoutExpired:
            code, outcome = None, "timeout"
        finally:
            if process.returncode is None:
                stop(process)
        seconds = time.monotonic() - started
        digest, tail = read_output(output, masks, tail_lines)
    return Run(number, outcome, code, seconds, digest, tail)


def grouped(runs: list[Run]) -> list[dict[str, Any]]:
    """Distinct outputs, the most frequent first, each with the tail of its first run."""
    groups: dict[tuple[str, int | None, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.outcome, run.exit_code, run.digest), []).append(run)
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].number))
    return [
        {
            "hash": group[0].digest,
            "outcome": group[0].outcome,
            "exit_code": group[0].exit_code,
            "count": len(group),
            "first_run": group[0].number,
            "tail": list(group[0].tail),
        }
        for group in ordered
    ]


def report(command: list[str], requested: int, runs: list[Run], stopped: str) -> dict[str, Any]:
    """The whole answer as plain values."""
    failed = [run.number for run in runs if run.outcome != "pass"]
    seconds = [run.seconds for run in runs]
    outputs = grouped(runs)
    verdict = "passes" if not failed else "fails" if len(failed) == len(runs) else "flaky"
    return {
        "command": command,
        "verdict": verdict,
        "requested": requested,
        "runs": len(runs),
        "passed": len(runs) - len(failed),
        "failed": len(failed),
        "timed_out": sum(run.outcome == "timeout" for run in runs),
        "failed_runs": failed[:MAX_LISTED],
        "failure_rate": round(len(failed) / len(runs), 4),
        # With no failure in n runs, a flake rarer than this still has a 5% chance to have stayed hidden.
        "hidden_rate": None if failed else round(1 - 0.05 ** (1 / len(runs)), 4),
        "stopped": stopped,
        "seconds": {
            "min": round(min(seconds), 3),
            "median": round(statistics.median(seconds), 3),
            "max": round(max(seconds), 3),
            "total": round(sum(seconds), 3),
        },
        "distinct_outputs": len(outputs),
        "outputs": outputs[:MAX_LISTED],
    }


def as_text(answer: dict[str, Any]) -> str:
    """The answer for a person, or for a model that pays by the token."""
    seconds = answer["seconds"]
    lines = [f"{answer['verdict']}: {answer['failed']} of {answer['runs']} runs failed ({answer['failure_rate']:.1%})"]
    if answer["failed"]:
        more = ", ..." if answer["failed"] > len(answer["failed_runs"]) else ""
        lines.append(f"failed runs: {', '.join(map(str, answer['failed_runs']))}{more}")
    else:
        lines.append(f"a flake below {answer['hidden_rate']:.1%} could still hide (95% confidence)")
    if answer["stopped"] != "complete":
        lines.append(f"stopped by {answer['stopped']} after {answer['runs']} of {answer['requested']} runs")
    lines.append("seconds: " + ", ".join(f"{name} {value:.3f}" for name, value in seconds.items()))
    lines.append(f"distinct outputs: {answer['distinct_outputs']}")
    for group in answer["outputs"]:
        code = "" if group["exit_code"] is None else f" exit {group['exit_code']}"
        lines.append(f"  {group['count']}x {group['outcome']}{code} {group['hash']}, first in run {group['first_run']}")
        lines.extend(f"    | {line}" for line in group["tail"])
    if answer["distinct_outputs"] > len(answer["outputs"]):
        lines.append(f"  ... and {answer['distinct_outputs'] - len(answer['outputs'])} more")
    return "\n".join(lines)


def positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError(value)
    return number


def pattern(value: str) -> re.Pattern[bytes]:
    try:
        return re.compile(value.encode())
    except re.error as error:
        raise argparse.ArgumentTypeError(f"not a regular expression: {error}") from error


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Options before the first `--`, the command after it, untouched."""
    parser = argparse.ArgumentParser(
        usage="flaky.py [options] -- COMMAND [ARGUMENT ...]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=positive, default=20, metavar="N", help="how many runs (20)")
    parser.add_argument(
        "--timeout", type=positive, default=60, metavar="S", help="seconds per run, then it failed (60)"
    )
    parser.add_argument("--budget", type=positive, default=540, metavar="S", help="start no run after S seconds (540)")
    parser.add_argument("--until-fail", action="store_true", help="stop after the first failure")
    parser.add_argument("--mask", type=pattern, action="append", default=[], metavar="REGEX", help="also mask this")
    parser.add_argument("--raw", action="store_true", help="compare outputs without the built-in masks")
    parser.add_argument("--tail", type=positive, default=5, metavar="N", help="last lines shown per output (5)")
    parser.add_argument("--json", action="store_true", help="answer with one JSON document")
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options, command = parser.parse_args(arguments[:split]), arguments[split + 1 :]
    if not command:
        parser.error("no command; put it after --")
    return options, command


def main(arguments: list[str]) -> int:
    options, command = parse(arguments)
    masks = [*options.mask, *(re.compile(mask) for mask in (() if options.raw else MASKS))]
    runs: list[Run] = []
    stopped = "complete"
    started = time.monotonic()
    try:
        for number in range(1, options.runs + 1):
            runs.append(run_once(command, number, options.timeout, masks, options.tail))
            if number == options.runs:
                break
            if options.until_fail and runs[-1].outcome != "pass":
                stopped = "first failure"
                break
            if time.monotonic() - started > options.budget:
                stopped = "time budget"
                break
    except CannotRunError as error:
        if options.json:
            print(json.dumps({"error": str(error)}))
        print(f"flaky: {error}", file=sys.stderr)
        return EXIT_CANNOT_RUN
    answer = report(command, options.runs, runs, stopped)
    print(json.dumps(answer, indent=2) if options.json else as_text(answer))
    return EXIT_BY_VERDICT[answer["verdict"]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
