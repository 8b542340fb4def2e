"""The speed benchmark runs and says what it measured. No time is asserted here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "speed.py"
CONTESTS = {
    "cold": ["floor", "floor, with os.walk", "whet", "whet, cache written"],
    "warm": ["floor, SKILL.md only", "floor, all that is watched", "whet", "whet, new process"],
    "open": ["whet", "whet, fresh library"],
    "validate": ["whet"],
    "process": ["python -c pass", "whet --version", "whet list"],
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    nowhere = tmp_path_factory.mktemp("peers") / "none"
    command = [sys.executable, str(SCRIPT), "--sizes", "20", "--repeat", "1", "--json", "--peers", str(nowhere)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_report_says_what_it_ran_on(report: dict[str, Any]) -> None:
    assert list(report) == ["machine", "peers", "rounds", "goals", "results", "peak_memory_mb"]
    assert list(report["machine"]) == ["cores", "system", "python", "clock"]
    assert set(report["peers"].values()) == {None}
    assert report["rounds"] == 1


def test_every_contender_without_peers_takes_part(report: dict[str, Any]) -> None:
    results = report["results"]["20"]
    assert {contest: list(contenders) for contest, contenders in results.items()} == CONTESTS
    keys = {tuple(result) for contenders in results.values() for result in contenders.values()}
    assert keys == {("best_ms", "median_ms", "third_quartile_ms", "runs", "answer")}


def test_everybody_saw_every_skill(report: dict[str, Any]) -> None:
    results = report["results"]["20"]
    assert {result["answer"] for result in results["cold"].values()} == {20}
    assert results["warm"]["whet"]["answer"] == results["warm"]["whet, new process"]["answer"] == 20


def test_goals_without_their_peer_are_not_measured(report: dict[str, Any]) -> None:
    against_peers = [goal for goal in report["goals"] if not goal["at_most"]]
    assert {(goal["value"], goal["met"]) for goal in against_peers} == {(None, None)}
    against_floors = [goal for goal in report["goals"] if goal["at_most"]]
    assert all(goal["value"] > 0 and goal["met"] in (True, False) for goal in against_floors)


@pytest.mark.deep
def test_growth_tells_what_every_command_takes() -> None:
    command = [sys.executable, str(SCRIPT), "--growth", "20,40", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    costs: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    assert list(costs) == ["20", "40"]
    names = [
        "list, first",
        "list, again",
        "show",
        "prompt index",
        "doctor",
        "find, first",
        "find, again",
        "mcp, to the list of tools",
    ]
    for found in costs.values():
        assert [cost["command"] for cost in found] == names
        assert all(cost["cpu"] > 0 and cost["memory"] > 1 for cost in found)
