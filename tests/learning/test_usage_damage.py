"""Usage where the disk is full, the files may not be written, or the database is not as it should be."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from shutil import rmtree
from typing import TYPE_CHECKING

import pytest
from rights import GIVE_UP

from whet.learning.usage import Usage
from whet.store.clock import system_clock
from whet.store.repair import repair_state
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def usage(tmp_path: Path) -> Usage:
    return Usage(StateDatabase(str(tmp_path)), system_clock)


def files(state: Path) -> list[str]:
    """What lies in the directory of usage, without SQLite's companions."""
    return sorted(name for name in os.listdir(state / "usage") if not name.endswith(("-wal", "-shm")))


def codes(usage: Usage) -> list[str]:
    return [entry.code for entry in usage.problems]


# --- what may not, or cannot, be written ----------------------------------------------------------------------------


READ_ONLY = (
    """
import glob, json, os, sqlite3, sys, urllib.parse
import whet.learning.usage, whet.store.database
from whet.learning.usage import Usage
from whet.store.state import StateDatabase
from whet.store.clock import system_clock
"""
    + GIVE_UP
    + """
home = sys.argv[1] + "/home"
place = home + "/usage"

def state():
    usage = Usage(StateDatabase(home), system_clock)
    counts = [(total.skill, total.uses) for total in usage.totals()]
    answer = usage.record("use", "a", "d"), counts, usage.rename("x", "y"), [entry.code for entry in usage.problems]
    usage.state.close()
    return answer

answers = {}
os.mkdir(home, 0o555)
answers["empty"] = state()
os.chmod(home, 0o755)
usage = Usage(StateDatabase(home), system_clock)
usage.record("use", "a", "d"); usage.totals(); usage.record("use", "a", "d"); usage.state.close()
(log,) = glob.glob(place + "/events*.log")
os.chmod(log, 0o444)
os.chmod(place, 0o555)
answers["directory"] = state()
os.chmod(place, 0o000)
answers["unreadable"] = state()
os.chmod(place, 0o755)
os.chmod(home + "/state.db", 0o444)
answers["files"] = state()
for name in (*glob.glob(home + "/state.db*"), *(place + "/" + name for name in os.listdir(place))):
    os.chmod(name, 0o755)
answers["writable"] = state()
print(json.dumps(answers))
"""
)


def test_what_may_not_be_written_is_read_all_the_same() -> None:
    place = tempfile.mkdtemp(prefix="whet-test-")
    os.chmod(place, 0o777)
    try:
        command = [sys.executable, "-W", "error", "-c", READ_ONLY, place]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    finally:
        rmtree(place)
    both = ["usage-unavailable", "usage-not-recorded"]
    assert json.loads(done.stdout) == {
        "empty": [False, [], False, both],
        "directory": [False, [["a", 2]], False, both[1:]],
        "unreadable": [False, [["a", 2]], False, both],
        "files": [False, [["a", 2]], False, both[1:]],
        "writable": [True, [["a", 2]], False, []],
    }


FULL = """
import json, os, subprocess, sys
from whet.learning.usage import Usage
from whet.store.state import StateDatabase
from whet.store.clock import system_clock
home = sys.argv[1]
if len(sys.argv) > 2:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "whet-test", home], check=True)
def fill():
    with open(home + "/filler", "wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                pass
usage = Usage(StateDatabase(home), system_clock)
recorded = sum(usage.record("use", "a", "d") for _ in range(10))
assert usage.of("a").uses == recorded == 10, usage.problems
fill()
answers = [usage.record("use", "a", "d") for _ in range(100)]
recorded += sum(answers)
usage.totals()
while_full = [entry.code for entry in usage.problems]
os.unlink(home + "/filler")
usage.record("use", "a", "d")
print(json.dumps([all(answers), while_full, usage.of("a").uses - recorded, [entry.code for entry in usage.problems]]))
"""


