"""Check and repair the two databases.

The cache is set aside and rebuilt. From a damaged `state.db`, and from older files that it has not imported yet, every
readable row is saved (`whet.store.salvage`).
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError
from whet.notes import Note
from whet.store.atomic import temporary_path
from whet.store.cache import FILE as CACHE_FILE
from whet.store.database import (
    BUSY_MS,
    COMPANIONS,
    Database,
    check,
    log_of_missing,
    move_aside,
    open_reader,
    opening,
    put_away,
    resolve,
    set_aside,
    size_of,
)
from whet.store.directories import sync_directory
from whet.store.failures import os_failures
from whet.store.former import adopt_readable, check_former, former_files
from whet.store.home import LOGS
from whet.store.salvage import copy_table
from whet.store.schema import STATE
from whet.store.state import FILE as STATE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.store.database import Schema
    from whet.values import Json


class Repaired(NamedTuple):
    """The results of a repair, and what it could not save, in sentences."""

    done: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Failed repairs, and what the user can do about them."""

    def to_json(self) -> Json:
        """Return the repair as JSON."""
        return {"repaired": list(self.done), "lost": list(self.lost), "failed": list(self.failed)}


def examine_databases(directory: str) -> Iterator[Note]:
    """Yield notes about problems of the two databases."""
    path = os.path.join(directory, STATE_FILE)
    try:
        if problem := check_state(directory):
            hint = "Run `whet doctor --repair`: it moves the file away and saves what can still be read."
            yield Note("state-corrupt", "error", problem, hint, path=path)
    except FailedError as error:
        yield Note.from_error(error, "error", path=path)
    path = os.path.join(directory, CACHE_FILE)
    try:
        if problem := check(path):
            hint = "Run `whet doctor --repair`: it moves the file away. Nothing is lost."
            yield Note("cache-corrupt", "warning", problem, hint, path=path)
    except FailedError as error:
        yield Note("cache-unavailable", "info", error.message, error.hint, path=path)


def repair_databases(directory: str) -> Repaired:
    """Set damaged databases aside: save the readable rows of the state, and rebuild the cache."""
    repaired = repair_state(directory)
    path = os.path.join(directory, CACHE_FILE)
    try:
        if not check(path):
            return repaired
    except FailedError as error:
        if error.code != "permission-denied":
            raise
    sentence = f"Moved the damaged cache to {set_aside(path)}; Whet rebuilds it."
    return repaired._replace(done=(*repaired.done, sentence))


def check_state(directory: str) -> str | None:
    """Return the problem of the state database, or of an older file that it has not imported yet."""
    path = os.path.join(directory, STATE_FILE)
    return _problem(path) or check_former(directory, _version(path), STATE)


def _problem(path: str) -> str | None:
    """Return the problem of the state database itself: a table can be missing from a file that SQLite finds sound."""
    if log := log_of_missing(resolve(path), STATE.logs):
        return f"The database {path} is damaged: it is empty or missing, but {log} is not."
    if (problem := check(path)) or _version(path) != len(STATE.migrations):
        return problem
    with closing(open_reader(path)) as connection:
        missing = _expected_tables() - _table_names(connection)
    return f"The database {path} is damaged: {min(missing)} is missing." if missing else None


