"""The session of every client is read as what happened in it, and no file of an unknown shape as an empty one."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learning import client_sessions as made
from learning.client_sessions import ASKED, CLIENTS, DONE, SKILL, STEPS, TRIED
from whet.errors import InvalidError
from whet.learning.tables import load_table
from whet.learning.transcripts.reader import KNOWN, read_transcript
from whet.learning.transcripts.walker import FORMATS

Seen = tuple[str, str, str, dict[str, Any], bool, int | None]


def written(name: str, directory: Path) -> str:
    file, write = CLIENTS[name]
    if "database" in name:
        (directory / file).unlink(missing_ok=True)
    return write(directory / file)


def read_or_refused(path: Path) -> list[Seen]:
    """The events, or none where the file is refused with a reason and a hint."""
    try:
        return seen(str(path))
    except InvalidError as error:
        if error.code in ("not-a-transcript", "empty-transcript") and error.hint:
            return []
        raise


def seen(path: str, **more: Any) -> list[Seen]:
    """Every event but the client's own notes: kind, tool, text, arguments, failure and exit code."""
    events = read_transcript(path, **more).events
    told = [event for event in events if event.kind != "note" or event.about.startswith("skill:")]
    return [(one.kind, one.tool or one.about, one.text, dict(one.given), one.failed, one.code) for one in told]


def expected(name: str) -> list[Seen]:
    """The script of the session, with what a client does in another way."""
    client = name.partition(",")[0]
    found: list[Seen] = [("user", "", ASKED, {}, False, None), ("assistant", "", TRIED, {}, False, None)]
    for step in STEPS:
        tool, arguments, text, code = step.tool, step.given, step.text, step.code
        note: Seen | None = None
        if client == "codex" and tool == "Skill":
            tool, arguments, code = "Bash", {"command": "cat .codex/skills/price-rules/SKILL.md"}, 0
        elif client == "codex" and tool == "make_tea":
            text = "unsupported call: make_tea"
        elif client in ("copilot", "claude-code") and tool == "Skill":
            text = "Skill loaded." if client == "copilot" else "Launching skill: price-rules"
            base = (
                "" if client == "copilot" else "Base directory for this skill: /home/kim/.claude/skills/price-rules\n\n"
            )
            note = ("note", "skill:price-rules", (base + SKILL).strip(), {}, False, None)
        elif client == "claude-code" and code is not None:
            text, code = (f"Exit code {code}\n{text}", code) if code else (text, None)
        elif client == "gemini" and code == 0:
            code = None
        elif client == "opencode" and tool == "make_tea":
            arguments = {"tool": "make_tea", "error": "unavailable", **arguments}
        found += [("call", tool, "", arguments, False, None), ("result", tool, text, {}, step.failed, code)]
        found += [note] if note else []
    return [*found, ("assistant", "", DONE, {}, False, None)]


@pytest.mark.parametrize("name", CLIENTS)
def test_every_call_result_and_failure_is_as_it_was(tmp_path: Path, name: str) -> None:
    path = written(name, tmp_path)
    calls = [event for event in seen(path) if event[0] == "call"]
    assert sorted(seen(path), key=str) == sorted(expected(name), key=str)
    assert [call[1] for call in calls] == [event[1] for event in expected(name) if event[0] == "call"]


@pytest.mark.parametrize("name", CLIENTS)
def test_client_session_project_model_and_usage_are_told(tmp_path: Path, name: str) -> None:
    found = read_transcript(written(name, tmp_path))
    client = name.partition(",")[0]
    session = "ses_1" if client == "opencode" else "s1"
    told = [("transcript-left-out", 1)] if "database" in name else []
    assert (found.client, found.session, found.project) == (client, session, made.PROJECT)
    assert [(note.code, 1) for note in found.report] == told
    assert all(event.time for event in found.events)


