"""A person's machine with a few skills, and the hooks of its clients."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from journeys.payloads import as_bytes, context, payload

from whet.api import Library
from whet.interfaces.hooks.handler import Hooks
from whet.library.files import settled

if TYPE_CHECKING:
    from pathlib import Path

SKILLS = {
    "pdf-forms": "Fills in PDF forms. Use when a PDF form has to be filled in.",
    "backport": "Backports a fix to a release branch. Use when asked to backport.",
    "charts": "Draws charts from a CSV file. Use when asked for a plot.",
}
FORM = "fill in this pdf form"
BACKPORT = "please backport this fix to the release branch"


class Machine:
    """A home, a project and Whet's state, and what answers its hooks in this process."""

    def __init__(self, top: Path, *, patient: bool = True) -> None:
        self.home, self.state, self.work = (top / name for name in ("home", "state", "work"))
        for path in (self.home, self.state, self.work):
            path.mkdir(parents=True)
        self.env = {"HOME": str(self.home), "WHET_HOME": str(self.state), "PATH": os.environ["PATH"]}
        self.now = 1_800_000_000 * 10**9
        for name, description in SKILLS.items():
            self.write(name, description)
        self.library = Library.open(project=self.work, env=self.env)
        self.opened: list[str] = []
        self.hooks = Hooks(str(self.state), self.open, patient=patient, clock=self.clock)

    def clock(self) -> int:
        """A minute passes between two events."""
        self.now += 60 * 10**9
        return self.now

    def open(self, directory: str) -> Library:
        """The one library, and who asked for it."""
        self.opened.append(directory)
        return self.library

    def write(self, name: str, description: str, more: str = "", body: str = "Do it.\n") -> str:
        """Write a skill; its main file."""
        path = self.home / ".agents" / "skills" / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: {name}\ndescription: {description}\n{more}---\n{body}", encoding="utf-8")
        return str(path)

    def settle(self) -> None:
        """Wait until no skill was written so recently that another change to it might not show."""
        files = [*self.home.glob(".agents/skills/*/SKILL.md")]
        while not all(settled(path.stat(), time.time_ns()) for path in files):
            time.sleep(0.01)

    def file(self, name: str) -> str:
        """The main file of a skill."""
        return str(self.home / ".agents" / "skills" / name / "SKILL.md")

    def tell(self, client: str, kind: str, **changes: Any) -> str:
        """What the model gets to read when something happens."""
        changes = {"cwd": str(self.work), **changes}
        return context(self.hooks.answer(client, kind, as_bytes(payload(client, kind, **changes))))

    def failures(self) -> list[tuple[str, str, str, str]]:
        """Client, event, code and message of everything that failed."""
        return [failure[1:] for failure in self.hooks.sessions.failures()]

    def close(self) -> None:
        """Let the databases go."""
        self.hooks.close()
        self.library.close()
