"""Readers settle what killed processes left: whoever looks next sees it as it was or as it will be, never a mixture."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import product
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Literal, Self

import pytest
from authoring.world import PRELUDE, World, check_whole, created, start, world

from whet.authoring.writer import Writer
from whet.errors import FailedError, NotFoundError
from whet.library.workspace import Workspace
from whet.sources.sync.apply import Work
from whet.store.intents import Intents
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet import Library
    from whet.sources.sync.record import Made

PROCESSES = True

__all__ = ["world"]

STOPPED = (
    PRELUDE
    + """
import signal
from whet.store.atomic import Swap
from whet.authoring.writer import Writer
left = int(sys.argv[3])

def stop(real):
    def call(*args):
        global left
        left -= 1
        if left < 0:
            say("here")
            os.kill(os.getpid(), signal.SIGSTOP)
        return real(*args)
    return call

library = opened()
library.skills()
Swap.apply, Writer._settle = stop(Swap.apply), stop(Writer._settle)
CHANGES = {
    "rename": lambda: library.edit.rename("one", "other"),
    "by-hand": lambda: library.edit.rename("hand", "other"),
    "renames": lambda: library.edit.apply([
        {"action": "rename", "name": "one", "new_name": "other"},
        {"action": "rename", "name": "two", "new_name": "second"},
    ]),
    "delete": lambda: library.edit.apply([{"action": "delete", "name": name} for name in ("one", "two")]),
    "install": lambda: library.sources.install(top + "/source", every=True),
}
CHANGES[sys.argv[2]]()
say("done")
"""
)
"""Makes a change and stops before the step of that number that others can see."""

STEPS = {"rename": 3, "renames": 5, "delete": 3, "install": 21}
"""How many such steps there are, the entry in the history included."""
AFTER = {
    "rename": {"other", "two"},
    "renames": {"other", "second"},
    "delete": set[str](),
    "install": {"one", "two", *(f"in-{number}" for number in range(20))},
}
QUICK = [("rename", 1), ("rename", 2), ("install", 6), ("delete", 1)]
DEEP = [(change, step) for change, steps in STEPS.items() for step in (range(steps) if steps < 9 else (0, 6, 19, 20))]
PLACES = [pytest.param(*place, marks=() if place in QUICK else pytest.mark.deep) for place in DEEP]


def prepared(world: World) -> None:
    with world.library() as library:
        library.edit.apply([created("one"), created("two")])
    for number in range(20):
        world.skill(f"in-{number}", where=world.top / "source")


def names(library: Library) -> set[str]:
    return {card.name for card in library.skills()}


def stopped(world: World, change: str, step: int) -> subprocess.Popen[str]:
    """A process in the middle of a change."""
    process = start(STOPPED, world.top, change, step)
    assert process.stdout is not None
    assert process.stdout.readline() == '"here"\n', process.communicate()[1]
    return process


@pytest.mark.parametrize(("change", "step"), PLACES)
def test_a_reader_after_a_kill_and_beside_a_stopped_writer_sees_old_or_new(
    world: World, change: str, step: int
) -> None:
    prepared(world)
    settled = world.library()
    old, new = names(settled), AFTER[change]
    with stopped(world, change, step) as process:
        try:
            with world.library() as library:
                beside = names(library)
                assert beside in (old, new)
                assert {name for name in old | new if found(library, name)} == beside
            assert names(settled) == beside
            assert len(settled.edit.journal.intents.open("edit")) == 1, "it is left alone"
        finally:
            process.kill()
            process.communicate()
    with world.library() as library:
        after = names(library)
        assert after == (new if step == STEPS[change] - 1 else old)
        assert {name for name in old | new if found(library, name)} == after
    assert names(settled) == after
    check_whole(world.state, world.root)


def found(library: Library, name: str) -> bool:
    try:
        library.card(name)
    except NotFoundError:
        return False
    return True


@pytest.mark.parametrize(
    "words", [("list", "--json"), ("show", "one", "--json"), ("find", "what is one about", "--json"), ("index",)]
)
def test_every_command_that_reads_settles(world: World, words: tuple[str, ...]) -> None:
    prepared(world)
    with stopped(world, "rename", 1) as process:
        process.kill()
        process.communicate()
    assert {"one", "other"} <= set(os.listdir(world.root))
    env = {"HOME": str(world.top), "WHET_HOME": str(world.state), "PATH": ""}
    command = [sys.executable, "-m", "whet", "--root", str(world.root), *words]
    done = subprocess.run(command, env=env, cwd=world.top, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '"other"' not in done.stdout
    assert {name for name in os.listdir(world.root) if name[0] != "."} == {"one", "two"}
    check_whole(world.state, world.root)


def test_the_tools_of_a_model_settle_before_they_answer(world: World) -> None:
    prepared(world)
    with stopped(world, "rename", 1) as process:
        process.kill()
        process.communicate()
    with world.library() as library:
        assert "other" not in json.dumps(library.tools().call("skills_list"))
    assert {name for name in os.listdir(world.root) if name[0] != "."} == {"one", "two"}


def test_a_state_that_may_only_be_read_is_read_through(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be settled then; what is there in part is not listed."""
    prepared(world)
    with stopped(world, "install", 6) as process:
        process.kill()
        process.communicate()
    monkeypatch.setattr(Intents, "recover", _denied)
    assert names(world.library()) == {"one", "two"}
    monkeypatch.undo()
    assert names(world.library()) == {"one", "two"}
    check_whole(world.state, world.root)


