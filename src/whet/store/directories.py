"""Directories: creating, syncing, and protecting them from other users.

The state holds copies of private skills. Therefore everything in the state directory is private to its owner, whatever
the umask: directories 0700, files `PRIVATE`. Looser permissions of an older version are tightened once, when a database
in it is next opened for writing; `whet doctor` lists the files that others can still read.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from functools import lru_cache

from whet.store.failures import os_failures
from whet.store.regular import long_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PRIVATE = 0o600
"""Permissions of a private file."""
KEPT = frozenset(
    (
        *("aside", "bundles", "cache", "connections", "contents", "edits", "fetching", "former", "locks", "publishing"),
        *("reading", "run", "usage"),
    )
)
"""Subdirectories that Whet owns. If WHET_HOME is a user's own directory, its other subdirectories stay unchanged."""
_OWN = "config.toml"
"""A file that users write; the protected directory is enough."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WINDOWS = sys.platform == "win32"
_DIRECTORY = 0 if _WINDOWS else os.O_RDONLY | os.O_DIRECTORY
_NO_DIRECTORY_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF})


def make_directories(path: str, *, durable: bool = True, private: bool = False) -> None:
    """Create the directory and its missing parents; existing ones are fine. `private`: only their owner has access."""
    with os_failures(path, doing="create the directory"):
        make_missing(path, durable=durable, private=private)


def make_missing(path: str, *, durable: bool = False, private: bool = True) -> None:
    """Like `make_directories`, but raises `OSError`."""
    missing = []
    current = os.path.abspath(path)
    while not os.path.isdir(long_path(current)) and os.path.dirname(current) != current:
        missing.append(current)
        current = os.path.dirname(current)
    for directory in reversed(missing):
        try:
            os.mkdir(long_path(directory), 0o700 if private else 0o777)
        except FileExistsError:  # created by another process, or not a directory
            if not os.path.isdir(long_path(directory)):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), directory) from None
        if durable:
            sync_directory(os.path.dirname(directory))


def sync_directory(directory: str) -> None:
    """Make renames in the directory durable, if the platform supports it."""
    if _WINDOWS:
        return
    try:
        fd = os.open(directory, _DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise


def sync_file_system(directory: str) -> bool:
    """Sync the whole file system of a directory; return false if only `fsync` is reliable there.

    For many files this takes a fraction of the time, although it also writes the data of other programs.
    """
    call = _syncfs()
    if call is None or _file_system(os.stat(directory).st_dev) not in _SYNCED_WHOLE:
        return False
    fd = os.open(directory, _DIRECTORY)
    try:
        if call(fd) != 0:
            import ctypes

            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), directory)
    finally:
        os.close(fd)
    return True


_SYNCED_WHOLE = frozenset(("ext4", "xfs", "f2fs", "overlay", "tmpfs"))
"""Local file systems. Others, such as FUSE, may only support syncing single files."""
_TELLS_FAILURES = (5, 8)
"""First version of Linux whose `syncfs` reports write errors."""


@lru_cache(maxsize=1)
def _syncfs() -> Callable[[int], int] | None:
    if sys.platform != "linux":
        return None
    version = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2] if part.isdigit())
    if version < _TELLS_FAILURES:
        return None
    import ctypes

    try:
        found: Callable[[int], int] = ctypes.CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError):
        return None
    return found


def _file_system(device: int) -> str:
    """Return the type of the file system on a device, as Linux names it; "" if it is not mounted as a whole."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.split() for line in file]
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    return next((row[row.index("-") + 1] for row in rows if row[2] == number and "-" in row), "")


def tighten_state(state: str) -> None:
    """Make the state directory private; if it was not, first everything that Whet owns in it."""
    if is_loose(state):
        tighten((*find_loose(state), state))


def tighten(paths: Iterable[str]) -> None:
    """Remove all permissions of others from these paths; ignore files of other owners."""
    for path in paths:
        with suppress(OSError):
            os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~_OTHERS)


def find_loose(state: str) -> Iterator[str]:
    """Yield the paths of Whet in the state directory that others can access. Links are skipped."""
    pending = [state]
    while pending and not _WINDOWS:
        directory = pending.pop()
        with suppress(OSError), os.scandir(directory) as entries:  # an unreadable directory is reported elsewhere
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if directory == state and entry.name not in KEPT:
                        continue
                    pending.append(entry.path)
                if is_loose(entry.path) and entry.name != _OWN:
                    yield entry.path


def is_loose(path: str) -> bool:
    """Return whether others can access a file or a directory."""
    if _WINDOWS:
        return False
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return bool(mode & _OTHERS) and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
