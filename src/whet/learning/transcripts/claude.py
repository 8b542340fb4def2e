"""Sessions of Claude Code: `~/.claude/projects/*/*.jsonl`, and what `--output-format stream-json` prints.

One record a line. A file may hold more than one session, when two windows wrote at once, and a session may have had
another name before it was resumed; `survey` finds out which names belong together. Records of subagents, which are
marked as side chains, are left out, unless the file is a subagent's own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.learning.transcripts import api_messages
from whet.learning.transcripts.events import Usage
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import count, mapping, moment, sequence, string, words
from whet.learning.transcripts.wrappers import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.learning.transcripts.collector import Collector

_FIELD = re.compile(r'"(sessionId|session_id|uuid|parentUuid|logicalParentUuid)"\s?:\s?"([^"\\]{1,80})"')
_SIDE = re.compile(r'"isSidechain"\s?:\s?(true|false)')
_UUIDS = 500_000


class Survey(NamedTuple):
    """What a file holds, seen without reading it."""

    sessions: frozenset[str] = frozenset()
    """The names of the session that is read; none where there is only one."""
    only_side: bool = False
    """Is everything a side chain? Then the file is a subagent's own."""


def survey(lines: Iterable[tuple[str, bool]], stem: str) -> Survey:
    """Which sessions of the file are one: those whose records follow upon each other's."""
    count: dict[str, int] = {}
    same: dict[str, str] = {}
    owner: dict[int, str] = {}
    sides = {"true": 0, "false": 0}

    def root(name: str) -> str:
        while same[name] != name:
            name = same[name]
        return name

    for line, _ in lines:
        fields = dict(reversed(_FIELD.findall(line[:4_000] + line[-4_000:])))
        if side := _SIDE.search(line):
            sides[side[1]] += 1
        session = fields.get("sessionId") or fields.get("session_id")
        if not session or "uuid" not in fields:
            continue
        count[session] = count.get(session, 0) + 1
        same.setdefault(session, session)
        for parent in (fields.get("parentUuid"), fields.get("logicalParentUuid")):
            if parent and (other := owner.get(hash(parent))):
                same[root(session)] = root(other)
        if len(owner) < _UUIDS:
            owner.setdefault(hash(fields["uuid"]), session)
    only_side = sides["true"] > 0 and sides["false"] == 0
    if len(count) < 2:
        return Survey(only_side=only_side)
    main = root(stem if stem in count else max(count, key=lambda name: count[name]))
    return Survey(frozenset(name for name in count if root(name) == main), only_side)


def read(records: Iterable[Mapping[str, Any]], into: Collector, seen: Survey = Survey()) -> None:  # noqa: B008  a value
    """Take over the records of a session."""
    uuids: set[int] = set()
    skills: dict[str, str] = {}
    costs: dict[str, Usage] = {}
    for record in records:
        kind = string(record.get("type"))
        session = string(record.get("sessionId")) or string(record.get("session_id"))
        if kind in names_of("claude-code", "silent"):
            continue
        if kind not in names_of("claude-code", "speaking"):
            into.left_out(kind or "record")
        elif seen.sessions and session and session not in seen.sessions:
            into.counts["others"] += 1
        elif not seen.only_side and (record.get("isSidechain") is True or record.get("parent_tool_use_id")):
            into.counts["subagents"] += 1
        elif (uuid := hash(string(record.get("uuid")))) in uuids:
            into.counts["repeated"] += 1
        else:
            if record.get("uuid") and len(uuids) < _UUIDS:
                uuids.add(uuid)
            into.session = session or into.session
            into.project = into.project or string(record.get("cwd"))
            _record(kind, record, into, skills, costs)


def _record(
    kind: str, record: Mapping[str, Any], into: Collector, skills: dict[str, str], costs: dict[str, Usage]
) -> None:
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
        _cost(message, into, costs)
    elif kind == "attachment":
        _attachment(mapping(record.get("attachment")), into, time)
    elif kind == "summary":
        into.said("note", string(record.get("summary")), time, "summary")
    elif record.get("subtype") == "local_command":
        _note(string(record.get("content")), into, time, "command")
    elif isinstance(record.get("content"), str):
        into.said("note", record["content"], time, "system")


def _cost(message: Mapping[str, Any], into: Collector, costs: dict[str, Usage]) -> None:
    """What an answer cost; an answer comes in several records, each with what it cost until then."""
    usage, id_ = mapping(message.get("usage")), string(message.get("id"))
    cached = count(usage.get("cache_read_input_tokens"))
    fresh = count(usage.get("input_tokens")) + count(usage.get("cache_creation_input_tokens"))
    cost = Usage(fresh + cached, count(usage.get("output_tokens")), cached)
    known = costs.get(id_, Usage()) if id_ else Usage()
    into.answered(message.get("model"), Usage(*(now - before for now, before in zip(cost, known, strict=True))))
    costs.clear()
    costs[id_] = cost


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
