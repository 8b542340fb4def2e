"""Two skills of one name, and skills that are switched off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess


def test_the_first_root_wins_and_the_others_stay_reachable(
    home: Path, work: Path, skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    project = skill("deploy", "The project's.", root=work / ".agents" / "skills")
    user = skill("deploy", "Mine.")
    claude = skill("deploy", "Mine too.", root=home / ".claude" / "skills")
    assert whet("guard", "trust").returncode == 0

    def description(name: str) -> str:
        return str(json.loads(whet("show", name, "--json").stdout).get("description"))

    assert [description(name) for name in ("deploy", "DEPLOY", "project:deploy", str(user), str(claude))] == [
        "The project's.",
        "The project's.",
        "The project's.",
        "Mine.",
        "Mine too.",
    ]
    ambiguous = whet("show", "user:deploy", "--json")
    assert ambiguous.returncode == 1
    assert (json.loads(ambiguous.stdout)["code"], json.loads(ambiguous.stdout)["candidates"]) == (
        "ambiguous-name",
        [str(user), str(claude)],
    )
    report = json.loads(whet("doctor", "--json").stdout)["report"]
    assert [entry["path"] for entry in report if entry["code"] == "shadowed"] == [
        str(user / "SKILL.md"),
        str(claude / "SKILL.md"),
    ]
    assert whet("list").stderr == ""
    assert whet("list", "--all").stdout.count("deploy\t") == 3
    assert project.is_dir()


def test_a_skill_that_is_switched_off_is_gone_until_it_is_switched_on(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("noisy")
    assert "noisy\t" in whet("list").stdout
    assert whet("skill", "disable", "Noisy").returncode == 0
    off = whet("list")
    assert "noisy\t" not in off.stdout and off.stderr == "1 hidden (`whet list --all`).\n"
    assert "hidden         Disabled by whet disable." in whet("show", "noisy").stdout
    assert whet("skill", "enable", "noisy").returncode == 0
    assert "noisy\t" in whet("list").stdout
    assert whet("list").stderr == ""
