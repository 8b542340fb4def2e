"""One door to one SQLite file: opening, migrating, reading, writing, and what to do when the file is damaged.

Every file carries an application id (whose it is) and a version (how many migrations it has seen), so a file of another
program or of a newer Whet is never touched. Writers use WAL and short immediate transactions; what a durable database
has committed survives a power failure.

Opening, setting aside and repairing one file exclude each other by a lock beside it (`locks/`), because SQLite cannot
notice that a file is renamed while it is being opened. A `Database` that was open already notices at its next use that
another file is at its path, and goes on with that one.

A `Database` may be shared by threads. Before a `fork` every file is closed, and opened again at its next use, by parent
and child alike: in a child that inherits an open file, SQLite takes the parent's locks for its own, and the parent may
then delete the log that the child writes to. A transaction that is open stays the parent's.

This is the only module that needs SQLite to be imported; import it where you use it.
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
"""In place of a path: a database that is gone when it is closed."""
FORMER = "former"
"""Where files of an earlier version are put once their content was taken over."""
_UNUSABLE = frozenset({"state-corrupt", "state-foreign", "state-newer"})


class Schema(NamedTuple):
    """What a database of one kind looks like."""

    application_id: int
    """Marks the files of this kind; from 1 to 2**31 - 1, never changed."""
    migrations: tuple[str, ...]
    """SQL scripts; number n brings a file of version n to version n + 1. Only ever appended to."""
    adopt: Callable[[sqlite3.Connection, str, int], Sequence[str]] | None = None
    """Called in the transaction that migrates, after each migration, with the connection, the file's directory and the
    migration's number: moves over what older files there hold of what that migration made room for, so that later ones
    change it like any other row. The files are what it returns, and are set aside after the commit."""
    logs: tuple[str, ...] = ()
    """Files beside it that have content only when the database has."""
    convert: Mapping[int, Callable[[sqlite3.Connection, str], None]] = MappingProxyType({})
    """By the number of a migration, what changes rows that were there before, where SQL alone cannot; called with the
    file's directory, "" for a database that is only tried."""

    def apply(self, connection: sqlite3.Connection, number: int, directory: str = "") -> None:
        """Bring a database from the version before to this one, in the transaction that is open."""
        for statement in _statements(self.migrations[number - 1]):
            connection.execute(statement)
        if number in self.convert:
            self.convert[number](connection, directory)


class Database:
    """An open SQLite file. Closed by `close()` or by the end of a `with` block."""

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
        """Open the database, made and brought to the schema's version if need be.

        `durable`: a commit waits for the disk; without it the newest commits may be missing after a power failure, but
        never after a crash of the process. `busy_ms`: how long to wait for other processes. Where the file may only be
        read, or the disk is full, it is opened for reading (`read_only` is then true).
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
        """The connection now in use, in autocommit mode. Prefer `read`, `write` and `use`, which take turns."""
        return self._connection

    def read(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query."""
        with self.use() as connection:
            return connection.execute(sql, params).fetchall()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction: committed at the end of the block, rolled back if the block raises.

        A block inside another one of the same thread is part of that one's transaction. Not `durable`: this commit does
        not wait for the disk, whatever the database does otherwise.
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
        """Have this called once when the transaction that is open was committed; false where that is known already."""
        if call in self._after:
            return False
        self._after.append(call)
        return True

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """One state of the database for several queries."""
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
        """The connection for this thread alone, to the file that is at the path now; no transaction of its own."""
        with self._lock, _failures(self.path):
            moved = self._status is not None and not _is_at(self.path, self._status)
            before: sqlite3.Connection = self._connection
            # Read without a lock on a full disk: whoever frees space may change the file.
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
        """Let the file go for the length of a fork, and nobody use it; whether that worked in time."""
        if not self._lock.acquire(timeout=self._busy_ms / 1000):
            return False
        if not self._let_go and not self._connection.in_transaction:
            self._connection.close()
            self._let_go = True
        return True

    def resume(self) -> None:
        """Let it be used again after `hold`."""
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
        """Check whose file it is before anything is changed, then bring it up to date."""
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
    """Where the database really is; the path itself where something else is in its place."""
    return path if is_irregular(path) else os.path.realpath(path)


def check(path: str) -> str | None:
    """What is wrong with the file, or None when it is sound or does not exist. Reads all of it, changes nothing."""
    return _verdict(resolve(path), "quick_check(1)")


