"""Sessions of Gemini CLI (`~/.gemini/tmp/*/chats/session-*.jsonl` and the older `.json`) and of its fork Qwen Code.

Gemini CLI writes a message again whenever it grows and takes messages back with `$rewindTo`: `survey` finds out which
messages stay and how often each comes, so that each is taken over once, in its last version. Qwen Code appends records
with a message in `parts` and never writes one twice.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.learning.transcripts.collector import Collector
from whet.learning.transcripts.documents import records
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import mapping, moment, sequence, string, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MARKS = frozenset({"projectHash", "$set", "$rewindTo"})
_SERVER = re.compile(r"(.{1,100}?) \((.{1,100}) MCP Server\)")
_MCP = re.compile(r"mcp_([^_]+)_(.+)|(\w+?)__(\w+)")
_CONTEXT = ("<untrusted_context>\n", "\n</untrusted_context>")
_BELOW = ("Process Group PGID: ", "Background PIDs: ", "Signal: ", "Exit Code: ", "Error: (none)", "Stderr: (empty)")
"""Lines that a shell adds below its output."""
_HEAD = 8_000
"""Characters in which the command above an output ends."""
_WORKSPACE = re.compile(r"- \*\*Workspace Directories:\*\*\n\s{1,8}- ([^\n]{1,1000})")
"""Where a session says what directory it took place in."""
_CANCELLED = re.compile(r"(?i)request cancelled|operation cancelled|cancelled by (?:the )?user")


class Survey(NamedTuple):
    """How often each message comes and which are taken back, seen before they are read."""

    versions: Mapping[str, int]
    withdrawn: frozenset[str]


def is_gemini(record: Mapping[str, Any]) -> bool:
    """Is this a record of Gemini CLI?"""
    if {"sessionId", "projectHash"} <= set(record) or isinstance(record.get("$rewindTo"), str):
        return True
    if isinstance(record.get("$set"), dict):
        return True
    is_message = isinstance(record.get("id"), str) and "timestamp" in record and "content" in record
    return is_message and string(record.get("type")) in names_of("gemini", "speaking")


def is_chat(record: Mapping[str, Any]) -> bool:
    """Is this a whole session, as Gemini CLI wrote them before it appended to them?"""
    return {"sessionId", "projectHash"} <= set(record) and isinstance(record.get("messages"), list)


def is_qwen(record: Mapping[str, Any]) -> bool:
    """Is this a record of Qwen Code?"""
    if not {"sessionId", "uuid", "type"} <= set(record):
        return False
    return isinstance(mapping(record.get("message")).get("parts"), list) or "systemPayload" in record


def survey(found: Iterable[Mapping[str, Any]]) -> Survey:
    """What becomes of the messages of a session."""
    versions: Counter[str] = Counter()
    order: dict[str, None] = {}
    gone: set[str] = set()
    for record in found:
        if isinstance(back := record.get("$rewindTo"), str):
            ids = list(order)
            taken = ids[ids.index(back) :] if back in order else ids
            gone.update(taken)
            for id_ in taken:
                del order[id_]
        for message in _messages(record):
            id_ = string(message.get("id"))
            versions[id_] += 1
            order[id_] = None
            gone.discard(id_)
    return Survey(versions, frozenset(gone))


def _messages(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The messages of one record: itself, or those that it sets."""
    if isinstance(record.get("id"), str):
        yield record
    yield from map(mapping, sequence(mapping(record.get("$set")).get("messages")))


def read_file(path: str, into: Collector) -> None:
    """Take over a session of Gemini CLI."""
    read(records(path, into), into, survey(records(path, Collector(""))))


def read_chat(record: Mapping[str, Any], into: Collector) -> None:
    """Take over a session as Gemini CLI wrote them before it appended to them."""
    into.session = string(record.get("sessionId"))
    read(map(mapping, sequence(record.get("messages"))), into)


def read(found: Iterable[Mapping[str, Any]], into: Collector, seen: Survey | None = None) -> None:
    """Take over the records of a session of Gemini CLI."""
    session = _Session(into)
    versions = Counter(seen.versions) if seen else Counter()
    for record in found:
        into.session = string(record.get("sessionId")) or into.session
        messages = list(_messages(record))
        for message in messages:
            id_ = string(message.get("id"))
            versions[id_] -= 1
            if not seen or (id_ not in seen.withdrawn and versions[id_] <= 0):
                session.message(message)
        if not messages and not _MARKS & set(record):
            into.left_out(string(record.get("type")) or "record")