@cache
def _expected_tables() -> frozenset[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for number in range(1, len(STATE.migrations) + 1):
            STATE.apply(connection, number)
        return _table_names(connection)


def _table_names(connection: sqlite3.Connection) -> frozenset[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(name for (name,) in rows)


def repair_state(directory: str) -> Repaired:
    """Set a damaged state database aside and save its readable rows, and those of older files."""
    if not check_state(directory):
        return Repaired()
    path = os.path.join(directory, STATE_FILE)
    done: list[str] = []
    lost: list[str] = []

    def adopt(connection: sqlite3.Connection, directory: str, number: int) -> list[str]:
        files, gone = adopt_readable(connection, directory, number)
        done.extend(f"Recovered what could be read from {file}." for file in files)
        lost.extend(gone)
        return files

    schema = STATE._replace(adopt=adopt)
    if _problem(path):
        version = _version(path) or (0 if former_files(directory) else None)
        outcome = repair(path, schema, version=version)
        rows = sum(outcome.salvage.rows.values())
        if outcome.set_aside:
            sentence = f"Moved the damaged state database to {outcome.set_aside} and recovered {rows} rows."
        else:
            sentence = "The state database was missing; Whet created a new one."
        done.insert(0, sentence)
        lost = [*([_ALL_LOST] if not rows else _without_chains(directory, outcome.salvage.lost)), *lost]
    else:
        Database.open(path, schema, durable=True).close()
    return Repaired(tuple(done), tuple(lost))


_ALL_LOST = (
    "The state database could not be read. Set disabled, pinned and trusted skills, proposals, feedback and "
    "connections again, or restore them with `whet history restore`."
)


def _without_chains(directory: str, lost: Sequence[str]) -> Iterator[str]:
    """Return the losses, without rows that a log may still have: the repair of the chain reports those."""
    kept = {table for table, log in LOGS.items() if size_of(os.path.join(directory, log))}
    return (sentence for sentence in lost if sentence.partition(":")[0] not in kept)


def _version(path: str) -> int:
    """Return how many migrations a file has seen; 0 if unreadable. The table `trees` existed up to version 15."""
    try:
        with closing(open_reader(path)) as connection:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            trees = "SELECT 15 FROM sqlite_master WHERE name = 'trees'"
            return version or int((connection.execute(trees).fetchone() or [0])[0])
    except (sqlite3.Error, UnicodeDecodeError):
        return 0


class Salvage(NamedTuple):
    """The rows saved from a damaged file."""

    rows: dict[str, int]
    """Rows added to the new database, by table."""
    lost: tuple[str, ...]
    """A sentence about everything that could not be read or stored."""


class Repair(NamedTuple):
    """The result of a repair: the new path of the damaged file, and the rows saved from it."""

    set_aside: str
    """Empty if there was no file."""
    salvage: Salvage


def salvage(broken_path: str, database: Database) -> Salvage:
    """Copy every readable row of a damaged file into `database`.

    Existing rows of `database` stay. A row whose parent row is lost is kept and reported. The damaged file is only
    read.
    """
    tables = table_names(database)
    try:
        source = open_reader(broken_path)
    except sqlite3.Error as error:
        return Salvage(dict.fromkeys(tables, 0), tuple(f"{name}: nothing could be read ({error})" for name in tables))
    with closing(source), database.use() as connection:
        page_size = source.execute("PRAGMA page_size").fetchone()[0]
        connection.execute("PRAGMA foreign_keys = OFF")  # parents may come after their children, or never
        try:
            with database.write():
                missing = _missing_tables(source, connection)
                copied = {name: copy_table(source, connection, name) for name in tables if name not in missing}
                orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
        finally:
            connection.execute("PRAGMA foreign_keys = ON")
    lost = [sentence for table in copied.values() for sentence in table.lost]
    if size_of(resolve(broken_path)) % page_size:
        lost.append("the end of the file is truncated; rows there may be missing or wrong")
    for child, parent in sorted({(row[0], row[2]) for row in orphans}):
        count = sum((row[0], row[2]) == (child, parent) for row in orphans)
        lost.append(f"{child}: {count} refer to lost rows of {parent}")
    rows = {name: copied[name].rows if name in copied else 0 for name in tables}
    return Salvage(rows, tuple(lost))


def _missing_tables(source: sqlite3.Connection, target: sqlite3.Connection) -> set[str]:
    """Return the tables of the target that the source never had, because it is of an older version."""
    names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    try:
        there, here = (one.execute("PRAGMA user_version").fetchone()[0] for one in (source, target))
        if not 0 < there < here:
            return set()
        return {name for (name,) in {*target.execute(names)} - {*source.execute(names)}}
    except sqlite3.Error:
        return set()


def repair(path: str, schema: Schema, *, version: int | None = None) -> Repair:
    """Replace a damaged database with a sound one that has all its readable rows.

    The new file is complete before it replaces the damaged one, which is set aside; other processes wait, and can add
    nothing in between. `version` is that of the damaged file, by default the newest: its rows are saved unchanged and
    then migrated.
    """
    real = resolve(path)
    fresh = temporary_path(real)
    adopted: list[str] = []

    def adopt(connection: sqlite3.Connection, directory: str, number: int) -> Sequence[str]:
        adopted.extend(schema.adopt(connection, directory, number) if schema.adopt else ())
        return ()  # put away only when the new file is in place

    old = schema._replace(adopt=None, migrations=schema.migrations[:version], logs=())
    with opening(real, BUSY_MS):
        _undo_aside(real)
        try:
            with Database(fresh, old, durable=True, busy_ms=BUSY_MS) as database:
                saved = salvage(real, database)
            new = schema._replace(adopt=adopt, logs=())
            with Database(fresh, new, durable=True, busy_ms=BUSY_MS) as database:
                database.read("PRAGMA journal_mode = DELETE")  # moves all rows into the one file that is renamed
            with os_failures(real):
                there = any(os.path.lexists(real + part) for part in ("", *COMPANIONS))
                broken = move_aside(real, keep=True) if there else ""
                os.replace(fresh, real)
                sync_directory(os.path.dirname(real))
            put_away(adopted, os.path.dirname(real))
        finally:
            _remove(fresh)
    return Repair(broken, saved)


def _undo_aside(path: str) -> None:
    """Restore the log of a file that a killed repair had moved aside: the file still exists under both names."""
    directory, name = os.path.split(path)
    with os_failures(path):
        for other in os.listdir(directory):
            aside = os.path.join(directory, other)
            known = other.startswith(f"{name}.broken-") and os.path.exists(aside) and os.path.exists(path)
            if known and os.path.samefile(aside, path):
                for part in COMPANIONS:
                    if os.path.exists(aside + part) and not os.path.exists(path + part):
                        os.rename(aside + part, path + part)
                os.unlink(aside)


def table_names(database: Database) -> tuple[str, ...]:
    """Return the tables of a database, except SQLite's own."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    return tuple(name for (name,) in database.read(query))


def _remove(path: str) -> None:
    """Remove a temporary database; `atomic.leftovers` finds files that cannot be removed."""
    for part in ("", *COMPANIONS):
        with suppress(OSError):
            os.unlink(path + part)
