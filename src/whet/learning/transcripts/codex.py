"""Sessions of Codex: `~/.codex/sessions/**/rollout-*.jsonl`, the older form without envelopes, and `codex exec --json`.

What the model saw (`response_item`) is the transcript. What the screen showed (`event_msg`) repeats most of it, but
knows two things better: which of the messages in the user's name the user really typed, and how commands ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.learning.transcripts import api_messages
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import clean_text, exit_code, mapping, moment, sequence, string, usage, words
from whet.learning.transcripts.wrappers import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.learning.transcripts.collector import Collector

_STREAM = ("thread.", "turn.", "item.")
_ENDS = frozenset({"exec_command_end", "patch_apply_end", "mcp_tool_call_end"})
_ITEMS = frozenset({"CommandExecution", "FileChange", "McpToolCall"})
"""What the screen shows of a call that is over."""
_REMEMBERED = 1_000
"""Ends of calls whose results have not come yet."""
_WAITING, _LENGTH = 50, 400_000
"""Messages, and characters of them, that may wait to be confirmed."""


def is_one(record: Mapping[str, Any]) -> bool:
    """Is this a record of Codex?"""
    kind = string(record.get("type"))
    if "payload" in record and kind in names_of("codex", "envelopes"):
        return True
    if kind.startswith(("thread.", "item.")):
        return "role" not in record
    return {"id", "timestamp", "instructions"} <= set(record) and not kind


def read(records: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Take over the records of a session."""
    session = _Session(into)
    for record in records:
        session.record(record)
    session.settle()


