"""Changes of installed skills by other ways than plans, really killed at many steps: the lock follows them all the
same, as soon as anybody asks for it."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from sources.chain_world import Machine, State, again, keep, planner, prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.kill import Victim

PROCESSES = True

CHANGES = {
    "rollback": "library.history.rollback('one')",
    "undo": "library.history.undo(str(library.edit.history.entries().entries[-1].id))",
    "delete": "library.edit.apply([{'action': 'delete', 'name': 'one'}])",
    "rename": "library.edit.apply([{'action': 'rename', 'name': 'one', 'new_name': 'uno'}])",
}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with prepared() as made:
        with made.library() as library:
            assert library.sources.update("one").done == ("one",)
        keep(made.top)
        yield made


@pytest.fixture(scope="module")
def victim(machine: Machine) -> Iterator[Victim]:
    with planner(machine) as process:
        yield process


def settled(machine: Machine, edited: tuple[str, ...]) -> State:
    """What the next command finds, which has to be whole."""
    with machine.library() as library:
        machine.check_whole(library, edited=edited)
    return machine.state()


@pytest.mark.parametrize("name", CHANGES)
def test_the_lock_follows_what_a_killed_process_has_done(
    machine: Machine, victim: Victim, name: str, *, quick: bool
) -> None:
    again(machine.top)
    # A renamed skill has another name in its frontmatter, which is an edit; its source still calls it `one`.
    edited = ("two", "one", "uno") if name == "rename" else ("two",)
    before, outcomes = settled(machine, edited), list[State]()
    for step in count(1, 40 if quick else 3):
        more = victim.killed(f"({CHANGES[name]}, library.sources.plan_update('three'))[1]", "planning", step)
        outcomes.append(settled(machine, edited))
        again(machine.top)
        if not more:
            break
    after = outcomes[-1]
    assert after != before and len(outcomes) > (2 if quick else 10)
    assert all(outcome in (before, after) for outcome in outcomes)
    assert outcomes == sorted(outcomes, key=lambda outcome: outcome == after), "once done, done"
