"""Sessions of Hermes: what `hermes sessions export` writes, its session snapshots, and its trajectories.

An export has one session a line, with its messages. A trajectory has `conversations` in which calls and results are
text between tags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.learning.transcripts import api_messages
from whet.learning.transcripts.values import arguments, mapping, moment, string

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.learning.transcripts.collector import Collector
    from whet.learning.transcripts.documents import Part


def is_one(record: Mapping[str, Any]) -> bool:
    """Is this a session of Hermes?"""
    if isinstance(record.get("conversations"), list):
        return True
    marks = ("started_at", "session_start", "source", "system_prompt", "message_count", "platform", "parent_session_id")
    return isinstance(record.get("messages"), list) and sum(mark in record for mark in marks) >= 2


def session(record: Mapping[str, Any], pieces: Iterable[Part], into: Collector) -> None:
    """Take over one session: what it says of itself, and its messages."""
    into.session = string(record.get("id")) or string(record.get("session_id"))
    into.project = string(record.get("cwd")) or string(record.get("git_repo_root"))
    start = moment(record.get("started_at") or record.get("session_start") or record.get("timestamp"))
    into.said("note", string(record.get("system_prompt")), start, "system")
    for piece in pieces:
        if piece.what != "item" or not isinstance(piece.value, dict):
            continue
        if piece.name == "conversations":
            _turn(string(piece.value.get("from")), string(piece.value.get("value")), into)
        else:
            _message(piece.value, into)


def _message(message: Mapping[str, Any], into: Collector) -> None:
    time = moment(message.get("timestamp"))
    if message.get("observed") == 1 and message.get("role") == "user":
        into.said("note", string(message.get("content")), time, "context")
        return
    tool = message.get("tool_name")
    api_messages.item({**message, "name": tool} if isinstance(tool, str) and tool else message, into, time)


def _turn(side: str, value: str, into: Collector) -> None:
    if side in {"human", "user"}:
        into.user(value)
    elif side in {"gpt", "assistant"}:
        value, thoughts = _taken(value, "think")
        value, calls = _taken(value, "tool_call")
        for thought in thoughts:
            into.said("note", thought, 0, "thinking")
        into.said("assistant", value)
        for call in calls:
            given = arguments(call.strip())
            into.called(string(given.get("name")), mapping(given.get("arguments")), string(given.get("id")))
    elif side == "tool":
        for response in _taken(value, "tool_response")[1] or [value]:
            given = arguments(response.strip())
            content = given.get("content")
            text = content if isinstance(content, str) else response
            into.returned(text, string(given.get("tool_call_id")), tool=string(given.get("name")))
    else:
        into.said("note", value, 0, "system")


def _taken(text: str, tag: str) -> tuple[str, list[str]]:
    """The text without what stands between such tags, and what stood there."""
    first, *parts = text.split(f"<{tag}>")
    inner: list[str] = []
    rest = [first]
    for part in parts:
        inside, _, after = part.partition(f"</{tag}>")
        inner.append(inside)
        rest.append(after)
    return "".join(rest), inner
