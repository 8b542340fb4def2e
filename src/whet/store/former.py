"""Files of versions before `state.db` held everything, read once.

When `state.db` is brought up to date, the rows of these files are copied in the same transaction, so that a kill at any
point leaves either the old files or all of their content in the new one. After the commit they are put away, and never
read again. A file that is damaged ends the move with an error that names it, and nothing has changed; `whet doctor
--repair` saves what can still be read of it.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError

if TYPE_CHECKING:
    import sqlite3


class _Former(NamedTuple):
    """A database that is part of `state.db` now."""

    version: int
    """The first version of `state.db` that has its rows."""
    name: str
    tables: dict[str, str]
    """What its tables are called, and what they are called now."""


_DATABASES = (
    _Former(4, "history.db", {name: name for name in ("trees", "journal", "intents", "proposals", "retained")}),
    _Former(5, "audit.db", {"records": "audit"}),
    _Former(6, "installs.db", {"records": "installs", "followed": "followed"}),
    _Former(7, "feedback.db", {"feedback": "feedback"}),
    _Former(8, "sessions.db", {"sessions": "sessions", "failures": "hook_failures"}),
    _Former(
        9,
        os.path.join("usage", "usage.db"),
        {"counts": "usage_counts", "counted": "usage_segments", "damage": "usage_damage", "imported": "usage_imports"},
    ),
)


def former_files(directory: str, version: int = 0) -> list[str]:
    """The files there whose rows a `state.db` of this version does not have."""
    paths = [os.path.join(directory, former.name) for former in _DATABASES if former.version > version]
    return [path for path in paths if os.path.exists(path) or os.path.exists(f"{path}-wal")]


def adopt(connection: sqlite3.Connection, directory: str, version: int) -> list[str]:
    """Copy what the older files hold; which they were. Raises FailedError for one that is damaged."""
    files = former_files(directory, version)
    for path in files:
        if lost := _copy(path, connection):
            message = f"The database {path} is damaged: {lost[0].rstrip('.')}."
            hint = "Run `whet doctor --repair`: it saves what can still be read."
            raise FailedError("state-corrupt", message, hint=hint, path=path)
    return files


def adopt_readable(connection: sqlite3.Connection, directory: str, version: int) -> tuple[list[str], list[str]]:
    """Copy what can be read of the older files: which they were, and a sentence for everything that is lost."""
    files = former_files(directory, version)
    return files, [f"{os.path.basename(path)}: {sentence}" for path in files for sentence in _copy(path, connection)]


_CACHES = ("attestations.db",)


def drop_caches(_connection: sqlite3.Connection, directory: str, _version: int) -> list[str]:
    """Remove the files of former caches: what they hold is made again."""
    for name in _CACHES:
        for part in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(os.path.join(directory, name + part))
    return []


def _copy(path: str, target: sqlite3.Connection) -> list[str]:
    """Copy the tables of a file; a sentence for everything that could not be read or kept."""
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
            if lost or old in known:  # a file of a still older version has fewer tables
                lost += copy_table(source, target, new, old).lost
    return lost
