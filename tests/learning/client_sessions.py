"""One session as each client writes it: the shapes, field names and order of current releases, with texts of our own.

The user asks for a price list. A command fails for want of an option and then works, a tool of an MCP server and one
that does not exist fail, a file is written and edited, a skill is loaded, and the agent says that it is done.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROJECT = "/srv/shop"
ASKED = "Build the price list of catalogue.csv with pricelist.py"
TRIED, DONE = "I try it.", "Done. The price list is in prices.txt."
FAILING = "python3 pricelist.py --in catalogue.csv > prices.txt"
WORKING = "python3 pricelist.py --in catalogue.csv --currency EUR > prices.txt && wc -l prices.txt"
MISSING = "pricelist.py: error: the following arguments are required: --currency"
COUNTED = "24 prices.txt"
NOTES, BETTER = "Prices in EUR.\n", "Prices in EUR, without tax.\n"
NO_TABLE = "There is no such table."
NO_TOOL = "There is no tool make_tea."
SKILL = "# Price rules\n\n1. Round to five cents.\n"


class Step(NamedTuple):
    """A call and what it gave."""

    tool: str
    given: dict[str, Any]
    text: str
    failed: bool = False
    code: int | None = None


STEPS = (
    Step("Bash", {"command": FAILING}, MISSING, True, 2),
    Step("Bash", {"command": WORKING}, COUNTED, False, 0),
    Step("mcp__shop__look_up", {"name": "discounts"}, NO_TABLE, True),
    Step("make_tea", {"cups": 2}, NO_TOOL, True),
    Step("Write", {"path": f"{PROJECT}/NOTES.md", "content": NOTES}, "The file is written."),
    Step("Edit", {"path": f"{PROJECT}/NOTES.md", "old": "EUR.", "new": "EUR, without tax."}, "The file is changed."),
    Step("Skill", {"skill": "price-rules"}, SKILL),
)
"""What every client is to be read as."""


def at(second: int) -> str:
    return f"2026-11-02T09:00:{second:02d}.000Z"


def jsonl(path: Path, records: list[Any]) -> str:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return str(path)


# Gemini CLI and Qwen Code

_GEMINI = {
    "Bash": "run_shell_command", "Write": "write_file", "Edit": "replace", "Skill": "activate_skill",
    "mcp__shop__look_up": "mcp_shop_look_up", "make_tea": "make_tea",
}  # fmt: skip
_GOOGLE_KEYS = {"path": "file_path", "old": "old_string", "new": "new_string", "skill": "name"}


def _renamed(given: dict[str, Any], keys: dict[str, str]) -> dict[str, Any]:
    return {keys.get(key, key): value for key, value in given.items()}


def _google_output(step: Step, wrapped: bool) -> dict[str, Any]:
    if step.tool == "Bash":
        code = f"\nExit Code: {step.code}" if step.code or not wrapped else ""
        text = f"Output: {step.text}{code}\nProcess Group PGID: 4711"
        head = f"Command: {step.given['command']}\nDirectory: (root)\n"
        return {"output": f"<untrusted_context>\n{text}\n</untrusted_context>" if wrapped else head + text}
    return {"error": step.text} if step.failed else {"output": step.text}


def gemini_messages() -> list[dict[str, Any]]:
    """The messages of a session of Gemini CLI, each in its last version."""
    context = f"<session_context>\n- **Workspace Directories:**\n  - {PROJECT}\n</session_context>"
    tokens = {"input": 100, "output": 10, "cached": 40, "thoughts": 0, "tool": 0, "total": 110}
    messages: list[dict[str, Any]] = [
        {"id": "m0", "timestamp": at(0), "type": "user", "content": [{"text": context}]},
        {"id": "m1", "timestamp": at(1), "type": "user", "content": [{"text": ASKED}]},
    ]
    for number, step in enumerate(STEPS):
        name, given = _GEMINI[step.tool], _renamed(step.given, _GOOGLE_KEYS)
        response = {"id": f"{name}__{number}", "name": name, "response": _google_output(step, wrapped=True)}
        result = [{"functionResponse": response}]
        call = {
            "id": f"{name}__{number}", "name": name, "args": given, "result": result,
            "status": "error" if step.failed and step.tool != "Bash" else "success", "timestamp": at(number + 2),
            "resultDisplay": step.text, "displayName": "look_up (shop MCP Server)" if "mcp" in name else name,
        }  # fmt: skip
        messages += [
            {
                "id": f"g{number}", "timestamp": at(number + 2), "type": "gemini", "content": "" if number else TRIED,
                "thoughts": [], "tokens": tokens, "model": "gemini-3.8-flash", "toolCalls": [call],
            },
            {"id": f"r{number}", "timestamp": at(number + 2), "type": "user", "content": result},
        ]  # fmt: skip
    last = {"id": "last", "timestamp": at(20), "type": "gemini", "content": DONE, "model": "gemini-3.8-flash"}
    return [*messages, {**last, "tokens": tokens}]


def gemini(path: Path) -> str:
    """As `~/.gemini/tmp/PROJECT/chats/session-*.jsonl`: a message is written again when its calls are over."""
    session = {"sessionId": "s1", "projectHash": "f18f", "startTime": at(0), "lastUpdated": at(0), "kind": "main"}
    context, *messages = gemini_messages()
    records: list[dict[str, Any]] = [session, {"$set": {"messages": [context], "lastUpdated": at(0)}}]
    for message in messages:
        if "toolCalls" in message:
            records += [{key: value for key, value in message.items() if key != "toolCalls"}]
        records += [message, {"$set": {"lastUpdated": message["timestamp"]}}]
    return jsonl(path, records)


def gemini_chat(path: Path) -> str:
    """As older releases wrote it: one JSON value that is replaced as a whole."""
    session = {"sessionId": "s1", "projectHash": "f18f", "startTime": at(0), "lastUpdated": at(9)}
    path.write_text(json.dumps({**session, "messages": gemini_messages()}, indent=2), encoding="utf-8")
    return str(path)


_QWEN = {**_GEMINI, "Edit": "edit", "Skill": "skill", "mcp__shop__look_up": "mcp__shop__look_up"}


def qwen(path: Path) -> str:
    """As `~/.qwen/projects/PROJECT/chats/SESSION.jsonl`."""
    records: list[dict[str, Any]] = []

    def add(kind: str, **more: Any) -> None:
        parent = f"u{len(records) - 1}" if records else None
        base = {"uuid": f"u{len(records)}", "parentUuid": parent, "sessionId": "s1", "timestamp": at(len(records))}
        records.append({**base, "type": kind, "cwd": PROJECT, "version": "0.15.10", **more})

    def said(*parts: Any) -> dict[str, Any]:
        tokens = {"promptTokenCount": 100, "candidatesTokenCount": 10, "cachedContentTokenCount": 40}
        return {"model": "qwen3", "message": {"role": "model", "parts": list(parts)}, "usageMetadata": tokens}

    add("user", message={"role": "user", "parts": [{"text": ASKED}]})
    add("system", subtype="attribution_snapshot", systemPayload={"snapshot": {"version": 1}})
    for number, step in enumerate(STEPS):
        name = _QWEN[step.tool]
        keys = {**_GOOGLE_KEYS, "skill": "skill"}
        call = {"functionCall": {"id": f"c{number}", "name": name, "args": _renamed(step.given, keys)}}
        add("assistant", **said(*([] if number else [{"text": TRIED}]), call))
        add("system", subtype="ui_telemetry", systemPayload={"uiEvent": {"event.name": "qwen-code.tool_call"}})
        response = {"id": f"c{number}", "name": name, "response": _google_output(step, wrapped=False)}
        status = "error" if step.failed and step.tool != "Bash" else "success"
        add(
            "tool_result",
            message={"role": "user", "parts": [{"functionResponse": response}]},
            toolCallResult={"callId": f"c{number}", "status": status, "resultDisplay": step.text},
        )
    add("assistant", **said({"text": DONE}))
    return jsonl(path, records)


# Copilot CLI

_COPILOT = {"Bash": "bash", "Write": "create", "Edit": "edit", "Skill": "skill", "make_tea": "make_tea"}


def copilot(path: Path) -> str:
    """As `~/.copilot/session-state/SESSION/events.jsonl`."""
    records: list[dict[str, Any]] = []

    def add(kind: str, **data: Any) -> None:
        parent = records[-1]["id"] if records else None
        number = len(records)
        record = {"type": kind, "data": data, "id": f"e{number}", "timestamp": at(number), "parentId": parent}
        records.append(record)

    usage = {"model": "gpt-4.1", "inputTokens": 100, "outputTokens": 10, "cacheReadTokens": 40}
    add("session.start", sessionId="s1", version=1, producer="copilot-agent", context={"cwd": PROJECT})
    add("hook.start", hookInvocationId="h", hookType="userPromptSubmitted", input={"prompt": ASKED})
    add("hook.end", hookInvocationId="h", success=True, output={"additionalContext": "These skills may fit."})
    add("user.message", content=ASKED, transformedContent=f"<current_datetime>x</current_datetime>\n\n{ASKED}")
    for number, step in enumerate(STEPS):
        server = {"mcpServerName": "shop", "mcpToolName": "look_up"} if step.tool.startswith("mcp") else {}
        name = "shop-look_up" if server else _COPILOT[step.tool]
        given = _renamed(step.given, {"content": "file_text", "old": "old_str", "new": "new_str"})
        call = {"toolCallId": f"c{number}", "arguments": given, **server}
        add("assistant.turn_start", turnId=str(number))
        add("session.usage_record", usage=usage)
        said = "" if number else TRIED
        add("assistant.message", model="gpt-4.1", content=said, toolRequests=[{**call, "name": name}])
        add("tool.execution_start", toolName=name, **call)
        end: dict[str, Any] = {"toolCallId": f"c{number}", "success": step.code is not None or not step.failed}
        if step.code is not None:
            end |= {"shellExecution": {"exitCode": step.code}}
            end |= {"result": {"content": f"{step.text}\n<shellId: 0 completed with exit code {step.code}>"}}
        elif step.failed:
            end |= {"error": {"message": step.text, "code": "failure"}}
        else:
            end |= {"result": {"content": "Skill loaded." if step.tool == "Skill" else step.text}}
        add("tool.execution_complete", **end)
        if step.tool == "Skill":
            add("skill.invoked", name="price-rules", path="/home/kim/SKILL.md", content=SKILL, trigger="agent-invoked")
            add("skill.context_delivered_ref", source="skill-price-rules", contentId="sha256:11")
        add("assistant.turn_end", turnId=str(number))
    add("session.usage_record", usage=usage)
    add("assistant.message", model="gpt-4.1", content=DONE, toolRequests=[])
    add("session.shutdown", accountingSnapshot={"totalUserRequests": 1})
    return jsonl(path, records)


# OpenCode

_OPENCODE = {"Bash": "bash", "Write": "write", "Edit": "edit", "Skill": "skill", "mcp__shop__look_up": "shop_look_up"}
_START = 1_793_610_000_000
"""The first second of the session, in milliseconds."""


def opencode_session() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What OpenCode knows of the session, and its messages."""
    info = {"id": "ses_1", "slug": "mighty-planet", "projectID": "global", "directory": PROJECT, "title": "Prices"}

    def said(number: int, *parts: dict[str, Any]) -> dict[str, Any]:
        tokens = {"total": 110, "input": 100, "output": 10, "reasoning": 0, "cache": {"write": 0, "read": 40}}
        about = {"role": "assistant", "modelID": "kimi", "tokens": tokens, "time": {"created": _START + number * 1000}}
        ends = {"type": "step-start", "snapshot": "85"}, {"type": "step-finish", "reason": "stop", "tokens": tokens}
        return {"info": {**about, "id": f"msg_{number:02d}"}, "parts": [ends[0], *parts, ends[1]]}

    user = {"role": "user", "time": {"created": _START}, "id": "msg_00", "summary": {"diffs": []}}
    messages: list[dict[str, Any]] = [{"info": user, "parts": [{"type": "text", "text": f'"{ASKED}"'}]}]
    for number, step in enumerate(STEPS, 1):
        given = _renamed(step.given, {"path": "filePath", "old": "oldString", "new": "newString", "skill": "name"})
        name = _OPENCODE.get(step.tool, "invalid")
        state: dict[str, Any] = {"status": "completed", "input": given, "output": step.text}
        if name == "invalid":
            state["input"] = {"tool": step.tool, "error": "unavailable", **given}
        elif step.code is not None:
            state["metadata"] = {"output": step.text, "exit": step.code}
        elif step.failed:
            state = {"status": "error", "input": given, "error": step.text}
        state["time"] = {"start": _START + number * 1000, "end": _START + number * 1000}
        call = {"type": "tool", "tool": name, "callID": f"call_{number}", "state": state}
        messages.append(said(number, *([] if number > 1 else [{"type": "text", "text": TRIED}]), call))
    return info, [*messages, said(9, {"type": "text", "text": DONE})]


