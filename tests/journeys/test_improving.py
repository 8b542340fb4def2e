"""A skill that gets better: made, improved in place, patched, renamed, taken back, deleted and restored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from whet import Library

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

WHET = (sys.executable, "-P", "-m", "whet")
ABOUT = ("--description", "Deploys the site. Use when somebody asks for a deployment.", "--no-triggers")
FIRST = "# Deploy\n\n1. Run the tests.\n2. Push to prod.\n"
SECOND = "# Deploy\n\n1. Run all tests.\n2. Push to prod.\n3. Tell the team.\n"


def document(run: CompletedProcess[str]) -> dict[str, Any]:
    """The one document on standard output, and nothing beside it."""
    assert (run.stderr, run.stdout.count("\n")) == ("", 1)
    answer = json.loads(run.stdout)
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def own(home: Path) -> Path:
    """Where the person's skills are."""
    return home / ".agents" / "skills"


@pytest.fixture
def ask(whet: Callable[..., CompletedProcess[str]]) -> Callable[..., dict[str, Any]]:
    """Run with --json, expect success, and give the document."""

    def run(*words: str) -> dict[str, Any]:
        done = whet(*words, "--json")
        answer = document(done)
        assert (words, done.returncode, answer["success"]) == (words, 0, True), answer
        return answer

    return run


def test_a_skill_gets_better_in_its_place(
    own: Path, ask: Callable[..., dict[str, Any]], whet: Callable[..., CompletedProcess[str]]
) -> None:
    made = ask("new", "deploy", *ABOUT, "--body", FIRST, "--reason", "Asked for it twice.")
    assert (made["path"], made["version"], made["created"]) == (str(own / "deploy"), "1", True)
    assert "deploy" in [skill["name"] for skill in ask("list")["skills"]]

    again = document(whet("new", "deploy", "--body", SECOND, "--json"))
    assert (again["code"], again["hint"]) == (
        "skill-exists",
        "Choose another name. `whet edit deploy` changes this skill.",
    )
    better = ask("edit", "deploy", "--body", SECOND)
    assert (better["path"], better["version"]) == (str(own / "deploy"), "2")
    assert os.listdir(own) == ["deploy"]

    patched = ask("skill", "patch", "deploy", "--find", "Push to prod.", "--replace", "Push to staging.")
    assert (patched["version"], patched["replacements"]) == ("3", 1)
    content = (own / "deploy" / "SKILL.md").read_bytes()
    failing = whet("skill", "patch", "deploy", "--find", "Push to production.", "--replace", "Push.", "--json")
    assert (failing.returncode, document(failing)["code"]) == (1, "patch-not-found")
    assert document(failing)["closest"][0]["text"] == "2. Push to staging."
    assert (own / "deploy" / "SKILL.md").read_bytes() == content

    shown = ask("show", "deploy")
    assert (shown["version"], shown["digest"]) == ("3", patched["digest"])
    assert [entry["action"] for entry in ask("history", "deploy")["entries"]] == ["create", "edit", "patch"]
    assert whet("history", "diff", "deploy", "2").stdout.endswith(
        "-2. Push to prod.\n+2. Push to staging.\n 3. Tell the team.\n"
    )


def test_files_come_through_a_pipe_byte_for_byte(
    own: Path, env: dict[str, str], work: Path, ask: Callable[..., dict[str, Any]]
) -> None:
    ask("new", "deploy", *ABOUT, "--body", FIRST)
    data = os.urandom(200_000)
    words = ("skill", "write-file", "deploy", "assets/logo.bin", "--content-file", "-", "--json")
    run = subprocess.run([*WHET, *words], env=env, cwd=work, input=data, capture_output=True)
    answer = json.loads(run.stdout)
    assert (run.returncode, run.stderr, answer["version"], answer["entry"]) == (0, b"", "2", 2)
    assert (own / "deploy" / "assets" / "logo.bin").read_bytes() == data

    (work / "run.sh").write_bytes(b"#!/bin/sh\necho hi\r\n")
    ask("skill", "write-file", "deploy", "scripts/run.sh", "--content-file", "run.sh", "--executable")
    script = own / "deploy" / "scripts" / "run.sh"
    assert script.read_bytes() == b"#!/bin/sh\necho hi\r\n"
    assert os.name == "nt" or os.access(script, os.X_OK)

    ask("skill", "remove-file", "deploy", "assets/logo.bin")
    assert sorted(file["path"] for file in ask("show", "deploy")["files"]) == ["SKILL.md", "scripts/run.sh"]
    back = ask("undo", "4")
    assert (back["name"], (own / "deploy" / "assets" / "logo.bin").read_bytes() == data) == ("deploy", True)
    exported = ask("history", "deploy", "--export")
    assert len(exported["contents"]) == 4 and len(exported["entries"]) == 5