def test_a_session_of_a_database_is_named(tmp_path: Path) -> None:
    path = written("opencode, database", tmp_path)
    assert seen(path, session="ses_1") == seen(path)
    with pytest.raises(InvalidError, match="Nothing is said or done") as caught:
        read_transcript(path, session="ses_9")
    assert caught.value.code == "empty-transcript"


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE session (id text)")
    with pytest.raises(InvalidError, match="it is a database, and not OpenCode's") as caught:
        read_transcript(str(path))
    assert caught.value.code == "not-a-transcript"


def test_gemini_takes_messages_back(tmp_path: Path) -> None:
    first, *messages = made.gemini_messages()
    head = {"sessionId": "s1", "projectHash": "f18f", "kind": "main"}
    wrong = {"id": "w", "timestamp": made.at(1), "type": "user", "content": [{"text": "Delete everything."}]}
    stopped = {"id": "i", "timestamp": made.at(2), "type": "info", "content": "Request cancelled."}
    path = made.jsonl(tmp_path / "a.jsonl", [head, first, wrong, {"$rewindTo": "w"}, *messages, stopped])
    found = read_transcript(path)
    assert seen(path) == expected("gemini")
    assert found.report == ()
    assert (found.events[-1].about, found.events[-1].text) == ("interrupted", "Request cancelled.")


def test_gemini_writes_everything_again_after_a_resume(tmp_path: Path) -> None:
    """The calls stand in the content, too, and each has the results of all."""
    first, asked, *messages = made.gemini_messages()
    results = [part for message in messages if message["id"].startswith("r") for part in message["content"]]
    again = [first, asked]
    for message in messages:
        calls = message.get("toolCalls", [])
        parts = [{"text": message["content"]}] if message["type"] == "gemini" and message["content"] else []
        parts += [{"functionCall": {key: call[key] for key in ("id", "name", "args")}} for call in calls]
        more = {"content": parts, "toolCalls": [{**call, "result": results} for call in calls]}
        again.append({**message, **(more if message["type"] == "gemini" else {})})
    head = {"sessionId": "s1", "projectHash": "f18f"}
    stopped = {"functionCall": {"id": "x", "name": "run_shell_command", "args": {"command": "sleep 9"}}}
    last = {"id": "z", "timestamp": made.at(30), "type": "gemini", "content": [stopped]}
    path = made.jsonl(tmp_path / "a.jsonl", [head, first, asked, *messages, {"$set": {"messages": again}}, last])
    assert seen(path) == [*expected("gemini"), ("call", "Bash", "", {"command": "sleep 9"}, False, None)]
    assert read_transcript(path).report == ()


CLINE = (
    {"role": "user", "content": [{"type": "text", "text": f"<task>\n{ASKED}\n</task>"}]},
    {"role": "user", "content": [{"type": "text", "text": "<environment_details>\n# Files\n</environment_details>"}]},
)


def test_messages_of_cline(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "c", "name": "execute_command", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "no rule", "is_error": True}
    messages = [
        *CLINE,
        {"role": "assistant", "content": [{"type": "text", "text": TRIED}, use], "modelInfo": {"modelId": "kimi"}},
        {"role": "user", "content": [result]},
        {"role": "user", "content": [{"type": "text", "text": "<feedback>\nUse tabs.\n</feedback>"}]},
    ]
    path = tmp_path / "api_conversation_history.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    assert seen(str(path)) == [
        ("user", "", ASKED, {}, False, None),
        ("assistant", "", TRIED, {}, False, None),
        ("call", "Bash", "", {"command": "make"}, False, None),
        ("result", "Bash", "no rule", {}, True, None),
        ("user", "", "Use tabs.", {}, False, None),
    ]


def test_what_a_hook_adds_to_a_message_is_no_word_of_the_user(tmp_path: Path) -> None:
    offer = "<hook_context>These skills may fit: price-rules.</hook_context>"
    message = {"id": "m", "timestamp": made.at(1), "type": "user", "content": [{"text": ASKED}, {"text": offer}]}
    head = {"sessionId": "s1", "projectHash": "f18f"}
    for extra in ({}, {"displayContent": [{"text": ASKED}]}):
        events = read_transcript(made.jsonl(tmp_path / "a.jsonl", [head, {**message, **extra}])).events
        assert [(event.kind, event.text, event.about) for event in events] == [
            ("user", ASKED, ""),
            ("note", offer, "context"),
        ]


