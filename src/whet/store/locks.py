"""File locks: one writer at a time, across processes and threads.

A lock is a file that is never deleted (deleting it would allow two holders) with a kernel lock on it: `flock` on POSIX,
a locked byte on Windows. The kernel releases it when the holder dies, so there are no stale locks. The file also names
its holder, for messages; only the kernel lock counts.

A child made by a plain `fork` shares its parent's locks; a started program (`exec`) does not.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from _thread import allocate_lock

from whet.errors import FailedError
from whet.store.directories import make_missing
from whet.store.failures import os_failures
from whet.store.regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_FIRST_PAUSE = 0.001
_HOLDER_WIDTH = 20

if sys.platform == "win32":
    import msvcrt

    _BYTE = 1 << 30
    """The locked byte is far after the text, because Windows does not allow reading a locked byte."""

    def try_lock(fd: int) -> bool:
        """Take the kernel lock of an open file; return false at once if another holder has it."""
        os.lseek(fd, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                return False
            raise
        finally:
            os.lseek(fd, 0, os.SEEK_SET)
        return True

    def unlock(fd: int) -> None:
        """Release the kernel lock of an open file."""
        os.lseek(fd, _BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def try_lock(fd: int) -> bool:
        """Take the kernel lock of an open file; return false at once if another holder has it."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(fd: int) -> None:
        """Release the kernel lock of an open file, also for children that inherited it."""
        fcntl.flock(fd, fcntl.LOCK_UN)


def lock_path(home: str, kind: str, key: str) -> str:
    """Return the lock file for `key` (a path, a name, anything) among the locks of one kind."""
    from hashlib import sha256

    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return os.path.join(home, "locks", f"{kind}-{digest}.lock")


def is_file_at(fd: int, path: str) -> bool:
    """Return whether `path` still names the file that `fd` has open."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


class FileLock:
    """`with FileLock(path, timeout=5):` runs the block exclusively; waits up to `timeout` seconds, 0 tries once.

    Not re-entrant: a holder that asks again waits for itself and then fails with `lock-timeout`. Threads may share one
    object; they take turns. `poll` is the longest pause between two attempts.
    """

    __slots__ = ("_fd", "_path", "_poll", "_timeout", "_turn")

    def __init__(self, path: str, *, timeout: float, poll: float = 0.05) -> None:
        self._path = path
        self._timeout = timeout
        self._poll = poll
        self._turn = allocate_lock()
        self._fd = -1

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self._timeout
        if not self._turn.acquire(timeout=max(0.0, self._timeout)):
            raise self._timed_out(os.getpid())
        try:
            self._fd = self._locked(deadline)
        except BaseException:
            self._turn.release()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        fd, self._fd = self._fd, -1
        try:
            unlock(fd)
        finally:
            os.close(fd)
            self._turn.release()

    def _locked(self, deadline: float) -> int:
        """Return an open, locked file: the one at the path, even if the directory was cleared meanwhile."""
        while True:
            with os_failures(self._path, doing="lock", other="lock-failed"):
                fd = self._opened()
                try:
                    self._wait(fd, deadline)
                    if is_file_at(fd, self._path):
                        _sign(fd)
                        return fd
                except BaseException:
                    os.close(fd)
                    raise
                os.close(fd)

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_CREAT
        try:
            return open_regular(self._path, flags)
        except FileNotFoundError:
            make_missing(os.path.dirname(self._path))
            return open_regular(self._path, flags)

    def _wait(self, fd: int, deadline: float) -> None:
        """Try to take the kernel lock, with growing pauses, until the deadline."""
        pause = _FIRST_PAUSE
        while not try_lock(fd):
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._timed_out(_holder(fd))
            time.sleep(min(pause, left))
            pause = min(pause * 2, self._poll)

    def _timed_out(self, holder: int | None) -> FailedError:
        by = f" by process {holder}" if holder else ""
        return FailedError(
            "lock-timeout",
            f"{self._path} is still locked{by} after {self._timeout:g} seconds.",
            hint="Wait for the other process to finish, or stop it, and try again.",
            path=self._path,
            holder=holder,
        )


def _sign(fd: int) -> None:
    """Write the holder's process id with fixed width, so that a reader never sees half a number."""
    try:
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, f"{os.getpid():<{_HOLDER_WIDTH}}\n".encode("ascii"))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise


def _holder(fd: int) -> int | None:
    """Return the process id in the lock file, if any."""
    try:
        os.lseek(fd, 0, os.SEEK_SET)
        return int(os.read(fd, _HOLDER_WIDTH)) or None
    except ValueError:
        return None
