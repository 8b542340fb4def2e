"""Access to one SQLite file: opening, migrating, reading, writing, and recovery from damage.

Every file has an application id (which program owns it) and a version (how many migrations it has seen), so that files
of other programs or of a newer Whet are never touched. Writers use WAL and short immediate transactions; commits of a
durable database survive a power failure.

Opening, setting aside and repairing one file exclude each other by a lock beside it (`locks/`), because SQLite cannot
notice that a file is renamed while it is being opened. A `Database` that was already open notices at its next use that
another file is at its path, and continues with that one.

A `Database` may be shared by threads. Before a `fork` every file is closed, and both parent and child open it again at
its next use: in a child that inherits an open file, SQLite takes the parent's locks for its own, and the parent may
then delete the log that the child writes to. An open transaction stays with the parent.

Importing this module imports SQLite; import it only where you use it.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from _thread import RLock
from _weakrefset import WeakSet  # `weakref` and `threading` take longer to load than a database to open
from contextlib import closing, contextmanager, suppress
from types import MappingProxyType

from whet.errors import FailedError, NotFoundError
from whet.records import NamedTuple
from whet.store.directories import (
    PRIVATE,
    is_loose,
    make_directories,
    make_missing,
    sync_directory,
    tighten,
    tighten_state,
)
from whet.store.failures import is_full, os_failures, sqlite_failure
from whet.store.locks import FileLock
from whet.store.regular import is_irregular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Self

COMPANIONS = ("-wal", "-shm", "-journal")
BUSY_MS = 5000
MEMORY = ":memory:"
"""Instead of a path: a database that exists until it is closed."""
FORMER = "former"
"""Directory for files of an earlier version, once their content was imported."""
_UNUSABLE = frozenset({"state-corrupt", "state-foreign", "state-newer"})


class Schema(NamedTuple):
    """The schema of one kind of database."""

    application_id: int
    """Identifies the files of this kind; from 1 to 2**31 - 1, never changed."""
    migrations: tuple[str, ...]
    """SQL scripts; number n brings a file of version n to version n + 1. Only ever appended to."""
    adopt: Callable[[sqlite3.Connection, str, int], Sequence[str]] | None = None
    """Imports older files. Called in the migrating transaction, after each migration, with the connection, the file's
    directory and the migration's number, so that later migrations change imported rows like any other. Returns the
    imported files, which are set aside after the commit.
    """
    logs: tuple[str, ...] = ()
    """Files beside it that have content only if the database has."""
    convert: Mapping[int, Callable[[sqlite3.Connection, str], None]] = MappingProxyType({})
    """Functions by number of a migration that change existing rows where SQL alone cannot; called with the file's
    directory, "" for a trial database.
    """

    def apply(self, connection: sqlite3.Connection, number: int, directory: str = "") -> None:
        """Apply one migration in the open transaction."""
        for statement in _statements(self.migrations[number - 1]):
            connection.execute(statement)
        if number in self.convert:
            self.convert[number](connection, directory)


class Database:
    """An open SQLite file. Closed by `close()` or at the end of a `with` block."""

    __slots__ = (
        "__weakref__",
        "_after",
        "_busy_ms",
        "_connection",
        "_durable",
        "_full",
        "_let_go",
        "_lock",
        "_schema",
        "_status",
        "_waits",
        "path",
        "read_only",
    )

    def __init__(self, path: str, schema: Schema, *, durable: bool, busy_ms: int) -> None:
        """Use `open`; this one expects that the caller holds the opening lock."""
        self.path = path
        self._schema = schema
        self._durable = durable
        self._busy_ms = busy_ms
        self._lock = RLock()
        self._waits = durable
        self._after: list[Callable[[], None]] = []
        self._let_go = False
        self._connect()
        if path != MEMORY:
            _OPEN.add(self)

    @classmethod
    def open(cls, path: str, schema: Schema, *, durable: bool, busy_ms: int = BUSY_MS) -> Self:
        """Open the database; create and migrate it if necessary.

        `durable`: a commit waits for the disk; without it the newest commits may be lost after a power failure, but
        never after a crash of the process. `busy_ms`: how long to wait for other processes. A read-only file, or one on
        a full disk, is opened for reading (`read_only` is then true).
        """
        if path == MEMORY:
            return cls(path, schema._replace(adopt=None), durable=False, busy_ms=0)
        real = resolve(path)
        if _is_read_only(real):
            return cls(real, schema, durable=durable, busy_ms=busy_ms)
        make_directories(os.path.dirname(real), durable=durable, private=True)
        with opening(real, busy_ms):
            return cls(real, schema, durable=durable, busy_ms=busy_ms)

    @property
    def connection(self) -> sqlite3.Connection:
        """The current connection, in autocommit mode. Prefer `read`, `write` and `use`, which take turns."""
        return self._connection

    def read(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of one query."""
        with self.use() as connection:
            return connection.execute(sql, params).fetchall()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Run a transaction: committed at the end of the block, rolled back if the block raises.

        A nested block of the same thread joins the outer transaction. `durable=False`: this commit does not wait for
        the disk, even in a durable database.
        """
        with self.use() as connection:
            joins = connection.in_transaction
            if joins:
                yield connection
                return
            if self._full is not None:
                raise self._full
            if self._durable and durable != self._waits:
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._waits = durable
            connection.execute("BEGIN IMMEDIATE")
            self._after = []
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            for call in self._after:
                call()

    def after_commit(self, call: Callable[[], None]) -> bool:
        """Call this once after the open transaction is committed; return false if it is already registered."""
        if call in self._after:
            return False
        self._after.append(call)
        return True

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Use one state of the database for several queries."""
        with self.use() as connection:
            joins = connection.in_transaction
            if not joins:
                connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if not joins and connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """Reserve the connection for this thread, to the file that is now at the path; starts no transaction."""
        with self._lock, _failures(self.path):
            moved = self._status is not None and not _is_at(self.path, self._status)
            before: sqlite3.Connection = self._connection
            # On a full disk the file is read without a lock: whoever frees space may change it.
            if self._let_go or ((moved or self._full is not None) and not before.in_transaction):
                make_directories(os.path.dirname(self.path), durable=self._durable, private=True)
                with opening(self.path, self._busy_ms):
                    self._connect()
                before.close()
            yield self._connection

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        with self._lock, _failures(self.path):
            self._connection.close()
            self._let_go = False
            _OPEN.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def hold(self) -> bool:
        """Close the file and block its use during a fork; return whether that worked in time."""
        if not self._lock.acquire(timeout=self._busy_ms / 1000):
            return False
        if not self._let_go and not self._connection.in_transaction:
            self._connection.close()
            self._let_go = True
        return True

    def resume(self) -> None:
        """Allow its use again after `hold`."""
        self._lock.release()

    def _connect(self) -> None:
        self._status: os.stat_result | None = None
        self._full: sqlite3.Error | None = None
        if self.path == MEMORY:
            self.read_only, self._connection = False, _connected(MEMORY, self._busy_ms)
            self._prepare(self._connection)
            return
        self.read_only = _is_read_only(self.path)
        with os_failures(self.path, doing="open", other="state-failed"), _failures(self.path):
            _refuse_orphaned_log(self.path, self._schema.logs)
            if not self.read_only:
                _make_private(self.path)
            try:
                connection = self._open_file()
            except sqlite3.Error as error:
                if self.read_only or not is_full(error):
                    raise
                self.read_only, self._full = True, error
                connection = self._open_file()
            self._connection, self._let_go = connection, False

    def _open_file(self) -> sqlite3.Connection:
        connection = (_reader if self.read_only else _connected)(self.path, self._busy_ms)
        try:
            self._prepare(connection)
            self._status = os.stat(self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Check the owner of the file before anything is changed, then migrate it."""
        version = _version(connection, self._schema, self.path)
        connection.execute("PRAGMA foreign_keys = ON")
        if self.read_only:
            if version < len(self._schema.migrations):
                raise self._full or _denied(self.path, "needs an upgrade but is read-only")
            return
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        self._waits = self._durable
        connection.execute("PRAGMA cell_size_check = ON")
        if version < len(self._schema.migrations):
            _migrate(connection, self._schema, os.path.dirname(self.path))


_OPEN: WeakSet[Database] = WeakSet()
_held: list[Database] = []


def _before_fork() -> None:
    _held.extend(database for database in list(_OPEN) if database.hold())


def _after_fork() -> None:
    while _held:
        _held.pop().resume()


if sys.platform != "win32":
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def resolve(path: str) -> str:
    """Return the real path of the database; the path itself if it is not a regular file."""
    return path if is_irregular(path) else os.path.realpath(path)


def check(path: str) -> str | None:
    """Return what is wrong with the file; None if it is sound or missing. Reads all of it, changes nothing."""
    return _verdict(resolve(path), "quick_check(1)")


def set_aside(path: str) -> str:
    """Rename the database with its companions to `PATH.broken-1`, overwriting nothing; return the new name."""
    real = resolve(path)
    with opening(real, BUSY_MS):
        return move_aside(real)


def rebuildable(
    path: str,
    schema: Schema,
    *,
    durable: bool = False,
    busy_ms: int = BUSY_MS,
    suspect: bool = False,
) -> tuple[Database, str | None]:
    """Open a database whose content can be rebuilt; an unusable one is set aside and a new one opened.

    Opening reads little of the file. If a query failed with `state-corrupt`, call again with `suspect=True`: then the
    whole file is checked. Return the database and the name of the file set aside, if any.
    """
    real = resolve(path)
    if not suspect:
        try:
            return Database.open(real, schema, durable=durable, busy_ms=busy_ms), None
        except FailedError as error:
            if error.code not in _UNUSABLE:
                raise
    with opening(real, busy_ms):
        if not suspect or _verdict(real, "integrity_check(1)") is None:
            try:  # again, under the lock: another process may have been faster
                return Database(real, schema, durable=durable, busy_ms=busy_ms), None
            except FailedError as error:
                if error.code not in _UNUSABLE:
                    raise
        broken = move_aside(real)
        return Database(real, schema, durable=durable, busy_ms=busy_ms), broken


@contextmanager
def _failures(path: str) -> Iterator[None]:
    """Translate SQLite errors of the block."""
    try:
        yield
    except sqlite3.Error as error:
        raise sqlite_failure(error, path) from error
    except UnicodeDecodeError as error:  # SQLite quotes a damaged schema in its message, which is then not text
        raise sqlite_failure(_corrupt("its schema is not text"), path) from error


def _corrupt(message: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    error.sqlite_errorname = "SQLITE_CORRUPT"
    return error


def opening(path: str, busy_ms: int) -> FileLock:
    """Return the lock for opening, creating, renaming or replacing the file."""
    directory, name = os.path.split(path)
    return FileLock(os.path.join(directory, "locks", f"database-{name}.lock"), timeout=busy_ms / 1000)


def _is_read_only(path: str) -> bool:
    """Return whether the file exists and it, or its directory with SQLite's companions, is read-only."""
    return os.path.exists(path) and not (os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK))


