"""Many processes at once: no update is lost, nobody is refused without a reason, readers see one state or another."""

from __future__ import annotations

import json
import os
import random
from functools import partial
from typing import TYPE_CHECKING, Any

from chaos.verdict import Unit, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chaos.machine import Machine, Stock
    from chaos.verdict import Failure

WRITERS, ROUNDS = 8, 5
NEW = {"four", "five", "six", "seven"}


def units(_stock: Stock, count: int, seed: int) -> list[Unit]:
    """Each crowd, so many times."""
    return [Unit("writers", case, str(seed + number)) for case in CASES for number in range(count)]


def run(stock: Stock, unit: Unit) -> list[Failure]:
    """One crowd."""
    verdict, machine = Verdict(unit), stock.take("rich")
    CASES[unit.case](verdict, machine, random.Random(int(unit.at)))
    verdict.expect(machine.whet("history", "verify").status == 0, "wrong", "the history does not verify afterwards")
    check = machine.whet("doctor", "--check")
    verdict.expect(check.status == 0, "wrong", f"afterwards: {check}")
    return verdict.failures


def together(acts: Iterable[Callable[[], list[Any]]]) -> list[list[Any]]:
    """Call each in a process of its own, all at once; what they return."""
    started = []
    for act in acts:
        answer = os.memfd_create("answer")
        child = os.fork()
        if not child:
            code = 1
            try:
                os.write(answer, json.dumps(act()).encode())
                code = 0
            finally:
                os._exit(code)
        started.append((child, answer))
    found = []
    for child, answer in started:
        os.waitpid(child, 0)
        found.append(json.loads(os.pread(answer, 1 << 20, 0) or "[]"))
        os.close(answer)
    return found


def patches(machine: Machine, names: list[str], mark: str) -> list[Any]:
    """Put marks into skills, each before the last line; which were acknowledged, and why the others were not."""
    done: list[Any] = []
    for number in range(ROUNDS):
        name = names[number % len(names)]
        text = f"mark-{mark}-{number}-"
        run = machine.whet("skill", "patch", name, "--find", "The end.", "--replace", f"{text}\nThe end.")
        done.append([name, text, run.status, run.failed, str(run.answer.get("code", ""))])
    (machine.work / f"done-{mark}").touch()
    return done


def looks(machine: Machine, wrong: Callable[[set[str]], bool], until: int) -> list[Any]:
    """List the skills until the writers are done; what was seen and must not be."""
    found: list[Any] = []
    while len([*machine.work.glob("done-*")]) < until:
        run = machine.whet("list", "--all")
        names = {*machine.listed(run)}
        if run.failed or wrong(names):
            found.append([run.failed, sorted(names)])
    return found


def crowd(verdict: Verdict, machine: Machine, names: list[str], chance: random.Random) -> None:
    """Eight writers patch these skills, two readers look."""
    for name in {*names}:
        machine.whet("edit", name, "--body", "Lines:\nThe end.\n")
    had = {*machine.facts().skills}
    orders = [chance.sample(names, len(names)) for _ in range(WRITERS)]
    writers = [partial(patches, machine, order, str(at)) for at, order in enumerate(orders)]
    readers = [lambda: looks(machine, lambda seen: seen != had, WRITERS)] * 2
    answers = together([*writers, *readers])
    texts = {name: (machine.root / name / "SKILL.md").read_text() for name in {*names}}
    for name, mark, status, failed, code in (row for rows in answers[:WRITERS] for row in rows):
        verdict.expect(not failed, "crash", failed)
        there = texts[name].count(mark)
        verdict.expect(there == (status == 0), "lost", f"{name}: {mark} is there {there} times, exit code {status}")
        verdict.expect(code != "skill-changed", "wrong", f"{name}: a patch that still fitted was refused ({code})")
    for row in (row for rows in answers[WRITERS:] for row in rows):
        verdict.expect(False, "torn", f"a reader saw {row}")


def one_skill(verdict: Verdict, machine: Machine, chance: random.Random) -> None:
    crowd(verdict, machine, ["alpha"], chance)


def many_skills(verdict: Verdict, machine: Machine, chance: random.Random) -> None:
    crowd(verdict, machine, ["alpha", "beta", "gamma", "three"], chance)


def renames(verdict: Verdict, machine: Machine, _chance: random.Random) -> None:
    """One process renames a skill to and fro; whoever looks sees it, once."""

    def rename() -> list[Any]:
        ways = [("alpha", "omega"), ("omega", "alpha")] * 3
        done = [machine.whet("skill", "rename", *way) for way in ways]
        (machine.work / "done-0").touch()
        return [str(run) for run in done if run.status]

    readers = [lambda: looks(machine, lambda seen: len(seen & {"alpha", "omega"}) != 1, 1)] * 3
    failed, *seen = together([rename, *readers])
    verdict.expect(not failed, "wrong", f"{failed}")
    verdict.expect(not any(seen), "torn", f"readers saw {[rows[0] for rows in seen if rows]}")


def installs(verdict: Verdict, machine: Machine, _chance: random.Random) -> None:
    """One process installs four skills and takes them away; whoever looks sees all of them or none."""

    def install() -> list[Any]:
        ways = [("install", f"{machine.top}/more", "--all", "--yes"), ("uninstall", *sorted(NEW), "--yes")] * 2
        done = [machine.whet(*words) for words in ways]
        (machine.work / "done-0").touch()
        return [str(run) for run in done if run.status]

    readers = [lambda: looks(machine, lambda seen: seen & NEW not in (NEW, set()), 1)] * 3
    failed, *seen = together([install, *readers])
    verdict.expect(not failed, "wrong", f"{failed}")
    verdict.expect(not any(seen), "torn", f"readers saw {[rows[0] for rows in seen if rows]}")


CASES = {"one skill": one_skill, "many skills": many_skills, "rename": renames, "install": installs}
