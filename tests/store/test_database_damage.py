from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import FailedError, NotFoundError
from whet.store.atomic import leftovers
from whet.store.database import Database, Schema, check, rebuildable, set_aside
from whet.store.repair import Salvage, repair, salvage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGE = 4096
LEAF = 0x0D
SCHEMA = Schema(
    99,
    (
        """
        CREATE TABLE event (id INTEGER PRIMARY KEY, payload BLOB NOT NULL);
        CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE note (text TEXT NOT NULL);
        """,
    ),
)
TABLES = ("event", "counter", "note")
EVENTS, OTHERS = 3000, 500
WHOLE = {"event": EVENTS, "counter": OTHERS, "note": OTHERS}


def payload(number: int) -> bytes:
    return b"%06d" % number * 20


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a database of some 130 pages."""
    path = str(tmp_path_factory.mktemp("sound") / "state.db")
    with Database.open(path, SCHEMA, durable=False) as database, database.write() as connection:
        numbers = range(1, OTHERS + 1)
        connection.executemany("INSERT INTO event VALUES (?, ?)", [(n, payload(n)) for n in range(1, EVENTS + 1)])
        connection.executemany("INSERT INTO counter VALUES (?, ?)", [(f"counter {n:04}", n) for n in numbers])
        connection.executemany("INSERT INTO note VALUES (?)", [(f"note {n:04}",) for n in numbers])
    with open(path, "rb") as file:
        return file.read()


def leaves(data: bytes) -> list[int]:
    """The pages that hold rows of the numbered tables."""
    return [page for page in range(1, len(data) // PAGE) if data[page * PAGE] == LEAF]


def overwritten(data: bytes, pages: list[int], seed: int = 1) -> bytes:
    changed, source = bytearray(data), random.Random(seed)
    for page in pages:
        changed[page * PAGE : (page + 1) * PAGE] = source.randbytes(PAGE)
    return bytes(changed)


def middle_overwritten(data: bytes) -> bytes:
    return overwritten(data, leaves(data)[40:43])


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2 // PAGE * PAGE]


def garbage(data: bytes) -> bytes:
    return random.Random(2).randbytes(len(data))


def header_overwritten(data: bytes) -> bytes:
    return bytes(100) + data[100:]


def text(data: bytes) -> bytes:
    return b"hello" if data else b""


DAMAGES = [middle_overwritten, truncated, garbage, header_overwritten, text]
AT_ONCE = [truncated, garbage, header_overwritten, text]
"""Damage that shows as soon as the file is opened."""


def placed(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def stored(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def right(database: Database) -> dict[str, int]:
    """Count the rows, having seen that each is one that was written."""
    events = database.read("SELECT id, payload FROM event")
    assert all(content == payload(number) for number, content in events)
    counters = database.read("SELECT name, value FROM counter")
    assert all(name == f"counter {value:04}" for name, value in counters)
    notes = database.read("SELECT rowid, text FROM note")
    assert all(content == f"note {number:04}" for number, content in notes)
    return {"event": len(events), "counter": len(counters), "note": len(notes)}


def test_a_sound_file_and_a_missing_one_have_nothing_against_them(tmp_path: Path, sound: bytes) -> None:
    assert check(placed(tmp_path / "state.db", sound)) is None
    assert check(str(tmp_path / "missing.db")) is None


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_and_the_file_stays_as_it_is(
    tmp_path: Path, sound: bytes, damage: Callable[[bytes], bytes]
) -> None:
    path = placed(tmp_path / "state.db", damage(sound))
    problem = check(path)
    assert problem is not None and path in problem and "\n" not in problem
    assert stored(path) == damage(sound)


@pytest.mark.parametrize("damage", AT_ONCE)
def test_a_damaged_database_does_not_open_and_is_not_changed(
    tmp_path: Path, sound: bytes, damage: Callable[[bytes], bytes]
) -> None:
    path = placed(tmp_path / "state.db", damage(sound))
    with pytest.raises(FailedError) as caught:
        Database.open(path, SCHEMA, durable=True)
    assert (caught.value.code, caught.value.details["path"]) == ("state-corrupt", path)
    assert "whet doctor --repair" in caught.value.hint
    assert stored(path) == damage(sound)


def test_a_query_that_meets_damage_says_so(tmp_path: Path, sound: bytes) -> None:
    path = placed(tmp_path / "state.db", middle_overwritten(sound))
    with Database.open(path, SCHEMA, durable=True) as database, pytest.raises(FailedError) as caught:
        database.read("SELECT sum(length(payload)) FROM event")
    assert caught.value.code == "state-corrupt"


def test_setting_aside_takes_the_companions_and_overwrites_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "state.db")
    names = []
    for number in range(3):
        for part in ("", "-wal", "-shm"):
            placed(tmp_path / f"state.db{part}", f"{number}{part}".encode())
        names.append(set_aside(path))
    assert names == [f"{path}.broken-{number}" for number in (1, 2, 3)]
    assert {name: stored(str(tmp_path / name)) for name in os.listdir(tmp_path) if name != "locks"} == {
        os.path.basename(name) + part: f"{number}{part}".encode()
        for number, name in enumerate(names)
        for part in ("", "-wal", "-shm")
    }
    with pytest.raises(NotFoundError) as caught:
        set_aside(path)
    assert (caught.value.code, caught.value.details) == ("state-missing", {"path": path})


@pytest.mark.parametrize("damage", AT_ONCE)
def test_a_cache_that_is_damaged_is_set_aside_and_made_anew(
    tmp_path: Path, sound: bytes, damage: Callable[[bytes], bytes]
) -> None:
    path = placed(tmp_path / "cache.db", damage(sound))
    database, broken = rebuildable(path, SCHEMA)
    with database:
        assert right(database) == dict.fromkeys(TABLES, 0)
    assert broken == f"{path}.broken-1"
    assert stored(broken) == damage(sound)
    assert check(path) is None


@pytest.mark.parametrize("change", ["PRAGMA application_id = 4711", "PRAGMA user_version = 2"])
def test_a_cache_of_someone_else_or_a_newer_one_is_set_aside(tmp_path: Path, sound: bytes, change: str) -> None:
    path = placed(tmp_path / "cache.db", sound)
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    database, broken = rebuildable(path, SCHEMA)
    with database:
        assert right(database) == dict.fromkeys(TABLES, 0)
    assert broken == f"{path}.broken-1"


def test_a_cache_in_order_is_opened_as_it_is(tmp_path: Path, sound: bytes) -> None:
    path = placed(tmp_path / "cache.db", sound)
    for suspect in (False, True):
        database, broken = rebuildable(path, SCHEMA, suspect=suspect)
        with database:
            assert (right(database), broken) == (WHOLE, None)


def test_a_suspect_cache_is_checked_all_through(tmp_path: Path, sound: bytes) -> None:
    path = placed(tmp_path / "cache.db", middle_overwritten(sound))
    database, broken = rebuildable(path, SCHEMA)
    database.close()
    assert broken is None
    database, broken = rebuildable(path, SCHEMA, suspect=True)
    with database:
        assert (right(database), broken) == (dict.fromkeys(TABLES, 0), f"{path}.broken-1")


def test_of_processes_that_find_a_broken_cache_only_one_sets_it_aside(tmp_path: Path) -> None:
    path = placed(tmp_path / "cache.db", b"garbage")
    script = """
