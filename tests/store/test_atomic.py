from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import FailedError
from whet.store import atomic
from whet.store.atomic import (
    Cleaned,
    clean_leftovers,
    leftovers,
    replace_directory,
    staging,
    temporary_path,
    write_bytes,
    write_text,
)
from whet.store.directories import make_directories

if TYPE_CHECKING:
    from pathlib import Path


def tree(directory: Path) -> dict[str, str]:
    """Every file below, with its text."""
    return {
        path.relative_to(directory).as_posix(): path.read_text()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def filled(directory: Path, **files: str) -> Path:
    directory.mkdir(parents=True)
    for name, text in files.items():
        (directory / name).write_text(text)
    return directory


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_made_and_then_replaced(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "a.txt"
    write_bytes(str(path), b"one", durable=durable)
    write_text(str(path), "zwei ü\r\n", durable=durable)
    assert path.read_bytes() == "zwei ü\r\n".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


@settings(max_examples=50, deadline=None)
@given(old=st.binary(max_size=300), new=st.binary(max_size=300))
def test_what_is_written_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, old: bytes, new: bytes) -> None:
    path = tmp_path_factory.mktemp("w") / "file"
    for data in (old, new):
        write_bytes(str(path), data, durable=False)
        assert path.read_bytes() == data


def test_a_file_larger_than_one_write_is_written_whole(tmp_path: Path) -> None:
    data = os.urandom(5_000_000)
    write_bytes(str(tmp_path / "big"), data, durable=False)
    assert (tmp_path / "big").read_bytes() == data


def test_permissions_are_kept_given_or_plain(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    before = os.umask(0o027)
    try:
        write_bytes(str(path), b"1")
        assert mode(path) == 0o640
        path.chmod(0o754)
        write_bytes(str(path), b"2")
        assert mode(path) == 0o754
        write_bytes(str(path), b"3", mode=0o600)
        assert mode(path) == 0o600
        write_bytes(str(tmp_path / "new.sh"), b"4", mode=0o755)
        assert mode(tmp_path / "new.sh") == 0o755
    finally:
        os.umask(before)


def test_a_linked_file_stays_linked(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "a")
    (tmp_path / "dangling").symlink_to(tmp_path / "real" / "b")
    write_text(str(tmp_path / "link"), "new")
    write_text(str(tmp_path / "dangling"), "made")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "dangling").is_symlink()
    assert tree(tmp_path / "real") == {"a": "new", "b": "made"}


def test_a_name_of_full_length_can_be_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "ü" * 127):
        write_text(str(tmp_path / name), "fits")
        assert (tmp_path / name).read_text() == "fits"


def test_an_interrupted_write_leaves_the_old_file_and_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def interrupted(fd: int) -> None:
        raise KeyboardInterrupt(fd)

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text(str(path), "new")
    assert tree(tmp_path) == {"a": "old"}


@pytest.mark.parametrize("kind", ["missing parent", "parent is a file", "directory", "pipe", "link to itself"])
def test_what_cannot_be_written_fails_with_path_and_hint(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "missing parent":
        path = path / "y"
    elif kind == "parent is a file":
        path.write_text("a file")
        path = path / "y"
    elif kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path)
    names = os.listdir(tmp_path)
    with pytest.raises(FailedError) as caught:
        write_bytes(str(path), b"data")
    assert (caught.value.code, caught.value.details) == ("write-failed", {"path": str(path)})
    assert str(path) in caught.value.message and caught.value.hint
    assert os.listdir(tmp_path) == names


def test_directories_are_made_with_their_parents(tmp_path: Path) -> None:
    for _ in range(2):
        make_directories(str(tmp_path / "a" / "b" / "c"))
    assert (tmp_path / "a" / "b" / "c").is_dir()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(FailedError) as caught:
            make_directories(str(path))
        assert (caught.value.code, caught.value.details) == ("write-failed", {"path": str(path)})


@pytest.mark.parametrize("durable", [True, False])
def test_a_directory_is_put_in_place_and_then_replaced(tmp_path: Path, durable: bool) -> None:
    target = tmp_path / "skill"
    for number in ("one", "two"):
        with staging(str(target)) as staged:
            write_text(os.path.join(staged, number), number)
            make_directories(os.path.join(staged, "scripts", "deep"))
            write_text(os.path.join(staged, "scripts", "deep", "run"), number, mode=0o755)
            os.symlink("run", os.path.join(staged, "scripts", "deep", "link"))
            assert replace_directory(staged, str(target), durable=durable) is None
        assert tree(target) == {number: number, "scripts/deep/run": number, "scripts/deep/link": number}
    assert os.listdir(tmp_path) == ["skill"]


