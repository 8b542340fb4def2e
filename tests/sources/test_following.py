"""The lock goes along with whatever happens to installed skills by other ways than plans."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from sources.world import BODY, World, main, refused, told, world

if TYPE_CHECKING:
    from whet import Library

__all__ = ["world"]

NEWER = BODY.replace("Last", "Newer")
NEWEST = BODY.replace("Last", "Newest")


@pytest.fixture
def library(world: World) -> Library:
    """A library in which `deploy` and `pdf` are installed."""
    for name in ("deploy", "pdf"):
        world.offer(name)
    made = world.library()
    made.sources.install(str(world.shelf), every=True)
    return made


def last(library: Library, name: str) -> str:
    """The number of the last entry about a skill."""
    return str(library.edit.history.entries(name).to_json()["entries"][-1]["id"])


def test_undoing_an_installation_takes_it_out_of_the_lock(world: World, library: Library) -> None:
    before = world.locked()
    answer = library.history.undo(last(library, "deploy")).to_json()
    assert (list(world.there()), list(world.locked())) == (["pdf"], ["skills/pdf"])
    library.history.undo(str(answer["entry"]))
    assert world.locked() == before


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("how", ["undo", "run", "rollback"])
def test_going_back_before_an_update_makes_it_outdated_again(
    world: World, library: Library, how: str, *, edited: bool
) -> None:
    if edited:
        world.edit("deploy", "First", "My")
    before = world.there(), world.locked()
    world.offer("deploy", NEWER)
    library.sources.update()
    after = world.there(), world.locked()
    if how == "rollback":
        library.history.rollback("deploy")
    else:
        entry = library.edit.history.entries("deploy").to_json()["entries"][-1]
        library.history.undo(entry["run"] if how == "run" else str(entry["id"]))
    assert (world.there(), world.locked()) == before
    assert library.sources.verify("deploy").valid is not edited
    library.history.undo(last(library, "deploy"))
    assert (world.there(), world.locked()) == after, "going forward again"
    library.history.rollback("deploy")
    assert told(library.sources.plan_update("deploy")) == {"deploy": ("merge" if edited else "update", "ready", "")}
    library.sources.update()
    assert world.there() == after[0]


def test_updates_that_keep_all_of_your_lines_are_undone_one_by_one(world: World, library: Library) -> None:
    world.edit("deploy", "Last", "My")
    seen = [world.locked()["skills/deploy"]]
    for body in (NEWER, NEWEST):
        world.offer("deploy", body)
        assert told(library.sources.plan_update("deploy")) == {"deploy": ("merge", "conflict", "update-conflict")}
        library.sources.update("deploy", prefer="ours")
        seen.append(world.locked()["skills/deploy"])
    files, updates = world.there(), [run[0].id for run in library.history.undoable()[:2]]
    assert len({entry.digest for entry in seen}) == 3
    assert refused(lambda: library.history.undo(updates[1]), "cannot-undo").details["entry"] == updates[1]
    library.settings.pin("deploy", "It works.")
    library.settings.unpin("deploy")
    assert [library.history.undo().undone[0].action for _ in range(2)] == ["unpin", "pin"]
    for entry in reversed(seen[:2]):
        undone = library.history.undo()
        assert world.locked()["skills/deploy"] == entry
    assert told(library.sources.plan_update("deploy")) == {"deploy": ("merge", "conflict", "update-conflict")}
    library.history.undo(undone.entries[0].id)
    assert (world.there(), world.locked()["skills/deploy"]) == (files, seen[1]), "an undo is undone like any change"


def test_undoing_an_update_that_matched_your_edits_offers_it_again(world: World, library: Library) -> None:
    world.edit("deploy", "Last", "Newer")
    world.offer("deploy", NEWER)
    before = world.there(), world.locked()
    library.sources.update("deploy")
    updated = library.history.undoable()[0][0].id
    library.settings.pin("deploy", "It works.")
    library.history.undo(updated)
    pinned = world.locked()["skills/deploy"]
    assert (world.there(), pinned._replace(pinned="")) == (before[0], before[1]["skills/deploy"])
    assert pinned.pinned == "It works."


def test_going_back_several_updates_and_edits(world: World, library: Library) -> None:
    seen = [world.locked()["skills/deploy"]]
    change = {"action": "patch", "name": "deploy", "find": "First", "replace": "My"}
    library.edit.apply([change])
    library.edit.apply([{**change, "find": "Middle", "replace": "Our"}])
    for body in (NEWER, NEWEST):
        world.offer("deploy", body)
        library.sources.update()
        seen.append(world.locked()["skills/deploy"])
    numbers = [entry["version"] for entry in library.edit.history.entries("deploy").to_json()["entries"]]
    assert len(numbers) == 5
    for number, entry in ((1, seen[0]), (2, seen[0]), (3, seen[0]), (4, seen[1]), (5, seen[2]), (2, seen[0])):
        library.history.rollback("deploy", number)
        assert world.locked()["skills/deploy"] == entry, number
    assert told(library.sources.plan_update("deploy")) == {"deploy": ("merge", "ready", "")}


def test_an_edit_that_happens_to_be_an_earlier_content_is_an_edit(world: World, library: Library) -> None:
    world.offer("deploy", NEWER)
    library.sources.update()
    now = world.locked()
    library.edit.apply([{"action": "patch", "name": "deploy", "find": "Newer", "replace": "Last"}])
    assert world.locked() == now
    assert told(library.sources.plan_update()) == {"deploy": ("keep", "nothing", ""), "pdf": ("keep", "nothing", "")}


def test_a_pin_outlives_going_back(world: World, library: Library) -> None:
    world.offer("deploy", NEWER)
    library.sources.update()
    library.settings.pin("deploy", "It works.")
    library.history.rollback("deploy")
    assert world.locked()["skills/deploy"].pinned == "It works."


def test_what_is_deleted_leaves_the_lock_and_comes_back_into_it(world: World, library: Library) -> None:
    world.edit("deploy", "First", "My")
    before = world.there(), world.locked()
    library.edit.apply([{"action": "delete", "name": "deploy"}])
    assert list(world.locked()) == ["skills/pdf"]
    library.edit.apply([{"action": "restore", "name": "deploy"}])
    assert (world.there(), world.locked()) == before
    library.learning.archive("deploy", "Not needed.")
    assert list(world.locked()) == ["skills/pdf"]


def test_a_renamed_skill_keeps_its_source(world: World, library: Library) -> None:
    before = world.locked()
    library.edit.apply([{"action": "rename", "name": "deploy", "new_name": "ship"}])
    entry = before["skills/deploy"]._replace(path="skills/ship")
    assert world.locked() == {"skills/pdf": before["skills/pdf"], "skills/ship": entry}
    world.offer("deploy", NEWER)
    library.sources.update()
    assert world.text("ship").startswith("---\nname: ship\n") and "Newer line." in world.text("ship")
    library.history.rollback("ship")
    renamed = next(
        entry for entry in library.edit.history.entries("ship").to_json()["entries"] if entry["action"] == "rename"
    )
    library.history.undo(renamed["run"])
    assert world.locked() == before


def test_skills_that_are_renamed_together_keep_their_sources(world: World, library: Library) -> None:
    before = world.locked()
    names = ("deploy", "pdf")
    operations = [{"action": "rename", "name": name, "new_name": f"my-{name}"} for name in names]
    answer = library.edit.apply(operations).to_json()
    assert answer["warnings"] == []
    moved = {f"skills/my-{name}": before[f"skills/{name}"]._replace(path=f"skills/my-{name}") for name in names}
    assert world.locked() == moved


def test_what_is_approved_is_followed(world: World, library: Library) -> None:
    answer = library.edit.apply([{"action": "delete", "name": "deploy"}], stage=True).to_json()
    assert len(world.locked()) == 2
    library.proposals.approve(answer["proposal"])
    assert list(world.locked()) == ["skills/pdf"]


def test_a_damaged_lock_is_a_warning_after_the_fact(world: World, library: Library) -> None:
    world.lock().write_text("{")
    answer = library.edit.apply([{"action": "delete", "name": "deploy"}]).to_json()
    (warning,) = answer["warnings"]
    assert warning.startswith(f"The lock was not changed: {world.lock()}, line 1: It is not valid JSON: ")
    assert list(world.there()) == ["pdf"]
    assert world.lock().read_text() == "{"
    assert "warnings" in library.history.undo(str(answer["entry"])).to_json()


def test_a_lock_that_cannot_be_read_is_no_matter_to_skills_elsewhere(world: World, library: Library) -> None:
    world.offer("own", where=world.here)
    library.settings.trust()
    library.sources.install(str(world.shelf), skills=["pdf"], here=True)
    world.lock().write_text("{")
    assert library.edit.apply([{"action": "delete", "name": "own"}]).to_json()["warnings"] == []


def test_a_pin_stands_in_the_lock_of_the_skill_it_is_for(world: World, library: Library) -> None:
    library.sources.install(str(world.shelf), skills=["deploy"], here=True)
    assert library.settings.pin("deploy", "It works.").changed
    assert world.locked()["skills/deploy"].pinned == "It works."
    assert world.locked(world.here)["skills/deploy"].pinned == ""
    assert not library.settings.pin("deploy", "It works.").changed
    shutil.rmtree(world.root / "deploy")
    assert library.settings.unpin("deploy").changed, "also when it is gone"
    assert world.locked()["skills/deploy"].pinned == ""
    assert not library.settings.unpin("deploy").changed


def test_a_pin_that_cannot_be_written_changes_nothing(world: World, library: Library) -> None:
    kept = world.lock().read_text()
    world.lock().write_text("{")
    refused(lambda: library.settings.pin("deploy"), "lock-damaged")
    world.lock().write_text(kept)
    assert library.settings.unpin("deploy").changed is False


def test_a_skill_of_another_name_at_its_source_is_pinned_too(world: World, library: Library) -> None:
    (world.root / "deploy" / "SKILL.md").write_text(main("Ship It"))
    library.settings.pin("Ship It")
    assert world.locked()["skills/deploy"].pinned == "yes"
    library.settings.unpin("Ship It")
    assert world.locked()["skills/deploy"].pinned == ""
