"""Places on a machine that matter: secrets, programs that start automatically, and files that control the agent.

`places(text)` finds them in a path or a piece of text, however the home directory is spelled in front of them.
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
    """A place that a text names."""

    kind: Kind
    what: str
    grave: bool
    """Nobody reads or writes it by accident: private keys, wallets, browser stores, the agent's own settings."""
    text: str


_SHORT = 200
"""Characters below which a text is not split into rows."""
_HIVE = expression(r"\bsam\b")
"""A hint that is also the beginning of everyday words."""


@cache
def _rows() -> tuple[tuple[Kind, str, bool, str], ...]:
    return tuple(
        (kind, row["what"], row["grave"], row["pattern"]) for kind, rows in load_table("places").items() for row in rows
    )


@cache
def _hints() -> dict[str, int]:
    """Return the texts that occur wherever a place is named, each with the rows of the table it is a hint for, as bits."""
    hints: dict[str, int] = {}
    for number, row in enumerate(row for rows in load_table("places").values() for row in rows):
        for hint in row["hints"]:
            hints[hint] = hints.get(hint, 0) | 1 << number
    return hints


@lru_cache(maxsize=256)
def _compiled(chosen: int) -> tuple[re.Pattern[str], dict[str, tuple[Kind, str, bool]]]:
    """Return one expression for some rows of the table, and the meaning of its groups."""
    rows = [row for number, row in enumerate(_rows()) if chosen >> number & 1]
    meaning = {f"p{number}": row[:3] for number, row in enumerate(rows)}
    pattern = "|".join(f"(?P<p{number}>{row[3]})" for number, row in enumerate(rows))
    return re.compile(pattern, re.IGNORECASE), meaning


def hints_in(texts: Iterable[str]) -> list[str]:
    """Return the hints of places in some texts; searching all of them at once is fastest."""
    lowered = "\n".join(texts).lower()
    return [hint for hint in _hints() if hint in lowered]


def places(text: str, among: Collection[str] | None = None) -> list[Place]:
    """Return every place that a text names; `among` restricts the hints to those that are known to occur."""
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
