"""Real processes that say things at once, and are killed while they do: what was acknowledged is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from whet.routing.feedback import Feedback
from whet.store.clock import system_clock
from whet.store.repair import check_state
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = True

RECORD = """
import sys
from whet.routing.feedback import Feedback
from whet.store.clock import system_clock
from whet.store.state import StateDatabase
state, name, count = sys.argv[1:]
feedback = Feedback(StateDatabase(state), system_clock)
for number in range(int(count)):
    assert feedback.record("pdf", f"{name} says {number}", fits=number % 2 == 0)
"""
ACKNOWLEDGE = """
import os, sys
from whet.routing.feedback import Feedback
from whet.store.clock import system_clock
from whet.store.state import StateDatabase
feedback = Feedback(StateDatabase(sys.argv[1]), system_clock)
number = 0
while True:
    feedback.record(f"skill-{number % 3}", f"message {number} {'word ' * 50}", fits=True)
    os.write(1, b"%d\\n" % number)
    number += 1
"""


def test_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    started = [subprocess.Popen([sys.executable, "-c", RECORD, state, f"p{at}", "50"]) for at in range(8)]
    assert [process.wait(120) for process in started] == [0] * 8
    feedback = Feedback(StateDatabase(state), system_clock)
    expected = {(f"p{at} says {number}", number % 2 == 0) for at in range(8) for number in range(50)}
    assert {(item.message, item.fits) for item in feedback.entries("pdf")} == expected
    assert (len(feedback.examples("pdf").examples), len(feedback.examples("pdf").counterexamples)) == (50, 50)
    feedback.state.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("after", [0, 1, 7, 30])
def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path, after: int) -> None:
    state = str(tmp_path / "state")
    writing = subprocess.Popen([sys.executable, "-c", ACKNOWLEDGE, state], stdout=subprocess.PIPE, text=True)
    assert writing.stdout is not None
    lines = [writing.stdout.readline() for _ in range(after + 1)]
    os.kill(writing.pid, signal.SIGKILL)
    lines += writing.stdout.readlines()
    writing.stdout.close()
    assert writing.wait() == -signal.SIGKILL
    last = int(lines[-1])
    feedback = Feedback(StateDatabase(state), system_clock)
    found = {int(item.message.split()[1]) for item in feedback.entries()}
    assert set(range(last + 1)) <= found <= set(range(last + 2))
    assert check_state(state) is None and feedback.record("skill-0", "and goes on", fits=True)
    feedback.state.close()
