"""`whet learn sessions` at the command line."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from whet.learning.sessions import Sessions
from whet.store.clock import system_clock
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess


@pytest.fixture
def transcript(tmp_path: Path) -> str:
    """A session with an error that is overcome."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Generate the client from openapi.yaml."}]
    commands = [
        ("openapi-generator generate -i openapi.yaml", "Exit code 1\nerror: missing required option -g"),
        ("openapi-generator generate -i openapi.yaml -g python -o client", "ok"),
    ]
    for number, (command, output) in enumerate(commands):
        called = {"name": "Bash", "arguments": json.dumps({"command": command})}
        call = {"id": f"c{number}", "type": "function", "function": called}
        rows.append({"role": "assistant", "content": None, "tool_calls": [call]})
        rows.append({"role": "tool", "tool_call_id": f"c{number}", "content": output})
    rows.append({"role": "assistant", "content": "Done. The client is generated."})
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def test_a_file_becomes_a_proposal_that_can_be_approved(
    whet: Callable[..., CompletedProcess[str]], transcript: str
) -> None:
    told = whet("learn", "sessions", transcript)
    assert (told.returncode, told.stdout.split("\t")[1:4]) == (0, ["create", "generate-client", "1"])
    assert "`whet proposals list` shows the proposals; `whet proposals approve ID` applies one." in told.stderr
    assert whet("proposals", "approve", "1").returncode == 0
    assert "openapi-generator" in whet("show", "generate-client").stdout


def test_a_dry_run_shows_the_skill(whet: Callable[..., CompletedProcess[str]], transcript: str) -> None:
    told = whet("learn", "sessions", transcript, "--dry-run")
    assert (told.returncode, "name: generate-client" in told.stdout) == (0, True)
    assert json.loads(whet("proposals", "list", "--json").stdout)["count"] == 0


def test_without_sessions_there_is_nothing_to_do(whet: Callable[..., CompletedProcess[str]]) -> None:
    told = whet("learn", "sessions")
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "No session is waiting.\n")
    answer = json.loads(whet("learn", "sessions", "--json").stdout)
    assert (answer["success"], answer["sessions"], answer["left"]) == (True, [], 0)


def test_one_bad_file_among_several_is_told_of(whet: Callable[..., CompletedProcess[str]], transcript: str) -> None:
    answer = whet("learn", "sessions", transcript, "no-such", "--json")
    told = [(report["captured"], report["code"]) for report in json.loads(answer.stdout)["sessions"]]
    assert (answer.returncode, told) == (1, [(True, "hard"), (False, "transcript-missing")])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--write", "--dry-run"), "Use --write or --dry-run, not both."),
        (("--model", "openai:x", "--no-model"), "Use --model or --no-model, not both."),
        (("--waiting", "codex:x"), "`--waiting` takes no other options."),
    ],
)
def test_what_does_not_go_together(
    whet: Callable[..., CompletedProcess[str]], words: tuple[str, ...], error: str
) -> None:
    told = whet("learn", "sessions", *words, "--json")
    answer = json.loads(told.stdout)
    assert (told.returncode, answer["code"], answer["error"]) == (2, "usage", error)


def test_a_model_that_is_named_must_be_one(whet: Callable[..., CompletedProcess[str]], transcript: str) -> None:
    told = whet("learn", "sessions", transcript, "--model", "nobody:none", "--json")
    assert (told.returncode, json.loads(told.stdout)["success"]) == (2, False)
    assert whet("learn", "sessions", transcript, "--no-model").returncode == 0


def test_distill_takes_a_session_by_its_id_too(
    whet: Callable[..., CompletedProcess[str]], transcript: str, tmp_path: Path, home: Path
) -> None:
    nothing = whet("distill", "last").stderr.splitlines()
    assert nothing[0] == "error: There is no session to learn from."
    database = StateDatabase(str(tmp_path / "state"))
    Sessions(database, system_clock).note("claude-code", "session-7", learning=True, transcript=transcript, ended=True)
    database.close()
    by_id = whet("distill", "claude-code:session-7", "--dry-run", "--json")
    assert (by_id.returncode, json.loads(by_id.stdout)["skill"]) == (
        0,
        json.loads(whet("distill", transcript, "--dry-run", "--json").stdout)["skill"],
    )
    kept = home / ".claude" / "projects" / "work" / "kept-8.jsonl"
    kept.parent.mkdir(parents=True)
    shutil.copyfile(transcript, kept)
    for said in ("last", "claude-code", "claude", "claude:last", "claude:kept-8", "claude:sess", "session"):
        newest = whet("distill", said, "--dry-run", "--json")
        assert json.loads(newest.stdout)["skill"] == json.loads(by_id.stdout)["skill"], said
    unknown = whet("distill", "codex:last", "--json")
    assert (unknown.returncode, json.loads(unknown.stdout)) == (
        1,
        {
            "success": False,
            "code": "no-such-session",
            "error": "There is no session 'codex:last'.",
            "hint": "`whet distill` lists recent sessions on a terminal; `whet distill FILE` takes any other.",
        },
    )
    missing = whet("distill", "lost").stderr.splitlines()
    assert missing[1] == "hint: Pass the file of a session, or CLIENT:last for the newest session of a client."
