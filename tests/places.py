"""Where things lie on a machine that a test makes below one directory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Places:
    """A home, Whet's state and a working directory, with the environment of commands that run there."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.home, self.state, self.work = top / "home", top / "state", top / "work"
        self.root = self.home / ".agents" / "skills"
        self.lock = self.home / ".agents" / "whet-lock.json"
        path = os.environ.get("PATH", os.defpath)
        self.env = {"HOME": str(self.home), "WHET_HOME": str(self.state), "PATH": path, "NO_COLOR": "1"}
