"""`whet prompt commands`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from whet.interfaces.cli.output import Screen


@pytest.fixture
def root(skill: Callable[..., Path], tmp_path: Path) -> Path:
    """A skill with a hint, one without, and one whose name the client keeps."""
    root = tmp_path / "root"
    skill("deploy", "Ships it.", extra='argument-hint: "[environment] [version]"\n', root=root)
    skill("re-deploy", root=root)
    skill("help", root=root)
    return root


def reserved(root: Path) -> str:
    return (
        f"{root / 'help' / 'SKILL.md'}: warning: /help is a command of the client, so the skill 'help' has no slash "
        f"command. Type /skill help, or rename it. [command-reserved]\n"
    )


def test_on_a_pipe_each_command_is_a_line(root: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("--root", str(root), "prompt", "commands")
    assert (run.returncode, run.stdout, run.stderr) == (
        0,
        "/deploy\t[environment] [version]\tShips it.\n/re-deploy\t\tDoes one thing.\n",
        reserved(root),
    )


def test_the_document(root: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("--root", str(root), "prompt", "commands", "/re", "--json")
    answer = json.loads(run.stdout)
    command = {
        "name": "re-deploy",
        "menu": "re_deploy",
        "kind": "skill",
        "description": "Does one thing.",
        "hint": "",
    }
    assert (run.stderr, answer["commands"]) == ("", [command])
    assert [(entry["code"], entry["skill"]) for entry in answer["report"]] == [("command-reserved", "help")]


def test_a_prefix_chooses(root: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet("--root", str(root), "prompt", "commands", "dep").stdout.split()[0] == "/deploy"
    run = whet("--root", str(root), "prompt", "commands", "zzz")
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr == f"No slash command has 'zzz' in it.\n{reserved(root)}"


def test_without_skills_there_are_no_commands(tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (tmp_path / "empty").mkdir()
    run = whet("--root", str(tmp_path / "empty"), "prompt", "commands")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "No slash commands.\n")


def test_no_command_is_left_out(
    skill: Callable[..., Path], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    for number in range(70):
        skill(f"skill-{number:02}", root=tmp_path / "many")
    assert len(whet("--root", str(tmp_path / "many"), "commands").stdout.splitlines()) == 70


def test_a_terminal_gets_a_table_that_fits(root: Path, shown: Callable[..., Screen]) -> None:
    assert shown("--root", str(root), "prompt", "commands", columns=60).text() == (
        "COMMAND               DESCRIPTION\n/deploy [environmen…  Ships it.\n/re-deploy            Does one thing.\n"
    )
