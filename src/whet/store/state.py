"""`state.db`: everything that cannot be rebuilt, in one file that every room shares.

    state = StateDatabase(directory)
    state.read("SELECT name FROM pins")
    with state.write() as connection:
        connection.execute(...)

One handle is made where the state directory is known and passed to everything that stores something. The file is opened
on first use; reading never creates it. A damaged file is an error and never counts as empty: forgetting that a skill
was disabled would offer it again. `repair_state` sets it aside and saves its readable rows. SQLite is imported when the
file is opened, not earlier.

The first queries of every command (`recall`) are cached in a file (`whet.store.packed`) as long as the database is
unchanged: its log has no pending changes, and the file itself is the same and was not changed in the two seconds before
the query, because file times are that coarse on some file systems.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from whet.errors import WhetError
from whet.store.home import LOGS
from whet.store.packed import DAMAGE, DIRECTORY, PackedFile, write_packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from whet.store.database import Database

FILE = "state.db"
_SETTLED = 2 * 10**9
"""Nanoseconds after which a change of a file shows in its times on every file system."""


class StateDatabase:
    """The state database of one directory. Thread-safe."""

    def __init__(self, directory: str, *, busy_ms: int = 5000) -> None:
        """`busy_ms`: how long to wait for other processes."""
        self.directory = directory
        self.path = os.path.join(directory, FILE)
        self._busy_ms = busy_ms
        self._opening = allocate_lock()
        self._database: Database | None = None
        self._former: bool | None = None
        self._answers: tuple[tuple[int, ...], dict[str, list[tuple[Any, ...]]]] = (), {}
        """Stamp and answers of the last recall."""

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._opening:
            if self._database is not None:
                self._database.close()
            self._database = None

    def stamp(self) -> tuple[int, ...]:
        """Return a value that changes with every write, of any process, without opening the file."""
        stamp: list[int] = []
        try:
            for name in (self.path, f"{self.path}-wal"):
                found = os.stat(name)
                stamp += (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        except OSError:
            return tuple(stamp)
        return tuple(stamp)

    def existing(self) -> Database | None:
        """Return the database; None if nothing was ever stored here."""
        if self._database is None and _absent(self.path) and not self._has_former_files() and not self._has_log():
            return None
        return self.open()

    def _has_log(self) -> bool:
        """Return whether a log shows that there was a database, which was lost: opening it reports that."""
        paths = (os.path.join(self.directory, log) for log in LOGS.values())
        return any(os.path.isfile(path) and os.path.getsize(path) for path in paths)

    def _has_former_files(self) -> bool:
        """Return whether files of earlier versions exist. Checked once: nothing creates such files any more."""
        if self._former is None and self._has_only_caches():
            self._former = False
        if self._former is None:
            from whet.store.former import former_files

            self._former = bool(former_files(self.directory))
        return self._former

    def _has_only_caches(self) -> bool:
        """Return whether there are only caches and locks, as for a user who only lists skills."""
        try:
            return all(name == "locks" or name.startswith("cache") for name in os.listdir(self.directory))
        except OSError as error:
            return isinstance(error, FileNotFoundError)

    def open(self) -> Database:
        """Return the database, created if missing."""
        with self._opening:
            if self._database is None:
                from whet.store.database import Database
                from whet.store.schema import STATE

                self._database = Database.open(self.path, STATE, durable=True, busy_ms=self._busy_ms)
            return self._database

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query; none if nothing was ever stored."""
        database = self.existing()
        return database.read(query, values) if database else []

    def recall(self, query: str) -> list[tuple[Any, ...]]:
        """Like `read` for a query without values; its rows are cached until the database changes."""
        stamp = self._settled_stamp()
        if not stamp or (self._database is not None and self._database.connection.in_transaction):
            return self.read(query)
        path = os.path.join(self.directory, DIRECTORY, "state")
        if self._answers[0] != stamp:
            self._answers = stamp, _load_answers(path, stamp)
        known = self._answers[1]
        if query not in known:
            known[query] = self.read(query)
            from contextlib import suppress

            with suppress(WhetError):
                write_packed(path, (stamp, known))
        return known[query]

    def _settled_stamp(self) -> tuple[int, ...]:
        """Return the stamp of a database without pending log that changed some time ago; else ()."""
        changed, created, size, inode, *log = self.stamp() or (0, 0, 0, 0)
        if not inode or log[2:3] not in ([], [0]) or time.time_ns() - max(changed, created) < _SETTLED:
            return ()
        return changed, created, size, inode

    def write(self, *, durable: bool = True) -> AbstractContextManager[sqlite3.Connection]:
        """Run a transaction; a nested one joins it. `durable=False`: the commit does not wait for the disk."""
        return self.open().write(durable=durable)


def _load_answers(path: str, stamp: tuple[int, ...]) -> dict[str, list[tuple[Any, ...]]]:
    """Load the cached rows by query; none if they belong to another state of the database."""
    try:
        with PackedFile(path) as file:
            made_from, answers = file.head
            return dict(answers) if made_from == stamp else {}
    except DAMAGE:
        return {}


def _absent(path: str) -> bool:
    """Return whether nothing was ever stored. A file that cannot be checked, or that has a log, is not absent."""
    for part in (path, f"{path}-wal"):
        try:
            os.lstat(part)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
        return False
    return True
