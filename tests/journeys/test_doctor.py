"""Why is my skill not there? Every way it can fail to appear has a name, a place and a way out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rights import GIVE_UP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import CompletedProcess

posix = pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")


def report(run: CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    """The entries by their code."""
    entries = json.loads(run.stdout)["report"]
    assert all(entry["message"].endswith(".") for entry in entries)
    assert [entry["code"] for entry in entries if not entry["path"]] in (["sandbox"], ["no-sandbox"])
    return {entry["code"]: entry for entry in entries}


@posix
def test_every_way_to_fail_has_a_name(
    home: Path, work: Path, tmp_path: Path, skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    root = home / ".agents" / "skills"
    expected = {
        "yaml-repaired": skill("repaired", "Use: it") / "SKILL.md",
        "yaml-rescued": write(root / "rescued" / "SKILL.md", "---\nname: rescued\ndescription: D.\n}: [\n---\n"),
        "description-missing": write(root / "silent" / "SKILL.md", "---\nname: silent\n---\n"),
        "shadowed": skill("twice", root=home / ".claude" / "skills") / "SKILL.md",
        "untrusted": skill("theirs", root=work / ".agents" / "skills") / "SKILL.md",
        "disabled": skill("off") / "SKILL.md",
        "wrong-platform": skill("elsewhere", extra="platforms: [nowhere]\n") / "SKILL.md",
        "too-deep": root / "1" / "2" / "3" / "4" / "5" / "6",
        "link-escape": root / "escape",
        "link-cycle": root / "cycle",
        "link-broken": root / "broken",
        "too-large": write(root / "large" / "SKILL.md", "---\nname: large\n---\n" + "x" * (1 << 20)),
        "nested-skill": skill("twice/examples/inner") / "SKILL.md",
        "not-ready": skill("needy", extra="prerequisites:\n  env_vars: [NO_SUCH_TOKEN]\n") / "SKILL.md",
    }
    write(root / "twice" / "SKILL.md", "---\nname: twice\ndescription: First.\n---\n")
    write(root / "1" / "2" / "3" / "4" / "5" / "6" / "deep" / "SKILL.md", "---\nname: deep\ndescription: D.\n---\n")
    outside = skill("outside", root=tmp_path / "outside")
    (root / "escape").symlink_to(outside)
    (root / "cycle").symlink_to(root)
    (root / "broken").symlink_to(tmp_path / "nothing")
    assert whet("skill", "disable", "off").returncode == 0

    for run in (whet("doctor", "--json"), whet("doctor", "--json")):  # cold, and from the cache
        found = report(run)
        assert {code: found[code]["path"] for code in expected if code in found} == {
            code: str(path) for code, path in expected.items()
        }
        assert [code for code in expected if not found[code]["hint"]] == []
    listed = whet("list", "-q").stdout
    missing = ("silent", "theirs", "off", "elsewhere", "deep", "outside", "large", "inner")
    assert [name for name in missing if f"{name}\t" in listed] == []
    assert [name for name in ("repaired", "rescued", "twice", "needy") if f"{name}\t" not in listed] == []
    assert whet("doctor", "--check").returncode == 1


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that a process without privileges can reach."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


UNPRIVILEGED = (
    """
import os, sys
from whet.interfaces.cli import main
state, *words = sys.argv[1:]
"""
    + GIVE_UP
    + """
sys.exit(main(words, {**os.environ, "WHET_HOME": state}))
"""
)


@posix
def test_what_may_not_be_read_has_a_name(shared: Path, env: dict[str, str]) -> None:
    root = shared / "root"
    secret = write(root / "secret" / "SKILL.md", "---\nname: secret\ndescription: S.\n---\n")
    closed = write(root / "closed" / "inner" / "SKILL.md", "---\nname: inner\ndescription: I.\n---\n").parents[1]
    secret.chmod(0)
    closed.chmod(0)
    words = [str(shared / "state"), "--root", str(root), "doctor", "--json"]
    run = subprocess.run(
        [sys.executable, "-P", "-c", UNPRIVILEGED, *words],
        env={**env, "HOME": str(shared)},
        cwd=shared,
        capture_output=True,
        encoding="utf-8",
    )
    closed.chmod(0o755)
    entries = json.loads(run.stdout)["report"]
    assert [(entry["code"], entry["severity"], entry["path"]) for entry in entries if entry["path"]] == [
        ("unreadable", "error", str(closed / "SKILL.md")),
        ("unreadable", "error", str(secret)),
    ]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
