"""The repeat runner of `debugging-systematically`, run as an agent runs it: real processes, JSON out."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

BUNDLED = Path(__file__).parents[2] / "src" / "whet" / "bundled"
FLAKY = BUNDLED / "debugging-systematically" / "scripts" / "flaky.py"


def flaky(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FLAKY), *arguments], cwd=cwd, capture_output=True, encoding="utf-8", timeout=60
    )


def flaky_json(*arguments: str, cwd: Path | None = None) -> dict[str, Any]:
    """The JSON answer without its durations, which are checked for sense only."""
    answer: dict[str, Any] = json.loads(flaky("--json", *arguments, cwd=cwd).stdout)
    seconds = answer.pop("seconds")
    assert 0 <= seconds["min"] <= seconds["median"] <= seconds["max"] <= seconds["total"] + 0.002
    return answer


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def output(text: str, outcome: str, exit_code: int | None, count: int, first_run: int) -> dict[str, Any]:
    """One distinct output of a command that printed this one line, after masking."""
    return {
        "hash": hashlib.sha256(f"{text}{os.linesep}".encode()).hexdigest()[:12],
        "outcome": outcome,
        "exit_code": exit_code,
        "count": count,
        "first_run": first_run,
        "tail": [text],
    }


def test_a_command_that_always_passes_is_reported_with_what_could_hide() -> None:
    command = python("print('ready')")
    assert flaky_json("--runs", "3", "--", *command) == {
        "command": command,
        "verdict": "passes",
        "requested": 3,
        "runs": 3,
        "passed": 3,
        "failed": 0,
        "timed_out": 0,
        "failed_runs": [],
        "failure_rate": 0.0,
        "hidden_rate": 0.6316,
        "stopped": "complete",
        "distinct_outputs": 1,
        "outputs": [output("ready", "pass", 0, 3, 1)],
    }
    assert flaky("--runs", "1", "--", *command).returncode == 0


ODD_RUNS_FAIL = (
    "import os, sys; odd = int(os.environ['FLAKY_RUN']) % 2; print('odd' if odd else 'even'); sys.exit(odd * 7)"
)


def test_a_flaky_command_is_grouped_by_outcome_and_output() -> None:
    command = python(ODD_RUNS_FAIL)
    assert flaky_json("--runs", "5", "--", *command) == {
        "command": command,
        "verdict": "flaky",
        "requested": 5,
        "runs": 5,
        "passed": 2,
        "failed": 3,
        "timed_out": 0,
        "failed_runs": [1, 3, 5],
        "failure_rate": 0.6,
        "hidden_rate": None,
        "stopped": "complete",
        "distinct_outputs": 2,
        "outputs": [output("odd", "fail", 7, 3, 1), output("even", "pass", 0, 2, 2)],
    }
    done = flaky("--runs", "2", "--", *command)
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[:2]) == (1, ["flaky: 1 of 2 runs failed (50.0%)", "failed runs: 1"])
    assert [line for line in lines if line.startswith("    | ")] == ["    | odd", "    | even"]


def test_until_fail_stops_at_the_first_failure() -> None:
    answer = flaky_json("--runs", "9", "--until-fail", "--", *python(ODD_RUNS_FAIL))
    assert (answer["verdict"], answer["runs"], answer["stopped"]) == ("fails", 1, "first failure")


def test_a_run_over_its_time_has_failed() -> None:
    command = [
        "--runs",
        "1",
        "--timeout",
        "1",
        "--",
        *python("import time; print('begun', flush=True); time.sleep(60)"),
    ]
    answer = flaky_json(*command)
    assert (answer["verdict"], answer["timed_out"]) == ("fails", 1)
    assert answer["outputs"] == [output("begun", "timeout", None, 1, 1)]
    assert flaky(*command).returncode == 3


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are ended on POSIX systems only")
def test_a_run_over_its_time_is_ended_with_its_children(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    child = (
        "import fcntl, time; file = open('lock', 'w'); fcntl.flock(file, fcntl.LOCK_EX);"
        "print('locked', flush=True); time.sleep(60)"
    )
    parent = python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])")
    answer = flaky_json("--runs", "1", "--timeout", "2", "--", *parent, cwd=tmp_path)
    assert answer["outputs"] == [output("locked", "timeout", None, 1, 1)]

    def released() -> bool:
        """The kernel frees the lock of a process that has ended, a moment after the signal."""
        time.sleep(0.1)
        with (tmp_path / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    assert any(released() for _ in range(200))


def test_the_time_budget_stops_new_runs_and_says_so() -> None:
    answer = flaky_json("--runs", "50", "--budget", "1", "--", *python("import time; time.sleep(1.1)"))
    assert (answer["requested"], answer["runs"], answer["stopped"]) == (50, 1, "time budget")


def test_times_addresses_and_own_masks_do_not_make_outputs_differ() -> None:
    line = "0x{n:x} in 0.{n}s at 2026-01-01 10:00:0{n} pid {n} id-{n}"
    noise = f"import os; n = int(os.environ['FLAKY_RUN']); print(f'{line}')"
    assert flaky_json("--runs", "3", "--mask", r"id-\d+", "--", *python(noise))["distinct_outputs"] == 1
    assert flaky_json("--runs", "3", "--", *python(noise))["distinct_outputs"] == 3
    assert flaky_json("--runs", "3", "--raw", "--mask", r"id-\d+", "--", *python(noise))["distinct_outputs"] == 3


def test_output_is_bounded() -> None:
    chatty = "import os; [print('x' * 5000) for _ in range(50)]; print(os.environ['FLAKY_RUN'])"
    answer = flaky_json("--runs", "12", "--tail", "3", "--", *python(chatty))
    assert (answer["distinct_outputs"], len(answer["outputs"])) == (12, 10)
    assert answer["outputs"][0]["tail"] == ["x" * 200, "x" * 200, "1"]


def test_a_command_gets_no_input_and_keeps_its_own_dashes() -> None:
    answer = flaky_json(
        "--runs", "1", "--", *python("import sys; print(repr(sys.stdin.read()), sys.argv[1:])"), "--", "-x"
    )
    assert answer["outputs"][0]["tail"] == ["'' ['--', '-x']"]


def test_a_command_that_cannot_start_is_not_a_failing_test() -> None:
    done = flaky("--json", "--", "no-such-command-anywhere")
    assert done.returncode == 4
    assert list(json.loads(done.stdout)) == ["error"]
    assert done.stderr.startswith("flaky: cannot run no-such-command-anywhere: ")


@pytest.mark.parametrize(
    "arguments", [[], ["--"], ["--runs", "0", "--", "true"], ["--mask", "(", "--", "true"], ["true"]]
)
def test_wrong_use_of_flaky_is_exit_code_two(arguments: list[str]) -> None:
    done = flaky(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
