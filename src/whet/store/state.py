"""`state.db`: everything that cannot be made again, in one file that every room shares.

    state = StateDatabase(directory)
    state.read("SELECT name FROM pins")
    with state.write() as connection:
        connection.execute(...)

One handle is made where the state directory is known and given to whoever keeps something. The file is opened on first
use; reading never creates it. A damaged file is an error and never an empty one: forgetting that a skill was disabled
would offer it again. `repair_state` sets it aside and saves what can be read. SQLite is imported when the file is
opened and not before.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from whet.store.clock import Clock
    from whet.store.database import Database
    from whet.values import Json

FILE = "state.db"


class StateDatabase:
    """The state database of one directory, for any number of threads; a child made by `fork` opens it again."""

    def __init__(self, directory: str, *, busy_ms: int = 5000) -> None:
        """`busy_ms`: how long to wait for other processes."""
        self.directory = directory
        self.path = os.path.join(directory, FILE)
        self._busy_ms = busy_ms
        self._opening = threading.Lock()
        self._database: Database | None = None
        self._process = 0
        self._former: bool | None = None

    def close(self) -> None:
        """Let the file go; the next use opens it again."""
        with self._opening:
            if self._database is not None and self._process == os.getpid():
                self._database.close()
            self._database = None

    def existing(self) -> Database | None:
        """The database; None when nothing was ever kept here."""
        if self._database is None and _absent(self.path) and not self._has_former_files():
            return None
        return self.open()

    def _has_former_files(self) -> bool:
        """Is there anything of the versions before? Looked for once: nothing makes such files any more."""
        if self._former is None:
            from whet.store.former import former_files

            self._former = bool(former_files(self.directory))
        return self._former

    def open(self) -> Database:
        """The database, made if need be."""
        process = os.getpid()
        if self._database is not None and self._process != process:
            self._database, self._opening = None, threading.Lock()  # the parent's; SQLite does not survive a fork
        with self._opening:
            if self._database is None:
                from whet.store.database import Database
                from whet.store.schema import STATE

                self._database = Database.open(self.path, STATE, durable=True, busy_ms=self._busy_ms)
                self._process = process
            return self._database

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query; none where nothing was ever kept."""
        database = self.existing()
        return database.read(query, values) if database else []

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction; one inside another is part of it. Not `durable`: the commit does not wait for the disk."""
        with self.open().write(durable=durable) as connection:
            yield connection


class Repaired(NamedTuple):
    """What a repair did, and what it could not save, in sentences."""

    done: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """The repair as JSON carries it."""
        return {"repaired": list(self.done), "lost": list(self.lost)}


def check_state(directory: str) -> str | None:
    """What is wrong with the state database, or with an older file that it has not taken over yet."""
    from whet.store.database import check
    from whet.store.former import check_former
    from whet.store.schema import STATE

    path = os.path.join(directory, FILE)
    if problem := check(path):
        return problem
    return check_former(directory, _version(path), STATE.migrations)


def repair_state(directory: str, clock: Clock) -> Repaired:
    """Set a damaged state database aside and save from it, and from older files, what can be read."""
    if not check_state(directory):
        return Repaired()
    from whet.store.database import Database, check, repair
    from whet.store.former import adopt_readable, former_files
    from whet.store.schema import STATE

    path = os.path.join(directory, FILE)
    done: list[str] = []
    lost: list[str] = []

    def adopt(connection: sqlite3.Connection, directory: str, number: int) -> list[str]:
        files, gone = adopt_readable(connection, directory, number)
        done.extend(f"Took over what could be read of {file}." for file in files)
        lost.extend(gone)
        return files

    schema = STATE._replace(adopt=adopt)
    if check(path):
        version = _version(path) or (0 if former_files(directory) else None)
        outcome = repair(path, schema, version=version, clock=clock)
        rows = sum(outcome.salvage.rows.values())
        done.insert(0, f"Set the damaged state database aside as {outcome.set_aside} and saved {rows} rows from it.")
        lost = [*outcome.salvage.lost, *lost]
    else:
        Database.open(path, schema, durable=True).close()
    return Repaired(tuple(done), tuple(lost))


def _version(path: str) -> int:
    """How many migrations a file has seen; 0 where that cannot be read."""
    import sqlite3
    from contextlib import closing

    from whet.store.database import open_reader

    try:
        with closing(open_reader(path)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except (sqlite3.Error, UnicodeDecodeError):
        return 0


def _absent(path: str) -> bool:
    """Was nothing ever kept? A file that cannot be seen, or whose log is still there, is not absent."""
    for part in (path, f"{path}-wal"):
        try:
            os.stat(part)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
        return False
    return True
