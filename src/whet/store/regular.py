"""What Whet keeps is a regular file, or a link to one.

A pipe, a socket, a device, a directory or a link to nowhere in the place of such a file is damage. Nobody waits for it:
opening it fails at once. `whet doctor --check` names it, and `whet doctor --repair` moves it aside.

Also what Windows has in place of links and paths of POSIX: junctions, and a prefix for long paths.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

BINARY = getattr(os, "O_BINARY", 0)
"""Without it, Windows changes line endings in what goes through a descriptor and ends a file at Ctrl-Z."""
_FLAGS = getattr(os, "O_NONBLOCK", 0) | BINARY
_WINDOWS = sys.platform == "win32"
_LONGEST = 247
"""Characters of a path that every call of Windows takes: a directory needs room for a short file name below 260."""
_JUNCTION = 0xA0000003
"""The reparse tag of a mount point; `os.path.islink` does not count it as a link."""


def open_regular(path: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """A descriptor of a regular file, for `open(path, opener=open_regular)` too. Raises OSError for anything else."""
    descriptor = os.open(long_path(path), flags | _FLAGS, mode)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return descriptor
    os.close(descriptor)
    number = errno.EISDIR if stat.S_ISDIR(kind) else errno.ENXIO
    raise OSError(number, "not a regular file", path)


def is_irregular(path: str) -> bool:
    """Is there something at this path that is neither a regular file nor a link to one?"""
    return os.path.lexists(path) and not os.path.isfile(path)


def long_path(path: str, platform: str = sys.platform) -> str:
    """The path as the system takes it: on Windows, an absolute path that is too long gets the prefix for long ones."""
    if platform != "win32" or len(path) <= _LONGEST or path.startswith("\\\\?\\"):
        return path
    import ntpath

    if not ntpath.isabs(path):
        return path
    path = ntpath.normpath(path)  # behind the prefix, nothing is resolved
    if path.startswith("\\\\"):
        return f"\\\\?\\UNC\\{path[2:]}"
    return f"\\\\?\\{path}" if path[1:2] == ":" else path


def is_link(path: str | os.DirEntry[str]) -> bool:
    """Whether this is a symbolic link or, on Windows, a junction; false where nothing is."""
    if isinstance(path, os.DirEntry):
        if not _WINDOWS or path.is_symlink():
            return path.is_symlink()
        path = path.path
    try:
        return is_link_status(os.lstat(path))
    except (OSError, ValueError):
        return False


def is_link_status(status: os.stat_result) -> bool:
    """`is_link` for what `os.lstat` says."""
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


if sys.platform == "win32":

    def make_junction(target: str, path: str) -> bool:
        """Make a junction to a directory on this machine, which needs no privilege; false where none can be made."""
        import _winapi

        try:
            _winapi.CreateJunction(target, path)
        except OSError:
            return False
        return True

else:

    def make_junction(target: str, path: str) -> bool:  # noqa: ARG001 (as on Windows)
        """Only Windows has junctions."""
        return False
