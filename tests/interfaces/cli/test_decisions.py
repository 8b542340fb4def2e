"""`whet guard trust`, `untrust`, `enable`, `disable`, `roots`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture
def repo(skill: Callable[..., Path], tmp_path: Path) -> Path:
    """A repository with one skill, around the working directory."""
    (tmp_path / ".git").mkdir()
    skill("theirs", root=tmp_path / ".agents" / "skills")
    return tmp_path


def test_trust_is_given_listed_and_taken_back(repo: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet("list").stderr.splitlines() == [
        "Whet ignores 1 project skill until you trust the project (`whet guard trust`).",
        "Clients that read its directory load it anyway; `whet list --all` shows it.",
    ]
    assert whet("guard", "trust").stderr == f"{repo} is now trusted: 1 skill (theirs).\n"
    assert whet("guard", "trust").stderr == f"{repo} was already trusted: 1 skill (theirs).\n"
    listed = answer(whet("guard", "trust", "--list", "--json"))["trusted"]
    assert [(item["path"], item["identity"]) for item in listed] == [(str(repo), str(repo / ".git"))]
    assert whet("guard", "trust", "--list").stdout == f"{'SINCE':<20}  PATH\n{listed[0]['since']}  {repo}\n"
    assert whet("guard", "untrust").stderr == f"{repo} is no longer trusted.\n"
    assert whet("guard", "untrust").stderr == f"{repo} was not trusted.\n"
    assert whet("guard", "trust", "--list").stderr == "Nothing is trusted.\n"


def test_the_document_of_a_decision(repo: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    expected = {"success": True, "project": str(repo), "trusted": True, "changed": True, "skills": ["theirs"]}
    trusted = answer(whet("guard", "trust", "--json"))
    assert [item["verdict"] for item in trusted.pop("verdicts")] == ["safe"] and trusted == expected
    assert answer(whet("guard", "untrust", "--json")) == {**expected, "trusted": False}


def test_trust_can_be_taken_from_a_repository_that_is_gone(
    repo: Path, tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    other = tmp_path / "gone"
    (other / ".git").mkdir(parents=True)
    whet("--project", str(other), "trust")
    (other / ".git").rmdir()
    other.rmdir()
    assert whet("guard", "untrust", str(other)).stderr == f"{other} is no longer trusted.\n"
    whet("guard", "trust")
    assert whet("guard", "untrust", str(repo / "work")).stderr == f"{repo} is no longer trusted.\n"
    assert answer(whet("guard", "trust", "--list", "--json"))["trusted"] == []


def test_a_skill_is_switched_off_and_on(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    skill("mine")
    undo = "hint: `whet enable mine` enables it again.\n"
    assert whet("skill", "disable", "mine").stderr == f"mine is disabled.\n{undo}"
    assert whet("skill", "disable", "mine").stderr == f"mine was already disabled.\n{undo}"
    assert "mine" not in whet("list").stdout
    assert "mine\tDoes one thing.\tuser\t\tdisabled\n" in whet("list", "--all").stdout
    assert whet("skill", "enable", "mine").stderr == "mine is enabled.\n"
    assert whet("skill", "enable", "mine").stderr == "mine was not disabled.\n"
    assert "mine\t" in whet("list").stdout


def test_one_surface_only(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    skill("mine")
    expected = {"success": True, "name": "mine", "surface": "mcp", "enabled": False, "changed": True, "hint": ""}
    assert answer(whet("skill", "disable", "mine", "--surface", "mcp", "--json")) == expected
    assert "mine\t" in whet("list").stdout
    assert answer(whet("skill", "enable", "mine", "--surface", "mcp", "--json")) == {**expected, "enabled": True}


def test_switched_off_elsewhere_is_said(
    skill: Callable[..., Path], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("mine")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "config.toml").write_text('disabled = ["mine"]\n', encoding="utf-8")
    whet("skill", "disable", "mine")
    assert whet("skill", "enable", "mine").stderr.endswith("hint: It is still disabled by config.toml.\n")


def test_roots_tell_what_was_found_where(
    repo: Path, home: Path, skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("mine")
    run = whet("clients", "roots")
    rows = [line.split() for line in run.stdout.splitlines()]
    assert rows[:3] == [
        ["SCOPE", "CLIENT", "SKILLS", "STATE", "PATH"],
        ["project", "agents", "1", "not", "trusted", str(repo / ".agents" / "skills")],
        ["user", "agents", "1", "trusted", str(home / ".agents" / "skills")],
    ]
    assert run.stderr == "hint: Read the project's skills, then run `whet guard trust`.\n"
    first = answer(whet("clients", "roots", "--json"))["roots"][0]
    assert (first["scope"], first["client"], first["path"], first["exists"], first["trusted"], first["skills"]) == (
        "project",
        "agents",
        str(repo / ".agents" / "skills"),
        True,
        False,
        1,
    )


def test_a_root_that_is_missing_is_shown(tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("--root", str(tmp_path / "typo"), "roots")
    assert run.stdout.splitlines()[1].split() == ["external", "0", "missing", str(tmp_path / "typo")]


def test_settings_says_where_the_file_is_and_what_it_changes(
    home: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    found = answer(whet("settings", "--json"))
    file = Path(found["file"])
    assert (file.name, found["exists"]) == ("config.toml", False)
    assert all(row["value"] == row["default"] for row in found["settings"])
    run = whet("config")
    assert (run.stdout, run.stderr) == (
        f"{file}\n",
        "The file does not exist yet.\nEvery setting has its default value.\nhint: -v lists all settings.\n",
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('min_age = 7\nexternal = ["~/more"]\n[disabled_on]\nmcp = ["a", "b"]\n', encoding="utf-8")
    assert whet("settings").stdout == f"{file}\nexternal\t{home / 'more'}\ndisabled_on\tmcp: a, b\nmin_age\t7\n"
    file.write_text("depth = 0\n", encoding="utf-8")
    assert whet("settings").stderr.splitlines()[:3] == [
        "depth is 0; the default is used.",
        "Every setting has its default value.",
        "hint: Write `depth` as a whole number of at least 1.",
    ]
    file.write_text("min_age = [\n", encoding="utf-8")
    assert answer(whet("settings", "--json"))["code"] == "bad-config"
