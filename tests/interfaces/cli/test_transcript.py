"""`whet learn transcript` at the command line."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

TOKEN = "ghp_" + "q7Zk2LmP9sXw4RtB8vNc" + "1HdYf6JgT3uEaKo5"
SESSION = f"""## User

Push the tag v2.4 to origin; the token is {TOKEN}.

## Tool call: Bash

git push origin v2.4

## Result

To example.com:shop.git

## Assistant

Pushed.
"""


@pytest.fixture
def session(tmp_path: Path) -> str:
    path = tmp_path / "session.md"
    path.write_text(SESSION)
    return str(path)


def test_every_event_is_a_line_and_secrets_are_hidden(whet: Callable[..., CompletedProcess[str]], session: str) -> None:
    told = whet("learn", "transcript", session)
    assert told.returncode == 0
    assert told.stdout == (
        "user\t\tPush the tag v2.4 to origin; the token is [secret:github-token].\n"
        "call\tBash\tgit push origin v2.4\n"
        "result\tBash\tTo example.com:shop.git\n"
        "assistant\t\tPushed.\n"
    )
    assert told.stderr.splitlines()[0] == "markdown session: 4 events, 1 call to tools, 0 failed."
    assert "[transcript-secrets-hidden]" in told.stderr


def test_evidence_is_what_a_skill_would_be_made_of(whet: Callable[..., CompletedProcess[str]], session: str) -> None:
    answer = json.loads(whet("learn", "transcript", session, "--evidence", "--json").stdout)
    assert [(step["tool"], step["action"].partition(" ")[0]) for step in answer["evidence"]["steps"]] == [
        ("Bash", "git")
    ]
    told = whet("learn", "transcript", session, "--evidence")
    assert "tool\tBash git push\t1 x\n" in told.stdout
    assert TOKEN not in told.stdout + json.dumps(answer)


def test_standard_input_is_read_like_a_file(
    whet: Callable[..., CompletedProcess[str]], session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def piped(text: str) -> CompletedProcess[str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return whet("learn", "transcript", "-")

    read, nothing = piped(SESSION), piped("nothing")
    assert (read.returncode, read.stdout) == (0, whet("learn", "transcript", session).stdout)
    assert nothing.stderr.splitlines()[0] == ("error: Standard input is not a transcript: it has no speakers.")


def test_the_arguments_of_a_tool_that_is_not_known_are_shown(
    whet: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    path = tmp_path / "session.json"
    call = {"id": "1", "function": {"name": "refund", "arguments": '{"order": 812, "why": "late"}'}}
    path.write_text(json.dumps([{"role": "user", "content": "Go."}, {"role": "assistant", "tool_calls": [call]}]))
    assert whet("learn", "transcript", str(path)).stdout == "user\t\tGo.\ncall\trefund\torder: 812, why: late\n"
