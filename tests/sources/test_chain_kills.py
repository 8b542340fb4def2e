"""Installs, updates and removals that are really killed, at every step and at random moments: all of a plan or nothing
of it, and lock, history, record and disk agree."""

from __future__ import annotations

import random
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

from sources.chain_world import Machine, State, again, keep, planner, prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.kill import Victim

PROCESSES = True

PLANS = {
    "install": "library.sources.plan_install(str(machine.top / 'more'), every=True)",
    "merge": "library.sources.plan_update()",
    "uninstall": "library.sources.plan_uninstall('one', 'three')",
    "update": "library.sources.plan_update('one', 'three')",
    "restore": "library.sources.plan_restore(force=True)",
    "adopt": "library.sources.plan_adopt('own', 'other')",
}
REPEATED = 3
"""After every so many kills, the doctor comes, and what was planned is planned and done again."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with prepared() as made:
        keep(made.top)
        yield made


@pytest.fixture(scope="module")
def victim(machine: Machine) -> Iterator[Victim]:
    with planner(machine) as process:
        yield process


def settled(machine: Machine) -> State:
    """What the next command finds, which has to be whole."""
    with machine.library() as library:
        machine.check_whole(library, edited=("two",))
    return machine.state()


def check_repaired(machine: Machine, found: State) -> None:
    """The doctor removes what is left, and changes nothing else."""
    with machine.library() as library:
        assert library.repair().to_json()["lost"] == []
    assert machine.left() == []
    assert machine.state() == found


def check_each_whole(seen: State, before: State, after: State) -> None:
    """Whoever just looks at the disk, before anything is settled, sees every skill as it was or as it will be."""
    for name, digest in seen.skills.items():
        assert digest in (before.skills.get(name), after.skills.get(name)), name
    assert seen.lock in (before.lock, after.lock)
    assert {*before.skills} & {*after.skills} <= {*seen.skills}


@pytest.mark.parametrize(("name", "when"), [*((name, "applying") for name in PLANS), ("merge", "planning")])
def test_whoever_is_killed_at_any_step_leaves_all_of_a_plan_or_nothing(
    machine: Machine, victim: Victim, name: str, when: str, *, quick: bool
) -> None:
    again(machine.top)
    before = machine.state()
    unsettled, outcomes, repeated = list[State](), list[State](), list[State]()
    for step in count(1, 35 if quick else 1):
        more = victim.killed(PLANS[name], when, step)
        unsettled.append(machine.state())
        outcomes.append(settled(machine))
        if len(outcomes) % REPEATED == 0:
            check_repaired(machine, outcomes[-1])
            if outcomes[-1] == before:
                assert not victim.killed(PLANS[name])
                repeated.append(settled(machine))
        again(machine.top)
        if not more:
            break
    after = outcomes[-1]
    assert after != before
    assert quick or (len(outcomes) > 10 and repeated)
    assert all(outcome in (before, after) for outcome in outcomes)
    assert outcomes == sorted(outcomes, key=lambda outcome: outcome == after), "once done, done"
    assert all(outcome == after for outcome in repeated)
    for seen in unsettled:
        check_each_whole(seen, before, after)


def test_after_random_kills_all_of_a_plan_is_there_or_nothing(machine: Machine, victim: Victim, *, quick: bool) -> None:
    again(machine.top)
    before, afters, duration = machine.state(), dict[str, State](), dict[str, float]()
    plans = ["install", "restore"] if quick else [*PLANS]
    for name in plans:
        started = time.monotonic()
        assert not victim.killed(PLANS[name])
        duration[name] = time.monotonic() - started
        afters[name] = settled(machine)
        again(machine.top)
    for rounds in range(len(plans) if quick else 60):
        name = plans[rounds % len(plans)]
        victim.killed(PLANS[name], "after", random.uniform(0, duration[name]))
        seen, found = machine.state(), settled(machine)
        assert found in (before, afters[name])
        check_each_whole(seen, before, afters[name])
        if rounds % REPEATED == 0:
            check_repaired(machine, found)
            assert found != before or not victim.killed(PLANS[name])
            assert settled(machine) == afters[name]
        again(machine.top)
