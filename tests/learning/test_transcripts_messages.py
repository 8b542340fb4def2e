"""Messages of APIs, trajectories and text become the same events as the sessions of clients."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whet.learning.transcripts.events import Event
from whet.learning.transcripts.reader import from_messages, read_transcript

if TYPE_CHECKING:
    from pathlib import Path


def jsonl(path: Path, *records: Any) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def said(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text} for text in texts]}


# Messages of APIs

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You help."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "plot it"}, {"type": "image_url", "image_url": {"url": "data:"}}],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c",
                "type": "function",
                "function": {"name": "write_file", "arguments": '{"path": "p.py", "content": "x"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "Error: disk full"},
    {"role": "assistant", "content": "The disk is full."},
]
CHAT_EVENTS = (
    Event("note", "You help.", about="system"),
    Event("user", "plot it"),
    Event("user", "[binary]"),
    Event("call", "", 0, "Write", "c", {"path": "p.py", "content": "x"}),
    Event("result", "Error: disk full", 0, "Write", "c", failed=True),
    Event("assistant", "The disk is full."),
)
BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": "which port?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Looking."},
            {
                "type": "tool_use",
                "id": "b",
                "name": "str_replace_based_edit_tool",
                "input": {"command": "view", "path": "c.yml"},
            },
            {"type": "mcp_tool_use", "id": "m", "name": "lookup", "server_name": "net", "input": {"port": 80}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": "port: 80"},
            {
                "type": "mcp_tool_result",
                "tool_use_id": "m",
                "is_error": True,
                "content": [{"type": "text", "text": "refused"}],
            },
        ],
    },
]
BLOCK_EVENTS = (
    Event("user", "which port?"),
    Event("assistant", "Looking."),
    Event("call", "", 0, "Read", "b", {"path": "c.yml"}),
    Event("call", "", 0, "mcp__net__lookup", "m", {"port": 80}),
    Event("result", "port: 80", 0, "Read", "b"),
    Event("result", "refused", 0, "mcp__net__lookup", "m", failed=True),
)


class Thing:
    """An object as SDKs return them."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self._fields


def test_messages_in_memory_may_be_dictionaries_or_objects() -> None:
    assert from_messages(CHAT)[:4] == ("openai", "", "", CHAT_EVENTS)
    assert from_messages(map(Thing, CHAT)).events == CHAT_EVENTS
    assert from_messages(BLOCKS)[:4] == ("anthropic", "", "", BLOCK_EVENTS)
    mixed = [{**message, "content": [Thing(block) for block in message["content"]]} for message in BLOCKS[1:]]
    assert from_messages([BLOCKS[0], *mixed], client="mine")[:4] == ("mine", "", "", BLOCK_EVENTS)


def test_messages_in_files_of_every_layout(tmp_path: Path) -> None:
    one_a_line = "[\n" + ",\n".join(json.dumps(message) for message in CHAT) + "\n]"
    layouts = {
        "lines.jsonl": "".join(json.dumps(message) + "\n" for message in CHAT),
        "list.json": json.dumps(CHAT),
        "one-a-line.json": one_a_line,
        "pretty.json": json.dumps({"messages": CHAT}, indent=1),
        "object.json": json.dumps({"model": "m", "messages": CHAT}),
        "rows.json": '{"messages": ' + one_a_line + "}",
    }
    for name, text in layouts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        read = read_transcript(str(tmp_path / name))
        assert (name, read.client, read.events, read.report) == (name, "openai", CHAT_EVENTS, ())


def test_items_of_the_responses_api_and_messages_of_langchain() -> None:
    items = [
        said("user", "sum it"),
        {"type": "mcp_call", "id": "i", "server_label": "calc", "name": "sum", "arguments": '{"a": 1}', "output": "1"},
        {"type": "shell_call", "call_id": "s", "action": {"commands": ["cd x", "make"]}},
        {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "done", "exit_code": 0}]},
        {"type": "ai", "content": "ok", "tool_calls": [{"name": "grep", "args": {"pattern": "x"}, "id": "l"}]},
        {"type": "tool", "tool_call_id": "l", "content": "none", "status": "error"},
    ]
    assert from_messages(items).events == (
        Event("user", "sum it"),
        Event("call", "", 0, "mcp__calc__sum", "i", {"a": 1}),
        Event("result", "1", 0, "mcp__calc__sum", "i"),
        Event("call", "", 0, "Bash", "s", {"command": "cd x\nmake"}),
        Event("result", "done", 0, "Bash", "s", code=0),
        Event("assistant", "ok"),
        Event("call", "", 0, "Search", "l", {"query": "x"}),
        Event("result", "none", 0, "Search", "l", failed=True),
    )


# Text


def test_markdown_with_the_speakers_as_headings(tmp_path: Path) -> None:
    page = tmp_path / "chat.md"
    page.write_text(
        "# My notes\n\nintro\n\n## User\n\nRename the tables\n\n```sql\n# Assistant\n```\n\n"
        "## User interface ideas\n## Assistant: I will.\n\n### Tool: Bash\n\n```sh\npsql -f rename.sql\n```\n\n"
        "### Tool result\n\n```\nError: no table\n```\n"
        "# Human:\nuse the other schema\n# Assistant\nDone.\n",
        encoding="utf-8",
    )
    read = read_transcript(str(page))
    assert (read.client, read.report) == ("markdown", ())
    assert read.events == (
        Event("user", "Rename the tables\n\n```sql\n# Assistant\n```\n\n## User interface ideas"),
        Event("assistant", "I will."),
        Event("call", "", 0, "Bash", "call-1", {"command": "psql -f rename.sql"}),
        Event("result", "Error: no table\n", 0, "Bash", "call-1", failed=True),
        Event("user", "use the other schema"),
        Event("assistant", "Done."),
    )
