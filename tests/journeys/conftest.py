"""A machine of its own for each journey: the real `whet` in a process, with an empty home and a clean environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

WHET = (sys.executable, "-P", "-m", "whet")
sys.path.append(str(Path(__file__).parent.parent))  # the servers and repositories of `sources` are used here too


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
        return subprocess.run(
            [*WHET, *arguments], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8"
        )

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
