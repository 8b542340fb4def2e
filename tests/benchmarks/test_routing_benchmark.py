"""The benchmarks of routing: what the measures say, what counts as found, what is told when a package is missing."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
POOL = [
    {"id": "v:a", "name": "bread", "description": "Bakes bread from flour.", "body": "# Bread\n\nKnead the dough."},
    {"id": "v:b", "name": "soup", "description": "Cooks soup.", "body": "Boil water."},
    {"id": "w:c", "name": "bread", "description": "Bakes bread from flour.", "body": "# Bread\n\nKnead the dough."},
    {"id": "w:d", "name": "kites", "description": "Flies kites. Not for bread.", "body": "Wind."},
]
QUERIES = [
    {"id": "1", "source": "s", "kind": "user", "text": "bake flour", "relevant": ["w:c"]},
    {"id": "2", "source": "s", "kind": "task", "text": "boil kites", "relevant": ["v:b", "w:d"]},
    {"id": "3", "source": "t", "kind": "user", "text": "soup", "relevant": ["v:b"], "explicit": True},
    {"id": "4", "source": "t", "kind": "negative", "text": "bread", "relevant": [], "negative_for": ["w:d"]},
]
MEASURES = ("recall@1", "recall@3", "recall@5", "recall@10", "recall@50", "mrr@10", "ndcg@10")


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import routing_metrics

    return routing_metrics


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import routing_data

    return routing_data


def asked(data: ModuleType, relevant: tuple[str, ...], **same: tuple[str, ...]) -> Any:
    return data.Query("q", "text", "s", "user", relevant, (), same)


def row(*values: float) -> dict[str, float]:
    return dict(zip(MEASURES, values, strict=True))


def test_a_gold_is_found_at_its_rank_and_an_equivalent_stands_for_it(metrics: ModuleType, data: ModuleType) -> None:
    query = asked(data, ("a", "b"), a=("a2", "a3"))
    assert metrics.ranks(["x", "a", "b"], query) == [2, 3]
    assert metrics.ranks(["x", "a3", "b"], query) == [2, 3]
    assert metrics.ranks(["x", "y"], query) == []


def test_an_equivalent_of_a_gold_already_found_takes_no_rank(metrics: ModuleType, data: ModuleType) -> None:
    query = asked(data, ("a", "b"), a=("a2", "a3"))
    assert metrics.ranks(["a2", "a", "a3", "b"], query) == [1, 2]


def test_nothing_is_found_below_the_deepest_cut(metrics: ModuleType, data: ModuleType) -> None:
    query = asked(data, ("a",))
    others = [f"x{number}" for number in range(50)]
    assert metrics.ranks([*others[:49], "a"], query) == [50]
    assert metrics.ranks([*others, "a"], query) == []


def test_measures_of_one_message(metrics: ModuleType) -> None:
    assert metrics.judge([1], 1) == row(1, 1, 1, 1, 1, 1, 1)
    assert metrics.judge([], 1) == row(0, 0, 0, 0, 0, 0, 0)
    assert metrics.judge([12], 1) == row(0, 0, 0, 0, 1, 0, 0)
    ideal = 1 + 1 / math.log2(3)
    assert metrics.judge([4, 2], 2) == row(0, 0.5, 1, 1, 1, 0.5, (1 / math.log2(5) + 1 / math.log2(3)) / ideal)


def test_means_are_told_in_percent_and_a_mean_of_means_weighs_groups_alike(metrics: ModuleType) -> None:
    right, wrong = metrics.judge([1], 1), metrics.judge([], 1)
    assert metrics.mean([right, right, right, wrong]) == row(75, 75, 75, 75, 75, 75, 75)
    assert metrics.mean_of_means([[right, right, right], [wrong], []]) == row(50, 50, 50, 50, 50, 50, 50)


def test_a_difference_is_paired(metrics: ModuleType) -> None:
    right, wrong = metrics.judge([1], 1), metrics.judge([], 1)
    same = {"points": 0.0, "low": 0.0, "high": 0.0}
    always = {"points": 100.0, "low": 100.0, "high": 100.0}
    assert metrics.difference([right, wrong] * 9, [right, wrong] * 9) == {"recall@1": same, "ndcg@10": same}
    assert metrics.difference([right] * 9, [wrong] * 9) == {"recall@1": always, "ndcg@10": always}


def test_area_under_the_curve(metrics: ModuleType) -> None:
    assert metrics.auc([3, 2, 1], [True, True, False]) == 1
    assert metrics.auc([1, 2, 3], [True, True, False]) == 0
    assert metrics.auc([1, 1, 1, 1], [True, False, True, False]) == 0.5
    assert metrics.auc([3, 2, 1, 0], [True, False, True, False]) == 0.75
    assert metrics.auc([1, 2], [True, True]) is None


def test_curve_has_a_point_for_every_threshold_that_changes_something(metrics: ModuleType) -> None:
    points = metrics.curve([0.9, 0.5, 0.5, 0.1], [True, True, False, False])
    assert points == [
        metrics.Point(0.9, 1, 0.5, 0),
        metrics.Point(0.5, 2 / 3, 1, 0.5),
        metrics.Point(0.1, 0.5, 1, 1),
    ]
    assert metrics.most_recall(points, 0.9) == points[0]
    assert metrics.most_precision(points, 0.9) == points[1]
    assert metrics.most_recall(points[1:], 0.9) is None


def test_a_decision_that_never_fires_is_never_wrong(metrics: ModuleType) -> None:
    assert metrics.decided([False, False], [True, False]) == metrics.Point(0, 1, 0, 0)
    assert metrics.decided([True, True, False], [True, False, True]) == metrics.Point(0, 0.5, 0.5, 1)


def test_calibration(metrics: ModuleType) -> None:
    assert metrics.brier([1, 0, 0.5], [True, False, True]) == 0.25 / 3
    assert metrics.reliability([0.05, 1.0, 0.95], [False, True, False]) == [
        {"from": 0.0, "to": 0.1, "pairs": 1, "claimed": 0.05, "true": 0.0},
        {"from": 0.9, "to": 1.0, "pairs": 2, "claimed": 0.975, "true": 0.5},
    ]


def test_a_copy_counts_as_the_gold_and_a_library_is_what_one_vendor_has(data: ModuleType, tmp_path: Path) -> None:
    pool_path, queries_path = written(tmp_path)
    pool = data.read_pool(pool_path)
    queries = data.read_queries(queries_path, pool)
    assert queries[0].equivalent == {"w:c": ("v:a",)}
    assert [query.counts_in_main for query in queries] == [True, True, False, False]
    vendors = data.libraries(pool)
    assert vendors == {"v": [0, 1], "w": [2, 3]}
    assert data.installed_library(queries[0], {"w": range(8)}) == "w"
    assert data.installed_library(queries[0], {"w": range(7)}) == ""
    assert data.installed_library(queries[0], {"w": range(344)}) == ""
    assert data.installed_library(queries[1], {"v": range(8), "w": range(8)}) == ""


def test_tiled_skills_are_varied_and_always_the_same(monkeypatch: pytest.MonkeyPatch, data: ModuleType) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import routing_tiling

    pool = [data.Skill(entry["id"], entry["name"], entry["description"], entry["body"]) for entry in POOL]
    tiled, again = routing_tiling.Tiled(pool), routing_tiling.Tiled(pool)
    assert [tiled.skill(number) for number in range(4)] == pool
    assert [tiled.skill(number) for number in range(40)] == [again.skill(number) for number in range(40)]
    assert len({tiled.skill(number).body for number in range(5, 40, 2)}) == 18


def test_full_text_search_is_measured_with_the_standard_library(tmp_path: Path) -> None:
    answer = run(tmp_path, "retrieval", "--only", "fts5")
    found = answer["rankers"]["fts5"]
    assert {key: answer[key] for key in ("success", "skills", "messages", "differences", "not_measured")} == {
        "success": True,
        "skills": 4,
        "messages": 3,
        "differences": {},
        "not_measured": {},
    }
    everything = row(75, 100, 100, 100, 100, 100, 100)
    assert {key: value for key, value in found["main"].items() if key != "interval"} == {"messages": 2, **everything}
    assert found["macro"] == {"sources": 1, **everything}
    assert found["kinds"] == {
        "task": {"messages": 1, **row(50, 100, 100, 100, 100, 100, 100)},
        "user": {"messages": 1, **row(100, 100, 100, 100, 100, 100, 100)},
    }
    assert found["sources"] == {"s": {"messages": 2, **everything}}
    assert found["explicit"] == {"messages": 1, **row(100, 100, 100, 100, 100, 100, 100)}
    assert found["installed"] == {"messages": 0, **row(0, 0, 0, 0, 0, 0, 0)}


@pytest.mark.parametrize(("script", "name"), [("retrieval", "bm25f-all"), ("detect", "bm25f-score-pool")])
def test_what_is_not_installed_is_not_measured_and_says_how_to_get_it(tmp_path: Path, script: str, name: str) -> None:
    (tmp_path / "Stemmer.py").write_text("raise ImportError\n", encoding="utf-8")
    answer = run(tmp_path, script, "--only", name)
    assert (answer["success"], answer["not_measured"]) == (
        True,
        {name: "PyStemmer is not installed: run `pip install PyStemmer`"},
    )


def test_pairs_are_those_of_skills_with_a_near_miss(tmp_path: Path) -> None:
    (tmp_path / "Stemmer.py").write_text("raise ImportError\n", encoding="utf-8")
    answer = run(tmp_path, "detect", "--only", "bm25f-score-pool")
    assert (answer["pairs"], answer["skills"], answer["slices"]) == (
        1,
        1,
        {
            "all": {"pairs": 1, "fire": 0},
            "skills that say when not to use them": {"pairs": 1, "fire": 0},
            "other skills": {"pairs": 0, "fire": 0},
            "messages that do not name the skill": {"pairs": 1, "fire": 0},
        },
    )


def written(folder: Path) -> tuple[str, str]:
    pool, queries = folder / "pool.jsonl", folder / "queries.jsonl"
    pool.write_text("".join(json.dumps(entry) + "\n" for entry in POOL), encoding="utf-8")
    queries.write_text("".join(json.dumps(entry) + "\n" for entry in QUERIES), encoding="utf-8")
    return str(pool), str(queries)


def run(folder: Path, script: str, *options: str) -> dict[str, Any]:
    pool, queries = written(folder)
    done = subprocess.run(
        [sys.executable, BENCHMARKS / f"{script}.py", "--pool", pool, "--queries", queries, "--json", *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
