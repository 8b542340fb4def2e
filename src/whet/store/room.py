"""Room on a disk, taken before it is needed, so that the last step of a change does not fail for want of it."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from whet.store.atomic import temporary_path
from whet.store.directories import make_directories
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BLOCK = 1 << 16


@contextmanager
def reserve(directory: str, size: int) -> Iterator[Callable[[], None]]:
    """Hold that many bytes on the disk of the directory until the block ends or calls what it is given.

    The room is a file that has no name any more: it goes with the process, however that ends.
    """
    make_directories(directory, private=True)
    with os_failures(directory, doing="reserve room in"):
        path = temporary_path(os.path.join(directory, "room"))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_TEMPORARY", 0), 0o600)
        held = [fd]

        def free() -> None:
            while held:
                os.close(held.pop())

        try:
            with suppress(PermissionError):  # Windows removes it when it is closed
                os.unlink(path)
            _fill(fd, size)
        except BaseException:
            free()
            raise
    try:
        yield free
    finally:
        free()


def _fill(fd: int, size: int) -> None:
    """Give an empty file real blocks."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
        return
    for start in range(0, size, _BLOCK):
        os.write(fd, bytes(min(_BLOCK, size - start)))
