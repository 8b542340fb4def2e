"""The intent log: what is written down before it is done, and settled by whoever comes next."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from whet.errors import FailedError
from whet.store.intents import Handler, Intent, Intents
from whet.store.locks import FileLock
from whet.store.schema import STATE_MIGRATIONS
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


NOTE = ["user", "foreground", "patch", "pdf", "/skills/pdf", "", "", "", "", "r1"]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateDatabase]:
    database = StateDatabase(str(tmp_path / "state"))
    yield database
    database.close()


@pytest.fixture
def intents(state: StateDatabase) -> Intents:
    times = iter(range(1, 1000))
    return Intents(state, lambda: next(times))


def handler(finish: Callable[[Intent], str], *locks: FileLock) -> Handler:
    return Handler(lambda _: locks, finish, lambda intent: f"The {intent.kind} {intent.payload}")


def test_reading_creates_nothing(intents: Intents, state: StateDatabase) -> None:
    assert intents.open("edit") == [] and not intents.is_open("x") and intents.recover({}) == ()
    assert not os.path.exists(state.directory)


def test_an_intent_is_open_until_it_is_settled_once(intents: Intents) -> None:
    first, second = intents.begin("edit", {"a": [1, None]}), intents.begin("sync", "b", "own")
    assert intents.open("edit") == [Intent(first, "edit", {"a": [1, None]})]
    assert intents.open("sync") == [Intent("own", "sync", "b")] and second == "own"
    assert intents.is_open(first) and intents.settle(first) and not intents.settle(first)
    assert intents.open("edit") == [] and not intents.is_open(first)


def test_what_is_begun_or_settled_in_a_transaction_goes_with_it(intents: Intents, state: StateDatabase) -> None:
    known = intents.begin("edit", 1)

    def fail() -> None:
        with state.write():
            intents.begin("edit", 2)
            intents.settle(known)
            raise FailedError("disk-full", "No room.")

    with pytest.raises(FailedError):
        fail()
    assert [intent.payload for intent in intents.open("edit")] == [1]


def test_recovering_finishes_what_a_dead_process_left_oldest_first(intents: Intents) -> None:
    for number in range(3):
        intents.begin("edit", number)
    intents.begin("other", "left alone")

    def finish(intent: Intent) -> str:
        intents.settle(intent.id)
        return f"Finished {intent.payload}." if intent.payload else ""

    assert intents.recover({"edit": handler(finish)}) == ("Finished 1.", "Finished 2.")
    assert intents.recover({"edit": handler(finish)}) == ()
    assert len(intents.open("other")) == 1


def test_a_living_writer_is_not_disturbed(intents: Intents, tmp_path: Path) -> None:
    intents.begin("edit", "busy")

    def finish(_: Intent) -> str:
        raise AssertionError("not called")

    with FileLock(str(tmp_path / "lock"), timeout=0):
        waits_for_nobody = FileLock(str(tmp_path / "lock"), timeout=0)
        assert intents.recover({"edit": handler(finish, waits_for_nobody)}) == ()
    assert len(intents.open("edit")) == 1


def test_what_somebody_else_settled_meanwhile_is_not_finished_again(intents: Intents) -> None:
    intents.begin("edit", "gone")

    def locks(intent: Intent) -> tuple[()]:
        intents.settle(intent.id)  # while this one waited for the locks
        return ()

    def finish(_: Intent) -> str:
        raise AssertionError("not called")

    assert intents.recover({"edit": Handler(locks, finish, lambda _: "It")}) == ()


def test_what_cannot_be_finished_is_said_and_stays(intents: Intents) -> None:
    intents.begin("edit", "stuck")

    def finish(_: Intent) -> str:
        raise FailedError("disk-full", "No room.")

    assert intents.recover({"edit": handler(finish)}) == ("The edit stuck could not be finished or undone: No room.",)
    assert len(intents.open("edit")) == 1


def test_changes_that_the_version_before_left_open_are_edits(tmp_path: Path) -> None:
    """Its table had no kinds."""
    directory = tmp_path / "state"
    directory.mkdir()
    with closing(sqlite3.connect(directory / "state.db")) as connection:
        for migration in STATE_MIGRATIONS[:11]:
            connection.executescript(migration.sql)
        connection.execute("INSERT INTO intents VALUES ('r1', 5, ?)", (json.dumps([NOTE]),))
        connection.execute("PRAGMA application_id = 0x57484554")
        connection.execute("PRAGMA user_version = 11")
        connection.commit()
    state = StateDatabase(str(directory))
    assert Intents(state, lambda: 0).open("edit") == [Intent("r1", "edit", {"notes": [NOTE]})]
    state.close()
