"""A recorder keeps what an agent loop does, and what it wrote is read back as it was."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whet.errors import FailedError
from whet.learning.transcripts.events import Event
from whet.learning.transcripts.reader import read_transcript
from whet.learning.transcripts.recorder import Recorder

if TYPE_CHECKING:
    from pathlib import Path


def recorder(path: str = "") -> Recorder:
    ticks = count(1)
    return Recorder(path, client="kitchen", session="7", project="/srv/menu", clock=lambda: next(ticks))


def loop(into: Recorder) -> None:
    into.note("# Menus", about="skill:menus")
    into.user("<environment_context>x</environment_context>\nPlan the week, my password is hunter2pass")
    call = into.call("exec_command", {"cmd": ["bash", "-lc", "menu plan --key hunter2pass"], "api_key": "a1b2c3d4e5"})
    into.result("Exit code: 1\nOutput:\nno menu", call)
    into.result('{"output": "planned", "exit_code": 0}', into.call("terminal", {"command": "menu init"}))
    into.assistant("Planned.")


EVENTS = (
    Event("note", "# Menus", 1, about="skill:menus"),
    Event("note", "<environment_context>x</environment_context>", 2, about="context"),
    Event("user", "Plan the week, my password is [secret:password]", 2),
    Event("call", "", 3, "Bash", "call-1", {"command": "menu plan --key [secret:password]", "api_key": "[secret:key]"}),
    Event("result", "no menu", 4, "Bash", "call-1", failed=True, code=1),
    Event("call", "", 5, "Bash", "call-2", {"command": "menu init"}),
    Event("result", "planned", 6, "Bash", "call-2", code=0),
    Event("assistant", "Planned.", 7),
)


def test_a_loop_is_recorded_without_its_secrets() -> None:
    made = recorder()
    loop(made)
    assert made.transcript()[:4] == ("kitchen", "7", "/srv/menu", EVENTS)
    assert [entry.code for entry in made.transcript().report] == ["transcript-secrets-hidden"]


def test_with_a_path_every_event_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    made = recorder(str(path))
    assert json.loads(path.read_text()) == {
        "whet-transcript": 1,
        "client": "kitchen",
        "session": "7",
        "project": "/srv/menu",
    }
    made.user("first")
    assert read_transcript(str(path)).events == (Event("user", "first", 1),)
    made.user("   ")
    loop(made)
    text = path.read_text(encoding="utf-8")
    assert read_transcript(str(path)) == made.transcript()._replace(report=())
    assert "hunter2pass" not in text and "a1b2c3d4e5" not in text


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(FailedError):
        Recorder(str(tmp_path / "no" / "such" / "x.jsonl"))


def test_an_id_of_ones_own_ties_results_that_come_out_of_order() -> None:
    made = recorder()
    first, second = made.call("fetch", {"uri": "https://a.example"}, id="a"), made.call("Read", {"file": "b"}, id="b")
    made.result("two", second)
    made.result("one", first, failed=True)
    assert made.transcript().events == (
        Event("call", "", 1, "Web", "a", {"url": "https://a.example"}),
        Event("call", "", 2, "Read", "b", {"path": "b"}),
        Event("result", "two", 3, "Read", "b"),
        Event("result", "one", 4, "Web", "a", failed=True),
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
TEXT = st.text(max_size=80) | st.sampled_from(["Error: x", '{"exit_code": 2, "output": "y"}', "TOKEN=abcd1234efgh\n"])


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "call", "result", "note"]), TEXT, VALUES), max_size=6))
def test_any_recording_is_read_back_as_it_was(tmp_path: Path, steps: list[tuple[str, str, Any]]) -> None:
    made = recorder(str(tmp_path / "live.jsonl"))
    made.user("Begin.")
    for kind, text, value in steps:
        if kind == "call":
            made.call(text, {"value": value, "path": text})
        else:
            getattr(made, kind)(text)
    assert read_transcript(str(tmp_path / "live.jsonl")).events == made.transcript().events
