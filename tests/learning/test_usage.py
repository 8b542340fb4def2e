"""Usage: what is recorded is counted, and nothing about counting ever stops anything."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whet.learning.usage import Total, Usage
from whet.learning.usage_log import DAY, KINDS, LARGE, Event, Log, decode, encode
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from whet.learning.usage_log import Kind

SECOND = 10**9
LOG = "events-000000.log"
ODD_NAMES = [
    "a\tb",
    "a\nb",
    "\n",
    "\t",
    "a%09b",
    "%",
    "%25%0A%",
    "a\r\nb",
    "é/ü:ß",
    "技能",
    "\0",
    "\ud800",
    "x\udcff",
    "",
]

texts = st.text(st.characters(exclude_categories=()), max_size=20)


class Ticking:
    """A clock that moves on by one second with every look, from where it is set."""

    def __init__(self, seconds: int = 0) -> None:
        self.seconds = seconds

    def __call__(self) -> int:
        self.seconds += 1
        return self.seconds * SECOND


@pytest.fixture
def usage(tmp_path: Path) -> Iterator[Usage]:
    found = Usage(StateDatabase(str(tmp_path)), Ticking())
    yield found
    found.state.close()


def files(state: Path) -> list[str]:
    """What lies in the directory of usage, without SQLite's companions."""
    return sorted(name for name in os.listdir(state / "usage") if not name.endswith(("-wal", "-shm")))


def codes(usage: Usage) -> list[str]:
    return [entry.code for entry in usage.problems]


# --- counting -------------------------------------------------------------------------------------------------------


def test_what_is_recorded_is_counted_by_skill_and_version(usage: Usage) -> None:
    kinds: list[Kind] = ["view", "use", "helped", "use", "failed", "patch"]
    assert [usage.record(kind, "deploy", "old", version="1.0") for kind in kinds] == [True] * 6
    assert usage.record("use", "deploy", "new", version="1.1")
    assert usage.record("corrected", "deploy", "new")
    assert usage.record("view", "other:tidy", "x")
    old = Total("deploy", "old", "1.0", 1, 2, 1, 1, 1, 0, 1 * SECOND, 4 * SECOND, 1 * SECOND, 6 * SECOND)
    new = Total("deploy", "new", "1.1", 0, 1, 0, 0, 0, 1, 7 * SECOND, 7 * SECOND, 0, 8 * SECOND)
    deploy = Total("deploy", "", "1.1", 1, 3, 1, 1, 1, 1, 1 * SECOND, 7 * SECOND, 1 * SECOND, 8 * SECOND)
    tidy = Total("other:tidy", "", "", 1, first=9 * SECOND, last_viewed=9 * SECOND, last=9 * SECOND)
    assert usage.totals() == (deploy, tidy)
    assert usage.of("deploy") == deploy
    assert usage.versions("deploy") == (new, old)
    assert usage.versions("other:tidy") == (tidy._replace(digest="x"),)
    assert (usage.of("unknown"), usage.versions("unknown"), usage.problems) == (None, (), ())


def test_counts_go_to_json_with_times_as_text() -> None:
    assert Total("deploy", "", "1.0", 1, 2, 3, 4, 5, 6, SECOND, 0, 60 * SECOND, 3600 * SECOND).to_json() == {
        "skill": "deploy",
        "digest": "",
        "version": "1.0",
        "views": 1,
        "uses": 2,
        "patches": 3,
        "helped": 4,
        "failed": 5,
        "corrected": 6,
        "first": "1970-01-01T00:00:01Z",
        "last_used": None,
        "last_viewed": "1970-01-01T00:01:00Z",
        "last": "1970-01-01T01:00:00Z",
    }


def test_reading_makes_nothing_as_long_as_nothing_is_recorded(usage: Usage, tmp_path: Path) -> None:
    assert (usage.totals(), usage.of("a"), usage.problems, os.listdir(tmp_path)) == ((), None, (), [])


