"""A machine in a temporary directory, with skills to serve."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from whet import Library
from whet.errors import WhetError
from whet.interfaces.mcp.resource_server import Served
from whet.library.visibility import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CLIENT = Caller(model=True, surface="mcp")


class World:
    """A home, a project, Whet's state, and libraries of them."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.home, self.state, self.project = top / "home", top / "state", top / "project"
        self.made: list[Library] = []
        for path in (self.home, self.project / ".git", self.state):
            path.mkdir(parents=True)
        self.config()

    def config(self, text: str = "") -> None:
        (self.state / "config.toml").write_text(text)

    def skill(
        self, place: str, *, name: str = "", description: str = "", more: str = "", body: str = "Body.\n"
    ) -> Path:
        """A skill in a directory; the scope is where that lies."""
        directory = self.top / place
        directory.mkdir(parents=True, exist_ok=True)
        name = name or directory.name
        text = f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n{more}---\n{body}"
        (directory / "SKILL.md").write_bytes(text.encode())
        return directory

    def mine(self, name: str, **more: str) -> Path:
        """A skill of the person's own."""
        return self.skill(f"home/.agents/skills/{name}", **more)

    def library(self, **more: Any) -> Library:
        env = {"HOME": str(self.home), "PATH": ""}
        library = Library.open(home=self.state, project=self.project, env=env, **more)
        self.made.append(library)
        return library

    def served(self, caller: Caller = CLIENT, **more: Any) -> Served:
        return Served(self.library(**more).workspace, caller)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: ())
    made = World(tmp_path)
    yield made
    for library in made.made:
        library.close()


def put(directory: Path, path: str, data: bytes = b"") -> Path:
    """A file of a skill."""
    file = directory / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def resource(uri: str, data: bytes) -> dict[str, Any]:
    """A file as an entry has it."""
    return {"uri": uri, "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}


def uris(answer: dict[str, Any]) -> list[str]:
    """The addresses in a list of skills or resources."""
    return [item["uri"] for item in answer.get("skills", answer.get("resources", ()))]


def refused(call: Callable[..., Any], *given: Any) -> tuple[str, str]:
    """The class and the code of the error that a call ends in."""
    with pytest.raises(WhetError) as caught:
        call(*given)
    return type(caught.value).__name__, caught.value.code


def data_of(answer: dict[str, Any]) -> bytes:
    """The bytes of a resource that was read."""
    (content,) = answer["contents"]
    return base64.b64decode(content["blob"]) if "blob" in content else content["text"].encode()


def all_pages(call: Callable[[str | None], dict[str, Any]], field: str) -> list[list[str]]:
    """The addresses on each page of a list."""
    pages, cursor = [], None
    while True:
        answer = call(cursor)
        pages.append([item["uri"] for item in answer[field]])
        cursor = answer.get("nextCursor")
        if cursor is None:
            return pages


def verify(served: Served, skill: dict[str, Any]) -> None:
    """What a host does with an entry: every file has the size and the digest it was listed with."""
    for item in skill["resources"]:
        data = data_of(served.read(item["uri"]))
        assert (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") == (item["size"], item["digest"])
