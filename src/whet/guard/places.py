"""Places on a machine that matter: where secrets lie, where programs start by themselves, and what rules the agent.

`places(text)` looks for them in a path or a piece of text, however the home directory is spelled in front of them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

from whet.guard.expression import expression
from whet.guard.tables import load_table, word_list

Kind = Literal["secret", "start", "agent"]


class Place(NamedTuple):
    """What a path is."""

    kind: Kind
    what: str
    grave: bool
    """Nobody reads or writes it by accident: private keys, wallets, browser stores, the agent's own settings."""
    text: str


_SHORT = 200
"""Characters below which a text is not parted into its rows."""
_HIVE = expression(r"\bsam\b")
"""A hint that is also the beginning of everyday words."""


@cache
def _compiled() -> tuple[re.Pattern[str], dict[str, tuple[Kind, str, bool]]]:
    meaning: dict[str, tuple[Kind, str, bool]] = {}
    parts: list[str] = []
    for kind, rows in load_table("places").items():
        for row in rows:
            meaning[f"p{len(parts)}"] = (kind, row["what"], row["grave"])
            parts.append(f"(?P<p{len(parts)}>{row['pattern']})")
    return re.compile("|".join(parts), re.IGNORECASE), meaning


def places(text: str) -> list[Place]:
    """Every place that a text names."""
    lowered = text.lower()
    hints = [hint for hint in word_list("places") if hint in lowered]
    if "sam" in lowered and _HIVE.search(lowered):
        hints.append("sam")
    if not hints:
        return []
    pattern, meaning = _compiled()
    rows = [text] if len(text) < _SHORT else [row for row in text.split("\n") if _has(row.lower(), hints)]
    return [Place(*meaning[str(match.lastgroup)], match[0]) for row in rows for match in pattern.finditer(row)]


def _has(row: str, hints: list[str]) -> bool:
    return any(map(row.__contains__, hints))
