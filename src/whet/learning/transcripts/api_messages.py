"""Messages as the APIs of Anthropic and OpenAI have them, which most clients keep.

Anthropic: content in blocks, results of tools in the user's name, which Cline keeps. OpenAI: chat messages, which
Hermes exports, and the items of the Responses API, which Codex writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.secrets.hide import BINARY
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import arguments, mapping, moment, sequence, string, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.learning.transcripts.collector import Collector


_TIMES = ("timestamp", "created_at", "time", "ts")


def is_one(record: Mapping[str, Any]) -> bool:
    """Is this a message of either API, or an item?"""
    kind = string(record.get("type"))
    return isinstance(record.get("role"), str) or is_item(kind) or kind in {"human", "ai"}


def read(records: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Take over messages of either API; the one that a message is certainly of names the client."""
    for record in records:
        time = next((when for key in _TIMES if (when := moment(record.get(key)))), 0)
        if is_anthropic(record):
            into.client = into.client or "anthropic"
            message(record, into, time)
        else:
            item(record, into, time)
    into.client = into.client or "openai"


def is_hermes(record: Mapping[str, Any]) -> bool:
    """Is this a session of Hermes?"""
    marks = ("started_at", "session_start", "source", "system_prompt", "message_count", "platform", "parent_session_id")
    return isinstance(record.get("messages"), list) and sum(mark in record for mark in marks) >= 2


def read_session(record: Mapping[str, Any], into: Collector) -> None:
    """Take over a session that is a list of messages with something about it, as in an export of Hermes."""
    into.session = string(record.get("id")) or string(record.get("session_id"))
    into.project = string(record.get("cwd")) or string(record.get("git_repo_root"))
    start = moment(record.get("started_at") or record.get("session_start") or record.get("timestamp"))
    into.said("note", string(record.get("system_prompt")) or string(record.get("system")), start, "system")
    read(map(mapping, sequence(record.get("messages"))), into)


def is_anthropic(record: Mapping[str, Any]) -> bool:
    """Is this a message of Anthropic's API, as far as one message can tell?"""
    return any(
        _is_own(string(block.get("type"))) or string(block.get("type")).endswith("tool_result")
        for block in sequence(record.get("content"))
        if isinstance(block, dict)
    )


def _is_own(kind: str) -> bool:
    """Is this a kind of block that only this API has?"""
    return kind in names_of("anthropic", "calls") or kind in names_of("anthropic", "thoughts")


def message(record: Mapping[str, Any], into: Collector, time: int = 0) -> None:
    """One message, from its first block to its last."""
    role, content = string(record.get("role")), record.get("content")
    blocks = content if isinstance(content, list) else [content]
    for block in blocks:
        if isinstance(block, str):
            said(role, block, into, time)
        elif isinstance(block, dict):
            _block(role, block, into, time)


def said(role: str, text: str, into: Collector, time: int = 0) -> None:
    """Text that one side said."""
    if role == "user":
        into.user(text, time)
    elif role == "assistant":
        into.said("assistant", text, time)
    else:
        into.said("note", text, time, "system")


def _block(role: str, block: Mapping[str, Any], into: Collector, time: int) -> None:
    kind = string(block.get("type"))
    if kind in names_of("anthropic", "calls"):
        name, server = string(block.get("name")), string(block.get("server_name"))
        name = f"mcp__{server}__{name}" if server else name
        into.called(name, arguments(block.get("input")), string(block.get("id")), time)
    elif kind.endswith("tool_result"):
        result(block, into, time)
    elif kind == "thinking":
        into.said("note", string(block.get("thinking")), time, "thinking")
    elif kind in {"image", "document"}:
        into.said("note", BINARY, time, "context")
    elif isinstance(block.get("text"), str):
        said(role, block["text"], into, time)
    elif kind not in names_of("anthropic", "other") and not _is_own(kind):
        into.left_out(kind or "block")


def result(block: Mapping[str, Any], into: Collector, time: int = 0, *, failed: bool = False) -> None:
    """What a tool gave. A client that says nothing of an error means that there was none."""
    content = block.get("content")
    error = string(mapping(content).get("type")).endswith("_error")
    into.returned(
        words(content), string(block.get("tool_use_id")), time, failed=bool(block.get("is_error")) or error or failed
    )


_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "gpt": "assistant", "developer": "system"}


def is_item(kind: str) -> bool:
    """Is this an item of the Responses API that is not a message?"""
    return kind in names_of("openai", "items") or kind in names_of("openai", "silent")


