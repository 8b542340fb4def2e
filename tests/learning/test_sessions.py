"""The record of sessions: counted, bounded, ready for whoever learns; and what hooks failed at."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import FailedError
from whet.learning import hook_log
from whet.learning.sessions import AGAIN, LATER, MOST, QUIET, REMEMBERED, TOLD, Failure, Seen, Sessions
from whet.learning.signals import Counts
from whet.notes import Note
from whet.store.repair import Repaired, check_state, repair_state
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECOND = 10**9
START = 1_800_000_000 * SECOND


class Clock:
    """A clock that is set by hand."""

    now = START

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(tmp_path: Path, clock: Clock) -> Iterator[Sessions]:
    made = Sessions(StateDatabase(str(tmp_path / "state")), clock)
    yield made
    made.database.close()


def only(sessions: Sessions) -> Seen:
    (seen,) = sessions.all()
    return seen


def test_reading_makes_no_file(sessions: Sessions, tmp_path: Path) -> None:
    assert (sessions.all(), sessions.waiting(), sessions.failures(), sessions.examine()) == ((), (), (), ())
    assert (sessions.state("codex", "s"), sessions.take_pending("codex", "s")) == (None, "")
    assert (sessions.learned("codex", "s"), sessions.repair()) == (False, Repaired())
    assert not (tmp_path / "state").exists()


def test_a_session_is_what_happened_in_it(sessions: Sessions, clock: Clock) -> None:
    sessions.note("codex", "s", project="/p", transcript="/t", ended=False)
    for prompts, tools, errors in ((1, 0, 0), (0, 1, 0), (0, 1, 1), (0, 1, 1), (0, 1, 0), (1, 0, 0)):
        clock.now += SECOND
        assert sessions.note("codex", "s", prompts=prompts, tools=tools, errors=errors, corrections=prompts)
    seen = only(sessions)
    counts = Counts(prompts=2, tools=4, errors=2, recoveries=1, corrections=1)
    assert seen == Seen(
        "codex", "s", "/p", "/t", START, START + 6 * SECOND, counts, hard=True, ended=False, learned=False
    )
    assert seen.to_json() == {
        "client": "codex",
        "id": "s",
        "project": "/p",
        "transcript": "/t",
        "first": "2027-01-15T08:00:00Z",
        "last": "2027-01-15T08:00:06Z",
        "counts": {"prompts": 2, "tools": 4, "errors": 2, "recoveries": 1, "corrections": 1},
        "hard": True,
        "ended": False,
        "learned": False,
    }


def test_what_is_told_twice_counts_once(sessions: Sessions, clock: Clock) -> None:
    told = [sessions.note("vscode", "s", prompts=1, mark=mark) for mark in (7, 7, 8, 8)]
    told += [sessions.note("vscode", "s", prompts=1) for _ in range(2)]
    assert told == [True, False, True, False, True, True]
    clock.now += 10 * SECOND
    assert sessions.note("vscode", "s", prompts=1, mark=8)
    assert sessions.note("cursor", "s", prompts=1, mark=8)
    assert [seen.counts.prompts for seen in sessions.all()] == [1, 5]


def test_hard_sessions_wait_once_they_are_over(sessions: Sessions, clock: Clock) -> None:
    sessions.note("codex", "easy", tools=1, ended=True)
    sessions.note("codex", "ended", tools=5)
    sessions.note("codex", "quiet", tools=5)
    assert sessions.waiting() == ()
    sessions.note("codex", "ended", ended=True)
    assert [seen.id for seen in sessions.waiting()] == ["ended"]
    clock.now += QUIET + 1
    assert [seen.id for seen in sessions.waiting()] == ["ended", "quiet"]
    assert sessions.learned("codex", "ended") and not sessions.learned("codex", "none")
    assert [seen.id for seen in sessions.waiting()] == ["quiet"]
    sessions.note("codex", "ended", prompts=1)
    assert [seen.id for seen in sessions.waiting()] == ["quiet"]
    sessions.note("codex", "ended", ended=True)
    assert [seen.id for seen in sessions.waiting()] == ["quiet", "ended"]


def test_a_conversation_is_kept_and_what_is_pending_is_said_once(sessions: Sessions) -> None:
    sessions.note("cursor", "s")
    sessions.keep("cursor", "s", {"offered": ["/a"]})
    sessions.hold("cursor", "s", "Load it.", {"offered": ["/a", "/b"]}, "turn")
    assert sessions.state("cursor", "s") == {"offered": ["/a"]}
    taken = [sessions.take_pending("cursor", "s", turn) for turn in ("other", "turn", "turn", "")]
    assert taken == ["", "Load it.", "", ""]
    assert sessions.state("cursor", "s") == {"offered": ["/a", "/b"]}
    sessions.keep("cursor", "s", None)
    assert sessions.state("cursor", "s") is None
    sessions.keep("cursor", "s", {"offered": ["x" * 300_000]})
    assert sessions.state("cursor", "s") is None
    with sessions.database.write() as connection:
        connection.execute("UPDATE sessions SET state = '{broken', pending = 'broken'")
    assert (sessions.state("cursor", "s"), sessions.take_pending("cursor", "s")) == (None, "")


def test_what_is_pending_is_forgotten_but_for_tool_calls_and_beginnings(sessions: Sessions) -> None:
    events: list[tuple[dict[str, Any], str]] = [
        ({"tools": 1}, "Load it."),
        ({"ended": False}, "Load it."),
        ({"prompts": 1}, ""),
        ({"ended": True}, ""),
        ({}, ""),
    ]
    sessions.note("vscode", "s")
    for event, left in events:
        sessions.hold("vscode", "s", "Load it.", {})
        sessions.note("vscode", "s", **event)
        assert sessions.take_pending("vscode", "s") == left


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_nobody_else_may_read_it(sessions: Sessions, tmp_path: Path) -> None:
    def modes() -> set[int]:
        return {path.stat().st_mode & 0o777 for path in (tmp_path / "state").glob("state.db*")}

    sessions.note("codex", "s")
    assert len([*(tmp_path / "state").glob("state.db*")]) == 3 and modes() == {0o600}
    sessions.database.close()
    (tmp_path / "state" / "state.db").chmod(0o644)
    sessions.note("codex", "s")
    assert modes() == {0o600}
    sessions.database.close()
    (tmp_path / "state" / "state.db").write_bytes(b"not a database" + bytes(5000))
    assert repair_state(str(tmp_path / "state")).done
    assert modes() == {0o600}


def test_old_conversations_and_sessions_are_forgotten(sessions: Sessions, clock: Clock) -> None:
    sessions.note("codex", "old")
    sessions.keep("codex", "old", {"offered": []})
    sessions.hold("codex", "old", "Load it.", {})
    clock.now += REMEMBERED + 1
    sessions.note("codex", "new")
    sessions.keep("codex", "new", {"offered": []})
    assert (sessions.state("codex", "old"), sessions.take_pending("codex", "old")) == (None, "")
    assert sessions.state("codex", "new") == {"offered": []}
    rows = [("codex", f"s{number}", "", "", clock.now, clock.now + number) for number in range(MOST)]
    with sessions.database.write() as connection:
        connection.executemany(
            "INSERT INTO sessions (client, id, project, transcript, first, last) VALUES (?, ?, ?, ?, ?, ?)", rows
        )
    clock.now += 2 * MOST
    sessions.note("codex", "newest")
    kept = {seen.id for seen in sessions.all()}
    assert len(kept) == MOST and {"newest", "s1999"} <= kept and not {"old", "new", "s0"} & kept


def test_names_that_no_database_takes_are_kept_all_the_same(sessions: Sessions) -> None:
    sessions.note("co\0dex", "half \ud800", project="p\0", transcript="x" * 10_000)
    seen = only(sessions)
    assert (seen.client, seen.id, seen.project, len(seen.transcript)) == ("co\\x00dex", "half \\ud800", "p\\x00", 4096)
    assert sessions.learned("co\0dex", "half \ud800")


@pytest.mark.parametrize("name", ["\0" * 200, "\ud800" * 200, "x" * 300])
def test_a_session_is_found_again_by_what_it_was_kept_as(sessions: Sessions, name: str) -> None:
    sessions.note("codex", name, tools=5, ended=True)
    kept = only(sessions).id
    assert (len(kept) <= 256, sessions.take_up("codex", kept), sessions.waiting(now=True)) == (True, True, ())


def test_a_session_that_kills_whoever_takes_it_up_waits_ever_longer(sessions: Sessions, clock: Clock) -> None:
    sessions.note("codex", "s", tools=5, ended=True)
    waited = []
    for _ in range(7):
        began = clock.now
        assert sessions.take_up("codex", "s")
        while not sessions.waiting(now=True):
            clock.now += AGAIN
        waited.append((clock.now - began) // AGAIN)
    assert (waited, LATER // AGAIN) == ([1, 1, 2, 4, 8, 16, 24], 24)


def test_many_at_once_lose_nothing(sessions: Sessions, tmp_path: Path, clock: Clock) -> None:
    def work() -> None:
        own = Sessions(StateDatabase(str(tmp_path / "state")), clock)
        for _ in range(25):
            own.note("codex", "s", tools=1)
        own.database.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert only(sessions).counts == Counts(tools=100)


def test_failures_are_told_together_and_not_for_ever(sessions: Sessions, clock: Clock) -> None:
    for number in range(3):
        clock.now += SECOND
        sessions.failed("codex", "prompt", "state-busy", f"Busy {number}.")
    sessions.failed("", "", "usage", "EVENT is missing.")
    hint = "The client was not affected. `whet doctor --repair` clears this."
    first = "The hook `?` of a client failed once, last at 2027-01-15T08:00:03Z: EVENT is missing (usage)."
    second = "The hook `prompt` of codex failed 3 times, last at 2027-01-15T08:00:03Z: Busy 2 (state-busy)."
    expected = tuple(Note("hook-failed", "warning", message, hint) for message in (first, second))
    assert sessions.examine() == expected
    assert sessions.failures()[0] == Failure(START + SECOND, "codex", "prompt", "state-busy", "Busy 0.")
    clock.now += TOLD
    assert sessions.examine() == ()


def test_failures_that_were_told_are_forgotten_when_asked(sessions: Sessions, tmp_path: Path) -> None:
    sessions.failed("codex", "prompt", "state-busy", "Busy.")
    hook_log.append(str(tmp_path / "state"), "codex", "tool", "too-slow", "Slow.")
    assert sessions.repair() == Repaired(("Cleared 2 hook failures.",))
    assert (sessions.failures(), sessions.repair()) == ((), Repaired())


def test_a_damaged_file_is_told_of_and_set_aside(sessions: Sessions, tmp_path: Path) -> None:
    sessions.note("codex", "s", tools=5, ended=True)
    sessions.database.close()
    path = tmp_path / "state" / "state.db"
    path.write_bytes(b"not a database" + bytes(5000))
    with pytest.raises(FailedError, match="damaged"):
        sessions.note("codex", "s")
    sessions.failed("codex", "tool", "state-corrupt", "It is damaged.")
    codes = [entry.code for entry in Sessions(StateDatabase(str(tmp_path / "state")), time.time_ns).examine()]
    assert codes == ["hook-failed"] and check_state(str(tmp_path / "state"))
    assert len([*hook_log.read(str(tmp_path / "state"))]) == 1
    repaired = repair_state(str(tmp_path / "state"))
    assert repaired.done[0].startswith("Moved the damaged state database to ")
    assert sessions.note("codex", "s")
    assert sessions.repair() == Repaired(("Cleared 1 hook failures.",))


def test_a_file_of_another_program_is_left_alone(tmp_path: Path, clock: Clock) -> None:
    os.makedirs(tmp_path / "state")
    with sqlite3.connect(tmp_path / "state" / "state.db") as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    sessions = Sessions(StateDatabase(str(tmp_path / "state")), clock)
    assert sessions.examine() == ()
    sessions.failed("codex", "tool", "x", "y")
    assert [row[1:] for row in hook_log.read(str(tmp_path / "state"))] == [("codex", "tool", "x", "y")]


def test_the_log_is_bounded_and_survives_anything(tmp_path: Path) -> None:
    state = str(tmp_path)
    for number in range(400):
        assert hook_log.append(state, "codex", "tool", "x", f"{number}\t\n" + "y" * 2000)
    size = sum((tmp_path / name).stat().st_size for name in (hook_log.FILE, hook_log.OLD))
    assert size <= 2 * (hook_log.LARGE + hook_log.LONGEST + 400)
    rows = [*hook_log.read(state)]
    assert rows[-1][4].startswith("399 yyy") and len(rows) > 100
    (tmp_path / hook_log.FILE).write_bytes(b"\xff\xfe\n1\t2\n" + b"9" * 30 + b"\ta\tb\tc\td\n5\ta\tb\tc\td\n")
    assert [*hook_log.read(state)][-1] == (5, "a", "b", "c", "d")
    assert [*hook_log.read(str(tmp_path / "none"))] == []
    assert not hook_log.append(str(tmp_path / hook_log.FILE), "a", "b", "c", "d")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_in_place_of_the_log_holds_up_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / hook_log.FILE)
    assert not hook_log.append(str(tmp_path), "a", "b", "c", "d")
    reader = os.open(tmp_path / hook_log.FILE, os.O_RDONLY | os.O_NONBLOCK)
    assert not hook_log.append(str(tmp_path), "a", "b", "c", "d")
    assert [*hook_log.read(str(tmp_path))] == []
    os.close(reader)
    assert [*hook_log.read(str(tmp_path))] == []
