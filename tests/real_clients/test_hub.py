"""Programs that are not ours install from a hub that really runs: `npx skills` and ClawHub's own command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hub.server import Served, serving

from real_clients.programs import FOR_HUBS, Programs, find_programs

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def installers() -> Programs:
    found = find_programs(FOR_HUBS, Path(sys.prefix) / "hub-clients")
    if found.missing:
        pytest.skip(found.missing)
    return found


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, "sqlite") as served:
        assert served.publish().status == 201
        yield served


def run(tmp_path: Path, program: str, *words: str, **env: str) -> str:
    """What a program prints, in a home of its own."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    known = {"HOME": str(home), "PATH": os.environ["PATH"], "DISABLE_TELEMETRY": "1", "CI": "1", **env}
    done = subprocess.run(
        [program, *words], cwd=work, env=known, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def read(tmp_path: Path, path: str) -> str:
    return (tmp_path / "work" / path / "SKILL.md").read_text(encoding="utf-8")


def test_npx_skills_installs_from_the_hub_and_from_one_owner(tmp_path: Path, hub: Served, installers: Programs) -> None:
    address = f"http://127.0.0.1:{hub.port}"
    for place, agent, directory in ((address, "claude-code", ".claude"), (f"{address}/acme", "codex", ".agents")):
        run(tmp_path, installers.path("skills"), "add", place, "--yes", "--agent", agent)
        assert read(tmp_path, f"{directory}/skills/review").startswith("---\nname: review\n")


def test_clawhub_searches_installs_and_lists(tmp_path: Path, hub: Served, installers: Programs) -> None:
    address = f"http://127.0.0.1:{hub.port}/clawhub"
    env = {"CLAWHUB_REGISTRY": address, "CLAWHUB_SITE": address, "CLAWHUB_DISABLE_TELEMETRY": "1"}
    program, work = installers.path("clawhub"), ("--workdir", str(tmp_path / "work"), "--dir", "skills")
    assert "review v1.0.0" in run(tmp_path, program, "search", "review", **env)
    run(tmp_path, program, *work, "install", "review", **env)
    assert read(tmp_path, "skills/review").startswith("---\nname: review\n")
    assert run(tmp_path, program, *work, "list", **env).split() == ["review", "1.0.0"]
