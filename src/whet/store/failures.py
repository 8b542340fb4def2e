"""Translate errors of the operating system and SQLite to `FailedError`: the only place that chooses the codes.

SQLite's codes are compared as numbers, so that this module does not import `sqlite3`.
"""

from __future__ import annotations

import errno
import os
import sys

from whet.errors import FailedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_DENIED = frozenset({errno.EACCES, errno.EPERM})
_FREE = "Free some space and try again."
_KNOWN = {
    errno.ENOSPC: ("disk-full", "no space is left", _FREE),
    errno.EDQUOT: ("disk-full", "your quota is used up", "Delete files you do not need, or ask for a larger quota."),
    errno.EFBIG: ("disk-full", "it would exceed the file size limit", "Raise the limit (`ulimit -f`)."),
    errno.EROFS: (
        "permission-denied",
        "its file system is mounted read-only",
        "Mount it read-write, or use another directory. WHET_HOME sets the directory for Whet's state.",
    ),
    errno.ENAMETOOLONG: (
        "",
        "its name or path is too long",
        "Choose a shorter name, or a directory higher up.",
    ),
    errno.EMFILE: ("", "too many files are open in this process", "Raise the limit (`ulimit -n`) and try again."),
    errno.ENFILE: ("", "too many files are open on this machine", "Close programs you do not need and try again."),
    errno.ELOOP: ("", "its links form a loop, or it is a link where links are not allowed", "Replace the link."),
    errno.EIO: ("", "the disk reports an error", "Back up your data and check the disk."),
    errno.ENXIO: (
        "",
        "it is not a regular file",
        "Move it, or run `whet doctor --repair` if it is one of Whet's own files.",
    ),
    errno.ETXTBSY: ("", "it is a running program", "Stop the program and try again."),
    errno.EISDIR: ("", "a directory has that name", "Move the directory and try again."),
    errno.ENOTDIR: ("", "a part of its path is not a directory", "Move that file and try again."),
}
"""By errno: the code ("" for that of the caller), the problem, and the hint."""

_SQLITE_BUSY, _SQLITE_LOCKED = 5, 6
_SQLITE_READONLY, _SQLITE_PERM, _SQLITE_CANTOPEN, _SQLITE_AUTH = 8, 3, 14, 23
_SQLITE_CORRUPT, _SQLITE_FORMAT, _SQLITE_NOTADB = 11, 24, 26
_SQLITE_FULL, _SQLITE_IOERR_SHMSIZE = 13, 4874


def os_failure(error: OSError, path: str, *, doing: str = "write", other: str = "write-failed") -> FailedError:
    """Return the error for an operation on `path`; `other` is the code if neither space nor permission is the cause."""
    if error.errno in _KNOWN:
        code, problem, hint = _KNOWN[error.errno]
        if error.errno == errno.ENOSPC and _has_no_inodes(path):
            problem = "its file system has no free inodes"
            hint = "Delete files you do not need (`df -i` counts them) and try again."
        return FailedError(code or other, f"Cannot {doing} {path}: {problem}.", hint=hint, path=path)
    if error.errno in _DENIED:
        return FailedError(
            "permission-denied",
            f"Cannot {doing} {path}: {error.strerror or error}.",
            hint=f"Check that you own {os.path.dirname(path) or path} and that it is writable.",
            path=path,
        )
    return FailedError(
        other,
        f"Cannot {doing} {path}: {error.strerror or error}.",
        hint="Check the path and the disk, then try again.",
        path=path,
    )


def _has_no_inodes(path: str) -> bool:
    """Return whether the file system of `path` has no free inodes although space is left."""
    if sys.platform == "win32":
        return False
    while path and not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    try:
        found = os.statvfs(path or ".")
    except OSError:
        return False
    return bool(found.f_files) and not found.f_favail


def sqlite_failure(error: sqlite3.Error, path: str) -> FailedError:
    """Return the error for an operation on the database at `path`."""
    extended = getattr(error, "sqlite_errorcode", 0)  # missing on errors that the Python side raises
    if extended & 0xFF in (_SQLITE_CANTOPEN, _SQLITE_READONLY) and (cause := _find_cause(path)):
        return os_failure(cause, path, doing="open or write", other="permission-denied")
    code, problem, hint = _sqlite_kind(extended)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return FailedError(code, f"The database {path} {problem}: {error}.", hint=hint, path=path, sqlite=name)


def _find_cause(path: str) -> OSError | None:
    """Find out why SQLite can neither open a file nor create one beside it, which it does not report; or None.

    The file itself is not opened: closing it again would lose the locks of this process.
    """
    if os.path.isdir(path):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    directory, name = os.path.split(path)
    probe = os.path.join(directory, f".{name}.whet-tmp-{os.urandom(8).hex()}")
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.unlink(probe)
    except OSError as error:
        return error
    return None


def is_full(error: sqlite3.Error) -> bool:
    """Return whether SQLite found no space, including for the file that its readers share."""
    return _sqlite_kind(getattr(error, "sqlite_errorcode", 0))[0] == "disk-full"


def _sqlite_kind(extended: int) -> tuple[str, str, str]:
    """Return code, problem and hint for an extended SQLite result code."""
    primary = extended & 0xFF
    if primary in (_SQLITE_CORRUPT, _SQLITE_FORMAT, _SQLITE_NOTADB):
        return "state-corrupt", "is damaged", "Run `whet doctor --repair`; it keeps the damaged file."
    if primary in (_SQLITE_BUSY, _SQLITE_LOCKED):
        return "state-busy", "is in use by another process", "Try again when the other process is done."
    if primary == _SQLITE_FULL or extended == _SQLITE_IOERR_SHMSIZE:
        return "disk-full", "is out of space", _FREE
    if primary in (_SQLITE_READONLY, _SQLITE_PERM, _SQLITE_CANTOPEN, _SQLITE_AUTH):
        hint = "Check that you own the file and its directory, and that they are writable."
        return "permission-denied", "cannot be opened or written", hint
    return "state-failed", "failed", "Check free space, quota and the disk, then run `whet doctor`."


class os_failures:  # noqa: N801  it is used as a function
    """Translate every `OSError` of the block."""

    def __init__(self, path: str, *, doing: str = "write", other: str = "write-failed") -> None:
        self._path, self._doing, self._other = path, doing, other

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _at: object) -> None:
        if isinstance(error, OSError):
            raise os_failure(error, self._path, doing=self._doing, other=self._other) from error
