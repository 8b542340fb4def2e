"""Archives and servers that mean harm, as the tests of sources have them: refused, and nothing has changed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from chaos.verdict import Unit, Verdict

if TYPE_CHECKING:
    from chaos.machine import Facts, Machine, Run, Stock
    from chaos.verdict import Failure


def units(_stock: Stock, count: int, seed: int) -> list[Unit]:
    """Every archive, and every server for one way to fetch; or so many of each."""
    from journeys.hostile_world import KINDS
    from journeys.test_install_hostile import BAD
    from sources.tampered import LARGE, TAMPERED, WITHOUT_SKILL

    chance = random.Random(seed)
    archives = [Unit("hostile", "archive", kind) for kind in (*TAMPERED, *WITHOUT_SKILL) if kind not in LARGE]
    servers = [Unit("hostile", "server", f"{chance.choice([*KINDS])}/{how}") for how in BAD]
    most = count or 10_000
    return [*chance.sample(archives, min(most, len(archives))), *chance.sample(servers, min(most, len(servers)))]


def run(stock: Stock, unit: Unit) -> list[Failure]:
    """One of them is installed from."""
    verdict, machine = Verdict(unit), stock.take("rich")
    before = machine.facts()
    if unit.case == "archive":
        done = verdict.ran(archive(machine, unit.at))
    else:
        done = verdict.ran(server(machine, *unit.at.split("/")))
    check_unchanged(verdict, machine, before, done)
    return verdict.failures


def archive(machine: Machine, kind: str) -> Run:
    """Install from an archive of this kind."""
    from sources.tampered import TAMPERED, WITHOUT_SKILL

    made = TAMPERED[kind][0] if kind in TAMPERED else WITHOUT_SKILL[kind]
    (machine.work / "x.zip").write_bytes(made())
    return machine.whet("install", str(machine.work / "x.zip"), "--all", "--yes")


def server(machine: Machine, kind: str, how: str) -> Run:
    """Install from a server that behaves like this."""
    from journeys.hostile_world import KINDS, staged
    from journeys.test_install_hostile import BAD

    with staged(KINDS[kind]) as stage:
        host = stage.server.url.removeprefix("https://").removeprefix("http://")
        (machine.state / "config.toml").write_text(f'private_hosts = ["{host}"]\nnetwork_timeout = 1\nmin_age = 0\n')
        stage.play(1, BAD[how].how)
        return machine.whet("install", stage.source, "--all", "--yes")


def check_unchanged(verdict: Verdict, machine: Machine, before: Facts, done: Run) -> None:
    """It was refused, with nothing taken in, nothing left behind and nothing outside touched."""
    now = machine.facts()
    verdict.expect(done.status != 0, "wrong", f"{done} was not refused")
    verdict.expect(done.answer.get("hint") or done.answer.get("plan"), "wrong", f"{done} gives no hint")
    verdict.expect(now.view == before.view and now.journal == before.journal, "torn", f"{done} changed something")
    fetching = machine.state / "fetching"
    left = machine.left() + [path.name for path in (fetching.iterdir() if fetching.exists() else ())]
    verdict.expect(not left, "wrong", f"{done} left {left[:3]}")
    stray = [path.name for path in machine.top.iterdir() if path.name not in KNOWN]
    verdict.expect(not stray, "wrong", f"{done} wrote outside: {stray}")


KNOWN = {"home", "state", "work", "src", "more", "early"}
