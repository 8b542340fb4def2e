"""What a recorder of ours wrote, and trajectories: messages that carry the uses of tools with their output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from whet.learning.transcripts import api_messages
from whet.learning.transcripts.events import Event, Kind
from whet.learning.transcripts.values import arguments, exit_code, mapping, moment, sequence, string, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.learning.transcripts.collector import Collector
    from whet.learning.transcripts.documents import Part

MARK = "whet-transcript"
"""The key of the first line of a recording; its value is the version."""
VERSION = 1
_KINDS = get_args(Kind)


def read(records: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Take over what a recorder wrote."""
    first: str | None = None
    other = False
    for record in records:
        kind: Any = record.get("kind")
        if MARK in record:
            session = string(record.get("session"))
            first = session if first is None else first
            other = session != first
            if (version := record[MARK]) != VERSION:
                into.left_out(f"version {version}" if isinstance(version, int | str) else "version")
            if not other:
                into.client = string(record.get("client")) or into.client
                into.session, into.project = session, string(record.get("project"))
        elif other:
            into.counts["others"] += 1
        elif kind in _KINDS:
            time = record.get("time")
            into.keep(
                Event(
                    kind,
                    string(record.get("text")),
                    time if isinstance(time, int) and 0 < time < 1 << 63 else 0,
                    string(record.get("tool")),
                    string(record.get("id")),
                    mapping(record.get("given")),
                    record.get("failed") is True,
                    string(record.get("about")),
                    exit_code(record.get("code")),
                )
            )
        else:
            into.left_out(string(kind) or "record")


def is_trajectory(record: Mapping[str, Any]) -> bool:
    """Does it hold messages with uses of tools, or sessions of such messages?"""
    if isinstance(record.get("sessions"), list):
        return any(is_trajectory(session) for session in record["sessions"] if isinstance(session, dict))
    return any("tool_uses" in message for message in sequence(record.get("messages")) if isinstance(message, dict))


def trajectory(record: Mapping[str, Any], pieces: Iterable[Part], into: Collector) -> None:
    """Take over a session, or all sessions of one task; the task's instruction is what the user asked for."""
    into.user(string(record.get("instruction")), moment(record.get("start_time")))
    into.session, into.project = string(record.get("session_id")), string(record.get("project"))
    for piece in pieces:
        if piece.name == "session_id":
            into.session = string(piece.value) or into.session
        elif piece.name == "project":
            into.project = string(piece.value) or into.project
        elif piece.what == "item" and isinstance(piece.value, dict):
            _message(piece.value, into)


def _message(message: Mapping[str, Any], into: Collector) -> None:
    time = moment(message.get("timestamp"))
    into.said("note", string(message.get("thinking")), time, "thinking")
    api_messages.said(string(message.get("role")), words(message.get("content")), into, time)
    for use in sequence(message.get("tool_uses")):
        if isinstance(use, dict):
            id_ = into.called(string(use.get("tool")), arguments(use.get("input")), string(use.get("id")), time)
            output = use.get("output")
            if output is not None or use.get("status"):
                into.returned(
                    words(output), id_, time, failed=string(use.get("status")) in {"error", "failed", "failure"}
                )
