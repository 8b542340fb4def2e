"""What clients send to their hooks: the fields of each client and event, written for the purpose.

payload("gemini", "prompt", prompt="fill in this form")
"""

from __future__ import annotations

import json
from typing import Any

SESSION = "0a1b2c3d"
PROMPT = "please backport this fix to the release branch"
WORK = "/work/project"
TRANSCRIPT = "/home/me/transcript.jsonl"


def _claude_code(kind: str) -> dict[str, Any]:
    common: dict[str, Any] = {
        "session_id": SESSION,
        "transcript_path": TRANSCRIPT,
        "cwd": WORK,
        "permission_mode": "default",
    }
    events: dict[str, dict[str, Any]] = {
        "start": {"hook_event_name": "SessionStart", "source": "startup", "model": "a-model"},
        "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT},
        "tool": {
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "make test", "description": "Run the tests"},
            "tool_response": {"stdout": "ok", "stderr": "", "interrupted": False},
            "tool_use_id": "toolu_1",
        },
        "compact": {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": ""},
        "stop": {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": "Done."},
        "end": {"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"},
    }
    return common | events[kind]


def _codex(kind: str) -> dict[str, Any]:
    common: dict[str, Any] = {"session_id": SESSION, "transcript_path": TRANSCRIPT, "cwd": WORK, "model": "a-model"}
    events: dict[str, dict[str, Any]] = {
        "start": {"hook_event_name": "SessionStart", "source": "startup"},
        "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT, "turn_id": "1"},
        "tool": {
            "hook_event_name": "PostToolUse",
            "turn_id": "1",
            "tool_name": "Bash",
            "tool_input": {"command": "make test"},
            "tool_response": "ok",
            "tool_use_id": "call_1",
        },
        "compact": {"hook_event_name": "PreCompact", "trigger": "manual", "turn_id": "1"},
        "stop": {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": None},
        "end": {"hook_event_name": "SessionEnd", "reason": "other"},
    }
    return common | events[kind]


def _cursor(kind: str) -> dict[str, Any]:
    common: dict[str, Any] = {
        "conversation_id": SESSION,
        "generation_id": "g1",
        "model": "a-model",
        "cursor_version": "3.1.0",
        "workspace_roots": [WORK],
        "user_email": None,
        "transcript_path": TRANSCRIPT,
    }
    events: dict[str, dict[str, Any]] = {
        "start": {"hook_event_name": "sessionStart", "session_id": SESSION, "composer_mode": "agent"},
        "prompt": {"hook_event_name": "beforeSubmitPrompt", "prompt": PROMPT, "attachments": []},
        "tool": {
            "hook_event_name": "postToolUse",
            "tool_name": "Shell",
            "tool_input": {"command": "make test"},
            "tool_output": '{"output": "ok", "exitCode": 0}',
            "tool_use_id": "t1",
            "cwd": WORK,
            "duration": 12,
        },
        "compact": {"hook_event_name": "preCompact", "trigger": "auto", "context_usage_percent": 91},
        "stop": {"hook_event_name": "stop", "status": "completed", "loop_count": 0},
        "end": {"hook_event_name": "sessionEnd", "session_id": SESSION, "reason": "completed"},
    }
    return common | events[kind]


def _vscode(kind: str) -> dict[str, Any]:
    common: dict[str, Any] = {
        "timestamp": "2026-11-15T06:00:00Z",
        "cwd": WORK,
        "sessionId": SESSION,
        "transcript_path": TRANSCRIPT,
    }
    events: dict[str, dict[str, Any]] = {
        "start": {"hookEventName": "SessionStart", "source": "new"},
        "prompt": {"hookEventName": "UserPromptSubmit", "prompt": PROMPT},
        "tool": {
            "hookEventName": "PostToolUse",
            "tool_name": "run_in_terminal",
            "tool_input": {"command": "make test"},
            "tool_use_id": "v1",
            "tool_response": "ok",
        },
        "compact": {"hookEventName": "PreCompact", "trigger": "auto"},
        "stop": {"hookEventName": "Stop", "stop_hook_active": False},
        "end": {"hookEventName": "SessionEnd"},
    }
    return common | events[kind]


def _gemini(kind: str) -> dict[str, Any]:
    common: dict[str, Any] = {
        "session_id": SESSION,
        "transcript_path": TRANSCRIPT,
        "cwd": WORK,
        "timestamp": "2026-11-15T06:00:00Z",
    }
    events: dict[str, dict[str, Any]] = {
        "start": {"hook_event_name": "SessionStart", "source": "startup"},
        "prompt": {"hook_event_name": "BeforeAgent", "prompt": PROMPT},
        "tool": {
            "hook_event_name": "AfterTool",
            "tool_name": "run_shell_command",
            "tool_input": {"command": "make test"},
            "tool_response": {"llmContent": "ok", "returnDisplay": "ok", "error": None},
        },
        "compact": {"hook_event_name": "PreCompress", "trigger": "auto"},
        "stop": {"hook_event_name": "AfterAgent", "prompt": PROMPT, "prompt_response": "Done."},
        "end": {"hook_event_name": "SessionEnd", "reason": "exit"},
    }
    return common | events[kind]


def _hermes(kind: str) -> dict[str, Any]:
    common: dict[str, Any] = {
        "tool_name": None,
        "tool_input": None,
        "session_id": SESSION,
        "cwd": WORK,
        "profile": "default",
    }
    events: dict[str, dict[str, Any]] = {
        "start": {"hook_event_name": "on_session_start", "extra": {"model": "a-model", "platform": "cli"}},
        "prompt": {
            "hook_event_name": "pre_llm_call",
            "extra": {"user_message": PROMPT, "conversation_history": [], "is_first_turn": True},
        },
        "tool": {
            "hook_event_name": "post_tool_call",
            "tool_name": "terminal",
            "tool_input": {"command": "make test"},
            "extra": {"result": '{"output": "ok", "exit_code": 0}', "duration_ms": 3},
        },
        "compact": {"extra": {}},
        "stop": {"hook_event_name": "on_session_end", "extra": {"completed": True, "failed": False}},
        "end": {"hook_event_name": "on_session_finalize", "extra": {"platform": "cli", "reason": "exit"}},
    }
    return common | events[kind]


def _copilot(kind: str) -> dict[str, Any]:
    """As Copilot CLI 1.0.102 sends them."""
    common: dict[str, Any] = {"session_id": SESSION, "timestamp": "2026-11-15T06:00:00.000Z", "cwd": WORK}
    told = {"transcript_path": TRANSCRIPT}
    events: dict[str, dict[str, Any]] = {
        "start": {"hook_event_name": "SessionStart", "source": "new", "initial_prompt": PROMPT},
        "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT},
        "tool": {
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "make test"},
            "tool_result": {"result_type": "success", "text_result_for_llm": "ok"},
        },
        "compact": {"hook_event_name": "PreCompact", "trigger": "auto"},
        "stop": {"hook_event_name": "Stop", "stop_reason": "end_turn", "stop_hook_active": False, **told},
        "end": {"hook_event_name": "SessionEnd", "reason": "complete"},
    }
    return common | events[kind]


def _qwen(kind: str) -> dict[str, Any]:
    """As Qwen Code 0.15.10 sends them."""
    changed: dict[str, dict[str, Any]] = {
        "tool": {
            "tool_name": "run_shell_command",
            "tool_input": {"command": "make test", "is_background": False},
            "tool_response": {"llmContent": "ok", "returnDisplay": "ok"},
        },
    }
    return {**_claude_code(kind), "timestamp": "2026-11-15T06:00:00.000Z", **changed.get(kind, {})}


_CLIENTS = {
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
    "vscode": _vscode,
    "gemini": _gemini,
    "hermes": _hermes,
    "copilot": _copilot,
    "qwen": _qwen,
}


def _before(client: str) -> dict[str, Any]:
    """A tool call that is about to be made: what the client tells of it afterwards, without the result."""
    sent = _CLIENTS[client]("tool")
    name = "hookEventName" if "hookEventName" in sent else "hook_event_name"
    results = ("tool_response", "tool_output", "tool_result", "extra", "duration", "duration_ms")
    called = {"gemini": "BeforeTool", "cursor": "preToolUse", "hermes": "pre_tool_call"}.get(client, "PreToolUse")
    return {**{key: value for key, value in sent.items() if key not in results}, name: called}


def payload(client: str, kind: str, **changes: Any) -> dict[str, Any]:
    """What a client sends; `cwd` and `prompt` are put where that client has them."""
    sent = _before(client) if kind == "before" else _CLIENTS[client](kind)
    if "cwd" in changes and client == "cursor":
        sent["workspace_roots"] = [changes["cwd"]]
    if "prompt" in changes and client == "hermes":
        sent["extra"] |= {"user_message": changes.pop("prompt")}
    if "session" in changes:
        field = {"cursor": "conversation_id", "vscode": "sessionId"}.get(client, "session_id")
        sent[field] = changes.pop("session")
    return sent | changes


def as_bytes(sent: Any) -> bytes:
    """The payload as it goes through the pipe."""
    return json.dumps(sent).encode()


def context(output: bytes | str) -> str:
    """What an answer tells the model, in the shape of any client."""
    if not output:
        return ""
    answer = json.loads(output)
    if "hookSpecificOutput" in answer:
        specific = answer.pop("hookSpecificOutput")
        assert list(specific) == ["hookEventName", "additionalContext"]
        assert answer == {}
        return str(specific["additionalContext"])
    (text,) = answer.values()
    assert list(answer) in (["additional_context"], ["additionalContext"], ["context"])
    return str(text)
