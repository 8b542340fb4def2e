"""`whet skill needs`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from whet.interfaces.cli.text import width

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from whet.interfaces.cli.output import Screen

ENV = "required_environment_variables:\n  - name: SHIP_TOKEN\n    prompt: Your token\n    help: Get one at the port.\n"


@pytest.fixture
def fleet(skill: Callable[..., Path], env: dict[str, str]) -> dict[str, str]:
    """Two skills that share a need and one that needs nothing; returns the environment of a run."""
    skill("ship", extra=f"{ENV}prerequisites:\n  commands: [no-such-program]\n")
    skill("tug", extra=ENV)
    skill("raft")
    return env


@pytest.mark.usefixtures("fleet")
def test_each_thing_is_listed_once(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("skill", "needs")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == (
        "env\tSHIP_TOKEN\tship, tug\tGet one at the port.\n"
        "command\tno-such-program\tship\tInstall no-such-program and put it on PATH.\n"
    )
    assert whet("skill", "needs", "tug", "raft").stdout == "env\tSHIP_TOKEN\ttug\tGet one at the port.\n"


@pytest.mark.usefixtures("fleet")
def test_the_document(whet: Callable[..., CompletedProcess[str]]) -> None:
    need = {
        "kind": "env",
        "name": "SHIP_TOKEN",
        "prompt": "Your token",
        "help": "Get one at the port.",
        "secret": True,
        "skills": ["tug"],
    }
    assert json.loads(whet("skill", "needs", "tug", "--json").stdout) == {
        "success": True,
        "ready": False,
        "needs": [need],
    }


def test_check_turns_missing_things_into_a_no(
    fleet: dict[str, str], whet: Callable[..., CompletedProcess[str]]
) -> None:
    run = whet("skill", "needs", "tug", "--check", "--json")
    assert (run.returncode, json.loads(run.stdout)["ready"]) == (1, False)
    fleet["SHIP_TOKEN"] = "hush"
    run = whet("skill", "needs", "tug", "--check")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "Nothing is missing.\n")
    assert "hush" not in whet("skill", "needs", "--json").stdout + whet("skill", "needs").stdout


@pytest.mark.usefixtures("fleet")
def test_a_terminal_gets_a_table_that_fits(shown: Callable[..., Screen]) -> None:
    screen = shown("skill", "needs", columns=60)
    assert screen.text() == (
        "KIND     NAME             FOR        HELP\n"
        "env      SHIP_TOKEN       ship, tug  Get one at the port.\n"
        "command  no-such-program  ship       Install no-such-progra…\n"
    )
    assert max(map(width, screen.text().splitlines())) <= 60
