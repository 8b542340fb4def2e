"""Scans of several packages at once, in this process and in processes forked from it.

A fork is safe only while this process has one thread, and is then cheap, because rules and tables are loaded. Otherwise, or
if there is only one processor or little to scan, this process scans everything. Each process takes the next package as
soon as it has finished one, so that none waits for another that gets less processor time. If a process fails, its
packages have no result, and the caller that needs one scans them: a failed scan is never a pass.

Loading the rules takes as long as scanning a dozen packages. Before the first scan, a process that will need one starts
another (`Ahead`), which loads them while the packages are still being fetched, and then scans all of them in this way.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

from whet.skill.tree import Item
from whet.store.signals import HeldSignals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whet.guard.finding import Scan

    Package = tuple[Mapping[str, Item], str]

T = TypeVar("T")

WORTH_BYTES = 200_000
"""Bytes below which a scan is finished before other processes have started."""
MOST_PROCESSES = 8
_NUMBER = 4
"""Bytes of the number of a package in the queue."""
_MOST_SENT = 64 * 1024 * 1024
"""Bytes of packages that are copied to another process; for more, this process is forked, which shares them."""
_SAMPLE = {
    "SKILL.md": Item(
        b"---\nname: sample\ndescription: Counts the lines of a file. Use when lines are counted.\n---\n\n# Sample\n\n"
        b"Read [the notes](notes.md), then run `scripts/count.py`. If it fails, ask the user; do not guess.\n\n"
        b"```sh\npython3 scripts/count.py notes.md | sort\n```\n\n- Send nothing to https://example.com/.\n"
    ),
    "scripts/count.py": Item(
        b'"""Count lines."""\nimport json\nimport os\nimport sys\n\n\ndef count(path: str) -> int:\n'
        b"    with open(path) as file:\n        return sum(1 for line in file if line.strip())\n\n\n"
        b'if __name__ == "__main__":\n    print(json.dumps({name: count(name) for name in sys.argv[1:]}))\n'
    ),
}
"""A package of the usual kinds of files: its scan loads what most scans need."""


def scan_together(packages: Sequence[Package], parent: int = 0) -> list[Scan | None]:
    """Return the scan of each package; `None` for those whose scan failed.

    With `parent`, the scans are of no use when that process, the parent of this one, has ended.
    """
    found: list[Scan | None] = [None] * len(packages)
    sizes = [_size(package) for package in packages]
    order = sorted(range(len(packages)), key=lambda number: -sizes[number])
    count = min(_count_processors(), MOST_PROCESSES, len(packages))
    if count < 2 or sum(sizes) < WORTH_BYTES or threading.active_count() > 1:
        for number, scan in _scan_each(packages, order):
            found[number] = scan
        return found
    _load()
    queue = os.memfd_create("packages")
    running: list[_Process[list[tuple[int, Scan]]]] = []
    here = os.getpid()

    def work() -> list[tuple[int, Scan]]:
        return list(_scan_each(packages, _take(queue, here)))

    try:
        os.write(queue, b"".join(number.to_bytes(_NUMBER, "big") for number in order))
        os.lseek(queue, 0, os.SEEK_SET)
        with suppress(OSError), HeldSignals():  # if no process can be started, this one scans all
            for _ in range(count - 1):
                running.append(_Process(work))
        for number, scan in _scan_each(packages, _take(queue, parent)):
            found[number] = scan
        for process in running:
            for number, scan in process.result() or ():
                found[number] = scan
    finally:
        os.close(queue)
        for process in running:
            process.end()
    return found


class Ahead:
    """A process that loads the rules while the packages are still being fetched, and then scans them together."""

    def __init__(self) -> None:
        """Start it. Raises OSError."""
        self._packages = os.memfd_create("packages")
        asked, self._asking = os.pipe()
        here = os.getpid()

        def work() -> list[Scan | None]:
            os.close(self._asking)
            _load()
            if not os.read(asked, 1):  # nothing is to be scanned, or the other process was killed
                return []
            import pickle

            with open(self._packages, "rb") as source:
                source.seek(0)
                return scan_together(pickle.load(source), here)  # noqa: S301  written by the process that this was forked from

        try:
            self._process = _Process(work, leads=True)
        except BaseException:
            os.close(self._packages)
            os.close(self._asking)
            raise
        finally:
            os.close(asked)

    @classmethod
    def start(cls) -> Ahead | None:
        """Start it, unless this process has the rules already, cannot be forked, or there is only one processor.

        In a block of `starting_early`, return the one that was started there.
        """
        if _early:
            return _early.pop()
        if "whet.guard.scan" not in sys.modules and _count_processors() > 1 and threading.active_count() == 1:
            with suppress(OSError), HeldSignals():
                return cls()
        return None

    def ask(self, packages: Sequence[Package]) -> bool:
        """Let it scan these packages, once; return whether it does."""
        if sum(map(_size, packages)) > _MOST_SENT:
            return False
        import pickle

        try:
            with open(self._packages, "wb", closefd=False) as target:
                pickle.dump([(dict(files), origin) for files, origin in packages], target, pickle.HIGHEST_PROTOCOL)
            os.write(self._asking, b".")
        except OSError:  # it has ended, or there is no memory
            return False
        return True

    def scans(self) -> list[Scan | None]:
        """Return the scan of each package; empty if it failed."""
        return self._process.result() or []

    def end(self) -> None:
        """Kill it if it has not ended."""
        os.close(self._packages)
        os.close(self._asking)
        self._process.end()


_early: list[Ahead] = []


@contextmanager
def starting_early() -> Iterator[None]:
    """Start a process ahead before the code that will need it is loaded."""
    if started := Ahead.start():
        _early.append(started)
    try:
        yield
    finally:
        while _early:
            _early.pop().end()


def _size(package: Package) -> int:
    return sum(len(item.data) for item in package[0].values())


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" and hasattr(os, "memfd_create") else 1


@lru_cache(maxsize=1)
def _load() -> None:
    """Load the rules, which are shared with the processes that are forked later."""
    for _ in _scan_each([(_SAMPLE, "")], [0]):
        pass


def _take(queue: int, parent: int) -> Iterator[int]:
    """Yield the numbers of packages that no other process has taken: they share the position in the open file.

    When a process finds that its parent was killed, none of them takes any more.
    """
    while number := os.read(queue, _NUMBER):
        if parent and os.getppid() != parent:
            os.lseek(queue, 0, os.SEEK_END)
            return
        yield int.from_bytes(number, "big")


def _scan_each(packages: Sequence[Package], numbers: Iterable[int]) -> Iterator[tuple[int, Scan]]:
    from whet.guard.scan import scan

    for number in numbers:
        with suppress(Exception):  # the caller that needs it scans it again, and gets the error
            yield number, scan(*packages[number])


class _Process(Generic[T]):
    """A forked process that calls a function, and sends what it returns."""

    def __init__(self, work: Callable[[], T], *, leads: bool = False) -> None:
        """`leads`: the processes that it forks end with it."""
        self._leads = leads
        self._reading, writing = os.pipe()
        try:
            self._id = os.fork()
        except BaseException:
            os.close(self._reading)
            os.close(writing)
            raise
        if self._id == 0:
            _serve(work, writing, leads=leads)
        os.close(writing)
        if leads:
            _lead(self._id)

    def result(self) -> T | None:
        """Return the result once the process has ended; None if it failed."""
        import pickle

        with open(self._reading, "rb", closefd=False) as source:
            data = source.read()
        _, status = os.waitpid(self._id, 0)
        self._id = 0
        found: T | None = pickle.loads(data) if status == 0 else None  # noqa: S301  written by a fork of this
        return found

    def end(self) -> None:
        """Kill the process if it has not ended."""
        os.close(self._reading)
        if self._id:
            (os.killpg if self._leads else os.kill)(self._id, signal.SIGKILL)
            os.waitpid(self._id, 0)


def _lead(process: int) -> None:
    """Make a process the leader of a group; both it and its parent do so, because either may be first."""
    with suppress(OSError):
        os.setpgid(process, process)


def _serve(work: Callable[[], object], writing: int, *, leads: bool) -> None:
    """Run in the forked process. Nothing of the parent is flushed, closed or cleaned up here."""
    code = 1
    try:
        import pickle

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if leads:
            _lead(os.getpid())
        with open(writing, "wb") as target:
            pickle.dump(work(), target, pickle.HIGHEST_PROTOCOL)
        code = 0
    finally:
        os._exit(code)
