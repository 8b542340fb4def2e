"""The benchmark of installing: its repository, the server that counts, what counts as installed, the tables."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from whet.guard.scan import scan
from whet.skill.tree import Item

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def handbook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import handbook

    return handbook


@pytest.fixture
def handout(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import handout

    return handout


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import installing_report

    return installing_report


@pytest.fixture
def installing(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import installing

    return installing


# --- the repository -------------------------------------------------------------------------------------------------


def test_a_hundred_skills_have_the_sizes_they_should_and_are_always_the_same(handbook: ModuleType) -> None:
    skills: dict[str, dict[str, bytes]] = handbook.skills(100)
    mains = [len(files["SKILL.md"]) for files in skills.values()]
    assert len(skills) == 100
    assert (min(mains) > 3_500, max(mains) < 8_000) == (True, True)
    assert {len(files) for files in skills.values()} == {2, 3}
    assert skills == handbook.skills(100)


def test_more_than_a_hundred_get_numbers(handbook: ModuleType) -> None:
    names: list[str] = handbook.names(201)
    assert [names[0], names[100], names[200]] == ["check-invoices", "check-invoices-2", "check-invoices-3"]
    assert len(set(names)) == 201


def test_the_guard_has_nothing_to_say_of_them(handbook: ModuleType) -> None:
    skills: dict[str, dict[str, bytes]] = handbook.skills(100)
    some = list(skills.items())[::7]
    trees = {name: {path: Item(data, False, False) for path, data in files.items()} for name, files in some}
    assert {name: scan(tree).verdict for name, tree in trees.items()} == dict.fromkeys(trees, "safe")


def test_their_scripts_are_python(handbook: ModuleType) -> None:
    scripts = [files["scripts/count.py"] for files in handbook.skills(100).values() if "scripts/count.py" in files]
    assert all(isinstance(ast.parse(script), ast.Module) for script in scripts)
    assert len(scripts) > 50


def test_the_second_commit_changes_one_skill(handout: ModuleType, tmp_path: Path) -> None:
    made = handout.make_handout(str(tmp_path / "skills.git"), 3)

    def git(*arguments: str) -> list[str]:
        command = ["git", "-C", made.path, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, env=handout.clean_env()
        ).stdout.split()

    assert git("diff", "--name-only", made.first, made.second) == [f"skills/{made.changed}/SKILL.md"]
    assert git("rev-parse", handout.BRANCH) == [made.second]
    made.show(made.first)
    assert git("rev-parse", handout.BRANCH) == [made.first]
    assert len(git("ls-tree", "-r", "--name-only", made.first)) == made.files


# --- the server -----------------------------------------------------------------------------------------------------


def test_the_server_counts_what_a_clone_takes(handout: ModuleType, tmp_path: Path) -> None:
    made = handout.make_handout(str(tmp_path / "served" / "skills.git"), 3)
    with handout.serving(str(tmp_path / "served")) as server:
        command = ["git", "clone", "-q", "--depth", "1", f"{server.url}/skills.git", str(tmp_path / "clone")]
        subprocess.run(command, check=True, env=handout.clean_env())
        taken = server.taken()
        assert server.taken() == handout.Traffic(0, 0, 0, 0)
    assert (taken.requests, taken.fetches) == (3, 1)
    assert made.size / 6 < taken.down < made.size
    assert 500 < taken.up < 5_000


# --- running and telling --------------------------------------------------------------------------------------------


def test_installed_skills_are_those_with_a_main_file(installing: ModuleType, tmp_path: Path) -> None:
    for name, path in {"one": "SKILL.md", "two": "SKILL.md", "three": "README.md"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / path).write_text(name, encoding="utf-8")
    assert installing.installed(str(tmp_path)) == ["one", "two"]
    assert installing.installed(str(tmp_path / "nowhere")) == []


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs wait4")
def test_a_program_is_run_to_its_end_and_must_succeed(installing: ModuleType, tmp_path: Path) -> None:
    def run(code: str, **how: Any) -> Any:
        return installing.run([sys.executable, "-c", code], {}, str(tmp_path), **how)

    done = run("print('x' * 100_000)")
    assert (done.seconds > 0, done.cpu > 0, done.memory > 1) == (True, True, True)
    assert run("raise SystemExit(1)", codes=(0, 1)).cpu > 0
    with pytest.raises(installing.ContenderError, match=r"exit status 2: no$"):
        run("print('no'); raise SystemExit(2)")


def test_each_number_has_its_own_median(installing: ModuleType, report: ModuleType, handout: ModuleType) -> None:
    runs = [
        report.Run(3.0, 1.0, 10.0, handout.Traffic(3, 1, 100, 10)),
        report.Run(1.0, 2.0, 30.0, handout.Traffic(3, 1, 300, 10)),
        report.Run(2.0, 9.0, 20.0, handout.Traffic(3, 1, 200, 10)),
    ]
    assert installing.median(runs) == report.Run(2.0, 2.0, 20.0, handout.Traffic(3, 1, 200, 10))


def test_the_tables_show_ratios_where_both_took_part(report: ModuleType, handout: ModuleType) -> None:
    own = report.Run(2.0, 1.0, 40.0, handout.Traffic(3, 1, 225_300, 900))
    other = report.Run(1.0, 2.0, 80.0)
    text: str = report.tables(
        {"whet": {"install": own, "outdated": own}, "skills": {"install": other}}, {"planning": 0.5}
    )
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("| install all |")] == [
        "| install all | 1 / 3 / 225.3 | none |",
        "| install all | 2.00 | 1.00 | 0.50 |",
        "| install all | 1.00 | 2.00 | 2.00 |",
        "| install all | 40 | 80 | 2.00 |",
    ]
    assert "| ask what changed, one did | 2.00 | - | - |" in lines
    assert lines[-1] == "| planning | 0.50 |"
