"""Writers that are really killed, at every step and at random moments: no skill is ever half, and nothing is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from itertools import count
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp
from time import sleep
from typing import TYPE_CHECKING

import pytest
from chaos.kill import Victim

from authoring.world import PRELUDE, check_whole, digest_of, start
from whet import Library
from whet.authoring.journal import Journal
from whet.store.clock import system_clock
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESSES = True

ARMED = (
    PRELUDE
    + """
from chaos import kill
from chaos.kill import arm, load, serve
from whet.authoring.journal import Journal
load("skill", "store", "guard", "library", "authoring", "prompt", "learning")

def make(line):
    count, change = line.split("\\t")
    library = opened()
    library.skills().to_json()
    report, tell, settle = os.open(top + "/../done", os.O_CREAT | os.O_TRUNC | os.O_WRONLY), os.write, Journal.settle

    def settled(*args):
        kill.committed = lambda: tell(report, b"+")
        return settle(*args)

    Journal.settle = settled
    arm(int(count))
    exec(json.loads(change))

serve(make)
"""
)
"""Asked for a number and a change, makes it in a process of its own that is killed at that step.

It reports when the change is on the disk. That is not always the same step: what the cache keeps, and so how often it
is written, depends on how long ago files were changed.
"""

PREPARED = (
    PRELUDE
    + """
library = opened()
for name in ("one", "two"):
    library.edit.apply([
        {"action": "create", "name": name, "description": f"Does {name}. Use it.", "body": "First line.\\n"},
        {"action": "write_file", "name": name, "file_path": "references/a.md", "content": "a"},
    ])
library.edit.apply([{"action": "patch", "name": "one", "find": "First", "replace": "Second"}])
library.edit.apply([{"action": "create", "name": "gone", "description": "Is gone. Use it.", "body": "Gone.\\n"}])
library.edit.apply([{"action": "delete", "name": "gone"}])
library.close()

# A skill that an agent wrote long ago and nobody uses, which the curator has called stale.
for days in (120, 119, 80):
    library = opened(clock=lambda: time.time_ns() - days * 86400 * 10**9)
    if days == 120:
        old = {"action": "create", "name": "old", "description": "Is old. Use it.", "body": "Old.\\n"}
        library.edit.apply([old], Provenance("agent"))
    else:
        library.learning.curating.curate(apply=True)
    library.close()

# Contents that nothing refers to, as writers leave them that are killed before they write down what they are about.
from whet.authoring.journal import Journal
from whet.skill.tree import Item
from whet.store.state import StateDatabase
journal = Journal(StateDatabase(top + "/state"), time.time_ns)
for number in range(12):
    journal.keep({"SKILL.md": Item(b"%d" % number)})
