"""The duplicates benchmark: the area it measures, and what it reports."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SKILLS = [
    (
        "frames",
        "keys",
        "Extract keyframes from a video.",
        "Run ffmpeg with -skip_frame nokey and count the PNG images.",
    ),
    (
        "frames",
        "stills",
        "Pictures of a movie.",
        "ffmpeg makes PNG images of keyframes: -skip_frame nokey. Count them.",
    ),
    (
        "taxes",
        "returns",
        "File the quarterly tax return.",
        "Add up invoices and receipts, enter the turnover into the form.",
    ),
    (
        "taxes",
        "vat",
        "Quarterly tax for a company.",
        "The form wants the turnover: add up receipts and invoices first.",
    ),
]


@pytest.fixture
def duplicates(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import duplicates

    return duplicates


@pytest.mark.parametrize(
    ("scores", "area"),
    [
        ([(0.9, True), (0.1, False)], 1.0),
        ([(0.1, True), (0.9, False)], 0.0),
        ([(0.5, True), (0.5, False)], 0.5),
        ([(0.9, True), (0.2, True), (0.5, False), (0.1, False)], 0.75),
        ([(0.9, True)], 0.0),
        ([], 0.0),
    ],
)
def test_the_area_is_how_often_a_right_pair_wins(
    duplicates: ModuleType, scores: list[tuple[float, bool]], area: float
) -> None:
    assert duplicates.area(scores) == area


def test_the_plain_cosine(duplicates: ModuleType) -> None:
    cosine = duplicates.tfidf(["red fish", "red fish", "blue bird", ""])
    assert [round(cosine(*pair), 6) for pair in ((0, 1), (0, 2), (0, 3))] == [1.0, 0.0, 0.0]


def run(folder: Path, *options: str) -> str:
    path = folder / "skills.jsonl.gz"
    rows = [dict(zip(("task", "name", "description", "body"), row, strict=True)) for row in SKILLS]
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    command = [sys.executable, str(BENCHMARKS / "duplicates.py"), "--skills", str(path), *options]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


def test_the_results_as_json(tmp_path: Path) -> None:
    document = json.loads(run(tmp_path, "--threshold", "0.2", "--json"))
    assert document["found"].pop("cpu_seconds") >= 0
    assert document == {
        "skills": 4,
        "tasks": 2,
        "pairs": 6,
        "same_task": 2,
        "auc": {
            "same name": 0.5,
            "TF-IDF, name and description": document["auc"]["TF-IDF, name and description"],
            "TF-IDF, body": 1.0,
            "TF-IDF, all": 1.0,
            "whet": 1.0,
        },
        "goal": {"auc": 0.95, "met": True},
        "found": {"threshold": 0.2, "pairs": 2, "precision": 1.0, "recall": 1.0, "skills": 4},
    }


def test_the_results_as_a_table(tmp_path: Path) -> None:
    lines = run(tmp_path, "--threshold", "1").splitlines()
    none = "Near-duplicates from 1 on: 0 pairs of 0 skills"
    assert lines[0] == "4 skills for 2 tasks, 6 pairs"
    assert "| whet | 1.000 |" in lines
    assert lines[-2:] == [
        f"{none}, none of them for the same task; 0.0% of all pairs for the same task.",
        "Goal, an AUC of 0.95 or more: met.",
    ]
