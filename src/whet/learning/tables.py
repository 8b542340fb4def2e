"""Tables of words and formats for reading sessions: TOML files next to the code that needs them, read once."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = "transcripts/names"
"""The names that clients use in their sessions."""
PROGRAMS = "evidence/programs"
"""Facts about programs."""
WORDS = "distill/words"
"""Words for names and descriptions of skills, and for their tools."""
PHRASES = "evidence/phrases"
"""Phrases of users, agents and programs."""


@cache
def load_table(name: str) -> Mapping[str, Any]:
    """Return the table of this name below `whet.learning`."""
    import tomllib

    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


@cache
def words_of(name: str, *keys: str) -> frozenset[str]:
    """Return the words of a table under these keys; empty if there is no such key."""
    value: Any = load_table(name)
    for key in keys:
        value = value.get(key, {})
    return frozenset(value.split() if isinstance(value, str) else value)


@cache
def pattern_of(kind: str) -> re.Pattern[str]:
    """Return the pattern for any phrase of this kind."""
    row = load_table(PHRASES)[kind]
    phrases = "|".join(row["any"])
    phrases = rf"\b(?:{phrases})\b" if row.get("words") else phrases
    return re.compile(phrases, re.NOFLAG if row.get("exact") else re.IGNORECASE)


@cache
def meanings(name: str, key: str) -> Mapping[str, str]:
    """Return, for each word of a part of a table, its key."""
    return {word: meaning for meaning, words in load_table(name)[key].items() for word in words.split()}
