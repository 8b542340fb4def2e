"""`state.db`: everything that cannot be made again, in one file that every room shares.

    state = StateDatabase(directory)
    state.read("SELECT name FROM pins")
    with state.write() as connection:
        connection.execute(...)

One handle is made where the state directory is known and given to whoever keeps something. The file is opened on first
use; reading never creates it. A damaged file is an error and never an empty one: forgetting that a skill was disabled
would offer it again. `repair_state` sets it aside and saves what can be read. SQLite is imported when the file is
opened and not before.

What every command asks first (`recall`) is remembered in a file (`whet.store.packed`), as long as the database is what
it was then: nothing has its log open with changes in it, and the file itself is the same and was not changed in the
two seconds before it was asked, because times of files are that coarse on some file systems.
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
"""Nanoseconds after which a change of a file shows in its times, wherever it is."""


class StateDatabase:
    """The state database of one directory, for any number of threads."""

    def __init__(self, directory: str, *, busy_ms: int = 5000) -> None:
        """`busy_ms`: how long to wait for other processes."""
        self.directory = directory
        self.path = os.path.join(directory, FILE)
        self._busy_ms = busy_ms
        self._opening = allocate_lock()
        self._database: Database | None = None
        self._former: bool | None = None
        self._answers: tuple[tuple[int, ...], dict[str, list[tuple[Any, ...]]]] = (), {}
        """What the file had of which stamp when it was last recalled."""

    def close(self) -> None:
        """Let the file go; the next use opens it again."""
        with self._opening:
            if self._database is not None:
                self._database.close()
            self._database = None

    def stamp(self) -> tuple[int, ...]:
        """What differs after a write, by whichever process; it opens nothing."""
        stamp: list[int] = []
        try:
            for name in (self.path, f"{self.path}-wal"):
                found = os.stat(name)
                stamp += (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        except OSError:
            return tuple(stamp)
        return tuple(stamp)

    def existing(self) -> Database | None:
        """The database; None when nothing was ever kept here."""
        if self._database is None and _absent(self.path) and not self._has_former_files() and not self._has_log():
            return None
        return self.open()

    def _has_log(self) -> bool:
        """Does a log say that there was a database? Then it was lost, and opening it tells."""
        paths = (os.path.join(self.directory, log) for log in LOGS.values())
        return any(os.path.isfile(path) and os.path.getsize(path) for path in paths)

    def _has_former_files(self) -> bool:
        """Is there anything of the versions before? Looked for once: nothing makes such files any more."""
        if self._former is None and self._has_only_caches():
            self._former = False
        if self._former is None:
            from whet.store.former import former_files

            self._former = bool(former_files(self.directory))
        return self._former

    def _has_only_caches(self) -> bool:
        """Is there nothing but caches and locks, as with somebody who only lists skills?"""
        try:
            return all(name == "locks" or name.startswith("cache") for name in os.listdir(self.directory))
        except OSError as error:
            return isinstance(error, FileNotFoundError)

    def open(self) -> Database:
        """The database, made if need be."""
        with self._opening:
            if self._database is None:
                from whet.store.database import Database
                from whet.store.schema import STATE

                self._database = Database.open(self.path, STATE, durable=True, busy_ms=self._busy_ms)
            return self._database

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query; none where nothing was ever kept."""
        database = self.existing()
        return database.read(query, values) if database else []

    def recall(self, query: str) -> list[tuple[Any, ...]]:
        """`read` of a query without values, whose rows are remembered until the database changes."""
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
        """The stamp of a database that is all in its file and changed some time ago; else nothing."""
        changed, created, size, inode, *log = self.stamp() or (0, 0, 0, 0)
        if not inode or log[2:3] not in ([], [0]) or time.time_ns() - max(changed, created) < _SETTLED:
            return ()
        return changed, created, size, inode

    def write(self, *, durable: bool = True) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction; one inside another is part of it. Not `durable`: the commit does not wait for the disk."""
        return self.open().write(durable=durable)


def _load_answers(path: str, stamp: tuple[int, ...]) -> dict[str, list[tuple[Any, ...]]]:
    """The remembered rows by query; none where they are of another state of the database."""
    try:
        with PackedFile(path) as file:
            made_from, answers = file.head
            return dict(answers) if made_from == stamp else {}
    except DAMAGE:
        return {}


def _absent(path: str) -> bool:
    """Was nothing ever kept? A file that cannot be seen, or whose log is still there, is not absent."""
    for part in (path, f"{path}-wal"):
        try:
            os.lstat(part)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
        return False
    return True
