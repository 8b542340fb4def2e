"""Whether a skill is pinned, by a decision or by a lock that came from somebody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sources.world import World, world
from whet.sources.lock.pins import read_entry, read_pin

if TYPE_CHECKING:
    from whet import Library

__all__ = ["world"]


@pytest.fixture
def library(world: World) -> Library:
    world.offer("deploy")
    world.offer("pdf")
    made = world.library()
    made.sources.install(str(world.shelf), every=True)
    return made


def pins(library: Library) -> list[str | None]:
    return [read_pin(card := library.card(name), library.workspace, read_entry(card)) for name in ("deploy", "pdf")]


def test_a_pin_of_the_person_is_read_with_its_reason(library: Library) -> None:
    assert pins(library) == [None, None]
    library.settings.pin("deploy", reason="Until May.")
    library.settings.pin("pdf")
    assert pins(library) == ["Until May.", ""]
    library.settings.unpin("deploy")
    assert pins(library) == [None, ""]


def test_a_pin_in_a_lock_that_somebody_else_wrote_counts_too(world: World, library: Library) -> None:
    library.sources.set_pin("", "skills/deploy", "Until May.")
    library.sources.set_pin("", "skills/pdf", "yes")
    assert (library.workspace.decisions.pins(), pins(library)) == ({}, ["Until May.", ""])
    (lock,) = [path for path in library.sources.lock_files() if path.startswith(str(world.home))]
    with open(lock, "w", encoding="utf-8") as file:
        file.write("{")
    assert pins(library) == [None, None], "the doctor says that it is damaged"
