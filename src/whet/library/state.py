"""The state database, and what was decided about skills in it: trusted repositories, disabled and blocked skills.

Reading never creates the database; the first decision does. A damaged database is an error, not an empty one:
forgetting that a skill was disabled would offer it again. `whet doctor --repair` sets the file aside and saves what
can be read.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from whet.store.clock import Clock
    from whet.store.database import Database, Schema

FILE = "state.db"
TABLES = ("trusted", "disabled", "pins", "lifecycle", "curator", "blocked")


class Trusted(NamedTuple):
    """A repository whose skills may be loaded."""

    identity: str
    path: str
    since: int


def state_schema() -> Schema:
    """The tables of the state database; a change is a new migration at the end, never an edit."""
    from whet.store.database import Schema

    return Schema(
        application_id=0x57484554,
        migrations=(
            """
            CREATE TABLE trusted (identity TEXT PRIMARY KEY, path TEXT NOT NULL, since INTEGER NOT NULL);
            CREATE TABLE disabled (
                name TEXT NOT NULL, surface TEXT NOT NULL, since INTEGER NOT NULL, PRIMARY KEY (name, surface));
            """,
            """
            CREATE TABLE pins (name TEXT PRIMARY KEY, reason TEXT NOT NULL, since INTEGER NOT NULL);
            CREATE TABLE lifecycle (path TEXT PRIMARY KEY, state TEXT NOT NULL, since INTEGER NOT NULL);
            CREATE TABLE curator (key TEXT PRIMARY KEY, value TEXT NOT NULL);
            """,
            """
            CREATE TABLE blocked (path TEXT PRIMARY KEY, reason TEXT NOT NULL, since INTEGER NOT NULL);
            """,
        ),
    )


class State:
    """The door to the state database. Opens it on first use and keeps it open; for any number of threads."""

    def __init__(self, state: str, clock: Clock) -> None:
        self.path = os.path.join(state, FILE)
        self._clock = clock
        self._opening = threading.Lock()
        self._database: Database | None = None

    def _reader(self) -> Database | None:
        if self._database is None and not _absent(self.path):
            return self._writer()
        return self._database

    def _writer(self) -> Database:
        with self._opening:
            if self._database is None:
                from whet.store.database import Database

                self._database = Database.open(self.path, state_schema(), durable=True)
            return self._database

    def close(self) -> None:
        """Let the database go; the next use opens it again."""
        if self._database is not None:
            self._database.close()
            self._database = None


class Decisions(State):
    """What the user decided."""

    def trusted(self) -> tuple[Trusted, ...]:
        """Every repository the user trusts."""
        database = self._reader()
        rows = database.read("SELECT identity, path, since FROM trusted ORDER BY path") if database else ()
        return tuple(Trusted(text_of(identity), text_of(path), since) for identity, path, since in rows)

    def trust(self, identity: str, path: str) -> bool:
        """Trust a repository; False when it already was."""
        with self._writer().write() as connection:
            return bool(
                connection.execute(
                    "INSERT OR IGNORE INTO trusted VALUES (?, ?, ?)", (identity, path, self._clock())
                ).rowcount
            )

    def untrust(self, identity: str) -> bool:
        """Take trust back; False when there was none."""
        if self._reader() is None:
            return False
        with self._writer().write() as connection:
            return bool(connection.execute("DELETE FROM trusted WHERE identity = ?", (identity,)).rowcount)

    def disabled(self) -> frozenset[tuple[str, str]]:
        """The (name, surface) pairs that are switched off; surface "" is everywhere."""
        database = self._reader()
        rows = database.read("SELECT name, surface FROM disabled") if database else ()
        return frozenset((text_of(name), text_of(surface)) for name, surface in rows)

    def disable(self, name: str, surface: str = "") -> bool:
        """Switch a skill off; False when it already was."""
        with self._writer().write() as connection:
            return bool(
                connection.execute(
                    "INSERT OR IGNORE INTO disabled VALUES (?, ?, ?)", (name, surface, self._clock())
                ).rowcount
            )

    def enable(self, name: str, surface: str = "") -> bool:
        """Switch a skill on again, on one surface or on all of them; False when it was on."""
        if self._reader() is None:
            return False
        query = "DELETE FROM disabled WHERE name = ? AND ? IN ('', surface)"
        with self._writer().write() as connection:
            return bool(connection.execute(query, (name, surface)).rowcount)

    def blocked(self) -> dict[str, str]:
        """The skills of repositories that the guard keeps back, by their main file, and why."""
        database = self._reader()
        rows = database.read("SELECT path, reason FROM blocked") if database else ()
        return {text_of(path): text_of(reason) for path, reason in rows}

    def block(self, path: str, reason: str) -> bool:
        """Keep a skill back; False when it was for this reason."""
        query = (
            "INSERT INTO blocked VALUES (?, ?, ?) ON CONFLICT (path) DO UPDATE SET reason = excluded.reason, "
            "since = excluded.since WHERE reason <> excluded.reason"
        )
        with self._writer().write() as connection:
            return bool(connection.execute(query, (path, reason, self._clock())).rowcount)

    def unblock(self, path: str) -> bool:
        """Let a skill be; False when it was not kept back."""
        if path not in self.blocked():
            return False
        with self._writer().write() as connection:
            return bool(connection.execute("DELETE FROM blocked WHERE path = ?", (path,)).rowcount)


def text_of(value: object) -> str:
    """A column as text, which after a flipped bit it may not be: one odd row must not keep the others from counting."""
    return value if isinstance(value, str) else repr(value)


def _absent(path: str) -> bool:
    """Was nothing ever decided? A file that cannot be seen, or whose log is still there, is not absent."""
    for part in (path, f"{path}-wal"):
        try:
            os.stat(part)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
        return False
    return True
