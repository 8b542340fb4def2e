"""The one killer: processes that die just before the N-th thing they do to the disk.

A script for a process of its own ends in `serve(act)`, and `Victim` runs it: for each line that it is sent, `act` is
called in a forked child, which calls `arm(N)` when its time has come. What is imported in the script is imported once.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = (
    *("rename", "replace", "unlink", "rmdir", "mkdir", "makedirs", "link", "symlink", "chmod", "utime"),
    *("truncate", "ftruncate", "posix_fallocate"),
)
"""Every call with which something on the disk changes. To these come `os.open` when it makes a file, `os.write`, before
it and when half is written, and the exchange of two directories.

Databases write by themselves: their steps are the statements that change them, and the ends of transactions.
"""

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CHANGING = ("BEGIN", "COMMIT", "INSERT", "DELETE", "UPDATE", "CREATE", "ALTER", "DROP", "PRAGMA wal_checkpoint")

left = 0
"""How many steps this process may still take; none is counted while it is below 1."""


def committed() -> None:
    """Called when a transaction is on the disk, before the process may die; to be replaced by whoever wants to know."""


def die() -> None:
    """End this process as nothing else can: nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(seconds: float) -> None:
    """End this process like `die` in so many seconds, whatever it does then."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))


def _step() -> None:
    global left  # noqa: PLW0603  one process dies once
    left -= 1
    if left == 0:
        die()


def _armed(real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        _step()
        return real(*args, **kwargs)

    return call


class _Connection(sqlite3.Connection):
    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        if not sql.lstrip().startswith(_CHANGING):
            return super().execute(sql, *rest)
        _step()
        done = super().execute(sql, *rest)
        if sql == "COMMIT":
            committed()
            _step()
        return done

    def executemany(self, *given: Any) -> sqlite3.Cursor:
        _step()
        return super().executemany(*given)


def watch_databases() -> None:
    """Let the statements of every database count that this process opens from now on."""
    real = sqlite3.connect

    def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = real(*args, **{"factory": _Connection, **kwargs})
        return made

    sqlite3.connect = connect  # type: ignore[assignment]  # as whoever opens a database here calls it


def arm(count: int) -> None:
    """Kill this process just before its `count`-th step from now on; at 0, never."""
    from whet.store import atomic

    global left  # noqa: PLW0603  one process dies once
    left = count
    real_open, real_write = os.open, os.write

    def opening(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & os.O_CREAT:
            _step()
        return real_open(path, flags, *rest, **more)

    def write(fd: int, data: Any, /) -> int:
        global left  # noqa: PLW0603  one process dies once
        _step()
        if len(data) > 1:
            left -= 1
            if left == 0:
                real_write(fd, memoryview(data)[: len(data) // 2])
                die()
        return real_write(fd, data)

    for name in STEPS:
        if hasattr(os, name):
            setattr(os, name, _armed(getattr(os, name)))
    os.open, os.write = opening, write
    atomic.exchange = _armed(atomic.exchange)


def load(*rooms: str) -> None:
    """Import the modules of these rooms now, and compile what a scan needs, and not once for every process that dies.

    The clients of models are left out: they bring libraries that take seconds.
    """
    for room in rooms:
        package = importlib.import_module(f"whet.{room}")
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__") and ".models." not in module.name:
                importlib.import_module(module.name)
    if "guard" in rooms:
        from whet.guard.scan import scan
        from whet.skill.tree import Item

        scan({"SKILL.md": Item(b"Text."), "scripts/run.sh": Item(b"echo\n")})


def serve(act: Callable[[str], object]) -> None:
    """For each line of the input, call `act` with it in a child; how that one ended, as a line."""
    watch_databases()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            act(line.rstrip("\n"))
            os._exit(0)
        print(os.waitpid(child, 0)[1], flush=True)


class Victim:
    """A script that ends in `serve`, in a process of its own; tests are importable there."""

    def __init__(self, script: str, *arguments: object) -> None:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        env = {**os.environ, "PYTHONPATH": TESTS}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def killed(self, *line: object) -> bool:
        """Whether what was asked for, as words with tabs between them, was killed before it was done."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(*line, sep="\t", file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        assert status in (0, signal.SIGKILL, signal.SIGALRM)
        return status != 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
