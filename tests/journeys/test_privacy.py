"""What Whet keeps holds copies of private skills: nobody else on the machine may read any of it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    Whet = Callable[..., CompletedProcess[str]]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """The state directory of a person whose files are open to everybody unless somebody sees to it."""
    before = os.umask(0)
    yield tmp_path / "share" / "state"
    os.umask(before)


def open_to_others(top: Path) -> list[str]:
    """What others have any right to, of a directory and everything in it."""
    found = [top, *top.rglob("*")]
    return sorted(
        str(path.relative_to(top)) for path in found if path.lstat().st_mode & 0o077 and not path.is_symlink()
    )


def test_the_state_is_private_from_its_first_file_on(
    whet: Whet, skill: Callable[..., Path], env: dict[str, str], home: Path, state: Path, work: Path
) -> None:
    env |= {"WHET_HOME": str(state), "EDITOR": "false"}
    repository = work / "repository"
    skill("theirs", root=repository / "skills")
    named = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for words in (["init", "-q"], ["add", "."], [*named, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=repository, check=True, env={"PATH": os.environ["PATH"]})
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("# mine\n")
    assert whet("create", "mine", "--description", "Does one thing.", "--body", "Do it.").returncode == 0
    for line in (
        f"install git+file://{repository} --yes",
        "find one",
        "show mine",
        "tap add other https://example.com/x",
        "bundle create both --skills mine,theirs",
        "edit mine",
        "connect codex --yes",
        "delete mine",
        "undo",
        "doctor --repair",
    ):
        assert whet(*line.split()).returncode == (4 if "edit" in line else 0), line
    made = whet("history", "backup", str(work / "all.whet"))
    assert " entries of the history" in made.stderr
    assert stat.S_IMODE((work / "all.whet").stat().st_mode) == 0o600
    assert {path.name for path in state.iterdir()} >= {"bundles", "connections", "contents", "locks", "state.db"}
    assert open_to_others(state) == []
    assert stat.S_IMODE(state.parent.stat().st_mode) == 0o700


def test_what_an_older_version_left_open_is_closed_once(
    whet: Whet, skill: Callable[..., Path], env: dict[str, str], state: Path
) -> None:
    env["WHET_HOME"] = str(state)
    skill("mine")
    assert whet("delete", "mine").returncode == 0
    (state / "state.db.broken-1").write_bytes(b"")
    (state / "skills").mkdir()  # not Whet's: the person put it there
    (state / "skills" / "note.md").write_text("mine")
    for path in [state, *state.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o055 if path.is_dir() else 0o644)
    listed = whet("doctor", "--json").stdout
    assert '"state-readable-by-others"' in listed
    assert whet("create", "other", "--description", "Does one thing.", "--body", "Do it.").returncode == 0
    assert open_to_others(state) == ["skills", "skills/note.md"]
    assert '"state-readable-by-others"' not in whet("doctor", "--json").stdout


def test_doctor_names_what_others_can_read_and_repairs_it(
    whet: Whet, skill: Callable[..., Path], env: dict[str, str], state: Path
) -> None:
    env["WHET_HOME"] = str(state)
    skill("mine")
    assert whet("delete", "mine").returncode == 0
    blob = next(path for path in (state / "contents").rglob("*") if path.is_file() and path.suffix != ".lock")
    blob.chmod(0o644)  # nobody reaches it
    assert "state-readable-by-others" not in whet("doctor").stdout
    state.chmod(0o755)
    told = f"state-readable-by-others  {state}\n      Other users can access it, including 1 of its files"
    assert told in whet("doctor").stdout
    assert whet("doctor", "--repair").returncode == 0
    assert open_to_others(state) == []
