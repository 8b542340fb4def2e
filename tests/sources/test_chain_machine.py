"""Whatever people do in whatever order: nothing anybody wrote is lost, and lock, history and disk agree."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sources.world import World
from whet.authoring.trees import digest
from whet.errors import WhetError
from whet.library.package import read_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.sources.merge import Prefer

HOUR = 3600 * 10**9
LINES = ("First", "Second", "Third")
names = st.sampled_from(("deploy", "pdf"))
lines = st.sampled_from(LINES)
words = st.sampled_from(("one", "two", "three"))
sides: st.SearchStrategy[Prefer | None] = st.sampled_from((None, "", "ours", "theirs"))


class Chain(RuleBasedStateMachine):
    """A library, a directory that its skills come from, and people who edit both."""

    @initialize()
    def start(self) -> None:
        self.now = 1_800_000_000 * 10**9
        self.directory = Path(tempfile.mkdtemp(prefix="whet-test-")).resolve()
        self.world = World(self.directory)
        self.library = self.world.library(clock=lambda: self.now)
        for name in ("deploy", "pdf"):
            self.world.offer(name, "".join(f"{line}: zero.\n\n" for line in LINES))
        self.library.sources.install(str(self.world.shelf), every=True)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.close()
            shutil.rmtree(self.directory)

    def done(self, call: Callable[[], Any], *refusals: str) -> bool:
        """Whether a call did not refuse; what lay on disk before is still there, or the history has it."""
        before = {path: tree for path in self.world.root.iterdir() if (tree := read_tree(str(path))) is not None}
        refusal = None
        try:
            call()
        except WhetError as error:
            refusal = error
        assert refusal is None or refusal.code in refusals, refusal
        for path, tree in before.items():
            same = digest(read_tree(str(path))) == digest(tree)
            assert same or self.library.edit.journal.content(digest(tree)) == tree
        return refusal is None

    def change(self, root: Path, name: str, line: str, word: str) -> None:
        path = root / name / "SKILL.md"
        if path.exists():
            old = path.read_text().split("\n")
            path.write_text("\n".join(f"{line}: {word}." if text.startswith(f"{line}: ") else text for text in old))

    # The rules are chosen with the same probability each: what matters most comes alone, the rest shares one.

    @rule(name=names, line=lines, word=words, here=st.booleans(), prefer=sides)
    def edit(self, name: str, line: str, word: str, *, here: bool, prefer: Prefer | None) -> None:
        """Somebody edits a skill here or at its source with other tools, and perhaps updates."""
        self.change(self.world.root if here else self.world.shelf, name, line, word)
        if prefer is not None:
            self.update(prefer)

    @rule(name=names, mine=lines, theirs=lines, word=words, prefer=sides)
    def diverge(self, name: str, mine: str, theirs: str, word: str, *, prefer: Prefer | None) -> None:
        """The same on both sides."""
        self.change(self.world.root, name, mine, word)
        self.edit(name, theirs, f"not {word}", here=False, prefer=prefer)

    def update(self, prefer: Prefer) -> None:
        assert self.done(lambda: self.library.sources.update(prefer=prefer))
        again = self.library.sources.plan_update(prefer=prefer)
        assert again.ready == (), "once is enough"
        left = {step.code for step in again.steps if step.state not in ("nothing", "held")}
        assert left <= {"locked-missing"} | (set() if prefer else {"update-conflict", "no-base"})

    @rule(data=st.data(), way=st.sampled_from(("undo", "run", "rollback")))
    def go_back(self, data: st.DataObject, way: str) -> None:
        entry = data.draw(st.sampled_from(self.library.edit.history.entries().to_json()["entries"]))
        refusals = ("cannot-undo", "no-such-version", "nothing-changes")
        if way == "rollback":
            self.done(lambda: self.library.history.rollback(entry["skill"]).to_json(), *refusals)
        else:
            what = entry["run"] if way == "run" and entry["run"] else str(entry["id"])
            self.done(lambda: self.library.history.undo(what).to_json(), *refusals)

    @rule(
        name=names,
        what=st.sampled_from(
            ("install", "uninstall", "restore", "adopt", "pin", "unpin", "delete", "bring_back", "lose", "compact")
        ),
    )
    def also(self, name: str, what: str) -> None:
        getattr(self, what)(name)

    def install(self, name: str) -> None:
        refusals = ("update-conflict", "pinned", "skill-exists", "no-base")
        if self.done(lambda: self.library.sources.install(str(self.world.shelf), skills=[name]), *refusals):
            assert (self.world.root / name).exists()
            assert self.library.sources.is_locked(name)

    def uninstall(self, name: str) -> None:
        if self.done(lambda: self.library.sources.uninstall(name), "not-installed"):
            assert not (self.world.root / name).exists()
            assert not self.library.sources.is_locked(name)

    def restore(self, name: str) -> None:
        force = name == "pdf"
        assert self.done(lambda: self.library.sources.apply(self.library.sources.plan_restore(force=force)))
        told = self.library.sources.verify()
        assert {skill.status for skill in told.skills} <= ({"ok"} if force else {"ok", "edited"})
        assert {path.partition("/")[2] for path in self.world.locked()} <= {*self.world.there()}

    def adopt(self, name: str) -> None:
        if self.done(lambda: self.library.sources.apply(self.library.sources.plan_adopt(name)), "skill-not-found"):
            assert self.library.sources.verify(name).valid

    def pin(self, name: str) -> None:
        self.done(lambda: self.library.settings.pin(name), "skill-not-found")

    def unpin(self, name: str) -> None:
        assert self.done(lambda: self.library.settings.unpin(name))

    def delete(self, name: str) -> None:
        if self.done(
            lambda: self.library.edit.apply([{"action": "delete", "name": name}]).to_json(), "skill-not-found"
        ):
            assert not (self.world.root / name).exists()

    def bring_back(self, name: str) -> None:
        refusals = ("nothing-to-restore", "skill-exists")
        if self.done(lambda: self.library.edit.apply([{"action": "restore", "name": name}]).to_json(), *refusals):
            assert (self.world.root / name).exists()

    def lose(self, name: str) -> None:
        shutil.rmtree(self.world.root / name, ignore_errors=True)

    def compact(self, _name: str) -> None:
        self.now += 2 * HOUR
        assert self.done(self.library.edit.history.compact)

    # what holds

    @invariant()
    def everything_agrees(self) -> None:
        if hasattr(self, "library"):
            assert self.library.sources.installs.known(str(self.world.lock())) == self.world.locked()
            assert self.library.edit.journal.edits() == []
            assert {entry.code for entry in self.library.doctor()} <= {"locked-missing"}


Chain.TestCase.settings = settings(max_examples=8, stateful_step_count=20, deadline=None)
TestChain = Chain.TestCase