import sys
from whet.store.database import Schema, rebuildable
database, broken = rebuildable(sys.argv[1], Schema(99, ("CREATE TABLE line (x)",)), busy_ms=30000)
with database, database.write() as connection:
    connection.execute("INSERT INTO line VALUES (1)")
print(broken is not None)
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True) for _ in range(6)
    ]
    answers = [process.communicate()[0] for process in processes]
    assert sorted(answers) == ["False\n"] * 5 + ["True\n"]
    database, _ = rebuildable(path, Schema(99, ("CREATE TABLE line (x)",)))
    with database:
        assert database.read("SELECT count(*) FROM line") == [(6,)]


def test_the_log_of_a_lost_file_is_not_thrown_away(tmp_path: Path) -> None:
    path = str(tmp_path / "state.db")
    with Database.open(path, SCHEMA, durable=True) as database:
        with database.write() as connection:
            connection.execute("INSERT INTO note VALUES ('in the log')")
        log = stored(path + "-wal")
    for emptied in (True, False):
        if emptied:
            placed(tmp_path / "state.db", b"")
        placed(tmp_path / "state.db-wal", log)
        assert "its log is not" in str(check(path))
        with pytest.raises(FailedError) as caught:
            Database.open(path, SCHEMA, durable=True)
        assert caught.value.code == "state-corrupt"
        assert stored(path + "-wal") == log
        broken = set_aside(path)
        assert stored(broken + "-wal") == log


