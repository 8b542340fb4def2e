"""Which other skills a new one resembles, told to whoever creates it, so that an agent improves instead of adding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.learning.similar import near_duplicates
from whet.prompt.shorten import terms

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMPARED = 50
_SHOWN = 3
_THRESHOLD = 0.35
"""Lower than for merging: names and descriptions are short, and this is only a remark."""


def alike(name: str, text: str, others: Mapping[str, str]) -> list[dict[str, Any]]:
    """The skills among `others` (name -> name and description) that say nearly the same, most alike first."""
    own = frozenset(terms(text))
    shared = sorted(((len(own & frozenset(terms(other))), key) for key, other in others.items()), reverse=True)
    close = {key: others[key] for count, key in shared[:_COMPARED] if count > 1 and key != name}
    pairs = near_duplicates({**close, name: text}, _THRESHOLD)
    found = [pair for pair in pairs if name in (pair.one, pair.other)]
    return [
        {
            "name": pair.other if pair.one == name else pair.one,
            "score": round(pair.score, 2),
            "shared": list(pair.shared),
        }
        for pair in found[:_SHOWN]
    ]
