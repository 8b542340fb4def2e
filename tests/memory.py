"""Files in memory, for those that need not last: waiting for a disk is half of the time."""

from __future__ import annotations

import os

_MEMORY = "/dev/shm"


def memory_directory(room: int) -> str | None:
    """Where files lie in memory and can be executed, if so many bytes are free there."""
    if os.name != "posix" or not os.path.isdir(_MEMORY) or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    status = os.statvfs(_MEMORY)
    return _MEMORY if status.f_bavail * status.f_frsize >= room and not status.f_flag & os.ST_NOEXEC else None
