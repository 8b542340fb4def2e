"""A control group around a box, where this process may make one: the kernel then counts its processes exactly.

The superuser is bound by no other limit on processes. A group is made below the one that this process is in, or at the
top, in the old hierarchy of the kernel or in the new one, wherever the controller is at hand; how other groups are set
up is left alone. Where none can be made, `watching` counts.
"""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOP = "/sys/fs/cgroup"
_numbers = itertools.count()
_LAST_SECONDS = 2.0


class Group:
    """A control group of one box."""

    def __init__(self, path: str) -> None:
        self._path = path

    def add(self, pid: int) -> None:
        """Put a process, and all it will start, into the group."""
        _write(os.path.join(self._path, "cgroup.procs"), pid)

    def remove(self) -> None:
        """Remove the group, once what was killed in it is gone; an empty one that cannot be removed does no harm."""
        deadline = time.monotonic() + _LAST_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError):
                os.rmdir(self._path)
                return
            time.sleep(0.001)


def make_group(processes: int) -> Group | None:
    """A group that holds at most so many processes, or nothing where none can be made."""
    for parent in _parents():
        path = os.path.join(parent, f"whet-{os.getpid()}-{next(_numbers)}")
        with suppress(OSError):
            os.mkdir(path)
            if os.path.exists(os.path.join(path, "pids.max")):
                _write(os.path.join(path, "pids.max"), processes)
                return Group(path)
            os.rmdir(path)
    return None


def _parents() -> Iterator[str]:
    """The groups below which one could be made."""
    try:
        with open("/proc/self/cgroup") as file:
            rows = [row.rstrip("\n").split(":", 2) for row in file]
    except OSError:
        return
    for _, controllers, path in rows:
        top = _TOP if not controllers else os.path.join(_TOP, "pids") if controllers == "pids" else ""
        for parent in dict.fromkeys((top + path.rstrip("/"), top)) if top else ():
            if os.access(parent, os.W_OK) and os.path.exists(os.path.join(parent, "cgroup.procs")):
                yield parent


def _write(path: str, value: int) -> None:
    with open(path, "w") as file:
        file.write(str(value))
