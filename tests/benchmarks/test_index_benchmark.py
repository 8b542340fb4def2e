"""The index benchmark says what an index costs, whether it is stable, and what peers make of the same skills."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import index

    return index


@pytest.fixture
def prompts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import prompts

    return prompts


def write_skill(directory: Path, frontmatter: str) -> str:
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text(f"---\n{frontmatter}\n---\nDo it.\n", encoding="utf-8")
    return str(directory)


@pytest.mark.deep
def test_an_index_is_measured_without_any_peer(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "index.py"), "--sizes", "40", "--repeat", "1", "--json"]
    done = subprocess.run([*command, "--peers", str(tmp_path / "none")], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    result = document["results"]["40"]
    costs = {key: result["index"].pop(key) for key in ("characters", "tokens", "shortened")}
    assert list(document) == ["machine", "tokenizer", "rounds", "peers", "verdicts", "results"]
    assert document["rounds"] == 2
    assert document["peers"] == {"skills-ref": None, "deepagents": None, "hermes-agent": None}
    assert document["verdicts"] == {"within_budget": True, "same_bytes": True, "build_grows_faster_than_rows": []}
    assert list(result) == ["index", "milliseconds", "against_rows", "peers"]
    assert result["index"] == {"level": "shortened", "total": 40, "included": 40, "omitted": 0, "same_bytes": True}
    assert 7_000 < costs["characters"] <= 8_000 and 0 < costs["tokens"] < 4_000 and 0 < costs["shortened"] <= 40
    assert list(result["milliseconds"]) == ["rows", "index", "build"] and min(result["milliseconds"].values()) > 0
    assert list(result["against_rows"]) == ["index", "build"]
    assert result["peers"] == {}


def test_a_tree_may_have_more_skills_than_there_are_combinations_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import trees

    names = trees._names(Random(1), 100_000)
    assert len(set(names)) == 100_000


def measured(characters: int, build: float, *, same: bool = True) -> dict[str, Any]:
    return {
        "index": {"characters": characters, "tokens": 2, "total": 12, "included": 9, "shortened": 4, "omitted": 3}
        | {"same_bytes": same},
        "milliseconds": {"rows": 1.0, "index": 3.0, "build": build},
        "against_rows": {"index": 3.0, "build": build},
        "peers": {},
    }


def test_a_step_at_which_building_grows_faster_is_named(index: ModuleType) -> None:
    results = {"10": measured(8_000, 0.5), "100": measured(8_000, 2), "1000": measured(8_000, 2.1)}
    assert index.verdicts(results) == {
        "within_budget": True,
        "same_bytes": True,
        "build_grows_faster_than_rows": [[10, 100]],
    }


def test_an_index_over_budget_or_not_the_same_twice_is_named(index: ModuleType) -> None:
    assert index.verdicts({"10": measured(8_001, 1, same=False)}) == {
        "within_budget": False,
        "same_bytes": False,
        "build_grows_faster_than_rows": [],
    }


def test_the_report_is_three_tables_and_a_verdict(index: ModuleType) -> None:
    results = {"10": measured(3_000, 0.5), "20000": measured(7_999, 4)}
    results["10"]["peers"] = {"skills-ref": {"characters": 5_000, "tokens": 1_000}, "deepagents": {"error": "no"}}
    results["20000"]["peers"] = {name: {"not_run": "too many"} for name in ("skills-ref", "deepagents")}
    document = {
        "tokenizer": {"name": "estimate", "exact": False},
        "rounds": 10,
        "peers": {"skills-ref": "0.1", "deepagents": "0.7", "hermes-agent": None},
        "verdicts": index.verdicts(results),
        "results": results,
    }
    assert index.report(document).splitlines() == [
        "The default index, tokens estimated",
        "",
        "| skills | characters | tokens | visible | in full | shortened | left out | same bytes |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 10 | 3,000 | 2 | 12 | 5 | 4 | 3 | yes |",
        "| 20,000 | 7,999 | 2 | 12 | 5 | 4 | 3 | yes |",
        "",
        "Time, best of 10 rounds in two processes",
        "",
        "| skills | rows, ms | index, ms | build, ms | index / rows | build / rows |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 10 | 1.00 | 3.00 | 0.50 | 3.00 x | 0.50 x |",
        "| 20,000 | 1.00 | 3.00 | 4.00 | 3.00 x | 4.00 x |",
        "",
        "Prompts of the same skills, characters (tokens)",
        "",
        "| prompt | 10 | 20,000 |",
        "| ---: | ---: | ---: |",
        "| whet | 3,000 (2) | 7,999 (2) |",
        "| skills-ref 0.1 | 5,000 (1,000) | not run |",
        "| deepagents 0.7 | failed | not run |",
        "",
        "Within 8,000 characters: yes. Same bytes: yes. Build grows faster than rows: 10 to 20,000.",
    ]


def test_a_peer_makes_its_prompt_of_the_skills_that_it_can_read(prompts: ModuleType, tmp_path: Path) -> None:
    good = write_skill(tmp_path / "good", "name: good\ndescription: Does good.")
    bad = write_skill(tmp_path / "bad", "name: bad")
    answer = prompts.ask(sys.executable, "skills_ref", {"directories": [good, bad]}, os.environ)
    assert (answer["skills"], list(answer)) == (1, ["text", "skills", "seconds"])
    assert answer["text"].splitlines()[1:4] == ["<skill>", "<name>", "good"]


def test_a_peer_that_fails_or_takes_too_long_says_so(prompts: ModuleType) -> None:
    assert prompts.ask(sys.executable, "hermes", {}, os.environ) == {
        "error": "ModuleNotFoundError: No module named 'agent'"
    }
    assert prompts.ask(sys.executable, "hermes", {}, os.environ, 0.0) == {"not_run": "takes over 0 seconds"}
