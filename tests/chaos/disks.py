"""Disks without room: full after every count of bytes, out of inodes, or for reading only.

The machine lies on a file system of its own, in memory, which only this process and its children see.
"""

from __future__ import annotations

import ctypes
import os
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chaos.kills import COMMANDS, PREPARED, Outcome, check_settled, words_of
from chaos.verdict import Unit, Verdict, number_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chaos.machine import Stock
    from chaos.verdict import Failure

PAGE = 4096
SIZE = 48 << 20
INODES = 6000
CASES = tuple(
    case for case in COMMANDS if case not in ("snapshot", "migrate", "write-file", "remove-file", "undo-entry")
)
_REMOUNT, _READ_ONLY = 32, 1


def _mount(source: str, target: str, kind: str, flags: int, data: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def mounted(stock: Stock) -> None:
    """Have the machine of this stock on a file system of its own from now on."""
    directory = stock.machine.top.parent / "disk"
    if stock.machine.top.parent.name == "disk" or directory.exists():
        return
    directory.mkdir()
    _mount("whet-chaos", str(directory), "tmpfs", 0, f"size={SIZE},nr_inodes={INODES}")
    stock.move(directory / "now")


@contextmanager
def full(disk: Path, *, room: int, inodes: int | None = None) -> Iterator[None]:
    """Nothing but so many bytes, or so many inodes, is free."""
    filler = disk / "filler"
    if inodes is None:
        state = os.statvfs(disk)
        fd = os.open(filler, os.O_CREAT | os.O_WRONLY)
        os.posix_fallocate(fd, 0, max(1, state.f_bavail * state.f_frsize - room))
        os.close(fd)
    else:
        filler.mkdir()
        (filler / "0").touch()
        for number in range(os.statvfs(disk).f_favail - inodes):
            (filler / str(number + 1)).touch()
    try:
        yield
    finally:
        if inodes is None:
            filler.unlink()
        else:
            for path in filler.iterdir():
                path.unlink()
            filler.rmdir()


def need(stock: Stock, case: str) -> int:
    """About how many pages a command needs: the fewest of powers of two with which it is done."""
    pages = 8
    while pages < 2048:
        machine = stock.take(PREPARED.get(case, "rich"))
        with full(machine.top.parent, room=pages * PAGE):
            if machine.whet(*words_of(machine, case)).status == 0:
                return pages
        pages *= 2
    return pages


def units(stock: Stock, count: int, seed: int) -> list[Unit]:
    """Every page count below what each command needs, or so many, drawn evenly; inodes and reading only beside them."""
    mounted(stock)
    every = [Unit("full", case, f"{pages} pages") for case in CASES for pages in range(need(stock, case) + 1)]
    some = every if count <= 0 or count >= len(every) else random.Random(seed).sample(every, count)
    inodes = [Unit("full", "no inodes", f"{case} {left}") for case in CASES for left in (0, 1, 2, 4, 7, 12, 20)]
    reading = [Unit("full", "read-only", f"{case} {place}") for case in CASES for place in ("all", "state", "home")]
    return [*some, *(inodes[seed % 7 :: 7] if 0 < count < 500 else inodes), *reading]


def run(stock: Stock, unit: Unit) -> list[Failure]:
    """One command on such a disk: old or new, its exit code says which, and with room again everything works."""
    mounted(stock)
    verdict = Verdict(unit)
    case = unit.case if unit.at.endswith(" pages") else unit.at.split()[0]
    expected = Outcome.of(stock, case)
    machine = stock.take(PREPARED.get(case, "rich"))
    words = words_of(machine, case)
    if not verdict.expect(expected.status == 0, "wrong", f"with room: {expected.told}"):
        return verdict.failures
    if unit.case == "read-only":
        with reading_only(machine.top, unit.at.split()[1]):
            done = verdict.ran(machine.whet(*words))
            listed = verdict.ran(machine.whet("list", "--all"))
            seen = machine.listed(listed)
    else:
        number = int(unit.at.split()[0 if unit.at.endswith(" pages") else 1])
        given = {"room": 1 << 20, "inodes": number} if unit.case == "no inodes" else {"room": number * PAGE}
        with full(machine.top.parent, **given):
            done = verdict.ran(machine.whet(*words))
            listed = verdict.ran(machine.whet("list", "--all"))
            seen = machine.listed(listed)
    if listed.status == 0:
        verdict.old_or_new(seen, expected.before.skills, expected.after.skills)
    told = f"{done.answer.get('code', '')} {done.answer.get('error', '')}"
    before, after = expected.before.view, expected.after.view
    now = machine.facts()
    if before != after:
        is_done = "not yet written down" in told or "done" in told.split(";", maxsplit=1)[0].lower().split()
        if done.status == 0:
            verdict.expect(now.view == after, "lost", "said to be done, and is not there")
        elif now.skills == expected.after.skills != expected.before.skills:
            verdict.expect(is_done, "wrong", f"said to have failed, but it is done: {told}")
    if done.status == 4:
        verdict.expect("who owns" not in told, "wrong", f"misleading: {told} {done.answer.get('hint', '')}")
    check_settled(verdict, machine, expected.before, expected.after, acknowledged=done.status == 0)
    if number_of(unit) % 3 == 0 and not verdict.failures:
        verdict.repaired(machine, twice=False)
    if number_of(unit) % 2 == 0 and machine.facts().view == before != after:
        again = verdict.ran(machine.whet(*words))
        verdict.expect(again.status == 0, "wrong", f"with room again: {again}")
        verdict.expect(machine.facts().view == after, "wrong", "with room again, something else comes of it")
    return verdict.failures


@contextmanager
def reading_only(top: Path, what: str) -> Iterator[None]:
    """The whole disk, or all directories of a part of it, may only be read."""
    if what == "all":
        _mount("whet-chaos", str(top.parent), "tmpfs", _REMOUNT | _READ_ONLY, "")
        try:
            yield
        finally:
            _mount("whet-chaos", str(top.parent), "tmpfs", _REMOUNT, f"size={SIZE},nr_inodes={INODES}")
        return
    modes = {path: path.stat().st_mode for path in (top / what, *(top / what).rglob("*")) if not path.is_symlink()}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode)
