"""Real processes that record and count at once, are held up and are killed: every event is counted exactly once."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import count
from time import sleep
from typing import TYPE_CHECKING

import pytest
from chaos.kill import Victim

from whet.learning.usage import Usage
from whet.store.clock import system_clock
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = True
COPIED = False

RECORD = """
import sys
from whet.learning.usage import Usage
from whet.store.state import StateDatabase
from whet.store.clock import system_clock
state, name, events = sys.argv[1:]
usage = Usage(StateDatabase(state), system_clock)
for number in range(int(events)):
    assert usage.record("use", f"skill-{number % 5}", name), usage.problems
"""
COUNT = """
import os, sys
from whet.learning.usage import Usage
from whet.store.state import StateDatabase
from whet.store.clock import system_clock
usage = Usage(StateDatabase(sys.argv[1]), system_clock)
os.write(1, b"ready\\n")
while not os.path.exists(sys.argv[1] + "/stop"):
    usage.totals()
    assert not usage.problems, usage.problems
"""
ACKNOWLEDGE = """
import os, sys
from whet.learning.usage import Usage
from whet.store.state import StateDatabase
from whet.store.clock import system_clock
state, name = sys.argv[1:]
usage = Usage(StateDatabase(state), system_clock)
number = 0
while True:
    assert usage.record("use", f"{name}-{number}", "d" * 3000), usage.problems
    os.write(1, b"%d\\n" % number)
    number += 1
"""
HELD_UP = """
import os, sys
from whet.learning.usage import Usage
from whet.store.state import StateDatabase
from whet.store.clock import system_clock
state, before = sys.argv[1:]
real = getattr(os, before)
def held_up(*args):
    setattr(os, before, real)
    print("held up", flush=True)
    sys.stdin.readline()
    return real(*args)
setattr(os, before, held_up)
print(Usage(StateDatabase(state), system_clock).record("use", "late", "d"))
"""
ARMED = """
from chaos.kill import arm, serve
from whet.learning.usage import Usage
from whet.store.clock import system_clock
from whet.store.state import StateDatabase
import whet.store.atomic, whet.store.database, whet.store.salvage, whet.store.schema, hashlib

def act(line):
    step, state = line.split("\\t")
    arm(int(step))
    usage = Usage(StateDatabase(state), system_clock)
    usage.totals()
    assert not usage.problems, usage.problems

serve(act)
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def uses(state: Path) -> dict[str, int]:
    usage = Usage(StateDatabase(str(state)), system_clock)
    found = {total.skill: total.uses for total in usage.totals()}
    assert usage.problems == ()
    return found


def test_eight_processes_record_while_one_counts_all_the_time(tmp_path: Path) -> None:
    with start(COUNT, str(tmp_path)) as counter:
        assert counter.stdout is not None
        assert counter.stdout.readline() == "ready\n"
        recorders = [start(RECORD, str(tmp_path), str(number), "500") for number in range(8)]
        for recorder in recorders:
            recorder.communicate()
        (tmp_path / "stop").touch()
        counter.communicate()
    assert [process.returncode for process in (*recorders, counter)] == [0] * 9
    usage = Usage(StateDatabase(str(tmp_path)), system_clock)
    assert {total.skill: total.uses for total in usage.totals()} == {f"skill-{number}": 800 for number in range(5)}
    assert {total.digest: total.uses for total in usage.versions("skill-0")} == {
        str(number): 100 for number in range(8)
    }
    assert usage.problems == ()


@pytest.mark.parametrize("step", ["write", "lseek", "close"])
def test_a_writer_held_up_while_the_log_is_counted_loses_nothing(tmp_path: Path, step: str) -> None:
    usage = Usage(StateDatabase(str(tmp_path)), system_clock)
    usage.record("use", "early", "d")
    with start(HELD_UP, str(tmp_path), step) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held up\n"
        usage.totals()
        usage.record("use", "other", "d")
        assert process.communicate("\n")[0] == "True\n"
    assert uses(tmp_path) == {"early": 1, "late": 1, "other": 1}
    assert uses(tmp_path) == {"early": 1, "late": 1, "other": 1}


def test_whoever_counts_may_be_killed_at_any_step(tmp_path: Path, *, quick: bool) -> None:
    with Victim(ARMED) as victim:
        for step in count(1, 9 if quick else 1):
            state = tmp_path / str(step)
            usage = Usage(StateDatabase(str(state)), system_clock)
            for number in range(3):
                assert usage.record("use", f"skill-{number}", "d")
            more = victim.killed(step, state)
            assert usage.record("use", "skill-0", "d")
            assert uses(state) == {"skill-0": 2, "skill-1": 1, "skill-2": 1}
            if not more:
                break
    assert step > 20


def test_every_acknowledged_event_is_counted_once_after_random_kills(tmp_path: Path, *, quick: bool) -> None:
    acknowledged: set[str] = set()
    begun: set[str] = set()
    for turn in range(6 if quick else 24):
        scripts = {"counter": COUNT, **{f"{turn}-{number}": ACKNOWLEDGE for number in range(2)}}
        processes = [(name, start(script, str(tmp_path), name)) for name, script in scripts.items()]
        for _, process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() in ("ready\n", "0\n")
        random.shuffle(processes)
        for _, process in processes:
            sleep(random.uniform(0, 0.02))
            process.kill()
        for name, process in processes:
            with process:
                assert process.stdout is not None
                lines = [line for line in process.stdout if line.endswith("\n")]
            if name != "counter":
                number = int(lines[-1]) if lines else 0
                acknowledged.update(f"{name}-{at}" for at in range(number + 1))
                begun.update(f"{name}-{at}" for at in range(number + 2))
        if turn % 6 == 5:
            found = uses(tmp_path)
            assert acknowledged <= found.keys() <= begun
            assert set(found.values()) == {1}
            assert len(acknowledged) > (10 if quick else 100)
