"""The rules, as data: one module for each checker, each with its `RULES`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whet.guard.finding import Rule

PACKS = ("reading", "prose", "shell", "windows", "python", "javascript", "manifests", "secrets", "flow")


@lru_cache(maxsize=1)
def every() -> dict[str, Rule]:
    """Every rule by its id."""
    from importlib import import_module

    rules: dict[str, Rule] = {}
    for pack in PACKS:
        for rule in import_module(f"whet.guard.rules.{pack}").RULES:
            if rule.id in rules:
                raise AssertionError(f"two rules are called {rule.id}")
            rules[rule.id] = rule
    return rules
