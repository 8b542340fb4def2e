"""Real git repositories to publish to, and a machine to publish from."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from sources.publishable import place
from whet.sources.publish.git import publish_git

if TYPE_CHECKING:
    from pathlib import Path

    from whet.library.roots import Place
    from whet.sources.publish.prepare import Prepared, Published


class World:
    """A bare repository, a working copy of it, and a machine to publish from."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.place: Place = place(top)
        self.bare = top / "remote.git"
        self.copy = top / "copy"
        self.git("init", "--quiet", "--bare", "--initial-branch=trunk", str(self.bare), at=top)
        self.git("clone", "--quiet", str(self.bare), str(self.copy), at=top)
        (self.copy / "README.md").write_text("hello\n")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "first")
        self.git("push", "--quiet", "origin", "HEAD")
        self.address = f"file://{self.bare}"

    def git(self, *words: str, at: Path | None = None) -> str:
        command = ["git", *words]
        cwd = at or self.copy
        done = subprocess.run(command, cwd=cwd, env=dict(self.place.env), capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def hook(self, name: str, script: str, *, of: Path | None = None) -> None:
        path = (of or self.bare) / "hooks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def publish(self, *skills: Prepared, to: str = "", branch: str = "", into: str = "skills") -> Published:
        return publish_git(skills, to or self.address, place=self.place, branch=branch, into=into)

    def files(self, branch: str = "trunk") -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", branch, at=self.bare).splitlines()

    def head(self, branch: str = "trunk") -> str:
        return self.git("rev-parse", branch, at=self.bare)

    def leftovers(self) -> list[str]:
        home = os.path.join(self.place.state, "publishing")
        return os.listdir(home) if os.path.isdir(home) else []
