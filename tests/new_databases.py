"""New databases in the quick tier are copies of the first of their kind.

Applying every migration is a sixth of what a test with a library does otherwise. The migrations are applied where older
files lie beside a database or it has tables already, in the tests of the store, in modules that say `COPIED = False`
because they count what a database is asked, and in the deep tier.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from whet.store import database, former

if TYPE_CHECKING:
    import pytest

    from whet.store.database import Schema

_real = database._migrate
_first: dict[tuple[int, tuple[str, ...]], bytes] = {}


def install(patch: pytest.MonkeyPatch) -> None:
    """From now on, they are copied."""
    patch.setattr(database, "_migrate", _migrate)


def _migrate(connection: sqlite3.Connection, schema: Schema, directory: str) -> None:
    if not directory or not _is_new(connection) or _has_older_files(directory):
        _real(connection, schema, directory)
        return
    kind = (schema.application_id, schema.migrations)
    if kind not in _first:
        with closing(sqlite3.connect(database.MEMORY, isolation_level=None)) as made:
            _real(made, schema, directory)
            _first[kind] = made.serialize()
    with closing(sqlite3.connect(database.MEMORY)) as made:
        made.deserialize(_first[kind])
        made.backup(connection)


def _is_new(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _has_older_files(directory: str) -> bool:
    caches = (os.path.join(directory, name) for name in former._CACHES)
    return bool(former._existing(directory, lambda _: True)) or any(map(os.path.lexists, caches))