def test_staging_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    target = filled(tmp_path / "skill", a="old")
    with pytest.raises(FailedError), staging(str(target)) as staged:
        replace_directory(os.path.join(staged, "missing"), str(target))
    with staging(str(target)):
        pass
    assert tree(tmp_path) == {"skill/a": "old"}
    assert os.listdir(tmp_path) == ["skill"]


def test_a_linked_directory_stays_linked(tmp_path: Path) -> None:
    real = filled(tmp_path / "real" / "skill", a="old")
    (tmp_path / "link").symlink_to(real)
    with staging(str(tmp_path / "link")) as staged:
        write_text(os.path.join(staged, "a"), "new")
        replace_directory(staged, str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert tree(tmp_path / "real") == {"skill/a": "new"}


def test_when_the_new_directory_cannot_move_in_the_old_one_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, staged = filled(tmp_path / "skill", a="old"), filled(tmp_path / "staged", a="new")
    rename = os.rename

    def refusing(source: str, destination: str) -> None:
        if source == str(staged):
            raise OSError(28, "No space left on device")
        rename(source, destination)

    monkeypatch.setattr(atomic, "exchange", lambda *_: False)
    monkeypatch.setattr(os, "rename", refusing)
    with pytest.raises(FailedError) as caught:
        replace_directory(str(staged), str(target))
    assert (caught.value.code, caught.value.details) == ("disk-full", {"path": str(target)})
    assert tree(tmp_path) == {"skill/a": "old", "staged/a": "new"}


@pytest.mark.parametrize("staged", ["missing", "file"])
def test_only_a_directory_is_put_in_place(tmp_path: Path, staged: str) -> None:
    filled(tmp_path / "skill", a="old")
    (tmp_path / "file").write_text("")
    with pytest.raises(FailedError) as caught:
        replace_directory(str(tmp_path / staged), str(tmp_path / "skill"))
    assert caught.value.code == "write-failed"
    assert tree(tmp_path) == {"file": "", "skill/a": "old"}


def test_a_file_is_not_replaced_by_a_directory(tmp_path: Path) -> None:
    (tmp_path / "skill").write_text("a file")
    staged = filled(tmp_path / "staged", a="new")
    with pytest.raises(FailedError) as caught:
        replace_directory(str(staged), str(tmp_path / "skill"))
    assert caught.value.code == "write-failed"
    assert tree(tmp_path) == {"skill": "a file", "staged/a": "new"}


def test_a_write_protected_old_directory_is_removed_too(tmp_path: Path) -> None:
    target, staged = filled(tmp_path / "skill", a="old"), filled(tmp_path / "staged", a="new")
    filled(target / "sub", b="old").chmod(0o555)
    assert replace_directory(str(staged), str(target)) is None
    assert tree(tmp_path) == {"skill/a": "new"}


def test_leftovers_are_told_apart_from_everything_else(tmp_path: Path) -> None:
    old = tmp_path / ".skill.whet-old-0123456789abcdef"
    temporary = tmp_path / ".SKILL.md.whet-tmp-0123456789abcdef"
    log = tmp_path / ".state.db.whet-tmp-0123456789abcdef-wal"
    old.mkdir()
    for path in (
        temporary,
        log,
        tmp_path / ".hidden",
        tmp_path / "a.whet-tmp-0123456789abcdef",
        tmp_path / ".whet-tmp-1",
    ):
        path.write_text("")
    (tmp_path / ".link.whet-tmp-0123456789abcdef").symlink_to(tmp_path)
    assert leftovers(str(tmp_path)) == [str(temporary), str(old), str(log)]
    assert leftovers(str(tmp_path / "missing")) == []
    with pytest.raises(FailedError) as caught:
        leftovers(str(temporary))
    assert caught.value.code == "read-failed"


def test_a_new_temporary_name_is_a_leftover_of_its_target(tmp_path: Path) -> None:
    path = temporary_path(str(tmp_path / "SKILL.md"))
    assert os.path.basename(path).startswith(".SKILL.md.whet-tmp-")
    write_text(path, "")
    assert leftovers(str(tmp_path)) == [path]


def test_cleaning_restores_an_old_directory_whose_place_is_empty(tmp_path: Path) -> None:
    old = filled(tmp_path / ".skill.whet-old-0123456789abcdef", a="old")
    staged = filled(tmp_path / ".skill.whet-tmp-0123456789abcdef", a="half")
    assert clean_leftovers(str(tmp_path)) == (
        Cleaned(str(old), "restored", str(tmp_path / "skill")),
        Cleaned(str(staged), "removed", ""),
    )
    assert tree(tmp_path) == {"skill/a": "old"}
    assert clean_leftovers(str(tmp_path)) == ()


def test_cleaning_removes_an_old_directory_that_was_replaced(tmp_path: Path) -> None:
    filled(tmp_path / "skill", a="new")
    old = filled(tmp_path / ".skill.whet-old-0123456789abcdef", a="old")
    assert clean_leftovers(str(tmp_path)) == (Cleaned(str(old), "removed", ""),)
    assert tree(tmp_path) == {"skill/a": "new"}


def test_of_two_old_directories_the_one_that_stepped_aside_last_returns(tmp_path: Path) -> None:
    for name, random in (("first", "f" * 16), ("second", "0" * 16)):
        old = tmp_path / f".skill.whet-old-{random}"
        filled(tmp_path / name, a=name)
        os.rename(tmp_path / name, old)
        while _now(tmp_path / "clock") == old.stat().st_ctime_ns:  # the file system's clock may be a coarse one
            pass
    assert [cleaned.outcome for cleaned in clean_leftovers(str(tmp_path))] == ["restored", "removed"]
    assert tree(tmp_path / "skill") == {"a": "second"}


def _now(path: Path) -> int:
    path.touch()
    return path.stat().st_ctime_ns


def test_cleaning_leaves_alone_what_a_living_writer_works_on(tmp_path: Path) -> None:
    target = filled(tmp_path / "skill", a="old")
    with staging(str(target)) as staged:
        write_text(os.path.join(staged, "a"), "new")
        assert clean_leftovers(str(tmp_path)) == (Cleaned(staged, "in-use", ""),)
        replace_directory(staged, str(target))
    assert tree(tmp_path) == {"skill/a": "new"}


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_cleaning_leaves_alone_a_file_that_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    seen: list[str] = []
    real = getattr(os, moment)

    def cleaning(*args: object) -> object:
        seen.extend(cleaned.outcome for cleaned in clean_leftovers(str(tmp_path)))
        return real(*args)

    monkeypatch.setattr(os, moment, cleaning)
    write_text(str(tmp_path / "a"), "new")
    assert seen == ["in-use"]
    assert tree(tmp_path) == {"a": "new"}


def test_cleaning_leaves_alone_a_directory_that_is_being_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, staged = filled(tmp_path / "skill", a="old"), filled(tmp_path / "staged", a="new")
    seen: list[str] = []
    rename = os.rename

    def cleaning(source: str, destination: str) -> None:
        seen.extend(cleaned.outcome for cleaned in clean_leftovers(str(tmp_path)))
        rename(source, destination)

    monkeypatch.setattr(atomic, "exchange", lambda *_: False)
    monkeypatch.setattr(os, "rename", cleaning)
    assert replace_directory(str(staged), str(target)) is None
    assert seen == ["in-use", "in-use"]
    assert tree(tmp_path) == {"skill/a": "new"}


def test_a_leftover_that_cannot_be_removed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".a.whet-tmp-0123456789abcdef"
    path.write_text("")

    def refusing(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "unlink", refusing)
    assert clean_leftovers(str(tmp_path)) == (Cleaned(str(path), "failed", "Permission denied"),)


def test_of_many_linked_files_the_file_system_is_synced_that_the_links_lead_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "files").mkdir()
    paths = [tmp_path / "links" / str(number) for number in range(atomic._MANY + 1)]
    for path in paths:
        (tmp_path / "files" / path.name).write_bytes(b"old")
        path.symlink_to(tmp_path / "files" / path.name)
    synced: list[str] = []

    def sync(directory: str) -> bool:
        synced.append(directory)
        return True

    monkeypatch.setattr(atomic, "sync_file_system", sync)
    atomic.write_files({str(path): b"new" for path in paths})
    assert synced == [str(tmp_path / "files")]
    assert {path.read_bytes() for path in paths} == {b"new"}
    assert all(path.is_symlink() for path in paths)
