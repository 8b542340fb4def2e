"""A hard session ends in a client, and a while later a skill is proposed: nobody waited for it, nobody asked."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from learning.episodes import release_notes, rollout
from learning.model_server import Answer, serving
from learning.recordings import claude_code

from journeys.machines import WHET, Machine
from journeys.payloads import as_bytes, context, payload
from journeys.test_hooks import resident
from whet import Library
from whet.store.locks import lock_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.learning.transcripts.events import Transcript

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and sockets of POSIX")
PATIENCE = 60.0
NOTES = "write-release-notes"


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose state has a short path, as sockets need it."""
    directory = tempfile.mkdtemp(prefix="whet-", dir="/tmp" if os.path.isdir("/tmp") else None)
    made = Machine(Path(directory) / "m")
    yield made
    until(lambda: learner(made) == 0)
    shutil.rmtree(directory)


def learner(machine: Machine) -> int:
    """The process that learns by itself just now; 0 where there is none."""
    path = lock_path(str(machine.state), "learning", "waiting")
    try:
        number = int(Path(path).read_text(encoding="ascii") or 0)
        os.kill(number, 0)
    except (OSError, ValueError):
        return 0
    return number if number != os.getpid() else 0


def until(holds: Callable[[], Any]) -> Any:
    """What is waited for, once it is so."""
    deadline = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def tell(machine: Machine, kind: str, session: str, path: Path | None = None) -> str:
    """What the model gets to read when something happens."""
    sent = payload("claude-code", kind, cwd=str(machine.work), session=session, transcript_path=str(path or ""))
    done = subprocess.run(
        [*WHET, "hook", kind, "--client", "claude-code"],
        input=as_bytes(sent),
        env=machine.env,
        cwd=machine.work,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return context(done.stdout)


def over(machine: Machine, transcript: Transcript) -> None:
    """A session that ends."""
    path = claude_code(machine.work / f"{transcript.session}.jsonl", transcript)
    tell(machine, "start", transcript.session, path)
    assert tell(machine, "end", transcript.session, path) == ""


def pending(machine: Machine) -> list[dict[str, Any]]:
    with Library.open(project=machine.work, env=machine.env) as library:
        proposals: list[dict[str, Any]] = library.proposals.pending().to_json()["proposals"]
    return proposals


def waiting(machine: Machine) -> list[str]:
    with Library.open(project=machine.work, env=machine.env) as library:
        return [seen.id for seen in library.learning.sessions.waiting()]


def skills(machine: Machine) -> list[str]:
    return [change["skill"] for proposal in pending(machine) for change in proposal["changes"]]


def test_a_hard_session_is_proposed_by_itself_and_the_next_one_hears_of_it(machine: Machine) -> None:
    over(machine, release_notes())
    until(lambda: pending(machine) and not waiting(machine))
    code, told, _ = machine.says("pending")
    assert (code, told.split("\t")[2:5]) == (0, ["agent", "create", NOTES])
    assert "Learned from claude-code session release-notes" in told
    until(lambda: learner(machine) == 0)
    heard = [tell(machine, "start", name) for name in ("second", "third")]
    assert heard == ["1 skill proposed from your last sessions: `whet proposals list`.", ""]
    assert machine.ask("proposals", "approve", "1")["state"] == "approved"
    assert [entry["code"] for entry in machine.ask("doctor")["report"] if "learn" in entry["code"]] == []


@posix
def test_beside_a_resident_process_it_is_the_one_that_learns(machine: Machine) -> None:
    with resident(machine):
        over(machine, release_notes())
        until(lambda: skills(machine) == [NOTES] and not waiting(machine))


@posix
def test_two_sessions_that_end_at_once_become_two_proposals(machine: Machine) -> None:
    paths = {
        transcript.session: claude_code(machine.work / f"{transcript.session}.jsonl", transcript)
        for transcript in (release_notes(), rollout())
    }
    started = []
    for session, path in paths.items():
        sent = payload("claude-code", "end", cwd=str(machine.work), session=session, transcript_path=str(path))
        process = subprocess.Popen(
            [*WHET, "hook", "end", "--client", "claude-code"], env=machine.env, stdin=subprocess.PIPE, cwd=machine.work
        )
        started.append((process, as_bytes(sent)))
    for process, data in started:
        process.communicate(data)
    until(lambda: not learner(machine))
    tell(machine, "start", "later")  # whichever was missed in between is taken up now
    until(lambda: not waiting(machine))
    sources = [proposal["reason"].partition(",")[0] for proposal in pending(machine)]
    assert sorted(sources) == [
        "Learned from claude-code session release-notes",
        "Learned from claude-code session rollout",
    ]


@posix
def test_whoever_is_killed_over_a_session_loses_nothing(machine: Machine) -> None:
    with serving(Answer(mute=True)) as server:
        machine.settings(f'model = "openai-compatible:{server.url}/v1#slow"\n')
        over(machine, release_notes())
        until(lambda: server.requests)
        os.kill(until(lambda: learner(machine)), signal.SIGKILL)
        until(lambda: not learner(machine))
    assert (pending(machine), waiting(machine)) == ([], ["release-notes"])
    answer = machine.ask("learn", "sessions", "--no-model")
    assert [(report["session"], report["captured"]) for report in answer["sessions"]] == [
        ("claude-code:release-notes", True)
    ]
    assert (skills(machine), waiting(machine)) == ([NOTES], [])
    assert machine.ask("verify-history")["valid"]


@pytest.mark.parametrize(("level", "left"), [("off", []), ("note", ["release-notes"])])
def test_with_off_and_note_no_process_is_begun(machine: Machine, level: str, left: list[str]) -> None:
    machine.settings(f'learn = "{level}"\n')
    over(machine, release_notes())
    assert not os.path.exists(lock_path(str(machine.state), "learning", "waiting"))
    assert (waiting(machine), pending(machine)) == (left, [])


def test_by_hand_it_is_the_same_and_quiet(machine: Machine) -> None:
    machine.settings('learn = "write"\n')
    path = claude_code(machine.work / "a.jsonl", release_notes())
    with Library.open(project=machine.work, env=machine.env) as library:
        library.learning.sessions.note(
            "codex", "s", project=str(machine.work), transcript=str(path), tools=8, ended=True
        )
    assert machine.says("learn", "sessions", "--waiting", "--quiet") == (0, "", "")
    assert (machine.names(), waiting(machine)) == ([NOTES], [])
    assert machine.says("learn", "sessions", "--waiting") == (0, "", "Looked at 0 sessions.\n")
    assert (
        machine.ask("learn", "sessions", "--waiting", "--write", code=2)["error"]
        == "`--waiting` takes no other options."
    )


def test_a_conversation_ends_with_a_proposal_and_a_step(machine: Machine) -> None:
    with Library.open(project=machine.work, env=machine.env) as library:
        session = library.session()
        for event in release_notes().events:
            if event.kind == "call":
                session.recorder.call(event.tool, event.given, event.id)
            elif event.kind == "result":
                session.recorder.result(event.text, event.id, failed=event.failed)
            else:
                (session.recorder.user if event.kind == "user" else session.recorder.assistant)(event.text)
        report = session.finish()
        step = session.recorder.transcript().events[-2]
    assert (report.captured, report.skill, report.staged) == (True, NOTES, True)
    assert (step.tool, step.given) == (
        "skill_create",
        {"action": "create", "skill": NOTES, "proposal": report.proposal},
    )
