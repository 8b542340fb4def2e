"""Whatever has happened to a file: what can be read is read, the rest is told, and nothing else is ever raised."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whet.errors import InvalidError, NotFoundError
from whet.learning.transcripts import events as bounds
from whet.learning.transcripts.events import Event, Transcript
from whet.learning.transcripts.reader import KNOWN, from_messages, read_transcript

if TYPE_CHECKING:
    from pathlib import Path


def record(number: int, text: str, *, session: str = "s", parent: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "user", "uuid": f"{session}{number}", "parentUuid": None if parent is None else f"{session}{parent}",
        "sessionId": session, "isSidechain": False, "message": {"role": "user", "content": text}, **more,
    }  # fmt: skip


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in records)


def read(path: Path, data: bytes) -> Transcript:
    path.write_bytes(data)
    return read_transcript(str(path))


def texts(read: Transcript) -> list[str]:
    return [event.text for event in read.events]


def told(read: Transcript) -> list[tuple[str, str]]:
    return [(entry.code, entry.message) for entry in read.report]


def test_damaged_lines_and_a_cut_off_end_are_left_out_and_told(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + lines(record(0, "first")) + b'garbage {\n\n   \n[1, 2]\n"text"\n' + b"[" * 100_000 + b"\n"
    data += lines(record(1, "second"))[:-1] + b"\n" + json.dumps(record(2, "third")).encode()[:-9]
    found = read(tmp_path / "a.jsonl", data)
    assert texts(found) == ["first", "second"]
    assert told(found) == [
        (
            "transcript-damaged",
            "Lines left out because they are not JSON: 4. The end is truncated; the last record was left out.",
        ),
    ]
    assert {entry.path for entry in found.report} == {str(tmp_path / "a.jsonl")}


def test_a_session_that_begins_with_damage(tmp_path: Path) -> None:
    assert texts(read(tmp_path / "a.jsonl", b'{"type": "user", "mess\n' + lines(record(0, "hello")))) == ["hello"]
    assert texts(read(tmp_path / "b.jsonl", b"\x01\x02 rubbish\n" + lines(record(0, "hello")))) == ["hello"]


def test_unknown_kinds_and_versions_are_named(tmp_path: Path) -> None:
    unknown = [{"type": f"kind-{number}", "sessionId": "s"} for number in range(10)]
    found = read(tmp_path / "a.jsonl", lines(record(0, "hello", version="99.0"), *unknown, {"no": "type"}))
    assert texts(found) == ["hello"]
    assert told(found) == [
        (
            "transcript-left-out",
            f"Records left out because their kind is unknown: 11 ({', '.join(f'kind-{n}' for n in range(8))}, ...).",
        )
    ]


def test_records_of_subagents_are_left_out_unless_the_file_is_their_own(tmp_path: Path) -> None:
    side = [record(number, f"side {number}", isSidechain=True, agentId="a") for number in (1, 2)]
    found = read(tmp_path / "a.jsonl", lines(record(0, "main"), *side))
    assert (texts(found), told(found)) == (
        ["main"],
        [("transcript-left-out", "Records of subagents left out: 2.")],
    )
    alone = read(tmp_path / "agent-a.jsonl", lines(*side))
    assert (texts(alone), told(alone)) == (["side 1", "side 2"], [])


def test_a_resumed_session_is_one_with_what_it_continues(tmp_path: Path) -> None:
    before = [record(n, f"before {n}", session="old", parent=n - 1 if n else None) for n in range(2)]
    after = {**record(0, "after", session="new"), "parentUuid": "old1"}
    found = read(tmp_path / "new.jsonl", lines(*before, before[0], after, after))
    assert (found.session, texts(found)) == ("new", ["before 0", "before 1", "after"])
    assert told(found) == []


def test_calls_and_results_that_come_twice_are_kept_once() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    found = from_messages([call, output, call, output])
    assert [event.kind for event in found.events] == ["call", "result"]
    assert told(found) == []


def test_other_encodings(tmp_path: Path) -> None:
    hello = json.dumps(record(0, "grüße"), ensure_ascii=False)
    wide = read(tmp_path / "a.jsonl", hello.encode("utf-16") + "\n".encode("utf-16-le"))
    assert (texts(wide), told(wide)) == (["grüße"], [])
    old = read(tmp_path / "b.jsonl", hello.encode("cp1252") + b"\n")
    assert (texts(old), told(old)) == (
        ["grüße"],
        [("transcript-damaged", "Lines that are not UTF-8 and were read as Windows-1252: 1.")],
    )
    page = "# User\ngrüße\n# Assistant\nhallo\n"
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        assert texts(read(tmp_path / "c.md", page.encode(encoding))) == ["grüße", "hallo"]
    assert texts(read(tmp_path / "d.json", json.dumps([{"role": "user", "content": "ü"}]).encode("utf-16"))) == ["ü"]
    lone = read(tmp_path / "e.jsonl", b'{"role": "user", "content": "a\\ud800\\u0000b\\u001b[31mc\\r\\nd"}\n')
    assert texts(lone) == ["a\ufffd\ufffdbc\nd"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b" \n\t\n", "it is empty"),
        (b"SQLite format 3\0", "the database cannot be read (file is not a database)"),
        (b"\x7fELF\0\0\0", "it is a binary file"),
        (b"# A page\n\nUser interface\n", "it has no speakers"),
        (b"# User\nis somebody there?\n", "it has no speakers"),
        (b'{"name": "x", "version": 1}\n', "its JSON has no messages"),
        (b"[1, 2, 3]", "its JSON has no messages"),
        (b'{"messages": [', "its JSON is damaged or has an unknown form"),
        (b"[" * 100_000, "its JSON is damaged or has an unknown form"),
        (b'{"messages": []}', ""),
    ],
)
def test_what_is_no_transcript_is_said_with_the_formats_that_are(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(InvalidError) as caught:
        read_transcript(str(path))
    empty = {
        "code": "empty-transcript",
        "error": f"Nothing is said or done in {path}.",
        "hint": "Choose a session that has messages.",
    }
    refused = {
        "code": "not-a-transcript",
        "error": f"{path} is not a transcript: {why}.",
        "hint": f"Known clients: {KNOWN}.",
    }
    assert caught.value.to_json() == {"success": False, **(refused if why else empty), "path": str(path)}


def test_directories_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="it is a directory"):
        read_transcript(str(tmp_path))
    with pytest.raises(InvalidError, match="a file cannot have that name"):
        read_transcript("a\0b")
    with pytest.raises(NotFoundError, match="There is no file") as caught:
        read_transcript(str(tmp_path / "no"))
    assert caught.value.code == "transcript-missing"


def test_a_line_that_is_too_long_is_never_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whet.learning.transcripts.documents.LINE", 1_000)
    data = lines(record(0, "first"), record(1, "x" * 5_000), record(2, "last"))
    for content in (data, data.decode().encode("utf-16")):
        found = read(tmp_path / "a.jsonl", content)
        assert texts(found) == ["first", "last"]
        assert told(found) == [("transcript-damaged", "Lines left out because they are longer than 4 MiB: 1.")]


def test_long_texts_keep_their_beginning_and_their_end() -> None:
    for length in (16_100, 60_000, 3_000_000):
        text = "a" + " middle" * (length // 7) + " z"
        found = from_messages([{"role": "user", "content": text}])
        kept = found.events[0].text
        assert (len(kept) <= bounds.TEXT, kept[:3], kept[-2:]) == (True, "a m", " z")
        gap = int(kept.partition("\n[")[2].partition(" characters left out]\n")[0].replace(",", ""))
        assert len(kept) - len(f"\n[{gap:,} characters left out]\n") + gap == len(text)
        assert told(found) == [("transcript-cut", "Texts cut in their middle to 16,000 characters: 1.")]


def test_of_too_many_events_the_first_and_the_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "EVENTS", 10)
    messages = [{"role": "user", "content": f"message {number}"} for number in range(100)]
    found = from_messages(messages)
    assert texts(found) == [f"message {number}" for number in (*range(5), *range(95, 100))]
    assert told(found) == [("transcript-cut", "The session is too long; events left out of its middle: 90.")]
    monkeypatch.setattr(bounds, "CHARACTERS", 40)
    assert texts(from_messages(messages)) == ["message 0", "message 1", "message 98", "message 99"]


def test_arguments_are_bounded_in_depth_width_and_length() -> None:
    deep: Any = "end"
    for _ in range(50):
        deep = {"in": deep}
    given = {"deep": deep, "wide": list(range(5_000)), "long": "x " * 40_000}
    kept = (
        from_messages([{"role": "assistant", "tool_calls": [{"name": "T", "args": given, "id": "1"}]}]).events[0].given
    )
    assert kept["deep"] == {"in": {"in": {"in": {"in": {"in": "[...]"}}}}}
    assert kept["wide"] == list(range(100))
    assert len(kept["long"]) <= bounds.TEXT


READ = """
import json, resource, sys
from whet.learning.transcripts.reader import read_transcript
read_transcript(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read = read_transcript(sys.argv[2])
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([grown, len(read.events), [entry.code for entry in read.report]]))
"""


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell how much memory was used")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    small.write_bytes(lines(record(0, "hello")))
    with open(large, "wb") as file:
        for number in range(600):
            call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"step {number}"}}
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"{number} output " * 6_000}
            file.write(lines(record(2 * number, "", type="assistant", message={"content": [call]})))
            file.write(lines(record(2 * number + 1, "", message={"content": [result]})))
        file.write(b'{"type": "user", "message": {"content": "')
        file.writelines(b"x" * 1_000_000 for _ in range(25))
        file.write(b'"}}\n')
    run = subprocess.run([sys.executable, "-c", READ, small, large], capture_output=True, text=True, check=True)
    grown, events, codes = json.loads(run.stdout)
    assert large.stat().st_size > 60_000_000
    assert (events, codes) == (1_200, ["transcript-damaged", "transcript-cut"])
    assert grown < 45_000_000, "10 MB of text are kept, one line of 4 MiB is held at a time, and nothing else"


# Nothing is ever raised

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "type role content message messages text payload sessionId uuid id call_id name arguments input output tool_calls"
    " function tool_uses tool action command timestamp isMeta attachment summary kind time given subtype status item"
    " conversations from value sessions instruction error exit_code metadata success toolUseResult origin"
)
KINDS = (
    "user assistant system tool tool_use tool_result thinking text message function_call function_call_output Task Bash"
    " response_item event_msg session_meta item.completed user_message exec_command_end local_shell_call reasoning call"
    " result note human gpt attachment queued_command mcp_call custom_tool_call apply_patch Skill web_search_call"
)
KEYS, WORDS = st.sampled_from(FIELDS.split()), st.sampled_from(KINDS.split())
RECORDS = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


def sound(read: Transcript) -> None:
    assert len(read.events) <= bounds.EVENTS
    for event in read.events:
        assert isinstance(event, Event)
        assert event.kind in {"user", "assistant", "call", "result", "note"}
        assert len(event.text) <= bounds.TEXT and event.time >= 0
        assert {type(part) for part in (event.text, event.tool, event.id, event.about)} == {str}
        json.dumps(dict(event.given)).encode()
        event.text.encode()


def sound_or_refused(path: Path) -> None:
    try:
        read = read_transcript(str(path))
    except InvalidError as error:
        if error.code not in ("not-a-transcript", "empty-transcript"):
            raise
    else:
        sound(read)


@settings(max_examples=90, deadline=None)
@given(st.lists(st.dictionaries(KEYS, RECORDS | JSON, max_size=7), max_size=5))
def test_any_messages_give_a_sound_transcript(messages: list[dict[str, Any]]) -> None:
    sound(from_messages(messages))


@settings(max_examples=90, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(
        [
            {"type": "user", "sessionId": "s"}, {"type": "session_meta", "payload": {}}, {"whet-transcript": 1},
            {"role": "user", "content": "x"}, {"messages": [], "source": "", "started_at": 1},
        ]
    ),
    st.lists(st.dictionaries(KEYS, RECORDS | JSON, max_size=8), max_size=5),
    st.binary(max_size=20),
    st.booleans(),
)  # fmt: skip
def test_any_records_behind_any_beginning_give_a_sound_transcript(
    tmp_path: Path, start: dict[str, Any], more: list[dict[str, Any]], rubbish: bytes, inside: bool
) -> None:
    first = {**start, **(more[0] if inside and more else {})}
    path = tmp_path / "any.jsonl"
    path.write_bytes(lines(first, *more) + rubbish)
    sound_or_refused(path)


@settings(max_examples=90, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300) | st.text(alphabet='# *User:AssistantTool⏺>`\n ~[{]}"', max_size=200).map(str.encode))
def test_any_bytes_are_a_transcript_or_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(data)
    sound_or_refused(path)
