"""Sessions of Copilot CLI: `~/.copilot/session-state/SESSION/events.jsonl`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import arguments, exit_code, mapping, moment, sequence, string, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.learning.transcripts.collector import Collector

_TRAILER = re.compile(r"\s*<(?:shellId: [^>\n]{1,40} completed|exited) with exit code -?\d{1,10}>\s*\Z")
_HOOK = re.compile(r'\n\nTool "[^"\n]{1,200}" (?:succeeded|failed)\. Additio')
"""Where the text of a hook begins, below what a tool gave."""


def is_one(record: Mapping[str, Any]) -> bool:
    """Is this an event of Copilot CLI?"""
    return isinstance(record.get("data"), dict) and "parentId" in record and "." in string(record.get("type"))


def read(records: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Take over the events of a session."""
    called: set[str] = set()
    for record in records:
        kind, data = string(record.get("type")), mapping(record.get("data"))
        if data.get("parentToolCallId") or record.get("agentId"):
            into.counts["subagents"] += 1
        else:
            _event(kind, data, into, moment(record.get("timestamp")), called)


def _event(kind: str, data: Mapping[str, Any], into: Collector, time: int, called: set[str]) -> None:
    if kind in {"session.start", "session.resume"}:
        into.session = into.session or string(data.get("sessionId"))
        into.project = into.project or string(mapping(data.get("context")).get("cwd"))
    elif kind == "user.message":
        _user(data, into, time)
    elif kind == "assistant.message":
        into.said("note", string(data.get("reasoningText")), time, "thinking")
        into.said("assistant", string(data.get("content")), time)
        for request in map(mapping, sequence(data.get("toolRequests"))):
            _call({**request, "toolName": request.get("name")}, into, time, called)
    elif kind == "assistant.reasoning":
        into.said("note", string(data.get("content")), time, "thinking")
    elif kind == "tool.execution_start":
        _call(data, into, time, called)
    elif kind == "tool.execution_complete":
        _result(data, into, time)
    elif kind == "skill.invoked":
        into.said("note", string(data.get("content")), time, f"skill:{string(data.get('name'))}")
    elif kind == "session.compaction_complete":
        into.said("note", string(data.get("summaryContent")), time, "summary")
    elif kind == "abort":
        into.said("note", f"[turn aborted: {string(data.get('reason')) or 'unknown'}]", time, "interrupted")
    elif kind in names_of("copilot", "notes"):
        into.said("note", string(data.get("content")) or string(data.get("message")), time, "system")
    elif not kind.startswith(tuple(names_of("copilot", "silent"))):
        into.left_out(kind or "event")


def _user(data: Mapping[str, Any], into: Collector, time: int) -> None:
    """A message in the user's name, unless something else is its source."""
    source, text = string(data.get("source")), string(data.get("content"))
    if source in {"", "user"}:
        into.user(text, time)
    else:
        skill = source.removeprefix("skill-")
        into.said("note", text, time, "system" if skill == source else f"skill:{skill}")


def _call(data: Mapping[str, Any], into: Collector, time: int, called: set[str]) -> None:
    """A call: the model's request for it, or its start, whichever comes first."""
    id_, server = string(data.get("toolCallId")), string(data.get("mcpServerName"))
    if id_ in called:
        return
    called.add(id_)
    name = f"mcp__{server}__{string(data.get('mcpToolName'))}" if server else string(data.get("toolName"))
    into.called(name, arguments(data.get("arguments")), id_, time)


def _result(data: Mapping[str, Any], into: Collector, time: int) -> None:
    """What a call gave; what a hook has to say below it is none of that."""
    error = mapping(data.get("error"))
    content = _HOOK.split(words(mapping(data.get("result")).get("content")), maxsplit=1)[0]
    text = string(error.get("message")) or _TRAILER.sub("", content)
    code = exit_code(mapping(data.get("shellExecution")).get("exitCode"))
    into.returned(text, string(data.get("toolCallId")), time, failed=data.get("success") is not True, code=code)
