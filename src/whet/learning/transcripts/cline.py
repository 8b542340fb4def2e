"""Sessions of Cline: `api_conversation_history.json`, `ui_messages.json`, and the `.messages.json` of its command line.

The first and the last hold messages of Anthropic's API. Older releases write calls as tags into what the assistant says
and results as text in the user's name; `ui_messages.json` is what the screen showed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whet.learning.transcripts import api_messages
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import arguments, mapping, moment, string, usage, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.learning.transcripts.collector import Collector

_TOOLS = "|".join(sorted(names_of("cline", "tools"), key=len, reverse=True))
_CALL = re.compile(rf"<({_TOOLS})>(.*?)</\1>", re.DOTALL)
_GIVEN = re.compile(r"<(\w{1,40})>(.*?)</\1>", re.DOTALL)
_RESULT = re.compile(rf"\[({_TOOLS})(?: for '(?:.|\n){{0,2000}}?')?\] Result:\n?")
_TYPED = re.compile(r"\s*<(task|feedback|user_message|answer)>\n?(.*?)\n?</\1>", re.DOTALL)
"""What the user typed, as Cline wraps it."""
_SHOWN = {
    "editedExistingFile": "Edit", "newFileCreated": "Write", "readFile": "Read", "searchFiles": "Search",
    "listFilesTopLevel": "Search", "listFilesRecursive": "Search", "listCodeDefinitionNames": "Search",
    "useSkill": "Skill", "webFetch": "Web", "webSearch": "Web",
}  # fmt: skip


def is_message(record: Mapping[str, Any]) -> bool:
    """Is this a message of a session, as far as Cline marks its own?"""
    if string(record.get("role")) not in {"user", "assistant"} or not isinstance(record.get("content"), list):
        return False
    if "modelInfo" in record or isinstance(mapping(record.get("metrics")).get("tokens"), dict):
        return True
    texts = (string(mapping(block).get("text")) for block in record["content"])
    return any(text.lstrip().startswith(("<task>\n", "<environment_details>")) for text in texts)


def is_shown(record: Mapping[str, Any]) -> bool:
    """Is this a line of `ui_messages.json`?"""
    kind = string(record.get("type"))
    return kind in {"say", "ask"} and isinstance(record.get(kind), str) and "ts" in record


def read(messages: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Take over messages; what an older release put into text is taken apart."""
    for message in messages:
        time, role = moment(message.get("ts")), string(message.get("role"))
        content = message.get("content")
        cost = usage(mapping(message.get("metrics")).get("tokens"), "prompt", "completion", "cached")
        into.answered(mapping(message.get("modelInfo")).get("modelId"), cost)
        for block in content if isinstance(content, list) else [content]:
            text = block if isinstance(block, str) else string(mapping(block).get("text"))
            if not text:
                api_messages.message({"role": role, "content": [block]}, into, time)
            elif role == "assistant":
                _said(text, into, time)
            else:
                _told(text, into, time)


def _said(text: str, into: Collector, time: int) -> None:
    """What the assistant said, with the calls in it."""
    into.said("assistant", _CALL.sub("", text.replace("<thinking>", "").replace("</thinking>", "")), time)
    for call in _CALL.finditer(text):
        given: dict[str, Any] = {found[1]: found[2].strip("\n") for found in _GIVEN.finditer(call[2])}
        if call[1] == "attempt_completion":
            into.said("assistant", given.get("result", ""), time)
        elif call[1] == "use_mcp_tool":
            name = f"mcp__{given.get('server_name', '')}__{given.get('tool_name', '')}"
            into.called(name, arguments(given.get("arguments")), "", time)
        else:
            into.called(call[1], given, "", time)


def _told(text: str, into: Collector, time: int) -> None:
    """What stands there in the user's name: a result, what was typed, or text of the client."""
    if found := _RESULT.match(text):
        output = text[found.end() :]
        into.returned(output, "", time, failed=True if "The tool execution failed" in output[:200] else None)
    elif found := _TYPED.match(text):
        into.user(found[2], time)
    else:
        into.user(text, time)


def read_shown(records: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Take over what the screen showed."""
    output: list[str] = []
    command = ""
    for record in records:
        if record.get("partial") is True:
            continue
        kind = string(record.get(string(record.get("type"))))
        time, text = moment(record.get("ts")), string(record.get("text"))
        if command and kind not in {"command_output", "shell_integration_warning"}:
            into.returned("\n".join(output), command, time)
            command, output = "", []
        if kind == "command_output":
            output.append(text)
        elif kind in {"task", "user_feedback"}:
            into.user(text, time)
        elif kind in {"text", "completion_result"} and text:
            into.said("assistant", text, time)
        elif kind in {"reasoning", "error"}:
            into.said("note", text, time, "thinking" if kind == "reasoning" else "system")
        elif kind == "command" and text:
            command = into.called("execute_command", {"command": text}, "", time)
        elif kind == "tool":
            _tool(arguments(text), into, time)
        elif kind not in names_of("cline", "silent"):
            into.left_out(kind or "record")
    if command:
        into.returned("\n".join(output), command)


def _tool(shown: Mapping[str, Any], into: Collector, time: int) -> None:
    """A call as the screen shows it; what was read is not shown."""
    name = string(shown.get("tool"))
    keys = {"path": "path", "content": "content", "diff": "diff", "regex": "query", "skill": "skill"}
    given = {key: words(shown[name]) for name, key in keys.items() if shown.get(name)}
    into.returned("", into.called(_SHOWN.get(name, name), given, "", time), time, failed=False)
