"""Resource use of a box, counted from outside where the kernel does not count it.

Kernel limits apply to one process, or to all processes of a user, or not to the superuser at all, and control groups cannot
be created everywhere. So a box is checked fifty times a second: two small files show whether the machine as a whole has many
more processes, or much less free memory, than when the box started; if so, and otherwise now and then, the processes of the
box are counted, newest first and no more of them than it may have. A box over its limit is ended as a whole.
"""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.guard.sandbox.box import Limits

SLACK = 8
"""How far the kernel's limit on processes is above the one that ends a box, so that crossing it is noticed."""
_EVERY = 25
"""The processes of the box are counted at least once in this many checks."""
_NICE, _NICE_UNBOUND = 5, 19
_FIRST_NAMESPACE = "pid:[4026531836]"
"""The process namespace in which no process is hidden."""


class Taken(NamedTuple):
    """The resource use of some processes together."""

    threads: int
    memory: int


class Watch:
    """Checks whether a box stays within its limits; `belongs` says whether a process is in it."""

    def __init__(self, limits: Limits, pid: int, belongs: Callable[[int], bool]) -> None:
        """Start before the first process of the box does anything.

        The process gets a low priority, and the lowest if no kernel limit keeps it from multiplying: then this process must be
        faster.
        """
        self._limits, self._belongs = limits, belongs
        self._looks = 0
        self._threads, self._free = _machine()
        self._group = make_group(limits.processes + SLACK)
        try:
            if self._group:
                self._group.add(pid)
        except OSError:  # not allowed, or already ended; then it is counted
            self.close()
            self._group = None
        with suppress(ProcessLookupError):
            bound = self._group is not None or os.getuid() != 0
            now = os.getpriority(os.PRIO_PROCESS, pid)  # only root may raise it again
            os.setpriority(os.PRIO_PROCESS, pid, max(now, _NICE if bound else _NICE_UNBOUND))

    def close(self) -> None:
        """Clean up after the box has ended."""
        if self._group:
            self._group.remove()

    def excess(self) -> str:
        """Return a message about the limit that the box exceeds, or ""."""
        self._looks += 1
        limits = self._limits
        threads, free = _machine()
        close = threads - self._threads > limits.processes // 2 or self._free - free > limits.memory // 2
        if close or self._looks % _EVERY == 0:
            taken = count(self._belongs, limits.processes)
            if taken.threads > limits.processes:
                return f"It had more than {limits.processes} processes."
            if taken.memory > limits.memory:
                return f"It used more than {limits.memory >> 20} MiB of memory."
        return ""


def count(belongs: Callable[[int], bool], most: int) -> Taken:
    """Return the resource use of the processes that belong; if there are more than `most`, only their number."""
    found: list[int] = []
    for name in reversed(os.listdir("/proc")):
        if name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                if belongs(int(name)):
                    found.append(int(name))
        if len(found) > most:
            return Taken(len(found), 0)
    threads = memory = 0
    for pid in found:
        with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            threads += int(fields[17])
            memory += int(fields[21])
    return Taken(threads, memory * os.sysconf("SC_PAGE_SIZE"))


def in_group(group: int) -> Callable[[int], bool]:
    """Return a function that checks whether a process is in this process group."""
    return lambda pid: os.getpgid(pid) == group


def in_namespace_of(first: int) -> Callable[[int], bool]:
    """Return a function that checks whether a process is in the same process namespace as this one."""
    namespace = os.readlink(f"/proc/{first}/ns/pid")
    return lambda pid: os.readlink(f"/proc/{pid}/ns/pid") == namespace


def room_for(number: int) -> int:
    """Return a limit on the processes of the user that leaves room for `number` more.

    It is exact if all processes of the machine are visible. Otherwise some of the user's may be hidden, and those of
    all users are counted instead.
    """
    everybody, mine = _machine()[0], os.getuid()
    if os.readlink("/proc/self/ns/pid") != _FIRST_NAMESPACE:
        return everybody + number
    return count(lambda pid: os.stat(f"/proc/{pid}").st_uid == mine, everybody).threads + number


def _machine() -> tuple[int, int]:
    """Return the number of threads on the machine, and the bytes of free memory."""
    with open("/proc/loadavg", "rb") as file:
        threads = int(file.read().split()[3].partition(b"/")[2])
    with open("/proc/meminfo", "rb") as file:
        available = next((line for line in file if line.startswith(b"MemAvailable")), b": 0")
    return threads, int(available.split()[1]) << 10


# --- a control group around a box, if this process may create one -----------------------------------------------------

_TOP = "/sys/fs/cgroup"
_numbers = itertools.count()
_LAST_SECONDS = 2.0


class Group:
    """A control group of one box."""

    def __init__(self, path: str) -> None:
        self._path = path

    def add(self, pid: int) -> None:
        """Put a process, and everything it will start, into the group."""
        _write(os.path.join(self._path, "cgroup.procs"), pid)

    def remove(self) -> None:
        """Remove the group once its killed processes are gone; an empty group that cannot be removed does no harm."""
        deadline = time.monotonic() + _LAST_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError):
                os.rmdir(self._path)
                return
            time.sleep(0.001)


def make_group(processes: int) -> Group | None:
    """Return a group for at most `processes`, or `None` if none can be created."""
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
    """Yield the groups in which a group could be created."""
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