def test_opencode_stops_where_the_user_went_back(tmp_path: Path) -> None:
    info, messages = made.opencode_session()
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"info": {**info, "revert": {"messageID": "msg_02"}}, "messages": messages}))
    found = read_transcript(str(path))
    assert seen(str(path)) == expected("opencode")[:4]
    assert found.report == ()


def test_turns_that_were_stopped_and_summaries_are_notes(tmp_path: Path) -> None:
    copilot = [
        {"type": "user.message", "data": {"content": ASKED}, "parentId": None},
        {"type": "session.compaction_complete", "data": {"summaryContent": "A list."}, "parentId": "e"},
        {"type": "abort", "data": {"reason": "user initiated"}, "parentId": "e"},
        {"type": "user.message", "data": {"content": SKILL, "source": "skill-price-rules"}, "parentId": "e"},
        {"type": "user.message", "data": {"content": "Go on.", "source": "autopilot"}, "parentId": "e"},
    ]
    events = read_transcript(made.jsonl(tmp_path / "a.jsonl", copilot)).events
    assert [(event.kind, event.about, event.text) for event in events] == [
        ("user", "", ASKED),
        ("note", "summary", "A list."),
        ("note", "interrupted", "[turn aborted: user initiated]"),
        ("note", "skill:price-rules", SKILL.strip()),
        ("note", "system", "Go on."),
    ]
    info, messages = made.opencode_session()
    aborted = {"name": "MessageAbortedError", "data": {"message": "stopped"}}
    summary = {"role": "assistant", "summary": True, "id": "msg_11"}
    more = [
        {"info": {"role": "assistant", "error": aborted, "id": "msg_10"}, "parts": []},
        {"info": summary, "parts": [{"type": "text", "text": "A list."}]},
        {"info": {"role": "user", "id": "msg_12"}, "parts": [{"type": "text", "text": "x", "synthetic": True}]},
    ]
    path = tmp_path / "b.json"
    path.write_text(json.dumps({"info": info, "messages": messages[:1] + more}))
    events = read_transcript(str(path)).events
    assert [(event.kind, event.about, event.text) for event in events] == [
        ("user", "", ASKED),
        ("note", "interrupted", "[turn aborted: stopped]"),
        ("note", "summary", "A list."),
        ("note", "context", "x"),
    ]


KEYS = {
    "rule": """when more once session latest project form client count note about told loaded user shown typed sent
        assistant call result end own each""",
    "call": "name id given mcp",
    "result": "text id name code time mcp without form failed worked",
    "end": "id code failed",
}


def test_the_table_of_formats_has_only_what_the_walker_knows() -> None:
    for name, table in load_table(FORMATS).items():
        assert set(table) - {"is", "time", "unknown", "rules"} <= set(re.findall(r"@(\w+)", str(table))), name
        for rule in table.get("rules", []):
            assert set(rule) <= set(KEYS["rule"].split()), name
            assert set(rule.get("each", {}).values()) <= set(load_table(FORMATS)), name
            for part in {"call", "result", "end"} & set(rule):
                assert set(rule[part]) <= set(KEYS[part].split()), (name, part)
                row = rule[part]
                for pattern in (*row.get("mcp", {}).values(), *row.get("without", []), row.get("form", "")):
                    re.compile(pattern)


