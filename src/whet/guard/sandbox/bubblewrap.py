"""A box by bubblewrap: separate namespaces for files, processes, network and users, and a system call filter.

Bubblewrap gets an empty environment, because the box can read the one it is started with, and its options through a
descriptor, because everybody can read a command line. With the box already created, it waits until the limits of its first
process are set. That process holds the box together: when it dies, the kernel kills everything in the box, and its
end is reported only after that.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.guard.sandbox.box import ETC, ETC_NETWORK, PROXY_PORT, SYSTEM, check_words, is_below, rlimits
from whet.guard.sandbox.monitor import SLACK, Watch, in_namespace_of
from whet.guard.sandbox.process import Command, Keeper

if TYPE_CHECKING:
    import socket
    import subprocess
    from collections.abc import Iterator, Sequence

    from whet.guard.sandbox.box import Box, Limits

LISTENER = os.path.join(os.path.dirname(__file__), "listener.py")
TEMP = "/tmp"  # noqa: S108 (the box's own)
_USER = 1000
_SHARED_MEMORY = 16 << 20
_LAST_WORDS = 5.0
"""Seconds that the kernel may take to kill the processes in a box."""
_COUNTED_FOR_THE_BOX = (5, 14)
"""The first Linux version that counts a user's processes per user namespace."""

_FILES = {
    "/etc/passwd": f"user:x:{_USER}:{_USER}::{TEMP}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
    "/etc/group": f"user:x:{_USER}:\nnogroup:x:65534:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
}


def prepare(argv: Sequence[str], box: Box, *, program: str, nested: bool, calls: bytes) -> tuple[Command, Keeper]:
    """Return the command that runs a program in a box, and its keeper.

    `nested` says that bubblewrap can forbid nested user namespaces; `calls` is the system call filter, or empty.
    """
    held = _Descriptors()
    try:
        options = [*_isolation(box, nested=nested), *_view(box, held)]
        for name, value in {**box.env, "HOME": TEMP, "TMPDIR": TEMP}.items():
            options += ["--setenv", name, value]
        if calls:
            options += ["--seccomp", str(held.filled("calls", calls))]
        told, tell = held.pipe()
        wait, go = held.pipe()
        options += ["--json-status-fd", str(held.lent(tell)), "--block-fd", str(held.lent(wait))]
        options += ["--chdir", box.cwd or TEMP]
        check_words(argv, box.env, options)
        data = b"".join(os.fsencode(option) + b"\0" for option in options)
        words = [program, "--args", str(held.filled("options", data)), "--", *argv]
    except (OSError, ValueError):
        held.close()
        raise
    return Command(words, {}, "/", held.all_lent()), _Box(box, held, told, go)


def _isolation(box: Box, *, nested: bool) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--uid", str(_USER), "--gid", str(_USER), "--hostname", "box")
    yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
    if nested:
        yield "--disable-userns"
    if box.network:
        yield "--share-net"


