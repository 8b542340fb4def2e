"""A machine of its own for each journey: the real `whet`, with an empty home and a clean environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from journeys.machines import in_process, run_whet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from subprocess import CompletedProcess


@pytest.fixture(autouse=True, scope="module")
def commands(request: pytest.FixtureRequest, *, quick: bool) -> Iterator[None]:
    """In the quick tier commands run in this process. A module may say for both tiers whether it has `PROCESSES`."""
    token = in_process.set(not getattr(request.module, "PROCESSES", not quick))
    yield
    in_process.reset(token)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The person's home, empty; Whet's state will be in `state` beside it."""
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The working directory, empty and not below the home."""
    path = tmp_path / "work"
    path.mkdir()
    return path


@pytest.fixture
def env(home: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of every run; a journey may add to it."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "WHET_HOME": str(tmp_path / "state"), "PYTHONUTF8": "1"}


@pytest.fixture
def whet(env: dict[str, str], work: Path) -> Callable[..., CompletedProcess[str]]:
    """Run the real thing: `whet("list", "--json")`, elsewhere with `cwd=`."""

    def run(*arguments: str, cwd: Path = work) -> CompletedProcess[str]:
        return run_whet(arguments, env, cwd)

    return run


@pytest.fixture
def skill(home: Path) -> Callable[..., Path]:
    """Write a skill into the person's own root, or into `root`, and return its directory."""

    def write(name: str, description: str = "Does one thing.", *, extra: str = "", root: Path | None = None) -> Path:
        directory = (root or home / ".agents" / "skills") / name
        directory.mkdir(parents=True)
        text = f"---\nname: {directory.name}\ndescription: {description}\n{extra}---\nDo it.\n"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")
        return directory

    return write
