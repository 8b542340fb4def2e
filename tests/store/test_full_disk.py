"""Disks that are really full: a small file system of our own where one can be mounted, and a file size limit."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

WORK = """
import json, os, sys
from whet.errors import FailedError
from whet.store.atomic import leftovers, replace_directory, staging, write_bytes
from whet.store.blobs import Blobs
from whet.store.database import Database, Schema, check

home = sys.argv[1]
def code(action):
    try:
        action()
    except FailedError as error:
        assert error.hint and error.details["path"], error
        return error.code
    return None

def file():
    write_bytes(home + "/a", b"old" * 1000)
    answer = code(lambda: write_bytes(home + "/a", b"new" * 300000))
    return answer, open(home + "/a", "rb").read() == b"old" * 1000

def directory():
    def replace():
        with staging(home + "/skill") as staged:
            for number in range(3):
                write_bytes(staged + f"/{number}", content * number)
            replace_directory(staged, home + "/skill")
    content = b"old"
    replace()
    content = b"new" * 100000
    answer = code(replace)
    contents = {name: open(home + "/skill/" + name, "rb").read() for name in os.listdir(home + "/skill")}
    return answer, contents == {str(number): b"old" * number for number in range(3)}

def blobs():
    store = Blobs(home + "/blobs")
    first = store.put(b"first")
    return code(lambda: store.put(b"x" * 900000)), list(store.digests()) == [first]

def database():
    rows = 0
    def fill():
        nonlocal rows
        while True:
            with database.write() as connection:
                connection.execute("INSERT INTO line VALUES (?)", ("x" * 2000,))
            rows += 1
    path, schema = home + "/state.db", Schema(1, ("CREATE TABLE line (x)",))
    with Database.open(path, schema, durable=True) as database:
        answer = code(fill)
        count = database.read("SELECT count(*) FROM line")[0][0]
    return answer, count == rows, check(path)

def reading():
    path, schema = home + "/other.db", Schema(1, ("CREATE TABLE line (x)",))
    def add():
        with database.write() as connection:
            connection.execute("INSERT INTO line VALUES (1)")
    def count():
        return database.read("SELECT count(*) FROM line")[0][0]
    with Database.open(path, schema, durable=True) as database:
        add()
    try:
        with open(home + "/filler", "wb", buffering=0) as filler:
            while filler.write(bytes(4096)) == 4096:
                pass
    except OSError:
        pass
    with Database.open(path, schema, durable=True) as database:
        before = count(), database.read_only, code(add)
        os.unlink(home + "/filler")
        add()
        return *before, count(), database.read_only, check(path)

def report(*more):
    answers = {action.__name__: action() for action in (*more, file, directory, blobs, database)}
    print(json.dumps({**answers, "left": leftovers(home)}))
"""

MOUNTED = (
    WORK
    + """
import subprocess
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "whet-test", home], check=True)
report(reading)
"""
)

LIMITED = (
    WORK
    + """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
report()
"""
)


def answers(*command: str) -> Any:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_full_disk_is_said_and_costs_nothing(tmp_path: Path) -> None:
    unshare = ("unshare", "--user", "--map-root-user", "--mount")
    probe = (*unshare, "mount", "-t", "tmpfs", "whet-test", str(tmp_path))
    try:
        mountable = subprocess.run(probe, capture_output=True).returncode == 0
    except FileNotFoundError:
        mountable = False
    if not mountable:
        pytest.skip("this machine lets nobody mount a file system of their own")
    assert answers(*unshare, sys.executable, "-c", MOUNTED, str(tmp_path)) == {
        "reading": [1, True, "disk-full", 2, False, None],
        "file": ["disk-full", True],
        "directory": ["disk-full", True],
        "blobs": ["disk-full", True],
        "database": ["disk-full", True, None],
        "left": [],
    }


def test_a_file_size_limit_is_said_and_costs_nothing(tmp_path: Path) -> None:
    # SQLite does not say why a write was refused, so for a database the limit looks like a disk that fails.
    assert answers(sys.executable, "-c", LIMITED, str(tmp_path)) == {
        "file": ["disk-full", True],
        "directory": ["disk-full", True],
        "blobs": ["disk-full", True],
        "database": ["state-failed", True, None],
        "left": [],
    }
