from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import pytest

from whet.api import Reload
from whet.errors import UsageError
from whet.extras import how_to_install
from whet.library.watch import wait_for_changes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library


def change(added: list[str], removed: list[str], edited: list[str], unchanged: int, total: int) -> Reload:
    return Reload(tuple(added), tuple(removed), tuple(edited), unchanged, total)


def test_a_change_is_told_as_it_happens(root: str, skill: Callable[..., str], opened: Callable[..., Library]) -> None:
    skill(root, "old")
    library = opened(root)
    told = threading.Event()

    def write() -> None:
        """Write until somebody notices: nobody knows when exactly the watching begins."""
        while not told.is_set():
            skill(root, "fresh")
            told.wait(0.2)

    changes = library.watch()
    writer = threading.Timer(0.3, write)
    writer.start()
    try:
        assert next(changes) == change(["fresh"], [], [], 1, 2)
    finally:
        told.set()
        writer.join()
        changes.close()  # type: ignore[attr-defined]  # a generator, which the signature does not promise


def test_without_the_extra_it_is_said_how_to_get_it(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(UsageError) as caught:
        next(wait_for_changes([root]))
    assert (caught.value.code, caught.value.hint) == (
        "extra-missing",
        f"Install it with `{how_to_install('watch')}`.",
    )


def test_directories_that_are_missing_are_not_watched(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def watch(*directories: str, **_: object) -> list[set[object]]:
        asked.append(directories)
        return [set(), set()]

    monkeypatch.setattr("watchfiles.watch", watch)
    assert list(wait_for_changes([root, str(tmp_path / "gone")])) == [None, None]
    assert asked == [(root,)]
