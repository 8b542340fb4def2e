"""A small run of the scenarios that find nothing; `make chaos` runs all of them, and many more of each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chaos.runner import printed, table

TOP = Path(__file__).parent.parent.parent
RUNS = {
    "kill": ("--kills", "70"),
    "full": ("--full", "40"),
    "damage": ("--damages", "60"),
    "sequence": ("--sequence", "1"),
    "hostile": ("--hostile", "15"),
    "writers": ("--writers", "1"),
    "soak": ("--soak", "1"),
}


@pytest.fixture(params=RUNS)
def family(request: pytest.FixtureRequest) -> str:
    """Each takes minutes on a slow machine, and is a test of its own."""
    name: str = request.param
    return name


@pytest.mark.deep
def test_nothing_is_lost_and_nobody_says_fine(family: str) -> None:
    command = [sys.executable, "-m", "tests.chaos", "--only", family, *RUNS[family], "--jobs", "1", "--seed", "2026"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=570)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_table_ends_with_the_sum_of_its_rows() -> None:
    assert printed(table([])).splitlines()[-1].split() == ["all", "0", "0", "0", "0", "0", "0"]
