"""The hub's database: SQLite for one process, PostgreSQL for several, with one interface.

Statements are written once, with `?` for values. A backend defines the differences: placeholders, types of columns, and
the isolation of transactions. A change is a function of a `Transaction` that may run again: PostgreSQL requires that
when two of them conflict.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from whet.errors import FailedError, UsageError
from whet.extras import missing_extra
from whet.hub.schema import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg
    import psycopg_pool

T = TypeVar("T")
Row = tuple[Any, ...]

_BUSY_MS = 30_000
_TRIES = 12
_AGAIN = frozenset(("40001", "40P01", "55P03"))
"""SQLSTATE of conflicting transactions that may be tried again."""


class Transaction(Protocol):
    """Statements that take effect together or not at all."""

    def all(self, sql: str, *values: object) -> list[Row]:
        """Return every row."""
        ...

    def one(self, sql: str, *values: object) -> Row | None:
        """Return the first row, or None."""
        ...

    def get(self, sql: str, *values: object) -> Row:
        """Return the first row, which must exist. Raise FailedError otherwise."""
        ...

    def run(self, sql: str, *values: object) -> int:
        """Run a statement; return the number of changed rows."""
        ...


class Database(Protocol):
    """A database of a hub."""

    for_update: str
    """Suffix of a SELECT that locks its row until the transaction ends."""

    def read(self, ask: Callable[[Transaction], T]) -> T:
        """Run queries on one state of the database."""
        ...

    def write(self, change: Callable[[Transaction], T]) -> T:
        """Run a change once; `change` may be called again after a conflict."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def open_database(address: str) -> Database:
    """Open the database at a path or a `postgresql://` address and create its tables. Raises WhetError."""
    if address.startswith(("postgresql://", "postgres://")):
        return _Postgres(address)
    if "://" in address:
        hint = "Use a path for SQLite, or postgresql://USER@HOST/NAME."
        raise UsageError("bad-database", f"{address.partition('://')[0]} is not a database Whet knows.", hint=hint)
    return _Sqlite(address)


# SQLite


class _Getter:
    def one(self, sql: str, *values: object) -> Row | None:
        raise NotImplementedError

    def get(self, sql: str, *values: object) -> Row:
        row = self.one(sql, *values)
        if row is None:
            hint = "Restore the hub from a backup; `whet hub verify` shows whether it is whole."
            raise FailedError("hub-database", "A row of the database is missing.", hint=hint)
        return row


class _SqliteTransaction(_Getter):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def one(self, sql: str, *values: object) -> Row | None:
        row: Row | None = self._connection.execute(sql, values).fetchone()
        return row

    def run(self, sql: str, *values: object) -> int:
        return self._connection.execute(sql, values).rowcount


