"""Machines for journeys that need more than one, and what their answers are expected to be.

    alice = Machine(tmp_path / "alice")
    assert alice.says("install", source, "--all") == (0, "Installed pdf 1.0.0  safe\n", "")
    answer = alice.ask("verify")

A machine may visit servers on 127.0.0.1, and knows nothing of the home and the settings of whoever runs the tests.
Every command is a process; in the quick tier most run in this one, which takes a tenth of the time.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pytest

from whet.authoring.trees import digest
from whet.interfaces.cli import main as whet
from whet.skill.tree import Item

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

WHET = (sys.executable, "-P", "-m", "whet")
in_process = ContextVar("in_process", default=False)
"""Whether commands run in this process; the tests of a module may say that theirs need their own."""
ALLOWED = "Community skills without a serious finding are allowed."


def run_whet(words: Sequence[str], env: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """One command, with nothing on its standard input."""
    if not in_process.get():
        command, nothing = [*WHET, *words], subprocess.DEVNULL
        return subprocess.run(command, env=env, cwd=cwd, stdin=nothing, capture_output=True, encoding="utf-8")
    data, talk = io.BytesIO(), io.BytesIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        chdir(cwd),
        open(os.devnull, encoding="utf-8") as nothing_here,
        redirect_stdout(io.TextIOWrapper(data, "utf-8", write_through=True)),
        redirect_stderr(io.TextIOWrapper(talk, "utf-8", write_through=True)),
    ):
        patch.setattr(sys, "stdin", nothing_here)
        patch.setattr(os, "environ", os.environ.copy())
        for name in {*os.environ} - {*env}:
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        code = whet(words)
        output, errors = data.getvalue().decode(), talk.getvalue().decode()
    return subprocess.CompletedProcess([*words], code, output, errors)


class Machine:
    """A home, Whet's state and a working directory of their own."""

    def __init__(self, top: Path, **env: str) -> None:
        self.home, self.state, self.work = (top / name for name in ("home", "state", "work"))
        for path in (self.home, self.state, self.work):
            path.mkdir(parents=True)
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
        self.env = {**kept, "HOME": str(self.home), "WHET_HOME": str(self.state), "PYTHONUTF8": "1", **env}
        self.root = self.home / ".agents" / "skills"
        self.lock = self.home / ".agents" / "whet-lock.json"
        self.settings('private_hosts = ["127.0.0.1"]\nmin_age = 0\n')

    def settings(self, text: str) -> None:
        """Add to the settings."""
        with (self.state / "config.toml").open("a", encoding="utf-8") as file:
            file.write(text)

    def run(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return run_whet(words, self.env, cwd or self.work)

    def says(self, *words: str, cwd: Path | None = None) -> tuple[int, str, str]:
        """The exit code and what a person reads, on standard output and on standard error."""
        done = self.run(*words, cwd=cwd)
        return done.returncode, done.stdout, done.stderr

    def ask(self, *words: str, code: int = 0, cwd: Path | None = None) -> dict[str, Any]:
        """The one document of a command that ends with this code."""
        done = self.run(*words, "--json", cwd=cwd)
        assert (done.stderr, done.stdout.count("\n"), done.returncode) == ("", 1, code), done
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict)
        return answer

    def text(self, name: str, file: str = "SKILL.md") -> str:
        """A file of a skill."""
        return (self.root / name / file).read_text(encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        """Change a skill by hand."""
        before = self.text(name)
        assert old in before
        (self.root / name / "SKILL.md").write_text(before.replace(old, new), encoding="utf-8")

    def names(self) -> list[str]:
        """The skills that lie in the person's root."""
        return sorted(os.listdir(self.root)) if self.root.exists() else []

    def locked(self, path: Path | None = None) -> dict[str, Any]:
        """What the lock names, without the times, which no test can foresee."""
        text = (path or self.lock).read_text(encoding="utf-8")
        skills: dict[str, Any] = json.loads(text)["skills"]
        return {
            inner: {field: value for field, value in entry.items() if field not in ("installed", "updated", "ruleset")}
            for inner, entry in skills.items()
        }

    def library_digest(self) -> str:
        """What the whole library amounts to, by the Python interface."""
        program = "from whet import Library\nwith Library.open() as library:\n    print(library.workspace.digest())\n"
        command = [sys.executable, "-P", "-c", program]
        return subprocess.run(
            command, env=self.env, cwd=self.work, capture_output=True, check=True, encoding="utf-8"
        ).stdout.strip()

    def left(self) -> list[str]:
        """What lies where packages are fetched to, which should be nothing."""
        fetching = self.state / "fetching"
        return sorted(os.listdir(fetching)) if fetching.exists() else []


def main(name: str, description: str = "Does one thing.", body: str = "Do it.\n", more: str = "") -> str:
    """The text of a main file."""
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}"


def content(files: Mapping[str, str]) -> str:
    """The digest of a skill with these files, of which those in `scripts/` can be executed."""
    return digest({path: Item(text.encode(), path.startswith("scripts/")) for path, text in files.items()})


def judged(**changes: Any) -> dict[str, Any]:
    """What a step tells of the guard."""
    return {"trust": "community", "verdict": "safe", "decision": "allow", "why": ALLOWED, "findings": [], **changes}


def step(machine: Machine, action: str, state: str, name: str, **changes: Any) -> dict[str, Any]:
    """A step of a plan."""
    return {
        "action": action,
        "state": state,
        "name": name,
        "path": f"skills/{name}",
        "reason": "",
        "code": "",
        "hint": "",
        "before": "",
        "after": "",
        "source": "",
        "revision": "",
        "version": "",
        "from": None,
        "files": [],
        "powers": [],
        "clashes": [],
        "notes": [],
        "directory": str(machine.root / name),
        **changes,
    }


def plan(machine: Machine, *steps: Mapping[str, Any], dry: bool = False) -> dict[str, Any]:
    """The answer of a command that plans and applies."""
    states = [step["state"] for step in steps]
    return {
        "success": True,
        "root": str(machine.root),
        "plan": list(steps),
        "counts": {state: states.count(state) for state in dict.fromkeys(states)},
        "refused": [
            {"name": step["name"], "decision": "ask" if step["state"] == "ask" else "block", "reason": step["reason"]}
            for step in steps
            if step["state"] in ("ask", "blocked")
        ],
        "notes": [],
        "done": [] if dry else [step["name"] for step in steps if step["state"] == "ready"],
        "installed": []
        if dry
        else [step["name"] for step in steps if step["state"] == "ready" and step["action"] != "uninstall"],
        "dry_run": dry,
    }


def changed(**files: str) -> list[dict[str, str]]:
    """The files of a step: `changed(**{"SKILL.md": "changed"})`."""
    return [{"path": path, "change": change} for path, change in files.items()]