def test_recording_touches_the_log_and_nothing_else(
    usage: Usage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert usage.record("use", "deploy", "d")
    assert files(tmp_path) == [LOG]
    calls: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            return real(*args, **kwargs)

        return call

    for name in ("open", "write", "lseek", "read", "fstat", "stat", "fsync", "close", "mkdir", "scandir", "rename"):
        monkeypatch.setattr(os, name, counted(name))
    assert usage.record("use", "deploy", "d")
    monkeypatch.undo()
    assert calls == ["open", "fstat", "write", "lseek", "close"]


def test_a_log_that_is_counted_goes_when_nobody_writes_to_it_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = DAY
    usage = Usage(StateDatabase(str(tmp_path)), lambda: now)
    for number in range(1, 5):
        now = number * DAY
        assert usage.record("use", "deploy", "d")
        assert [total.uses for total in usage.totals()] == [number]
    assert files(tmp_path) == ["events-000003.log", "events-000004.log"]
    now = 9 * DAY
    assert usage.record("use", "deploy", "d")
    assert files(tmp_path) == ["events-000009.log"], "the first event of a day counts what is left of others"
    assert usage.state.read("SELECT sum(uses) FROM usage_counts") == [(5,)]
    assert usage.record("use", "deploy", "d")
    sizes = usage.log.sizes()
    monkeypatch.setattr(Log, "sizes", lambda _: {"events-000001.log": 9, **sizes})
    assert [total.uses for total in usage.totals()] == [6], "another process has removed a file in the meantime"
    assert usage.state.read("SELECT sum(uses) FROM usage_counts") == [(6,)]
    usage.state.close()


def test_what_an_older_version_logged_is_counted(tmp_path: Path) -> None:
    usage = Usage(StateDatabase(str(tmp_path)), Ticking())
    body = b"5\tuse\tdeploy\td\t1.0\tsession"
    (tmp_path / "usage").mkdir()
    for name in ("events.log", "events-0123.part", "events-4567.part"):
        (tmp_path / "usage" / name).write_bytes(b"\n%08x\t%s\n" % (crc32(body), body))
    with usage.state.write() as connection:
        connection.execute("INSERT INTO usage_logs VALUES ('events-4567.part', 1 << 60)")
    assert usage.of("deploy") == Total("deploy", "", "1.0", uses=2, first=5, last_used=5, last=5)
    assert files(tmp_path) == []
    usage.state.close()


def test_what_an_older_version_logs_beside_this_one_is_counted(tmp_path: Path) -> None:
    usage = Usage(StateDatabase(str(tmp_path)), Ticking())
    (tmp_path / "usage").mkdir()
    for number in (3, 1, 4):  # the file is counted and deleted in between, and need not become as long as before
        lines = b"".join(encode(Event(SECOND, "use", "user:one", "d")) for _ in range(number))
        (tmp_path / "usage" / "events.log").write_bytes(lines)
        usage.totals()
    assert [total.uses for total in usage.totals()] == [8]
    usage.state.close()


def test_nothing_is_counted_twice_that_another_counts_in_the_meantime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (Usage(StateDatabase(str(tmp_path)), Ticking(seconds)) for seconds in (0, DAY // SECOND))
    write = StateDatabase.write

    def wait_and_write(state: StateDatabase, **how: bool) -> Any:
        monkeypatch.setattr(StateDatabase, "write", write)
        other.record("use", "user:one", "d")  # in the file of the next day
        other.totals()
        return write(state, **how)

    one.record("use", "user:one", "d")
    monkeypatch.setattr(StateDatabase, "write", wait_and_write)
    assert [total.uses for total in one.totals()] == [2]
    assert [total.uses for total in one.totals()] == [2]
    one.state.close()
    other.state.close()


def test_counts_last(usage: Usage, tmp_path: Path) -> None:
    usage.record("use", "deploy", "d")
    before = usage.totals()
    usage.record("use", "deploy", "d")
    usage.state.close()
    usage.state.close()
    other = Usage(StateDatabase(str(tmp_path)), Ticking())
    after = other.of("deploy")
    other.state.close()
    assert after and after == before[0]._replace(uses=2, last=3 * SECOND, last_used=3 * SECOND)
    assert usage.of("deploy") == after


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_is_counted_under_itself(usage: Usage, name: str) -> None:
    for text in (name, f"{name}x"):
        assert usage.record("use", text, text, version=text)
    assert [total[:5] for total in usage.totals()] == [(name, "", name, 0, 1), (f"{name}x", "", f"{name}x", 0, 1)]
    assert usage.versions(name)[0][:5] == (name, name, name, 0, 1)
    assert usage.problems == ()


@given(st.builds(Event, st.integers(1, 2**63 - 1), st.sampled_from(sorted(KINDS)), texts, texts, texts))
@settings(max_examples=200, deadline=None)
def test_an_event_is_one_line_and_comes_back(event: Event) -> None:
    line = encode(event)
    assert line[:1] == line[-1:] == b"\n" and b"\n" not in line[1:-1]
    assert decode(line[1:-1]) == event


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_totals_are_those_of_a_plain_model(data: st.DataObject) -> None:
    events = st.tuples(
        st.integers(-5, 20),
        st.sampled_from(sorted(KINDS)),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["", "x", "y"]),
        st.sampled_from(["", "1"]),
    )
    steps = data.draw(st.lists(st.one_of(events, st.sampled_from(["read", "close", "a>b", "b>c", "c>c", "d>a"]))))
    model: list[tuple[int, str, str, str, str]] = []
    now = 0
    with tempfile.TemporaryDirectory() as state:
        usage = Usage(StateDatabase(state), lambda: now)
        for step in steps:
            if isinstance(step, tuple):
                now, kind, skill, digest, version = step
                assert usage.record(kind, skill, digest, version=version)  # type: ignore[arg-type]  # it is among KINDS
                model.append((max(now, 1), *step[1:]))
            elif step == "read":
                assert usage.totals() == expected(model)
            elif step == "close":
                usage.state.close()
            else:
                old, new = step.split(">")
                assert usage.rename(old, new) == (old != new and any(event[2] == old for event in model))
                model = [(*event[:2], new if event[2] == old else event[2], *event[3:]) for event in model]
        assert usage.totals() == expected(model)
        for skill in "abc":
            parts = [event for event in model if event[2] == skill]
            digests = {event[3] for event in parts}
            found = {total.digest: total._replace(digest="") for total in usage.versions(skill)}
            assert found == {one: expected([event for event in parts if event[3] == one])[0] for one in digests}
        assert usage.problems == ()
        usage.state.close()


def expected(events: list[tuple[int, str, str, str, str]]) -> tuple[Total, ...]:
    totals = []
    for skill in sorted({event[2] for event in events}):
        own = [event for event in events if event[2] == skill]
        counts = [sum(event[1] == kind for event in own) for kind in ("view", "use", "patch")]
        outcomes = [sum(event[1] == kind for event in own) for kind in ("helped", "failed", "corrected")]
        times = [event[0] for event in own]
        used = max((event[0] for event in own if event[1] == "use"), default=0)
        viewed = max((event[0] for event in own if event[1] == "view"), default=0)
        version = "1" if any(event[4] for event in own) else ""
        totals.append(Total._make((skill, "", version, *counts, *outcomes, min(times), used, viewed, max(times))))
    return tuple(totals)


def test_a_clock_that_goes_backwards_or_mad_costs_no_count(tmp_path: Path) -> None:
    times = iter([50 * SECOND, 20 * SECOND, -7, 2**80, 30 * SECOND])
    usage = Usage(StateDatabase(str(tmp_path)), lambda: next(times, 0))
    assert [usage.record("use", "a", "d") for _ in range(5)] == [True] * 5
    assert usage.of("a") == Total("a", uses=5, first=1, last_used=2**63 - 1, last=2**63 - 1)
    usage.state.close()


# --- renaming -------------------------------------------------------------------------------------------------------


def test_a_renamed_skill_takes_its_history_along(usage: Usage) -> None:
    usage.record("use", "old", "x", version="1")
    usage.totals()
    usage.record("view", "old", "y")
    usage.record("use", "new", "x")
    assert usage.rename("old", "new")
    assert usage.totals() == (Total("new", "", "1", 1, 2, 0, 0, 0, 0, SECOND, 4 * SECOND, 3 * SECOND, 4 * SECOND),)
    assert [total[:5] for total in usage.versions("new")] == [("new", "x", "1", 0, 2), ("new", "y", "", 1, 0)]
    assert not usage.rename("old", "new")
    assert not usage.rename("new", "new")
    assert usage.record("use", "old", "z")
    assert [total.skill for total in usage.totals()] == ["new", "old"]


# --- damaged lines --------------------------------------------------------------------------------------------------


def test_torn_and_garbage_lines_cost_nothing_but_themselves(usage: Usage, tmp_path: Path) -> None:
    torn = encode(Event(1, "use", "torn", "d"))[:-3]
    unknown = encode(Event(1, "use", "x", "d")).replace(b"use", b"eat")
    garbage = [b"\xff\xfe\0", b"\n\n\n", b"00000000\tx\n", torn, unknown, torn + torn, b"\r\n\r"]
    for number, junk in enumerate(garbage):
        assert usage.record("use", f"skill-{number}", "d")
        with open(tmp_path / "usage" / LOG, "ab") as file:
            file.write(junk)
    assert usage.record("use", "skill-7", "d")
    assert [(total.skill, total.uses) for total in usage.totals()] == [(f"skill-{number}", 1) for number in range(8)]
    assert usage.problems == ()


@given(st.binary(max_size=300), st.binary(max_size=5000))
@settings(max_examples=40, deadline=None)
def test_no_bytes_in_a_log_are_fatal(before: bytes, after: bytes) -> None:
    with tempfile.TemporaryDirectory() as state:
        usage = Usage(StateDatabase(state), Ticking())
        os.mkdir(os.path.join(state, "usage"))
        with open(os.path.join(state, "usage", LOG), "wb") as file:
            file.write(before)
        assert usage.record("use", "a", "d")
        with open(os.path.join(state, "usage", LOG), "ab") as file:
            file.write(after)
        assert usage.record("use", "b", "d")
        assert [(total.skill, total.uses) for total in usage.totals()] == [("a", 1), ("b", 1)]
        usage.state.close()


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_changed_byte_costs_one_event_at_most(data: st.DataObject) -> None:
    lines = [encode(Event(1, "use", name, "d")) for name in ("a", "b%", "c")]
    log = bytearray(b"".join(lines))
    at = data.draw(st.integers(0, len(log) - 1))
    log[at] ^= data.draw(st.integers(1, 255))
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "events.log"), "wb") as file:
            file.write(log)
        found = [event.skill for event in Log(directory).read("events.log")[0]]
    assert len(found) >= 2 and set(found) <= {"a", "b%", "c"}


