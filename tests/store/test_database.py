from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from whet.errors import FailedError
from whet.store.database import Database, Schema, check

if TYPE_CHECKING:
    from pathlib import Path

FIRST = """
-- a comment; with a semicolon
CREATE TABLE event (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE child (event INTEGER NOT NULL REFERENCES event (id));
CREATE TRIGGER no_empty BEFORE INSERT ON event WHEN new.name = ';' BEGIN SELECT RAISE (ABORT, 'no; never'); END;
"""
SECOND = "ALTER TABLE event ADD COLUMN note TEXT; INSERT INTO event (name, note) VALUES ('a;b', 'made')"
SCHEMA = Schema(0x57484554, (FIRST, SECOND))

APPEND = """
import sys
from whet.store.database import Database, Schema
path, who, count, create = sys.argv[1:]
with Database.open(path, Schema(7, (create,)), durable=True, busy_ms=30000) as database:
    for number in range(int(count)):
        with database.write() as connection:
            connection.execute("INSERT INTO line VALUES (?, ?)", (who, number))
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "home" / "state.db")


def code(caught: pytest.ExceptionInfo[FailedError]) -> tuple[str, str]:
    assert caught.value.hint and caught.value.details["path"] in caught.value.message
    return caught.value.code, caught.value.details["path"]


@pytest.mark.parametrize(("durable", "synchronous"), [(True, 2), (False, 1)])
def test_a_new_database_has_the_schema_and_the_settings(path: str, durable: bool, synchronous: int) -> None:
    with Database.open(path, SCHEMA, durable=durable) as database:
        assert not database.read_only
        assert database.read("SELECT id, name, note FROM event") == [(1, "a;b", "made")]
        settings = ("application_id", "user_version", "journal_mode", "synchronous", "foreign_keys")
        assert [database.read(f"PRAGMA {name}")[0][0] for name in settings] == [
            0x57484554,
            2,
            "wal",
            synchronous,
            1,
        ]
    assert check(path) is None


def test_an_older_database_is_brought_up_to_date_with_its_rows(path: str) -> None:
    with Database.open(path, SCHEMA._replace(migrations=(FIRST,)), durable=True) as database, database.write() as old:
        old.execute("INSERT INTO event (name) VALUES ('kept')")
    for _ in range(2):
        with Database.open(path, SCHEMA, durable=True) as database:
            assert database.read("SELECT * FROM event") == [(1, "kept", None), (2, "a;b", "made")]


def test_a_migration_that_fails_changes_nothing(path: str) -> None:
    broken = SCHEMA._replace(migrations=(FIRST, "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1);"))
    with pytest.raises(FailedError) as caught:
        Database.open(path, broken, durable=True)
    assert code(caught) == ("state-failed", path)
    with Database.open(path, SCHEMA, durable=True) as database:
        assert database.read("SELECT name FROM sqlite_master WHERE name = 'half'") == []
        assert database.read("SELECT count(*) FROM event") == [(1,)]


def test_a_write_is_all_or_nothing(path: str) -> None:
    with Database.open(path, SCHEMA, durable=True) as database:
        with database.write() as connection:
            connection.execute("INSERT INTO event (name) VALUES ('one')")
            assert database.read("SELECT count(*) FROM event") == [(2,)]
        with pytest.raises(ZeroDivisionError), database.write() as connection:
            connection.execute(f"INSERT INTO event (name) VALUES ('{1 / 0}')")
        with pytest.raises(FailedError) as caught, database.write() as connection:
            connection.executemany("INSERT INTO event (name) VALUES (?)", [("two",), ("one",)])
        assert code(caught) == ("state-failed", path)
        assert caught.value.details["sqlite"] == "SQLITE_CONSTRAINT_UNIQUE"
        assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)
        assert database.read("SELECT name FROM event ORDER BY id") == [("a;b",), ("one",)]


def test_errors_of_the_callers_own_work_pass_unchanged(path: str, tmp_path: Path) -> None:
    with Database.open(path, SCHEMA, durable=True) as database, pytest.raises(FileNotFoundError), database.write():
        (tmp_path / "missing").read_text()


def test_parents_are_required(path: str) -> None:
    with (
        Database.open(path, SCHEMA, durable=True) as database,
        pytest.raises(FailedError) as caught,
        database.write() as connection,
    ):
        connection.execute("INSERT INTO child VALUES (99)")
    assert caught.value.details["sqlite"] == "SQLITE_CONSTRAINT_FOREIGNKEY"


def test_wrong_sql_and_a_closed_database_are_failures_with_a_code(path: str) -> None:
    database = Database.open(path, SCHEMA, durable=True)
    with pytest.raises(FailedError) as caught:
        database.read("SELECT * FROM nowhere")
    assert code(caught) == ("state-failed", path)
    database.close()
    database.close()
    with pytest.raises(FailedError) as caught:
        database.read("SELECT 1")
    assert code(caught) == ("state-failed", path)


def test_a_database_in_use_is_busy_after_the_given_time(path: str) -> None:
    with (
        Database.open(path, SCHEMA, durable=True) as one,
        Database.open(path, SCHEMA, durable=True, busy_ms=20) as two,
        one.write(),
    ):
        with pytest.raises(FailedError) as caught, two.write():
            pass
        assert code(caught) == ("state-busy", path)
        assert two.read("SELECT count(*) FROM event") == [(1,)]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("PRAGMA application_id = 4711", "state-foreign"),
        ("PRAGMA application_id = 0", "state-foreign"),
        ("PRAGMA user_version = 3", "state-newer"),
    ],
)
def test_a_foreign_or_newer_database_is_not_touched(path: str, change: str, expected: str) -> None:
    Database.open(path, SCHEMA, durable=True).close()
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    with open(path, "rb") as file:
        before = file.read()
    with pytest.raises(FailedError) as caught:
        Database.open(path, SCHEMA, durable=True)
    assert code(caught) == (expected, path)
    with open(path, "rb") as file:
        assert file.read() == before


def test_an_empty_file_is_a_database_not_yet_made(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    with open(path, "wb"):
        pass
    assert check(path) is None
    with Database.open(path, SCHEMA, durable=True) as database:
        assert database.read("SELECT count(*) FROM event") == [(1,)]


def test_a_path_that_cannot_be_a_database_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "directory.db").mkdir()
    (tmp_path / "file").write_text("")
    for path, expected in (("directory.db", "state-corrupt"), ("file/state.db", "write-failed")):
        with pytest.raises(FailedError) as caught:
            Database.open(str(tmp_path / path), SCHEMA, durable=True)
        assert caught.value.code == expected and caught.value.hint


def test_a_path_with_odd_characters_works(tmp_path: Path) -> None:
    path = str(tmp_path / "100% odd? #ü" / "state db")
    Database.open(path, SCHEMA, durable=True).close()
    assert check(path) is None


def test_an_open_database_follows_the_file_that_takes_its_place(path: str) -> None:
    with Database.open(path, SCHEMA, durable=True) as database:
        for name in ("one", "two"):
            with database.write() as connection:
                connection.execute("INSERT INTO event (name) VALUES (?)", (name,))
            assert database.read("SELECT id, name FROM event ORDER BY id") == [(1, "a;b"), (2, name)]
            os.rename(os.path.dirname(path), f"{os.path.dirname(path)}-{name}")
        assert database.read("SELECT id, name FROM event") == [(1, "a;b")]
        database.connection.execute("INSERT INTO event (name) VALUES ('three')")
    for name in ("one", "two"):
        with Database.open(f"{os.path.dirname(path)}-{name}/state.db", SCHEMA, durable=True) as moved:
            assert moved.read("SELECT id, name FROM event ORDER BY id") == [(1, "a;b"), (2, name)]
    with Database.open(path, SCHEMA, durable=True) as database:
        assert database.read("SELECT id, name FROM event ORDER BY id") == [(1, "a;b"), (2, "three")]


def test_a_database_can_be_linked(path: str, tmp_path: Path) -> None:
    Database.open(path, SCHEMA, durable=True).close()
    (tmp_path / "link.db").symlink_to(path)
    with Database.open(str(tmp_path / "link.db"), SCHEMA, durable=True) as database:
        assert (database.path, database.read("SELECT count(*) FROM event")) == (path, [(1,)])


def test_two_hundred_threads_share_one_object(path: str) -> None:
    failures: list[BaseException] = []
    with Database.open(path, SCHEMA, durable=False) as database:

        def work(number: int) -> None:
            try:
                with database.write() as connection:
                    connection.execute("INSERT INTO event (name) VALUES (?)", (f"thread {number}",))
                assert database.read("SELECT 1 FROM event WHERE name = ?", (f"thread {number}",)) == [(1,)]
            except BaseException as error:  # noqa: BLE001 - a thread would lose it
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert database.read("SELECT count(*) FROM event WHERE name LIKE 'thread %'") == [(200,)]


def test_eight_processes_write_a_hundred_rows_each_and_none_is_lost(path: str) -> None:
    create = "CREATE TABLE line (who TEXT, number INTEGER)"
    processes = [subprocess.Popen([sys.executable, "-c", APPEND, path, str(who), "100", create]) for who in range(8)]
    assert [process.wait() for process in processes] == [0] * 8
    with Database.open(path, Schema(7, (create,)), durable=True) as database:
        rows = database.read("SELECT who, number FROM line ORDER BY who, number")
    assert rows == [(str(who), number) for who in range(8) for number in range(100)]
    assert check(path) is None


INHERITED = """
import os, sys
from whet.store.state import StateDatabase
state = StateDatabase(sys.argv[1])
def add(who):
    with state.write() as connection:
        connection.execute("INSERT INTO pins VALUES (?, ?, ?)", (who, "", 1))
add("before")
ready, opened = os.pipe()
closed, parent_closed = os.pipe()
if child := os.fork():
    os.read(ready, 1)
    add("parent")
    state.close()
    os.write(parent_closed, b".")
    assert os.waitpid(child, 0)[1] == 0
    print(state.read("SELECT name FROM pins ORDER BY name"))
    state.close()
else:
    print(state.read("SELECT name FROM pins"), flush=True)
    os.write(opened, b".")
    os.read(closed, 1)
    add("child")
    state.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_parent_and_child_of_a_fork_both_write_and_lose_nothing(path: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", INHERITED, os.path.dirname(path)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["[('before',)]", "[('before',), ('child',), ('parent',)]"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_transaction_that_is_open_at_a_fork_stays_with_the_parent(path: str) -> None:
    with Database.open(path, SCHEMA, durable=True) as database:
        with database.write() as connection:
            connection.execute("INSERT INTO event (name) VALUES ('one')")
            if not (child := os.fork()):
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        assert database.read("SELECT name FROM event") == [("a;b",), ("one",)]