def test_a_full_disk_costs_only_what_finds_no_room(tmp_path: Path) -> None:
    unshare = ("unshare", "--user", "--map-root-user", "--mount")
    try:
        probe = (*unshare, "mount", "-t", "tmpfs", "whet-test", str(tmp_path))
        mountable = subprocess.run(probe, capture_output=True).returncode == 0
    except FileNotFoundError:
        mountable = False
    if not mountable:
        pytest.skip("this machine lets nobody mount a file system of their own")
    command = [*unshare, sys.executable, "-W", "error", "-c", FULL, str(tmp_path), "mount"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    both = ["usage-unavailable", "usage-not-recorded"]
    assert json.loads(done.stdout) == [False, both, 1, ["usage-not-recorded"]]


# --- a database that is not as it should be -------------------------------------------------------------------------


def many(usage: Usage, tmp_path: Path) -> Path:
    for number in range(400):
        usage.record("use", f"skill-{number:03}", "d" * 64)
    assert len(usage.totals()) == 400
    usage.state.close()
    return tmp_path / "state.db"


def test_damaged_counts_are_an_error_and_saved_by_a_repair(usage: Usage, tmp_path: Path) -> None:
    path = many(usage, tmp_path)
    data = bytearray(path.read_bytes())
    page = data.index(b"skill-200") // 4096
    data[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    path.write_bytes(data)
    assert usage.record("use", "skill-000", "d" * 64), "recording waits for nothing"
    usage.totals()
    (problem,) = usage.problems
    assert (problem.code, problem.severity, problem.path) == ("usage-unavailable", "warning", str(path))
    assert "doctor --repair" in problem.hint and path.read_bytes() == data
    usage.state.close()
    repaired = repair_state(str(tmp_path))
    assert any(sentence.startswith("usage_counts: ") for sentence in repaired.lost)
    totals = usage.totals()
    assert 300 < len(totals) < 400 and totals[0].uses == 2 and usage.problems == ()
    assert usage.record("use", "skill-200", "d" * 64) and usage.of("skill-200") is not None


@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\0" + b"\xee" * 5000, b"\0" * 8192])
def test_a_file_that_is_no_database_costs_nothing_that_is_in_the_log(
    usage: Usage, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    assert usage.record("use", "a", "d")
    assert [(total.skill, total.uses) for total in usage.totals()] == [("a", 1)]
    assert codes(usage) == ["usage-unavailable"] and path.read_bytes() == content
    repair_state(str(tmp_path))
    assert [(total.skill, total.uses) for total in usage.totals()] == [("a", 1)]
    assert codes(usage) == []


def test_a_missing_table_is_told_of_and_made_again_by_a_repair(usage: Usage, tmp_path: Path) -> None:
    path = many(usage, tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE usage_logs")
    connection.close()
    usage.record("use", "skill-000", "d" * 64)
    usage.totals()
    assert codes(usage) == ["usage-unavailable"]
    usage.state.close()
    repaired = repair_state(str(tmp_path))
    assert repaired.lost == ("usage_logs: the table is missing",)
    assert len(usage.totals()) == 400 and codes(usage) == []


def test_rows_that_are_no_counts_are_left_out(usage: Usage, tmp_path: Path) -> None:
    path = many(usage, tmp_path)
    with sqlite3.connect(path) as connection:
        for number, (column, value) in enumerate(
            [("uses", "many"), ("uses", -1), ("skill", "text"), ("digest", b"\xff"), ("version", 1), ("last", 1.5)]
        ):
            connection.execute(f"UPDATE usage_counts SET {column} = ? WHERE skill = ?", (value, b"skill-%03d" % number))
    connection.close()
    assert len(usage.totals()) == 394
    assert usage.problems == ()


@pytest.mark.parametrize("pragma", ["application_id = 7", "user_version = 99"])
def test_a_database_of_somebody_else_is_left_alone(usage: Usage, tmp_path: Path, pragma: str) -> None:
    path = many(usage, tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA {pragma}")
    connection.close()
    before = path.read_bytes()
    assert usage.record("use", "new", "d")
    for _ in range(2):
        assert [(total.skill, total.uses) for total in usage.totals()][:2] == [("new", 1), ("skill-000", 1)]
    assert (codes(usage), usage.rename("new", "old")) == (["usage-unavailable"], False)
    assert path.read_bytes() == before


def test_damage_met_while_recording_is_left_to_the_next_reader(usage: Usage, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"not a database")
    for _ in range(100):
        assert usage.record("use", "a", "d" * 3000)
    assert path.read_bytes() == b"not a database"
    assert ([total.uses for total in usage.totals()], codes(usage)) == ([100], ["usage-unavailable"])