def opencode(path: Path) -> str:
    """As `opencode export` writes it."""
    info, messages = opencode_session()
    path.write_text(json.dumps({"info": info, "messages": messages}, indent=2), encoding="utf-8")
    return str(path)


def opencode_database(path: Path) -> str:
    """As `~/.local/share/opencode/opencode.db`, as far as sessions go; a child and an older session beside it."""
    info, messages = opencode_session()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, title text,"
            " revert text, time_created integer, time_updated integer)"
        )
        fields = "id text PRIMARY KEY, session_id text, time_created integer, data text NOT NULL"
        connection.execute(f"CREATE TABLE message ({fields})")
        connection.execute(f"CREATE TABLE part ({fields}, message_id text)")
        for id_, parent, updated in (("ses_0", None, 5), ("ses_1", None, 9), ("ses_2", "ses_1", 12)):
            row = (id_, parent, PROJECT, info["title"], None, 1, updated)
            connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        connection.execute("INSERT INTO message VALUES ('a', 'ses_0', 1, ?)", (json.dumps(messages[0]["info"]),))
        for number, message in enumerate(messages):
            about = {key: value for key, value in message["info"].items() if key != "id"}
            values: tuple[Any, ...] = (message["info"]["id"], "ses_1", _START + number, json.dumps(about))
            connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", values)
            for place, part in enumerate(message["parts"]):
                values = (f"prt_{number:02d}{place}", "ses_1", _START, json.dumps(part), message["info"]["id"])
                connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", values)
    return str(path)


