from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from whet.api import Reload
from whet.errors import UsageError
from whet.extras import how_to_install
from whet.library import watch
from whet.library.watch import wait_for_changes

if TYPE_CHECKING:
    from collections import Counter
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


# what the kernel reports

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has inotify")


def edit(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write("More.\n")


def edit_in_secret(path: str) -> None:
    """Edit a file and set its time back."""
    found = os.stat(path)
    edit(path)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def replace(path: str) -> None:
    edit(shutil.copy(path, f"{path}.new"))
    os.replace(f"{path}.new", path)


def link(path: str) -> None:
    os.link(path, f"{path}.link")


def replace_root(path: str) -> None:
    """Move the directory of all skills away, and put a copy in its place."""
    root = os.path.dirname(os.path.dirname(path))
    os.rename(root, f"{root}-before")
    shutil.copytree(f"{root}-before", root)


TOUCHES: list[Callable[[str], object]] = [
    edit,
    edit_in_secret,
    replace,
    replace_root,
    link,
    os.unlink,
    lambda path: shutil.rmtree(os.path.dirname(path)),
    lambda path: os.rename(os.path.dirname(path), f"{os.path.dirname(path)}-new"),
    lambda path: os.mkdir(os.path.join(os.path.dirname(path), "agents")),
    lambda path: os.chmod(path, 0o600),
]


@on_linux
@pytest.mark.parametrize("touch", TOUCHES)
def test_a_look_asks_the_kernel_and_misses_nothing(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str], touch: Callable[[str], None]
) -> None:
    paths = [skill(root, f"skill-{number}") for number in range(20)]
    library, other = opened(root, settled=True), opened(root, settled=True)
    library.workspace.watch()
    for _ in range(2):
        catalogue = library.catalogue
    io.clear()
    assert library.catalogue is catalogue
    assert io["stat"] < 20  # none of a skill
    touch(paths[7])
    assert library.catalogue == other.catalogue
    assert library.catalogue is not catalogue
    skill(root, "another")
    for number in (3, 4):
        edit(paths[number])
        assert library.catalogue == other.catalogue
        assert library.catalogue == other.catalogue, "by now the kernel was asked again"


@on_linux
def test_what_changes_without_a_report_is_seen_after_a_while(
    root: str,
    tmp_path: Path,
    skill: Callable[..., str],
    opened: Callable[..., Library],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = skill(root, "linked-later")
    library, other = opened(root, settled=True), opened(root, settled=True)
    library.workspace.watch()
    assert library.catalogue == library.catalogue
    os.link(path, tmp_path / "second-name")
    library.catalogue  # noqa: B018  a look: the second name is not in the directory that the kernel reports
    edit(str(tmp_path / "second-name"))
    later = time.monotonic() + 60
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert library.catalogue == other.catalogue


@on_linux
def test_what_the_kernel_does_not_report_is_looked_at(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    outside = skill(str(tmp_path / "home"), "outside")
    os.symlink(os.path.dirname(outside), os.path.join(root, "outside"))
    linked = skill(root, "linked")
    os.link(linked, tmp_path / "second-name")
    (tmp_path / "real").mkdir()
    os.rename(skill(root, "file"), tmp_path / "real" / "SKILL.md")
    os.symlink(tmp_path / "real" / "SKILL.md", os.path.join(root, "file", "SKILL.md"))
    library, other = (opened(root, str(tmp_path / "home"), str(tmp_path / "real"), settled=True) for _ in range(2))
    library.workspace.watch()
    for path in (outside, str(tmp_path / "second-name"), str(tmp_path / "real" / "SKILL.md")):
        for _ in range(2):
            before = library.catalogue
        edit(path)
        assert library.catalogue == other.catalogue
        assert library.catalogue is not before


@on_linux
def test_a_watch_that_cannot_follow_everything_loses_nothing(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = skill(root, "one")
    library, other = (opened(root, settled=True) for _ in range(2))
    library.workspace.watch()
    kernel = library.workspace._watch
    assert kernel
    monkeypatch.setattr(kernel, "_most", 0)  # no directory more
    for _ in range(2):
        before = library.catalogue
    edit(path)
    assert library.catalogue == other.catalogue != before
    monkeypatch.undo()
    for _ in range(2):
        before = library.catalogue
    kernel._forget({watch._EVERYTHING})  # the queue was too short
    edit(path)
    assert library.catalogue == other.catalogue != before
    library.close()
    edit(path)
    assert library.catalogue == other.catalogue


def test_elsewhere_everything_is_looked_at(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert watch.KernelWatch.open() is None
    path = skill(root, "one")
    library, other = (opened(root, settled=True, platform="linux") for _ in range(2))
    library.workspace.watch()
    assert library.catalogue == other.catalogue
    edit(path)
    assert library.catalogue == other.catalogue
