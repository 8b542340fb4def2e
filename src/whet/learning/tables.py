"""Tables of words and formats by which sessions are read: TOML files beside the code that needs them, read once."""

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
"""What is known of programs."""
WORDS = "distill/words"
"""What skills are named and described by, and which tools they ask for."""
PHRASES = "evidence/phrases"
"""What users, agents and programs say."""


@cache
def load_table(name: str) -> Mapping[str, Any]:
    """The table of this name below `whet.learning`."""
    import tomllib

    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


@cache
def words_of(name: str, *keys: str) -> frozenset[str]:
    """The words of a table that stand behind these keys; none where there is no such key."""
    value: Any = load_table(name)
    for key in keys:
        value = value.get(key, {})
    return frozenset(value.split() if isinstance(value, str) else value)


@cache
def pattern_of(kind: str) -> re.Pattern[str]:
    """What matches any phrase of this kind."""
    row = load_table(PHRASES)[kind]
    phrases = "|".join(row["any"])
    phrases = rf"\b(?:{phrases})\b" if row.get("words") else phrases
    return re.compile(phrases, re.NOFLAG if row.get("exact") else re.IGNORECASE)


@cache
def meanings(name: str, key: str) -> Mapping[str, str]:
    """For each word of a part of a table, the key that it stands behind."""
    return {word: meaning for meaning, words in load_table(name)[key].items() for word in words.split()}
