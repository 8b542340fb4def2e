"""Places on a machine that matter: where secrets lie, where programs start by themselves, and what rules the agent.

`places(text)` looks for them in a path or a piece of text, however the home directory is spelled in front of them.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.guard.expression import expression
from whet.guard.tables import load_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

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
def _rows() -> tuple[tuple[Kind, str, bool, str], ...]:
    return tuple(
        (kind, row["what"], row["grave"], row["pattern"]) for kind, rows in load_table("places").items() for row in rows
    )


@cache
def _hints() -> dict[str, int]:
    """What stands in every text that names a place, each with the rows of the table that it is a hint of, as bits."""
    hints: dict[str, int] = {}
    for number, row in enumerate(row for rows in load_table("places").values() for row in rows):
        for hint in row["hints"]:
            hints[hint] = hints.get(hint, 0) | 1 << number
    return hints


@lru_cache(maxsize=256)
def _compiled(chosen: int) -> tuple[re.Pattern[str], dict[str, tuple[Kind, str, bool]]]:
    """One expression of some rows of the table, and what its groups mean."""
    rows = [row for number, row in enumerate(_rows()) if chosen >> number & 1]
    meaning = {f"p{number}": row[:3] for number, row in enumerate(rows)}
    pattern = "|".join(f"(?P<p{number}>{row[3]})" for number, row in enumerate(rows))
    return re.compile(pattern, re.IGNORECASE), meaning


def hints_in(texts: Iterable[str]) -> list[str]:
    """The hints of places that some texts have; looking through all of them at once takes least."""
    lowered = "\n".join(texts).lower()
    return [hint for hint in _hints() if hint in lowered]


def places(text: str, among: Collection[str] | None = None) -> list[Place]:
    """Every place that a text names; `among` are the only hints that it may have, where they are known."""
    if among is not None and not among:
        return []
    lowered = text.lower()
    hints = [hint for hint in (_hints() if among is None else among) if hint in lowered]
    if "sam" in hints and not _HIVE.search(lowered):
        hints.remove("sam")
    if not hints:
        return []
    chosen = 0
    for hint in hints:
        chosen |= _hints()[hint]
    pattern, meaning = _compiled(chosen)
    rows = [text] if len(text) < _SHORT else [row for row in text.split("\n") if _has(row.lower(), hints)]
    return [Place(*meaning[str(match.lastgroup)], match[0]) for row in rows for match in pattern.finditer(row)]


def _has(row: str, hints: list[str]) -> bool:
    return any(map(row.__contains__, hints))
