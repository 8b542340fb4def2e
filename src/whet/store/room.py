"""Reserve space on a disk, so that the last step of a change does not fail for lack of it."""

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
    """Reserve `size` bytes on the disk of the directory until the block ends or calls the given function.

    The space is held by an unlinked file: it disappears with the process, however that ends.
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
    """Allocate real blocks for an empty file."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
        return
    for start in range(0, size, _BLOCK):
        os.write(fd, bytes(min(_BLOCK, size - start)))
