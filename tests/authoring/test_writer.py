"""The one way a skill changes: compared, written down, all of it or nothing, and settled by whoever comes next."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from authoring.world import World, check_whole, content, created, digest_of, patched, refused, world
from whet.authoring.journal import Journal
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance, TreeChange, Writer
from whet.library.package import read_tree
from whet.skill.tree import Item, Tree
from whet.store.atomic import Swap, temporary_path
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["world"]

BY = Provenance("agent", "background", "Why.", "safe")
OLD: Tree = {"SKILL.md": Item(b"old")}
NEW: Tree = {"SKILL.md": Item(b"new"), "a": Item(b"a")}


@pytest.fixture
def writer(world: World) -> Iterator[Writer]:
    journal = world.journal()
    with closing(journal.state):
        yield Writer(journal, str(world.state))


def change(world: World, name: str, after: Tree | None, expected: str | None = None) -> TreeChange:
    return TreeChange("patch", name, str(world.root / name), after, expected)


def crash(writer: Writer, monkeypatch: pytest.MonkeyPatch, changes: list[TreeChange], after: int) -> None:
    """Let a writer vanish after it has changed so many of the skills."""
    left = [after]

    def dying(swap: Swap, *_: object, apply: Callable[[Swap], None] = Swap.apply) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise SystemExit
        apply(swap)

    with monkeypatch.context() as patch:
        patch.setattr(Swap, "apply", dying)
        patch.setattr(Writer, "_take_back", lambda *_: None)
        if after >= len(changes):
            patch.setattr(Journal, "settle", dying)
        with pytest.raises((SystemExit, TypeError)):
            writer.write(changes, BY)
    assert len(writer.journal.edits()) == 1


def test_a_change_is_entered_with_what_was_before_and_after(world: World, writer: Writer) -> None:
    (first,) = writer.write([change(world, "a", OLD)], BY)
    (second,) = writer.write([change(world, "a", NEW)], BY._replace(run="r"))
    assert (first.before, first.after, second.before, second.after) == ("", digest(OLD), digest(OLD), digest(NEW))
    assert (second.actor, second.origin, second.reason, second.checked, second.run) == (
        "agent",
        "background",
        "Why.",
        "safe",
        "r",
    )
    assert read_tree(str(world.root / "a")) == NEW
    check_whole(world.state, world.root)


def test_changes_made_together_share_a_run_and_others_do_not(world: World, writer: Writer) -> None:
    one, two = writer.write([change(world, "a", OLD), change(world, "b", OLD)], BY)
    (three,) = writer.write([change(world, "a", NEW)], BY)
    assert one.run == two.run != three.run


def test_what_the_caller_did_not_see_is_not_overwritten(world: World, writer: Writer) -> None:
    writer.write([change(world, "a", OLD)], BY)
    error = refused(
        lambda: writer.write([change(world, "b", OLD), change(world, "a", NEW, "sha256:other")], BY), "skill-changed"
    )
    assert error.details["digest"] == digest(OLD)
    assert content(world.root) == {"a/SKILL.md": b"old"}
    check_whole(world.state, world.root)


def test_an_edit_by_hand_gets_an_entry_of_its_own_that_belongs_to_no_run(world: World, writer: Writer) -> None:
    path = world.skill("a")
    was = digest_of(str(path))
    writer.write([change(world, "a", OLD)], BY)
    (path / "SKILL.md").write_bytes(b"by hand")
    by_hand = digest_of(str(path))
    writer.write([change(world, "a", NEW)], BY._replace(run="r"))
    told = [(entry.action, entry.actor, entry.before, entry.after, entry.run) for entry in writer.journal.entries()]
    assert [told[0], *told[2:]] == [
        ("found", "unknown", "", was, ""),
        ("found", "unknown", digest(OLD), by_hand, ""),
        ("patch", "agent", by_hand, digest(NEW), "r"),
    ]
    check_whole(world.state, world.root)


def test_an_edit_by_hand_in_the_last_moment_is_not_overwritten(
    world: World, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write([change(world, "a", OLD), change(world, "b", OLD)], BY)
    begin = Journal.begin

    def meanwhile(journal: Journal, *arguments: object) -> None:
        begin(journal, *arguments)  # type: ignore[arg-type]  # passed on as they are
        (world.root / "b/SKILL.md").write_bytes(b"by hand")

    monkeypatch.setattr(Journal, "begin", meanwhile)
    refused(lambda: writer.write([change(world, "a", NEW), change(world, "b", NEW)], BY), "skill-changed")
    assert content(world.root) == {"a/SKILL.md": b"old", "b/SKILL.md": b"by hand"}
    assert writer.journal.edits() == []


def test_when_one_of_several_changes_fails_the_others_are_put_back(world: World, writer: Writer) -> None:
    writer.write([change(world, "a", OLD), change(world, "b", OLD)], BY)
    (world.root / "b/.git").mkdir()
    before = content(world.root)
    refused(
        lambda: writer.write([change(world, "a", NEW), change(world, "c", NEW), change(world, "b", None)], BY),
        "holds-repository",
    )
    assert content(world.root) == before and not (world.root / "c").exists()
    assert len(writer.journal.entries()) == 2
    check_whole(world.state, world.root)


def test_an_interruption_after_the_entry_does_not_take_the_change_back(
    world: World, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = Writer._settle

    def interrupted(writer: Writer, *arguments: object) -> None:
        settle(writer, *arguments)  # type: ignore[arg-type]  # passed on as they are
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "_settle", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.write([change(world, "a", OLD)], BY)
    assert len(writer.journal.entries()) == 1 and read_tree(str(world.root / "a")) == OLD
    check_whole(world.state, world.root)


@pytest.mark.parametrize(
    ("after", "said", "expected"),
    [(0, "incomplete; it is undone.", OLD), (1, "incomplete; it is undone.", OLD), (2, "complete", NEW)],
)
def test_whoever_comes_next_settles_what_a_killed_writer_left(
    world: World, writer: Writer, monkeypatch: pytest.MonkeyPatch, after: int, said: str, expected: Tree
) -> None:
    writer.write([change(world, "a", OLD), change(world, "b", OLD)], BY)
    crash(writer, monkeypatch, [change(world, "a", NEW), change(world, "b", NEW)], after)
    (told,) = writer.recover()
    assert told.startswith("A change to a, b was ") and said in told
    assert [read_tree(str(world.root / name)) for name in "ab"] == [expected, expected]
    assert writer.recover() == ()
    check_whole(world.state, world.root)


def test_a_skill_that_was_edited_after_the_kill_is_left_as_it_is(
    world: World, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write([change(world, "a", OLD), change(world, "b", OLD)], BY)
    crash(writer, monkeypatch, [change(world, "a", NEW), change(world, "b", NEW)], 1)
    (world.root / "a/SKILL.md").write_bytes(b"by hand")
    (world.root / "b/SKILL.md").write_bytes(b"by hand too")
    writer.recover()
    assert content(world.root) == {"a/SKILL.md": b"by hand", "a/a": b"a", "b/SKILL.md": b"by hand too"}
    writer.write([change(world, "a", OLD), change(world, "b", OLD)], BY)
    check_whole(world.state, world.root)


def test_a_living_writer_is_not_disturbed(world: World, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    crash(writer, monkeypatch, [change(world, "a", OLD)], 1)
    with FileLock(lock_path(str(world.state), "skill", str(world.root / "a")), timeout=0):
        assert writer.recover() == ()
        assert len(writer.journal.edits()) == 1
        writer.write([change(world, "b", OLD)], BY)  # another skill does not wait
    assert len(writer.recover()) == 1


def test_what_a_killed_writer_left_beside_and_in_a_skill_is_removed(
    world: World, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write([change(world, "a", {**OLD, "references/x.md": Item(b"x")})], BY)
    crash(writer, monkeypatch, [change(world, "a", NEW)], 0)
    for path in ("a", "a/SKILL.md", "a/references/x.md"):
        with open(temporary_path(str(world.root / path)), "wb") as file:
            file.write(b"half")
    writer.recover()
    assert content(world.root) == {"a/SKILL.md": b"old", "a/references/x.md": b"x"}


def test_one_change_that_cannot_be_settled_stops_no_other_skill(
    world: World, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write([change(world, "a", OLD)], BY)
    crash(writer, monkeypatch, [change(world, "a", NEW)], 0)
    os.mkfifo(world.root / "a/pipe")
    (told,) = writer.recover()
    assert told.startswith("A change to a could not be finished or undone: ") and "pipe" in told
    writer.write([change(world, "b", OLD)], BY)
    error = refused(lambda: writer.write([change(world, "a", NEW)], BY), "unsettled-change")
    assert "pipe" in error.message
    os.unlink(world.root / "a/pipe")
    writer.write([change(world, "a", NEW)], BY)
    check_whole(world.state, world.root)


def test_a_linked_directory_is_one_skill_under_all_its_names(world: World, writer: Writer, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", world.root / "link")
    (entry,) = writer.write([TreeChange("create", "a", str(world.root / "link/a"), OLD)], BY)
    assert entry.path == str(tmp_path / "elsewhere/a")
    os.symlink(tmp_path / "elsewhere/a", world.root / "a")
    (entry,) = writer.write([TreeChange("patch", "a", str(world.root / "a"), NEW, digest(OLD))], BY)
    assert (entry.path, entry.before) == (str(tmp_path / "elsewhere/a"), digest(OLD))
    assert os.path.islink(world.root / "a") and read_tree(str(world.root / "a")) == NEW


def test_skills_and_state_may_lie_on_different_file_systems(world: World) -> None:
    from tempfile import TemporaryDirectory

    here = os.stat(world.root).st_dev
    writable = (path for path in ("/dev/shm", "/tmp", "/var/tmp") if os.access(path, os.W_OK))
    second = next((path for path in writable if os.stat(path).st_dev != here), None)
    if second is None:
        pytest.skip("there is no second file system")
    with TemporaryDirectory(dir=second) as place:
        library = world.library(home=place)
        library.edit.apply([created("a")])
        library.edit.apply(
            [
                {"action": "write_file", "name": "a", "file_path": "references/x.md", "content": "x"},
                patched("a", "this", "it"),
            ]
        )
        library.edit.apply([{"action": "rename", "name": "a", "new_name": "b"}])
        library.edit.apply([{"action": "delete", "name": "b"}])
        library.edit.apply([{"action": "restore", "name": "b"}])
        check_whole(place, world.root)
        assert sorted(content(world.root)) == ["b/SKILL.md", "b/references/x.md"]
        library.close()


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are another thing there")
def test_patches_keep_permissions_and_other_files_keep_their_times(world: World) -> None:
    path = world.skill("a")
    (path / "references").mkdir()
    (path / "references/x.md").write_text("x")
    os.utime(path / "references/x.md", ns=(10**18, 10**18))
    os.chmod(path / "SKILL.md", 0o600)
    library = world.library()
    library.edit.apply([patched("a", "Body", "Text")])
    library.edit.apply([{"action": "write_file", "name": "a", "file_path": "references/y.md", "content": "y"}])
    assert stat.S_IMODE((path / "SKILL.md").stat().st_mode) == 0o600
    assert (path / "references/x.md").stat().st_mtime_ns == 10**18
