"""Who is listed when not all can be: by relevance to the conversation, then use, then recency of use, then scope.

Where all of these are equal the order is that of a checksum of the name: the same everywhere, spread over the alphabet
and over categories, and moved by at most one place when a skill is added. Nobody is left out because of a late letter,
and no time stamp of a file decides anything.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple, Protocol
from zlib import crc32

from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.library.card import Card


class Use(NamedTuple):
    """How often a skill was used, and when last, in any unit that grows."""

    times: int
    last: int


class Counted(Protocol):
    """What is told of a skill's use: its qualified name, how often it was used, when last."""

    @property
    def skill(self) -> str:
        """`scope:name`."""

    @property
    def uses(self) -> int:
        """How often."""

    @property
    def last_used(self) -> int:
        """When last."""


def used(totals: Iterable[Counted]) -> dict[str, Use]:
    """The use of each skill by the key of its name, whatever scope it was in."""
    found: dict[str, Use] = {}
    for total in totals:
        name = key(total.skill.partition(":")[2])
        before = found.get(name, Use(0, 0))
        found[name] = Use(before.times + total.uses, max(before.last, total.last_used))
    return found


def ranked(
    cards: Sequence[Card],
    most: int,
    *,
    scopes: Sequence[str] = (),
    relevance: Callable[[Card], float] | None = None,
    used: Mapping[str, Use] | None = None,
) -> list[int]:
    """The places, in `cards`, of the `most` that matter most, best first.

    `scopes` come in order of precedence; `used` goes by the key of a name.
    """
    never = Use(0, 0)
    uses = used or {}
    places = {scope: at for at, scope in enumerate(dict.fromkeys(scopes))}

    def order(at: int) -> tuple[float, int, int, int, int, str]:
        card = cards[at]
        times, last = uses.get(card.key, never)
        score = -relevance(card) if relevance else 0.0
        return score, -times, -last, places.get(card.scope, len(places)), crc32(card.key.encode()), card.key

    return nsmallest(most, range(len(cards)), key=order)
