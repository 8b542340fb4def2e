"""What the operating system and SQLite report, said as `FailedError`: the one place where codes are chosen.

SQLite's codes are compared as numbers, so that nothing here imports `sqlite3`.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whet.errors import FailedError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

_SQLITE_BUSY, _SQLITE_LOCKED = 5, 6
_SQLITE_READONLY, _SQLITE_PERM, _SQLITE_CANTOPEN, _SQLITE_AUTH = 8, 3, 14, 23
_SQLITE_CORRUPT, _SQLITE_FORMAT, _SQLITE_NOTADB = 11, 24, 26
_SQLITE_FULL, _SQLITE_IOERR_SHMSIZE = 13, 4874


def os_failure(error: OSError, path: str, *, doing: str = "write", other: str = "write-failed") -> FailedError:
    """The failure of one operation on `path`; `other` is the code when neither space nor permission was missing."""
    if error.errno in _FULL:
        return FailedError(
            "disk-full",
            f"Cannot {doing} {path}: no space is left, or a quota or size limit is reached.",
            hint="Free some space and try again.",
            path=path,
        )
    if error.errno in _DENIED:
        return FailedError(
            "permission-denied",
            f"Cannot {doing} {path}: {error.strerror or error}.",
            hint=f"Check who owns {os.path.dirname(path) or path} and that it is not read-only.",
            path=path,
        )
    return FailedError(
        other,
        f"Cannot {doing} {path}: {error.strerror or error}.",
        hint="Check that the path exists and that its disk works, then try again.",
        path=path,
    )


def sqlite_failure(error: sqlite3.Error, path: str) -> FailedError:
    """The failure of one operation on the database at `path`."""
    extended = getattr(error, "sqlite_errorcode", 0)  # absent on errors that the Python side raises
    code, problem, hint = _sqlite_kind(extended)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return FailedError(code, f"The database {path} {problem}: {error}.", hint=hint, path=path, sqlite=name)


def _sqlite_kind(extended: int) -> tuple[str, str, str]:
    """Code, half a sentence and hint for an extended SQLite result code."""
    primary = extended & 0xFF
    if primary in (_SQLITE_CORRUPT, _SQLITE_FORMAT, _SQLITE_NOTADB):
        return "state-corrupt", "is damaged", "Run `whet doctor --repair`; it keeps the damaged file."
    if primary in (_SQLITE_BUSY, _SQLITE_LOCKED):
        return "state-busy", "is in use by another process", "Try again when the other process has finished."
    if primary == _SQLITE_FULL or extended == _SQLITE_IOERR_SHMSIZE:
        return "disk-full", "cannot grow", "Free some space and try again."
    if primary in (_SQLITE_READONLY, _SQLITE_PERM, _SQLITE_CANTOPEN, _SQLITE_AUTH):
        hint = "Check who owns the file and its directory and that they are not read-only."
        return "permission-denied", "cannot be opened or written", hint
    return "state-failed", "failed", "Check free space, quota and the disk, then run `whet doctor`."


@contextmanager
def os_failures(path: str, *, doing: str = "write", other: str = "write-failed") -> Iterator[None]:
    """Let no bare `OSError` out of the block."""
    try:
        yield
    except OSError as error:
        raise os_failure(error, path, doing=doing, other=other) from error