UNKNOWN: dict[str, list[dict[str, Any]]] = {
    "gemini": [{"sessionId": "s", "projectHash": "f"}, {"id": "a", "type": "hologram", "timestamp": "x"}],
    "copilot": [{"type": "future.event", "data": {}, "parentId": None}] * 3,
    "qwen": [{"sessionId": "s", "uuid": "u", "type": "dream", "systemPayload": {}}],
    "codex": [{"type": "session_meta", "payload": {}}, {"type": "dream", "payload": {}}],
    "claude-code": [{"type": "mode", "sessionId": "s"}, {"type": "dream", "sessionId": "s"}],
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_file_of_which_nothing_is_understood_is_refused_and_says_how_much_that_was(tmp_path: Path, name: str) -> None:
    path = made.jsonl(tmp_path / "a.jsonl", UNKNOWN[name])
    count = sum("dream" in str(one) or "future" in str(one) or "hologram" in str(one) for one in UNKNOWN[name])
    with pytest.raises(InvalidError) as caught:
        read_transcript(path)
    kind = {"gemini": "hologram", "copilot": "future.event"}.get(name, "dream")
    assert (caught.value.code, caught.value.message, caught.value.hint) == (
        "empty-transcript",
        f"Nothing is said or done in {path}. Records left out because their kind is unknown: {count} ({kind}).",
        f"Known clients: {KNOWN}.",
    )


@pytest.mark.parametrize("name", [name for name in CLIENTS if "database" not in name])
def test_a_file_that_is_cut_off_anywhere_is_read_or_refused(tmp_path: Path, name: str, *, quick: bool) -> None:
    data = Path(written(name, tmp_path)).read_bytes()
    whole = {event[:3] for event in seen(written(name, tmp_path))}
    path = tmp_path / "cut"
    ends = [number + 1 for number, byte in enumerate(data) if byte == 10]
    for end in sorted({*ends, *(one - 7 for one in ends), *range(1, len(data), 997)})[:: 40 if quick else 1]:
        path.write_bytes(data[:end])
        assert {event[:3] for event in read_or_refused(path)} <= whole


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["claude-code", "codex", "gemini", "qwen", "copilot"]), st.data())
def test_records_that_grow_unknown_keys_are_read_as_before(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = written(name, tmp_path)
    records = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
    for record in data.draw(st.lists(st.sampled_from(records), max_size=4)):
        places = [value for value in (record, *record.values()) if isinstance(value, dict)]
        data.draw(st.sampled_from(places))["x-new"] = data.draw(JUNK)
    other = made.jsonl(tmp_path / "grown.jsonl", records)
    assert seen(other) == seen(path)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["codex", "gemini", "qwen", "copilot", "opencode"]), st.data())
def test_records_with_any_values_never_raise_anything_else(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = written(name, tmp_path)
    text = Path(path).read_text("utf-8")
    records = json.loads(text)["messages"] if name == "opencode" else [json.loads(line) for line in text.splitlines()]
    for _ in range(data.draw(st.integers(1, 4))):
        place: Any = data.draw(st.sampled_from(records))
        while isinstance(place, dict) and place:
            key = data.draw(st.sampled_from(sorted(place)))
            if not isinstance(place[key], dict) or data.draw(st.booleans()):
                place[key] = data.draw(JUNK)
                break
            place = place[key]
    other = tmp_path / "other"
    value = {"info": {"id": "ses_1"}, "messages": records}
    other.write_text(json.dumps(value) if name == "opencode" else "\n".join(map(json.dumps, records)))
    read_or_refused(other)


@pytest.mark.parametrize("name", ["gemini", "qwen", "copilot", "codex"])
def test_huge_lines_and_bytes_that_are_no_text_are_left_out_and_told(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whet.learning.transcripts.documents.LINE", 20_000)
    path = written(name, tmp_path)
    data = Path(path).read_bytes() + b'{"type": "x", "blob": "' + b"y" * 30_000 + b'"}\n' + b'{"type": "\xff\xfe"\n'
    (tmp_path / "long").write_bytes(data)
    found = read_transcript(str(tmp_path / "long"))
    assert seen(str(tmp_path / "long")) == seen(path)
    (note,) = found.report
    assert note.message == (
        "Lines left out because they are not JSON: 1. Lines left out because they are longer than 4 MiB: 1."
        " Lines that are not UTF-8 and were read as Windows-1252: 1."
    )
