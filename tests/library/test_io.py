"""How often the disk is asked, counted exactly: a call too many fails a test here before it slows a machine."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from whet.library.card_reader import HEAD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library

SURVEY = Counter({"path.realpath": 1, "stat": 2, "lstat": 6, "path.isfile": 4})
"""What every call asks about a library of one explicit root: settings, the machine's policy, decisions, open changes,
where the root really is; the database and its logs twice, as they are not there."""
ONCE = Counter({"listdir": 1})
"""What the first call asks besides: is there more in the state directory than caches?"""
LIST = Counter({"path.isdir": 1})
"""What a list asks besides: is the root there?"""


def fill(root: str, skill: Callable[..., str], count: int, categories: int = 0) -> None:
    for number in range(count):
        place = f"c{number % categories}/" if categories else ""
        skill(root, f"{place}skill-{number:03}", body="x" * 20_000)
    past = 1_600_000_000 * 10**9
    for directory, _, files in os.walk(root):
        for name in (*files, ""):
            os.utime(os.path.join(directory, name), ns=(past, past))


@pytest.mark.parametrize(("count", "categories"), [(10, 0), (10, 3), (60, 7)])
def test_a_warm_look_is_two_stats_a_skill_and_one_a_directory(
    count: int,
    categories: int,
    root: str,
    skill: Callable[..., str],
    opened: Callable[..., Library],
    io: Counter[str],
) -> None:
    fill(root, skill, count, categories)
    library = opened(root, settled=True)
    library.skills()
    stats = Counter({"stat": 2 * count + categories + 1})
    for _ in range(2):
        io.clear()
        library.reload()
        assert io == stats + SURVEY
        io.clear()
        library.skills()
        assert io == stats + SURVEY + LIST


def test_a_cold_look_lists_each_directory_and_reads_one_piece_of_each_skill(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    fill(root, skill, 12, 3)
    library = opened(root, settled=True)
    io.clear()
    library.skills()
    assert {name: io[name] for name in ("scandir", "open", "read", "stat", "lstat")} == {
        "scandir": 4,
        "open": 15,  # the main file of each skill, and one looked for in vain in each category
        "read": 12,
        "stat": 19,  # each directory: of a skill, of a category, the root; the database, that is not there, thrice
        "lstat": 8,  # no settings, policy, decisions, log of them, open changes before and after
    }
    assert io["bytes"] == 12 * HEAD


def test_a_list_never_reads_a_body(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    path = skill(root, "large", body="word " * 200_000)
    assert os.path.getsize(path) > 900_000
    library = opened(root, settled=True)
    io.clear()
    library.skills()
    assert (io["read"], io["bytes"]) == (1, HEAD)
    library.skills(query="word")  # makes the index, for all queries to come
    io.clear()
    assert library.skills(query="word").to_json()["count"] == 1
    assert (io["read"], io["open"], io["bytes"]) == (0, 0, 0)


def test_after_one_edit_one_file_is_read(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    fill(root, skill, 30, 3)
    library = opened(root, settled=True)
    library.skills()
    skill(root, "c1/skill-001", description="New.")
    io.clear()
    assert library.reload().changed == ("skill-001",)
    assert {name: io[name] for name in ("open", "read", "scandir", "listdir")} == {
        "open": 1,
        "read": 1,
        "scandir": 1,
        "listdir": 0,
    }
    # 72 as for any warm look, one more for the skill that is found changed when its directory is gone through, and
    # three for a second look whether a change is open.
    assert io["stat"] + io["lstat"] == 76


def test_after_one_addition_only_its_directory_is_listed(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    fill(root, skill, 30, 3)
    library = opened(root, settled=True)
    library.skills()
    skill(root, "c1/another")
    io.clear()
    assert library.reload().added == ("another",)
    assert (io["scandir"], io["read"]) == (1, 1)


def test_finding_a_skill_costs_the_same_in_a_small_and_in_a_large_library(
    tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    counts = []
    for count in (10, 200):
        root = str(tmp_path / f"root-{count}")
        fill(root, skill, count, 3)
        library = opened(root, settled=True, home=str(tmp_path / f"state-{count}"))
        library.skills()
        io.clear()
        library.card("skill-003")
        warm = io.copy()
        again = opened(root, settled=True, home=str(tmp_path / f"state-{count}"))
        io.clear()
        again.card("skill-003")
        counts.append((warm, io.copy()))
    assert counts[0] == counts[1]
    # Its file and its folder; the root and the three categories, where a skill of the same name could come to be.
    assert counts[0] == (Counter({"stat": 2 + 4}) + SURVEY, Counter({"stat": 2 + 4}) + SURVEY + ONCE)


def test_a_new_process_with_a_warm_cache_reads_nothing(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    fill(root, skill, 20, 4)
    opened(root, settled=True).skills()
    library = opened(root, settled=True)
    io.clear()
    assert library.skills().to_json()["count"] == 20
    assert (
        io == Counter({"stat": 46, "lstat": 2, "path.isfile": 2}) + SURVEY + ONCE + LIST
    )  # two: whether a change is open, asked again


def test_a_cache_is_warm_wherever_one_stands(
    tmp_path: Path,
    skill: Callable[..., str],
    opened: Callable[..., Library],
    config: Callable[..., None],
    io: Counter[str],
) -> None:
    """Another project means other roots; those of the user are the same and are not read again."""
    config("depth = 6\n")
    fill(str(tmp_path / "home" / ".agents" / "skills"), skill, 20, 4)
    for name in ("one", "two"):
        skill(str(tmp_path / name / ".agents" / "skills"), f"of-{name}")
    opened(settled=True, project=str(tmp_path / "one")).skills()
    library = opened(settled=True, project=str(tmp_path / "two"))
    io.clear()
    assert library.skills().to_json()["count"] == 20
    assert io["read"] == 3  # the one skill of the other project, and the settings to their end


def test_a_view_reads_only_the_files_of_that_skill(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    fill(root, skill, 20)
    os.mkdir(f"{root}/skill-007/references")
    for name in ("a.md", "b.md"):
        with open(f"{root}/skill-007/references/{name}", "w") as file:
            file.write("x" * 1000)
    library = opened(root, settled=True)
    library.skills()
    size = os.path.getsize(f"{root}/skill-007/SKILL.md")
    io.clear()
    assert len(library.read("skill-007").to_json()["files"]) == 3
    assert io["bytes"] == size + 2000
    io.clear()
    library.read("skill-007")  # the digest is known by now
    assert io["bytes"] == size
    io.clear()
    library.read("skill-007", "references/a.md")
    assert io["bytes"] == 1000


def test_a_skill_without_metadata_files_costs_one_question_for_each_kind(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    skill(root, "plain")
    library = opened(root, settled=True)
    io.clear()
    library.skills()
    assert (io["access"], io["open"]) == (1, 1)


def test_what_cannot_be_read_is_not_tried_again_until_it_changes(
    root: str, opened: Callable[..., Library], io: Counter[str]
) -> None:
    os.mkdir(f"{root}/pipe")
    os.mkfifo(f"{root}/pipe/SKILL.md")
    os.symlink("nowhere", f"{root}/broken")
    library = opened(root, settled=True)
    assert library.skills().to_json()["skills"] == []
    io.clear()
    library.reload()
    assert io == Counter({"stat": 3, "lstat": 1}) + SURVEY


def test_a_date_in_the_future_costs_nothing(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    path = skill(root, "future")
    os.utime(path, (4_000_000_000, 4_000_000_000))
    library = opened(root, settled=True)
    library.skills()
    io.clear()
    library.reload()
    assert io == Counter({"stat": 3}) + SURVEY
