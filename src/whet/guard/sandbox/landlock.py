"""A box by Landlock: Linux kernel rules that any process can apply to itself, and a system call filter.

The features of Landlock depend on its version. The first covers files; later ones cover moving files,
truncating, TCP, devices, and signals. The filter (`seccomp`) refuses what none of them covers, as far as it can: other
sockets, modes and owners of files. Nothing in the box can leave the process group that it was started in, so one
signal to the group ends the whole box.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.guard.sandbox.box import ETC, ETC_NETWORK, SYSTEM, check_words, rlimits
from whet.guard.sandbox.monitor import SLACK, Watch, in_group, room_for
from whet.guard.sandbox.process import Command, Keeper

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence

    from whet.guard.sandbox.box import Box, Limits

LAUNCHER = os.path.join(os.path.dirname(__file__), "launcher.py")
_CREATE, _VERSION = 444, 1

_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All file rights that can be restricted, by the version that introduced them."""
_DEVICE_CALLS = 1 << 15
_TCP = 3
_SIGNALS_AND_ABSTRACT_SOCKETS = 3

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_ABOUT = (
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/proc/cpuinfo", "/proc/meminfo", "/proc/filesystems"),
    *("/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/stat", "/proc/sys/kernel/osrelease"),
    *("/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu"),
)

_QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
"""Git fails if a settings file exists and cannot be read."""


def version() -> int:
    """Return the version of Landlock in this kernel; 0 if there is none."""
    if sys.platform != "linux":
        return 0
    import ctypes

    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)))


def prepare(argv: Sequence[str], box: Box, *, version: int, calls: bytes) -> tuple[Command, Keeper]:
    """Return the command that runs a program under these rules, and its keeper."""
    every = _RIGHTS[max(known for known in _RIGHTS if known <= version)]
    temp = temporary()
    try:
        job: dict[str, object] = {
            "files": every,
            "network": 0 if box.network or version < 4 else _TCP,
            "scoped": _SIGNALS_AND_ABSTRACT_SOCKETS if version >= 6 else 0,
            "size": 8 if version < 4 else 16 if version < 6 else 24,
            "rules": [(os.fsencode(path), rights) for path, rights in _rules(box, temp, every)],
            "calls": calls,
        }
        return launch(argv, box, temp, job)
    except (OSError, ValueError):
        remove(temp)
        raise


def launch(argv: Sequence[str], box: Box, temp: str, job: dict[str, object]) -> tuple[Command, Keeper]:
    """Return the launcher command for a job, and its keeper, which finally removes the temporary directory."""
    import marshal

    env = {**_QUIET, **box.env, "HOME": temp, "TMPDIR": temp}
    check_words(argv, env)
    job |= {
        "cwd": os.fsencode(box.cwd or temp),
        "argv": [os.fsencode(word) for word in argv],
        "env": {os.fsencode(name): os.fsencode(value) for name, value in env.items()},
        "limits": [*rlimits(box.limits), *_processes(box.limits)],
    }
    source, feed = os.pipe()
    told, answer = os.pipe()
    words = [sys.executable, "-I", "-S", "-B", LAUNCHER, str(source), str(answer)]
    keeper = _Group(box.limits, temp, marshal.dumps(job), [source, answer], feed, told)
    return Command(words, {}, "/", (source, answer)), keeper


def _processes(limits: Limits) -> list[tuple[int, int]]:
    """Return the limit on processes, which applies to all processes of the user together, and not to the superuser."""
    if sys.platform != "linux" or os.getuid() == 0:
        return []
    import resource

    return [(resource.RLIMIT_NPROC, room_for(limits.processes + SLACK))]


def _rules(box: Box, temp: str, every: int) -> Iterator[tuple[str, int]]:
    look = _EXECUTE | _READ | _LIST
    for path in (*SYSTEM, *ETC, *(ETC_NETWORK if box.network else ()), *_ABOUT, *box.readable):
        yield path, look
    for path in _DEVICES:
        yield path, _READ | _WRITE
    for path in (temp, *box.writable):
        yield path, every & ~_DEVICE_CALLS


def temporary() -> str:
    import tempfile

    return tempfile.mkdtemp(prefix="whet-box-")


def remove(temp: str) -> None:
    """Remove the temporary directory, even if its program made it unreadable; the system cleans up any remaining files."""
    import shutil

    for directory, names, _ in os.walk(temp):
        for name in names:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                with suppress(OSError):
                    os.chmod(path, 0o700)
    shutil.rmtree(temp, ignore_errors=True)


class _Group(Keeper):
    """Keeps the process group of a box."""

    watches = sys.platform == "linux"

    def __init__(self, limits: Limits, temp: str, job: bytes, lent: list[int], feed: int, told: int) -> None:
        self._limits, self._temp, self._job = limits, temp, job
        self._lent, self._feed, self._told = lent, feed, told
        self._watch: Watch | None = None

    def begun(self, process: subprocess.Popen[bytes], seconds: float) -> None:  # noqa: ARG002 (nothing to wait for)
        self._close_lent()
        if self.watches:
            self._watch = Watch(self._limits, process.pid, in_group(process.pid))
        feed, self._feed = self._feed, -1
        with suppress(BrokenPipeError), os.fdopen(feed, "wb") as file:
            file.write(self._job)

    def excess(self) -> str:
        return self._watch.excess() if self._watch else ""

    def failure(self) -> str | None:
        os.set_blocking(self._told, False)
        try:
            said = os.read(self._told, 1 << 12)
        except BlockingIOError:  # held open by a process that is still being killed
            return None
        return said.decode("utf-8", "replace") or None

    def close(self) -> None:
        self._close_lent()
        for descriptor in (self._feed, self._told):
            if descriptor >= 0:
                os.close(descriptor)
        if self._watch:
            self._watch.close()
        remove(self._temp)

    def _close_lent(self) -> None:
        for descriptor in self._lent:
            os.close(descriptor)
        self._lent = []
