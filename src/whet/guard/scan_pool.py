"""Scans of several packages at once, in this process and in processes forked from it.

A fork is safe only while this process has one thread, and is then cheap, because rules and tables are loaded. Otherwise, or
if there is only one processor or little to scan, this process scans everything. Each process takes the next package as
soon as it has finished one, so that none waits for another that gets less processor time. If a process fails, its
packages have no result, and the caller that needs one scans them: a failed scan is never a pass.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.store.signals import HeldSignals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whet.guard.finding import Scan
    from whet.skill.tree import Item

    Package = tuple[Mapping[str, Item], str]

WORTH_BYTES = 200_000
"""Bytes below which a scan is finished before other processes have started."""
MOST_PROCESSES = 8
_NUMBER = 4
"""Bytes of the number of a package in the queue."""


def scan_together(packages: Sequence[Package]) -> list[Scan | None]:
    """Return the scan of each package; `None` for those whose scan failed."""
    found: list[Scan | None] = [None] * len(packages)
    sizes = [sum(len(item.data) for item in files.values()) for files, _ in packages]
    first, *others = sorted(range(len(packages)), key=lambda number: -sizes[number])
    for number, scan in _scan_each(packages, [first]):  # also loads the rules for the other processes
        found[number] = scan
    count = min(_count_processors(), MOST_PROCESSES, len(packages))
    if count < 2 or sum(sizes) < WORTH_BYTES or threading.active_count() > 1:
        for number, scan in _scan_each(packages, others):
            found[number] = scan
        return found
    queue = os.memfd_create("packages")
    running: list[_Process] = []
    try:
        os.write(queue, b"".join(number.to_bytes(_NUMBER, "big") for number in others))
        os.lseek(queue, 0, os.SEEK_SET)
        with suppress(OSError), HeldSignals():  # if no process can be started, this one scans all
            for _ in range(count - 1):
                running.append(_Process(packages, queue))
        for number, scan in _scan_each(packages, _take(queue)):
            found[number] = scan
        for process in running:
            for number, scan in process.results():
                found[number] = scan
    finally:
        os.close(queue)
        for process in running:
            process.end()
    return found


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" and hasattr(os, "memfd_create") else 1


def _take(queue: int) -> Iterator[int]:
    """Yield the numbers of packages that no other process has taken: they share the position in the open file."""
    while number := os.read(queue, _NUMBER):
        yield int.from_bytes(number, "big")


def _scan_each(packages: Sequence[Package], numbers: Iterable[int]) -> Iterator[tuple[int, Scan]]:
    from whet.guard.scan import scan

    for number in numbers:
        with suppress(Exception):  # the caller that needs it scans it again, and gets the error
            yield number, scan(*packages[number])


class _Process:
    """A process that scans packages from a queue, and writes the results when the queue is empty."""

    def __init__(self, packages: Sequence[Package], queue: int) -> None:
        self._reading, writing = os.pipe()
        try:
            self._id = os.fork()
        except BaseException:
            os.close(self._reading)
            os.close(writing)
            raise
        if self._id == 0:
            _serve(packages, queue, writing)
        os.close(writing)

    def results(self) -> list[tuple[int, Scan]]:
        """Return the results once the process has ended; empty if it failed."""
        import pickle

        with open(self._reading, "rb", closefd=False) as source:
            data = source.read()
        _, status = os.waitpid(self._id, 0)
        self._id = 0
        found: list[tuple[int, Scan]] = pickle.loads(data) if status == 0 else []  # noqa: S301  written by a fork of this
        return found

    def end(self) -> None:
        """Kill the process if it has not ended."""
        os.close(self._reading)
        if self._id:
            os.kill(self._id, signal.SIGKILL)
            os.waitpid(self._id, 0)


def _serve(packages: Sequence[Package], queue: int, writing: int) -> None:
    """Run in the forked process. Nothing of the parent is flushed, closed or cleaned up here."""
    code = 1
    try:
        import pickle

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        with open(writing, "wb") as target:
            target.write(pickle.dumps(list(_scan_each(packages, _take(queue)))))
        code = 0
    finally:
        os._exit(code)
