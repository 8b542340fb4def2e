"""The quick and the deep tier together run everything, and nothing twice in the same way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep
TOP = Path(__file__).parents[2]
SAMPLE = """
import os
import pytest
from hypothesis import given, settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, rule
from tiers import thinned

{head}

def ran(what):
    with open(os.environ["RAN"], "a") as file:
        file.write(what + "\\n")

@pytest.fixture
def amount(quick):
    return 2 if quick else 3

@pytest.fixture
def table(request):
    return request.param

def test_plain():
    ran("plain")

@pytest.mark.deep
def test_deep():
    ran("deep")

@pytest.mark.parametrize("row", thinned("abcd", 2))
def test_table(row):
    ran(f"table-{{row}}")

@pytest.mark.parametrize("row", ["a", "b"])
def test_plain_table(row):
    ran(f"plain-table-{{row}}")

@pytest.mark.parametrize("row", thinned("ab", 2))
@pytest.mark.parametrize("column", thinned("xy", 2))
def test_two_tables(row, column):
    ran(f"two-{{row}}{{column}}")

@pytest.mark.deep
@pytest.mark.parametrize("row", ["a", "b"])
def test_deep_table(row):
    ran(f"deep-table-{{row}}")

@pytest.mark.parametrize("row", thinned("ab", 2))
def test_rows_that_are_tests(row, request):
    ran(f"row-{{row}}")

@pytest.mark.parametrize("row", ["a", pytest.param("b", marks=pytest.mark.deep)])
def test_shortened_table(row, quick):
    ran(f"shortened-table-{{row}}-{{2 if quick else 3}}")

def test_shortened(amount):
    ran(f"amount-{{amount}}")

@pytest.mark.usefixtures("amount")
def test_shortened_by_name():
    ran("by-name")

@given(strategies.integers())
@settings(max_examples=50, database=None)
def test_property(number):
    ran("property")

@given(strategies.just(1))
@settings(max_examples=1, database=None)
def test_one_example(number):
    ran("one-example")

class Machine(RuleBasedStateMachine):
    @rule()
    def step(self):
        ran("step")

TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=3, stateful_step_count=20, database=None)
"""
QUICK = {"plain", "table-a", "table-c", "plain-table-a", "plain-table-b", "two-ax", "row-a", "shortened-table-a-2"}
QUICK |= {"amount-2", "by-name", "property", "one-example", "step"}
DEEP = {"deep", "table-b", "table-d", "two-bx", "two-ay", "two-by", "deep-table-a", "deep-table-b", "row-b"}
DEEP |= {"shortened-table-a-3", "shortened-table-b-3", "amount-3", "by-name", "property", "step"}
EXACT = {"plain", "plain-table-a", "plain-table-b", "one-example", "table-a", "table-c", "two-ax", "row-a"}
"""What the quick tier does in full, where no process is part of the subject."""


def ran(tmp_path: Path, head: str, *tier: str) -> list[str]:
    """What ran of the sample, in the order of running."""
    (tmp_path / "test_sample.py").write_text(SAMPLE.format(head=head), encoding="utf-8")
    (tmp_path / "ran").write_text("", encoding="utf-8")
    options = ("-q", "-n", "0", "-p", "conftest", "-p", "no:cacheprovider", "-c", str(TOP / "pyproject.toml"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", *tier, str(tmp_path / "test_sample.py")],
        cwd=TOP,
        env={**os.environ, "RAN": str(tmp_path / "ran"), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return (tmp_path / "ran").read_text(encoding="utf-8").splitlines()


def test_both_tiers_together_run_everything(tmp_path: Path) -> None:
    everything, quick, deep = (ran(tmp_path, "", *tier) for tier in ((), ("--quick",), ("--deep",)))
    assert ({*quick}, {*deep}) == (QUICK, DEEP)
    assert {*everything} == DEEP | EXACT
    for word in ("property", "step"):
        assert quick.count(word) < deep.count(word) == everything.count(word)


def test_where_processes_are_the_subject_the_deep_tier_runs_everything(tmp_path: Path) -> None:
    assert {*ran(tmp_path, "PROCESSES = True", "--deep")} == DEEP | EXACT
