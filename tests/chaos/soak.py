"""Hundreds of operations one after the other, compared with a model in memory after each."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from chaos.verdict import Unit, Verdict, compared

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.machine import Machine, Run, Stock
    from chaos.verdict import Failure

OPERATIONS = 60


def units(_stock: Stock, count: int, seed: int) -> list[Unit]:
    """So many soaks."""
    return [Unit("soak", "operations", str(seed * 1000 + number)) for number in range(count)]


def run(stock: Stock, unit: Unit) -> list[Failure]:
    """One soak: every skill is what the model says, after every operation; in the end everything can be had again."""
    verdict = Verdict(unit)
    model = Model(verdict, stock.take("rich"), random.Random(int(unit.at)))
    for _ in range(OPERATIONS):
        model.act()
        if verdict.failures:
            break
    model.check_end()
    return verdict.failures


class Model:
    """What every skill must hold, and has held."""

    def __init__(self, verdict: Verdict, machine: Machine, chance: random.Random) -> None:
        self.verdict, self.machine, self.chance = verdict, machine, chance
        self.now = dict(machine.facts().skills)
        self.ever = {*self.now.values()}
        self.deleted: dict[str, str] = {}
        self.number = 0

    def act(self) -> None:
        """One operation, drawn by chance."""
        self.number += 1
        acts: list[Callable[[], None]] = [self.create, self.edit, self.patch, self.file, self.rename, self.delete]
        self.chance.choice([*acts, self.undo, self.rollback, self.restore, self.refuse])()

    def ask(self, *words: str, changes: str = "", status: int = 0) -> Run:
        """Run a command; every skill but the one it changes is as it was."""
        done = self.verdict.ran(self.machine.whet(*words))
        self.verdict.expect(done.status == status, "wrong", f"{done}")
        found = self.machine.facts().skills
        rest = {name: of for name, of in found.items() if name != changes}
        known = {name: of for name, of in self.now.items() if name != changes}
        self.verdict.expect(rest == known, "torn", f"{done}: others changed: {compared(rest, known)}")
        self.now = dict(found)
        self.ever |= {*found.values()}
        return done

    def text(self, name: str, file: str = "SKILL.md") -> str:
        path = self.machine.root / name / file
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def some(self) -> str:
        return self.chance.choice(sorted(self.now))

    def create(self) -> None:
        name, line = f"made-{self.number}", f"Line {self.number}.\n"
        self.ask(
            "create", name, "--description", f"Does {self.number} things. Use it then.", "--body", line, changes=name
        )
        self.verdict.expect(line in self.text(name), "lost", f"{name} does not hold what was written")

    def edit(self) -> None:
        name, line = self.some(), f"Edited {self.number}.\n"
        self.ask("edit", name, "--body", line, changes=name)
        self.verdict.expect(self.text(name).endswith(line), "lost", f"{name} does not hold what was written")

    def patch(self) -> None:
        name = self.some()
        before = self.text(name)
        self.ask("patch", name, "--find", f"name: {name}", "--replace", f"name: {name}", status=2)
        line = before.rstrip("\n").rpartition("\n")[2]
        if line and before.count(line) == 1:
            self.ask("patch", name, "--find", line, "--replace", f"{line} {self.number}", changes=name)
            self.verdict.expect(f"{line} {self.number}" in self.text(name), "lost", f"{name} is not patched")

    def file(self) -> None:
        name, path = self.some(), f"references/{self.chance.randrange(3)}.md"
        if self.text(name, path) and self.chance.random() < 0.4:
            self.ask("remove-file", name, path, changes=name)
            self.verdict.expect(not self.text(name, path), "lost", f"{path} is still there")
        else:
            self.ask("write-file", name, path, "--content", f"{self.number}\n", changes=name)
            self.verdict.expect(self.text(name, path) == f"{self.number}\n", "lost", f"{path} has been altered")

    def rename(self) -> None:
        name, new = self.some(), f"named-{self.number}"
        of = self.now.pop(name)
        self.now[new] = of
        self.ask("rename", name, new, changes=new)

    def delete(self) -> None:
        name = self.some()
        if len(self.now) > 3:
            self.deleted[name] = self.now[name]
            self.ask("delete", name, changes=name)
            self.verdict.expect(name not in self.now, "lost", f"{name} is still there")

    def restore(self) -> None:
        if self.deleted:
            name = self.chance.choice(sorted(self.deleted))
            self.ask("restore", name, changes=name)
            of = self.deleted.pop(name)
            self.verdict.expect(self.now.get(name) == of, "lost", f"{name} does not come back as it was deleted")

    def undo(self) -> None:
        name = self.some()
        before = self.now[name]
        self.ask("write-file", name, "references/undone.md", "--content", f"{self.number}", changes=name)
        self.ask("undo", changes=name)
        self.verdict.expect(self.now[name] == before, "lost", f"{name} is not what it was before what was undone")

    def rollback(self) -> None:
        name = self.some()
        before = self.now[name]
        self.ask("write-file", name, "references/back.md", "--content", f"{self.number}", changes=name)
        self.ask("rollback", name, changes=name)
        self.verdict.expect(self.now[name] == before, "lost", f"{name} is not what it was before")

    def refuse(self) -> None:
        self.ask("delete", "not-there", status=1)

    def check_end(self) -> None:
        """The history proves, and every content that there ever was can be had."""
        facts = self.machine.facts()
        gone = self.ever - facts.contents - {*facts.skills.values()}
        self.verdict.expect(not gone, "lost", f"{len(gone)} of {len(self.ever)} contents cannot be had any more")
        self.verdict.expect(not facts.problems, "wrong", "; ".join(facts.problems[:3]))
        for words in (("verify-history",), ("guard", "log", "--verify"), ("doctor", "--check")):
            done = self.verdict.ran(self.machine.whet(*words))
            self.verdict.expect(done.status == 0, "wrong", f"{done}")
