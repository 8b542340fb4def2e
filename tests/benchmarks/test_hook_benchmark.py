"""The benchmark of hooks measures every way, and hooks that really offer something."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "hook_latency.py"


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="no such sockets there")
def test_hooks_are_measured_in_every_way() -> None:
    command = [sys.executable, str(BENCHMARK), "--sizes", "3", "--rounds", "2", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert list(document) == ["success", "python", "load", "sizes"]
    found = document["sizes"]["3"]
    assert list(found) == ["milliseconds", "offered", "goal", "met", "times_bare", "cpu_alone_times_bare"]
    assert list(found["milliseconds"]) == ["bare", "routing", "hook", "alone", "tool", "tool alone"]
    assert found["offered"] == 1.0
    taken = found["milliseconds"]
    assert found["met"] is (taken["hook"] <= found["goal"])
