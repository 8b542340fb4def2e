"""When a session counts as hard, and what counts as a correction by the user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from whet.learning.signals import GLANCE, HARD_TOOLS, Counts, corrects, glance, is_hard

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("counts", "hard"),
    [
        (Counts(), False),
        (Counts(prompts=40), False),
        (Counts(tools=HARD_TOOLS - 1), False),
        (Counts(tools=HARD_TOOLS), True),
        (Counts(tools=1, errors=1), False),
        (Counts(tools=2, errors=1, recoveries=1), True),
        (Counts(prompts=2, corrections=1), True),
    ],
)
def test_a_session_is_hard_when_it_took_work_recovered_or_was_put_right(counts: Counts, hard: bool) -> None:
    assert is_hard(counts) is hard


@pytest.mark.parametrize(
    "message",
    [
        *("no, the other branch", "No. Use pnpm.", "nope, wrong file", "Nein, das andere", "no that is the old one"),
        *("that's wrong", "This is not what I wanted", "it still fails", "that didn't work", "still broken"),
        *("wrong", "you forgot the tests", "You should have asked", "I said main, not master", "I meant the other one"),
        *("undo that", "revert your last change", "try again", "stop using npm", "don't touch the lock file"),
        *("not like that", "das ist falsch", "不对，用另一个", "  No, really"),
    ],
)
def test_a_user_who_puts_it_right_is_heard(message: str) -> None:
    assert corrects(message)


@pytest.mark.parametrize(
    "message",
    [
        *("", "no problem, go on", "No worries, thanks", "now add a test", "note that this is fine", "nothing else"),
        *("add a check that the answer is not wrong", "thanks, that works", "note: no, it is fine", "Norway"),
        *("write a poem that says no, twice", "no idea, you decide", "undo support for the editor", "I want a chart"),
        *("what is still missing", "explain why it did not work", "x" * 100_000),
    ],
)
def test_a_user_who_goes_on_is_not_taken_for_one_who_corrects(message: str) -> None:
    assert not corrects(message)


CLAUDE = b"""{"type":"user","message":{"role":"user","content":"deploy it"}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"make"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":"no rule"}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"2","name":"Bash","input":{"command":"just"}}]}}
"""
CODEX = b"""{"type":"response_item","payload":{"type":"function_call","name":"shell","call_id":"a"}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"{\\"exit_code\\":0}"}}
{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","call_id":"b"}}
"""


@pytest.mark.parametrize(
    ("data", "counts"),
    [
        (CLAUDE, Counts(tools=2, errors=1, recoveries=1)),
        (CODEX, Counts(tools=2)),
        (b"", Counts()),
        (b"\xff\x00 nothing of ours", Counts()),
        (CLAUDE + b" " * GLANCE, Counts()),
    ],
)
def test_a_transcript_is_glanced_at(data: bytes, counts: Counts, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(data)
    assert glance(str(path)) == counts


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), str(tmp_path), str(tmp_path / "gone"), "", "a\0b"):
        assert glance(path) == Counts()
