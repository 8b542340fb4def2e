"""Scans of several packages at once, each share of them in a process that is forked from this one.

A fork is safe only while this process has one thread, and costs next to nothing then: rules and tables are loaded. Where
that is not so, where there is one processor, or where there is little to scan, this process scans all. Whatever goes
wrong in a share leaves its packages without a result, and whoever asks for one scans them: a failed scan is never a
pass.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.guard.finding import Scan
    from whet.skill.tree import Item

    Package = tuple[Mapping[str, Item], str]

WORTH_BYTES = 200_000
"""Less than this is scanned before processes have started."""
MOST_PROCESSES = 8


def scan_together(packages: Sequence[Package]) -> list[Scan | None]:
    """What a scan of each finds; None for those whose scan failed."""
    found: list[Scan | None] = [None] * len(packages)
    sizes = [sum(len(item.data) for item in files.values()) for files, _ in packages]
    count = min(_count_processors(), MOST_PROCESSES, len(packages))
    if sum(sizes) < WORTH_BYTES or sys.platform != "linux" or threading.active_count() > 1:
        count = 1
    order = sorted(range(len(packages)), key=lambda number: -sizes[number])
    first, *others = order
    for number, scan in _scan_share(packages, [first]):  # loads the rules, for all
        found[number] = scan
    shares = [others[start::count] for start in range(count)]
    running = [_start(packages, share) for share in shares[1:]]
    for number, scan in _scan_share(packages, shares[0]):
        found[number] = scan
    for process, reading in running:
        for number, scan in _end(process, reading):
            found[number] = scan
    return found


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _scan_share(packages: Sequence[Package], share: Sequence[int]) -> list[tuple[int, Scan]]:
    from whet.guard.scan import scan

    found = []
    for number in share:
        with suppress(Exception):  # whoever asks for it scans it again, and is told
            found.append((number, scan(*packages[number])))
    return found


def _start(packages: Sequence[Package], share: Sequence[int]) -> tuple[int, int]:
    """A process that scans a share, and where it writes what it found."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    code = 1
    try:
        import pickle

        with open(writing, "wb") as target:
            target.write(pickle.dumps(_scan_share(packages, share)))
        code = 0
    finally:
        os._exit(code)  # nothing of the other process is flushed, closed or cleaned up here


def _end(process: int, reading: int) -> list[tuple[int, Scan]]:
    import pickle

    with open(reading, "rb") as source:
        data = source.read()
    _, status = os.waitpid(process, 0)
    found: list[tuple[int, Scan]] = pickle.loads(data) if status == 0 else []  # noqa: S301  written by a fork of this
    return found
