"""What Whet keeps is a regular file: whatever else is in its place is named, never waited for, and moved aside."""

from __future__ import annotations

import errno
import os
import socket
import sys
from typing import TYPE_CHECKING

import pytest

from whet import Library
from whet.errors import WhetError
from whet.store.regular import is_irregular, open_regular

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and sockets of POSIX")


def bind(path: Path) -> None:
    """A socket at a path of any length."""
    with socket.socket(socket.AF_UNIX) as bound:
        directory = os.open(path.parent, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{directory}/{path.name}" if sys.platform == "linux" else str(path))
        os.close(directory)


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": bind,
    "nowhere": lambda path: path.symlink_to(path.parent / "nowhere" / "at" / "all"),
    "circle": lambda path: path.symlink_to(path),
    "directory": lambda path: (path / "something").mkdir(parents=True),
}
QUICK_FIRST = [
    "pipe",
    "nowhere",
    *(pytest.param(kind, marks=pytest.mark.deep) for kind in ("socket", "circle", "directory")),
]


def opened(top: Path) -> Library:
    env = {"HOME": str(top / "home"), "PATH": "", "WHET_HOME": str(top / "state")}
    return Library.open(home=top / "state", project=top, env=env)


def filled(top: Path) -> Path:
    """A machine with a skill and a deleted one; its state directory."""
    (top / "home").mkdir()
    with opened(top) as library:
        for name in ("deploy", "gone"):
            library.edit.create(name, description=f"Does {name}. Use it.", body="First line.\n")
        library.edit.delete("gone")
        library.learning.record("view", library.card("deploy"), "")
        (top / "state" / "config.toml").write_text("stale_days = 20\n")
        (top / "home" / ".agents" / "whet-lock.json").write_text('{"version": 1, "skills": {}}\n')
        library.edit.restore("gone")
        library.skills()
    return top / "state"


def replace(path: Path, kind: str) -> None:
    path.unlink()
    KINDS[kind](path)


@pytest.mark.parametrize("kind", QUICK_FIRST)
def test_a_repair_moves_aside_whatever_is_in_the_place_of_a_file(tmp_path: Path, kind: str) -> None:
    state = filled(tmp_path)
    blob = next(path for path in sorted(state.glob("contents/??/*")) if b"First line" in path.read_bytes())
    locks = [*state.glob("locks/*.lock"), *state.glob("contents/locks/*.lock")]
    assert {path.name.split("-")[0] for path in locks} >= {"blobs", "database", "log", "skill"}
    paths = [state / name for name in ("history.log", "audit.log", "cache.db", "config.toml", "usage/events.log")]
    paths += [blob, *locks, tmp_path / "home" / ".agents" / "whet-lock.json"]
    for path in paths:
        if path.exists():
            replace(path, kind)
    spoiled = [path for path in paths if os.path.lexists(path)]
    with opened(tmp_path) as library:
        report = [note for note in library.doctor() if note.severity == "error"]
        assert {note.path for note in report if note.code == "not-a-file"} >= {
            str(path) for path in spoiled if path.name != "cache.db"
        }
        with pytest.raises(WhetError):
            library.edit.patch("deploy", find="First", replace="Second")
        repaired = library.repair()
        assert repaired.failed == ()
    with opened(tmp_path) as library:
        assert [note for note in library.doctor() if note.severity == "error"] == []
        assert library.history.verify().valid and library.guard.verify_audit().valid
        library.edit.patch("deploy", find="First", replace="Second")
        assert library.repair() == ((), (), ())
    assert [path for path in paths if is_irregular(str(path))] == []
    assert all(os.path.lexists(f"{path}.broken-1") for path in spoiled)


@pytest.mark.parametrize("kind", QUICK_FIRST)
@pytest.mark.parametrize("part", ["", *(pytest.param(part, marks=pytest.mark.deep) for part in ("-wal", "-journal"))])
def test_a_repair_takes_the_history_back_where_the_database_is_something_else(
    tmp_path: Path, kind: str, part: str
) -> None:
    state = filled(tmp_path)
    path = state / f"state.db{part}"
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    with opened(tmp_path) as library:
        assert {note.code for note in library.doctor() if note.severity == "error"} >= {"not-a-file", "state-corrupt"}
        with pytest.raises(WhetError) as caught:
            library.edit.patch("deploy", find="First", replace="Second")
        assert caught.value.code == "state-corrupt"
        assert library.repair().failed == ()
    with opened(tmp_path) as library:
        assert [note for note in library.doctor() if note.severity == "error"] == []
        actions = [entry.action for entry in library.history.entries().entries]
        assert actions == ["create", "create", "delete", "restore"]
        library.edit.patch("deploy", find="First", replace="Second")


def test_a_lock_that_nobody_may_open_is_named_and_opened_again(tmp_path: Path) -> None:
    state = filled(tmp_path)
    locks = sorted(str(path) for path in [*state.glob("locks/*.lock"), *state.glob("contents/locks/*.lock")])
    for path in locks:
        os.chmod(path, 0)
    with opened(tmp_path) as library:
        assert sorted(note.path for note in library.doctor() if note.code == "lock-closed") == locks
        assert {*library.repair().done} >= {f"{path} can be opened again." for path in locks}
        assert [note for note in library.doctor() if note.severity == "error"] == []
    assert {os.stat(path).st_mode & 0o777 for path in locks} == {0o600}


def test_settings_and_locks_may_be_links_to_files(tmp_path: Path) -> None:
    state = filled(tmp_path)
    for path in (state / "config.toml", tmp_path / "home" / ".agents" / "whet-lock.json"):
        path.rename(tmp_path / path.name)
        path.symlink_to(tmp_path / path.name)
    with opened(tmp_path) as library:
        assert [note for note in library.doctor() if note.severity == "error"] == []
        assert library.repair() == ((), (), ())
        assert library.workspace.config().settings.stale_days == 20


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_waits_for_what_is_no_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing"
    KINDS[kind](path)
    assert is_irregular(str(path))
    with pytest.raises(OSError, match=str(path)) as caught:
        open_regular(str(path))
    wanted = {"nowhere": errno.ENOENT, "circle": errno.ELOOP, "directory": errno.EISDIR}
    assert caught.value.errno == wanted.get(kind, errno.ENXIO)
