"""Sessions of Codex: `~/.codex/sessions/**/rollout-*.jsonl`.

What the model saw (`response_item`) is the transcript. What the screen showed (`event_msg`) repeats most of it, but
knows two things better: which of the messages in the user's name the user really typed, and how commands ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.learning.transcripts import api_messages
from whet.learning.transcripts.collector import Collector
from whet.learning.transcripts.documents import lines, records, values
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import clean_text, exit_code, mapping, moment, string, words
from whet.learning.transcripts.wrappers import spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ENDS = frozenset({"exec_command_end", "patch_apply_end", "mcp_tool_call_end"})
_ITEMS = frozenset({"CommandExecution", "FileChange", "McpToolCall"})
"""What the screen shows of a call that is over."""
_REMEMBERED = 1_000
"""Ends of calls whose results have not come yet."""
_TWINS = 50
"""Messages that may still be repeated by the other side."""
_TYPED = 400_000
"""Characters of messages by which others are known to be typed."""


def is_one(record: Mapping[str, Any]) -> bool:
    """Is this a record of Codex?"""
    return "payload" in record and string(record.get("type")) in names_of("codex", "envelopes")


def read_file(path: str, into: Collector) -> None:
    """Take over a session."""
    session = _Session(into, [text for said in _typed(path) for text in _spoken(said)])
    for record in records(path, into):
        session.record(record)


def _typed(path: str) -> Iterator[str]:
    """What the screen shows as typed, as much as may be held in memory."""
    room = _TYPED
    for line, _ in lines(path, Collector("")):
        if '"user_message"' not in line and '"UserMessage"' not in line:
            continue
        for record in map(mapping, values(line)):
            text = _on_screen(mapping(record.get("payload"))) if record.get("type") == "event_msg" else ""
            room -= len(text)
            if text and room > 0:
                yield text


def _on_screen(event: Mapping[str, Any]) -> str:
    """What an event of the screen shows as typed, or ""."""
    item = mapping(event.get("item"))
    if event.get("type") == "user_message":
        return string(event.get("message"))
    return words(item.get("content")) if item.get("type") == "UserMessage" else ""


def _spoken(text: str) -> list[str]:
    return [piece.text for piece in spoken(clean_text(text)) if piece.kind == "user"]


class _Session:
    """A session while it is read."""

    def __init__(self, into: Collector, typed: list[str]) -> None:
        self._into = into
        self._typed = typed
        self._twins: list[tuple[str, str]] = []
        """Messages of the user, and which side told them: the other one repeats each."""
        self._ends: dict[str, api_messages.End] = {}

    def record(self, record: Mapping[str, Any]) -> None:
        kind, payload = string(record.get("type")), mapping(record.get("payload"))
        time = moment(record.get("timestamp"))
        if kind == "session_meta":
            self._into.session = self._into.session or string(payload.get("id"))
            self._into.project = self._into.project or string(payload.get("cwd"))
        elif kind == "response_item":
            self._item(payload, time)
        elif kind == "event_msg":
            self._event(payload, time)
        elif kind == "compacted":
            self._into.said("note", string(payload.get("message")), time, "summary")
        elif kind not in names_of("codex", "silent"):
            self._into.left_out(kind or "record")

    def _item(self, item: Mapping[str, Any], time: int) -> None:
        if item.get("role") != "user":
            api_messages.item(item, self._into, time, self._ends)
            return
        content = item.get("content")
        for part in content if isinstance(content, list) else [content]:
            for piece in spoken(clean_text(words(part))):
                if piece.kind != "user":
                    self._into.said("note", piece.text, time, piece.about)
                elif self._typed and not any(_same(piece.text, text) for text in self._typed):
                    self._into.said("note", piece.text, time, "context")
                else:
                    self._user("model", piece.text, time)

    def _event(self, event: Mapping[str, Any], time: int) -> None:
        kind, item = string(event.get("type")), mapping(event.get("item"))
        if shown := _on_screen(event):
            for text in _spoken(shown):
                self._user("screen", text, time)
        elif kind in _ENDS:
            self._ended(string(event.get("call_id")), event)
        elif kind == "item_completed" and string(item.get("type")) in _ITEMS:
            self._ended(string(item.get("id")), item)
        elif kind == "turn_aborted":
            self._into.said("note", f"[turn aborted: {string(event.get('reason')) or 'unknown'}]", time, "interrupted")

    def _user(self, side: str, text: str, time: int) -> None:
        """A message of the user, unless the other side has told it already."""
        twin = next((one for one in self._twins if one[0] != side and _same(one[1], text)), None)
        if twin:
            self._twins.remove(twin)
        else:
            self._twins = [*self._twins[1 - _TWINS :], (side, text)]
            self._into.said("user", text, time)

    def _ended(self, id_: str, end: Mapping[str, Any]) -> None:
        """Remember how a call ended, for the result that is still to come."""
        result = mapping(end.get("result"))
        error = "Err" in result or mapping(result.get("Ok", result)).get("isError") is True
        failed = error or bool(end.get("error")) or end.get("success") is False
        failed = failed or string(end.get("status")) in {"failed", "declined"}
        while len(self._ends) >= _REMEMBERED:
            del self._ends[next(iter(self._ends))]
        self._ends[id_] = api_messages.End(failed, exit_code(end.get("exit_code")))


def _same(one: str, other: str) -> bool:
    """Do both say the same, but for blanks and what one side added?"""
    left, right = " ".join(one.split()), " ".join(other.split())
    return bool(left and right) and (left == right or left in right or right in left)
