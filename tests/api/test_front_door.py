"""The front door stays small, and what it hands out is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from whet import Detection, Index, Invocation, Library, Matches, Skills, SkillView

if TYPE_CHECKING:
    from pathlib import Path

MOST_NAMES = 30
MISSPELT = """
from whet import Library

library = Library.open()
print(library.skills()[0].nmae)
print(library.find("a chart")[0].card.nmae)
print(library.read("pdf").nmae)
print(library.detect("thanks").lvl)
print(library.index().txt)
print(library.invoke("/pdf").mesage)
"""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    path = tmp_path / "skills" / "charts" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: charts\ndescription: Draws charts. Use when asked for one.\n---\n\n# Charts\n")
    return Library.open([tmp_path / "skills"], home=tmp_path / "state", project=tmp_path, env={"PATH": ""})


def test_a_library_has_few_names() -> None:
    names = {name for name in {*dir(Library), "workspace", "progress"} if not name.startswith("_")}
    assert len(names) <= MOST_NAMES, sorted(names)


def test_results_are_values_that_know_their_json(library: Library) -> None:
    skills, skill = library.skills(), library.read("charts")
    found, detected = library.find("draw a chart"), library.detect("thanks, that was all")
    index, asked = library.index(), library.invoke("/charts of sales.csv")
    assert [type(value) for value in (skills, skill, found, detected, index, asked)] == [
        *(Skills, SkillView, Matches, Detection, Index, Invocation)
    ]
    assert [(card.name, card.ready) for card in skills] == [("charts", True)]
    assert (skill.name, skill.content, [file.path for file in skill.files]) == ("charts", "\n# Charts\n", ["SKILL.md"])
    assert [match.card.name for match in found] == ["charts"] and 0 < found[0].fit <= 1 and found[0].why
    assert (detected.level, detected.skill) == ("none", None)
    assert str(index) == index.text and index.report.included == 1
    assert "# Charts" in asked.message and asked.skills[0].strategy == "full"
    for value in (skills, skill, found, detected, index, asked, library.needs(), library.commands()):
        answer = value.to_json()
        assert answer["success"] is True and json.loads(json.dumps(answer)) == answer


def test_what_is_read_through_the_library_is_counted(library: Library) -> None:
    library.read("charts")
    library.invoke("/charts")
    library.render("charts")
    (total,) = library.learning.usage.totals()
    assert (total.views, total.uses) == (1, 2)


@pytest.mark.deep
def test_a_misspelt_field_is_found_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(MISSPELT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    rejected = [line.split(": error: ")[0] for line in done.stdout.splitlines() if "has no attribute" in line]
    assert rejected == [f"program.py:{number}" for number in range(5, 11)], done.stdout