def _view(box: Box, held: _Descriptors) -> Iterator[str]:
    """Yield options for the files of the box, from the widest to the narrowest; the rest is empty and read-only."""
    for path in SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)
    for path in (*ETC, *(ETC_NETWORK if box.network else ())):
        if os.path.exists(path):
            yield from ("--ro-bind", os.path.realpath(path), path)
    for path, text in _FILES.items():
        if not (box.network and path in ETC_NETWORK):
            yield from ("--ro-bind-data", str(held.filled("file", text.encode())), path)
    yield from ("--proc", "/proc", "--dev", "/dev", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--perms", "0700", "--size", str(box.limits.temp), "--tmpfs", TEMP, "--symlink", TEMP, "/var/tmp")  # noqa: S108
    for target, source, writable in box.mounted:
        yield from ("--bind" if writable else "--ro-bind", source, target)
    for option, source, target in mounts(box):
        yield from (option, source, target)
    yield from ("--remount-ro", "/dev", "--remount-ro", "/")


def mounts(box: Box) -> list[tuple[str, str, str]]:
    """Return the mount of each directory of the box, under its own name and under its real path.

    A directory inside another mounted one needs no mount, and its links lead to the same targets as outside.
    """
    wanted = [(path, "--ro-bind") for path in box.readable] + [(path, "--bind") for path in box.writable]
    wanted = [(path, option) for path, option in wanted if os.path.exists(path)]
    made = dict.fromkeys(SYSTEM, ("--ro-bind", ""))
    for path, option in sorted({os.path.realpath(path): option for path, option in wanted}.items()):
        around = max((top for top in made if is_below(path, (top,))), key=len, default="")
        if not around or made[around][0] != option:
            made[path] = (option, path)
    for path, option in sorted(wanted):
        if not is_below(path, made):
            made[path] = (option, os.path.realpath(path))
    return [(option, source, target) for target, (option, source) in made.items() if source]


class _Descriptors:
    """The open descriptors of one box: those passed to bubblewrap, and the pipe ends that stay here."""

    def __init__(self) -> None:
        self._open: list[int] = []
        self._lent: list[int] = []

    def filled(self, name: str, data: bytes) -> int:
        """Create a file in memory with this content, and pass it to bubblewrap."""
        assert sys.platform == "linux"  # noqa: S101 (for the type checker)
        descriptor = os.memfd_create(f"whet-{name}")
        self._open.append(descriptor)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return self.lent(descriptor)

    def pipe(self) -> tuple[int, int]:
        """Return the read end and the write end of a new pipe."""
        ends = os.pipe()
        self._open.extend(ends)
        return ends

    def lent(self, descriptor: int) -> int:
        """Pass a descriptor to bubblewrap."""
        self._lent.append(descriptor)
        return descriptor

    def all_lent(self) -> tuple[int, ...]:
        return tuple(self._lent)

    def begun(self) -> None:
        """Close the passed descriptors: bubblewrap has its own copies."""
        for descriptor in self._lent:
            os.close(descriptor)
            self._open.remove(descriptor)
        self._lent.clear()

    def close(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()


class _Box(Keeper):
    """Keeps the first process of the box."""

    watches = True

    def __init__(self, box: Box, held: _Descriptors, told: int, go: int) -> None:
        self._limits, self._serve, self._held, self._told, self._go = box.limits, box.serve, held, told, go
        self._listening: socket.socket | None = None
        self._said = b""
        self._first = 0
        self._handle = -1
        self._watch: Watch | None = None

    def begun(self, process: subprocess.Popen[bytes], seconds: float) -> None:  # noqa: ARG002 (it is not the first)
        import select

        self._held.begun()
        ready, _, _ = select.select([self._told], [], [], seconds)
        if ready:
            self._said = os.read(self._told, 1 << 12)
        self._first = self._number(b'"child-pid"') or 0
        if not self._first:
            return  # it ended, and its output says why
        assert sys.platform == "linux"  # noqa: S101 (for the type checker)
        with suppress(OSError):  # an old kernel, or ended already
            self._handle = os.pidfd_open(self._first)
        with suppress(ProcessLookupError, FileNotFoundError):  # it ended, and its output says why
            self._watch = Watch(self._limits, self._first, in_namespace_of(self._first))
            limit(self._first, self._limits)
        if self._serve:
            self._listening = _listen(self._first)
            self._serve(self._listening)
        os.write(self._go, b"\n")

    def excess(self) -> str:
        return self._watch.excess() if self._watch else ""

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the first process, and wait until nothing is left of the box."""
        import select
        import signal

        if self._handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            select.select([self._handle], [], [], _LAST_WORDS)
        super().end(process)

    def failure(self) -> str | None:
        with suppress(OSError):
            os.set_blocking(self._told, False)
            self._said += os.read(self._told, 1 << 12)
        return None if self._number(b'"exit-code"') is not None else ""

    def close(self) -> None:
        self._held.close()
        if self._listening is not None:
            import socket

            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)  # wakes any thread that waits for a connection
            self._listening.close()
        if self._watch:
            self._watch.close()
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def _number(self, name: bytes) -> int | None:
        """Return a number from the status messages of bubblewrap."""
        digits = self._said.partition(name)[2].lstrip(b": ")
        digits = digits[: len(digits) - len(digits.lstrip(b"0123456789"))]
        return int(digits) if digits else None


def _listen(first: int) -> socket.socket:
    """Return a socket that listens on the loopback of a box, given its first process. Raises OSError."""
    import socket
    import subprocess

    here, there = socket.socketpair()
    with here, there:
        words = [sys.executable, "-I", "-S", "-B", LISTENER, str(first), str(PROXY_PORT), str(there.fileno())]
        done = subprocess.run(words, pass_fds=(there.fileno(),), env={}, capture_output=True, check=False)  # noqa: S603 (our own)
        if done.returncode:
            last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise OSError(f"The sandbox cannot reach the network: {last}")
        return socket.socket(fileno=socket.recv_fds(here, 1, 1)[1][0])


def limit(pid: int, limits: Limits) -> None:
    """Set the kernel limits of a process and of everything it will start."""
    import resource

    assert sys.platform == "linux"  # noqa: S101 (for the type checker)
    wanted = rlimits(limits)
    if os.getuid() != 0 and _kernel() >= _COUNTED_FOR_THE_BOX:  # else it counts the user's other processes, or none
        wanted.append((resource.RLIMIT_NPROC, limits.processes + SLACK))
    for kind, value in wanted:
        hard = resource.prlimit(pid, kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.prlimit(pid, kind, (bound, bound))


def _kernel() -> tuple[int, ...]:
    words = os.uname().release.split("-")[0].split(".")[:2]
    return tuple(int(word) for word in words if word.isdigit())
