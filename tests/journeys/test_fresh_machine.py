"""The first minutes: nothing is there yet, and nothing goes wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from journeys.machines import in_process
from whet import __version__
from whet.interfaces.cli.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

PROCESSES = True


def test_the_first_list_answers_and_makes_nothing_in_the_home(
    home: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    run = whet("list", "--json")
    answer = json.loads(run.stdout)
    assert (run.returncode, run.stderr, answer["success"]) == (0, "", True)
    assert (answer["skills"], answer["count"], answer["total"], answer["next"]) == ([], 0, 0, None)
    assert [*home.iterdir()] == []


def test_with_only_one_root_the_first_list_is_empty_not_an_error(
    tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    (tmp_path / "mine").mkdir()
    run = whet("--root", str(tmp_path / "mine"), "list", "--json")
    answer = json.loads(run.stdout)
    assert (run.returncode, answer["skills"], answer["total"]) == (0, [], 0)


def test_every_look_works_on_a_fresh_machine(whet: Callable[..., CompletedProcess[str]]) -> None:
    looks = [["--version"], ["--help"], ["roots"], ["doctor", "--check"], ["trust", "--list"], ["gallery"]]
    assert {tuple(words): whet(*words).returncode for words in looks} == {tuple(words): 0 for words in looks}
    assert whet("--version").stdout == f"whet {__version__}\n"


SERVERS = ("mcp", "hook", "ui")
"""Commands that go on until they are stopped, or read what comes in."""


def test_no_command_shows_a_traceback_on_a_fresh_machine(
    whet: Callable[..., CompletedProcess[str]], *, quick: bool
) -> None:
    token = in_process.set(quick)
    assert "Traceback" not in "".join(whet(*verb.split()).stderr for verb in VERBS if verb not in SERVERS)
    in_process.reset(token)
    assert "Traceback" not in "".join(whet(verb).stderr for verb in ("mcp", "hook"))


def test_without_a_home_the_reason_is_said(env: dict[str, str], whet: Callable[..., CompletedProcess[str]]) -> None:
    del env["HOME"], env["WHET_HOME"]
    run = whet("list", "--json")
    assert (run.returncode, json.loads(run.stdout)["code"]) == (2, "no-home")
    assert whet("--version").returncode == 0
