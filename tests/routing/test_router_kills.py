"""Processes that are really killed in the middle of an update: the next one repairs what is missing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from time import sleep
from typing import TYPE_CHECKING

import pytest

from routing.shelf import SHELF, assert_same, entry, router
from whet.routing.router import Router
from whet.store.database import check

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = True

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRELUDE = f"""
import os, signal, sys
sys.path.insert(0, {TESTS!r})
from routing.shelf import SHELF, entry
from whet.routing.router import Router
path, count = sys.argv[1:]
"""
AT_A_STATEMENT = (
    PRELUDE
    + """
router = Router(path)
left = int(count)
def step(statement):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
with router._index._tables.use() as connection:
    connection.set_trace_callback(step)
router.update([*(entry(texts, stamp="2") for texts in SHELF[:9]), *map(entry, SHELF[9:20])])
print(int(count) - left)
"""
)
FOREVER = (
    PRELUDE
    + """
router = Router(path)
turn = 0
while True:
    router.update([entry(texts, stamp=str(turn)) for texts in SHELF[turn % 3 :]])
    os.write(1, b".")
    turn += 1
"""
)
ASKED = ("squash my commits", "depoly to the cluster", "idnex the slow joins", "写周报", "fill in a form")


def killed_at(path: str, statement: int) -> tuple[int, str]:
    command = [sys.executable, "-c", AT_A_STATEMENT, path, str(statement)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout


def assert_repairs(path: str) -> None:
    """The file is sound, answers, and after an update answers like a new one."""
    assert check(path) is None
    known = Router(path)
    for message in ASKED:
        known.find(message)
    known.update(map(entry, SHELF))
    fresh = router()
    assert_same([known.find(message) for message in ASKED], [fresh.find(message) for message in ASKED])
    assert known.update(map(entry, SHELF))[:4] == (0, 0, 0, len(SHELF))
    known.close()


def test_killed_at_any_statement(tmp_path: Path, *, quick: bool) -> None:
    whole = str(tmp_path / "whole.db")
    router(SHELF, whole).close()
    code, count = killed_at(whole, 10**9)
    assert code == 0
    last = int(count)
    chance = random.Random(11)
    some = chance.sample(range(6, last - 3), 4)
    for statement in (2, some[0], last) if quick else (2, 5, *sorted(some), last - 2, last):
        path = str(tmp_path / f"killed-{statement}.db")
        router(SHELF, path).close()
        assert killed_at(path, statement)[0] == -signal.SIGKILL
        assert_repairs(path)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.deep) for seed in (1, 2, 3))])
def test_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    path = str(tmp_path / "index.db")
    writing = subprocess.Popen([sys.executable, "-c", FOREVER, path, "0"], stdout=subprocess.PIPE)
    assert writing.stdout is not None
    assert writing.stdout.read(1) == b"."
    sleep(random.Random(seed).random() / 4)
    os.kill(writing.pid, signal.SIGKILL)
    writing.stdout.close()
    assert writing.wait() == -signal.SIGKILL
    assert_repairs(path)
