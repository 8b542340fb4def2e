"""What a client sends is read as what happened; what is to be said is written as that client expects it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journeys.payloads import PROMPT, SESSION, TRANSCRIPT, WORK, as_bytes, payload

from whet.errors import InvalidError, NotFoundError, UsageError
from whet.interfaces.hooks import MOST
from whet.interfaces.hooks.clients import CLIENTS, EVERY_NAME, KINDS, native
from whet.interfaces.hooks.events import (
    LONGEST_PROMPT,
    Event,
    format_answer,
    format_refusal,
    read_event,
    read_members,
    recent_turns,
)

if TYPE_CHECKING:
    from pathlib import Path

TOOLS: dict[str, dict[str, Any]] = {
    "claude-code": {"tool": "Bash", "given": {"command": "make test", "description": "Run the tests"}},
    "codex": {"tool": "Bash", "given": {"command": "make test"}},
    "cursor": {"tool": "Shell", "given": {"command": "make test"}},
    "vscode": {"tool": "run_in_terminal", "given": {"command": "make test"}},
    "gemini": {"tool": "run_shell_command", "given": {"command": "make test"}},
    "hermes": {"tool": "terminal", "given": {"command": "make test"}},
    "copilot": {"tool": "Bash", "given": {"command": "make test"}},
    "qwen": {"tool": "run_shell_command", "given": {"command": "make test", "is_background": False}},
}
CALLS = {
    "claude-code": "toolu_1",
    "codex": "call_1",
    "cursor": "t1",
    "vscode": "v1",
    "qwen": "toolu_1",
    "copilot": '["2026-11-15T06:00:00.000Z", "Bash", {"command": "make test"}]',
}
SOURCES = {
    "claude-code": "startup",
    "codex": "startup",
    "vscode": "new",
    "gemini": "startup",
    "copilot": "new",
    "qwen": "startup",
}


def mark(kind: str, text: str) -> int:
    return crc32(f"{kind}\0{text}".encode())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("client", CLIENTS)
def test_every_event_of_every_client_is_understood(client: str, kind: str) -> None:
    transcript = "" if client == "hermes" or (client == "copilot" and kind != "stop") else TRANSCRIPT
    expected = Event(client, kind, SESSION, native(client, kind), WORK, transcript)
    expected = expected._replace(turn="g1" if client == "cursor" else "")
    if kind == "start":
        expected = expected._replace(source=SOURCES.get(client, ""))
    if kind == "prompt":
        expected = expected._replace(prompt=PROMPT, mark=mark("prompt", PROMPT))
    if kind == "tool":
        call = CALLS.get(client)
        expected = expected._replace(**TOOLS[client], mark=mark("tool", call) if call else 0)
    if kind == "before":
        expected = expected._replace(**TOOLS[client])
    sent = as_bytes(payload(client, kind))
    understood = kind != "before" or CLIENTS[client].denies
    assert read_event(client, kind, sent, "/elsewhere") == (expected if understood else None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_gets_its_own_shape_where_it_listens(client: str, kind: str) -> None:
    event = Event(client, kind, SESSION, native(client, kind))
    shapes = {
        "claude-code": ("start", "prompt", "tool"),
        "codex": ("start", "prompt", "tool"),
        "cursor": ("start", "tool"),
        "vscode": ("start", "tool"),
        "gemini": ("start", "prompt"),
        "hermes": ("prompt",),
        "copilot": ("start", "prompt", "tool"),
        "qwen": ("start", "prompt", "tool"),
    }
    answer: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": "Grüße\n"}}
    if client == "copilot":
        answer = {"additionalContext": "Grüße\n"}
    if client == "cursor":
        answer = {"additional_context": "Grüße\n"}
    if client == "hermes":
        answer = {"context": "Grüße\n"}
    output = format_answer(event, "Grüße\n")
    assert output == (json.dumps(answer).encode() + b"\n" if kind in shapes[client] else b"")
    assert output.isascii()
    assert format_answer(event, "") == b""


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_that_can_refuse_a_call_gets_its_own_shape(client: str) -> None:
    event = Event(client, "before", SESSION, native(client, "before"))
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "Nein, süß"}
    shapes: dict[str, dict[str, Any]] = {
        **{key: {"hookSpecificOutput": specific} for key in ("claude-code", "codex", "copilot", "qwen", "vscode")},
        "gemini": {"decision": "deny", "reason": "Nein, süß"},
    }
    expected = json.dumps(shapes[client]).encode() + b"\n" if client in shapes else b""
    assert (format_refusal(event, "Nein, süß"), format_refusal(event, "")) == (expected, b"")


def test_the_names_of_events_mean_one_kind_each() -> None:
    for known in CLIENTS.values():
        assert {name: EVERY_NAME[name] for name in known.events} == known.events
        assert set(known.events.values()) <= set(KINDS)
    assert native("hermes", "compact") == ""


def test_clients_that_run_the_hooks_of_another_one_are_recognised() -> None:
    cursor = read_event("claude-code", "prompt", as_bytes(payload("cursor", "prompt")))
    assert cursor == read_event("cursor", "prompt", as_bytes(payload("cursor", "prompt")))
    code = read_event("claude-code", "tool", as_bytes(payload("vscode", "tool")))
    assert code == read_event("vscode", "tool", as_bytes(payload("vscode", "tool")))


def test_what_the_payload_says_counts_more_than_the_command_line() -> None:
    event = read_event("claude-code", "stop", as_bytes(payload("claude-code", "prompt")))
    assert event is not None and (event.kind, event.name) == ("prompt", "UserPromptSubmit")
    assert (
        read_event("claude-code", "stop", as_bytes(payload("claude-code", "stop", hook_event_name="SubagentStop")))
        is None
    )
    bare = {"session_id": "s", "prompt": "hello"}
    assert read_event("gemini", "prompt", as_bytes(bare), "/here") == Event(
        "gemini", "prompt", "s", "BeforeAgent", "/here", prompt="hello", mark=mark("prompt", "hello")
    )


def test_failures_of_tools_are_events_of_their_own_in_some_clients() -> None:
    sent = payload("claude-code", "tool", hook_event_name="PostToolUseFailure", error="exit code 2")
    event = read_event("claude-code", "tool", as_bytes(sent))
    assert event is not None and (event.kind, event.failed) == ("tool", True)


@pytest.mark.parametrize(
    ("sent", "prompt"),
    [
        (["fill", {"type": "text", "text": "this form"}, {"type": "image"}, 3, None], "fill\nthis form"),
        ({"text": "x"}, ""),
        (None, ""),
        (7, ""),
        ("half \ud800 a character", "half ? a character"),
        ("x" * (LONGEST_PROMPT + 9), "x" * LONGEST_PROMPT),
    ],
)
def test_messages_come_in_many_forms(sent: Any, prompt: str) -> None:
    event = read_event("hermes", "prompt", as_bytes(payload("hermes", "prompt", prompt=sent)))
    assert event is not None and event.prompt == prompt


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "There is no payload."),
        (b" \n", "There is no payload."),
        (b"{", "The payload of 1 bytes is not JSON."),
        (b"\xff\xfe{}", "The payload of 4 bytes is not JSON."),
        (b"[]", "The payload is of type list, not an object."),
        (b"null", "The payload is of type NoneType, not an object."),
        (b"{}", "The prompt of claude-code has no session id."),
        (b'{"session_id": 7}', "The prompt of claude-code has no session id."),
        (b'{"a":' * 100_000, "The payload is nested too deeply."),
        (b'{"session_id": "s", "n": ' + b"9" * 5000 + b"}", "The payload of 5026 bytes is not JSON."),
    ],
)
def test_what_is_no_payload_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InvalidError) as refused:
        read_event("claude-code", "prompt", data)
    assert (refused.value.code, refused.value.message) == ("bad-hook-input", message)


def test_unknown_clients_and_events_are_refused() -> None:
    with pytest.raises(NotFoundError) as unknown:
        read_event("no\ud800body", "prompt", b"{}")
    assert (unknown.value.code, unknown.value.message) == ("unknown-client", "'no?body' is not a client.")
    with pytest.raises(UsageError) as refused:
        read_event("codex", "Stop", b"{}")
    assert (refused.value.code, refused.value.message) == ("unknown-event", "'Stop' is not an event.")


def test_of_a_payload_that_was_cut_off_the_beginning_counts() -> None:
    sent = payload("claude-code", "tool") | {"tool_response": "x" * MOST}
    whole = read_event("claude-code", "tool", as_bytes(payload("claude-code", "tool")))
    del sent["tool_use_id"]
    assert whole is not None
    assert read_event("claude-code", "tool", as_bytes(sent)[:MOST]) == whole._replace(mark=0)
    with pytest.raises(InvalidError):
        read_event("claude-code", "tool", b"x" * MOST)


def test_members_are_read_as_far_as_they_are_whole() -> None:
    assert read_members('{"a": 1, "b": {"c": [2]}, "d": "ha') == {"a": 1, "b": {"c": [2]}}
    assert read_members('{"a": 1, "b": 12') == {"a": 1}
    assert [read_members(text) for text in ("", "[1", "{", '{"a"', '{"a" 1', "{1: 2}", '{"a": tru')] == [{}] * 7
    assert read_members(' { "a" : null , "b" :') == {"a": None}


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5)),
    st.integers(0, 400),
)
def test_the_members_before_a_cut_are_those_of_the_whole(data: dict[str, Any], at: int) -> None:
    text = json.dumps(data)
    found = read_members(text[:at])
    assert found == dict(list(data.items())[: len(found)])


def test_the_last_words_of_the_user_are_read_from_a_transcript(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    rows: list[Any] = [
        {"type": "user", "message": {"role": "user", "content": "the first"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "user"}]}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "a result"}]}},
        {"type": "user", "message": {"role": "user", "content": "<system-reminder>not said by the user"}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "the second"}]}},
        {
            "type": "response_item",
            "payload": {"role": "user", "content": [{"type": "input_text", "text": "the third"}]},
        },
        ["user"],
        {"role": "user", "content": "now"},
    ]
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join(('{"role": "user", cut', *lines)), encoding="utf-8")
    assert recent_turns(str(path), "now") == ("the second", "the third")
    assert recent_turns(str(path), "something else") == ("the third", "now")
    assert recent_turns("", "now") == recent_turns(str(tmp_path), "now") == ()


FIELDS = [
    *("session_id", "sessionId", "conversation_id", "hook_event_name", "cwd", "workspace_roots", "prompt", "extra"),
    *("tool_name", "tool_input", "tool_response", "tool_output", "tool_use_id", "source", "transcript_path"),
    *("cursor_version", "error", "generation_id", "initial_prompt"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from([SESSION, *EVERY_NAME, "SKILL.md"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([*CLIENTS]), st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_whatever_a_client_sends_is_an_event_or_a_clear_refusal(client: str, kind: str, data: dict[str, Any]) -> None:
    try:
        event = read_event(client, kind, as_bytes(data), "/here")
    except InvalidError:
        return
    if event is not None:
        assert event.client in CLIENTS and event.kind in KINDS and event.session
        texts = (event.session, event.project, event.transcript, event.prompt, event.tool, event.source, event.name)
        assert "".join(texts).encode()
        json.loads(format_answer(event, "text") or b"0")
