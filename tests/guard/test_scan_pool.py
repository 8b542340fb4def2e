"""Several packages scanned at once find what each finds alone, and whatever goes wrong is scanned again."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from whet.guard import scan_pool
from whet.guard.scan import scan
from whet.guard.scan_pool import WORTH_BYTES, scan_together
from whet.skill.tree import Item

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def test_a_share_that_fails_has_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    many, here = packages(), os.getpid()

    def look(files: Mapping[str, Item], origin: str) -> object:
        if os.getpid() != here:
            os._exit(9)
        return scan(files, origin)

    monkeypatch.setattr("whet.guard.scan.scan", look)
    found = scan_together(many)
    assert 0 < found.count(None) < 5
    assert [one for one in found if one] == [scan(*package) for package, one in zip(many, found, strict=True) if one]


def test_a_scanner_that_raises_leaves_the_package_to_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(_files: Mapping[str, Item], _origin: str) -> object:
        raise ValueError("odd")

    monkeypatch.setattr("whet.guard.scan.scan", look)
    assert scan_together(packages()) == [None] * 5
