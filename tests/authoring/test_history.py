"""Looking back and going back: versions, differences, and every way to have an earlier one again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from authoring.world import World, check_whole, content, created, patched, refused, world
from whet.authoring.history import difference
from whet.skill.tree import Item

if TYPE_CHECKING:
    from whet import Library

__all__ = ["world"]


@pytest.fixture
def library(world: World) -> Library:
    """A library whose one skill has three versions."""
    made = world.library()
    made.edit.apply([created("deploy", "One.\n")])
    made.edit.apply([patched("deploy", "One", "Two")])
    made.edit.apply([patched("deploy", "Two", "Three")])
    return made


def body(world: World) -> str:
    return (world.root / "deploy/SKILL.md").read_text().rpartition("---\n\n")[2]


def test_the_history_of_a_skill_counts_its_versions(library: Library) -> None:
    told = library.edit.history.entries("deploy").to_json()
    assert [(entry["id"], entry["action"], entry["version"]) for entry in told["entries"]] == [
        (1, "create", 1),
        (2, "patch", 2),
        (3, "patch", 3),
    ]
    assert [entry["id"] for entry in library.edit.history.entries(last=2).to_json()["entries"]] == [2, 3]


def test_going_back_to_a_version_is_a_change_like_any_other(world: World, library: Library) -> None:
    before = content(world.root)
    library.edit.history.rollback("deploy", 1)
    assert body(world) == "One.\n"
    library.edit.history.rollback("deploy", 3)
    assert content(world.root) == before
    assert [entry["action"] for entry in library.edit.history.entries("deploy").to_json()["entries"][3:]] == [
        "rollback",
        "rollback",
    ]
    check_whole(world.state, world.root)


def test_going_back_without_a_number_goes_to_what_was_before_the_last_change(world: World, library: Library) -> None:
    library.edit.history.rollback("deploy")
    assert body(world) == "Two.\n"
    (world.root / "deploy/SKILL.md").write_text("---\nname: deploy\ndescription: Does it.\n---\n\nBy hand.\n")
    library.edit.history.rollback("deploy")
    assert body(world) == "Two.\n", "the edit by hand is the last change"
    library.edit.history.rollback("deploy")
    assert body(world) == "By hand.\n", "and nothing of it is lost"
    check_whole(world.state, world.root)


def test_a_skill_that_is_gone_comes_back_by_going_back(world: World, library: Library) -> None:
    before = content(world.root)
    library.edit.apply([{"action": "delete", "name": "deploy"}])
    library.edit.history.rollback("deploy")
    assert content(world.root) == before


@pytest.mark.parametrize("number", [0, 4, -1])
def test_a_version_that_is_none_is_not_found(library: Library, number: int) -> None:
    assert "1 to 3" in refused(lambda: library.edit.history.rollback("deploy", number), "no-such-version").hint


def test_going_where_one_is_changes_nothing(library: Library) -> None:
    refused(lambda: library.edit.history.rollback("deploy", 3), "nothing-changes")


def test_a_skill_that_was_never_changed_has_no_earlier_version(world: World, library: Library) -> None:
    world.skill("plain")
    refused(lambda: library.edit.history.rollback("plain"), "no-such-version")
    refused(lambda: library.edit.history.diff("plain"), "no-such-version")
    assert library.edit.history.entries("plain").to_json()["entries"] == []


def test_the_difference_between_versions_and_what_is_there(world: World, library: Library) -> None:
    text = library.edit.history.diff("deploy", 1, 2).to_json()["text"]
    assert "-One.\n+Two.\n" in text and text.startswith("--- state-1/SKILL.md\n+++ state-2/SKILL.md\n")
    assert "-Two.\n+Three.\n" in library.edit.history.diff("deploy").to_json()["text"]
    (world.root / "deploy/SKILL.md").write_text((world.root / "deploy/SKILL.md").read_text() + "More.\n")
    assert library.edit.history.diff("deploy").to_json()["text"].endswith("+More.\n")


def test_a_difference_names_what_is_not_text() -> None:
    before = {"a": Item(b"\0"), "link": Item(b"x", link=True), "run": Item(b"x\n"), "last": Item(b"no newline")}
    after = {"a": Item(b"\0\0"), "run": Item(b"x\n", executable=True), "last": Item(b"none here")}
    assert difference(before, after, ("old", "new")) == (
        "a: 1 bytes -> 2 bytes\n"
        "--- old/last\n+++ new/last\n@@ -1 +1 @@\n-no newline\n\\ No newline at end of file\n"
        "+none here\n\\ No newline at end of file\n"
        "link: a link to x -> nothing\n"
        "run: now executable\n"
    )


def test_what_was_deleted_last_is_restored_and_nothing_is_overwritten(world: World, library: Library) -> None:
    library.edit.apply([{"action": "delete", "name": "deploy"}])
    library.edit.apply([created("deploy", "Another.\n")])
    refused(lambda: library.edit.apply([{"action": "restore", "name": "deploy"}]).to_json(), "nothing-to-restore")
    library.edit.apply([{"action": "delete", "name": "deploy"}])
    library.edit.apply([{"action": "restore", "name": "deploy"}])
    assert body(world) == "Another.\n"
    library.edit.history.rollback("deploy", 3)
    assert body(world) == "Three.\n"
    error = refused(
        lambda: library.edit.apply([{"action": "restore", "name": "deplyo"}]).to_json(), "nothing-to-restore"
    )
    assert error.details["suggestions"] == []


def test_a_directory_where_a_deleted_skill_was_is_not_overwritten(world: World, library: Library) -> None:
    library.edit.apply([{"action": "delete", "name": "deploy"}])
    (world.root / "deploy").mkdir()
    (world.root / "deploy/mine.txt").write_text("mine")
    refused(lambda: library.edit.apply([{"action": "restore", "name": "deploy"}]).to_json(), "skill-exists")
    assert content(world.root) == {"deploy/mine.txt": b"mine"}


def test_the_history_goes_back_beyond_a_rename(library: Library) -> None:
    library.edit.apply([{"action": "rename", "name": "deploy", "new_name": "ship"}])
    library.edit.apply([{"action": "rename", "name": "ship", "new_name": "launch"}])
    told = library.edit.history.entries("launch").to_json()["entries"]
    assert [(entry["id"], entry["skill"], entry["version"]) for entry in told] == [
        (1, "deploy", None),
        (2, "deploy", None),
        (3, "deploy", None),
        (4, "deploy", None),
        (5, "ship", None),
        (6, "ship", None),
        (7, "launch", 1),
    ]
    assert [entry["id"] for entry in library.edit.history.entries("launch", last=2).to_json()["entries"]] == [6, 7]
