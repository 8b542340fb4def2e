"""The commands that change skills: what they print, what they answer, and where their texts come from."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

CREATE = ("new", "deploy", "--description", "Deploys the site. Use when asked to deploy it.", "--body", "Push it.\n")


@pytest.fixture
def deploy(home: Path, whet: Callable[..., CompletedProcess[str]]) -> Path:
    """A skill made by `whet new`."""
    assert whet(*CREATE).returncode == 0
    return home / ".agents" / "skills" / "deploy"


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    assert (run.stderr, run.stdout.count("\n")) == ("", 1)
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


def printed(run: CompletedProcess[str]) -> tuple[int, str, str]:
    return run.returncode, run.stdout, run.stderr


def test_new_prints_the_path_and_overwrites_nothing(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    path = home / ".agents" / "skills" / "deploy"
    assert printed(whet(*CREATE)) == (0, f"{path}\n", "Created deploy, version 1.\n")
    before = (path / "SKILL.md").read_bytes()
    for name in ("deploy", "Deploy"):
        hint = "hint: Choose another name. `whet edit deploy` changes this skill.\n"
        again = whet("new", name, "--body", "Push it twice.\n")
        assert printed(again) == (1, "", f"error: {path} already exists.\n{hint}")
    assert (path / "SKILL.md").read_bytes() == before
    better = whet("create", "Deploy", "--body", "Push it twice.\n")
    assert better.stderr.endswith("Improved deploy to version 2.\n"), "the old spelling does what it did"
    same = whet("create", "deploy", "--body", "Push it twice.\n")
    assert same.stderr.endswith("No change: the skill already says this.\n")
    assert os.listdir(path.parent) == ["deploy"]


def test_the_document_of_create(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    shown = answer(whet("show", "deploy", "--json"))
    made = answer(whet("create", "deploy", "--body", "Push it twice.\n", "--set-version", "minor", "--json"))
    digest = answer(whet("show", "deploy", "--json"))["digest"]
    assert digest not in ("", shown["digest"])
    assert made == {
        "success": True,
        "action": "create",
        "name": "deploy",
        "path": str(deploy),
        "version": "1.1",
        "digest": digest,
        "created": False,
        "similar": [],
        "warnings": [],
        "entry": 2,
        "entries": [2],
    }


def test_a_category_is_a_directory(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet(*CREATE, "--category", "ops").stdout == f"{home / '.agents' / 'skills' / 'ops' / 'deploy'}\n"


def test_texts_come_from_the_line_a_file_or_standard_input(
    deploy: Path, whet: Callable[..., CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("body.md", "w", encoding="utf-8") as file:
        file.write("From a file.\n")
    assert whet("edit", "deploy", "--body-file", "body.md").returncode == 0
    assert (deploy / "SKILL.md").read_text(encoding="utf-8").endswith("---\n\nFrom a file.\n")
    data = bytes(range(256))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert whet("skill", "write-file", "deploy", "assets/all.bin", "--content-file", "-").returncode == 0
    assert (deploy / "assets" / "all.bin").read_bytes() == data
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"From a pipe: \xc3\xa4.\n")))
    assert whet("edit", "deploy", "--body-file", "-").returncode == 0
    assert (deploy / "SKILL.md").read_text(encoding="utf-8").endswith("---\n\nFrom a pipe: ä.\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    refused = answer(whet("new", "deploy", "--body-file", "-", "--json"))
    assert (refused["code"], refused["error"]) == ("not-a-text-file", "standard input is not UTF-8 at byte 128.")


def test_edit_and_patch_say_the_new_version(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("edit", "deploy", "--body", "Push it.\nPush it.\n")
    assert printed(run) == (0, f"{deploy}\n", "Changed deploy; SKILL.md now says version 2.\n")
    many = whet("skill", "patch", "deploy", "--find", "Push", "--replace", "- Pull", "--all")
    assert printed(many) == (0, f"{deploy}\n", "Made 2 replacements in deploy; SKILL.md now says version 3.\n")
    one = answer(
        whet("skill", "patch", "deploy", "--find=- Pull it.\n- Pull", "--replace=", "--set-version", "keep", "--json")
    )
    assert (one["replacements"], one["version"], one["path"]) == (1, "3", str(deploy))
    assert (deploy / "SKILL.md").read_text(encoding="utf-8").endswith("---\n\n it.\n")


def test_a_patch_that_fails_tells_the_closest_lines(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    before = (deploy / "SKILL.md").read_bytes()
    words = ("skill", "patch", "deploy", "--find", "Push  it.", "--replace", "Pull it.")
    refused = whet(*words, "--json")
    assert (refused.returncode, answer(refused)["closest"][0]) == (1, {"line": 8, "text": "Push it."})
    assert whet(*words).stderr.startswith("error: The text to find is not there: 'Push  it.'.\nhint: Line 8 differs")
    assert (deploy / "SKILL.md").read_bytes() == before
    assert whet(*words, "--tolerant").returncode == 0
    assert (deploy / "SKILL.md").read_text(encoding="utf-8").endswith("---\n\nPull it.\n")


def test_files_are_written_patched_and_removed(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    file = deploy / "scripts" / "run.sh"
    words = ("skill", "write-file", "deploy", "scripts/run.sh", "--content", "echo hi\n")
    wrote = "Wrote scripts/run.sh of deploy; SKILL.md now says version 2.\n"
    assert printed(whet(*words, "--executable")) == (0, f"{deploy}\n", wrote)
    assert os.access(file, os.X_OK) or os.name == "nt"
    assert (
        whet("skill", "patch", "deploy", "--file", "scripts/run.sh", "--find", "hi", "--replace", "ho").returncode == 0
    )
    assert file.read_text(encoding="utf-8") == "echo ho\n"
    assert os.access(file, os.X_OK) or os.name == "nt"
    removed = answer(whet("skill", "remove-file", "deploy", "scripts/run.sh", "--json"))
    assert (removed["path"], removed["version"], removed["entry"], removed["file"]) == (
        *(str(deploy), "4", 4),
        "scripts/run.sh",
    )
    assert not file.exists()


def test_rename_remove_and_undo(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    ship = deploy.with_name("ship")
    assert printed(whet("skill", "rename", "deploy", "ship")) == (0, f"{ship}\n", "deploy is now ship, version 2.\n")
    assert os.listdir(deploy.parent) == ["ship"]
    gone = "Removed ship; `whet undo ship` brings it back.\n"
    assert printed(whet("remove", "ship", "--reason", "Not needed.")) == (0, "", gone)
    assert os.listdir(deploy.parent) == []
    back = "Undid change 4 (remove): ship is back.\nhint: `whet redo` makes the change again.\n"
    assert printed(whet("undo", "ship")) == (0, f"{ship}\n", back)
    assert os.listdir(deploy.parent) == ["ship"]


@pytest.mark.parametrize(
    "words",
    [
        ["new", "ship", "--description", "Ships it.", "--body", "x"],
        ["edit", "deploy", "--body", "x"],
        ["skill", "patch", "deploy", "--find", "Push", "--replace", "Pull"],
        ["skill", "rename", "deploy", "ship"],
        ["remove", "deploy"],
        ["skill", "write-file", "deploy", "references/a.md", "--content", "x"],
    ],
    ids=" ".join,
)
def test_every_change_can_be_proposed_only(
    words: list[str], deploy: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    before = (deploy / "SKILL.md").read_bytes()
    run = whet(*words, "--stage")
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.startswith("Proposal 1 is waiting. Writes are staged. `whet proposals approve 1` applies it.\n")
    assert os.listdir(deploy.parent) == ["deploy"] and (deploy / "SKILL.md").read_bytes() == before
    proposed = answer(whet(*words, "--stage", "--json"))
    assert (proposed["staged"], proposed["proposal"], proposed["entry"]) == (True, 2, None)


def test_the_reason_and_who_are_kept(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet("edit", "deploy", "--body", "x", "--reason", "It was wrong.").returncode == 0
    entry = answer(whet("history", "deploy", "--last", "1", "--json"))["entries"][0]
    told = (entry["actor"], entry["origin"], entry["action"], entry["reason"], entry["path"])
    assert told == ("user", "foreground", "edit", "It was wrong.", str(deploy))
