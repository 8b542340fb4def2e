"""The door to one database of a state directory: opened on first use, made by the first write, shared by threads.

    class Audit(Door):
        def __init__(self, state: str) -> None:
            super().__init__(os.path.join(state, "audit.db"), audit_schema)

What comes through it is durable unless said otherwise. SQLite is imported when a database is opened and not before.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.store.database import Database, Schema


class Door:
    """One database. Reading never creates it."""

    def __init__(self, path: str, schema: Callable[[], Schema], *, durable: bool = True, busy_ms: int = 5000) -> None:
        """Not `durable`: a power failure may cost the last writes, and a write does not wait for the disk.

        `busy_ms`: how long to wait for other processes.
        """
        self.path = path
        self._schema = schema
        self._durable = durable
        self._busy_ms = busy_ms
        self._opening = threading.Lock()
        self._database: Database | None = None

    def close(self) -> None:
        """Let the database go; the next use opens it again."""
        with self._opening:
            if self._database is not None:
                self._database.close()
                self._database = None

    def reading(self) -> Database | None:
        """The database; None when there is none yet."""
        return self._database or (self.writing() if os.path.exists(self.path) else None)

    def writing(self) -> Database:
        """The database, made if need be."""
        with self._opening:
            if self._database is None:
                from whet.store.database import Database

                schema, durable, busy_ms = self._schema(), self._durable, self._busy_ms
                self._database = Database.open(self.path, schema, durable=durable, busy_ms=busy_ms)
            return self._database

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query; none where there is no database."""
        database = self.reading()
        return database.read(query, values) if database else []
