"""Whet's files are regular files, or links to them.

A pipe, a socket, a device, a directory or a broken link in place of such a file is damage. Opening it fails at once
instead of waiting. `whet doctor --check` reports it, and `whet doctor --repair` moves it aside.

Also here: the Windows counterparts of POSIX links and paths, which are junctions and a prefix for long paths.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

BINARY = getattr(os, "O_BINARY", 0)
"""Without it, Windows changes line endings on a descriptor and ends a file at Ctrl-Z."""
_FLAGS = getattr(os, "O_NONBLOCK", 0) | BINARY
_WINDOWS = sys.platform == "win32"
_LONGEST = 247
"""Longest path that every Windows call accepts: a directory needs room for a short file name below 260."""
_JUNCTION = 0xA0000003
"""Reparse tag of a mount point, which `os.path.islink` does not count as a link."""


def open_regular(path: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """Open a regular file, also for `open(path, opener=open_regular)`. Raise OSError for anything else."""
    descriptor = os.open(long_path(path), flags | _FLAGS, mode)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return descriptor
    os.close(descriptor)
    number = errno.EISDIR if stat.S_ISDIR(kind) else errno.ENXIO
    raise OSError(number, "not a regular file", path)


def is_irregular(path: str) -> bool:
    """Return whether the path exists and is neither a regular file nor a link to one."""
    return os.path.lexists(path) and not os.path.isfile(path)


def long_path(path: str, platform: str = sys.platform) -> str:
    """Return the path for system calls: on Windows, a long absolute path gets the prefix for long paths."""
    if platform != "win32" or len(path) <= _LONGEST or path.startswith("\\\\?\\"):
        return path
    import ntpath

    if not ntpath.isabs(path):
        return path
    path = ntpath.normpath(path)  # nothing is resolved after the prefix
    if path.startswith("\\\\"):
        return f"\\\\?\\UNC\\{path[2:]}"
    return f"\\\\?\\{path}" if path[1:2] == ":" else path


def is_link(path: str | os.DirEntry[str]) -> bool:
    """Return whether this is a symbolic link or, on Windows, a junction; false if it does not exist."""
    if isinstance(path, os.DirEntry):
        if not _WINDOWS or path.is_symlink():
            return path.is_symlink()
        path = path.path
    try:
        return is_link_status(os.lstat(path))
    except (OSError, ValueError):
        return False


def is_link_status(status: os.stat_result) -> bool:
    """Like `is_link`, for the result of `os.lstat`."""
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


if sys.platform == "win32":

    def make_junction(target: str, path: str) -> bool:
        """Make a junction to a local directory, which needs no privilege; return false if that fails."""
        import _winapi

        try:
            _winapi.CreateJunction(target, path)
        except OSError:
            return False
        return True

else:

    def make_junction(target: str, path: str) -> bool:  # noqa: ARG001 (as on Windows)
        """Return false: only Windows has junctions."""
        return False