def fresh(tmp_path: Path) -> Database:
    return Database.open(str(tmp_path / "fresh.db"), SCHEMA, durable=False)


def test_everything_is_salvaged_from_a_sound_file_once(tmp_path: Path, sound: bytes) -> None:
    path = placed(tmp_path / "state.db", sound)
    with fresh(tmp_path) as database:
        assert salvage(path, database) == Salvage(WHOLE, ())
        assert salvage(path, database) == Salvage(dict.fromkeys(TABLES, 0), ())
        assert right(database) == WHOLE


def test_rows_around_damaged_pages_are_salvaged_and_gaps_named(tmp_path: Path, sound: bytes) -> None:
    pages = leaves(sound)
    path = placed(tmp_path / "state.db", overwritten(sound, [*pages[:1], *pages[20:22], pages[23]]))
    with fresh(tmp_path) as database:
        saved = salvage(path, database)
        assert saved.rows == right(database)
        present = {number for (number,) in database.read("SELECT id FROM event")}
        missing = [number for number in range(1, EVENTS + 1) if number not in present]
    gaps = [(n, next(m for m in range(n, EVENTS + 2) if m not in missing) - 1) for n in missing if n - 1 not in missing]
    assert saved.lost == (
        f"event: rows up to {gaps[0][1]} could not be read",
        *(f"event: rows {low} to {high} could not be read" for low, high in gaps[1:]),
    )
    assert len(gaps) == 3 and saved.rows["event"] > EVENTS - 200
    assert (saved.rows["counter"], saved.rows["note"]) == (OTHERS, OTHERS)


def test_the_first_half_of_a_cut_file_is_salvaged(tmp_path: Path, sound: bytes) -> None:
    path = placed(tmp_path / "state.db", truncated(sound))
    with fresh(tmp_path) as database:
        saved = salvage(path, database)
        assert saved.rows == right(database)
    assert saved.rows["event"] > EVENTS // 3
    assert saved.lost[0] == f"event: rows from {saved.rows['event'] + 1} on could not be read"


def test_a_file_cut_inside_a_page_is_reported(tmp_path: Path, sound: bytes) -> None:
    path = placed(tmp_path / "state.db", truncated(sound)[:-1000])
    with fresh(tmp_path) as database:
        saved = salvage(path, database)
    assert saved.lost[-1] == "the end of the file is truncated; rows there may be missing or wrong"


