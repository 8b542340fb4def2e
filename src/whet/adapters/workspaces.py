"""The sandbox for agents of Pydantic AI: a workspace backend whose commands run in a box.

    from pydantic_ai.workspaces import Workspace
    from whet.adapters.workspaces import SandboxBackend

    workspace = Workspace(SandboxBackend("/home/me/project"))

A command reads and writes that directory, reads the system's programs, and has no network; when it ends, all its
processes are gone. Files are read and written by commands, too, so that no link leads out of the box.
"""

from __future__ import annotations

import os
import tempfile
import threading
from typing import TYPE_CHECKING

from whet.errors import RefusedError
from whet.extras import missing_extra
from whet.guard.sandbox.box import MIB, NO_SANDBOX_HINT, Limits, box_for
from whet.prompt.shell import allowed_environment

try:
    from pydantic_ai.workspaces import (
        CommandResult,
        WorkspaceOutputLimitError,
        WorkspaceRef,
        WorkspaceTimeoutError,
        WorkspaceUnavailableError,
    )
except ImportError as error:
    raise missing_extra("A sandbox for pydantic-ai needs the extra `pydantic-ai`.", "pydantic-ai") from error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai.workspaces import WorkspaceCommand

    from whet.guard.sandbox.process import Ran

_DAY = 86_400
_LOOK = 0.5
"""Seconds between checks whether the directory still exists, while a command runs."""
_OUTPUT = 32 * MIB
"""Largest output of a command in characters."""


class SandboxBackend:
    """A directory in which commands run in the sandbox. Only the holder of its `ref` deletes it."""

    def __init__(self, directory: str | os.PathLike[str] = "", *, env: Mapping[str, str] | None = None) -> None:
        """The directory must exist; without one, the first use creates a temporary directory.

        `env` is for every command, besides the PATH and the language of this process.
        """
        self._directory = os.path.abspath(directory) if directory else ""
        self._env = dict(env or {})

    @property
    def ref(self) -> WorkspaceRef | None:
        """The directory; None before one was created."""
        return WorkspaceRef(provider="whet", id=self._directory) if self._directory else None

    async def working_dir(self) -> str:
        """Return the real path of the directory. Raise WorkspaceUnavailableError if it does not exist."""
        if not self._directory:  # nothing is awaited before the next line, so only one is created
            self._directory = tempfile.mkdtemp(prefix="whet-")
        real = os.path.realpath(self._directory)
        if not os.path.isdir(real):
            raise WorkspaceUnavailableError(f"The directory {real} does not exist.")
        return real

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Run a command in the box. Raise RefusedError `no-sandbox` if the machine has none."""
        import anyio
        import anyio.to_thread

        if isinstance(command, str) != shell:
            raise TypeError("a text is for shell=True, a list of words for shell=False")
        if timeout is not None and not 0 < timeout < float("inf"):
            raise ValueError("the timeout must be a number above zero, or None")
        words = ["sh", "-c", command] if isinstance(command, str) else list(command)
        directory, stop = await self.working_dir(), threading.Event()

        async def watch() -> None:
            while os.path.isdir(directory):
                await anyio.sleep(_LOOK)
            stop.set()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch)
                ran = await anyio.to_thread.run_sync(
                    lambda: self._run(words, directory, env or {}, timeout, stop), abandon_on_cancel=True
                )
                tasks.cancel_scope.cancel()
        except* RefusedError as group:
            raise group.exceptions[0] from None
        finally:
            stop.set()  # if this was cancelled, the command ends
        if not os.path.isdir(directory):
            raise WorkspaceUnavailableError(f"The directory {directory} was deleted while the command ran.")
        if ran.problem == "timeout":
            message = f"The command did not end within {timeout:g} seconds."
            raise WorkspaceTimeoutError(message, stdout=ran.output, stderr=ran.errors)
        if ran.truncated:
            message = f"The command printed more than {_OUTPUT:,} characters."
            raise WorkspaceOutputLimitError(message, limit=_OUTPUT, stdout=ran.output, stderr=ran.errors)
        if ran.problem == "not-found":
            return CommandResult(exit_code=127, stdout="", stderr=f"{words[0]}: not found\n")
        if ran.code is None:
            return CommandResult(exit_code=137, stdout="", stderr=f"{ran.output}\n")
        return CommandResult(exit_code=ran.code, stdout=ran.output, stderr=ran.errors)

    def _run(
        self, words: list[str], directory: str, env: Mapping[str, str], timeout: float | None, stop: threading.Event
    ) -> Ran:
        from whet.guard.sandbox.levels import NONE, level, run_program

        if not level().isolates:
            raise RefusedError("no-sandbox", NONE.sentence, hint=NO_SANDBOX_HINT.partition(" To run them")[0])
        whole = {**allowed_environment(os.environ), **self._env, **env}
        limits = Limits(timeout or _DAY, cpu=_DAY, file=512 * MIB, output=_OUTPUT)
        box = box_for(shown=(), cwd=directory, env=whole, home=os.path.expanduser("~"), limits=limits)
        box = box._replace(cwd=directory, writable=(directory,))
        return run_program(words, box, stop=stop, exact=True)
