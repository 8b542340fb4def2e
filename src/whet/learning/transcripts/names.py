"""The names that clients use in their sessions, from `names.toml`."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def tables() -> Mapping[str, Mapping[str, Any]]:
    """All tables."""
    import tomllib

    return tomllib.loads(resources.files(__package__).joinpath("names.toml").read_text("utf-8"))


@cache
def names_of(table: str, kind: str) -> frozenset[str]:
    """The names of one kind."""
    return frozenset(tables()[table].get(kind, "").split())


@cache
def meanings(table: str) -> Mapping[str, str]:
    """For each name of a table, the kind that it is of."""
    return {name: kind for kind, words in tables()[table].items() for name in words.split()}
