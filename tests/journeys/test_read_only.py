"""A state directory that may only be read: whoever only looks is served, and every change says what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from places import Places
from rights import GIVE_UP

from whet.interfaces.cli import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions are another thing there")

SCRIPT = (
    GIVE_UP
    + """
import contextlib, io, json
from whet.interfaces.cli import main
env, lines = json.loads(sys.argv[1]), json.loads(sys.argv[2])
os.chdir(env["HOME"])
answers = []
for line in lines:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*line, "--json"], env)
    answers.append([code, json.loads(out.buffer.getvalue())])
print(json.dumps(answers))
"""
)
LOOKS = [
    ["list"],
    ["show", "deploy"],
    ["find", "deploy"],
    ["history"],
    ["verify-history"],
    ["guard", "log", "--verify"],
    ["usage"],
    ["doctor", "--check"],
]
CHANGES = [
    ["patch", "deploy", "--find", "First", "--replace", "Second"],
    ["create", "other", "--description", "Does. Use it.", "--body", "Body.\n"],
    ["write-file", "deploy", "references/a.md", "--content", "a"],
    ["rename", "deploy", "ship"],
    ["delete", "deploy"],
    ["restore", "gone"],
    ["undo"],
    ["disable", "deploy"],
    ["pin", "deploy"],
    ["backup", "all.backup"],
]


def filled(top: Path) -> Places:
    """A machine with a skill and a deleted one."""
    machine = Places(top)
    for directory in (machine.home, machine.work):
        directory.mkdir(parents=True)
    for line in (
        ["create", "deploy", "--description", "Does deploy. Use it to deploy.", "--body", "First line.\n"],
        ["create", "gone", "--description", "Is gone. Use it never.", "--body", "Gone.\n"],
        ["delete", "gone"],
        ["list"],
    ):
        assert main(["--project", str(machine.work), *line], machine.env) == 0
    return machine


def everything(top: Path) -> dict[str, Any]:
    """Every file with its content and its permissions."""
    found = {path: path.lstat().st_mode for path in top.rglob("*")}
    return {str(path): (mode, path.read_bytes() if path.is_file() else b"") for path, mode in found.items()}


def ask(machine: Places, lines: list[list[str]]) -> list[Any]:
    """What a process without special rights is answered."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(machine.env), json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


def protect(state: Path) -> None:
    for path in (*state.rglob("*"), state):
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_looking_works_and_changes_say_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = filled(tmp_path)
    capsys.readouterr()
    protect(machine.state)
    before = everything(tmp_path)
    looked = ask(machine, LOOKS)
    assert [(line[0], code) for line, (code, _) in zip(LOOKS, looked, strict=True)] == [(line[0], 0) for line in LOOKS]
    assert [skill["name"] for skill in looked[0][1]["skills"] if skill["scope"] == "user"] == ["deploy"]
    assert "home-read-only" in {note["code"] for note in looked[-1][1]["report"]}
    changed = ask(machine, [line for line in CHANGES if line[0] != "backup"])
    assert {(code, answer["code"]) for code, answer in changed} == {(4, "permission-denied")}
    assert all(str(machine.state) in answer["error"] for _, answer in changed)
    assert everything(tmp_path) == before
    ((code, answer),) = ask(machine, [["backup", "all.backup"]])
    assert (code, answer["skills"]) == (0, ["deploy"])


def test_a_directory_that_is_empty_and_read_only_is_no_reason_to_show_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = filled(tmp_path)
    capsys.readouterr()
    machine.state.rename(tmp_path / "away")
    machine.state.mkdir()
    machine.state.chmod(0o555)
    before = everything(tmp_path)
    lines = [["list"], ["show", "deploy"], ["find", "deploy"], ["history"], ["doctor", "--check"]]
    assert [code for code, _ in ask(machine, lines)] == [0] * len(lines)
    answers = ask(machine, [line for line in CHANGES if line[0] not in ("restore", "undo", "backup")])
    assert {(code, answer["code"]) for code, answer in answers} == {(4, "permission-denied")}
    assert everything(tmp_path) == before
    os.chmod(machine.state, 0o700)
