"""Several packages scanned at once find what each finds alone, and whatever goes wrong is scanned again."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from whet.guard import scan_pool
from whet.guard.scan import scan
from whet.guard.scan_cache import ScanCache
from whet.guard.scan_pool import WORTH_BYTES, Ahead, scan_together
from whet.skill.tree import Item
from whet.store.cache import CacheDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


def packages(size: int = WORTH_BYTES // 4) -> list[tuple[Mapping[str, Item], str]]:
    words = ("Count the pages. " * (size // 17)).encode()
    return [
        ({"SKILL.md": Item(f"---\nname: s{number}\ndescription: Counts.\n---\n".encode() + words)}, "")
        for number in range(5)
    ]


@pytest.fixture(autouse=True)
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of them, whatever this machine has; and threads that other tests left idle in this process do not count."""
    monkeypatch.setattr(scan_pool, "_count_processors", lambda: 3)
    count = threading.active_count
    left = count() - 1
    monkeypatch.setattr(threading, "active_count", lambda: count() - left)
    scan_pool._load()  # its scan of a sample is not one of those that are counted below


def test_each_finds_what_it_finds_alone() -> None:
    many = packages()
    assert scan_together(many) == [scan(*package) for package in many]


def test_little_is_scanned_in_this_process_and_so_is_all_beside_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    few = packages(100)
    assert scan_together(few) == [scan(*package) for package in few]
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    many = packages()
    assert scan_together(many) == [scan(*package) for package in many]
    ended.set()
    other.join()


def test_what_a_killed_process_had_taken_has_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    many, here = packages(), os.getpid()
    taken, takes = os.pipe()
    scanned: list[object] = []

    def look(files: Mapping[str, Item], origin: str) -> object:
        if os.getpid() != here:
            os.write(takes, b"1")
            os.kill(os.getpid(), signal.SIGKILL)
        if scanned:
            os.read(taken, 1)  # the other processes have taken theirs
        scanned.append(files)
        return scan(files, origin)

    monkeypatch.setattr("whet.guard.scan.scan", look)
    found = scan_together(many)
    os.close(taken)
    os.close(takes)
    assert found.count(None) == 2
    assert [one for one in found if one] == [scan(*package) for package, one in zip(many, found, strict=True) if one]


def test_no_process_is_left_when_this_one_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()
    forked: list[int] = []
    fork = os.fork

    def look(files: Mapping[str, Item], origin: str) -> object:
        if os.getpid() != here:
            signal.pause()
        if forked:
            raise KeyboardInterrupt
        return scan(files, origin)

    def counting_fork() -> int:
        forked.append(fork())
        return forked[-1]

    monkeypatch.setattr("whet.guard.scan.scan", look)
    monkeypatch.setattr(os, "fork", counting_fork)
    with pytest.raises(KeyboardInterrupt):
        scan_together(packages())
    assert len(forked) == 2
    for process in forked:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_where_no_process_can_be_started_this_one_scans_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fork)
    many = packages()
    assert scan_together(many) == [scan(*package) for package in many]


def test_a_scanner_that_raises_leaves_the_package_to_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(_files: Mapping[str, Item], _origin: str) -> object:
        raise ValueError("odd")

    monkeypatch.setattr("whet.guard.scan.scan", look)
    assert scan_together(packages()) == [None] * 5


@pytest.fixture
def ahead() -> Iterator[Ahead]:
    started = Ahead()
    yield started
    started.end()


def test_a_process_ahead_finds_what_each_finds_alone(ahead: Ahead) -> None:
    many = packages()
    assert ahead.ask(many)
    assert ahead.scans() == [scan(*package) for package in many]


def test_a_process_ahead_is_started_only_where_it_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    assert Ahead.start() is None  # the rules are loaded here
    monkeypatch.delitem(sys.modules, "whet.guard.scan")
    monkeypatch.setattr(scan_pool, "_count_processors", lambda: 1)
    assert Ahead.start() is None
    monkeypatch.setattr(scan_pool, "_count_processors", lambda: 2)
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert Ahead.start() is None


def test_what_is_too_much_to_send_is_scanned_by_forks(ahead: Ahead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_pool, "_MOST_SENT", WORTH_BYTES)
    assert not ahead.ask(packages())


@pytest.mark.parametrize("asked", [False, True])
def test_the_processes_ahead_end_together(asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    here, (started, starts) = os.getpid(), os.pipe()

    def look(_files: Mapping[str, Item], _origin: str) -> object:
        assert os.getpid() != here
        os.write(starts, os.getpid().to_bytes(4, "big"))
        signal.pause()
        raise AssertionError

    monkeypatch.setattr("whet.guard.scan.scan", look)
    ahead = Ahead()
    running = [ahead._process._id]
    if asked:
        ahead.ask(packages())
        running = [int.from_bytes(os.read(started, 4), "big") for _ in range(3)]
    ahead.end()
    os.close(starts)
    assert os.read(started, 1) == b""  # every process that could write to it has ended
    os.close(started)
    with pytest.raises(ProcessLookupError):
        os.kill(running[0] if not asked else ahead._process._id, 0)


def test_where_the_process_ahead_fails_this_one_scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many, started = packages(), []

    def start() -> Ahead:
        started.append(Ahead())
        return started[0]

    monkeypatch.setattr(Ahead, "start", start)
    database = CacheDatabase(str(tmp_path / "state"))
    cache = ScanCache(database, lambda: 7)
    with cache.expecting():
        os.kill(started[0]._process._id, signal.SIGKILL)
        cache.scan_ahead(many)
        found = [cache.scan(*package) for package in many]
    assert found == [scan(*package) for package in many]
    database.close()


def test_nothing_more_is_taken_when_a_parent_was_killed() -> None:
    queue = os.memfd_create("packages")
    os.write(queue, b"".join(number.to_bytes(4, "big") for number in range(5)))
    os.lseek(queue, 0, os.SEEK_SET)
    here = scan_pool._take(queue, os.getppid())
    assert [next(here), next(here)] == [0, 1]
    assert list(scan_pool._take(queue, os.getpid())) == []
    assert list(here) == []
    os.close(queue)
