"""Processes that are really killed, at every step and at random moments: afterwards all is old or new, and whole."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import count
from time import sleep
from typing import TYPE_CHECKING

import pytest
from chaos.kill import Victim

from whet.store.atomic import clean_leftovers, leftovers
from whet.store.blobs import Blobs
from whet.store.database import Database, Schema, check
from whet.store.repair import repair

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = True

ARMED = """
from chaos.kill import arm, serve
import os, whet.store.atomic
from whet.store.atomic import replace_directory, staging, write_bytes
from whet.store.database import Schema
from whet.store.repair import repair

def act(line):
    step, path = line.split("\\t")
    arm(int(step))
    change(path)

serve(act)
"""
ARMED_FILE = "def change(path): write_bytes(path, b'new' * 100000)" + ARMED
ARMED_DIRECTORY = (
    """
def change(path):
    with staging(path) as staged:
        for name in ("a", "b"):
            write_bytes(os.path.join(staged, name), b"new", durable=False)
        replace_directory(staged, path)
"""
    + ARMED
)
ARMED_ASIDE = ARMED_DIRECTORY.replace("(path):", "(path):\n    whet.store.atomic.exchange = lambda *_: False", 1)
ARMED_REPAIR = "def change(path): repair(path, Schema(13, ('CREATE TABLE line (x INTEGER)',)))" + ARMED

FILES = """
import sys
from whet.store.atomic import write_bytes
number = int(sys.argv[2])
while True:
    number += 1
    write_bytes(sys.argv[1], b"%d\\n" % number + bytes([number % 251]) * 200000)
    print(number, flush=True)
"""
DIRECTORIES = """
import os, sys
from whet.store.atomic import replace_directory, staging, write_text
number = int(sys.argv[2])
while True:
    number += 1
    with staging(sys.argv[1]) as staged:
        for file in range(8):
            write_text(os.path.join(staged, str(file)), str(number), durable=False)
        replace_directory(staged, sys.argv[1])
    print(number, flush=True)
"""
ROWS = """
import sys
from whet.store.database import Database, Schema
number = int(sys.argv[2])
schema = Schema(11, ("CREATE TABLE line (number INTEGER, filler TEXT)",))
with Database.open(sys.argv[1], schema, durable=True) as database:
    while True:
        number += 1
        with database.write() as connection:
            connection.executemany("INSERT INTO line VALUES (?, ?)", [(number, "x" * 3000), (-number, "y" * 3000)])
        print(number, flush=True)
"""
MIGRATIONS = """
import sys
from whet.store.database import Database, Schema
print(0, flush=True)
Database.open(sys.argv[1], Schema(12, tuple(sys.argv[3:])), durable=True).close()
"""
BLOBS = """
import sys
from whet.store.blobs import Blobs
number = int(sys.argv[2])
while True:
    number += 1
    print(Blobs(sys.argv[1]).put(b"%d" % number * 20000), flush=True)
