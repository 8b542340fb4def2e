"""Sessions of OpenCode: what `opencode export` writes, and its database.

Both hold the same messages, with `info` and `parts`. The database is opened read-only.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from whet.learning.transcripts.values import mapping, string
from whet.learning.transcripts.walker import Walker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whet.learning.transcripts.collector import Collector

_TABLES = {"session", "message", "part"}


def read(info: Mapping[str, Any], messages: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Read a session: its info and its messages."""
    into.session, into.project = string(info.get("id")), string(info.get("directory"))
    reverted = string(mapping(info.get("revert")).get("messageID"))
    kept = (one for one in messages if not reverted or string(mapping(one.get("info")).get("id")) < reverted)
    Walker(into).read(kept, "opencode")


def read_database(path: str, into: Collector, session: str = "") -> bool:
    """Read one session of a database: the one of this id, or the newest; return False if it is not OpenCode's.

    Raises sqlite3.Error if the database is damaged.
    """
    from urllib.parse import quote

    place = f"file:{quote(os.path.abspath(path))}?mode=ro"
    with closing(sqlite3.connect(place, uri=True, timeout=2.0)) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables >= _TABLES:
            return False
        rows = connection.execute(
            "SELECT id, directory, revert, parent_id FROM session"
            " WHERE id IN (SELECT session_id FROM message) ORDER BY time_updated DESC, id DESC"
        ).fetchall()
        found = [row for row in rows if row[0] == session] or [row for row in rows if not session and not row[3]]
        if not found:
            return True
        into.counts["others"] += sum(not row[3] for row in rows) - 1 if not session else 0
        id_, directory, revert, _ = found[0]
        read({"id": id_, "directory": directory, "revert": _value(revert)}, _stored(connection, id_, into), into)
    return True


def _stored(connection: sqlite3.Connection, session: str, into: Collector) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of a session, each with its parts."""
    parts = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for id_, data in connection.execute(query, (session,)):
        about = _value(data)
        found = [_value(part) for _, part in connection.execute(parts, (id_,))]
        into.counts["damaged"] += (not about) + sum(not part for part in found)
        yield {"info": {**about, "id": id_}, "parts": found}


def _value(text: Any) -> Mapping[str, Any]:
    try:
        return mapping(json.loads(text)) if isinstance(text, str | bytes) else {}
    except (ValueError, RecursionError):
        return {}
