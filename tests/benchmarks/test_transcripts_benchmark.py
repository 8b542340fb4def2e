"""The benchmark of transcripts reads sessions of every format, and tells what it took."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "transcripts.py"
CLIENTS = ["claude-code", "codex", "openai", "anthropic", "whet"]


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell how much memory was used")
def test_sessions_of_every_format_are_measured() -> None:
    command = [sys.executable, str(BENCHMARK), "--size", "0.05", "--json"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [row["client"] for row in rows] == CLIENTS
    for row in rows:
        assert list(row) == ["client", "MB", "peak MB", "grown MB", "seconds", "MB/s", "events", "report"]
        assert row["MB"] >= 0.05 and row["events"] >= 300
        assert {line.partition(":")[0] for line in row["report"]} == {
            "transcript-cut",
            "transcript-secrets-hidden",
        }
