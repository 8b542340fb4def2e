"""Sessions as the files in which clients and programs keep them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.transcripts.events import Event, Transcript

_KEYS = {"path": "file_path", "old": "old_string", "new": "new_string"}


def claude_code(path: Path, session: Transcript) -> Path:
    """A session of Claude Code."""
    rows = []
    for number, event in enumerate(session.events):
        role, content = _block(event)
        rows.append(
            {
                "type": role,
                "uuid": f"u{number}",
                "sessionId": session.session,
                "cwd": session.project,
                "timestamp": f"2026-03-01T10:{number // 60:02}:{number % 60:02}.000Z",
                "message": {"role": role, "content": content},
            }
        )
    return _lines(path, rows)


def _block(event: Event) -> tuple[str, Any]:
    if event.kind == "call":
        given = {_KEYS.get(name, name): value for name, value in event.given.items()}
        return "assistant", [{"type": "tool_use", "id": event.id, "name": event.tool, "input": given}]
    if event.kind == "result":
        block = {"type": "tool_result", "tool_use_id": event.id, "content": event.text, "is_error": event.failed}
        return "user", [block]
    return event.kind, event.text if event.kind == "user" else [{"type": "text", "text": event.text}]


def codex(path: Path, session: Transcript) -> Path:
    """A session of Codex, for which only the shell is known."""
    rows: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": session.session, "cwd": session.project, "cli_version": "0.50.0"}}
    ]
    for event in session.events:
        payload: dict[str, Any]
        if event.kind == "call":
            command = json.dumps({"command": ["bash", "-lc", event.given["command"]]})
            payload = {"type": "function_call", "name": "shell", "arguments": command, "call_id": event.id}
        elif event.kind == "result":
            output = json.dumps({"output": event.text, "metadata": {"exit_code": int(event.failed)}})
            payload = {"type": "function_call_output", "call_id": event.id, "output": output}
        else:
            kind = "input_text" if event.kind == "user" else "output_text"
            payload = {"type": "message", "role": event.kind, "content": [{"type": kind, "text": event.text}]}
        rows.append({"type": "response_item", "payload": payload})
    return _lines(path, [{"timestamp": "2026-03-01T10:00:00.000Z", **row} for row in rows])


def messages(session: Transcript) -> list[dict[str, Any]]:
    """Messages of OpenAI."""
    rows: list[dict[str, Any]] = []
    for event in session.events:
        if event.kind == "call":
            function = {"name": event.tool, "arguments": json.dumps(dict(event.given))}
            call = {"id": event.id, "type": "function", "function": function}
            rows.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif event.kind == "result":
            text = f"Error: {event.text}" if event.failed else event.text
            rows.append({"role": "tool", "tool_call_id": event.id, "content": text})
        else:
            rows.append({"role": event.kind, "content": event.text})
    return rows


def _lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path
