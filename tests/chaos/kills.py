"""Commands that are killed: just before every step that they take, and at any moment of a stream of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, ClassVar

from chaos.machine import NEVER
from chaos.verdict import Unit, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chaos.machine import Facts, Machine, Stock
    from chaos.verdict import Failure

TEXT = ("--description", "Is new. Use it when it is new.", "--body", "New line.\n")
COMMANDS: dict[str, tuple[str, ...]] = {
    "create": ("create", "new", *TEXT),
    "edit": ("edit", "alpha", "--body", "Other line.\n"),
    "patch": ("patch", "alpha", "--find", "Second", "--replace", "Third"),
    "write-file": ("write-file", "alpha", "references/b.md", "--content", "b" * 5000),
    "remove-file": ("remove-file", "alpha", "references/a.md"),
    "rename": ("rename", "alpha", "omega"),
    "rename-installed": ("rename", "one", "uno"),
    "delete": ("delete", "alpha"),
    "restore": ("restore", "gone"),
    "undo": ("undo",),
    "undo-entry": ("undo", "4"),
    "rollback": ("rollback", "alpha"),
    "approve": ("approve", "1"),
    "install": ("install", "{top}/more", "--all", "--yes"),
    "update": ("update", "--yes"),
    "uninstall": ("uninstall", "one", "three", "--yes"),
    "sync": ("sync", "kiro", "--force", "--copy"),
    "sync-undo": ("sync", "--undo"),
    "connect": ("connect", "kiro", "--yes"),
    "disconnect": ("connect", "claude-code", "--undo", "--yes"),
    "archive": ("archive", "gamma"),
    "snapshot": ("snapshot", "export", "{top}/work/all.zip"),
    "backup": ("backup", "{top}/work/all.backup"),
    "restore-backup": ("restore", "--backup", "{top}/kept.backup", "--yes"),
    "repair": ("doctor", "--repair"),
    "migrate": ("history",),
}
PREPARED = {"repair": "damaged", "migrate": "old", "restore-backup": "backed-up"}
"""Which machine a command runs on, where it is not the rich one."""


def words_of(machine: Machine, case: str) -> tuple[str, ...]:
    """The command of a case on this machine."""
    return tuple(word.format(top=machine.top) if word.startswith("{top}") else word for word in COMMANDS[case])


class Outcome:
    """What a command does when nothing happens to it: what was before it and what is after it."""

    known: ClassVar[dict[tuple[Path, str], Outcome]] = {}
    """By the machine and the case: what lies on a machine names its directory."""

    def __init__(self, stock: Stock, case: str) -> None:
        machine = stock.take(PREPARED.get(case, "rich"))
        self.before = machine.facts()
        run = machine.whet(*words_of(machine, case), step=NEVER)
        self.status, self.steps, self.told = run.status, run.steps, str(run)
        machine.whet("list")
        self.after = machine.facts()

    @classmethod
    def of(cls, stock: Stock, case: str) -> Outcome:
        """Known in this process, or found out now."""
        if (stock.machine.top, case) not in cls.known:
            cls.known[stock.machine.top, case] = cls(stock, case)
        return cls.known[stock.machine.top, case]


def units(stock: Stock, count: int, seed: int) -> list[Unit]:
    """Every step of every command, or so many of them, drawn evenly; a fifth of the number are kills at random."""
    steps = {case: Outcome.of(stock, case) for case in COMMANDS}
    every = [Unit("kill", case, str(step)) for case in COMMANDS for step in range(1, steps[case].steps + 1)]
    chance = random.Random(seed)
    chosen = every if count <= 0 or count >= len(every) else chance.sample(every, count)
    return [*chosen, *(Unit("kill", "at random", str(seed * 100_000 + number)) for number in range(count // 10))]


def run(stock: Stock, unit: Unit) -> list[Failure]:
    """One kill, and everything that must hold after it."""
    return random_kill(stock, unit) if unit.case == "at random" else kill_at(stock, unit)


def kill_at(stock: Stock, unit: Unit) -> list[Failure]:
    """Kill a command just before one of its steps."""
    expected, verdict = Outcome.of(stock, unit.case), Verdict(unit)
    machine = stock.take(PREPARED.get(unit.case, "rich"))
    words, step = words_of(machine, unit.case), int(unit.at)
    if not verdict.expect(expected.status == 0, "wrong", f"without a kill: {expected.told}"):
        return verdict.failures
    killed = machine.whet(*words, step=step)
    if killed.status >= 0:
        verdict.ran(killed)
    check_settled(verdict, machine, expected.before, expected.after, acknowledged=killed.status == 0)
    if step % 3 == 0 and not verdict.failures:
        now = machine.facts()
        if verdict.repaired(machine, twice=step % 6 == 0) and now.view != expected.before.view != expected.after.view:
            return verdict.failures
        verdict.expect(
            unit.case == "repair" or machine.facts().view == now.view, "wrong", "the repair changed what was settled"
        )
    if step % 4 == 0 and machine.facts().view == expected.before.view != expected.after.view:
        again = verdict.ran(machine.whet(*words))
        verdict.expect(again.status == 0, "wrong", f"the next one cannot do it: {again}")
        verdict.expect(machine.facts().view == expected.after.view, "wrong", "the next one does something else")
    return verdict.failures


def check_settled(verdict: Verdict, machine: Machine, before: Facts, after: Facts, *, acknowledged: bool) -> None:
    """What any reader sees after a kill, before any repair."""
    for name, of in machine.facts().skills.items():
        known = of in (before.skills.get(name), after.skills.get(name))
        verdict.expect(known, "torn", f"{name} on the disk is neither old nor new")
    listed = verdict.ran(machine.whet("list", "--all"))
    if verdict.expect(listed.status == 0, "wrong", f"{listed}"):
        verdict.old_or_new(machine.listed(listed), before.skills, after.skills)
    now = machine.facts()
    verdict.old_or_new(now.skills, before.skills, after.skills)
    verdict.expect(now.lock in (before.lock, after.lock), "torn", "the lock is neither old nor new")
    verdict.expect(now.others in (before.others, after.others), "torn", f"clients: {compare(now, before, after)}")
    verdict.keeps(now, before)
    verdict.expect(now.journal[: len(before.journal)] == before.journal, "lost", "entries of the history are gone")
    verdict.expect(not acknowledged or now.view == after.view, "lost", "it was acknowledged, and is not there")
    if now.problems:
        verdict.no_false_fine(machine, now.problems)


def compare(now: Facts, before: Facts, after: Facts) -> str:
    """Which files of other clients are neither as they were nor as they will be."""
    paths = {*now.others, *before.others, *after.others}
    old = sorted(path for path in paths if now.others.get(path) != before.others.get(path))
    new = sorted(path for path in paths if now.others.get(path) != after.others.get(path))
    return f"not old: {old[:3]}, not new: {new[:3]}"


def stream(seed: int) -> Iterator[tuple[str, ...]]:
    """Commands that follow from the seed alone."""
    chance = random.Random(seed)
    names = ["alpha", "beta", "gamma", "one", "two", "three"]
    for number in range(12):
        name = chance.choice(names)
        match chance.randrange(6):
            case 0:
                yield ("write-file", name, f"references/{number}.md", "--content", f"{seed} {number}\n" * 50)
            case 1:
                yield ("rename", name, f"s{number}")
                names[names.index(name)] = f"s{number}"
            case 2:
                yield ("delete", name)
                yield ("restore", name)
            case 3:
                yield ("edit", name, "--body", f"Line {number} of {seed}.\n")
            case 4:
                yield ("create", f"new{number}", "--description", f"Does {number}. Use it so.", "--body", f"{seed}\n")
                names.append(f"new{number}")
            case _:
                yield ("edit", name, "--body", f"Wrong {number} of {seed}.\n")
                yield ("undo",)


def random_kill(stock: Stock, unit: Unit) -> list[Failure]:
    """Run a stream of commands up to one that is killed at any moment; what was acknowledged before it is there."""
    verdict, chance = Verdict(unit), random.Random(int(unit.at))
    machine = stock.take("rich")
    commands = [*stream(int(unit.at))]
    for words in commands[: chance.randrange(len(commands) // 2)]:
        verdict.ran(machine.whet(*words))
    words = commands[chance.randrange(len(commands) // 2)]
    kept = stock.keep()
    before = machine.facts()
    done = verdict.ran(machine.whet(*words))
    after = machine.facts()
    machine = stock.put_back(kept)
    if done.status:
        return verdict.failures  # a command that does not fit here: it was refused, which is checked elsewhere
    killed = machine.whet(*words, seconds=chance.uniform(0.001, 0.08))
    check_settled(verdict, machine, before, after, acknowledged=killed.status == 0)
    if not verdict.failures:
        verdict.repaired(machine, twice=False)
    return verdict.failures
