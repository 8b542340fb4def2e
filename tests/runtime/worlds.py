"""A project with a skill, and a model that does what a test says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from whet import Library
from whet.learning.models.model import Call, Completion
from whet.learning.models.scripted import Scripted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whet.learning.models.model import Request

PATH = os.defpath if shutil.which("python3", path=os.defpath) else os.environ["PATH"]
"""Programs that a sandbox can show."""
Turn = str | list[tuple[str, dict[str, Any]]]
"""What the model says in one turn: its last words, or calls of tools."""


def play(*turns: Turn) -> Scripted:
    """A model that says this, turn by turn, wherever in the conversation it is asked."""

    def answer(request: Request) -> str | Completion:
        done = sum(message.role == "assistant" for message in request.messages)
        turn = turns[done]
        if isinstance(turn, str):
            return turn
        calls = tuple(Call(f"call-{done}-{at}", name, given) for at, (name, given) in enumerate(turn))
        return Completion("", calls=calls)

    return Scripted(answer, "scripted:test")


def replies(model: Scripted) -> list[str]:
    """What the tools answered, as the model saw it last."""
    return [message.text for message in model.requests[-1].messages if message.role == "tool"]


class World:
    """A home, a state, a project that is a repository, and a library of them."""

    def __init__(self, top: Path, files: dict[str, str] | None = None, *, git: bool = True) -> None:
        self.top = top
        self.home, self.state, self.project = top / "home", top / "state", top / "project"
        for path in (self.home, self.state, self.project):
            path.mkdir(parents=True)
        self.env = {"HOME": str(self.home), "PATH": PATH, "WHET_HOME": str(self.state), "NO_COLOR": "1"}
        self.write(files or {"a.txt": "one\ntwo\n", "src/main.py": "print('hello')\n"})
        if git:
            self.git("init", "-q", "-b", "main")
            self.commit()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)

    def git(self, *words: str) -> str:
        who = {f"GIT_{role}_{what}": "x@y.example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(
            ["git", *words], cwd=self.project, env={**self.env, **who}, check=True, capture_output=True, text=True
        )
        return done.stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "state")

    def skill(self, tools: str | None = None, *, name: str = "worker", body: str = "Do it.\n", more: str = "") -> Path:
        place = self.home / ".agents" / "skills" / name
        place.mkdir(parents=True, exist_ok=True)
        granted = f"allowed-tools: {tools}\n" if tools is not None else ""
        text = f"---\nname: {name}\ndescription: Does {name}.\n{granted}{more}---\n{body}"
        (place / "SKILL.md").write_text(text)
        return place

    def library(self) -> Library:
        return Library.open(home=self.state, project=self.project, env=self.env)

    def contents(self) -> dict[str, str]:
        """Everything in the project, but for what git keeps."""
        return {
            path.relative_to(self.project).as_posix(): path.read_text()
            for path in sorted(self.project.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        }

    def journal(self, run: str) -> Sequence[dict[str, Any]]:
        lines = (self.state / "runs" / run / "journal.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]