def test_a_table_without_numbers_is_read_from_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    names = [f"{number:05} {'x' * 200}" for number in range(500)]
    with Database.open(str(path), SCHEMA, durable=False) as database, database.write() as connection:
        connection.executemany("INSERT INTO counter VALUES (?, 1)", [(name,) for name in names])
    data = path.read_bytes()
    inner = [page for page in range(1, len(data) // PAGE) if data[page * PAGE] == 0x0A]
    placed(path, overwritten(data, [inner[len(inner) // 2]]))
    with fresh(tmp_path) as database:
        saved = salvage(str(path), database)
        kept = [name for (name,) in database.read("SELECT name FROM counter ORDER BY name")]
    assert saved.lost == ("counter: some rows between the first and the last could not be read",)
    assert saved.rows["counter"] == len(kept) > 450
    assert (kept[0], kept[-1]) == (names[0], names[-1]) and set(kept) < set(names)


@pytest.mark.parametrize("damage", [garbage, header_overwritten, text])
def test_a_file_that_gives_nothing_is_reported_table_by_table(
    tmp_path: Path, sound: bytes, damage: Callable[[bytes], bytes]
) -> None:
    path = placed(tmp_path / "state.db", damage(sound))
    with fresh(tmp_path) as database:
        assert salvage(path, database) == Salvage(
            dict.fromkeys(TABLES, 0),
            tuple(f"{name}: nothing could be read (file is not a database)" for name in TABLES),
        )
        missing = salvage(str(tmp_path / "missing.db"), database)
    assert missing.rows == dict.fromkeys(TABLES, 0)
    assert all(
        sentence.startswith(f"{name}: nothing could be read")
        for name, sentence in zip(TABLES, missing.lost, strict=True)
    )
    assert not os.path.exists(tmp_path / "missing.db")


def test_a_table_the_file_does_not_have_is_reported(tmp_path: Path) -> None:
    path = placed(tmp_path / "empty.db", b"")
    with fresh(tmp_path) as database:
        lost = tuple(f"{name}: the table is missing" for name in TABLES)
        assert salvage(path, database) == Salvage(dict.fromkeys(TABLES, 0), lost)


def test_a_row_whose_place_is_taken_is_reported_and_the_newer_one_kept(tmp_path: Path, sound: bytes) -> None:
    path = placed(tmp_path / "state.db", sound)
    with fresh(tmp_path) as database:
        with database.write() as connection:
            connection.execute("INSERT INTO event VALUES (7, 'newer')")
        saved = salvage(path, database)
        assert database.read("SELECT payload FROM event WHERE id = 7") == [("newer",)]
    assert saved.rows == {**WHOLE, "event": EVENTS - 1}
    assert saved.lost == (
        "event: 1 could not be kept; the first is 7: another row has the same key, or it breaks a rule of the table",
    )


def test_rows_of_an_older_schema_are_salvaged_and_lost_parents_named(tmp_path: Path) -> None:
    older = Schema(5, ("CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE child (parent INTEGER, old TEXT);",))
    child = "CREATE TABLE child (parent INTEGER REFERENCES parent (id), note TEXT DEFAULT 'none')"
    newer = Schema(5, (f"CREATE TABLE parent (id INTEGER PRIMARY KEY); {child}",))
    path = str(tmp_path / "state.db")
    with Database.open(path, older, durable=False) as database, database.write() as connection:
        connection.execute("INSERT INTO parent VALUES (1)")
        connection.executemany("INSERT INTO child VALUES (?, 'gone')", [(1,), (2,), (3,)])
    with Database.open(str(tmp_path / "fresh.db"), newer, durable=False) as database:
        assert salvage(path, database) == Salvage({"child": 3, "parent": 1}, ("child: 2 refer to lost rows of parent",))
        assert database.read("SELECT * FROM child") == [(1, "none"), (2, "none"), (3, "none")]
        assert database.read("PRAGMA foreign_keys") == [(1,)]


def test_repair_puts_a_sound_file_in_place(tmp_path: Path, sound: bytes) -> None:
    damaged = middle_overwritten(sound)
    path = placed(tmp_path / "state.db", damaged)
    with Database.open(path, SCHEMA, durable=True) as running:
        fixed = repair(path, SCHEMA)
        assert right(running) == fixed.salvage.rows
    assert 0 < fixed.salvage.rows["event"] < EVENTS
    assert fixed.set_aside == f"{path}.broken-1"
    assert len(fixed.salvage.lost) == 1 and fixed.salvage.lost[0].startswith("event: rows ")
    assert check(path) is None and stored(fixed.set_aside) == damaged
    assert leftovers(str(tmp_path)) == []


def test_repair_saves_what_is_only_in_the_log(tmp_path: Path, sound: bytes) -> None:
    path = placed(tmp_path / "state.db", sound)
    with Database.open(path, SCHEMA, durable=True) as database:
        with database.write() as connection:
            connection.execute("INSERT INTO note VALUES (?)", (f"note {OTHERS + 1:04}",))
        placed(tmp_path / "copy.db", stored(path))
        placed(tmp_path / "copy.db-wal", stored(path + "-wal"))
    fixed = repair(str(tmp_path / "copy.db"), SCHEMA)
    assert fixed.salvage == Salvage({**WHOLE, "note": OTHERS + 1}, ())
    with Database.open(str(tmp_path / "copy.db"), SCHEMA, durable=True) as database:
        assert right(database) == {**WHOLE, "note": OTHERS + 1}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_whatever_is_damaged_salvage_ends_and_what_is_lost_is_said(
    tmp_path_factory: pytest.TempPathFactory, sound: bytes, data: st.DataObject
) -> None:
    count = len(sound) // PAGE
    pages = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=12, unique=True))
    directory = tmp_path_factory.mktemp("any")
    path = placed(directory / "state.db", overwritten(sound, pages, seed=data.draw(st.integers(0, 99))))
    with fresh(directory) as database:
        saved = salvage(path, database)
        assert right(database) == saved.rows
    assert bool(saved.lost) == (saved.rows != WHOLE)
