"""`whet list`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whet.interfaces.cli.text import width

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from whet.interfaces.cli.output import Screen

HOSTILE = '"\\e]0;owned\\a\\e[2J boo \\u202Egnp.exe"'


@pytest.fixture
def root(skill: Callable[..., Path], tmp_path: Path) -> Path:
    """A root with a bit of everything."""
    root = tmp_path / "root"
    skill("alpha", "The first one, which has a description that is too long for a narrow terminal.", root=root)
    skill("release/tag", "打标签并发布版本，当用户说发布时使用，并检查工作区是否干净。", root=root)
    skill("release/ship", "Ships it.", extra="prerequisites:\n  env_vars: [SHIP_TOKEN]\n", root=root)
    skill("hostile", HOSTILE, root=root)
    skill("mac", "For a Mac.", extra="platforms: [nowhere]\n", root=root)
    (root / "release" / "DESCRIPTION.md").write_text("Getting things out of the door", encoding="utf-8")
    return root


def answer(whet: Callable[..., CompletedProcess[str]], *words: str) -> dict[str, Any]:
    run = whet("list", *words, "--json")
    assert run.returncode == 0
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_the_document(root: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert answer(whet, "--root", str(root), "--category", "release") == {
        "success": True,
        "skills": [
            {
                "name": "ship",
                "description": "Ships it.",
                "category": "release",
                "scope": "external",
                "path": str(root / "release" / "ship"),
                "ready": False,
            },
            {
                "name": "tag",
                "description": "打标签并发布版本，当用户说发布时使用，并检查工作区是否干净。",
                "category": "release",
                "scope": "external",
                "path": str(root / "release" / "tag"),
                "ready": True,
            },
        ],
        "categories": [{"name": "release", "count": 2, "description": "Getting things out of the door"}],
        "count": 2,
        "total": 2,
        "next": None,
        "hint": "Open a skill by name to read its instructions.",
        "hidden": 1,
    }


def test_on_a_pipe_each_skill_is_a_line(root: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("--root", str(root), "list")
    assert run.stdout == (
        "alpha\tThe first one, which has a description that is too long for a narrow terminal.\n"
        "hostile\t\\x1b]0;owned\\x07\\x1b[2J boo \\u202egnp.exe\n"
        "ship\tShips it.\n"
        "tag\t打标签并发布版本，当用户说发布时使用，并检查工作区是否干净。\n"
    )
    assert run.stderr == "1 hidden (`whet list --all`).\n"
    assert whet("--root", str(root), "list", "-q").stderr == ""


def test_all_names_the_reason(root: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("--root", str(root), "list", "--all", "--query", "mac")
    assert (run.stdout, run.stderr) == ("mac\tFor a Mac.\texternal\t\twrong-platform\n", "")


def test_a_list_of_one_scope_or_state(root: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    def names(*options: str) -> list[str]:
        return [skill["name"] for skill in answer(whet, "--root", str(root), *options)["skills"]]

    assert names("--scope", "external") == ["alpha", "hostile", "ship", "tag"]
    assert names("--scope", "user") == []
    assert names("--state", "hidden") == ["mac"]
    assert (names("--state", "not-ready"), names("--state", "ready")) == (["ship"], ["alpha", "hostile", "tag"])


def test_pages_lead_to_each_other(root: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    seen, words = [], ["--root", str(root), "--limit", "2"]
    page = answer(whet, *words)
    assert whet("list", *words).stderr.startswith("2 of 4; see more with --cursor 'hostile'.\n")
    while True:
        seen += [skill["name"] for skill in page["skills"]]
        if page["next"] is None:
            break
        page = answer(whet, *words, "--cursor", page["next"])
    assert seen == ["alpha", "hostile", "ship", "tag"]


NOTHING = "No skills yet. `whet new NAME` creates one; `whet gallery` shows what ships with Whet.\n"


def test_nothing_to_list_says_what_to_do(tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (tmp_path / "empty").mkdir()
    run = whet("--root", str(tmp_path / "empty"), "list")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", NOTHING)
    missing = whet("--root", str(tmp_path / "typo"), "list")
    assert missing.stderr.endswith(f"The root {tmp_path / 'typo'} does not exist.\n")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_gets_a_table_that_fits(columns: int, root: Path, shown: Callable[..., Screen]) -> None:
    screen = shown("list", "--root", str(root), "--all", columns=columns)
    assert max(map(width, screen.text().splitlines())) <= columns
    if columns == 60:
        assert screen.text() == (
            "  alpha    The first one, which has a description that is t…\n"
            "  hostile  \\x1b]0;owned\\x07\\x1b[2J boo \\u202egnp.exe\n"
            "  mac      [wrong-platform] For a Mac.\n"
            "\n"
            "release  Getting things out of the door\n"
            "  ship     [not ready] Ships it.\n"
            "  tag      打标签并发布版本，当用户说发布时使用，并检查工作…\n"
        )


def test_one_category_needs_no_headings(root: Path, shown: Callable[..., Screen]) -> None:
    screen = shown("list", "--root", str(root), "--category", "release", colour=True)
    assert screen.text().splitlines()[0] == "\x1b[36mship\x1b[0m  \x1b[33m[not ready] \x1b[0mShips it."


def test_a_long_name_does_not_push_the_others(
    skill: Callable[..., Path], shown: Callable[..., Screen], tmp_path: Path
) -> None:
    skill("b", root=tmp_path / "r")
    skill("a" * 40, root=tmp_path / "r")
    assert (
        shown("list", "--root", str(tmp_path / "r"), columns=60).text()
        == f"{'a' * 40}  Does one thing.\nb  Does one thing.\n"
    )