class End(NamedTuple):
    """How a call ended, where the client notes that elsewhere than in its result."""

    failed: bool
    code: int | None = None


def item(record: Mapping[str, Any], into: Collector, time: int = 0, ends: Mapping[str, End] | None = None) -> None:
    """One message or item. `ends` says how calls ended, as far as the client notes that elsewhere."""
    kind = string(record.get("type"))
    if is_item(kind):
        _item(kind, record, into, time, ends or {})
        return
    role = string(record.get("role")) or kind
    role = _ROLES.get(role, role)
    if role in {"tool", "function"}:
        id_ = string(record.get("tool_call_id"))
        failed = True if record.get("status") == "error" or record.get("is_error") is True else None
        tool = string(record.get("tool_name")) or string(record.get("name"))
        into.returned(words(record.get("content")), id_, time, failed=failed, tool=tool)
    elif role == "user" and record.get("observed") == 1:  # Hermes: a message of others in a chat
        into.said("note", string(record.get("content")), time, "context")
    elif role in {"user", "system"}:
        for part in _parts(record.get("content")):
            said(role, part, into, time)
    elif role == "assistant":
        _assistant(record, into, time)
    else:
        into.left_out(role or "message")


def _parts(content: Any) -> list[str]:
    """The texts of a message; each is what one side, or the client, put there."""
    return [words(part) for part in content] if isinstance(content, list) else [words(content)]


def _assistant(record: Mapping[str, Any], into: Collector, time: int) -> None:
    thought = record.get("reasoning_content") or record.get("reasoning")
    into.said("note", string(thought), time, "thinking")
    into.said("assistant", words(record.get("content")), time)
    legacy = record.get("function_call")
    for call in (*sequence(record.get("tool_calls")), *([{"function": legacy}] if isinstance(legacy, dict) else [])):
        call_ = mapping(call)
        function = mapping(call_.get("function")) or mapping(call_.get("custom")) or call_
        given = function.get("arguments", function.get("args", function.get("input")))
        into.called(
            string(function.get("name")), arguments(given), string(call_.get("id") or call_.get("call_id")), time
        )


def _item(kind: str, record: Mapping[str, Any], into: Collector, time: int, ends: Mapping[str, End]) -> None:
    id_ = string(record.get("call_id")) or string(record.get("id"))
    if kind.endswith("_output"):
        if kind not in names_of("openai", "silent"):
            _output(record.get("output"), id_, into, time, ends)
    elif kind == "reasoning":
        into.said("note", words([*sequence(record.get("summary")), *sequence(record.get("content"))]), time, "thinking")
    elif kind == "agent_message":
        into.said("note", words(record.get("content")), time, "subagent")
    elif kind in {"local_shell_call", "shell_call"}:
        action = mapping(record.get("action"))
        command = action.get("command", "\n".join(map(string, sequence(action.get("commands")))))
        into.called("shell", {"command": command}, id_, time)
    elif kind in {"web_search_call", "file_search_call"}:
        action = mapping(record.get("action")) or {"query": record.get("queries")}
        given = {key: action[key] for key in ("query", "url", "pattern") if action.get(key)}
        into.called("web_search" if kind == "web_search_call" else kind, given, id_, time)
    elif kind not in names_of("openai", "silent"):
        _function(kind, record, into, id_, time)


def _function(kind: str, record: Mapping[str, Any], into: Collector, id_: str, time: int) -> None:
    name = string(record.get("name")) or kind.removesuffix("_call")
    space = string(record.get("server_label")) or string(record.get("namespace"))
    if space.startswith("mcp__"):
        name = f"{space.rstrip('_')}__{name}"
    elif space and kind == "mcp_call":
        name = f"mcp__{space}__{name}"
    given = record.get("arguments", record.get("input", record.get("operation")))
    plain = isinstance(given, str) and kind == "custom_tool_call"
    id_ = into.called(
        name, {"patch" if name == "apply_patch" else "input": given} if plain else arguments(given), id_, time
    )
    if kind == "mcp_call" and ("output" in record or record.get("error")):
        into.returned(words(record.get("error") or record.get("output")), id_, time, failed=bool(record.get("error")))


def _output(output: Any, id_: str, into: Collector, time: int, ends: Mapping[str, End]) -> None:
    success = mapping(output).get("success")
    failed = not success if isinstance(success, bool) else None
    end = ends.get(id_, End(bool(failed)))
    into.returned(words(output), id_, time, failed=end.failed if id_ in ends else failed, code=end.code)
