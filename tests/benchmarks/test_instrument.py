"""One command runs the benchmarks, also beside another commit; charts show what was measured. No time is asserted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import charts  # noqa: E402  the documentation's own tools, not a package


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "benchmarks"), *words], capture_output=True, text=True)


def test_every_benchmark_that_is_listed_exists_and_takes_json() -> None:
    names = [line.split()[0] for line in run().stdout.splitlines()]
    assert names[:3] == ["commands", "speed", "pages"]
    code = "import runpy; print([b.script for b in runpy.run_path('benchmarks/__main__.py')['BENCHMARKS'].values()])"
    env = {"PYTHONPATH": str(ROOT / "benchmarks")}
    listed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    for script in re.findall(r"\w+\.py", listed.stdout):
        text = (ROOT / "benchmarks" / script.replace("guard.py", "guarding.py")).read_text(encoding="utf-8")
        assert '"--json"' in text, script


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope"], "nope is not a benchmark; these are: commands, speed"),
        (["commands"], "commands needs --against REV"),
        (["--against", "HEAD", "--rounds", "0"], "--rounds and --skills must be at least 1"),
        (["--against", "no-such-commit"], "no-such-commit cannot be checked out"),
    ],
)
def test_what_cannot_be_run_is_said(words: list[str], message: str) -> None:
    done = run(*words)
    assert done.returncode != 0 and message in done.stderr


@pytest.mark.deep
def test_another_commit_runs_beside_this_one() -> None:
    """Each with its own code: the other version is the commit, whatever the working tree holds."""
    done = run("--against", "HEAD", "--rounds", "1", "--skills", "3", "--json")
    assert done.returncode == 0, done.stderr
    commands = json.loads(done.stdout)["commands"]
    assert list(commands) == ["--version", "list", "show", "find", "patch", "install", "hook"]
    assert all(row.keys() == {"other", "ours"} and min(row.values()) > 0 for row in commands.values())
    left = subprocess.run(["git", "worktree", "list"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "whet-commit-" not in left.stdout


def test_bars_show_values_and_spread() -> None:
    drawn = charts.bars("Time", "seconds", [charts.Bar("whet", 2.0, 3.0), charts.Bar("other", 4.0)])
    wide = [float(width) for width in re.findall(r'<rect x="250" y="\d+" width="([\d.]+)"', drawn)]
    assert wide == [240.0, 480.0]
    assert 'd="M490.0 91.5H610.0M610.0 87v9" class="bar-line"' in drawn
    assert "<title>Time (seconds): whet 2, other 4.</title>" in drawn


def test_growth_in_proportion_is_a_straight_line_of_slope_one() -> None:
    drawn = charts.lines("Growth", "s", [charts.Line("whet", ((100, 1), (1_000, 10), (10_000, 100)))])
    path = re.search(r'd="M([\d. L]+)" class="line accent-line"', drawn)
    assert path is not None
    points = [tuple(map(float, point.split())) for point in path[1].split("L")]
    assert points == [(70.0, 384.0), (365.0, 234.0), (660.0, 84.0)]


def test_labels_keep_their_distance() -> None:
    drawn = charts.lines("Growth", "s", [charts.Line(name, ((1, 1), (10, 10))) for name in "abc"])
    places = [float(y) for y in re.findall(r'<text x="672" y="([\d.]+)"', drawn)]
    assert [later - earlier for earlier, later in pairwise(places)] == [15.0, 15.0]


def test_a_row_that_is_gone_is_named() -> None:
    with pytest.raises(LookupError, match="no table with the column recall@1 and the rows nobody"):
        charts.table_column("routing-benchmarks.md", "recall@1", {"nobody": "nobody"})
