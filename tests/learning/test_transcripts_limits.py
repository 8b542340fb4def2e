"""Files at their limits: cut off anywhere, far too long, written by two at once, of a later version, still growing."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from learning import recordings
from learning.episodes import bash, says, session, user
from whet.errors import InvalidError, WhetError
from whet.learning.transcripts import documents
from whet.learning.transcripts.reader import read_transcript
from whet.learning.transcripts.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.learning.transcripts.events import Event, Transcript

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CLIENTS: dict[str, Callable[[Path, Transcript], Path]] = {
    "claude-code": recordings.claude_code,
    "codex": recordings.codex,
    "hermes": recordings.hermes,
    "openai": recordings.openai,
    "anthropic": recordings.anthropic,
    "markdown": recordings.markdown,
}


def brief() -> Transcript:
    return session(user("Count the lines."), bash("wc -l a", "3 a"), says("Three."), project="/srv", name="s")


def told(read: Transcript) -> dict[str, str]:
    return {entry.code: entry.message for entry in read.report}


def said(read: Transcript) -> list[tuple[str, str]]:
    return [(event.kind, event.text or str(event.given.get("command"))) for event in read.events]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_file_that_is_cut_off_anywhere_gives_what_is_whole_before_it(
    tmp_path: Path, client: str, *, quick: bool
) -> None:
    path = CLIENTS[client](tmp_path / "whole", brief())
    data = path.read_bytes()
    whole = read_transcript(str(path)).events
    cut = tmp_path / "cut"
    ends = (*range(1, len(data) - 400, 9), *range(max(1, len(data) - 400), len(data)))
    for end in ends[:: 8 if quick else 1]:
        cut.write_bytes(data[:end])
        try:
            read = read_transcript(str(cut))
        except InvalidError:
            continue
        if client == "markdown":
            assert len(read.events) <= len(whole)
        else:
            assert set(map(bare, read.events)) <= set(map(bare, whole))


def bare(event: Event) -> str:
    """An event without what depends on others: what a message waits for, and the number of a call."""
    return repr((event.text, event.tool, dict(event.given), event.failed))


def test_a_list_of_sessions_and_a_list_of_messages(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    message = {"role": "user", "content": "hello"}
    path.write_text(json.dumps([{"id": "x"}, {"id": "y", "messages": [message]}, {"messages": []}], indent=1))
    read = read_transcript(str(path))
    assert (read.session, said(read)) == ("y", [("user", "hello")])
    path.write_text(json.dumps([message, message], indent=1))
    assert said(read_transcript(str(path))) == [("user", "hello")] * 2


def test_a_document_that_is_too_long_or_cut_off_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    text = json.dumps({"messages": [{"role": "user", "content": "hello"}] * 9}, indent=1)
    path.write_text(text[:-9])
    with pytest.raises(InvalidError, match="its JSON is damaged"):
        read_transcript(str(path))
    monkeypatch.setattr(documents, "DOCUMENT", 100)
    for content, what in ((text, "JSON"), ("# User\n\nhello\n\n# Assistant\n\nhi\n" * 9, "text")):
        path.write_text(content)
        with pytest.raises(InvalidError, match=f"its {what} is longer than 32 MiB") as caught:
            read_transcript(str(path))
        assert caught.value.code == "not-a-transcript"


def test_two_records_in_a_line_and_zeros_at_the_end(tmp_path: Path) -> None:
    rows = [
        {"type": "user", "uuid": f"u{n}", "sessionId": "s", "message": {"role": "user", "content": f"m{n}"}}
        for n in range(4)
    ]
    one, two, three, four = map(json.dumps, rows)
    path = tmp_path / "a.jsonl"
    path.write_bytes(f"{one}{two}\r\n{three} {four[:40]}\n{four}\r\n".encode() + b"\0" * 5_000)
    read = read_transcript(str(path))
    assert [text for _, text in said(read)] == ["m0", "m1", "m2", "m3"]
    assert told(read) == {"transcript-damaged": "Lines left out because they are not JSON: 1."}
    path.write_bytes(b"\0" * 100 + b"\n" + one.encode() + b"\n")
    assert said(read_transcript(str(path))) == [("user", "m0")]


def test_of_recordings_put_together_the_first_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for name in ("first", "second"):
        recorder = Recorder(str(tmp_path / name), session=name, project="/srv")
        recorder.user(f"do the {name}")
        recorder.assistant("done")
    both = [(tmp_path / name).read_text() for name in ("first", "second", "first")]
    path.write_text("".join(both).replace('"whet-transcript": 1', '"whet-transcript": 9', 1))
    read = read_transcript(str(path))
    assert (read.session, said(read)) == ("first", [("user", "do the first"), ("assistant", "done")] * 2)
    assert told(read) == {
        "transcript-left-out": "Records left out because their kind is unknown: 1 (version 9)."
        " Records of other sessions in the file left out: 2.",
    }


def test_exit_codes_of_codex_are_known_in_long_sessions(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": "c"}}]
    for number in range(1_500):
        call = {"type": "function_call", "name": "shell", "arguments": '{"command": "x"}', "call_id": f"c{number}"}
        end = {"type": "exec_command_end", "call_id": f"c{number}", "exit_code": 1}
        output = {"type": "function_call_output", "call_id": f"c{number}", "output": "so be it"}
        rows += [{"type": "response_item", "payload": call}, {"type": "event_msg", "payload": end}]
        rows.append({"type": "response_item", "payload": output})
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert {event.failed for event in read_transcript(str(path)).events if event.kind == "result"} == {True}


def test_what_a_file_makes_up_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.write('{"type": "session_meta", "payload": {"id": "c"}}\n')
        for number in range(1_500):
            content = [{"type": "input_text", "text": f"message {number}"}]
            file.write(json.dumps({"type": f"kind-{number}" + "x" * 2_000, "payload": {}}) + "\n")
            message = {"type": "message", "role": "user", "content": content}
            file.write(json.dumps({"type": "response_item", "payload": message}) + "\n")
    read = read_transcript(str(path))
    assert [text for _, text in said(read)] == [f"message {number}" for number in range(1_500)]
    (entry,) = read.report
    assert (entry.code, len(entry.message) < 2_000) == ("transcript-left-out", True)


def test_compressed_files_pipes_and_unreadable_files_are_refused(tmp_path: Path) -> None:
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"role": "user", "content": "x"}\n'))
    with pytest.raises(InvalidError, match="it is compressed; unpack it first"):
        read_transcript(str(packed))
    if os.name != "posix":
        return
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidError, match="it is not a regular file"):
        read_transcript(str(tmp_path / "pipe"))
    hidden = tmp_path / "hidden.jsonl"
    hidden.write_text('{"role": "user", "content": "x"}\n')
    hidden.chmod(0)
    if not os.access(hidden, os.R_OK):
        with pytest.raises(WhetError) as caught:
            read_transcript(str(hidden))
        assert caught.value.code == "permission-denied"


def test_a_file_that_grows_while_it_is_read_gives_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    def row(number: int) -> str:
        message = {"role": "user", "content": f"m{number}"}
        return json.dumps({"type": "user", "uuid": f"u{number}", "sessionId": "s", "message": message}) + "\n"

    def grow() -> None:
        with path.open("a", encoding="utf-8") as file:
            for number in range(50, 800):
                file.write(row(number))
                file.flush()

    path.write_text("".join(map(row, range(50))))
    writer = threading.Thread(target=grow)
    writer.start()
    reads = [read_transcript(str(path)) for _ in range(5)]
    writer.join()
    for read in (*reads, read_transcript(str(path))):
        texts = [text for _, text in said(read)]
        assert texts == [f"m{number}" for number in range(len(texts))]
        assert len(texts) >= 50
        assert set(told(read)) <= {"transcript-damaged"}


GROWTH = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
import transcripts
from whet.learning.transcripts import events
from whet.learning.transcripts import documents
from whet.learning.transcripts.reader import read_transcript
events.EVENTS, events.CHARACTERS = 200, 400_000
unit = 1 if sys.platform == "darwin" else 1024
grown = {}
for client in sys.argv[3:]:
    for size in (500_000, 4_000_000):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        transcripts.write(sys.argv[2], client, size)
        assert len(read_transcript(sys.argv[2]).events) <= 200
    grown[client] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before
print(json.dumps(grown))
"""


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell how much memory was used")
def test_memory_does_not_grow_with_the_session_of_any_client(tmp_path: Path) -> None:
    clients = ("claude-code", "codex", "openai")
    command = [sys.executable, "-c", GROWTH, str(BENCHMARKS), str(tmp_path / "session"), *clients]
    grown = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert list(grown) == list(clients)
    assert {client: size for client, size in grown.items() if size > 5_000_000} == {}
