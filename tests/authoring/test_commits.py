"""Whatever is done to a skill, everything that is known about it follows: one event, and every store hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from authoring.world import World, created, refused, world
from whet.library.visibility import MODEL

if TYPE_CHECKING:
    from whet import Library

__all__ = ["world"]

DAY = 86_400 * 10**9


class Later:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000 * 10**9

    def __call__(self) -> int:
        self.now += 1000
        return self.now


def offered(library: Library) -> list[str]:
    """The skills that a model gets to see, of those made here."""
    return [item["name"] for item in library.list(caller=MODEL)["skills"] if item["scope"] == "user"]


@pytest.fixture
def library(world: World) -> Library:
    """Two skills of the user's; one is pinned and switched off."""
    library = world.machine()
    library.manage([created("a"), created("other")])
    library.pin("a", "Needed once a year.")
    library.disable("a")
    return library


def rename(library: Library, old: str, new: str) -> None:
    library.manage([{"action": "rename", "name": old, "new_name": new}])


def test_a_renamed_skill_stays_switched_off(library: Library) -> None:
    rename(library, "a", "b")
    assert offered(library) == ["other"]
    library.undo(library.history(last=1)["entries"][0]["run"])
    assert library.find("a").name == "a"
    assert offered(library) == ["other"]
    assert library.enable("a")["changed"] is True
    assert offered(library) == ["a", "other"]


def test_a_renamed_skill_stays_pinned(library: Library) -> None:
    rename(library, "a", "b")
    refused(lambda: library.archive("b"), "pinned")
    library.undo(library.history(last=1)["entries"][0]["run"])
    refused(lambda: library.archive("a"), "pinned")
    assert library.unpin("a")["changed"] is True
    library.archive("a")


def test_a_name_that_somebody_switched_off_before_skills_had_ids_is_kept_by_a_rename(world: World) -> None:
    library = world.machine()
    library.manage([created("a")])
    library.workspace.decisions.disable("a")
    library._memory.pin("a", "An older Whet wrote the name.")
    assert offered(library) == []
    rename(library, "a", "b")
    assert offered(library) == []
    refused(lambda: library.archive("b"), "pinned")


def test_of_two_skills_of_one_name_the_one_that_is_switched_off_is_meant(world: World) -> None:
    world.skill("same", where=world.mine)
    world.skill("same", where=world.home / ".claude" / "skills")
    library = world.machine()
    library.disable("same")
    rename(library, "same", "new")
    assert offered(library) == ["same"], "the other one was never switched off"


def test_several_renames_at_once_are_told_apart(library: Library) -> None:
    moves = [("a", "b"), ("other", "else")]
    library.manage([{"action": "rename", "name": old, "new_name": new} for old, new in moves])
    assert offered(library) == ["else"]
    refused(lambda: library.archive("b"), "pinned")
    library.undo(library.history(last=1)["entries"][0]["run"])
    assert offered(library) == ["other"]


def test_everything_read_through_a_library_counts(world: World) -> None:
    world.skill("deploy", where=world.mine)
    library = world.machine()
    library.view("deploy")
    library.invoke("/deploy now")
    library.render("deploy")
    (total,) = library.usage.totals()
    assert (total.views, total.uses) == (1, 2)


@pytest.mark.parametrize("how", ["view", "invoke"])
def test_the_curator_leaves_alone_what_is_read_every_second_day(world: World, how: str) -> None:
    clock = Later()
    library = world.machine(clock=clock)
    library.manage([created("deploy")], actor="agent")
    for _ in range(60):
        clock.now += 2 * DAY
        library.view("deploy") if how == "view" else library.invoke("/deploy")
        library.curate(if_due=True)
    assert library.find("deploy")
