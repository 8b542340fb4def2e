"""Scans of several packages at once, in this process and in some that are forked from it.

A fork is safe only while this process has one thread, and costs next to nothing then: rules and tables are loaded. Where
that is not so, where there is one processor, or where there is little to scan, this process scans all. Each process takes
the next package as soon as it has done one, so none of them waits for another that the system gives less time. Whatever
goes wrong in a process leaves its packages without a result, and whoever asks for one scans them: a failed scan is never
a pass.
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
"""Less than this is scanned before processes have started."""
MOST_PROCESSES = 8
_NUMBER = 4
"""Bytes of the number of a package in the queue."""


def scan_together(packages: Sequence[Package]) -> list[Scan | None]:
    """What a scan of each finds; None for those whose scan failed."""
    found: list[Scan | None] = [None] * len(packages)
    sizes = [sum(len(item.data) for item in files.values()) for files, _ in packages]
    first, *others = sorted(range(len(packages)), key=lambda number: -sizes[number])
    for number, scan in _scan_each(packages, [first]):  # loads the rules, for all
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
        with suppress(OSError), HeldSignals():  # where no process can be started, this one scans all
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
    """The numbers of packages that no other process has taken: the place in an open file is common to them."""
    while number := os.read(queue, _NUMBER):
        yield int.from_bytes(number, "big")


def _scan_each(packages: Sequence[Package], numbers: Iterable[int]) -> Iterator[tuple[int, Scan]]:
    from whet.guard.scan import scan

    for number in numbers:
        with suppress(Exception):  # whoever asks for it scans it again, and is told
            yield number, scan(*packages[number])


class _Process:
    """A process that scans packages from a queue, and writes what it found when the queue is empty."""

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
        """What it found, once it has ended; nothing where it failed."""
        import pickle

        with open(self._reading, "rb", closefd=False) as source:
            data = source.read()
        _, status = os.waitpid(self._id, 0)
        self._id = 0
        found: list[tuple[int, Scan]] = pickle.loads(data) if status == 0 else []  # noqa: S301  written by a fork of this
        return found

    def end(self) -> None:
        """Stop it, where it has not ended."""
        os.close(self._reading)
        if self._id:
            os.kill(self._id, signal.SIGKILL)
            os.waitpid(self._id, 0)


def _serve(packages: Sequence[Package], queue: int, writing: int) -> None:
    """Be that process. Nothing of the other one is flushed, closed or cleaned up here."""
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
