"""Tables of the guard that are data, in `data/`: lists of words and hosts, the rules, what functions of libraries do.

A table is read once, when it is first needed. What every scan needs is JSON, because nothing reads it faster; what only
some programs need is TOML, with room for a word about each list.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any


@cache
def load_table(name: str) -> Any:
    """What the file `data/NAME.json` holds."""
    import json

    with open(os.path.join(os.path.dirname(__file__), "data", f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)


@cache
def word_list(name: str) -> frozenset[str]:
    """One of the lists of words in `data/words.json`."""
    return frozenset(load_table("words")[name])


@cache
def load_toml(name: str) -> dict[str, Any]:
    """What the file `data/NAME.toml` holds."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "data", f"{name}.toml"), "rb") as file:
        return tomllib.load(file)


@cache
def load_sets(name: str) -> dict[str, Any]:
    """What the file `data/NAME.toml` holds, its lists as sets."""
    return {key: frozenset(value) if isinstance(value, list) else value for key, value in load_toml(name).items()}


def api(language: str, name: str) -> frozenset[str]:
    """One of the lists of `data/LANGUAGE_api.toml`: functions and words of a language, by what they do."""
    words: frozenset[str] = load_sets(f"{language}_api")[name]
    return words


@cache
def shape(table: str, name: str, flags: int = re.IGNORECASE | re.MULTILINE) -> re.Pattern[str]:
    """One expression of the alternatives that a list of `data/TABLE.toml` holds."""
    return re.compile("|".join(sorted(load_sets(table)[name])), flags)
