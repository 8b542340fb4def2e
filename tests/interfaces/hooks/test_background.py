"""Sessions that are over are learned from by itself, as far as the settings say, and what came of it is told once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from learning.episodes import release_notes, rollout
from learning.recordings import claude_code

from whet.api import Library
from whet.interfaces.hooks.background import is_due, learn_after, learn_waiting
from whet.interfaces.hooks.handler import LearnSetting
from whet.learning.hook_log import read
from whet.learning.selection.budget import State
from whet.learning.selection.consent import offered
from whet.learning.sessions import AGAIN, LATER
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from pathlib import Path

    from hooks.machine import Machine
    from whet.learning.transcripts.events import Transcript


def over(machine: Machine, top: Path, transcript: Transcript, client: str = "claude-code") -> None:
    """A session that a client tells of from its beginning to its end."""
    path = claude_code(top / f"{transcript.session}.jsonl", transcript)
    what = {"session": transcript.session, "transcript_path": str(path)}
    for kind in ("start", "prompt", "stop", "end"):
        machine.tell(client, kind, **what)


def learn(machine: Machine) -> int:
    return learn_waiting(str(machine.state), machine.open, machine.env, machine.clock)


def setting(machine: Machine, level: str) -> None:
    with (machine.state / "config.toml").open("a", encoding="utf-8") as file:
        file.write(f'learn = "{level}"\n')


def waiting(machine: Machine, **how: Any) -> list[str]:
    return [seen.id for seen in machine.hooks.sessions.waiting(**how)]


def test_what_was_proposed_is_told_once_when_the_next_session_begins(machine: Machine, tmp_path: Path) -> None:
    for transcript in (release_notes(), rollout()):
        over(machine, tmp_path, transcript)
    assert learn(machine) == 2
    told = [machine.tell("claude-code", "start", session=name) for name in ("next", "another")]
    assert told == ["2 skills proposed from your last sessions: `whet proposals list`.", ""]
    assert (waiting(machine), learn(machine), machine.failures()) == ([], 0, [])


def test_a_client_that_hears_nothing_at_the_start_is_told_with_the_prompt(machine: Machine, tmp_path: Path) -> None:
    over(machine, tmp_path, release_notes())
    learn(machine)
    told = [
        machine.tell("hermes", kind, session="next", prompt="hello there") for kind in ("start", "prompt", "prompt")
    ]
    assert told == ["", "1 skill proposed from your last sessions: `whet proposals list`.", ""]


def test_what_was_decided_meanwhile_is_no_news(machine: Machine, tmp_path: Path) -> None:
    over(machine, tmp_path, release_notes())
    learn(machine)
    machine.library.edit.proposals.reject(1, "no")
    assert machine.tell("claude-code", "start", session="next") == ""


def test_with_write_skills_are_written_and_told_of(machine: Machine, tmp_path: Path) -> None:
    setting(machine, "write")
    over(machine, tmp_path, release_notes())
    assert learn(machine) == 1
    written = "1 skill written from your last sessions (write-release-notes): `whet history`."
    assert machine.tell("claude-code", "start", session="next") == written
    assert machine.library.card("write-release-notes").scope == "user"


def test_with_note_sessions_wait_for_a_person(machine: Machine, tmp_path: Path) -> None:
    setting(machine, "note")
    over(machine, tmp_path, release_notes())
    assert (learn(machine), waiting(machine)) == (0, ["release-notes"])
    assert machine.library.learning.learn().to_json()["captured"] == 1


def test_with_off_nothing_is_noted_for_learning(machine: Machine, tmp_path: Path) -> None:
    setting(machine, "off")
    over(machine, tmp_path, release_notes())
    machine.tell("claude-code", "tool", session="release-notes")
    (seen,) = machine.hooks.sessions.all()
    assert (seen.transcript, set(seen.counts), seen.hard, waiting(machine)) == ("", {0}, False, [])
    assert machine.failures() == []


@pytest.mark.parametrize(("text", "level"), [("", "propose"), ('learn = "write"', "write"), ("learn = no", "off")])
def test_the_level_follows_the_file(tmp_path: Path, text: str, level: str) -> None:
    found = LearnSetting(str(tmp_path), {})
    assert found.now() == "propose"
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    assert found.now() == level


def project(machine: Machine, level: str) -> Library:
    """The library of a trusted project that has a say."""
    (machine.work / ".git").mkdir()
    (machine.work / ".whet.toml").write_text(f'learn = "{level}"\n', encoding="utf-8")
    library = Library.open(project=machine.work, env=machine.env)
    library.settings.trust()
    return library


@pytest.mark.parametrize(
    ("user", "level", "wanted", "notes"),
    [
        ("write", "off", "off", []),
        ("write", "note", "note", []),
        ("write", "write", "write", []),
        ("propose", "write", "propose", ["learn-raised"]),
        ("off", "propose", "off", ["learn-raised"]),
    ],
)
def test_a_project_may_lower_it_and_never_raise_it(
    machine: Machine, user: str, level: str, wanted: str, notes: list[str]
) -> None:
    setting(machine, user)
    with project(machine, level) as library:
        config = library.workspace.config()
    assert (config.settings.learn, [note.code for note in config.notes]) == (wanted, notes)


def test_a_project_that_nobody_trusts_has_no_say(machine: Machine) -> None:
    with project(machine, "off") as library:
        library.settings.untrust()
        assert library.workspace.config().settings.learn == "propose"


@pytest.mark.parametrize(("level", "left"), [("off", []), ("note", ["release-notes"])])
def test_sessions_of_a_project_are_learned_from_as_it_says(
    machine: Machine, tmp_path: Path, level: str, left: list[str]
) -> None:
    over(machine, tmp_path, release_notes())
    with project(machine, level) as library:
        learn_waiting(str(machine.state), lambda _: library, machine.env, machine.clock)
        assert library.proposals.pending().to_json()["count"] == 0
    assert (waiting(machine), waiting(machine, now=True)) == (left, [])
    (seen,) = machine.hooks.sessions.all()
    assert bool(seen.transcript) == bool(left)


def test_a_project_that_says_off_is_forgotten_with_the_end(machine: Machine, tmp_path: Path) -> None:
    with project(machine, "off"):
        over(machine, tmp_path, release_notes())
    (seen,) = machine.hooks.sessions.all()
    assert (seen.transcript, set(seen.counts), seen.hard, waiting(machine)) == ("", {0}, False, [])
    assert machine.failures() == []


def test_sessions_of_a_project_that_says_off_meanwhile_are_offered_nowhere(machine: Machine, tmp_path: Path) -> None:
    over(machine, tmp_path, release_notes())
    assert len(offered(machine.library.learning.context)) == 1
    with project(machine, "off"):
        assert (waiting(machine), offered(machine.library.learning.context)) == (["release-notes"], ())
        assert machine.library.learning.learn(dry_run=True).to_json()["sessions"] == []
        (machine.work / ".whet.toml").write_text("learn = ", encoding="utf-8")
        assert offered(machine.library.learning.context) == ()


def test_a_session_that_somebody_was_killed_over_waits_again(machine: Machine, tmp_path: Path) -> None:
    over(machine, tmp_path, release_notes())
    sessions = machine.hooks.sessions
    assert sessions.take_up("claude-code", "release-notes")
    assert not sessions.take_up("claude-code", "release-notes")
    assert (waiting(machine), learn(machine)) == (["release-notes"], 0)
    machine.now += AGAIN
    assert (learn(machine), waiting(machine)) == (1, [])


def test_a_session_that_waits_for_a_decision_is_left_alone_for_a_day(machine: Machine, tmp_path: Path) -> None:
    over(machine, tmp_path, release_notes())
    over(machine, tmp_path, release_notes()._replace(session="second"))
    assert (learn(machine), learn(machine), waiting(machine)) == (2, 0, ["release-notes"])
    machine.library.edit.proposals.approve(1)
    machine.now += LATER
    assert (learn(machine), waiting(machine)) == (1, [])


def test_what_fails_is_told_by_the_doctor_and_stops_it_in_the_end(machine: Machine, tmp_path: Path) -> None:
    def broken(_: str) -> Library:
        raise RuntimeError("ghp_secret")

    for number in range(5):
        over(machine, tmp_path, release_notes()._replace(session=f"s{number}"))
    assert learn_waiting(str(machine.state), broken, machine.env, machine.clock) == 3
    assert not is_due(machine.hooks.sessions, str(machine.state), machine.env, machine.clock)
    kept = State(StateDatabase(str(machine.state)), machine.clock).read()
    assert kept.breaker.reason.startswith("3 failures in a row, the last: ")
    failed, stopped = machine.hooks.sessions.examine()
    assert (failed.code, stopped.code) == ("learning-failed", "learning-stopped")
    assert failed.message.startswith("Learning from sessions of claude-code failed 3 times, last at 2027-01-15T")
    assert "(internal-error)" in failed.message
    assert "ghp_secret" not in failed.message + stopped.message
    assert stopped.message.startswith("Learning from waiting sessions stops until 2027-01-15T")
    assert len(waiting(machine)) == 5


def test_what_cannot_be_read_is_told_and_forgotten(machine: Machine) -> None:
    with machine.hooks.sessions.database.write() as connection:
        connection.execute("INSERT INTO learning VALUES ('day', '{')")
    assert [entry.code for entry in machine.hooks.sessions.examine()] == ["learning-corrupt"]
    assert machine.hooks.sessions.repair().done == ("The record of day cannot be read; counting starts again.",)
    assert machine.hooks.sessions.examine() == ()


def test_whoever_takes_too_long_gives_up_and_says_so(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = (
        "import sys, time\nfrom whet.interfaces.hooks import background\n"
        "background.LONGEST = 0.1\nbackground.give_up_in_time(sys.argv[1])\ntime.sleep(60)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], timeout=50, check=False)
    ((_, *noted),) = read(str(tmp_path))
    told = ["", "learn", "too-slow", "It took more than 0.1 seconds and was stopped."]
    assert (done.returncode, noted) == (0, told)


def test_a_project_that_is_gone_does_not_lose_the_session(machine: Machine, tmp_path: Path) -> None:
    path = claude_code(tmp_path / "a.jsonl", release_notes())
    machine.hooks.sessions.note("codex", "s", project="/no/such/place", transcript=str(path), tools=8, ended=True)

    def opened(directory: str) -> Library:
        return Library.open(project=directory or machine.work, env=machine.env)

    assert learn_waiting(str(machine.state), opened, machine.env, machine.clock) == 1
    assert machine.library.proposals.pending().to_json()["count"] == 1


def test_a_session_that_no_client_lets_us_read_is_nobodys_failure(machine: Machine) -> None:
    for number in range(5):
        machine.tell("codex", "tool", session="s", tool_use_id=str(number), transcript_path="/no/such/file")
    machine.tell("codex", "end", session="s", transcript_path="/no/such/file")
    assert waiting(machine, now=True) == ["s"]
    assert not is_due(machine.hooks.sessions, str(machine.state), machine.env, machine.clock)
    assert (learn(machine), waiting(machine), machine.failures()) == (0, ["s"], [])


def test_a_server_has_it_learned_in_a_process_after_a_start_or_an_end(machine: Machine, tmp_path: Path) -> None:
    import threading

    over(machine, tmp_path, release_notes())
    for event in ("prompt", "tool", "stop", "end"):
        assert machine.library.proposals.pending().to_json()["count"] == 0
        learn_after(event, str(machine.state), machine.env)
    for thread in threading.enumerate():
        if thread.name == "whet-background":
            thread.join(60)
    assert machine.library.proposals.pending().to_json()["count"] == 1


def test_a_server_that_can_begin_no_process_notes_it(machine: Machine) -> None:
    (machine.state / "state.db").mkdir()
    learn_after("end", str(machine.state), machine.env)
    ((_, *noted),) = read(str(machine.state))
    assert noted[:2] == ["", "learn"]
