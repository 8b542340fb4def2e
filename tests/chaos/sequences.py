"""The property: whatever is done in whatever order, the set of contents that can be had again never shrinks.

A content can be had when its list of files and each of its files is stored and proves its hash, or when it lies in a
skill's directory. Only a damage may take one away, and only one whose own list or files it hit; what is left after the
damage is what must stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from chaos.damages import WAYS, damage, files, subject
from chaos.kills import COMMANDS, words_of
from chaos.verdict import Unit, Verdict

if TYPE_CHECKING:
    from chaos.machine import Facts, Machine, Stock
    from chaos.verdict import Failure

STEPS = 8
CHANGES = [case for case in COMMANDS if case not in ("repair", "migrate", "restore-backup")]
KEPT = (
    "state.db",
    "history.log",
    "audit.log",
    "contents/",
    "cache.db",
    "cache/",
    "whet-lock.json",
    "locks/",
    "config.toml",
)


class Sequence(RuleBasedStateMachine):
    """Changes, kills, damages and repairs in any order."""

    stock: ClassVar[Stock]

    @initialize()
    def begin(self) -> None:
        """A machine with skills and a history."""
        self.machine: Machine = self.stock.take("rich")
        self.known = recoverable(self.machine.facts())

    @rule(case=st.sampled_from(CHANGES))
    def change(self, case: str) -> None:
        """A command; it may be refused, but not crash."""
        run = self.machine.whet(*words_of(self.machine, case))
        assert not run.failed, f"{run}: {run.failed}"

    @rule(case=st.sampled_from([*CHANGES, "repair"]), step=st.integers(1, 250))
    def kill(self, case: str, step: int) -> None:
        """A command that is killed, if it comes to that step."""
        self.machine.whet(*words_of(self.machine, case), step=step)

    @rule(kind=st.sampled_from(KEPT), number=st.integers(0, 60), way=st.sampled_from(WAYS))
    def harm(self, kind: str, number: int, way: str) -> None:
        """A damage of a file that Whet keeps."""
        there = [path for path in files(self.machine) if subject(path) == kind]
        if there and way != "unreadable":
            damage(self.stock, self.machine.top / there[number % len(there)], way)
            self.known &= recoverable(self.machine.facts())

    @rule()
    def repair(self) -> None:
        """A repair: it ends clean, or says that it does not."""
        run, check = self.machine.whet("doctor", "--repair"), self.machine.whet("doctor", "--check")
        assert not run.failed and not check.failed, f"{run} {run.failed} {check} {check.failed}"
        assert (run.status == 0) == (check.status == 0), f"{run} and {check} do not agree"

    @invariant()
    def nothing_is_lost(self) -> None:
        """What could be had before can be had now."""
        now = recoverable(self.machine.facts())
        assert self.known <= now, f"lost: {sorted(self.known - now)}"
        self.known = now


def recoverable(facts: Facts) -> frozenset[str]:
    """Every content that can be had."""
    return facts.contents | {*facts.skills.values()}


def units(_stock: Stock, count: int, start: int) -> list[Unit]:
    """So many times ten sequences."""
    return [Unit("sequence", "any order", str(start * 1000 + number)) for number in range(count)]


def run(stock: Stock, unit: Unit) -> list[Failure]:
    """Ten sequences; of one that breaks the property, the shortest."""
    verdict = Verdict(unit)
    Sequence.stock = stock
    chosen = settings(
        max_examples=10,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.generate],
    )
    try:
        run_state_machine_as_test(seed(int(unit.at))(Sequence), settings=chosen)
    except AssertionError as error:
        steps = [line.strip() for note in getattr(error, "__notes__", ()) for line in note.splitlines()]
        told = " ".join(step.removeprefix("state.") for step in steps if step.startswith("state."))
        verdict.expect(False, "lost" if "lost:" in str(error) else "wrong", f"{error} after {told}")
    return verdict.failures
