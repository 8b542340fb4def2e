"""What may not be written. The work is done by a process without privileges, also when the tests run as root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pytest
from rights import GIVE_UP

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMON = (
    """
import ctypes, json, os, shutil, sys, urllib.parse
from whet.errors import FailedError
from whet.store.atomic import clean_leftovers, replace_directory, write_bytes
from whet.store.directories import make_directories
from whet.store.blobs import Blobs
from whet.store.database import Database, Schema, check, rebuildable, set_aside
from whet.store.locks import FileLock
"""
    + GIVE_UP
    + """
home = sys.argv[1] + "/home"
os.mkdir(home)
OLD, NEW = Schema(3, ("CREATE TABLE line (x)",)), Schema(3, ("CREATE TABLE line (x)", "CREATE TABLE more (x)"))

def code(action):
    try:
        action()
    except FailedError as error:
        assert error.hint and error.details["path"], error
        return error.code
    return None

def protect(mode=0o555):
    os.chmod(home, mode)

def lock():
    with FileLock(home + "/a.lock", timeout=0):
        pass

def insert(database):
    with database.write() as connection:
        connection.execute("INSERT INTO line VALUES (1)")
"""
)

FILES = """
write_bytes(home + "/a", b"old")
os.mkdir(home + "/skill"); os.mkdir(home + "/staged")
digest = Blobs(home + "/blobs").put(b"blob")
os.chmod(home + "/blobs", 0o555)
protect()
answer = {
    "write": code(lambda: write_bytes(home + "/a", b"new")),
    "kept": open(home + "/a").read(),
    "make": code(lambda: make_directories(home + "/b/c")),
    "replace": code(lambda: replace_directory(home + "/staged", home + "/skill")),
    "names": sorted(os.listdir(home)),
    "lock": code(lock),
    "put": code(lambda: Blobs(home + "/blobs").put(b"other")),
    "get": Blobs(home + "/blobs").get(digest).decode(),
    "new database": code(lambda: Database.open(home + "/state.db", OLD, durable=True)),
}
protect(0o300)
answer["unreadable"] = code(lambda: clean_leftovers(home))
answer["unlisted"] = code(lambda: write_bytes(home + "/a", b"new"))
protect(0o700)
answer["then"] = open(home + "/a").read()
print(json.dumps(answer))
"""

DATABASES = """
path = home + "/state.db"
def use():
    with Database.open(path, OLD, durable=True) as database:
        return [database.read_only, database.read("SELECT count(*) FROM line")[0][0], code(lambda: insert(database))]
with Database.open(path, OLD, durable=True) as database:
    insert(database)
answer = {}
for name, target, mode in (("directory", home, 0o555), ("file", path, 0o444)):
    before = os.stat(target).st_mode
    os.chmod(target, mode)
    answer[name] = use()
    answer[name + " older"] = code(lambda: Database.open(path, NEW, durable=True))
    answer[name + " check"] = check(path)
    os.chmod(target, before)
protect()
answer["aside"] = code(lambda: set_aside(path))
protect(0o700)
with open(path, "wb") as file:
    file.write(b"garbage")
protect()
answer["rebuild"] = code(lambda: rebuildable(path, OLD))
protect(0o700)
os.chmod(path, 0)
answer["unreadable"] = code(lambda: Database.open(path, OLD, durable=True))
print(json.dumps(answer))
"""


@pytest.fixture
def place() -> Iterator[str]:
    """A directory that everybody may enter, which pytest's own are not."""
    directory = tempfile.mkdtemp(prefix="whet-test-")
    os.chmod(directory, 0o777)
    try:
        yield directory
    finally:
        for name in ("home/blobs", "home"):
            if os.path.isdir(os.path.join(directory, name)):
                os.chmod(os.path.join(directory, name), 0o700)
        rmtree(directory)


def answers(script: str, place: str) -> Any:
    done = subprocess.run([sys.executable, "-W", "error", "-c", COMMON + script, place], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_directory_that_may_not_be_written_keeps_its_files(place: str) -> None:
    assert answers(FILES, place) == {
        "write": "permission-denied",
        "kept": "old",
        "make": "permission-denied",
        "replace": "permission-denied",
        "names": ["a", "blobs", "skill", "staged"],
        "lock": "permission-denied",
        "put": "permission-denied",
        "get": "blob",
        "new database": "permission-denied",
        "unreadable": "permission-denied",
        "unlisted": None,
        "then": "new",
    }


def test_a_database_that_may_not_be_written_can_still_be_read(place: str) -> None:
    assert answers(DATABASES, place) == {
        "directory": [True, 1, "permission-denied"],
        "directory older": "permission-denied",
        "directory check": None,
        "file": [True, 1, "permission-denied"],
        "file older": "permission-denied",
        "file check": None,
        "aside": "permission-denied",
        "rebuild": "permission-denied",
        "unreadable": "permission-denied",
    }
