"""A machine on which skills are installed from directories, what must hold of it whatever happened, and processes that
are killed while they work on it.

Everything of a machine lies below one directory, so that it can be kept and put back as it was; it has to stay where it
was made, because the history and the lock name directories.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, NamedTuple

from chaos.kill import Victim

from whet import Library
from whet.authoring.trees import digest
from whet.library.package import read_tree
from whet.sources.lock.file import lock_file, read
from whet.store.atomic import is_leftover

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = 1_800_000_000 * 10**9
"""The moment at which everything happens, so that the same change makes the same lock."""
BODY = "First line.\n\nMiddle line.\n\nLast line.\n"

ARMED = """
import sys
from chaos.kill import arm, die_after, load, serve
from sources.chain_world import Machine
load("skill", "store", "guard", "library", "authoring", "sources", "learning", "api")
machine = Machine(sys.argv[1])

def act(line):
    plan, how, amount = [*line.split("\t"), "applying", "0"][:3]
    if how == "after":
        die_after(float(amount))
    library = machine.library()
    if how == "planning":
        arm(int(amount))
    made = eval(plan)
    if how == "applying":
        arm(int(amount))
    library.sources.apply(made)

serve(act)
"""
"""Makes and applies a plan in a process of its own that is killed: `planning N`, at that step of the whole;
`applying N`, at that step once the plan is made; `after S`, so many seconds after its start.
"""


class State(NamedTuple):
    """What is installed: the bytes of the lock, and what anybody sees in the root by its digest."""

    lock: bytes
    skills: dict[str, str]


class Machine:
    """A home, a state directory and a project, and directories `src` and `more` that skills come from."""

    def __init__(self, top: Path | str) -> None:
        self.top = Path(top)
        self.home, self.state_directory, self.work = self.top / "home", self.top / "state", self.top / "work"
        self.root = self.home / ".agents" / "skills"
        self.lock = Path(lock_file(str(self.root)))
        self.env = {"HOME": str(self.home), "PATH": os.environ.get("PATH", os.defpath)}

    def library(self) -> Library:
        """A library as the person has it."""
        how = {"home": self.state_directory, "project": self.work, "env": self.env}
        return Library.open(**how, clock=lambda: NOW)  # type: ignore[arg-type]  # each is what it should be

    def write(self, where: str, name: str, body: str = BODY, **files: str) -> None:
        """A skill by hand: below `src`, `more` or `home/.agents/skills`, with these references."""
        directory = self.top / where / name
        (directory / "references").mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: Does {name}. Use it for {name}.\n---\n\n{body}"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")
        for file, content in files.items():
            (directory / "references" / f"{file}.md").write_text(content, encoding="utf-8")

    def state(self) -> State:
        """What is installed, by the lock and on disk, for anybody who just looks."""
        skills = {path.name: digest(read_tree(str(path))) for path in self.root.iterdir() if path.name[0] != "."}
        return State(self.lock.read_bytes() if self.lock.exists() else b"", skills)

    def left(self) -> list[str]:
        """Everything anywhere that a writer or a fetch has left behind."""
        found = []
        for directory, directories, files in os.walk(self.top):
            found += [os.path.join(directory, name) for name in (*directories, *files) if is_leftover(name)]
            if os.path.basename(directory) == "fetching":
                found += [os.path.join(directory, name) for name in (*directories, *files)]
        return found

    def check_whole(self, library: Library, *, edited: tuple[str, ...] = ()) -> None:
        """History, record, lock and disk agree; `edited` are skills that somebody edited by hand."""
        told = library.sources.verify()
        assert {skill.name for skill in told.skills if skill.status != "ok"} <= {*edited}
        assert library.edit.history.verify().to_json()["problems"] == []
        assert library.guard.verify_audit().valid
        locked = {os.path.basename(entry.path): entry.digest for entry in read(str(self.lock)).entries}
        there = self.state().skills
        assert locked == {name: locked[name] if name in edited else there[name] for name in locked}
        assert library.sources.installs.pending(str(self.lock)) == {}
        assert library.edit.journal.edits() == []


@contextmanager
def prepared() -> Iterator[Machine]:
    """A machine with three installed skills, two of which are newer at their source, and one of those is edited here;
    two skills that are not installed, and two to be had.

    In memory where that is possible: kills need no disk.
    """
    top = Path(mkdtemp(prefix="whet-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)).resolve()
    machine = Machine(top / "now")
    for directory in (machine.home, machine.state_directory, machine.work):
        directory.mkdir(parents=True)
    for name in ("one", "two", "three"):
        machine.write("src", name, a="1", b="1")
    for name in ("four", "five"):
        machine.write("more", name, a="1")
    with machine.library() as library:
        library.sources.install(str(machine.top / "src"), every=True)
    machine.write("src", "one", BODY.replace("Last", "Newer"), a="2", c="new")
    machine.write("src", "two", BODY.replace("Last", "Newer"), a="2")
    machine.write("home/.agents/skills", "two", BODY.replace("First", "My"), b="mine")
    machine.write("home/.agents/skills", "own")
    machine.write("home/.agents/skills", "other", a="1")
    try:
        yield machine
    finally:
        rmtree(top)


def keep(top: Path) -> None:
    """Remember a machine as it is now."""
    copytree(top, top.parent / "kept", symlinks=True)


def again(top: Path) -> None:
    """The machine as it was."""
    rmtree(top)
    copytree(top.parent / "kept", top, symlinks=True)


def planner(machine: Machine) -> Victim:
    """A process that applies plans as often as it is told to, each time in a child that is killed."""
    return Victim(ARMED, machine.top)
