"""Parsing a client's events, and formatting answers for that client. Pure.

Clients differ in names and grow new fields; so everything is read leniently, and missing fields are empty. Some clients
also run the hooks of another one: the payload shows the real client and event. If a long payload was cut, the fields
before the cut count.

A tool call may bring a skill into a conversation, in one of three ways: the client's own tool for skills, our
`skill_view`, or by reading its main file, with a tool that reads or with a command of the shell.
"""

from __future__ import annotations

import json
import os.path
import re
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from whet.errors import InvalidError, NotFoundError, UsageError
from whet.interfaces.hooks import MOST
from whet.interfaces.hooks.clients import CLIENTS, EVERY_NAME, KINDS, native
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.finder import MAIN_FILES, is_main_file
from whet.values import Json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST_PROMPT = 32_000
"""Longest message in characters; the rest is ignored."""
_HINT = "`whet hook` is called by a client, which sends one JSON object."


class Event(NamedTuple):
    """An event in a session of a client."""

    client: str
    """The client that really reports it."""
    kind: str
    session: str
    name: str
    """The client's name for the event."""
    project: str = ""
    transcript: str = ""
    turn: str = ""
    """The message it belongs to, if the client says so."""
    prompt: str = ""
    """The user's message."""
    tool: str = ""
    given: Mapping[str, Any] = {}
    """The arguments of the tool call."""
    failed: bool = False
    """Whether the tool call failed."""
    source: str = ""
    """The reason why the session begins: `startup`, `resume`, `compact`, ..."""
    mark: int = 0
    """The same for repeated reports of an event; 0 if unknown."""


def read_event(client: str, kind: str, payload: bytes, cwd: str = "") -> Event | None:
    """Parse an event; None if Whet ignores it. Raises NotFoundError, UsageError, InvalidError."""
    if client not in CLIENTS:
        raise NotFoundError(
            "unknown-client", f"{_quote(client)} is not a client.", hint=f"Known: {', '.join(CLIENTS)}."
        )
    if kind not in KINDS:
        raise UsageError("unknown-event", f"{_quote(kind)} is not an event.", hint=f"Known: {', '.join(KINDS)}.")
    data = _parse_payload(payload)
    client = _real_client(client, data)
    named = _text(data, "hook_event_name", "hookEventName")
    if named:
        if named not in EVERY_NAME:
            return None
        kind = EVERY_NAME[named]
    extra = data["extra"] if isinstance(data.get("extra"), dict) else {}
    session = _text(data, "session_id", "sessionId", "conversation_id")
    if client == "cursor":  # a session may hold several; the conversation is in every event
        session = _text(data, "conversation_id", "session_id")
    if not session:
        raise InvalidError("bad-hook-input", f"The {kind} of {client} has no session id.", hint=_HINT)
    event = Event(client, kind, session, named or native(client, kind), _project(data, cwd))
    event = event._replace(
        transcript=_text(data, "transcript_path", "transcriptPath"), turn=_text(data, "generation_id")
    )
    if kind == "prompt":
        prompt = _prompt(data.get("prompt") or extra.get("user_message"))
        return event._replace(prompt=prompt, mark=_mark("prompt", prompt))
    if kind == "before":
        given = data.get("tool_input")
        return event._replace(tool=_called_tool(client, data), given=given if isinstance(given, dict) else {})
    if kind == "tool":
        given = data.get("tool_input")
        call = _text(data, "tool_use_id")
        if client == "copilot":  # its calls have no id
            call = json.dumps([data.get("timestamp"), data.get("tool_name"), given])
        return event._replace(
            tool=_text(data, "tool_name"),
            given=given if isinstance(given, dict) else {},
            failed=named in ("PostToolUseFailure", "postToolUseFailure") or is_failed(data, extra),
            mark=_mark("tool", call) if call else 0,
        )
    if kind == "start":
        return event._replace(source=_text(data, "source"))
    return event


def format_answer(event: Event, text: str) -> bytes:
    """Return the output that passes the text to the model; empty if there is none, or if this event cannot pass it."""
    known = CLIENTS[event.client]
    if not text or event.kind not in known.speaks:
        return b""
    specific = {"hookEventName": event.name, "additionalContext": text}
    answer = {key: specific if key == "hookSpecificOutput" else text for key in known.shape}
    return json.dumps(answer).encode("ascii") + b"\n"


def format_refusal(event: Event, reason: str) -> bytes:
    """Return the output that refuses a tool call and tells the model why; empty if the client cannot do that."""
    how = CLIENTS[event.client].denies
    if not reason or not how:
        return b""
    answer: Json = {"decision": "deny", "reason": reason}
    if how == "permissionDecision":
        refusal = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        answer = {"hookSpecificOutput": {"hookEventName": event.name, **refusal}}
    return json.dumps(answer).encode("ascii") + b"\n"


