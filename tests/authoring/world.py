"""A machine in a temporary directory, other processes on it, and what must hold of it whatever happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from rights import GIVE_UP

from whet import Library
from whet.authoring.journal import Journal
from whet.authoring.trees import digest
from whet.errors import WhetError
from whet.library.package import read_tree
from whet.store.atomic import leftovers
from whet.store.clock import system_clock
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

PRELUDE = """
import json, os, sys, time
from whet import Library
from whet.authoring.writer import Provenance
from whet.errors import WhetError
top = sys.argv[1]

def opened(**more):
    return Library.open([top + "/skills"], home=top + "/state", project=top, env={"HOME": top, "PATH": ""}, **more)

def say(value):
    print(json.dumps(value), flush=True)
"""
"""What every script of another process begins with: a library of the skills below its first argument."""

UNPRIVILEGED = PRELUDE + GIVE_UP
"""The same, as a user for whom permissions count."""


class World:
    """A home, a project that is a repository, a state directory, a plain root, and the libraries opened on them."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.home, self.state, self.project, self.root = (top / name for name in ("home", "state", "project", "skills"))
        self.mine = self.home / ".agents" / "skills"
        """The user's own skills."""
        self.env = {"HOME": str(self.home), "PATH": os.environ.get("PATH", os.defpath)}
        self.made: list[Library] = []
        for path in (self.mine, self.project / ".git", self.state, self.root):
            path.mkdir(parents=True)

    def skill(self, name: str, body: str = "Body.\n", *, where: Path | None = None, more: str = "") -> Path:
        """Write a skill by hand; the directory."""
        path = (where or self.root) / name
        path.mkdir(parents=True, exist_ok=True)
        base = os.path.basename(name)
        text = f'---\nname: {base}\ndescription: Does {base}.\nmetadata:\n  version: "1"\n{more}---\n\n{body}'
        (path / "SKILL.md").write_text(text)
        return path

    def library(self, **more: Any) -> Library:
        """A library of the plain root alone."""
        return self.machine(roots=[self.root], **more)

    def machine(self, **more: Any) -> Library:
        """A library as a user has it: own skills, the project's, those that ship with Whet."""
        how = {"home": self.state, "project": self.project, "env": self.env, "platform": "linux", **more}
        library = Library.open(**how)
        self.made.append(library)
        return library

    def journal(self) -> Journal:
        return Journal(StateDatabase(str(self.state)), system_clock)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world whose libraries are closed in the end; the administrator's skills lie in `org`."""
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: (str(tmp_path / "org"),))
    made = World(tmp_path)
    yield made
    for library in made.made:
        library.close()


def created(name: str, body: str = "Do this.\n") -> dict[str, Any]:
    """The operation that makes a plain skill."""
    description = f"Does what {name} is about, step by step. Use it when somebody asks for {name}."
    return {"action": "create", "name": name, "description": description, "body": body}


def patched(name: str, find: str, replace: str, **more: Any) -> dict[str, Any]:
    """The operation that replaces a piece of text."""
    return {"action": "patch", "name": name, "find": find, "replace": replace, **more}


def refused(call: Callable[[], object], code: str) -> WhetError:
    """The error that a call raises, which has this code, a sentence and a hint."""
    with pytest.raises(WhetError) as caught:
        call()
    assert caught.value.code == code, caught.value
    assert caught.value.message.endswith((".", '"')) and caught.value.hint
    return caught.value


def content(path: Path | str) -> dict[str, bytes]:
    """Every file below a directory, as anybody may see it."""
    found = {}
    for directory, _, names in os.walk(path):
        for name in names:
            full = os.path.join(directory, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, path)] = file.read()
    return found


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process that runs this script."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answers(script: str, *arguments: object, before: Sequence[str] = ()) -> list[Any]:
    """Run a script to its end; what it said."""
    command = [*before, sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def digest_of(path: str) -> str:
    """The digest of a skill's directory, "" when there is none."""
    tree = read_tree(path)
    return "" if tree is None else digest(tree)


def check_whole(state: Path | str, root: Path | str) -> None:
    """Nothing is lost: the journal proves, and every skill is what the journal says last."""
    journal = Journal(StateDatabase(str(state)), system_clock)
    try:
        assert journal.verify() == ()
        assert journal.edits() == []
        heads = {entry.path: entry.after for entry in journal.entries()}
        assert {path: digest_of(path) for path in heads} == heads
        directories = [directory for directory, *_ in os.walk(root)]
        assert [path for directory in directories for path in leftovers(directory)] == []
    finally:
        journal.state.close()
