"""Import files of versions before `state.db` held everything.

When `state.db` is migrated, the rows of these files are copied in the same transaction, so that a kill at any point
leaves either the old files or all of their content in the new one. After the commit they are put away, and never read
again. A damaged file ends the import with an error that names it, and nothing has changed; `whet doctor --repair` saves
its readable rows.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress

from whet.errors import FailedError, InvalidError
from whet.records import NamedTuple
from whet.store.failures import os_failures
from whet.store.regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any

    from whet.store.database import Schema
    from whet.values import Json


class _Former(NamedTuple):
    """A database that is now part of `state.db`."""

    version: int
    """First version of `state.db` that has its rows."""
    name: str
    tables: dict[str, str]
    """New table names by old name."""


_DATABASES = (
    _Former(4, "history.db", {name: name for name in ("trees", "journal", "intents", "proposals", "retained")}),
    _Former(5, "audit.db", {"records": "audit"}),
    _Former(6, "installs.db", {"records": "installs"}),
    _Former(7, "feedback.db", {"feedback": "feedback"}),
    _Former(8, "sessions.db", {"sessions": "sessions", "failures": "hook_failures"}),
    _Former(
        9,
        os.path.join("usage", "usage.db"),
        {"counts": "usage_counts", "counted": "usage_segments", "damage": "usage_damage", "imported": "usage_imports"},
    ),
)


def _adopt_taps(path: str, target: sqlite3.Connection) -> list[str]:
    try:
        document = _parse(path)
        taps = [(name, str(tap["source"]), str(tap["added"])) for name, tap in document["taps"].items()]
        removed = [(str(name),) for name in document["removed"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return [f"it is not a list of taps ({str(error) or type(error).__name__})"]
    target.executemany("INSERT OR IGNORE INTO taps VALUES (?, ?, ?)", taps)
    target.executemany("INSERT OR IGNORE INTO removed_taps VALUES (?)", removed)
    return []


def _adopt_sync(path: str, target: sqlite3.Connection) -> list[str]:
    try:
        document = _parse(path)
        made, directories = [*document["made"]], [*document["directories"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return [f"it is not a sync record ({str(error) or type(error).__name__})"]
    rows = [*(("made", _dump(entry)) for entry in made), *(("directory", _dump(entry)) for entry in directories)]
    target.executemany("INSERT INTO synced (kind, entry) VALUES (?, ?)", rows)
    return []


def _adopt_learning(path: str, target: sqlite3.Connection) -> list[str]:
    rows = [(str(key), _dump(value)) for key, value in _object(path, {}).items()]
    target.executemany("INSERT OR IGNORE INTO learning VALUES (?, ?)", rows)
    return []


def _adopt_distillations(path: str, target: sqlite3.Connection) -> list[str]:
    query = "INSERT OR IGNORE INTO distillations (collection, id, time, content) VALUES (?, ?, ?, ?)"
    for file in sorted(_names(path), key=os.path.getmtime):
        row = (os.path.basename(path), os.path.basename(file)[:-5], os.stat(file).st_mtime_ns)
        target.execute(query, (*row, _dump(_object(file, None))))
    return []


def _put_away(_: str, __: sqlite3.Connection) -> list[str]:
    """Copy nothing: the file is no longer needed."""
    return []


def _parse(path: str) -> Any:
    import json

    with os_failures(path, doing="read", other="read-failed"), open(path, "rb", opener=open_regular) as file:
        return json.loads(file.read())


def _dump(value: Any) -> str:
    import json

    return json.dumps(value)


def _object(path: str, otherwise: Any) -> Any:
    """Return the content of a file; `otherwise` if it is unreadable, so that it is only put away."""
    try:
        found = _parse(path)
    except (ValueError, RecursionError):
        return otherwise
    return found if otherwise is None or isinstance(found, type(otherwise)) else otherwise


def _names(directory: str) -> list[str]:
    with os_failures(directory, doing="list", other="read-failed"):
        return [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".json")]


_FILES: tuple[tuple[int, str, Callable[[str, sqlite3.Connection], list[str]]], ...] = (
    (10, "taps.json", _adopt_taps),
    (10, "sync.json", _adopt_sync),
    (11, "learning.json", _adopt_learning),
    (11, "distillations", _adopt_distillations),
    (11, "distilling", _adopt_distillations),
    (11, "improving", _put_away),
)
"""JSON files and directories: the first version of `state.db` with their content, and the function that imports it."""


def former_files(directory: str, version: int = 0) -> list[str]:
    """Return the files whose rows a `state.db` of this version lacks."""
    return _existing(directory, lambda since: since > version)


def _existing(directory: str, wanted: Callable[[int], bool]) -> list[str]:
    """Return the existing older files whose version, the first of `state.db` with their content, is wanted."""
    names = [former.name for former in _DATABASES if wanted(former.version)]
    names += [name for since, name, _ in _FILES if wanted(since)]
    paths = [os.path.join(directory, name) for name in names]
    records = os.path.join(directory, _CONNECTIONS)
    connections = sorted(_names(records)) if wanted(15) and os.path.isdir(records) else []
    return [path for path in paths if os.path.exists(path) or os.path.exists(f"{path}-wal")] + connections


def check_former(directory: str, version: int, schema: Schema) -> str | None:
    """Return the problem of the first damaged file; None if all are sound.

    They are tried on an empty database that goes through the migrations of this schema.
    """
    import sqlite3

    if not _existing(directory, lambda since: since > version):
        return None
    with closing(sqlite3.connect(":memory:")) as connection:
        for number in range(1, len(schema.migrations) + 1):
            schema.apply(connection, number)
            try:
                if number > version:
                    adopt(connection, directory, number)
            except FailedError as error:
                return error.message
    return None


def adopt(connection: sqlite3.Connection, directory: str, number: int) -> list[str]:
    """Copy the older files that belong to this migration; return their paths.

    Raises FailedError for a damaged one.
    """
    files = _existing(directory, lambda since: since == number)
    for path in files:
        if lost := _copy(path, connection):
            message = f"{path} is damaged: {lost[0].rstrip('.')}."
            hint = "Run `whet doctor --repair` to save what can still be read."
            raise FailedError("state-corrupt", message, hint=hint, path=path)
    return files


def adopt_readable(connection: sqlite3.Connection, directory: str, number: int) -> tuple[list[str], list[str]]:
    """Copy the readable rows of the older files of a migration; return their paths, and sentences about lost rows."""
    files = _existing(directory, lambda since: since == number)
    return files, [f"{os.path.basename(path)}: {sentence}" for path in files for sentence in _copy(path, connection)]


_CONNECTIONS = "connections"
"""Former directory of the records of connections, a file each; the backups are still there."""
_CACHES = ("attestations.db", "listings", "routing")


def drop_caches(directory: str) -> None:
    """Remove the files of former caches, which are rebuilt."""
    for name in _CACHES:
        for path, _, names in os.walk(os.path.join(directory, name)):
            with suppress(OSError):
                for inner in names:
                    os.unlink(os.path.join(path, inner))
                os.rmdir(path)
        for part in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(os.path.join(directory, name + part))


def _copy(path: str, target: sqlite3.Connection) -> list[str]:
    """Copy the content of a file; return a sentence about everything that could not be read or stored."""
    directory, file = os.path.split(path)
    if os.path.basename(directory) == _CONNECTIONS:
        with (
            os_failures(path, doing="read", other="read-failed"),
            open(path, encoding="utf-8", errors="replace", opener=open_regular) as text,
        ):
            target.execute("INSERT OR IGNORE INTO connections VALUES (?, ?)", (file[:-5], text.read()))
        return []
    for _, name, take_over in _FILES:
        if os.path.basename(path) == name:
            return take_over(path, target)
    import sqlite3

    from whet.store.database import open_reader
    from whet.store.salvage import copy_table

    tables = next(former.tables for former in _DATABASES if path.endswith(former.name))
    try:
        source = open_reader(path)
    except sqlite3.Error as error:
        return [f"nothing could be read ({error})"]
    with closing(source):
        try:
            problem = str(source.execute("PRAGMA quick_check(1)").fetchone()[0])
            known = {name for (name,) in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except sqlite3.Error as error:
            problem, known = str(error), set(tables)
        lost = [] if problem == "ok" else [problem.splitlines()[-1].rstrip(".")]
        for old, new in tables.items():
            if lost or old in known:  # a file of an even older version has fewer tables
                lost += copy_table(source, target, new, old).lost
    return lost


# --- rows of earlier versions, changed by migrations -----------------------------------------------------------------


def convert_ledger(connection: sqlite3.Connection) -> None:
    """Convert the ledger of installs to rows that name the entry of the history since which a lock has them.

    A pending install happened if the history knows its run; then its lock must still be rendered. If the change of the
    skills itself is not settled, it becomes part of that. Everything else never happened.
    """
    import json

    made = dict(connection.execute("SELECT run, max(id) FROM journal WHERE run <> '' GROUP BY run").fetchall())
    edits = connection.execute("SELECT id, payload FROM intents WHERE kind = 'edit' ORDER BY number").fetchall()
    waiting = {note[9]: (id_, json.loads(text)) for id_, text in edits for note in json.loads(text)["notes"]}
    since: dict[tuple[str, str], int] = {}
    late: dict[str, Json] = {}
    query = "SELECT id, time, lock, path, run, journal, entry, digest, state FROM ledger ORDER BY id"
    for id_, time, lock, path, run, journal, entry, of, state in connection.execute(query).fetchall():
        happened = state == "done" or (state == "pending" and journal >= 0 and made.get(run, 0) > journal)
        if happened:
            since[lock, path] = number = made.get(run, since.get((lock, path), 0))
            row = (id_, time, lock, path, number, entry, of)
            connection.execute("INSERT INTO installs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        if state == "pending" and journal >= 0 and (happened or run in waiting):
            change = late.setdefault(run, {"file": lock, "new": {}, "found": {}, "id": f"lock-{run}"})
            change["new"][path] = entry and json.loads(entry)
    for run, change in late.items():
        if run in waiting:
            edit, payload = waiting[run]
            text = json.dumps({**payload, "lock": change})
            connection.execute("UPDATE intents SET payload = ? WHERE id = ?", (text, edit))
        else:
            query = "INSERT INTO intents (id, time, kind, payload) VALUES (?, 0, 'lock', ?)"
            connection.execute(query, (change["id"], json.dumps(change)))
    connection.execute("DROP TABLE ledger")


def convert_trees(connection: sqlite3.Connection, directory: str) -> None:
    """Store the file list of each content among the contents, under the digest of the content, which is its own hash.

    A list that does not match its digest proves nothing: the history reports that content as missing.
    """
    import json
    from hashlib import sha256

    from whet.skill.tree import Entry, manifest
    from whet.store.blobs import CONTENTS, Blobs

    blobs = Blobs(os.path.join(directory, CONTENTS))
    at_once = hasattr(os, "sync")  # one sync for all of them, if available
    trees = connection.execute("SELECT digest, manifest FROM trees").fetchall() if directory else []
    for of, text in trees:
        try:
            rows = json.loads(text)
            data = manifest(Entry(path, kind, bool(executable), 0, hash_) for path, kind, executable, hash_ in rows)
        except (AttributeError, InvalidError, TypeError, ValueError):
            continue
        if of == f"sha256:{sha256(data).hexdigest()}":
            blobs.put(data, durable=not at_once)
    if trees and at_once:
        os.sync()
    connection.execute("DROP TABLE trees")


def write_logs(connection: sqlite3.Connection, directory: str) -> None:
    """Write the log of each chain that has rows and no log yet."""
    import json

    from whet.store.atomic import write_text
    from whet.store.home import LOGS

    for table, name in LOGS.items() if directory else ():
        path = os.path.join(directory, name)
        rows = connection.execute(f"SELECT * FROM {table} ORDER BY id")  # noqa: S608  names are ours
        fields = [column[0] for column in rows.description]
        text = "".join(f"{json.dumps(dict(zip(fields, row, strict=True)), default=str)}\n" for row in rows)
        if text and not os.path.lexists(path):
            write_text(path, text, mode=0o600)
