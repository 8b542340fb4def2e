"""The rules, read from `data/rules.json`, where each checker has a pack of them."""

from __future__ import annotations

from functools import cache

from whet.guard.finding import Rule
from whet.guard.tables import load_table


@cache
def pack(name: str) -> tuple[Rule, ...]:
    """The rules of one checker, such as `shell` or `reading`."""
    return tuple(Rule(**{**row, "references": tuple(row["references"])}) for row in load_table("rules")[name])


@cache
def every() -> dict[str, Rule]:
    """Every rule by its id."""
    return {rule.id: rule for name in load_table("rules") for rule in pack(name)}