class _Sqlite:
    """One file. Every thread has a connection; the file's own lock serializes writers."""

    for_update = ""  # BEGIN IMMEDIATE allows only one writer

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        self.write(partial(_migrate, bytes="BLOB", number="INTEGER", key="INTEGER PRIMARY KEY"))

    def read(self, ask: Callable[[Transaction], T]) -> T:
        connection = self._connection()
        with _sqlite_failures(self._path):
            connection.execute("BEGIN")
            try:
                return ask(_SqliteTransaction(connection))
            finally:
                connection.execute("ROLLBACK")

    def write(self, change: Callable[[Transaction], T]) -> T:
        connection = self._connection()
        with _sqlite_failures(self._path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                done = change(_SqliteTransaction(connection))
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            return done

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for connection in self._open:
                connection.close()
            self._open.clear()

    def _connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is not None:
            return found
        with _sqlite_failures(self._path):
            wait = _BUSY_MS / 1000
            made = sqlite3.connect(self._path, timeout=wait, isolation_level=None, check_same_thread=False)
            made.execute("PRAGMA journal_mode = WAL")
            made.execute("PRAGMA synchronous = FULL")
            made.execute("PRAGMA foreign_keys = ON")
        with self._lock:
            if self._closed:
                made.close()
                raise FailedError("hub-closed", "The hub is shutting down.", hint="Try again in a moment.")
            self._open.append(made)
        self._local.connection = made
        return made


@contextmanager
def _sqlite_failures(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.Error as error:
        hint = "Check the disk and the directory's permissions; `whet hub verify` checks the rest."
        raise FailedError("hub-database", f"{path} cannot be used: {error}.", hint=hint) from error


# PostgreSQL


class _PostgresTransaction(_Getter):
    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def all(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(_marked(sql), values).fetchall()

    def one(self, sql: str, *values: object) -> Row | None:
        return self._connection.execute(_marked(sql), values).fetchone()

    def run(self, sql: str, *values: object) -> int:
        return self._connection.execute(_marked(sql), values).rowcount


def _marked(sql: str) -> Any:
    return sql.replace("%", "%%").replace("?", "%s")


class _Postgres:
    """A server. Several hubs may share it; the row of the log's head serializes their changes."""

    for_update = " FOR UPDATE"

    def __init__(self, address: str) -> None:
        try:
            import psycopg
            import psycopg_pool
        except ImportError as error:
            raise missing_extra("PostgreSQL needs the extra `hub`.", "hub") from error
        self._psycopg = psycopg
        self._pool: psycopg_pool.ConnectionPool[psycopg.Connection[Row]] = psycopg_pool.ConnectionPool(
            address, min_size=1, max_size=16, open=False, timeout=20, kwargs={"autocommit": True}
        )
        try:
            self._pool.open(wait=True, timeout=20)
        except psycopg_pool.PoolTimeout as error:
            self._pool.close()
            hint = "Check the address, and that the server runs and lets this user in."
            raise FailedError("hub-database", "PostgreSQL does not answer.", hint=hint) from error
        key = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        migrate = partial(_migrate, lock=self.for_update, bytes="BYTEA", number="BIGINT", key=key)
        try:
            self.write(migrate)
        except psycopg.errors.IntegrityError:  # another hub created the first table at the same moment
            self.write(migrate)

    def read(self, ask: Callable[[Transaction], T]) -> T:
        return self._transact(ask, "ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def write(self, change: Callable[[Transaction], T]) -> T:
        return self._transact(change, "ISOLATION LEVEL READ COMMITTED")

    def close(self) -> None:
        self._pool.close()

    def _transact(self, work: Callable[[Transaction], T], kind: str) -> T:
        for tried in range(_TRIES):
            try:
                with self._pool.connection() as connection, connection.transaction():
                    connection.execute(f"SET TRANSACTION {kind}")
                    return work(_PostgresTransaction(connection))
            except self._psycopg.errors.IntegrityError:
                raise
            except self._psycopg.Error as error:
                if error.sqlstate not in _AGAIN or tried == _TRIES - 1:
                    hint = "Check the server; nothing was changed."
                    raise FailedError("hub-database", f"PostgreSQL failed: {error}.", hint=hint) from error
                time.sleep(min(0.01 * 2**tried, 0.5))
        raise AssertionError("unreachable")


def _migrate(transaction: Transaction, lock: str = "", **words: str) -> None:
    """Migrate the tables; `lock` makes other hubs wait, `words` are the types of the columns."""
    transaction.run("CREATE TABLE IF NOT EXISTS hub_schema (version INTEGER NOT NULL)")
    row = transaction.one("SELECT version FROM hub_schema" + lock)  # noqa: S608  a constant of the backend
    if row is None:
        transaction.run("INSERT INTO hub_schema VALUES (0)")
    done = row[0] if row else 0
    if done > len(MIGRATIONS):
        hint = "Start the hub with the version of Whet that wrote it, or a later one."
        raise FailedError("hub-newer", "A later version of Whet wrote this hub's database.", hint=hint)
    for statement in (statement for statements in MIGRATIONS[done:] for statement in statements):
        transaction.run(statement.format_map(words))
    if done < len(MIGRATIONS):
        transaction.run("UPDATE hub_schema SET version = ?", len(MIGRATIONS))