def set_aside(path: str) -> str:
    """Rename the database with its companions to `PATH.broken-1`, overwriting nothing; returns the new name."""
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
    """Open a database whose content can be made again; one that cannot be used is set aside and a fresh one opened.

    Opening reads little of the file. When a query failed with `state-corrupt`, call again with `suspect=True`: then the
    whole file is checked. Returns the database and the name of the file set aside, if any.
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
            try:  # again, now that we are alone: another process may have been faster
                return Database(real, schema, durable=durable, busy_ms=busy_ms), None
            except FailedError as error:
                if error.code not in _UNUSABLE:
                    raise
        broken = move_aside(real)
        return Database(real, schema, durable=durable, busy_ms=busy_ms), broken


@contextmanager
def _failures(path: str) -> Iterator[None]:
    """Let no bare SQLite error out of the block."""
    try:
        yield
    except sqlite3.Error as error:
        raise sqlite_failure(error, path) from error
    except UnicodeDecodeError as error:  # SQLite quotes a damaged schema in its message, which then is not text
        raise sqlite_failure(_corrupt("its schema is not text"), path) from error


def _corrupt(message: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    error.sqlite_errorname = "SQLITE_CORRUPT"
    return error


def opening(path: str, busy_ms: int) -> FileLock:
    """The lock for whoever opens, makes, renames or replaces the file."""
    directory, name = os.path.split(path)
    return FileLock(os.path.join(directory, "locks", f"database-{name}.lock"), timeout=busy_ms / 1000)


def _is_read_only(path: str) -> bool:
    """Whether the file exists and it, or its directory (where SQLite keeps the companions), may only be read."""
    return os.path.exists(path) and not (os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK))


def _denied(path: str, why: str) -> FailedError:
    hint = "Check that you own the file and its directory, and that they are writable."
    return FailedError("permission-denied", f"The database {path} {why}.", hint=hint, path=path)


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), status)
    except OSError:  # opening it again tells what is wrong
        return False


def _make_private(path: str) -> None:
    """Let its owner alone read the file, its companions and its directory. None is opened: that loses locks."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
    except FileExistsError:
        tighten(path + part for part in ("", *COMPANIONS) if is_loose(path + part))
    tighten_state(os.path.dirname(path))


def _connected(database: str, busy_ms: int, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(database, timeout=busy_ms / 1000, isolation_level=None, check_same_thread=False, uri=uri)


def open_reader(path: str) -> sqlite3.Connection:
    """A connection for whoever only reads a file that may be damaged. Raises `sqlite3.Error`."""
    return _reader(resolve(path), BUSY_MS, tolerant=True)


def _reader(path: str, busy_ms: int, *, tolerant: bool = False) -> sqlite3.Connection:
    """A connection that only reads. `tolerant`: damage to the description of one table does not hide the others."""
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
    # Where nothing may be written beside the file, SQLite reads it only when told that nobody will change it.
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
    """Refuse to make a new file where one was lost.

    SQLite would delete a log that lies beside an empty or missing file; it is set aside with the rest instead.
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
    """The first of these logs that has content, beside a database that has none."""
    found = (log for log in logs if not size_of(path) and size_of(os.path.join(os.path.dirname(path), log)))
    return next(found, "")


def size_of(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _version(connection: sqlite3.Connection, schema: Schema, path: str) -> int:
    """How many migrations the file has seen; refuses a file that is not ours to use."""
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
    """Apply every migration that is missing, wholly or not at all; another process may have done it meanwhile."""
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
    """Move files that are no longer read, with their companions, to `FORMER`, as far as that goes."""
    if not paths:
        return
    target = os.path.join(directory, FORMER)
    with suppress(OSError):
        make_missing(target)
    for path in paths:
        for part in ("", *COMPANIONS):
            with suppress(OSError):  # it is not there, or stays where it is and is never read again
                os.replace(path + part, os.path.join(target, os.path.basename(path) + part))


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one, because `executescript` would commit the transaction around it."""
    statement = ""
    for piece in script.split(";"):
        statement += piece + ";"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip("; \t\r\n"):
        yield statement


def _verdict(path: str, how: str) -> str | None:
    """What the given check of SQLite says against the file."""
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
    """`keep`: where links can be made, the file itself also stays under its own name, to be replaced next."""
    parts = [part for part in ("", *COMPANIONS) if os.path.lexists(path + part)]
    if not parts:
        hint = "There is nothing to move."
        raise NotFoundError("state-missing", f"There is no database {path}.", hint=hint, path=path)
    from whet.store.atomic import free_name

    broken = free_name(path, parts=("", *COMPANIONS))
    with os_failures(path, doing="set aside"):
        # The file goes first: once it is not there, nobody can open it without its log.
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
