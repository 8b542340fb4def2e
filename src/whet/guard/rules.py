"""The rules, read from `data/rules.json`, which has a pack for each checker."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from whet.guard.finding import Rule
from whet.guard.tables import load_table

if TYPE_CHECKING:
    from whet.guard.finding import Hit, Severity
    from whet.guard.taint.network import Judgement


@cache
def pack(name: str) -> tuple[Rule, ...]:
    """Return the rules of one checker, such as `shell` or `reading`."""
    return tuple(Rule(**{**row, "references": tuple(row["references"])}) for row in load_table("rules")[name])


def severity_of(hit: Hit | Judgement) -> Severity:
    """Return the severity of a hit, or that of its rule if it has none."""
    return hit.severity or every()[hit.rule].severity


@cache
def every() -> dict[str, Rule]:
    """Return every rule by its id."""
    return {rule.id: rule for name in load_table("rules") for rule in pack(name)}