def test_every_way_back(
    own: Path, ask: Callable[..., dict[str, Any]], whet: Callable[..., CompletedProcess[str]]
) -> None:
    ask("new", "deploy", *ABOUT, "--body", FIRST)
    first = (own / "deploy" / "SKILL.md").read_bytes()
    ask("edit", "deploy", "--body", SECOND)
    second = (own / "deploy" / "SKILL.md").read_bytes()

    ask("rollback", "deploy", "--to", "1")
    assert (own / "deploy" / "SKILL.md").read_bytes() == first
    ask("undo", "3")
    assert (own / "deploy" / "SKILL.md").read_bytes() == second

    renamed = ask("skill", "rename", "deploy", "ship")
    assert (renamed["path"], renamed["renamed_from"], os.listdir(own)) == (str(own / "ship"), "deploy", ["ship"])
    assert whet("show", "deploy").returncode == 1
    before = (own / "ship" / "SKILL.md").read_bytes()

    ask("delete", "ship", "--reason", "Not needed any more.")
    assert (os.listdir(own), whet("show", "ship").returncode) == ([], 1)
    assert whet("history", "ship").stdout.splitlines()[0].endswith("\tuser\tremove\t\tNot needed any more.")
    ask("restore", "ship")
    assert (own / "ship" / "SKILL.md").read_bytes() == before

    proof = ask("history", "verify")
    assert (proof["valid"], proof["problems"]) == (True, [])
    assert whet("history", "verify").stdout == f"{proof['lineage']}\n"


def test_an_edit_by_hand_is_found_and_can_be_undone(own: Path, ask: Callable[..., dict[str, Any]]) -> None:
    ask("new", "deploy", *ABOUT, "--body", FIRST)
    file = own / "deploy" / "SKILL.md"
    mine = file.read_bytes()
    file.write_bytes(mine.replace(b"Run the tests.", b"Skip the tests."))
    ask("skill", "write-file", "deploy", "references/why.md", "--content", "Because.\n")
    assert [entry["actor"] for entry in ask("history", "deploy")["entries"]] == ["user", "unknown", "user"]
    ask("rollback", "deploy", "--to", "1")
    assert (file.read_bytes(), os.listdir(own / "deploy")) == (mine, ["SKILL.md"])


def test_a_persons_own_editor(
    own: Path, tmp_path: Path, env: dict[str, str], ask: Callable[..., dict[str, Any]]
) -> None:
    ask("new", "deploy", *ABOUT, "--body", FIRST)
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys\npath = pathlib.Path(sys.argv[1])\ntext = path.read_text(encoding='utf-8')\n"
        "print('editing')\npath.write_text(text.replace('prod', 'staging'), encoding='utf-8')\n",
        encoding="utf-8",
    )
    env["EDITOR"] = f'"{sys.executable}" "{script}"'
    run = subprocess.run([*WHET, "edit", "deploy", "--json"], env=env, capture_output=True, encoding="utf-8")
    assert (run.returncode, json.loads(run.stdout)["version"], run.stderr) == (0, "2", "editing\n")
    assert "2. Push to staging.\n" in (own / "deploy" / "SKILL.md").read_text(encoding="utf-8")
    again = subprocess.run([*WHET, "edit", "deploy", "--json"], env=env, capture_output=True, encoding="utf-8")
    assert (again.returncode, json.loads(again.stdout)["entry"]) == (0, None)
    assert len(ask("history", "deploy")["entries"]) == 2


def test_a_plugins_skill_is_changed_with_consent_only(
    own: Path,
    tmp_path: Path,
    skill: Callable[..., Path],
    ask: Callable[..., dict[str, Any]],
    whet: Callable[..., CompletedProcess[str]],
) -> None:
    with (skill("commits", root=tmp_path / "plugin") / "SKILL.md").open("a", encoding="utf-8") as file:
        file.write("# Commits\n")
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "config.toml").write_text(f"[plugins]\nteam = '{tmp_path / 'plugin'}'\n")
    words = ("skill", "patch", "team:commits", "--find", "# Commits", "--replace", "# Our commits")
    run = whet(*words, "--reason", "House style.")
    assert (run.returncode, run.stdout, own.exists()) == (0, "", False)
    assert run.stderr.startswith(
        "Proposal 1 is waiting. It belongs to a plugin, whose updates would overwrite a change."
    )
    waiting = ask("proposals", "list")
    assert (waiting["count"], waiting["proposals"][0]["reason"]) == (1, "House style.")
    assert "+# Our commits\n" in whet("proposals", "list", "1").stdout
    assert ask("proposals", "approve", "1")["state"] == "approved"
    shown = ask("show", "commits")
    assert (shown["scope"], shown["path"]) == ("user", str(own / "commits"))
    assert "# Our commits\n" in shown["content"]

    ask("delete", "commits")
    assert ask("show", "team:commits")["scope"] == "plugin"
    assert document(whet("delete", "team:commits", "--json"))["code"] == "protected"
    ask(*words)
    ask("proposals", "reject", "2", "--reason", "Enough.")
    assert ask("proposals", "list")["proposals"] == []


def test_what_a_model_changes_in_an_installed_skill_waits_for_the_person(
    own: Path, work: Path, env: dict[str, str], ask: Callable[..., dict[str, Any]]
) -> None:
    source = work / "source" / "deploy"
    source.mkdir(parents=True)
    text = f"---\nname: deploy\ndescription: {ABOUT[1]}\n---\n\n{FIRST}"
    (source / "SKILL.md").write_text(text, encoding="utf-8")
    ask("install", str(source), "--yes")
    with Library.open(home=env["WHET_HOME"], project=work, env=env) as library:
        patch = {"action": "patch", "name": "deploy", "find": "Push to prod.", "replace": "Push to staging."}
        assert library.tools().call("skill_manage", patch)["staged"] is True
    assert (own / "deploy" / "SKILL.md").read_text(encoding="utf-8") == text
    [waiting] = ask("proposals", "list")["proposals"]
    assert (waiting["actor"], waiting["cause"]) == ("agent", "It is installed.")
    ask("proposals", "approve", str(waiting["id"]))
    assert "Push to staging." in ask("show", "deploy")["content"]
