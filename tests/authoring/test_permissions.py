"""Permissions are part of a version: whatever brings a content back brings them back, too."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authoring.world import World, patched, world
from whet import Library

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["world"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions are another thing there")

PATHS = ("references/a.md", "references/deep/b.md", "scripts/run", "LICENSE")
FILES = st.sampled_from([0o600, 0o644, 0o640, 0o664, 0o444, 0o700, 0o755, 0o750, 0o2644, 0o4755])
FOLDERS = st.sampled_from([0o700, 0o755, 0o750, 0o775])


def modes(top: Path) -> dict[str, int]:
    """What everything in a directory, and the directory, may be used for."""
    return {str(path.relative_to(top)): stat.S_IMODE(path.stat().st_mode) for path in (top, *sorted(top.rglob("*")))}


def without_rights_of_others(found: dict[str, int]) -> dict[str, int]:
    return {path: mode & 0o777 for path, mode in found.items()}


def private(world: World) -> Path:
    """A skill that nobody else may read, with a file in a directory."""
    path = world.skill("a")
    (path / "references").mkdir(mode=0o700)
    (path / "references" / "x.md").write_text("x")
    (path / "references" / "x.md").chmod(0o600)
    (path / "SKILL.md").chmod(0o600)
    path.chmod(0o700)
    return path


def delete_and_restore(library: Library, _: Path) -> None:
    library.edit.delete("a")
    library.edit.restore("a")


def delete_and_undo(library: Library, _: Path) -> None:
    library.edit.delete("a")
    library.history.undo()


def edit_and_undo(library: Library, _: Path) -> None:
    library.edit.apply([patched("a", "Body", "Text")])
    library.history.undo()


def edit_and_roll_back(library: Library, _: Path) -> None:
    library.edit.apply([patched("a", "Body", "Text")])
    library.history.rollback("a")


def remove_and_undo(library: Library, _: Path) -> None:
    library.edit.remove_file("a", "references/x.md")
    library.history.undo()


def rename_and_undo(library: Library, _: Path) -> None:
    library.edit.rename("a", "b")
    library.history.undo()


def rename_there_and_back(library: Library, path: Path) -> None:
    before = modes(path)
    library.edit.rename("a", "b")
    assert modes(path.with_name("b")) == before
    library.edit.rename("b", "a")


def undo_and_redo(library: Library, _: Path) -> None:
    library.edit.delete("a")
    undone = library.history.undo()
    library.history.undo(undone.entries[-1].id)
    library.edit.restore("a")


WAYS = (
    *(delete_and_restore, delete_and_undo, edit_and_undo, edit_and_roll_back, remove_and_undo),
    *(rename_and_undo, rename_there_and_back, undo_and_redo),
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_private_skill_stays_private(way: Callable[[Library, Path], None], world: World) -> None:
    path = private(world)
    before = modes(path)
    library = world.library()
    way(library, path)
    assert modes(path) == before
    assert library.history.verify().problems == ()


def test_a_change_of_permissions_alone_comes_back_with_the_content_that_had_it(world: World) -> None:
    path = world.skill("a")
    library = world.library()
    library.edit.apply([patched("a", "Body", "Text")])
    (path / "SKILL.md").chmod(0o600)
    path.chmod(0o700)
    before = modes(path)
    library.edit.delete("a")
    library.edit.restore("a")
    assert modes(path) == before
    last = library.history.entries().entries
    assert [(entry.action, entry.modes) for entry in last[-2:]] == [
        ("delete", '{"*":"600","*/":"700"}'),
        ("restore", ""),
    ]


@given(files=st.lists(FILES, min_size=5, max_size=5), folders=st.lists(FOLDERS, min_size=4, max_size=4))
@settings(max_examples=100, deadline=None)
def test_whatever_the_permissions_are_they_come_back(files: list[int], folders: list[int]) -> None:
    top = Path(mkdtemp(prefix="whet-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        path = top / "skills" / "a"
        for name in PATHS:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(name)
        (path / "SKILL.md").write_text("---\nname: a\ndescription: Does one thing.\n---\nBody.\n")
        for name, mode in zip((*PATHS, "SKILL.md"), files, strict=True):
            (path / name).chmod(mode)
        for name, mode in zip(("references/deep", "references", "scripts", ""), folders, strict=True):
            (path / name).chmod(mode)
        before = modes(path)
        with Library.open(
            [str(top / "skills")], home=str(top / "state"), project=str(top), env={"HOME": str(top)}
        ) as it:
            edit_and_undo(it, path)
            assert without_rights_of_others(modes(path)) == without_rights_of_others(before)
            it.edit.apply([patched("a", "Body", "Text"), {"action": "remove_file", "name": "a", "file_path": PATHS[1]}])
            it.history.undo()
            assert without_rights_of_others(modes(path)) == without_rights_of_others(before)
            delete_and_restore(it, path)
            assert modes(path) == without_rights_of_others(before)
            assert it.history.verify().problems == ()
    finally:
        rmtree(top)
