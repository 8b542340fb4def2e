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

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def usage(tmp_path: Path) -> Usage:
    return Usage(str(tmp_path), system_clock)


def files(state: Path) -> list[str]:
    """What lies in the directory of usage, without SQLite's companions."""
    return sorted(name for name in os.listdir(state / "usage") if not name.endswith(("-wal", "-shm")))


def codes(usage: Usage) -> list[str]:
    return [entry.code for entry in usage.problems]


# --- what may not, or cannot, be written ----------------------------------------------------------------------------


READ_ONLY = (
    """
import json, os, sqlite3, sys, urllib.parse
import whet.learning.usage_counts, whet.store.database
from whet.learning.usage import Usage
from whet.store.clock import system_clock
"""
    + GIVE_UP
    + """
home = sys.argv[1] + "/home"
place = home + "/usage"

def state():
    usage = Usage(home, system_clock)
    counts = [(total.skill, total.uses) for total in usage.totals()]
    answer = usage.record("use", "a", "d"), counts, usage.rename("x", "y"), [entry.code for entry in usage.problems]
    usage.close()
    return answer

answers = {}
os.mkdir(home, 0o555)
answers["empty"] = state()
os.chmod(home, 0o755)
usage = Usage(home, system_clock)
usage.record("use", "a", "d"); usage.totals(); usage.record("use", "a", "d"); usage.close()
os.chmod(place + "/events.log", 0o444)
os.chmod(place, 0o555)
answers["directory"] = state()
os.chmod(place, 0o000)
answers["unreadable"] = state()
os.chmod(place, 0o755)
os.chmod(place + "/usage.db", 0o444)
answers["files"] = state()
answers["names"] = sorted(name for name in os.listdir(place) if not name.endswith(("-wal", "-shm")))
for name in os.listdir(place):
    os.chmod(place + "/" + name, 0o755)
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
        "directory": [False, [["a", 2]], False, both],
        "unreadable": [False, [], False, both],
        "files": [False, [["a", 2]], False, both],
        "names": ["events.log", "locks", "usage.db"],
        "writable": [True, [["a", 2]], False, []],
    }


FULL = """
import json, os, subprocess, sys
from whet.learning.usage import Usage
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
usage = Usage(home, system_clock)
recorded = sum(usage.record("use", "a", "d") for _ in range(10))
assert usage.of("a").uses == recorded == 10, usage.problems
fill()
answers = [usage.record("use", "a", "d", session="s" * 100) for _ in range(100)]
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
    return tmp_path / "usage" / "usage.db"


def broken(state: Path) -> list[Path]:
    return [path for path in state.glob("usage/usage.db.broken-*") if not path.name.endswith(("-wal", "-shm"))]


def test_damaged_counts_are_set_aside_and_saved_as_far_as_they_go(usage: Usage, tmp_path: Path) -> None:
    path = many(usage, tmp_path)
    data = bytearray(path.read_bytes())
    page = data.index(b"skill-200") // 4096
    data[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    path.write_bytes(data)
    assert usage.record("use", "skill-000", "d" * 64)
    totals = usage.totals()
    assert 300 < len(totals) < 400 and totals[0].uses == 2
    rebuilt = usage.problems[0]
    assert (rebuilt.code, rebuilt.severity) == ("usage-rebuilt", "warning")
    (aside,) = broken(tmp_path)
    assert rebuilt.message == (
        f"The usage counts were damaged and set aside as {aside}; those of {len(totals)} skill versions were saved."
    )
    assert "Lost: counts: " in rebuilt.hint
    assert usage.record("use", "skill-200", "d" * 64)
    assert usage.of("skill-200") is not None
    again = Usage(str(tmp_path), system_clock)
    assert (len(again.totals()), again.problems) == (len(totals) + 1, ())


@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\0" + b"\xee" * 5000, b"\0" * 8192])
def test_a_file_that_is_no_database_is_set_aside(usage: Usage, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "usage" / "usage.db"
    path.parent.mkdir()
    path.write_bytes(content)
    assert usage.record("use", "a", "d")
    assert [(total.skill, total.uses) for total in usage.totals()] == [("a", 1)]
    assert codes(usage) == ["usage-rebuilt"]
    (aside,) = broken(tmp_path)
    assert aside.read_bytes() == content


def test_a_missing_table_is_made_again(usage: Usage, tmp_path: Path) -> None:
    path = many(usage, tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE damage")
    connection.close()
    usage.record("use", "skill-000", "d" * 64)
    totals = usage.totals()
    assert (len(totals), totals[0].uses, codes(usage)) == (400, 2, ["usage-rebuilt"])


def test_rows_that_are_no_counts_are_left_out(usage: Usage, tmp_path: Path) -> None:
    path = many(usage, tmp_path)
    with sqlite3.connect(path) as connection:
        for number, (column, value) in enumerate(
            [("uses", "many"), ("uses", -1), ("skill", "text"), ("digest", b"\xff"), ("version", 1), ("last", 1.5)]
        ):
            connection.execute(f"UPDATE counts SET {column} = ? WHERE skill = ?", (value, b"skill-%03d" % number))
        connection.execute("INSERT INTO damage VALUES (1, 'some', 'once')")
    connection.close()
    assert len(usage.totals()) == 394
    assert [entry.message for entry in usage.problems] == ["Damaged and left out: 6 rows of the database."]


@pytest.mark.parametrize("pragma", ["application_id = 7", "user_version = 99"])
def test_a_database_of_somebody_else_is_left_alone(usage: Usage, tmp_path: Path, pragma: str) -> None:
    path = many(usage, tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA {pragma}")
    connection.close()
    before = path.read_bytes()
    assert usage.record("use", "new", "d")
    for _ in range(2):
        assert [(total.skill, total.uses) for total in usage.totals()] == [("new", 1)]
    assert (codes(usage), usage.rename("new", "old")) == (["usage-unavailable"], False)
    assert path.read_bytes() == before
    assert files(tmp_path) == ["events.log", "locks", "usage.db"]


def test_damage_met_while_recording_is_left_to_the_next_reader(usage: Usage, tmp_path: Path) -> None:
    path = tmp_path / "usage" / "usage.db"
    path.parent.mkdir()
    path.write_bytes(b"not a database")
    for _ in range(100):
        assert usage.record("use", "a", "d", session="s" * 3000)
    assert path.read_bytes() == b"not a database"
    assert codes(usage) == ["usage-unavailable"]
    assert ([total.uses for total in usage.totals()], codes(usage)) == ([100], ["usage-rebuilt"])
