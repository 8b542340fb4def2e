"""Messages as Anthropic's API has them: content in blocks, results of tools in the user's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.guard.secrets.hide import BINARY
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import arguments, mapping, sequence, string, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.learning.transcripts.collector import Collector


def is_one(record: Mapping[str, Any]) -> bool:
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
