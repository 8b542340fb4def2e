"""Where the programs of a run run. A backend says what it isolates, and runs one program in the copy of a project.

The sandbox of this machine is the first of them. Another one has the same attributes and the same two methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from whet.errors import RefusedError
from whet.guard.sandbox.box import MIB, NO_SANDBOX_HINT, Box, Limits, box_for

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from whet.guard.sandbox.levels import Level
    from whet.guard.sandbox.process import Ran
    from whet.runtime.proxy import Proxy
    from whet.runtime.workspace import Workspace

_GROWS = "The copy of the project can grow until the disk is full; only the size of each file is limited."
OUTPUT = 30_000
"""Characters that a program may print."""


class Program(NamedTuple):
    """A program and what it gets."""

    argv: Sequence[str]
    cwd: str
    """Where it starts, as the model sees it."""
    env: Mapping[str, str]
    """The whole environment, but for HOME and TMPDIR."""
    shown: tuple[str, ...]
    """Directories that it can read besides the copy."""
    seconds: float
    proxy: Proxy | None = None
    """What it reaches the network through; without one it has no network."""


class Backend(Protocol):
    """Runs programs apart from everything that is not meant for them."""

    level: Level
    """What it isolates, and what it does not."""
    remaps: bool
    """Whether it shows the copy in the place of the project."""
    networks: bool
    """Whether it can hold a program to some hosts."""

    def check(self) -> None:
        """Raise RefusedError where it cannot be used."""

    def run(self, program: Program, workspace: Workspace, stop: threading.Event) -> Ran:
        """Run a program in the copy until it ends, its time is up, or `stop` is set; nothing of it is left then."""


class LocalSandbox:
    """The sandbox of this machine, at its best level, or at another one that works."""

    def __init__(self, home: str, at: Level | None = None) -> None:
        from whet.guard.sandbox.levels import level

        best = at or level()
        self.level = best._replace(gaps=(*best.gaps, _GROWS))
        self._at = best
        self.remaps = self.networks = self.level.name == "bubblewrap"
        self._home = home
        self._box: tuple[object, Box] = (), Box({})
        """The last box, and what it was made from: most programs of a run have the same one."""

    def check(self) -> None:
        """Raise RefusedError `no-sandbox` where the machine has none."""
        if not self.level.isolates:
            message = f"{self.level.sentence} A skill is not run without one."
            raise RefusedError("no-sandbox", message, hint=NO_SANDBOX_HINT.partition(" To run them")[0])

    def run(self, program: Program, workspace: Workspace, stop: threading.Event) -> Ran:
        """Run a program in a box that has the copy, writable, and what else it may read."""
        from whet.guard.sandbox.levels import run_program

        limits = Limits(program.seconds, cpu=max(60, int(program.seconds)), file=512 * MIB, output=OUTPUT)
        own = () if self.remaps else (workspace.copy, *workspace.borrowed)
        env = {**program.env, **(program.proxy.variables() if program.proxy else {})}
        shown = (*program.shown, *own)
        if self._box[0] != (made_from := (shown, env)):
            self._box = made_from, box_for(shown=shown, cwd="", env=env, home=self._home)
        box = self._box[1]._replace(cwd=program.cwd, limits=limits)
        box = box._replace(serve=program.proxy.serve if program.proxy else None)
        box = box._replace(mounted=workspace.mounts()) if self.remaps else box._replace(writable=(workspace.copy,))
        return run_program(program.argv, box, level=self._at, stop=stop)
