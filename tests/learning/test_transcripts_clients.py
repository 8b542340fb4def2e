"""Sessions of each client become the same events: what was said, what was done, what came back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whet.learning.transcripts.events import Event
from whet.learning.transcripts.reader import read_transcript

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000_000
NOON = 1_772_366_400 * SECOND  # 2026-03-01T12:00:00Z


def at(second: int) -> str:
    return f"2026-03-01T12:00:{second:02d}.000Z"


def jsonl(path: Path, *records: Any) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


# Claude Code


def claude(kind: str, second: int, content: Any, **more: Any) -> dict[str, Any]:
    role = kind if kind in {"user", "assistant"} else "user"
    return {
        "type": kind,
        "uuid": f"u{second}",
        "parentUuid": f"u{second - 1}" if second else None,
        "sessionId": "s1",
        "cwd": "/home/kim/shop",
        "isSidechain": False,
        "timestamp": at(second),
        "message": {"role": role, "content": content},
        **more,
    }


def use(name: str, given: Any, number: int) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"t{number}", "name": name, "input": given}]


def gave(text: Any, number: int, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": f"t{number}", "content": text, **more}]


def test_a_session_of_claude_code(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "s1.jsonl",
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "permission-mode", "permissionMode": "default", "sessionId": "s1"},
        claude("user", 0, "<local-command-caveat>Caveat: ...</local-command-caveat>", isMeta=True),
        claude("user", 1, "<system-reminder>\nToday is Sunday.\n</system-reminder>\nResize the photos to 800px"),
        claude("assistant", 2, [{"type": "thinking", "thinking": "Needs a tool.", "signature": "abc"}]),
        claude("assistant", 3, use("Bash", {"command": "mogrify -resize 800 *.jpg", "description": "Resize"}, 1)),
        claude("user", 4, gave("Exit code 127\nmogrify: command not found", 1, is_error=True), toolUseResult="Error"),
        claude("assistant", 5, use("Skill", {"skill": "imaging:resize", "args": "800"}, 2)),
        claude("user", 6, gave("Launching skill: imaging:resize", 2), toolUseResult={"success": True}),
        claude(
            "user",
            7,
            [{"type": "text", "text": "Base directory for this skill: /home/kim/.claude/skills/resize\n\n# Resize"}],
            isMeta=True,
            sourceToolUseID="t2",
        ),
        claude("assistant", 8, use("Edit", {"file_path": "r.py", "old_string": "640", "new_string": "800"}, 3)),
        claude("user", 9, gave([{"type": "text", "text": "updated"}, {"type": "image", "source": {"data": "x"}}], 3)),
        {
            "type": "attachment",
            "uuid": "u10",
            "sessionId": "s1",
            "timestamp": at(10),
            "attachment": {"type": "queued_command", "prompt": "keep the originals", "commandMode": "prompt"},
        },
        claude("assistant", 11, [{"type": "text", "text": "Done."}]),
        claude("user", 12, "<command-name>/clear</command-name>\n<command-args></command-args>"),
        claude(
            "user",
            13,
            "<command-message>ship</command-message>\n<command-name>/ship</command-name>\n"
            "<command-args>to staging</command-args>",
        ),
        claude("user", 14, "[Request interrupted by user]"),
        claude("user", 15, "This session is being continued from ...", isCompactSummary=True),
    )
    read = read_transcript(path)
    assert (read.client, read.session, read.project, read.report) == ("claude-code", "s1", "/home/kim/shop", ())
    assert [event._replace(time=(event.time - NOON) // SECOND) for event in read.events] == [
        Event("note", "<local-command-caveat>Caveat: ...</local-command-caveat>", 0, about="system"),
        Event("note", "<system-reminder>\nToday is Sunday.\n</system-reminder>", 1, about="system"),
        Event("user", "Resize the photos to 800px", 1),
        Event("note", "Needs a tool.", 2, about="thinking"),
        Event("call", "", 3, "Bash", "t1", {"command": "mogrify -resize 800 *.jpg", "description": "Resize"}),
        Event("result", "Exit code 127\nmogrify: command not found", 4, "Bash", "t1", failed=True, code=127),
        Event("call", "", 5, "Skill", "t2", {"skill": "imaging:resize", "args": "800"}),
        Event("result", "Launching skill: imaging:resize", 6, "Skill", "t2"),
        Event(
            "note",
            "Base directory for this skill: /home/kim/.claude/skills/resize\n\n# Resize",
            7,
            about="skill:resize",
        ),
        Event("call", "", 8, "Edit", "t3", {"path": "r.py", "old": "640", "new": "800"}),
        Event("result", "updated\n[binary]", 9, "Edit", "t3"),
        Event("user", "keep the originals", 10),
        Event("assistant", "Done.", 11),
        Event("note", "/clear", 12, about="command"),
        Event("user", "/ship to staging", 13),
        Event("note", "[Request interrupted by user]", 14, about="interrupted"),
        Event("note", "This session is being continued from ...", 15, about="summary"),
    ]


def test_what_claude_code_streams_is_a_session_too(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "out.jsonl",
        {"type": "system", "subtype": "init", "session_id": "x", "cwd": "/w"},
        {"type": "assistant", "session_id": "x", "message": {"content": use("Read", {"file_path": "a.md"}, 1)}},
        {"type": "user", "session_id": "x", "message": {"content": gave("# A", 1)}},
        {"type": "result", "subtype": "success", "session_id": "x", "result": "ok"},
    )
    assert read_transcript(path)[:4] == (
        "claude-code",
        "x",
        "/w",
        (Event("call", "", 0, "Read", "t1", {"path": "a.md"}), Event("result", "# A", 0, "Read", "t1")),
    )


# Codex


def rollout(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def said(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text} for text in texts]}


HEADER = "Chunk ID: f1\nWall time: 0.0 seconds\nProcess exited with code 2\nOriginal token count: 9\nOutput:\n"
PATCH = "*** Begin Patch\n*** Update File: etl/load.py\n@@\n-a\n+b\n*** Add File: etl/new.py\n+c\n*** End Patch"


def test_a_session_of_codex(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "rollout-1.jsonl",
        rollout(0, "session_meta", id="019", cwd="/srv/etl", cli_version="0.140.0", source="cli"),
        rollout(0, "response_item", **said("developer", "<permissions instructions>ask</permissions instructions>")),
        rollout(
            1,
            "response_item",
            **said(
                "user",
                "# AGENTS.md instructions for /srv/etl\n\n<INSTRUCTIONS>\nUse uv.\n</INSTRUCTIONS>",
                "<environment_context>\n  <cwd>/srv/etl</cwd>\n</environment_context>",
            ),
        ),
        rollout(1, "response_item", **said("user", "Something new that a later client puts here")),
        rollout(
            1,
            "response_item",
            **said("user", "# Context from my IDE:\nopen: a.py\n\n## My request for Codex:\nLoad the June file"),
        ),
        rollout(1, "event_msg", type="user_message", message="Load the June file"),
        rollout(1, "turn_context", cwd="/srv/etl", model="gpt-5.5"),
        rollout(
            2,
            "response_item",
            type="reasoning",
            summary=[{"type": "summary_text", "text": "**Look**"}],
            encrypted_content="gAAAA",
        ),
        rollout(
            3,
            "response_item",
            type="function_call",
            name="exec_command",
            call_id="c1",
            arguments='{"cmd": "ls data", "workdir": "/srv/etl"}',
        ),
        rollout(3, "event_msg", type="exec_command_end", call_id="c1", exit_code=2),
        rollout(4, "response_item", type="function_call_output", call_id="c1", output=HEADER + "ls: data: missing\n"),
        rollout(
            5,
            "response_item",
            type="local_shell_call",
            call_id="c2",
            action={"type": "exec", "command": ["bash", "-lc", "make data"]},
        ),
        rollout(
            6,
            "response_item",
            type="function_call_output",
            call_id="c2",
            output=json.dumps({"output": "ok\n", "metadata": {"exit_code": 0, "duration_seconds": 1.5}}),
        ),
        rollout(7, "response_item", type="custom_tool_call", name="apply_patch", call_id="c3", input=PATCH),
        rollout(8, "response_item", type="custom_tool_call_output", call_id="c3", output="Success. Updated 2 files"),
        rollout(9, "response_item", type="web_search_call", action={"type": "search", "query": "copy csv postgres"}),
        rollout(
            9, "response_item", type="function_call", name="query", namespace="mcp__db", call_id="c4", arguments="{}"
        ),
        rollout(
            9, "response_item", type="function_call_output", call_id="c4", output={"content": "3 rows", "success": True}
        ),
        rollout(9, "event_msg", type="agent_message", message="Loaded."),
        rollout(10, "response_item", **said("assistant", "Loaded.")),
        rollout(11, "compacted", message="Summary so far"),
        rollout(12, "event_msg", type="user_message", message="only on the screen"),
        rollout(12, "event_msg", type="turn_aborted", reason="interrupted"),
        rollout(13, "brand_new_kind", x=1),
    )
    read = read_transcript(path)
    assert read[:3] == ("codex", "019", "/srv/etl")
    assert [entry.message for entry in read.report] == [
        "Records left out because their kind is unknown: 1 (brand_new_kind)."
    ]
    assert [event._replace(time=(event.time - NOON) // SECOND) for event in read.events] == [
        Event("note", "<permissions instructions>ask</permissions instructions>", 0, about="system"),
        Event(
            "note",
            "# AGENTS.md instructions for /srv/etl\n\n<INSTRUCTIONS>\nUse uv.\n</INSTRUCTIONS>",
            1,
            about="context",
        ),
        Event("note", "<environment_context>\n  <cwd>/srv/etl</cwd>\n</environment_context>", 1, about="context"),
        Event("note", "Something new that a later client puts here", 1, about="context"),
        Event("note", "# Context from my IDE:\nopen: a.py", 1, about="context"),
        Event("user", "Load the June file", 1),
        Event("note", "**Look**", 2, about="thinking"),
        Event("call", "", 3, "Bash", "c1", {"command": "ls data", "workdir": "/srv/etl"}),
        Event("result", "ls: data: missing\n", 4, "Bash", "c1", failed=True, code=2),
        Event("call", "", 5, "Bash", "c2", {"command": "make data"}),
        Event("result", "ok\n", 6, "Bash", "c2", code=0),
        Event(
            "call", "", 7, "Edit", "c3", {"path": "etl/load.py", "paths": ["etl/load.py", "etl/new.py"], "patch": PATCH}
        ),
        Event("result", "Success. Updated 2 files", 8, "Edit", "c3"),
        Event("call", "", 9, "Web", "call-4", {"query": "copy csv postgres"}),
        Event("call", "", 9, "mcp__db__query", "c4"),
        Event("result", "3 rows", 9, "mcp__db__query", "c4"),
        Event("assistant", "Loaded.", 10),
        Event("note", "Summary so far", 11, about="summary"),
        Event("user", "only on the screen", 12),
        Event("note", "[turn aborted: interrupted]", 12, about="interrupted"),
    ]


# Hermes


def test_an_export_of_hermes(tmp_path: Path) -> None:
    invoked = (
        '[IMPORTANT: The user has invoked the "invoices" skill, indicating they want you to follow it. The full skill '
        "content is loaded below.]\n\n# Invoices\n\nThe user has provided the following instruction alongside the "
        "skill invocation: bill March\n\n[Runtime note: none]"
    )
    call = {"id": "k1", "function": {"name": "terminal", "arguments": '{"command": "gen --month 3"}'}}
    session = {
        "id": "20260301_h",
        "source": "cli",
        "model": "m",
        "started_at": 1772366400.0,
        "system_prompt": "Be kind.",
        "cwd": "/home/lee",
        "message_count": 5,
        "messages": [
            {"role": "user", "content": "[System note: first message ever.]\nhello", "timestamp": 1772366401.0},
            {"role": "user", "content": invoked, "timestamp": 1772366402.0},
            {"role": "assistant", "content": "", "tool_calls": [call], "reasoning": "go", "timestamp": 1772366403.0},
            {
                "role": "tool",
                "tool_call_id": "k1",
                "tool_name": "terminal",
                "timestamp": 1772366404.0,
                "content": '{"output": "no template", "exit_code": 1, "error": null}',
            },
            {
                "role": "tool",
                "tool_call_id": "k2",
                "tool_name": "skill_view",
                "content": '{"success": false, "error": "no"}',
            },
        ],
    }
    read = read_transcript(jsonl(tmp_path / "export.jsonl", session, {**session, "id": "other"}))
    assert read[:3] == ("hermes", "20260301_h", "/home/lee")
    assert [(entry.code, entry.message) for entry in read.report] == [
        ("transcript-left-out", "Records of other sessions in the file left out: 1.")
    ]
    assert [event._replace(time=0) for event in read.events] == [
        Event("note", "Be kind.", about="system"),
        Event("note", "[System note: first message ever.]", about="system"),
        Event("user", "hello"),
        Event("note", invoked.partition("The user has provided")[0].strip(), about="skill:invoices"),
        Event("user", "bill March"),
        Event("note", "go", about="thinking"),
        Event("call", "", 0, "Bash", "k1", {"command": "gen --month 3"}),
        Event("result", "no template", 0, "Bash", "k1", failed=True, code=1),
        Event("result", '{"success": false, "error": "no"}', 0, "Skill", "k2", failed=True),
    ]
    assert read.events[2].time == NOON + SECOND


def test_a_snapshot_of_hermes(tmp_path: Path) -> None:
    snapshot = tmp_path / "session_1.json"
    snapshot.write_text(
        json.dumps(
            {"session_id": "1", "session_start": "2026-03-01", "system_prompt": "", "messages": [said("user", "hi")]},
            indent=2,
        )
    )
    assert read_transcript(str(snapshot))[:4] == ("hermes", "1", "", (Event("user", "hi"),))
