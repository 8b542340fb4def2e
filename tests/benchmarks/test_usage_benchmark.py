"""The usage benchmark times events that are really counted, here and elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def usage(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import usage

    return usage


def test_events_are_measured_without_any_peer(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "usage.py"), "--skills", "30", "--events", "40", "--json"]
    done = subprocess.run([*command, "--peers", str(tmp_path / "none")], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert list(document) == ["machine", "skills", "microseconds", "times_as_long", "goal", "reached"]
    assert (document["skills"], document["goal"]) == (30, 20)
    rewriting = ["rewriting, as hermes-agent does", "rewriting, without sync"]
    assert list(document["microseconds"]) == ["whet", *rewriting]
    assert list(document["microseconds"]["whet"]) == ["events", "median", "mean", "slowest", "counted"]
    assert {numbers["events"] for numbers in document["microseconds"].values()} == {40}
    assert list(document["times_as_long"]) == rewriting


def test_the_history_is_the_same_for_everybody(usage: ModuleType) -> None:
    assert usage.history(5) == usage.history(5)
    assert list(usage.history(3)) == ["skill-00000", "skill-00001", "skill-00002"]


def test_times_of_events_that_were_lost_are_refused(usage: ModuleType) -> None:
    assert usage.summary([1e-6, 3e-6, 8e-6], 3) == {"events": 3, "median": 3.0, "mean": 4.0, "slowest": 8.0}
    with pytest.raises(SystemExit, match=r"2 of 3 events were counted\."):
        usage.summary([1e-6] * 3, 2)


def test_a_peer_that_fails_is_told_and_left_out(usage: ModuleType, tmp_path: Path) -> None:
    failed = usage.measure_hermes(str(tmp_path), usage.history(1), ["skill-00000"], sys.executable)
    assert failed == {"error": "ModuleNotFoundError: No module named 'tools'"}
    whet = {"events": 2, "median": 1.0, "mean": 2.0, "slowest": 3.0, "counted": 4.0}
    other = {"events": 2, "median": 90.0, "mean": 100.0, "slowest": 3000.0}
    systems: dict[str, Any] = {"whet": whet, "hermes-agent 1": failed, "rewriting": other}
    verdict = usage._verdict(systems)
    assert verdict == {"times_as_long": {"rewriting": {"recorded": 50.0, "counted": 25.0}}, "goal": 20, "reached": True}
    assert usage.report({"skills": 1000, "microseconds": systems, **verdict}).splitlines() == [
        "One event among 1,000 skills",
        "",
        "| system | events | median, us | mean, us | slowest, us | counted, us | against recorded | counted |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| whet | 2 | 1.0 | 2.0 | 3.0 | 4.0 |  |  |",
        "| hermes-agent 1 | ModuleNotFoundError: No module named 'tools' |  |  |  |  |  |  |",
        "| rewriting | 2 | 90.0 | 100.0 | 3,000.0 |  | 50.0 x | 25.0 x |",
        "",
        "At least 20 x, all counted: yes.",
    ]
