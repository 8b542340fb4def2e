"""`whet distill` makes the same skill of the same session, whatever client wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from learning.client_sessions import CLIENTS, WORKING, jsonl
from whet.errors import InvalidError
from whet.learning.distill.rounds import begin, session_of

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.distill.draft import Draft

NAME = "build-price-list"
DESCRIPTION = 'Build the price list. Use when the user asks for this, or mentions "price list".'
TOOLS = ("Bash(python3 pricelist.py:*)", "Bash(wc:*)", "Write")


def drafted(directory: Path, name: str) -> Draft:
    file, write = CLIENTS[name]
    directory.mkdir()
    return begin(session_of(write(directory / file))).draft()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_session_of_each_client_becomes_the_same_skill(tmp_path: Path, name: str) -> None:
    made = drafted(tmp_path / "one", name)
    assert (made.name, made.description, made.tools) == (NAME, DESCRIPTION, TOOLS)
    assert WORKING in made.body
    error = "pricelist.py: error: the following arguments are required: --currency"
    assert f"failed: `{error}`. This worked: `{WORKING}`." in made.body
    assert "- The session also loaded these skills; check whether the steps need them: price-rules.\n" in made.body
    assert made == drafted(tmp_path / "other", "claude-code")


NOTHING: dict[str, list[dict[str, Any]]] = {
    "gemini": [{"sessionId": "s", "projectHash": "f"}, {"id": "a", "type": "user", "content": "Hi", "timestamp": "x"}],
    "copilot": [{"type": "user.message", "data": {"content": "Hi"}, "parentId": None}],
    "qwen": [{"sessionId": "s", "uuid": "u", "type": "user", "message": {"parts": [{"text": "Hi"}]}}],
    "codex": [{"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Hi"}}],
    "claude-code": [{"type": "user", "sessionId": "s", "uuid": "u", "message": {"content": "Hi"}}],
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_session_in_which_nothing_was_done_says_so(tmp_path: Path, name: str) -> None:
    transcript = session_of(jsonl(tmp_path / "a.jsonl", NOTHING[name]))
    assert (transcript.client, [event.text for event in transcript.events]) == (name, ["Hi"])
    with pytest.raises(InvalidError) as caught:
        begin(transcript)
    assert (caught.value.code, bool(caught.value.hint)) == ("nothing-to-distill", True)