class _Session:
    """A session while it is read: messages that wait to be confirmed, ends of calls that wait for their results."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._waiting: list[tuple[str, int]] = []
        self._typed: list[tuple[str, int]] = []
        self._confirms = False
        self._ends: dict[str, api_messages.End] = {}

    def record(self, record: Mapping[str, Any]) -> None:
        kind, payload = string(record.get("type")), mapping(record.get("payload"))
        time = moment(record.get("timestamp"))
        if kind.startswith(_STREAM):
            self._streamed(kind, record)
        elif "payload" not in record:
            self._bare(kind, record, time)
        elif kind == "session_meta":
            self._into.session = self._into.session or string(payload.get("id"))
            self._into.project = self._into.project or string(payload.get("cwd"))
        elif kind == "response_item":
            self._item(payload, time)
        elif kind == "event_msg":
            self._event(payload, time)
        elif kind == "turn_context":
            self._into.answered(payload.get("model"))
        elif kind == "compacted":
            self._into.said("note", string(payload.get("message")), time, "summary")
        elif kind not in names_of("codex", "silent"):
            self._into.left_out(kind or "record")

    def settle(self) -> None:
        """Decide about the messages that wait: where the screen tells what was typed, the others are the client's."""
        for text, time in self._waiting:
            if self._confirms:
                self._into.said("note", text, time, "context")
            else:
                self._into.said("user", text, time)
        for text, time in self._typed:
            self._into.user(text, time)
        self._waiting.clear()
        self._typed.clear()

    def _bare(self, kind: str, record: Mapping[str, Any], time: int) -> None:
        if kind or record.get("role"):
            self._item(record, time)
        elif isinstance(record.get("id"), str):
            self._into.session = self._into.session or record["id"]
        elif "record_type" not in record:
            self._into.left_out("record")

    def _item(self, item: Mapping[str, Any], time: int) -> None:
        if item.get("role") != "user":
            self.settle()
            api_messages.item(item, self._into, time, self._ends)
            return
        content = item.get("content")
        for part in content if isinstance(content, list) else [content]:
            for piece in spoken(clean_text(words(part))):
                if piece.kind != "user":
                    self._into.said("note", piece.text, time, piece.about)
                elif match := next((said for said in self._typed if _same(piece.text, said[0])), None):
                    self._typed.remove(match)
                    self._into.said("user", piece.text, time)
                else:
                    self._waits(self._waiting, piece.text, time)

    def _event(self, event: Mapping[str, Any], time: int) -> None:
        kind = string(event.get("type"))
        item = mapping(event.get("item"))
        if kind == "user_message":
            self._was_typed(string(event.get("message")), time)
        elif kind == "item_completed" and item.get("type") == "UserMessage":
            self._was_typed(words(item.get("content")), time)
        elif kind in _ENDS:
            self._ended(string(event.get("call_id")), event)
        elif kind == "item_completed" and string(item.get("type")) in _ITEMS:
            self._ended(string(item.get("id")), item)
        elif kind == "token_count":
            total = mapping(event.get("info")).get("total_token_usage")
            told = usage(total, "input_tokens", "output_tokens", "cached_input_tokens")
            self._into.usage = told if total else self._into.usage
        elif kind == "turn_aborted":
            self.settle()
            self._into.said("note", f"[turn aborted: {string(event.get('reason')) or 'unknown'}]", time, "interrupted")

    def _ended(self, id_: str, end: Mapping[str, Any]) -> None:
        """Remember how a call ended, for the result that is still to come."""
        result = mapping(end.get("result"))
        error = "Err" in result or mapping(result.get("Ok", result)).get("isError") is True
        failed = error or bool(end.get("error")) or end.get("success") is False
        failed = failed or string(end.get("status")) in {"failed", "declined"}
        while len(self._ends) >= _REMEMBERED:
            del self._ends[next(iter(self._ends))]
        self._ends[id_] = api_messages.End(failed, exit_code(end.get("exit_code")))

    def _was_typed(self, text: str, time: int) -> None:
        """The screen showed this as typed; what waited before it was put there by the client."""
        self._confirms = True
        pieces = [piece.text for piece in spoken(clean_text(text)) if piece.kind == "user"]
        for index, (waiting, _) in enumerate(self._waiting):
            if any(_same(waiting, piece) for piece in pieces):
                said, when = self._waiting[index]
                del self._waiting[index]
                self.settle()
                self._into.said("user", said, when)
                return
        if pieces:
            self._waits(self._typed, text, time)

    def _waits(self, queue: list[tuple[str, int]], text: str, time: int) -> None:
        """Keep a message until it is confirmed; too many are decided about as they are."""
        if len(queue) >= _WAITING or len(text) + sum(len(said) for said, _ in queue) > _LENGTH:
            self.settle()
        queue.append((text, time))

    def _streamed(self, kind: str, record: Mapping[str, Any]) -> None:
        """The lines of `codex exec --json`, which begin after the user has spoken."""
        into, item = self._into, mapping(record.get("item"))
        what, id_ = string(item.get("type")), string(item.get("id"))
        if kind == "thread.started":
            into.session = into.session or string(record.get("thread_id"))
        if kind != "item.completed":
            return
        if what == "agent_message":
            into.said("assistant", string(item.get("text")))
        elif what == "reasoning":
            into.said("note", string(item.get("text")), 0, "thinking")
        elif what == "command_execution":
            into.called("shell", {"command": item.get("command")}, id_)
            failed = string(item.get("status")) in {"failed", "declined"}
            code = exit_code(item.get("exit_code"))
            into.returned(string(item.get("aggregated_output")), id_, failed=failed, code=code)
        elif what == "file_change":
            paths = [string(mapping(change).get("path")) for change in sequence(item.get("changes"))]
            into.called("edit", {"path": paths[0] if paths else "", "paths": paths}, id_)
            into.returned(string(item.get("status")), id_, failed=item.get("status") == "failed")
        elif what == "mcp_tool_call":
            into.called(
                f"mcp__{string(item.get('server'))}__{string(item.get('tool'))}", mapping(item.get("arguments")), id_
            )
            error = item.get("error") or item.get("status") == "failed"
            into.returned(words(item.get("error") or item.get("result")), id_, failed=bool(error))
        elif what == "web_search":
            into.called("web_search", {"query": item.get("query")}, id_)
        elif what not in {"todo_list", "error"}:
            into.left_out(what or "item")


def _same(one: str, other: str) -> bool:
    """Do both say the same, but for blanks and what one side added?"""
    left, right = " ".join(one.split()), " ".join(other.split())
    return bool(left and right) and (left == right or left in right or right in left)
