"""A machine in a temporary directory, and skills made by hand: what several tests of the prompt room stand on."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whet import Library
from whet.library.card import Card
from whet.library.roots import Root
from whet.prompt.message import Part
from whet.prompt.shell import Ran
from whet.prompt.tokens import Tokenizer
from whet.skill.model import Skill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pytest

    from whet.api.session import Session

WORDS = Tokenizer("words", lambda text: len(text.split()), exact=True)
"""Counts words: easy to reason about in a test."""


class World:
    """A home, a project that is a repository, a state directory, and the libraries opened on them."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.home, self.state, self.project = top / "home", top / "state", top / "project"
        self.mine = self.home / ".agents" / "skills"
        """The user's own skills."""
        self.env = {"HOME": str(self.home), "PATH": os.environ.get("PATH", os.defpath)}
        self.made: list[Library] = []
        for path in (self.mine, self.project / ".git", self.state):
            path.mkdir(parents=True)
        self.config()

    def config(self, text: str = "") -> None:
        (self.state / "config.toml").write_text(text)

    def skill(self, name: str, body: str = "Body.\n", more: str = "", description: str = "", where: str = "") -> str:
        """Write a skill, the user's own unless `where` names another root; gives the path of its SKILL.md."""
        path = (self.top / where if where else self.mine) / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n{more}---\n{body}")
        return str(path)

    def library(self, **more: Any) -> Library:
        how = {"home": self.state, "project": self.project, "env": self.env, "platform": "linux", **more}
        library = Library.open(**how)
        self.made.append(library)
        return library

    def session(self, **more: Any) -> Session:
        return self.library().session("s1", **{"tokenizer": WORDS, **more})


class Recorder:
    """A runner that runs nothing and says what it was asked to run."""

    def __init__(self) -> None:
        self.scripts: list[str] = []

    def run(self, script: str, *, shell: str, cwd: str, env: Mapping[str, str], seconds: float, limit: int) -> Ran:
        assert os.path.isdir(cwd) and env["WHET_SKILL_NAME"]
        self.scripts.append(f"{shell}, {seconds} s, {limit} characters: {script}")
        return Ran("ran", 0, "", truncated=False)


@contextmanager
def world_in(top: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world whose libraries are closed in the end; the administrator's skills lie in `org`."""
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: (str(top / "org"),))
    made = World(top)
    try:
        yield made
    finally:
        for library in made.made:
            library.close()


def card(name: str, description: str = "Does it.", **more: Any) -> Card:
    """A card of a skill that lies nowhere."""
    directory = f"/skills/{name}"
    root = Root("/skills", "user")
    made = Card(f"{directory}/SKILL.md", directory, name, name, description, "", "skill", 0, 0, 0, 0, 0, "", root)
    return made._replace(**more)


def part(name: str, body: str, *, description: str = "Does it.", remarks: tuple[str, ...] = ()) -> Part:
    """A skill ready for a message that lies nowhere."""
    return Part(card(name, description), Skill(name, description, body), "sha256:0", body, (), (), (), remarks)