def read_qwen(found: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Take over the records of a session of Qwen Code."""
    session = _Session(into)
    for record in found:
        into.session = into.session or string(record.get("sessionId"))
        into.project = into.project or string(record.get("cwd"))
        session.qwen(record)


class _Session:
    """A session while it is read."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._called: set[str] = set()
        self._returned: set[str] = set()

    def message(self, message: Mapping[str, Any]) -> None:
        """A message of Gemini CLI."""
        kind, time, into = string(message.get("type")), moment(message.get("timestamp")), self._into
        content = message.get("content")
        if kind == "user":
            self._user(content, message.get("displayContent"), time)
        elif kind == "gemini":
            for thought in map(mapping, sequence(message.get("thoughts"))):
                text = ": ".join(filter(None, (string(thought.get("subject")), string(thought.get("description")))))
                into.said("note", text, time, "thinking")
            parts = [mapping(part) for part in content] if isinstance(content, list) else [{"text": content}]
            into.said("assistant", "\n".join(filter(None, (string(part.get("text")) for part in parts))), time)
            for call in map(mapping, sequence(message.get("toolCalls"))):
                self._call(call, time)
            for call in filter(None, (mapping(part.get("functionCall")) for part in parts)):
                self._call(call, time)  # one of which nothing else is told: it was stopped
        elif kind in names_of("gemini", "speaking"):
            text = words(content)
            into.said("note", text, time, "interrupted" if _CANCELLED.search(text[:400]) else "system")
        else:
            into.left_out(kind or "message")

    def qwen(self, record: Mapping[str, Any]) -> None:
        """A record of Qwen Code."""
        kind, subtype, time = string(record.get("type")), string(record.get("subtype")), moment(record.get("timestamp"))
        into, payload = self._into, mapping(record.get("systemPayload"))
        parts = sequence(mapping(record.get("message")).get("parts"))
        if kind == "user" and subtype:
            into.said("note", words(parts), time, "system")
        elif kind == "user":
            self._user(parts, None, time)
        elif kind == "assistant":
            for part in map(mapping, parts):
                self._part(part, time)
        elif kind == "tool_result":
            told = mapping(record.get("toolCallResult"))
            for part in map(mapping, parts):
                self._response(mapping(part.get("functionResponse")), time, string(told.get("status")))
        elif subtype == "chat_compression":
            into.said("note", words(sequence(payload.get("compressedHistory"))[:1]), time, "summary")
        elif subtype == "slash_command":
            if payload.get("phase") != "result":
                into.said("note", string(payload.get("rawCommand")), time, "command")
        elif not (kind == "system" and subtype in names_of("qwen", "silent")):
            into.left_out(subtype or kind or "record")

    def _user(self, content: Any, shown: Any, time: int) -> None:
        """A message in the user's name; where the client shows less of it than it sends, the rest is its own."""
        typed = words(shown)
        for part in content if isinstance(content, list) else [content]:
            response = mapping(mapping(part).get("functionResponse"))
            if response:
                self._response(response, time, "")
            elif typed and words(part).strip() not in typed:
                self._into.said("note", words(part), time, "context")
            else:
                if not self._into.project and (found := _WORKSPACE.search(words(part)[:_HEAD])):
                    self._into.project = found[1]
                self._into.user(words(part), time)

    def _part(self, part: Mapping[str, Any], time: int) -> None:
        """A part of what the model said."""
        call = mapping(part.get("functionCall"))
        if call:
            name, id_ = string(call.get("name")), string(call.get("id"))
            self._into.called(_tool(name, ""), mapping(call.get("args")), id_, time)
            self._called.add(id_)
        elif isinstance(part.get("text"), str):
            if part.get("thought") is True:
                self._into.said("note", part["text"], time, "thinking")
            else:
                self._into.said("assistant", part["text"], time)
        elif not {"thoughtSignature", "inlineData", "thought"} & set(part):
            self._into.left_out(next(iter(part), "part"))

    def _call(self, call: Mapping[str, Any], time: int) -> None:
        """A call with its result, as Gemini CLI keeps them."""
        id_, status = string(call.get("id")), string(call.get("status"))
        time = moment(call.get("timestamp")) or time
        if id_ and id_ in self._called:
            return
        name = _tool(string(call.get("name")), string(call.get("displayName")))
        made = self._into.called(name, mapping(call.get("args")), id_, time)
        self._called.add(made)
        results = call.get("result")
        responses = [one for part in sequence(results) if (one := mapping(mapping(part).get("functionResponse")))]
        mine = [one for one in responses if one.get("id") == id_] or responses[
            :1
        ]  # after a resume it has those of others
        if mine:
            for response in mine:
                self._response({**response, "id": made}, time, status)
        elif results or status in {"error", "cancelled"}:
            text = words(results) or words(call.get("resultDisplay"))
            self._response({"id": made, "response": {"output": text}}, time, status)

    def _response(self, response: Mapping[str, Any], time: int, status: str) -> None:
        """What a call gave; Gemini CLI tells it twice, with the call and as a message."""
        id_, given = string(response.get("id")), mapping(response.get("response"))
        if not response or (id_ and id_ in self._returned):
            return
        self._returned.add(id_)
        error = given.get("error")
        output = words(error or given.get("output", given.get("content", given or None)))
        text, code = _output(output)
        failed = bool(error) or status in {"error", "cancelled"}
        self._into.returned(text, id_, time, failed=failed, code=code, tool=_tool(string(response.get("name")), ""))


def _tool(name: str, shown: str) -> str:
    """A tool by the name that it has everywhere: tools of MCP servers are `mcp__server__tool`."""
    if found := _SERVER.fullmatch(shown):
        return f"mcp__{found[2]}__{found[1]}"
    if not name.startswith("mcp__") and (found := _MCP.fullmatch(name)):
        return f"mcp__{found[1] or found[3]}__{found[2] or found[4]}"
    return name


def _output(text: str) -> tuple[str, int | None]:
    """The output of a tool without what the client writes around it, and the exit code."""
    if text.startswith(_CONTEXT[0]):
        text = text.removeprefix(_CONTEXT[0]).rstrip().removesuffix(_CONTEXT[1].strip()).removesuffix("\n")
    place = text.find("\nDirectory: ", 0, _HEAD) if text.startswith("Command: ") else -1
    body = text[place + 1 :].partition("\n")[2] if place >= 0 else text
    label = next((one for one in ("Output: ", "Stdout: ") if body.startswith(one)), "")
    if not label:
        return text, None
    code: int | None = None
    body = body.removeprefix(label)
    while (last := body.rpartition("\n"))[2].startswith(_BELOW):
        if found := re.fullmatch(r"Exit Code: (-?\d{1,10})", last[2]):
            code = int(found[1])
        body = last[0]
    return body, code
