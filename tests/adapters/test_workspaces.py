"""The sandbox as a workspace backend of Pydantic AI, held to that library's own conformance suite."""

from __future__ import annotations

import shutil
import tempfile
from typing import TYPE_CHECKING

import anyio
import pytest
from pydantic_ai.workspaces import Workspace, WorkspaceError, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from whet.adapters.workspaces import SandboxBackend
from whet.guard.sandbox.levels import level, levels

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

pytestmark = [pytest.mark.deep, pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class TestConformance(WorkspaceBackendSuite):  # type: ignore[misc,unused-ignore]  # untyped where it is not installed
    """Every rule of the suite.

    One is told in other words where every box has numbers of its own for its processes. One is skipped: a `realpath`
    of the backend's own is optional.
    """

    @pytest.fixture
    def backend(self, tmp_path: Path) -> SandboxBackend:
        return SandboxBackend(tmp_path)

    @pytest.fixture
    def fresh_backend(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], SandboxBackend]:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return SandboxBackend

    @pytest.fixture
    def destroy_environment(self) -> Callable[[SandboxBackend], Awaitable[None]]:
        async def destroy(backend: SandboxBackend) -> None:
            assert backend.ref is not None
            shutil.rmtree(backend.ref.id)

        return destroy

    @pytest.fixture
    def attach_backend(self) -> Callable[[WorkspaceRef], SandboxBackend]:
        return lambda ref: SandboxBackend(ref.id)

    @pytest.fixture
    def has_real_posix_shell(self) -> bool:
        return True

    async def test_cancellation_stops_foreground_work(self, backend: SandboxBackend, tmp_path: Path) -> None:  # type: ignore[override]  # numbers of processes mean nothing in another box
        if level().name != "bubblewrap":
            await super().test_cancellation_stops_foreground_work(backend, has_real_posix_shell=True)
            return
        beat, here = tmp_path / "beat", 'while :; do echo >> "$1"; sleep 0.02; done'

        async def command() -> None:
            await backend.run(["sh", "-c", here, "sh", str(beat)])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(command)
            with anyio.fail_after(30):
                while not beat.exists():
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(30):
            while True:
                before = beat.stat().st_size
                await anyio.sleep(0.3)
                if beat.stat().st_size == before:
                    break


@pytest.mark.anyio
async def test_files_and_commands_stay_in_the_directory(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside.txt").write_text("inert\n")
    workspace = Workspace(SandboxBackend(inside))
    await workspace.write_text("a.txt", "one\n")
    assert (inside / "a.txt").read_text() == "one\n"
    ran = await workspace.run(["cat", str(tmp_path / "outside.txt")])
    assert (ran.exit_code, ran.stdout) == (1, "")
    (inside / "way").symlink_to(tmp_path / "outside.txt")
    with pytest.raises((FileNotFoundError, WorkspaceError)):  # what is hidden is missing or, without bubblewrap, denied
        await workspace.read_text("way")
