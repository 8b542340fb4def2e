"""What installing costs, counted: an operation too many fails here before it slows a machine."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from counting import databases, reads

import whet.guard.scan  # noqa: F401  so that scans are counted here: no process is started for them
from whet import Library
from whet.authoring.journal import Journal
from whet.store import atomic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COPIED = False


def test_an_install_reads_the_settings_once_and_opens_two_databases(tmp_path: Path) -> None:
    source = tmp_path / "source" / "deploy"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text("---\nname: deploy\ndescription: Deploys. Use it.\n---\n\nStep 0.\n")
    for name in ("home", "state"):
        (tmp_path / name).mkdir()
    (tmp_path / "state" / "config.toml").write_text("stale_days = 20\n")
    os.utime(tmp_path / "state" / "config.toml", (10**9, 10**9))
    time = os.stat(tmp_path / "state" / "config.toml").st_ctime_ns + 60 * 10**9
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    with (
        databases() as opened,
        reads() as count,
        Library.open(home=tmp_path / "state", project=tmp_path / "home", env=env, clock=lambda: time) as library,
    ):
        library.sources.install(str(source))
    assert (tmp_path / "home" / ".agents" / "skills" / "deploy" / "SKILL.md").is_file()
    assert opened == {"state.db": 1, "cache.db": 1}
    assert count["settings read"] == 1


class Disk:
    """What a power failure would leave: which files and names are known to be on the disk, and when they must be."""

    def __init__(self, top: Path, patch: pytest.MonkeyPatch, *, whole: bool) -> None:
        self.contents, self.skills = top / "state" / "contents", top / "home" / ".agents" / "skills"
        self.synced: Counter[int] = Counter()
        self.whole = 0
        """How often everything was synced at once."""
        self.early: list[str] = []
        """What was not on the disk when the history said that it is."""
        real = os.fsync

        def fsync(file: int) -> None:
            status = os.fstat(file)
            real(file)
            self.synced[status.st_ino] += 1

        def sync_file_system(_: str) -> bool:
            self.whole += 1
            places = (path for path in (self.contents, self.skills) if path.exists())
            self.synced.update(path.stat().st_ino for path in self.below(*places))
            return True

        def after(method: Callable[..., Any], *places: Path) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                self.early += [str(path) for path in self.below(*places) if not self.synced[path.stat().st_ino]]
                return method(*args, **kwargs)

            return call

        def moved(old: str, new: str) -> None:
            """A name that changes is not on the disk before its directory is synced again."""
            self.synced.pop(os.stat(os.path.dirname(new)).st_ino, None)
            rename(old, new)

        rename = os.rename
        patch.setattr(os, "fsync", fsync)
        patch.setattr(atomic, "sync_file_system", sync_file_system if whole else lambda _: False)
        patch.setattr(os, "rename", moved)
        patch.setattr(os, "replace", moved)
        patch.setattr(Journal, "begin", after(Journal.begin, self.contents))
        patch.setattr(Journal, "settle", after(Journal.settle, self.contents, self.skills))

    @staticmethod
    def below(*places: Path) -> list[Path]:
        return [found for place in places for found in (place, *place.rglob("*"))]


def installed(
    top: Path, count: int, patch: pytest.MonkeyPatch, *, whole: bool = False
) -> tuple[Disk, Counter[str], Counter[str]]:
    """Install so many skills; what of it is on the disk, what was asked of the database, and what was read.

    `whole`: on a system that can sync a whole file system.
    """
    for number in range(count):
        directory = top / "source" / f"skill-{number:02}"
        (directory / "references").mkdir(parents=True)
        text = (
            f"---\nname: skill-{number:02}\ndescription: Does {number}. Use it for {number}.\n---\n\nStep {number}.\n"
        )
        (directory / "SKILL.md").write_text(text)
        (directory / "references" / "page.md").write_text(f"Page {number}.\n")
        (directory / "references" / "same.md").write_text("The same page.\n")
    (top / "home").mkdir()
    said: Counter[str] = Counter()

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
            said[sql.split(maxsplit=1)[0]] += 1
            return super().execute(sql, *rest)

    def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = sqlite3.dbapi2.connect(*args, **{**kwargs, "factory": Connection})
        return made

    def lstat(path: Any, **named: Any) -> os.stat_result:
        said["lstat of .git"] += str(path).endswith(".git")
        return look(path, **named)

    def sha256(data: bytes = b"", **named: Any) -> Any:
        said["hash of a page"] += data.startswith((b"Page", b"The same"))
        return hash_(data, **named)

    look, hash_ = os.lstat, hashlib.sha256
    patch.setattr(os, "lstat", lstat)
    patch.setattr(hashlib, "sha256", sha256)
    patch.setattr(sqlite3, "connect", connect)
    env = {"PATH": os.environ["PATH"], "HOME": str(top / "home")}
    disk = Disk(top, patch, whole=whole)
    with reads() as read, Library.open(home=top / "state", project=top / "home", env=env) as library:
        assert len(library.sources.install(str(top / "source"), every=True).done) == count
    return disk, said, read


def test_an_install_syncs_each_file_once_before_the_history_names_it(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        disk, *_ = installed(tmp_path, 12, patch)
    assert disk.early == []
    kept, files = disk.below(disk.contents), [path for path in disk.below(disk.skills) if path.is_file()]
    assert len(files) == 36
    assert {disk.synced[path.stat().st_ino] for path in (*kept, *files) if path != disk.contents} == {1}
    folders = [path for path in disk.below(disk.skills) if path.is_dir()]
    assert sum(disk.synced.values()) < len(kept) + len(files) + len(folders) + 16, "and little else is waited for"


def test_an_install_of_many_waits_for_the_disk_a_few_times(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        disk, *_ = installed(tmp_path, 40, patch, whole=True)
    assert disk.early == []
    assert 0 < disk.whole < 4
    assert sum(disk.synced.values()) - disk.whole * len(disk.below(disk.contents, disk.skills)) < 40


def test_an_install_of_many_commits_as_often_as_one_of_few(tmp_path: Path) -> None:
    told = []
    for count in (3, 12):
        (tmp_path / str(count)).mkdir()
        with pytest.MonkeyPatch.context() as patch:
            _, said, read = installed(tmp_path / str(count), count, patch)
        told.append((said["COMMIT"], said["SELECT"], read["SKILL.md parsed"] / count, read["tree read"] / count))
    assert told == [(7, 30, 4, 3), (7, 30, 4, 3)]


def test_an_install_hashes_a_file_once_and_looks_for_its_repository_once(tmp_path: Path) -> None:
    looks = []
    for count in (3, 12):
        (tmp_path / str(count)).mkdir()
        with pytest.MonkeyPatch.context() as patch:
            _, said, _ = installed(tmp_path / str(count), count, patch)
        looks.append(said["lstat of .git"])
        assert said["hash of a page"] == 2 * count
    assert looks[1] - looks[0] == 2 * 9, "of each skill only its own directory, once for the root and once for remotes"
