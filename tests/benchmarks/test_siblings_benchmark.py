"""The siblings benchmark: what each policy shows within a budget, what is picked from it, and what is reported."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whet.prompt.shorten import shorten

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NAMES = 13
"""Characters of the three bare lines of a library of `a`, `bb` and `c`."""


@pytest.fixture
def siblings(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import siblings

    return siblings


@pytest.fixture
def policies(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import policies

    return policies


def library(policies: ModuleType, **described: str) -> list[Any]:
    return [policies.Skill(f"id-{name}", name, description) for name, description in described.items()]


def cost(policies: ModuleType, skills: list[Any], shown: list[str | None]) -> int:
    pairs = zip(skills, shown, strict=True)
    return sum(len(policies.line(skill.name, text)) for skill, text in pairs if text is not None)


# --- policies -------------------------------------------------------------------------------------------------------


def test_even_gives_one_character_to_everybody_in_turn(policies: ModuleType) -> None:
    skills = library(policies, a="abcdef", bb="xy", c="")
    assert [policies.even(skills, NAMES + room) for room in (0, 2, 3, 6, 8, 10, 12, 99)] == [
        ["", "", ""],
        ["", "", ""],
        ["a", "", ""],
        ["a", "x", ""],
        ["ab", "xy", ""],
        ["abcd", "xy", ""],
        ["abcdef", "xy", ""],
        ["abcdef", "xy", ""],
    ]


def test_a_uniform_cap_leaves_over_what_is_not_enough_for_all(policies: ModuleType) -> None:
    skills = library(policies, a="abcdef", bb="uvwxyz", c="")
    assert policies.even(skills, NAMES + 11) == ["abcd", "uvw", ""]
    assert policies.uniform_cap(skills, NAMES + 11) == ["abc", "uvw", ""]
    assert policies.uniform_cap(skills, NAMES + 5) == ["", "", ""]
    assert policies.uniform_cap(skills, NAMES + 99) == ["abcdef", "uvwxyz", ""]


def test_a_dropped_description_makes_room_for_a_smaller_one_later(policies: ModuleType) -> None:
    skills = library(policies, a="a" * 6, bb="b" * 30, c="c" * 4)
    assert sorted(skills, key=lambda skill: bytes(policies.digest(skill.name))) == [skills[2], skills[1], skills[0]]
    assert policies.dropped(skills, NAMES + 31) == ["aaaaaa", "", "cccc"]
    assert policies.dropped(skills, NAMES + 38) == ["", "b" * 30, "cccc"]


def test_whet_shows_the_lines_of_its_own_index(policies: ModuleType) -> None:
    skills = library(policies, a="Fill the forms of a tax office.", bb="Read the forms.", c="")
    everything = [skill.description for skill in skills]
    budget = cost(policies, skills, everything)
    assert policies.whet(skills, budget) == everything
    room = budget - 15 - NAMES
    shortened = shorten(["a", "bb", "c"], everything, room, lambda text: len(text) + 2 if text else 0)
    assert policies.whet(skills, budget - 15) == shortened != everything


def test_names_that_do_not_fit_are_not_listed(policies: ModuleType) -> None:
    skills = library(policies, a="abcdef", bb="uvwxyz", c="")
    listed = {name: policy(skills, NAMES - 1) for name, policy in policies.POLICIES.items()}
    assert listed == {
        "full": ["abcdef", "uvwxyz", ""],
        "whet": [None, None, None],
        "even": ["", "", None],
        "uniform cap": ["", "", None],
        "dropped": ["", "", None],
        "names only": ["", "", None],
    }


texts = st.text("ab c.", max_size=40).map(lambda text: " ".join(text.split()))
names = st.text("abc-", min_size=1, max_size=12)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(described=st.dictionaries(names, texts, min_size=1, max_size=8), budget=st.integers(0, 300))
def test_nobody_exceeds_the_budget(policies: ModuleType, described: dict[str, str], budget: int) -> None:
    skills = library(policies, **dict(sorted(described.items())))
    everything = [skill.description for skill in skills]
    fits = cost(policies, skills, everything) <= budget
    for name, policy in policies.POLICIES.items():
        shown = policy(skills, budget)
        assert name == "full" or cost(policies, skills, shown) <= budget
        assert shown == everything or name == "names only" or not fits


# --- picking --------------------------------------------------------------------------------------------------------


def test_the_line_that_fits_best_is_picked(siblings: ModuleType) -> None:
    lines = siblings.Lines(["pdf: fills forms", "csv: cleans tables and forms", "csv-2: cleans tables and forms"])

    def best(text: str) -> int | None:
        found: int | None = lines.best(siblings.terms(text))
        return found

    assert best("Filling a form") == 0
    assert best("clean this table") == 1
    assert best("nothing of that") is None
    assert siblings.Lines([]).best(["form"]) is None


def test_words_lose_their_case_and_ending(siblings: ModuleType) -> None:
    assert siblings.terms("Cleaned TABLES, bus_stops and queries; red") == (
        ["clean", "tabl", "bus", "stop", "and", "quer", "red"]
    )


# --- measuring ------------------------------------------------------------------------------------------------------


def test_libraries_are_cut_in_two_ways_and_sorted_by_name(siblings: ModuleType, policies: ModuleType) -> None:
    pool = library(policies, e="", d="", c="", b="", a="")
    mixed = [[skill.name for skill in piece] for piece in siblings.libraries(pool, 2, "mixed")]
    related = [[skill.name for skill in piece] for piece in siblings.libraries(pool, 2, "related")]
    order = sorted("abcde", key=lambda name: bytes(policies.digest(f"id-{name}")))
    assert related == [["d", "e"], ["b", "c"]]
    assert mixed == [sorted(order[:2]), sorted(order[2:4])]


def test_a_difference_comes_with_its_interval(siblings: ModuleType) -> None:
    half = siblings.difference([True, True, False, True], [False, True, False, False])
    assert half["points"] == 50.0 and half["low"] < 50.0 < half["high"]
    assert half == siblings.difference([True, True, False, True], [False, True, False, False])
    assert siblings.difference([True] * 9, [False] * 9) == {"points": 100.0, "low": 100.0, "high": 100.0}
    assert siblings.difference([], []) == {"points": 0.0, "low": 0.0, "high": 0.0}


POOL = [
    {"id": "r:fill", "name": "pdf", "description": "Fill  the forms\nof a tax office."},
    {"id": "r:copy", "name": "pdf-forms", "description": "Fill the forms of a tax office."},
    {"id": "r:clean", "name": "csv", "description": "Clean; then a table can be imported."},
    {"id": "r:chart", "name": "chart", "description": "Draw a chart of a table."},
    {"id": "r:left-over", "name": "tea", "description": None},
]
MESSAGES = [
    {"kind": "user", "text": "fill in my tax forms", "relevant": ["r:fill"], "equivalent": {"r:fill": ["r:copy"]}},
    {"kind": "task", "text": "cleaning what gets imported", "relevant": ["r:clean"], "equivalent": {}},
    {"kind": "user", "text": "use csv on this", "relevant": ["r:clean"], "equivalent": {}, "explicit": True},
    {"kind": "negative", "text": "draw a horse", "relevant": [], "equivalent": {}, "negative_for": ["r:chart"]},
]


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    pool, queries = folder / "pool.jsonl.gz", folder / "queries.jsonl"
    pool.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in POOL).encode()))
    queries.write_text("".join(json.dumps(row) + "\n" for row in MESSAGES), encoding="utf-8")
    command = [
        sys.executable,
        str(BENCHMARKS / "siblings.py"),
        "--pool",
        str(pool),
        "--queries",
        str(queries),
        *options,
    ]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


def found(accuracy: float, described: float, characters: float, largest: int) -> dict[str, float]:
    values = {"accuracy": accuracy, "described": described, "characters": characters}
    return values | {"omitted": 0, "largest": largest}


def test_the_results_as_json(tmp_path: Path) -> None:
    done = run(tmp_path, "--sizes", "4", "--budget", "72", "--json")
    document = json.loads(done.stdout)
    mixed, related = document.pop("results")
    whet = related["policies"].pop("whet")
    missed = ["4 mixed, against even", "4 related, against even"]
    assert (done.returncode, document) == (
        0,
        {"skills": 5, "queries": 2, "budget": 72, "goal": {"points": 5.0, "met": False, "missed": missed}},
    )
    assert (mixed["size"], mixed["way"], mixed["libraries"], mixed["queries"]) == (4, "mixed", 1, 1)
    assert whet["accuracy"] == 100.0 and whet["largest"] <= 72
    assert related == {
        "size": 4,
        "way": "related",
        "libraries": 1,
        "queries": 2,
        "policies": {
            "full": found(100.0, 100.0, 30.5, 162),
            "even": found(100.0, 100.0, 8.0, 72),
            "uniform cap": found(100.0, 100.0, 8.0, 72),
            "dropped": found(50.0, 25.0, 7.8, 65),
            "names only": found(50.0, 0.0, 0.0, 32),
        },
        "differences": {
            "even": {"points": 0.0, "low": 0.0, "high": 0.0},
            "dropped": {"points": 50.0, "low": 0.0, "high": 100.0},
        },
    }


def test_the_results_as_tables(tmp_path: Path) -> None:
    lines = run(tmp_path, "--sizes", "4", "--budget", "999").stdout.splitlines()
    assert [line for line in lines if line and not line.startswith("|")][:-1] == [
        "5 skills, 2 messages, 999 characters for every index",
        "The right skill picked, percent",
        "Skills that keep a phrase of their description, percent",
        "Characters shown of a description, mean",
    ]
    same = "**+0.0** (+0.0 to +0.0)"
    assert [line for line in lines if line.startswith("| 4 | related")] == [
        f"| 4 | related | 2 | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 | 50.0 | {same} | {same} |",
        "| 4 | related | 2 | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 | 0.0 |",
        "| 4 | related | 2 | 30.5 | 30.5 | 30.5 | 30.5 | 30.5 | 0.0 |",
    ]
    assert lines[-1].startswith(
        "Goal, at least 5 points better than even and dropped: missed at 4 mixed, against even;"
    )


def test_a_pool_that_is_too_small_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, "--sizes", "2,6")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "The pool has 5 skills, which makes no library of 6.\n"
