"""Sessions of Claude Code: `~/.claude/projects/*/*.jsonl`, and what `--output-format stream-json` prints.

One record a line, and one conversation a file, even where it had another id before it was resumed. Records of
subagents, which are marked as side chains, are left out, unless the file is a subagent's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.learning.transcripts import api_messages
from whet.learning.transcripts.collector import Collector
from whet.learning.transcripts.documents import records
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import mapping, moment, sequence, string, words
from whet.learning.transcripts.wrappers import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_UUIDS = 500_000
"""How many records are remembered, to recognise one that is repeated."""


def is_one(record: Mapping[str, Any]) -> bool:
    """Is this a record of Claude Code?"""
    marks = ("sessionId", "session_id", "uuid", "parentUuid", "leafUuid", "messageId")
    kind = string(record.get("type"))
    known = any(kind in names_of("claude-code", which) for which in ("speaking", "silent"))
    return known and any(mark in record for mark in marks)


def read_file(path: str, into: Collector) -> None:
    """Take over a session; a file that has nothing but a side chain is a subagent's own."""
    read(records(path, into), into)
    if not into.added and into.counts.pop("subagents", 0):
        read(records(path, Collector("")), into, subagent=True)


def read(found: Iterable[Mapping[str, Any]], into: Collector, *, subagent: bool = False) -> None:
    """Take over the records of a session, or of a subagent."""
    uuids: set[int] = set()
    skills: dict[str, str] = {}
    for record in found:
        kind = string(record.get("type"))
        session = string(record.get("sessionId")) or string(record.get("session_id"))
        if kind in names_of("claude-code", "silent"):
            continue
        if kind not in names_of("claude-code", "speaking"):
            into.left_out(kind or "record")
        elif not subagent and (record.get("isSidechain") is True or record.get("parent_tool_use_id")):
            into.counts["subagents"] += 1
        elif (uuid := hash(string(record.get("uuid")))) not in uuids:  # after a resume it may come again
            if record.get("uuid") and len(uuids) < _UUIDS:
                uuids.add(uuid)
            into.session = session or into.session
            into.project = into.project or string(record.get("cwd"))
            _record(kind, record, into, skills)


def _record(kind: str, record: Mapping[str, Any], into: Collector, skills: dict[str, str]) -> None:
    time = moment(record.get("timestamp"))
    message = mapping(record.get("message"))
    if kind == "user":
        _user(record, message, into, time, skills)
    elif kind == "assistant":
        if record.get("isApiErrorMessage") is True:
            into.said("note", words(message.get("content")), time, "system")
            return
        for block in sequence(message.get("content")):
            if mapping(block).get("name") == "Skill":
                given = mapping(block.get("input"))
                skills[string(block.get("id"))] = string(
                    given.get("skill") or given.get("name") or given.get("command")
                )
        api_messages.message({**message, "role": "assistant"}, into, time)
    elif kind == "attachment":
        _attachment(mapping(record.get("attachment")), into, time)
    elif kind == "summary":
        into.said("note", string(record.get("summary")), time, "summary")
    elif record.get("subtype") == "local_command":
        _note(string(record.get("content")), into, time, "command")
    elif isinstance(record.get("content"), str):
        into.said("note", record["content"], time, "system")


def _user(
    record: Mapping[str, Any], message: Mapping[str, Any], into: Collector, time: int, skills: dict[str, str]
) -> None:
    """What stands there in the user's name: words of the user, results of tools, or text of the client."""
    content = message.get("content")
    origin = string(mapping(record.get("origin")).get("kind"))
    about = ""
    if record.get("isCompactSummary") is True or record.get("isVisibleInTranscriptOnly") is True:
        about = "summary"
    elif record.get("isMeta") is True or record.get("isSynthetic") is True or record.get("promptSource") == "system":
        skill = skills.get(string(record.get("sourceToolUseID")), "")
        about = f"skill:{skill}" if skill else "system"
    elif origin not in {"", "human"}:
        about = "subagent" if "task" in origin else "system"
    stopped = mapping(record.get("toolUseResult")).get("interrupted") is True
    for block in content if isinstance(content, list) else [content]:
        if string(mapping(block).get("type")).endswith("tool_result"):
            api_messages.result(mapping(block), into, time, failed=stopped)
        elif about and (text := words(block)):
            _note(text, into, time, about)
        elif not about:
            api_messages.message({"role": "user", "content": [block]}, into, time)


def _note(text: str, into: Collector, time: int, about: str) -> None:
    """Text of the client; the text itself may tell better what it is about."""
    for piece in spoken(text):
        into.said("note", piece.text, time, piece.about or about)


def _attachment(attachment: Mapping[str, Any], into: Collector, time: int) -> None:
    """What was typed while the model was busy comes as an attachment; the others are the client's own."""
    if attachment.get("type") != "queued_command":
        return
    origin = string(mapping(attachment.get("origin")).get("kind"))
    text = words(attachment.get("prompt"))
    if attachment.get("commandMode", "prompt") == "prompt" and origin in {"", "human"} and not attachment.get("isMeta"):
        into.user(text, time)
    else:
        _note(text, into, time, "subagent")
