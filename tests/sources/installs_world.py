"""Machines with installed skills in a temporary directory, and what must hold of them whatever happened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from whet.authoring.journal import Journal
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance, TreeChange, Writer
from whet.library.package import read_tree
from whet.skill.tree import Item, entries
from whet.sources.lock.file import Installed, lock_file, read
from whet.sources.lock.installs import Installs
from whet.sources.lock.rebuild import examine
from whet.store.atomic import leftovers
from whet.store.clock import system_clock
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from whet.authoring.journal import Entry
    from whet.notes import Note
    from whet.skill.tree import Tree

SOURCE = "git:https://github.com/owner/skills#path=skills/"


def skill(name: str, body: str = "Do this.\n", **files: str) -> Tree:
    """A content."""
    text = f"---\nname: {name}\ndescription: Does {name}. Use it.\n---\n{body}"
    return {"SKILL.md": Item(text.encode()), **{f"references/{file}.md": Item(files[file].encode()) for file in files}}


def installed(name: str, tree: Tree, **more: str) -> Installed:
    """The entry of a content that comes from a repository."""
    entry = Installed(
        path=f"skills/{name}",
        name=name,
        source=SOURCE + name,
        revision="a" * 40,
        marker="b" * 40,
        version="1.0.0",
        digest=digest(tree),
        trust="community",
        verdict="safe",
        ruleset="1",
        files=tuple((item.path, item.sha256) for item in entries(tree)),
        installed="2026-11-15T06:00:00Z",
        updated="2026-11-15T06:00:00Z",
    )
    return entry._replace(**more)  # type: ignore[arg-type]  # only texts are given


class Machine:
    """A root, its lock, a state directory, and what is installed, with a real history."""

    def __init__(self, top: Path | str) -> None:
        self.top = str(top)
        self.root = os.path.join(self.top, "agents", "skills")
        self.state = os.path.join(self.top, "state")
        self.lock = lock_file(self.root)
        self.database = StateDatabase(self.state)
        self.journal = Journal(self.database, system_clock)
        self.writer = Writer(self.journal, self.state)
        self.installs = Installs(self.journal, system_clock, self.writer.recover)
        self.writer.settled = self._follow

    def _follow(self, entries: Sequence[Entry], planned: Any) -> None:
        if planned is not None:
            self.installs.enter(entries, planned)

    def close(self) -> None:
        self.database.close()

    def install(self, *names: str, run: str = "", **more: str) -> dict[str, Installed]:
        """Install skills, or bring them to another body."""
        trees = {name: skill(name, **more) for name in names}
        return self.commit({name: (tree, installed(name, tree)) for name, tree in trees.items()}, run)

    def remove(self, *names: str, run: str = "") -> None:
        self.commit(dict.fromkeys(names, (None, None)), run)

    def commit(self, wanted: Mapping[str, tuple[Tree | None, Installed | None]], run: str = "") -> dict[str, Installed]:
        """Write contents and their entries in one step, as the install chain does; the entries."""
        run = run or f"r{os.urandom(8).hex()}"
        changes = [
            TreeChange("install", name, os.path.join(self.root, name), tree) for name, (tree, _) in wanted.items()
        ]
        new = {f"skills/{name}": entry for name, (_, entry) in wanted.items()}
        self.installs.commit(self.root, new, self.writing(changes, run))
        return {path: entry for path, entry in new.items() if entry is not None}

    def writing(self, changes: list[TreeChange], run: str) -> Callable[[Any], object]:
        return lambda planned: self.writer.write(changes, Provenance("user", "install", run=run), planned)

    def examine(self) -> tuple[Note, ...]:
        return examine(self.installs, self.root)

    def locked(self) -> dict[str, Installed]:
        """What the file says."""
        return {entry.path: entry for entry in read(self.lock).entries}

    def on_disk(self) -> dict[str, str]:
        """What anybody sees in the root."""
        names = os.listdir(self.root) if os.path.isdir(self.root) else []
        return {f"skills/{name}": digest(read_tree(os.path.join(self.root, name))) for name in names if name[0] != "."}

    def check_whole(self) -> None:
        """Lock, history, disk and what is remembered agree, and nothing is left behind."""
        assert self.journal.verify() == ()
        assert self.journal.edits() == []
        assert self.installs.pending(self.lock) == {}
        locked = self.locked()
        assert self.installs.known(self.lock) == locked
        assert self.installs.entries(self.root) == tuple(locked[path] for path in sorted(locked))
        assert {path: entry.digest for path, entry in locked.items()} == self.on_disk()
        heads = {entry.path: entry.after for entry in self.journal.entries()}
        there = {os.path.join(os.path.dirname(self.lock), path): of for path, of in self.on_disk().items()}
        assert {path: of for path, of in heads.items() if of} == there
        places = [os.path.dirname(self.lock), *(place for place, *_ in os.walk(self.root))]
        assert [path for place in places for path in leftovers(place)] == []
        assert self.examine() == ()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine on which nothing is installed yet."""
    made = Machine(tmp_path.resolve())
    yield made
    made.close()


__all__ = ["Machine", "installed", "machine", "skill"]