journal.state.close()
"""
)

CHANGES = {
    "create": "library.edit.apply([{'action': 'create', 'name': 'new', 'description': 'New. Use.', 'body': 'New.'}])",
    "patch": "library.edit.apply([{'action': 'patch', 'name': 'one', 'find': 'Second', 'replace': 'Third'}])",
    "files": """library.edit.apply([
        {'action': 'write_file', 'name': 'one', 'file_path': 'scripts/run.sh', 'content': 'x', 'executable': True},
        {'action': 'remove_file', 'name': 'one', 'file_path': 'references/a.md'},
    ])""",
    "delete": "library.edit.apply([{'action': 'delete', 'name': 'one'}])",
    "restore": "library.edit.apply([{'action': 'restore', 'name': 'gone'}])",
    "rollback": "library.edit.history.rollback('one')",
    "undo": "library.edit.history.undo('3')",
    "batch": """library.edit.apply([
        {'action': 'patch', 'name': 'one', 'find': 'Second', 'replace': 'Third'},
        {'action': 'patch', 'name': 'two', 'find': 'First', 'replace': 'Third'},
    ])""",
    "rename": "library.edit.apply([{'action': 'rename', 'name': 'one', 'new_name': 'other'}])",
    "curate": "library.learning.curating.curate(apply=True)",
    "compact": "opened(clock=lambda: time.time_ns() + 2 * 3600 * 10**9).edit.history.compact()",
}
SEVERAL = ("batch", "rename")
"""Changes of more than one directory, of which a part may be seen before they are settled."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Path]:
    """A machine with some skills and some history, in memory where that is possible: kills need no disk."""
    top = Path(mkdtemp(prefix="whet-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)).resolve()
    (top / "now" / "skills").mkdir(parents=True)
    subprocess.run([sys.executable, "-c", PREPARED, str(top / "now")], check=True)
    copytree(top / "now", top / "kept", symlinks=True)
    yield top / "now"
    rmtree(top)


@pytest.fixture(scope="module")
def victim(machine: Path) -> Iterator[Victim]:
    with Victim(ARMED, machine) as process:
        yield process


def again(machine: Path) -> None:
    """The machine as it was prepared. The journal names directories, so it has to lie where it was made."""
    rmtree(machine)
    copytree(machine.parent / "kept", machine, symlinks=True)


def seen(top: Path) -> dict[str, str]:
    """What any reader sees before any recovery: the directories that may be skills by their names, with digests."""
    return {name: digest_of(str(top / "skills" / name)) for name in os.listdir(top / "skills") if name[0] != "."}


def recovered(top: Path) -> list[str]:
    """Let the next one to come settle what is not settled; what it says."""
    with Library.open([top / "skills"], home=top / "state", project=top, env={"HOME": str(top)}) as library:
        told: list[str] = list(library.edit.history.recover())
    check_whole(top / "state", top / "skills")
    return told


@pytest.mark.parametrize("change", CHANGES)
def test_a_writer_killed_at_any_step_leaves_every_skill_old_or_new(
    machine: Path, victim: Victim, change: str, *, quick: bool
) -> None:
    again(machine)
    before = seen(machine)
    unsettled, settled, told = list[dict[str, str]](), list[dict[str, str]](), set[str]()
    done = list[bool]()
    for step in count(1, 20 if quick else 1):
        more = victim.killed(step, json.dumps(CHANGES[change]))
        done.append((machine.parent / "done").stat().st_size > 0)
        unsettled.append(seen(machine))
        told.update(sentence.partition(" was ")[2] for sentence in recovered(machine))
        settled.append(seen(machine))
        again(machine)
        if not more:
            break
    after = settled[-1]
    assert len(settled) > (2 if quick else 10)
    assert all(outcome in (before, after) for outcome in settled)
    assert [outcome for outcome, was_done in zip(settled, done, strict=True) if was_done and outcome != after] == []
    assert all(outcome.keys() >= before.keys() or outcome.keys() >= after.keys() for outcome in unsettled), "or none"
    if change not in SEVERAL:
        assert all(outcome in (before, after) for outcome in unsettled), "and no reader saw anything else"
    if change != "compact":
        assert before != after
        assert done[-1] and (quick or {*done[:-1]} == {True, False}), "it is killed before it is done and afterwards"
        ways = {"complete; it is now in the history.", "incomplete; it is undone."}
        assert told <= ways if quick else told == ways


LOOP = (
    PRELUDE
    + """
import random
random.seed(int(sys.argv[2]))
library = opened()
say("ready")
while True:
    names = [skill["name"] for skill in library.skills().to_json()["skills"]]
    def some(): return random.choice(names)
    text = str(random.random())
    whole = {"description": f"Does {text}. Use it.", "body": f"Body {text}."}
    actions = {
        "create": lambda: [{"action": "create", "name": random.choice("abcd"), **whole}],
        "patch": lambda: [{"action": "patch", "name": some(), "find": "Body", "replace": f"Body {text}"}],
        "batch": lambda: [{"action": "edit", "name": name, "body": text} for name in random.sample(names, 2)],
        "files": lambda: [
            {"action": "write_file", "name": some(), "file_path": f"references/{text[-1]}.md", "content": text}
        ],
        "rename": lambda: [{"action": "rename", "name": some(), "new_name": random.choice("abcdefg")}],
        "delete": lambda: [{"action": "delete", "name": some()}],
        "restore": lambda: [{"action": "restore", "name": random.choice("abcdefg")}],
    }
    chosen = random.choice([*actions, "rollback", "undo", "compact"])
    try:
        if chosen == "compact":
            library.edit.history.compact()
        elif chosen == "rollback":
            say([library.history.rollback(some()).entries[-1].id])
        elif chosen == "undo":
            say([library.history.undo(random.randrange(1, 50)).entries[-1].id])
        else:
            say(list(library.edit.apply(actions[chosen]()).entries))
    except (WhetError, IndexError, ValueError) as error:
        assert getattr(error, "exit_code", 1) != 4, error
"""
)


def test_after_random_kills_everything_acknowledged_is_there(tmp_path: Path, *, quick: bool) -> None:
    (tmp_path / "skills").mkdir()
    for number in range(1 if quick else 40):
        with start(LOOP, tmp_path, number) as process:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline() == '"ready"\n'
            lines = [process.stdout.readline() for _ in range(random.randrange(1, 4))]
            sleep(random.uniform(0, 0.03))
            process.kill()
            lines, errors = [*lines, *process.stdout.read().split("\n")[:-1]], process.stderr.read()
        assert not errors
        recovered(tmp_path)
        journal = Journal(StateDatabase(str(tmp_path / "state")), system_clock)
        known = {entry.id for entry in journal.entries()}
        journal.state.close()
        told = {number for line in lines for number in json.loads(line)}
        assert told and told <= known