# Codex and Claude Code


def _codex_call(step: Step) -> dict[str, Any]:
    """A call as Codex makes it: patches come as a tool of their own, or in a shell."""
    path, given = step.given.get("path", ""), step.given
    if step.tool == "Write":
        lines = "".join(f"+{line}\n" for line in given["content"].splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch"
        return {"type": "custom_tool_call", "name": "apply_patch", "input": patch}
    if step.tool == "Edit":
        hunk = f"@@\n-{given['old']}\n+{given['new']}\n"
        patch = f"*** Begin Patch\n*** Update File: {path}\n{hunk}*** End Patch"
        given = {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF\n"}
    elif step.tool == "Skill":
        given = {"cmd": "cat .codex/skills/price-rules/SKILL.md"}
    elif step.tool == "Bash":
        given = {"cmd": given["command"]}
    names = {"mcp__shop__look_up": "look_up", "make_tea": "make_tea"}
    space = {"namespace": "mcp__shop"} if step.tool.startswith("mcp") else {}
    name = names.get(step.tool, "exec_command")
    return {"type": "function_call", "name": name, "arguments": json.dumps(given), **space}


def codex(path: Path) -> str:
    """As `~/.codex/sessions/**/rollout-*.jsonl` of release 0.166."""
    records: list[dict[str, Any]] = []

    def add(kind: str, **payload: Any) -> None:
        records.append({"timestamp": at(len(records)), "type": kind, "payload": payload})

    def item(**payload: Any) -> None:
        add("response_item", **payload)

    def shown(**shown: Any) -> None:
        add("event_msg", type="item_completed", thread_id="s1", item=shown)

    def said(text: str) -> None:
        shown(type="AgentMessage", id="m", content=[{"type": "Text", "text": text}])
        item(type="message", role="assistant", content=[{"type": "output_text", "text": text}])

    def gave(id_: str, output: Any) -> None:
        item(type="function_call_output", call_id=id_, output=output)
        total = {"input_tokens": 100 * 8, "cached_input_tokens": 40 * 8, "output_tokens": 10 * 8}
        add("token_usage_record", thread_id="s1", usage=total)
        add("event_msg", type="token_count", info={"total_token_usage": total})

    add("session_meta", id="s1", cwd=PROJECT, cli_version="0.166.0")
    add("world_state", full=True, state={})
    add("turn_context", turn_id="t", cwd=PROJECT, model="gpt-5.6")
    item(type="message", role="user", content=[{"type": "input_text", "text": ASKED}])
    shown(type="UserMessage", id="u", content=[{"type": "text", "text": ASKED}])
    said(TRIED)
    for number, step in enumerate(STEPS):
        id_, status, code = f"c{number}", "failed" if step.failed else "completed", step.code or 0
        item(call_id=id_, **_codex_call(step))
        if step.tool == "mcp__shop__look_up":
            result = {"content": [{"type": "text", "text": step.text}], "isError": True}
            shown(type="McpToolCall", id=id_, server="shop", tool="look_up", status=status, result=result)
            parts = ["Wall time: 0.0027 seconds\nOutput:", step.text]
            gave(id_, [{"type": "input_text", "text": part} for part in parts])
        elif step.tool in ("Bash", "Skill"):
            shown(type="CommandExecution", id=id_, command=["bash", "-lc", "x"], status=status, exit_code=code)
            header = f"Chunk ID: 3fb16d\nWall time: 0.0003 seconds\nProcess exited with code {code}\nOutput:\n"
            gave(id_, header + step.text)
        else:
            gave(id_, "unsupported call: make_tea" if step.tool == "make_tea" else step.text)
    said(DONE)
    add("event_msg", type="task_complete", last_agent_message=DONE)
    return jsonl(path, records)


def claude(path: Path) -> str:
    """As `~/.claude/projects/PROJECT/SESSION.jsonl`."""
    records: list[dict[str, Any]] = []

    def add(kind: str, message: dict[str, Any], **more: Any) -> None:
        number = len(records)
        base = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s1"}
        message = {"role": kind, **message}
        records.append({"type": kind, **base, "cwd": PROJECT, "timestamp": at(number), "message": message, **more})

    def said(number: int, *blocks: dict[str, Any]) -> None:
        usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 10}
        for block in blocks:
            add("assistant", {"id": f"msg_{number}", "model": "claude-x", "content": [block], "usage": usage})

    add("user", {"content": ASKED})
    for number, step in enumerate(STEPS):
        keys = {"path": "file_path", "old": "old_string", "new": "new_string"}
        use = {"type": "tool_use", "id": f"c{number}", "name": step.tool, "input": _renamed(step.given, keys)}
        said(number, *([] if number else [{"type": "text", "text": TRIED}]), use)
        text = f"Exit code {step.code}\n{step.text}" if step.code else step.text
        text = "Launching skill: price-rules" if step.tool == "Skill" else text
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text, "is_error": step.failed}
        add("user", {"content": [result]})
        if step.tool == "Skill":
            base = "Base directory for this skill: /home/kim/.claude/skills/price-rules\n\n"
            add(
                "user", {"content": [{"type": "text", "text": base + SKILL}]}, isMeta=True, sourceToolUseID=f"c{number}"
            )
    said(9, {"type": "text", "text": DONE})
    return jsonl(path, records)


CLIENTS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "claude-code": ("s1.jsonl", claude),
    "codex": ("rollout.jsonl", codex),
    "gemini": ("session.jsonl", gemini),
    "gemini, one value": ("session.json", gemini_chat),
    "qwen": ("s1.jsonl", qwen),
    "copilot": ("events.jsonl", copilot),
    "opencode": ("export.json", opencode),
    "opencode, database": ("opencode.db", opencode_database),
}
"""Of each form its file and who writes it; the client is what stands before the comma."""
