"""What must hold whatever happened, and what is said where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.machine import Facts, Machine, Run

KINDS = ("lost", "torn", "fine", "crash", "wrong")
"""Something acknowledged or stored is gone; a mixture is seen; "fine" is said of something damaged; a traceback; an
exit code, a message or a repair that does not fit what is on the disk."""


class Unit(NamedTuple):
    """One run of a scenario."""

    family: str
    case: str
    at: str

    def __str__(self) -> str:
        return f"{self.family}:{self.case}@{self.at}"


def number_of(unit: Unit) -> int:
    """A number that follows from a run alone, to choose which of the expensive checks it makes."""
    return sum(map(ord, "".join(unit)))


class Failure(NamedTuple):
    """A promise that was not kept."""

    unit: Unit
    kind: str
    what: str


class Verdict:
    """The promises of one run, checked one after the other."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.failures: list[Failure] = []

    def expect(self, holds: object, kind: str, what: str) -> bool:
        """A promise: it holds, or it is a failure of this kind."""
        if not holds:
            self.failures.append(Failure(self.unit, kind, what))
        return bool(holds)

    def ran(self, run: Run) -> Run:
        """Whatever a command is asked, it gives one answer and no traceback."""
        self.expect(not run.failed, "crash", f"{run}: {run.failed}")
        return run

    def old_or_new(self, seen: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """What anybody sees is all old or all new."""
        if seen not in (before, after):
            self.expect(False, "torn", f"seen is neither old nor new: {compared(seen, before)}")

    def keeps(self, now: Facts, before: Facts, *, destroyed: frozenset[str] = frozenset()) -> None:
        """Every content that was stored or lay in a skill is stored or lies in a skill."""
        had = before.contents | {*before.skills.values()}
        gone = had - destroyed - now.contents - {*now.skills.values()}
        self.expect(not gone, "lost", f"contents that cannot be had any more: {', '.join(sorted(gone))}")

    def repaired(self, machine: Machine, *, twice: bool = True) -> bool:
        """A repair says whether it has mended everything, and says the truth; a second one has nothing to do."""
        before = machine.facts()
        repair = self.ran(machine.whet("doctor", "--repair"))
        check = self.ran(machine.whet("doctor", "--check"))
        now = machine.facts()
        clean = repair.status == 0
        self.expect(
            clean == (check.status == 0),
            "wrong",
            f"{repair} and {check} do not agree: {errors(check) or errors(repair)}",
        )
        if clean:
            self.expect(not now.problems, "fine", f"after a clean repair: {'; '.join(now.problems[:3])}")
            self.expect(not machine.left(), "wrong", f"left behind after a repair: {machine.left()[:3]}")
            verified = self.ran(machine.whet("history", "verify"))
            self.expect(verified.status == 0, "wrong", f"repaired, but {verified}")
        self.keeps(now, before)
        if twice:
            again = self.ran(machine.whet("doctor", "--repair"))
            done = again.answer.get("repaired", [])
            self.expect(not clean or not done, "wrong", f"a second repair still does something: {done[:2]}")
            self.expect(again.status == repair.status, "wrong", f"a second repair ends with {again.status}")
        return clean

    def no_false_fine(self, machine: Machine, problems: tuple[str, ...]) -> Run:
        """If a look without Whet finds damage, the doctor does not say that all is fine."""
        check = self.ran(machine.whet("doctor", "--check"))
        self.expect(
            check.status != 0 or not problems, "fine", f"doctor --check is fine with: {'; '.join(problems[:3])}"
        )
        return check


def compared(seen: Mapping[str, str], before: Mapping[str, str]) -> str:
    """How two views differ, in a few words."""
    gone, new = sorted({*before} - {*seen}), sorted({*seen} - {*before})
    other = sorted(name for name in {*seen} & {*before} if seen[name] != before[name])
    return f"without {gone}, with {new}, changed {other}"


def errors(run: Run) -> str:
    """The errors in a report of the doctor."""
    found = [entry for entry in run.answer.get("report", ()) if entry["severity"] == "error"]
    return "; ".join(f"{entry['code']}: {entry['message']}" for entry in found[:2])