# --- what cannot be recorded ----------------------------------------------------------------------------------------


def test_a_failure_to_record_is_counted_and_not_raised(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    usage = Usage(StateDatabase(str(tmp_path / "file")), Ticking())
    assert [usage.record("use", "a", "d") for _ in range(2)] == [False, False]
    assert (usage.totals(), usage.of("a"), usage.rename("a", "b")) == ((), None, False)
    unrecorded = usage.problems[-1]
    assert (unrecorded.code, unrecorded.severity) == ("usage-not-recorded", "warning")
    assert unrecorded.message.startswith("2 events could not be recorded: ") and "Not a directory" in unrecorded.message


@pytest.mark.parametrize(
    ("kind", "skill", "why"),
    [
        ("eat", "a", "'eat' is not a kind of event"),
        ("use", "a" * 5000, "[Errno 90] the event has more than 4,096 bytes"),
        ("use", None, "'NoneType' object has no attribute 'translate'"),
    ],
)
def test_an_event_that_is_none_is_not_recorded(usage: Usage, kind: Any, skill: Any, why: str) -> None:
    assert not usage.record(kind, skill, "d")
    assert [entry.message.replace("[Errno 40]", "[Errno 90]") for entry in usage.problems] == [
        f"1 event could not be recorded: {why}."
    ]
    assert usage.totals() == ()


def test_a_clock_that_fails_is_no_failure_of_the_caller(tmp_path: Path) -> None:
    usage = Usage(StateDatabase(str(tmp_path)), lambda: 1 // 0)
    assert not usage.record("use", "a", "d")
    assert codes(usage) == ["usage-not-recorded"]


# --- several at once ------------------------------------------------------------------------------------------------


def test_whoever_makes_the_log_large_counts_it(usage: Usage) -> None:
    events = LARGE // 3000 + 5
    for _ in range(events):
        assert usage.record("use", "a", "d" * 3000)
    ((uses,),) = usage.state.read("SELECT uses FROM usage_counts")
    assert LARGE // 3100 <= uses < events
    assert [total.uses for total in usage.totals()] == [events]


def test_whoever_reads_does_not_wait_for_ever(tmp_path: Path) -> None:
    usage = Usage(StateDatabase(str(tmp_path), busy_ms=10), Ticking())
    usage.record("use", "a", "x", version="1")
    usage.totals()
    for name in ("a", "b"):
        usage.record("use", name, "x")
    other = StateDatabase(str(tmp_path))
    with other.write():
        assert [(total.skill, total.version, total.uses) for total in usage.totals()] == [("a", "1", 2), ("b", "", 1)]
        assert [total.uses for total in usage.versions("a")] == [2]
        assert codes(usage) == ["usage-unavailable"]
        assert not usage.rename("a", "b")
    assert [(total.skill, total.version, total.uses) for total in usage.totals()] == [("a", "1", 2), ("b", "", 1)]
    assert usage.problems == ()
    usage.state.close()
    other.close()


def test_threads_share_it(usage: Usage) -> None:
    def work(number: int) -> None:
        for step in range(100):
            assert usage.record("use", f"skill-{number}", "d")
            if step % 25 == number:
                usage.totals()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(total.skill, total.uses) for total in usage.totals()] == [(f"skill-{number}", 100) for number in range(4)]


FORKED = """
import os, sys
from whet.learning.usage import Usage
from whet.store.state import StateDatabase
usage = Usage(StateDatabase(sys.argv[1]), lambda: 1)
usage.record("use", "a", "d")
assert usage.of("a").uses == 1
child = os.fork()
usage.record("use", "a", "d")
uses = usage.of("a").uses
usage.state.close()
if child:
    assert os.waitpid(child, 0)[1] == 0
    uses = usage.of("a").uses
    usage.state.close()
print(uses, usage.problems)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_takes_it_along(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", FORKED, str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "3 ()"
