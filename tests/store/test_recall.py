"""What every command asks the state first comes from a file, until the database changes; then never."""

from __future__ import annotations

import sqlite3
import tracemalloc
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from counting import databases

from whet.store import state as module
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUERY = "SELECT identity FROM trusted"


@pytest.fixture(autouse=True)
def _changed_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every change of a file count as old."""
    monkeypatch.setattr(module, "_SETTLED", 0)


def trust(state: StateDatabase, name: str) -> None:
    with state.write() as connection:
        connection.execute("INSERT INTO trusted VALUES (?, '', 0)", (name,))


def recalled(path: Path) -> list[tuple[Any, ...]]:
    state = StateDatabase(str(path))
    try:
        return state.recall(QUERY)
    finally:
        state.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state whose answer is remembered."""
    first = StateDatabase(str(tmp_path))
    trust(first, "one")
    first.close()
    assert recalled(tmp_path) == [("one",)]
    return tmp_path


def test_an_answer_is_given_without_the_database_until_another_process_writes(state: Path) -> None:
    with databases() as opened:
        assert recalled(state) == [("one",)]
        assert dict(opened) == {}
    other = StateDatabase(str(state))
    trust(other, "two")  # it is in the log now, and this process has the database open
    for _ in range(2):
        assert recalled(state) == [("one",), ("two",)]
    other.close()
    assert recalled(state) == [("one",), ("two",)]
    with databases() as opened:
        assert recalled(state) == [("one",), ("two",)]
        assert dict(opened) == {}


def test_a_change_a_moment_ago_is_asked_of_the_database(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SETTLED", 10**12)
    with databases() as opened:
        assert recalled(state) == [("one",)]
        assert dict(opened) == {"state.db": 1}


def test_a_transaction_sees_its_own_rows_and_remembers_none_of_them(state: Path) -> None:
    mine = StateDatabase(str(state))
    with mine.write() as connection:
        connection.execute("INSERT INTO trusted VALUES ('undone', '', 0)")
        assert mine.recall(QUERY) == [("one",), ("undone",)]
        connection.execute("DELETE FROM trusted WHERE identity = 'undone'")
    assert mine.recall(QUERY) == [("one",)]
    mine.close()
    assert recalled(state) == [("one",)]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"something else"),
        lambda file: file.write_bytes(file.read_bytes()[:-3]),
        lambda file: file.write_bytes(file.read_bytes().replace(b"one", b"two")),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: file.write_bytes(file.read_bytes()[:8] + b"\xff\xff\xff\xff" + file.read_bytes()[12:]),
    ],
)
def test_a_file_of_no_use_is_as_good_as_none(spoil: Callable[[Path], object], state: Path) -> None:
    spoil(state / "cache" / "state")
    tracemalloc.start()
    try:
        assert recalled(state) == [("one",)]
        assert tracemalloc.get_traced_memory()[1] < 100_000_000, "there is no room for what a wrong length says"
    finally:
        tracemalloc.stop()


def test_nothing_is_remembered_of_a_state_that_is_not_there(tmp_path: Path) -> None:
    assert recalled(tmp_path) == []
    assert [*tmp_path.iterdir()] == []


def test_a_database_that_was_replaced_is_another_one(state: Path) -> None:
    copy = state / "copy.db"
    copy.write_bytes((state / "state.db").read_bytes())
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE trusted SET identity = 'six'")
    (state / "copy.db").replace(state / "state.db")
    assert recalled(state) == [("six",)]
