"""Processes that are really killed, at every step of a change: lock, history, disk and rows agree afterwards."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest
from chaos.kill import Victim

from sources.installs_world import Machine
from whet.sources.lock.rebuild import repair

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESSES = True

ARMED = r"""
import json, os, sys
from chaos.kill import arm, die, load, serve
from sources.installs_world import Machine, installed, skill
from whet.authoring.writer import TreeChange
load("skill", "store", "library", "authoring")

def make(line):
    count, change = line.split("\t")
    machine = Machine(sys.argv[1])
    arm(int(count))
    exec(json.loads(change), globals() | {"machine": machine})

serve(make)
"""
"""Asked for a number and a change, makes it in a process of its own that is killed at that step."""

BATCH = """
tree = skill("new")
other = skill("two", "Other.", a="1", b="2")
changes = [
    TreeChange("install", "new", os.path.join(machine.root, "new"), tree),
    TreeChange("update", "two", os.path.join(machine.root, "two"), other),
    TreeChange("uninstall", "three", os.path.join(machine.root, "three"), None),
]
moved = machine.locked()["skills/one"]._replace(revision="c" * 40)
entries = {
    "skills/new": installed("new", tree), "skills/two": installed("two", other),
    "skills/three": None, "skills/one": moved,
}
machine.installs.commit(machine.root, entries, machine.writing(changes, "rkilled"))
"""
PIN = """
entry = machine.locked()["skills/one"]._replace(pinned="yes")
machine.installs.commit(machine.root, {"skills/one": entry}, None)
"""
CHANGES = {
    "install": "machine.install('new')",
    "update": "machine.install('one', body='Other.', a='1')",
    "uninstall": "machine.remove('one')",
    "batch": BATCH,
    "pin": PIN,
}
INTERRUPTED = """
tree = skill("two", "Other.")
entries = {"skills/two": installed("two", tree)}
write = machine.writing([TreeChange("update", "two", os.path.join(machine.root, "two"), tree)], "rkilled")
machine.installs.commit(machine.root, entries, lambda planned: (write(planned), die()))
"""


@pytest.fixture(scope="module")
def kept() -> Iterator[Path]:
    """A machine with some installed skills, in memory where that is possible: kills need no disk."""
    top = Path(mkdtemp(prefix="whet-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)).resolve()
    machine = Machine(top / "now")
    machine.install("one", "two", "three")
    machine.install("two", body="Second.\n")
    machine.close()
    copytree(top / "now", top / "kept", symlinks=True)
    yield top / "now"
    rmtree(top)


def again(top: Path, source: str = "kept") -> None:
    """The machine as it was. The history names directories, so it has to lie where it was made."""
    rmtree(top)
    copytree(top.parent / source, top, symlinks=True)


def state(machine: Machine) -> tuple[object, object]:
    """What is installed, by the lock and on disk."""
    return machine.locked(), machine.on_disk()


@pytest.fixture(scope="module")
def victim(kept: Path) -> Iterator[Victim]:
    with Victim(ARMED, kept) as process:
        yield process


@pytest.mark.parametrize("change", CHANGES)
def test_whoever_is_killed_at_any_step_leaves_all_or_nothing(
    kept: Path, victim: Victim, change: str, *, quick: bool
) -> None:
    again(kept)
    machine = Machine(kept)
    before = state(machine)
    machine.close()
    unsettled, settled, told = list[object](), list[object](), set[str]()
    for step in count(1, 25 if quick else 1):
        more = victim.killed(step, json.dumps(CHANGES[change]))
        machine = Machine(kept)
        unsettled.append(machine.locked())
        seen = machine.installs.entries(machine.root) if step % 2 else ()
        told.update(sentence.partition(" was ")[2] for sentence in machine.installs.settle(machine.root))
        machine.writer.recover()
        machine.installs.commit(machine.root, {"skills/none": None}, None)  # the next one cleans up
        settled.append(state(machine))
        assert not step % 2 or seen == tuple(machine.locked()[path] for path in sorted(machine.locked()))
        machine.check_whole()
        machine.close()
        again(kept)
        if not more:
            break
    after = settled[-1]
    assert len(settled) > (1 if quick else 10) and before != after
    assert all(outcome in (before, after) for outcome in settled)
    assert settled == sorted(settled, key=lambda outcome: outcome == after), "once done, done"
    assert all(outcome in (before[0], after[0]) for outcome in unsettled)  # type: ignore[index]  # both are pairs
    done = {f"complete; it is now in {machine.lock}."}
    if change != "pin":
        done |= {"complete; it is now in the history.", "incomplete; it is undone."}
    assert told <= done if quick else told == done


def test_whoever_is_killed_while_settling_leaves_it_to_the_next(kept: Path, victim: Victim, *, quick: bool) -> None:
    """The skills are changed and in the history, and the lock does not know of it; settling is killed at every step."""
    again(kept)
    assert victim.killed(0, json.dumps(INTERRUPTED))
    machine = Machine(kept)
    before, on_disk = machine.locked(), machine.on_disk()
    assert before["skills/two"].digest != on_disk["skills/two"]
    assert [entry.code for entry in machine.examine()] == ["leftover", "lock-unsettled"]
    machine.close()
    rmtree(kept.parent / "killed", ignore_errors=True)
    copytree(kept, kept.parent / "killed", symlinks=True)
    for step in count(1, 6 if quick else 1):
        more = victim.killed(step, json.dumps("machine.installs.settle(machine.root)"))
        machine = Machine(kept)
        repair(machine.installs, machine.root)
        assert machine.on_disk() == on_disk
        assert machine.locked()["skills/two"].digest == on_disk["skills/two"]
        machine.check_whole()
        machine.close()
        again(kept, "killed")
        if not more:
            break
    assert step > 5
