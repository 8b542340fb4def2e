"""Sessions of OpenCode: what `opencode export` writes, and its database.

Both hold the same messages: what is known of one (`info`) and its `parts`. The database is opened to read only.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from whet.guard.secrets.hide import BINARY
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import exit_code, mapping, moment, sequence, string

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whet.learning.transcripts.collector import Collector

_TABLES = {"session", "message", "part"}


def is_export(record: Mapping[str, Any]) -> bool:
    """Is this what `opencode export` writes?"""
    messages = record.get("messages")
    if not isinstance(messages, list) or not isinstance(record.get("info"), dict):
        return False
    return all({"info", "parts"} <= set(mapping(message)) for message in messages)


def read_export(record: Mapping[str, Any], into: Collector) -> None:
    """Take over what `opencode export` writes."""
    read(mapping(record.get("info")), map(mapping, sequence(record.get("messages"))), into)


def read(info: Mapping[str, Any], messages: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Take over a session: what is known of it, and its messages."""
    into.session, into.project = string(info.get("id")), string(info.get("directory"))
    reverted = string(mapping(info.get("revert")).get("messageID"))
    for message in messages:
        about = mapping(message.get("info"))
        if not reverted or string(about.get("id")) < reverted:
            _message(about, map(mapping, sequence(message.get("parts"))), into)


def read_database(path: str, into: Collector, session: str = "") -> bool:
    """Take over one session of a database: the one of this id, or the newest; False where it is not OpenCode's.

    Raises sqlite3.Error where the database is damaged.
    """
    with closing(_connect(path)) as connection:
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


def _connect(path: str) -> sqlite3.Connection:
    from urllib.parse import quote

    return sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True, timeout=2.0)


def _stored(connection: sqlite3.Connection, session: str, into: Collector) -> Iterator[Mapping[str, Any]]:
    """The messages of a session, each with its parts."""
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


def _message(about: Mapping[str, Any], parts: Iterable[Mapping[str, Any]], into: Collector) -> None:
    role, time = string(about.get("role")), moment(mapping(about.get("time")).get("created"))
    if role not in {"user", "assistant"}:
        into.left_out(role or "message")
        return
    summary = about.get("summary") is True
    for part in parts:
        _part(role, part, into, moment(mapping(part.get("time")).get("start")) or time, summary=summary)
    if error := mapping(about.get("error")):
        name, text = string(error.get("name")), string(mapping(error.get("data")).get("message"))
        stopped = "Abort" in name
        said = f"[turn aborted: {text or name}]" if stopped else f"{name}: {text}"
        into.said("note", said, time, "interrupted" if stopped else "system")


def _part(role: str, part: Mapping[str, Any], into: Collector, time: int, *, summary: bool) -> None:
    kind, text = string(part.get("type")), string(part.get("text"))
    if kind == "text" and role == "assistant":
        into.said("note" if summary else "assistant", text, time, "summary" if summary else "")
    elif kind == "text" and (part.get("synthetic") is True or part.get("ignored") is True):
        into.said("note", text, time, "context")
    elif kind == "text":
        quoted = len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]
        into.user(text[1:-1] if quoted else text, time)  # `opencode run` quotes what it was given
    elif kind == "reasoning":
        into.said("note", text, time, "thinking")
    elif kind == "file":
        into.said("note", BINARY, time, "context")
    elif kind == "tool":
        _call(part, into, time)
    elif kind not in names_of("opencode", "silent"):
        into.left_out(kind or "part")


def _call(part: Mapping[str, Any], into: Collector, time: int) -> None:
    """A call with its result; one that still runs has none."""
    state, name = mapping(part.get("state")), string(part.get("tool"))
    status, given, times = string(state.get("status")), mapping(state.get("input")), mapping(state.get("time"))
    unknown = name == "invalid"
    name = string(given.get("tool")) if unknown else name
    server, _, tool = name.partition("_")
    if not unknown and name not in names_of("opencode", "tools") and tool:
        name = f"mcp__{server}__{tool}"
    id_ = into.called(name, given, string(part.get("callID")), moment(times.get("start")) or time)
    if status in {"completed", "error"}:
        output = string(state.get("error") if status == "error" else state.get("output"))
        code = exit_code(mapping(state.get("metadata")).get("exit"))
        end = moment(times.get("end")) or time
        into.returned(output, id_, end, failed=unknown or status == "error", code=code)