"""


def killed(script: str, *arguments: str, seconds: float) -> list[str]:
    """Run the script, kill it so long after its first line of output, and return the lines it wrote."""
    with subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        sleep(random.uniform(0, seconds))
        process.kill()
        lines = [first, *process.stdout]
    return [line.strip() for line in lines if line.endswith("\n")]


def test_a_writer_killed_at_any_step_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    seen = []
    with Victim(ARMED_FILE) as victim:
        for step in range(1, 30):
            path.write_bytes(b"old")
            finished = not victim.killed(step, path)
            seen.append(path.read_bytes()[:3])
            assert path.read_bytes() in (b"old", b"new" * 100000)
            assert {cleaned.outcome for cleaned in clean_leftovers(str(tmp_path))} <= {"removed"}
            assert os.listdir(tmp_path) == ["a"]
            if finished:
                break
    assert finished and seen == sorted(seen, reverse=True) and set(seen) == {b"old", b"new"}


@pytest.mark.parametrize(
    ("armed", "expected"),
    [(ARMED_DIRECTORY, {"removed"}), (ARMED_ASIDE, {"removed", "restored"})],
    ids=["swapped", "stepping aside"],
)
def test_a_writer_killed_at_any_step_leaves_the_old_directory_or_the_new_one(
    tmp_path: Path, armed: str, expected: set[str]
) -> None:
    target = tmp_path / "skill"
    seen, outcomes = [], set()
    with Victim(armed) as victim:
        for step in range(1, 60):
            if not target.exists():
                target.mkdir()
            for name in ("a", "b"):
                (target / name).write_text("old")
            finished = not victim.killed(step, target)
            outcomes |= {cleaned.outcome for cleaned in clean_leftovers(str(tmp_path))}
            contents = {path.name: path.read_text() for path in target.iterdir()}
            seen.append(contents["a"])
            assert contents == dict.fromkeys(("a", "b"), contents["a"])
            assert os.listdir(tmp_path) == ["skill"]
            if finished:
                break
    assert finished and seen == sorted(seen, reverse=True) and set(seen) == {"old", "new"}
    assert outcomes in (expected, {"removed", "restored"}), "a system that cannot swap steps aside"


def test_a_repair_killed_at_any_step_loses_no_row(tmp_path: Path, *, quick: bool) -> None:
    schema = Schema(13, ("CREATE TABLE line (x INTEGER)",))
    source = tmp_path / "source" / "state.db"
    with Database.open(str(source), schema, durable=True) as database:
        for number in range(2):
            with database.write() as connection:
                connection.executemany("INSERT INTO line VALUES (?)", [(number,)] * 50)
            if number == 0:
                database.read("PRAGMA wal_checkpoint(TRUNCATE)")
        files = {name: (source.parent / name).read_bytes() for name in ("state.db", "state.db-wal")}
    with Victim(ARMED_REPAIR) as victim:
        for step in count(1, 7 if quick else 1):
            home = tmp_path / str(step)
            home.mkdir()
            for name, data in files.items():
                (home / name).write_bytes(data)
            finished = not victim.killed(step, home / "state.db")
            assert (home / "state.db").exists()
            clean_leftovers(str(home))
            repair(str(home / "state.db"), schema)
            with Database.open(str(home / "state.db"), schema, durable=True) as database:
                assert database.read("SELECT x, count(*) FROM line GROUP BY x") == [(0, 50), (1, 50)]
            if finished:
                break
    assert finished


def test_a_file_is_whole_and_no_older_than_acknowledged_after_random_kills(tmp_path: Path) -> None:
    path, number = tmp_path / "a", 0
    for _ in range(8):
        acknowledged = int(killed(FILES, str(path), str(number), seconds=0.03)[-1])
        head, _, rest = path.read_bytes().partition(b"\n")
        number = int(head)
        assert number in (acknowledged, acknowledged + 1)
        assert rest == bytes([number % 251]) * 200000
    clean_leftovers(str(tmp_path))
    assert os.listdir(tmp_path) == ["a"]


def test_a_directory_is_whole_and_no_older_than_acknowledged_after_random_kills(tmp_path: Path) -> None:
    target, number = tmp_path / "skill", 0
    for _ in range(10):
        acknowledged = int(killed(DIRECTORIES, str(target), str(number), seconds=0.03)[-1])
        clean_leftovers(str(tmp_path))
        assert leftovers(str(tmp_path)) == []
        contents = {path.name: path.read_text() for path in target.iterdir()}
        number = int(contents["0"])
        assert number in (acknowledged, acknowledged + 1)
        assert contents == {str(file): str(number) for file in range(8)}


def test_every_acknowledged_row_is_there_after_random_kills(tmp_path: Path) -> None:
    path, number = str(tmp_path / "state.db"), 0
    for _ in range(10):
        acknowledged = int(killed(ROWS, path, str(number), seconds=0.05)[-1])
        assert check(path) is None
        with Database.open(path, Schema(11, ("",)), durable=True) as database:
            numbers = [row[0] for row in database.read("SELECT number FROM line ORDER BY abs(number), number DESC")]
        number = len(numbers) // 2
        assert number in (acknowledged, acknowledged + 1)
        assert numbers == [sign * value for value in range(1, number + 1) for sign in (1, -1)]


def test_a_migration_is_whole_or_not_there_after_random_kills(tmp_path: Path) -> None:
    count = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) SELECT x FROM n"
    migrations = tuple(f"CREATE TABLE t{number} (x INTEGER); INSERT INTO t{number} {count};" for number in range(6))
    for attempt in range(6):
        path = str(tmp_path / f"{attempt}.db")
        killed(MIGRATIONS, path, "0", *migrations, seconds=0.04)
        with Database.open(path, Schema(12, migrations), durable=True) as database:
            assert [database.read(f"SELECT count(*) FROM t{number}") for number in range(6)] == [[(5000,)]] * 6
            assert database.read("PRAGMA user_version") == [(6,)]


def test_every_acknowledged_blob_is_there_after_random_kills(tmp_path: Path) -> None:
    blobs, digests = Blobs(str(tmp_path / "blobs")), list[str]()
    for _ in range(6):
        digests += killed(BLOBS, blobs.directory, str(len(digests)), seconds=0.03)
        assert set(digests) <= set(blobs.digests())
    for digest in blobs.digests():
        blobs.get(digest)
