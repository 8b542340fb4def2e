"""`whet guard permits`."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

TOOLS = "allowed-tools: Bash(git log:*) Read(./src/**) Bash($(x))\ndisallowed-tools: Bash(git log --all)\n"


@pytest.fixture
def picker(skill: Callable[..., Path]) -> Path:
    """A skill that may read the history and the sources."""
    return skill("picker", extra=TOOLS)


def given(command: str) -> str:
    """The input of Bash."""
    return json.dumps({"command": command})


PROBLEM = "'Bash($(x))' grants nothing: it has an expansion ($)."


@pytest.mark.usefixtures("picker")
@pytest.mark.parametrize(
    ("command", "decision", "reason", "code"),
    [
        ("git log -3", "allow", "Bash(git log:*) covers `git log -3`.", 0),
        ("git push", "deny", "No grant covers `git push`.", 3),
        ("git log --all", "deny", "Bash(git log --all) says deny.", 3),
        ("git log $(x)", "deny", "Nobody can be sure what this runs: it has an expansion ($).", 3),
    ],
)
def test_the_document(
    command: str, decision: str, reason: str, code: int, whet: Callable[..., CompletedProcess[str]]
) -> None:
    run = whet("guard", "permits", "--skill", "picker", "--tool", "Bash", "--input", given(command), "--json")
    expected = {"success": True, "decision": decision, "reason": reason, "problems": [PROBLEM]}
    assert (run.returncode, json.loads(run.stdout), run.stderr) == (code, expected, "")


@pytest.mark.usefixtures("picker")
def test_a_person_gets_a_line(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("guard", "permits", "--skill", "picker", "--tool", "Read", "--input", '{"file_path": "../src/x"}')
    assert run.returncode == 3
    assert run.stdout.startswith("deny: No grant lets Read touch ")
    assert run.stderr == f"{PROBLEM}\n"


def test_a_skill_without_tools_asks(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    skill("open")
    run = whet("guard", "permits", "--skill", "open", "--tool", "Bash", "--input", given("ls"))
    assert (run.returncode, run.stdout, run.stderr) == (1, "ask: The skill declares no tools.\n", "")


def test_typed_declarations_count(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    skill("typed", extra="allowed-tools:\n  - tool: shell\n    command: git log *\n")
    assert whet("guard", "permits", "--skill", "typed", "--tool", "Bash", "--input", given("git log")).returncode == 0
    assert whet("guard", "permits", "--skill", "typed", "--tool", "Bash", "--input", given("ls")).returncode == 3


def test_the_skills_own_directory_can_be_granted(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    directory = skill("own", extra="allowed-tools: Read(${CLAUDE_SKILL_DIR}/references/**)\n")
    path = json.dumps({"file_path": str(directory / "references" / "a.md")})
    assert whet("guard", "permits", "--skill", "own", "--tool", "Read", "--input", path).returncode == 0
    assert (
        whet("guard", "permits", "--skill", "own", "--tool", "Read", "--input", '{"file_path": "a.md"}').returncode == 3
    )


def test_grants_are_tried_without_a_skill(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("guard", "permits", "--grants", "Bash(git:*)", "--tool", "Bash", "--input", given("git status"))
    assert (run.returncode, run.stdout) == (0, "allow: Bash(git:*) covers `git status`.\n")
    run = whet("guard", "permits", "--grants", "Bash(python3:*)", "--tool", "Bash", "--input", given("python3 -c x"))
    assert run.returncode == 1


def test_the_input_comes_from_standard_input(
    whet: Callable[..., CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given("git status").encode())))
    assert whet("guard", "permits", "--grants", "Bash(git:*)", "--tool", "Bash", "--input", "-").returncode == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], "usage"),
        (["--tool", "Bash", "--input", "{}"], "usage"),
        (["--skill", "x", "--grants", "Bash", "--tool", "Bash", "--input", "{}"], "usage"),
        (["--grants", "Bash", "--input", "{}"], "usage"),
        (["--grants", "Bash", "--tool", "Bash"], "usage"),
        (["--grants", "Bash", "--tool", "Bash", "--input", "{"], "bad-tool-input"),
        (["--grants", "Bash", "--tool", "Bash", "--input", '{"command": "ls", "command": "rm"}'], "bad-tool-input"),
        (["--grants", "Bash", "--tool", "Bash", "--input", "[" * 100_000], "bad-tool-input"),
        (["extra", "--grants", "Bash", "--tool", "Bash", "--input", "{}"], "usage"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else value,
)
def test_wrong_usage_is_told(words: list[str], code: str, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("guard", "permits", *words, "--json")
    assert (run.returncode, json.loads(run.stdout)["code"]) == (2, code)


def test_an_unknown_skill_is_told(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("guard", "permits", "--skill", "no-such", "--tool", "Bash", "--input", "{}", "--json")
    assert (run.returncode, json.loads(run.stdout)["code"]) == (1, "skill-not-found")