def _called_tool(client: str, data: Mapping[str, Any]) -> str:
    """Return the tool; one of an MCP server as `mcp__SERVER__TOOL`, which is the form in skills."""
    tool, server = _text(data, "tool_name"), data.get("mcp_context")
    if isinstance(server, dict):  # Gemini CLI
        return f"mcp__{_text(server, 'server_name')}__{_text(server, 'tool_name')}"
    if client == "copilot" and "-" in tool:
        return "mcp__" + tool.replace("-", "__", 1)
    return tool


def _parse_payload(payload: bytes) -> Json:
    """Return the payload as a JSON object."""
    text = payload.decode("utf-8-sig", "replace").strip()
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise InvalidError("bad-hook-input", "The payload is nested too deeply.", hint=_HINT) from error
    except ValueError as error:
        data = read_members(text) if len(payload) >= MOST else {}
        if not data:
            what = f"The payload of {len(payload)} bytes is not JSON." if text else "There is no payload."
            raise InvalidError("bad-hook-input", what, hint=_HINT) from error
    if not isinstance(data, dict):
        what = f"The payload is of type {type(data).__name__}, not an object."
        raise InvalidError("bad-hook-input", what, hint=_HINT)
    return data


def read_members(text: str) -> Json:
    """Return the complete members of a JSON object whose end is missing."""
    decoder, found, at = json.JSONDecoder(), Json(), _skip(text, 0)
    if text[at : at + 1] != "{":
        return found
    while True:
        try:
            key, at = decoder.raw_decode(text, _skip(text, at + 1))
            at = _skip(text, at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                return found
            value, at = decoder.raw_decode(text, _skip(text, at + 1))
        except (ValueError, RecursionError):
            return found
        at = _skip(text, at)
        if at >= len(text):  # a number may continue after the cut
            return found
        found[key] = value
        if text[at] != ",":
            return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _real_client(client: str, data: Mapping[str, Any]) -> str:
    """Return the real client: Cursor and VS Code also run hooks of Claude Code, and Copilot CLI those of VS Code."""
    if "cursor_version" in data:
        return "cursor"
    if client == "claude-code" and "sessionId" in data and "session_id" not in data:
        return "vscode"
    if client == "vscode" and "session_id" in data:
        return "copilot"
    return client


_TAIL = 64 * 1024
"""Bytes at the end of a transcript that are searched for earlier messages."""
_TURNS = 2


def recent_turns(transcript: str, prompt: str) -> tuple[str, ...]:
    """Return the user's last messages before this one from a transcript of JSON lines, the latest last."""
    try:
        if not os.path.isfile(transcript):  # a pipe would block
            return ()
        with open(transcript, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read(_TAIL).splitlines()
    except (OSError, ValueError):
        return ()
    turns: list[str] = []
    for line in reversed(lines):
        said = _said_by_user(line)
        if said and said != prompt and len(turns) < _TURNS:
            turns.append(said)
    return tuple(reversed(turns))


def _said_by_user(line: bytes) -> str:
    """Return the user's own words in a line of a transcript, without tool results and additions of the client."""
    if b'"user"' not in line:
        return ""
    try:
        row = json.loads(line)
    except ValueError:
        return ""  # the first line is cut
    if not isinstance(row, dict):
        return ""
    inner = next((row[name] for name in ("message", "payload") if isinstance(row.get(name), dict)), row)
    said = _prompt(inner.get("content")).strip() if inner.get("role") == "user" else ""
    return "" if said.startswith("<") else said


def _project(data: Mapping[str, Any], cwd: str) -> str:
    """Return the directory the client works in."""
    roots = data.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return _text(data, "cwd") or first or cwd


def _prompt(value: Any) -> str:
    """Return the user's words, even if they come in parts."""
    if isinstance(value, list):
        parts = (part if isinstance(part, str) else part.get("text") for part in value if isinstance(part, str | dict))
        value = "\n".join(part for part in parts if isinstance(part, str))
    return _plain(value)[:LONGEST_PROMPT] if isinstance(value, str) else ""


def _text(data: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that has text."""
    values = (data.get(name) for name in names)
    return next((_plain(value) for value in values if isinstance(value, str) and value), "")


def _plain(text: str) -> str:
    """Return the text without lone surrogates, which cannot be stored or printed."""
    return text.encode("utf-8", "replace").decode()


def _mark(kind: str, text: str) -> int:
    """Return a checksum that is never 0."""
    return crc32(f"{kind}\0{text}".encode()) or 1


def _quote(word: str) -> str:
    return repr(_plain(word)[:40])


_OWN_TOOLS = frozenset({"Skill", "activate_skill", "skill"})
"""Tools of clients that load a skill."""
_NAMES = ("skill", "name", "command")
"""Arguments with the skill's name."""
_PATHS = ("file_path", "filePath", "path", "absolute_path", "target_file", "file", "paths", "files")
"""Arguments with the path, in tools that read files."""
_COMMANDS = ("command", "cmd", "script")
_READERS = frozenset(
    {"cat", "head", "tail", "less", "more", "bat", "batcat", "nl", "sed", "awk", "type", "gc", "get-content"}
)
_WRITERS = compile_late(r"(?:write|edit|create|delete|patch|replace|move|rename|notebook)", re.IGNORECASE)
"""Parts of the names of tools that change files."""
_LONGEST = 20_000
"""Longest command or result in characters; the rest is ignored."""
_WORD = compile_late(r"\"([^\"]*)\"|'([^']*)'|((?:[^\s\"'|;&<>()]|\\.)+)")
_FAILED_TEXT = compile_late(
    r"\s*(?:<tool_use_error>|Traceback \(most recent call last\)"
    r"|(?:Error|ERROR|error|Failed|failed)\s*:"
    r"|(?:Process exited with code|Exit code:?|exit code:?|exited with)\s*[1-9]\d*)"
)
_CODES = ("exit_code", "exitCode", "returncode", "return_code")


class TouchedSkill(NamedTuple):
    """A skill that a tool call brought into the conversation."""

    how: Literal["use", "view", "ours"]
    """`use`: loaded by the client; `view`: its main file was read; `ours`: by `skill_view`, which counts itself."""
    name: str = ""
    path: str = ""


def touched_skills(tool: str, given: Mapping[str, Any], cwd: str, home: str) -> tuple[TouchedSkill, ...]:
    """Return the skills that a tool call loaded, by name or by main file; relative paths start at `cwd`."""
    bare = re.split(r"__|:|\.", tool)[-1]
    if bare.endswith("skill_view"):
        name = given.get("name")
        if not isinstance(name, str) or not name or given.get("file_path"):
            return ()
        return (TouchedSkill("view" if tool == "skill_view" else "ours", name=name),)
    if tool in _OWN_TOOLS:
        values = (given.get(field) for field in _NAMES)
        name = next((value.strip().lstrip("/") for value in values if isinstance(value, str)), "")
        return (TouchedSkill("use", name=name),) if name else ()
    if _WRITERS.search(tool):
        return ()
    paths = (home + path[1:] if path.startswith("~/") else path for path in _paths_read(given) if _is_main(path))
    found = dict.fromkeys(os.path.normpath(os.path.join(cwd, path)) for path in paths)
    return tuple(TouchedSkill("view", path=path) for path in found)


def _paths_read(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield every path that a tool call reads."""
    for field in _PATHS:
        value = given.get(field)
        for path in value if isinstance(value, list) else (value,):
            if isinstance(path, str):
                yield path
    for field in _COMMANDS:
        value = given.get(field)
        if isinstance(value, list):
            value = value[-1] if value and value[0] in ("bash", "sh", "zsh") else " ".join(map(str, value))
        if isinstance(value, str) and any(name in value for name in MAIN_FILES):
            yield from _paths_shown(value[:_LONGEST])


def _paths_shown(command: str) -> Iterator[str]:
    """Yield the files that a shell command prints."""
    for piece in re.split(r"&&|\|\||[|;&\n]", command):
        words = ["".join(found) for found in _WORD.findall(piece)]
        if words and os.path.basename(words[0]).lower() in _READERS and ">" not in piece and "-i" not in words:
            yield from words[1:]


def _is_main(path: str) -> bool:
    return is_main_file(os.path.basename(path.replace("\\", "/"))) and "\0" not in path


def is_failed(data: Mapping[str, Any], extra: Mapping[str, Any]) -> bool:
    """Return whether the client reports that a tool call failed."""
    if any(data.get(field) for field in ("error", "error_message", "is_error")):
        return True
    results = (data.get(field) for field in ("tool_response", "tool_output", "tool_result"))
    return any(_is_failure(result) for result in (*results, extra.get("result"), extra.get("error")))


def _is_failure(result: Any) -> bool:
    if isinstance(result, str):
        if result[:1] == "{" and len(result) <= _LONGEST:
            try:
                return _is_failure(json.loads(result))
            except (ValueError, RecursionError):
                pass  # it is text after all
        return _FAILED_TEXT.match(result[:_LONGEST]) is not None
    if not isinstance(result, dict):
        return False
    if result.get("error") or result.get("is_error") is True or result.get("isError") is True:
        return True
    if result.get("success") is False or result.get("status") in ("error", "failed", "failure"):
        return True
    metadata = result.get("metadata")
    sources = (result, metadata if isinstance(metadata, dict) else {})
    return any(type(source.get(code)) is int and source[code] != 0 for source in sources for code in _CODES)