def _denied(*_: object) -> tuple[str, ...]:
    raise FailedError("permission-denied", "No.", hint="No.")


def test_looking_asks_once_and_loads_no_editor_when_nothing_is_open(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(world)
    library = world.library(clock=lambda: time.time_ns() + 60 * 10**9)  # what was written just now has settled
    library.skills()
    asked: list[str] = []

    def read(self: StateDatabase, query: str, *rest: Any, real: Any = StateDatabase.read) -> Any:
        asked.append(query)
        return real(self, query, *rest)

    monkeypatch.setattr(StateDatabase, "read", read)
    library.skills()
    assert len([query for query in asked if "intents" in query]) == 1
    assert "edit" not in library.__dict__


STEPPED = (
    PRELUDE
    + """
from whet.authoring.journal import Journal
from whet.authoring.writer import Writer
from whet.errors import FailedError
from whet.store.atomic import Swap
change, fails = sys.argv[2], sys.argv[3] == "fails"

def wait(real):
    def call(*args):
        say("here")
        sys.stdin.readline() or sys.exit()
        if fails and real.__name__ == "_settle":
            raise FailedError("disk-full", "No space is left.", hint="Free some space.")
        return real(*args)
    return call

library = opened()
library.skills()
for owner, name in ((Journal, "begin"), (Swap, "apply"), (Swap, "take_back"), (Writer, "_settle"), (Journal, "drop")):
    if name != "drop" or fails:  # a change that succeeds drops its intent within the transaction that enters it
        setattr(owner, name, wait(getattr(owner, name)))
rounds = 0
while True:
    there = os.path.exists(top + "/skills/one")
    rounds += 1
    wait(len)("")
    try:
        if change == "rename":
            library.edit.rename(*(("one", "other") if there else ("other", "one")))
        else:
            library.edit.apply([
                {"action": "patch", "name": name, "find": "description: ", "replace": "description: x"}
                for name in ("one", "two")
            ])
    except WhetError:
        assert fails
"""
)
"""Makes one change after the other, and waits before each step that others can see until it is told to go on."""


class Stepping:
    """A living process in the middle of its changes."""

    def __init__(self, world: World, change: str, how: str) -> None:
        command = [sys.executable, "-c", STEPPED, str(world.top), change, how]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._wait()

    def _wait(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == '"here"\n'

    def advance(self, steps: int) -> None:
        assert self.process.stdin is not None
        for _ in range(steps):
            print(file=self.process.stdin, flush=True)
            self._wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("how", ["succeeds", "fails"])
def test_a_reader_sees_one_name_wherever_a_living_writer_is_before_during_and_after_its_look(
    world: World, how: str, monkeypatch: pytest.MonkeyPatch, *, quick: bool
) -> None:
    """A change has at most eight steps. Some are made after the reader knows what is open, others after its search."""
    prepared(world)
    with world.library() as library, Stepping(world, "rename", how) as writer:
        plan, real = list[int](), Workspace._search

        def search(self: Workspace, *args: Any) -> Any:
            locked = self.state.open().connection.in_transaction
            writer.advance(plan.pop() if plan and not locked else 0)
            found = real(self, *args)
            writer.advance(plan.pop() if plan and not locked else 0)
            return found

        monkeypatch.setattr(Workspace, "_search", search)
        every = [*product(range(5), (0, 1, 3), [1]), (2, 0, 3), (2, 3, 3)]
        for during, after, looks in [(2, 0, 1)] if quick else every:  # looks: how many the writer is in the way of
            for _ in range(8):
                with world.library() as another:
                    for reader in (library, another):
                        plan[:] = [after, during] * looks
                        assert len(names(reader) & {"one", "other"}) == 1, (during, after, looks)
                        plan.clear()
                writer.advance(1)


def test_a_reader_waits_for_a_living_writer_who_replaces_several_skills(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(world)
    with Stepping(world, "edit", "succeeds") as writer:
        writer.advance(5)  # one round is done
        waited = list[int]()
        real = Writer.hold

        @contextmanager
        def hold(self: Writer, *args: Any) -> Iterator[None]:
            waited.append(step)
            writer.advance(5 - step)
            with real(self, *args):
                yield

        monkeypatch.setattr(Writer, "hold", hold)
        for step in range(5):
            with world.library() as library:
                assert len({card.description.index("Does") for card in library.skills()}) == 1
            writer.advance(step + 1 if waited[-1:] == [step] else 1)
        assert waited == [2, 3, 4], "the change is open before each of its two steps and before its entry"


def test_a_skill_without_a_history_is_never_nowhere_while_it_is_renamed(world: World) -> None:
    prepared(world)
    world.skill("hand", "By hand.\n")
    with stopped(world, "by-hand", 2) as process:
        try:
            assert names(world.library()) & {"hand", "other"} == {"other"}
        finally:
            process.kill()
            process.communicate()
    assert names(world.library()) & {"hand", "other"} == {"other"}


@pytest.mark.parametrize("payload", ["{}", "[]", "no JSON", '{"notes": [["too", "short"]]}'])
def test_an_open_change_that_is_damaged_is_told_of_and_stops_nobody(world: World, payload: str) -> None:
    prepared(world)
    with world.library() as library:
        with library.workspace.state.write() as connection:
            row = ("damaged", 1, "edit", payload)
            connection.execute("INSERT INTO intents (id, time, kind, payload) VALUES (?, ?, ?, ?)", row)
        assert names(library) == {"one", "two"}
        library.edit.rename("one", "other")
        assert names(library) == {"other", "two"}
        told = [note.message for note in library.doctor() if note.code == "interrupted-change"]
        assert told == ["A change was interrupted, and its record cannot be read: damaged."]
        assert library.settle() == ("The interrupted operation damaged cannot be read; it stays as it is.",)


SYNCED = (
    PRELUDE
    + """
import signal
from whet.sources.sync.apply import Work
library = Library.open(home=top + "/state", project=top + "/project", env={"HOME": top + "/home", "PATH": ""})
how, undo, left = sys.argv[2], sys.argv[3] == "undo", int(sys.argv[4])
def sync():
    library.sources.sync(library.sources.plan_sync("kiro", how=how))

if undo:
    sync()

def attempt(self, step, act, real=Work.attempt):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    real(self, step, act)

Work.attempt = attempt
library.sources.unsync("kiro") if undo else sync()
"""
)


@pytest.mark.parametrize(("how", "work"), [("link", "sync"), ("copy", "sync"), ("copy", "undo")])
def test_a_sync_that_was_killed_is_finished_by_whoever_looks_next(world: World, how: str, work: str) -> None:
    for name in ("one", "two", "three"):
        world.skill(name, where=world.mine)
    (world.home / ".kiro").mkdir()
    with start(SYNCED, world.top, how, work, 1) as process:
        errors = process.communicate()[1]
    assert process.returncode == -signal.SIGKILL, errors
    with world.machine() as library:
        assert names(library) >= {"one", "two", "three"}
        assert library.edit.journal.intents.open("sync") == []
    folder = world.home / ".kiro" / "skills"
    assert (sorted(os.listdir(folder)) if folder.exists() else []) == (
        ["one", "three", "two"] if work == "sync" else []
    )


def test_what_a_sync_had_no_room_for_is_made_when_there_is_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two", "three"):
        world.skill(name, where=world.mine)
    (world.home / ".kiro").mkdir()
    library = world.machine()
    real = Work.content

    def content(work: Work, made: Made) -> Any:
        if made.name == "two":
            raise FailedError("disk-full", "No space is left.", hint="Free some space.")
        return real(work, made)

    with monkeypatch.context() as patch:
        patch.setattr(Work, "content", content)
        report = library.sources.sync(library.sources.plan_sync("kiro", how="copy"))
        assert {done.step.name: done.outcome for done in report.steps} == {
            "one": "done",
            "three": "done",
            "two": "failed",
        }
        library.skills()
        assert sorted(os.listdir(world.home / ".kiro" / "skills")) == ["one", "three"]
    library.skills()
    assert sorted(os.listdir(world.home / ".kiro" / "skills")) == ["one", "three", "two"]
    assert library.edit.journal.intents.open("sync") == []
    assert {made.state for made in library.sources.synced()} == {"fine"}


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("how", ["link", "copy"])
def test_what_clients_were_given_follows_its_skill_also_after_a_kill(
    world: World, monkeypatch: pytest.MonkeyPatch, how: Literal["link", "copy"], *, killed: bool
) -> None:
    for name in ("one", "two", "three"):
        world.skill(name, where=world.mine)
    folder = world.home / ".kiro" / "skills"
    (world.home / ".kiro").mkdir()

    def change(operation: dict[str, str] | None, *links: str) -> None:
        """Make a change, or undo it, and look at what the client has."""
        with world.machine() as library, monkeypatch.context() as patch:
            if killed:
                patch.setattr("whet.sources.sync.apply.finish_following", lambda _: ())
            if operation:
                library.edit.apply([operation])
            else:
                library.history.undo()
        with world.machine() as library:
            assert names(library) == {*links, *(["two"] if "two" not in links else [])}
            assert library.edit.journal.intents.open("sync") == []
        assert sorted(os.listdir(folder)) == sorted(links)
        assert all((folder / name / "SKILL.md").is_file() for name in links)

    with world.machine() as library:
        library.sources.sync(library.sources.plan_sync("kiro", how=how))
        if how == "link":
            (folder / "two").unlink()
        else:
            rmtree(folder / "two")
    change({"action": "delete", "name": "one"}, "three")
    change(None, "one", "three")
    change({"action": "rename", "name": "one", "new_name": "other"}, "other", "three")
    change(None, "one", "three")
    with world.machine() as library:
        library.edit.apply([{"action": "delete", "name": "two"}])
        library.history.undo()
        assert sorted(os.listdir(folder)) == ["one", "three"], "it was gone before its skill was"
        library.edit.apply([{"action": "delete", "name": "one"}])
        library.sources.unsync()
        library.history.undo()
        assert (folder / "one").exists() is False