def _denied(path: str, why: str) -> FailedError:
    hint = "Check that you own the file and its directory, and that they are writable."
    return FailedError("permission-denied", f"The database {path} {why}.", hint=hint, path=path)


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), status)
    except OSError:  # opening it again reports the problem
        return False


def _make_private(path: str) -> None:
    """Make the file, its companions and its directory private. None is opened: that would lose locks."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
    except FileExistsError:
        tighten(path + part for part in ("", *COMPANIONS) if is_loose(path + part))
    tighten_state(os.path.dirname(path))


def _connected(database: str, busy_ms: int, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(database, timeout=busy_ms / 1000, isolation_level=None, check_same_thread=False, uri=uri)


def open_reader(path: str) -> sqlite3.Connection:
    """Open a possibly damaged file for reading. Raises `sqlite3.Error`."""
    return _reader(resolve(path), BUSY_MS, tolerant=True)


def _reader(path: str, busy_ms: int, *, tolerant: bool = False) -> sqlite3.Connection:
    """Open a file for reading. `tolerant`: damage to the schema of one table does not hide the others."""
    from urllib.parse import quote

    _refuse_orphaned_log(path)
    address = quote(os.fsencode(path.replace(os.sep, "/")))
    address = f"file://{'' if address.startswith('/') else '/'}{address}?mode=ro"
    try:
        return _reading(address, busy_ms, tolerant=tolerant)
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        denied = code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) or is_full(error)
        if not denied or not os.path.exists(path) or size_of(path + "-wal"):
            raise
    # In a read-only directory, SQLite reads a file only if told that it never changes.
    return _reading(f"{address}&immutable=1", busy_ms, tolerant=tolerant)


def _reading(address: str, busy_ms: int, *, tolerant: bool) -> sqlite3.Connection:
    connection = _connected(address, busy_ms, uri=True)
    try:
        if tolerant:
            connection.execute("PRAGMA writable_schema = ON")
        connection.execute("PRAGMA schema_version").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_orphaned_log(path: str, logs: Sequence[str] = ()) -> None:
    """Raise an error instead of creating a new file where one was lost.

    SQLite would delete a log beside an empty or missing file; it is set aside with the rest instead.
    """
    if os.path.isdir(path):
        raise _corrupt("it is a directory")
    for part in ("", *COMPANIONS):
        if is_irregular(path + part):
            raise _corrupt(f"{os.path.basename(path)}{part} is not a regular file")
    if size_of(path + "-wal") and not size_of(path):
        raise _corrupt("the file is empty or missing but its log is not")
    if not size_of(path) and (lost := log_of_missing(path, logs)):
        raise _corrupt(f"the file is empty or missing but {lost} is not")


def log_of_missing(path: str, logs: Sequence[str]) -> str:
    """Return the first of these logs that has content although the database has none, or ""."""
    found = (log for log in logs if not size_of(path) and size_of(os.path.join(os.path.dirname(path), log)))
    return next(found, "")


def size_of(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _version(connection: sqlite3.Connection, schema: Schema, path: str) -> int:
    """Return how many migrations the file has seen; raise FailedError if it is not ours."""
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application_id != schema.application_id:
        empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if application_id != 0 or version != 0 or not empty:
            raise FailedError(
                "state-foreign",
                f"The database {path} belongs to another program (application id {application_id}).",
                hint="Move the file, or set WHET_HOME to another directory.",
                path=path,
            )
    if version > len(schema.migrations):
        raise FailedError(
            "state-newer",
            f"The database {path} was written by a newer Whet (version {version}; this one knows up to "
            f"{len(schema.migrations)}).",
            hint="Update Whet, or set WHET_HOME to another directory.",
            path=path,
        )
    return version


def _migrate(connection: sqlite3.Connection, schema: Schema, directory: str) -> None:
    """Apply every missing migration, all or nothing; another process may have done it meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        adopted: list[str] = []
        for number in range(version + 1, len(schema.migrations) + 1):
            schema.apply(connection, number, directory)
            adopted += schema.adopt(connection, directory, number) if schema.adopt else ()
        connection.execute(f"PRAGMA application_id = {schema.application_id}")
        connection.execute(f"PRAGMA user_version = {len(schema.migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    put_away(adopted, directory)


def put_away(paths: Sequence[str], directory: str) -> None:
    """Move files that are no longer read, with their companions, to `FORMER`; ignore failures."""
    if not paths:
        return
    target = os.path.join(directory, FORMER)
    with suppress(OSError):
        make_missing(target)
    for path in paths:
        for part in ("", *COMPANIONS):
            with suppress(OSError):  # it does not exist, or stays and is never read again
                os.replace(path + part, os.path.join(target, os.path.basename(path) + part))


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, because `executescript` would commit the surrounding transaction."""
    statement = ""
    for piece in script.split(";"):
        statement += piece + ";"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip("; \t\r\n"):
        yield statement


def _verdict(path: str, how: str) -> str | None:
    """Return the problem that the given SQLite check finds in the file."""
    odd = any(is_irregular(path + part) for part in ("", *COMPANIONS))
    if not odd and not os.path.exists(path) and not size_of(path + "-wal"):
        return None
    try:
        with _failures(path), closing(_reader(path, BUSY_MS)) as connection:
            answer = str(connection.execute(f"PRAGMA {how}").fetchone()[0])
    except FailedError as error:
        if error.code != "state-corrupt":
            raise
        return error.message
    return None if answer == "ok" else f"The database {path} is damaged: {answer.splitlines()[-1].rstrip('.')}."


def move_aside(path: str, *, keep: bool = False) -> str:
    """Rename a database and its companions. `keep`: if possible, the file also stays under its own name, as a link."""
    parts = [part for part in ("", *COMPANIONS) if os.path.lexists(path + part)]
    if not parts:
        hint = "There is nothing to move."
        raise NotFoundError("state-missing", f"There is no database {path}.", hint=hint, path=path)
    from whet.store.atomic import free_name

    broken = free_name(path, parts=("", *COMPANIONS))
    with os_failures(path, doing="set aside"):
        # The file first: once it is renamed, nobody can open it without its log.
        for part in parts:
            if keep and not part and _linked(path, broken):
                continue
            with suppress(FileNotFoundError):
                os.rename(path + part, broken + part)
        sync_directory(os.path.dirname(path))
    return broken


def _linked(path: str, name: str) -> bool:
    try:
        os.link(path, name)
    except OSError:  # no file, or a file system without links
        return False
    return True
