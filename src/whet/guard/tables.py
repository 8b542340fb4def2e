"""Tables of the guard that are data: lists of words and hosts, and the rules. They lie in `data/`, as JSON.

A table is read once, when it is first needed. JSON, because every scan needs them and nothing reads it faster.
"""

from __future__ import annotations

import os
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
