"""What the system reports is said as it is, with what to do about it."""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from typing import TYPE_CHECKING

import pytest

from whet.store.failures import os_failure, sqlite_failure

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = {
    "ENOSPC": ("disk-full", "no space is left.", "Free some space"),
    "EDQUOT": ("disk-full", "your quota is used up.", "quota"),
    "EFBIG": ("disk-full", "it would exceed the file size limit.", "ulimit -f"),
    "EACCES": ("permission-denied", "Permission denied.", "Check that you own /a and"),
    "EPERM": ("permission-denied", "Operation not permitted.", "Check that you own /a and"),
    "EROFS": ("permission-denied", "its file system is mounted read-only.", "Mount it read-write"),
    "ENAMETOOLONG": ("write-failed", "its name or path is too long.", "shorter name"),
    "EMFILE": ("write-failed", "too many files are open in this process.", "ulimit -n"),
    "ENFILE": ("write-failed", "too many files are open on this machine.", "Close programs"),
    "ELOOP": (
        "write-failed",
        "its links form a loop, or it is a link where links are not allowed.",
        "Replace the link",
    ),
    "EIO": ("write-failed", "the disk reports an error.", "check the disk"),
    "ETXTBSY": ("write-failed", "it is a running program.", "Stop the program"),
    "EISDIR": ("write-failed", "a directory has that name.", "Move the directory"),
    "ENOTDIR": ("write-failed", "a part of its path is not a directory.", "Move that file"),
    "ENOENT": ("write-failed", "No such file or directory.", "Check the path"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="the numbers of POSIX")
@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_says_what_is_true_and_what_to_do(name: str) -> None:
    number = getattr(errno, name)
    code, sentence, hint = NUMBERS[name]
    told = os_failure(OSError(number, os.strerror(number)), "/a/b")
    assert (told.code, told.message) == (code, f"Cannot write /a/b: {sentence}")
    assert hint in told.hint
    assert ("you own" in told.hint) == (code == "permission-denied" and name != "EROFS")


def test_a_database_that_cannot_be_opened_tells_why(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
    error.sqlite_errorname = "SQLITE_CANTOPEN"
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to("circle")
    for name, sentence in (
        ("directory", "a directory has that name."),
        ("file/state.db", "a part of its path is not a directory."),
        ("circle/state.db", "its links form a loop, or it is a link where links are not allowed."),
        (f"{'n' * 300}/state.db", "its name or path is too long."),
    ):
        path = str(tmp_path / name)
        told = sqlite_failure(error, path)
        assert (told.code, told.message) == ("permission-denied", f"Cannot open or write {path}: {sentence}")
    told = sqlite_failure(error, str(tmp_path / "state.db"))  # nothing is found: what SQLite says
    assert (told.code, told.details["sqlite"]) == ("permission-denied", "SQLITE_CANTOPEN")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["circle", "directory", "file"]
