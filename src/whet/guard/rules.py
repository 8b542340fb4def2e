"""The rules, read from `data/rules.json`, where each checker has a pack of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from whet.guard.finding import Rule
from whet.guard.tables import load_table

if TYPE_CHECKING:
    from whet.guard.finding import Hit, Severity


@cache
def pack(name: str) -> tuple[Rule, ...]:
    """The rules of one checker, such as `shell` or `reading`."""
    return tuple(Rule(**{**row, "references": tuple(row["references"])}) for row in load_table("rules")[name])


def severity_of(hit: Hit) -> Severity:
    """How grave a hit is: as it says itself, else as its rule says."""
    return hit.severity or every()[hit.rule].severity


@cache
def every() -> dict[str, Rule]:
    """Every rule by its id."""
    return {rule.id: rule for name in load_table("rules") for rule in pack(name)}
