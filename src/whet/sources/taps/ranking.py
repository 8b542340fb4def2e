"""How well a skill fits a query: by words, without a model, the same answer every time.

What is called like the query comes first, then what begins so, then what has all its words in its name, then what has
them in name, group and description, rare words counting more. Only when nothing fits is one word taken as a typing
mistake. A skill that its author marked as internal fits only its own name.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.skill.names import closest, key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.sources.model import Offer

MAX_WORDS = 16
"""Words of a query that count."""

_WORD = re.compile(r"[^\W_]+")
_EMPTY_WORDS = frozenset(
    ("a", "an", "and", "for", "from", "how", "in", "is", "it", "my", "of", "on", "or", "skill", "the", "to", "with")
)
_DESCRIBED = 2000
"""Characters of a description that are looked at."""
_LONG_ENOUGH = 3
"""Letters that make the beginning of a word a sign of it."""
_NAME, _NAME_BEGINS, _GROUP, _TEXT, _TEXT_BEGINS = 8.0, 5.0, 3.0, 3.0, 1.5
_WHOLE_NAME = 0.1
"""What it adds when the name has no other words than the query."""
_EXACT, _BEGINS, _ALL_WORDS, _SOME_WORDS, _SIMILAR = -5, -4, -3, -2, -1
"""Why something fits, best lowest."""
_NEAR = 10
"""Names that a typing mistake may mean."""
SAID_SO = 0
"""The score of what fits only because its source says so."""


class _Words(NamedTuple):
    """An offer as words."""

    name: frozenset[str]
    group: frozenset[str]
    text: frozenset[str]
    all: str


def scores(offers: Sequence[Offer], query: str) -> dict[int, tuple[int, float]]:
    """Which offers fit, by their position, and how well: the lower, the better."""
    wanted = "-".join(_WORD.findall(key(query)))
    named = {at: "-".join(_WORD.findall(key(offer.name))) for at, offer in enumerate(offers)}
    open_ = [at for at, offer in enumerate(offers) if not offer.hidden or (wanted and named[at] == wanted)]
    words = _query_words(query)
    if not words:
        return dict.fromkeys(open_, (0, 0.0)) if not query.strip() else {}
    weights = _weights([_words(offers[at]) for at in open_], words)
    found: dict[int, tuple[int, float]] = {}
    for at, (weight, in_name) in zip(open_, weights, strict=True):
        if named[at] == wanted:
            found[at] = (_EXACT, 0.0)
        elif named[at].startswith(wanted):
            found[at] = (_BEGINS, len(named[at]))
        elif in_name:
            found[at] = (_ALL_WORDS, -weight)
        elif weight:
            found[at] = (_SOME_WORDS, -weight)
    if not found and len(words) == 1:
        near = closest(wanted, [named[at] for at in open_], _NEAR)
        found = {at: (_SIMILAR, float(near.index(named[at]))) for at in open_ if named[at] in near}
    return found


def _query_words(query: str) -> tuple[str, ...]:
    """The words that count; the empty ones only when there are no others."""
    words = tuple(dict.fromkeys(map(_stem, _WORD.findall(key(query)))))
    return (tuple(word for word in words if word not in _EMPTY_WORDS) or words)[:MAX_WORDS]


def _stem(word: str) -> str:
    """The word without the ending of the plural."""
    return word[:-1] if len(word) > _LONG_ENOUGH and word.endswith("s") and not word.endswith("ss") else word


def _words(offer: Offer) -> _Words:
    name, group, text = (
        frozenset(map(_stem, _WORD.findall(key(part))))
        for part in (offer.name, offer.group, offer.description[:_DESCRIBED])
    )
    return _Words(name, group, text, "" if offer.description.isascii() else key(offer.description[:_DESCRIBED]))


def _weights(offers: Sequence[_Words], words: Sequence[str]) -> list[tuple[float, bool]]:
    """For each offer how much of the query it has, and whether its name has all of it."""
    found = [[_weight(offer, word) for word in words] for offer in offers]
    with_word = [sum(row[at] > 0 for row in found) for at in range(len(words))]
    rarity = [1 + math.log(1 + len(offers) / count) if count else 0.0 for count in with_word]
    weights = []
    for offer, row in zip(offers, found, strict=True):
        matched = sum(weight > 0 for weight in row)
        total = sum(weight * rare for weight, rare in zip(row, rarity, strict=True)) * matched / len(words)
        total *= 1 + _WHOLE_NAME * len(offer.name.intersection(words)) / max(1, len(offer.name))
        weights.append((total if 2 * matched >= len(words) else 0.0, min(row) >= _NAME_BEGINS))
    return weights


def _weight(offer: _Words, word: str) -> float:
    """How strongly an offer speaks of one word."""
    begins = len(word) >= _LONG_ENOUGH
    if word in offer.name:
        return _NAME
    if begins and any(other.startswith(word) for other in offer.name):
        return _NAME_BEGINS
    if word in offer.group:
        return _GROUP
    if word in offer.text or (not word.isascii() and word in offer.all):
        return _TEXT
    return _TEXT_BEGINS if begins and any(other.startswith(word) for other in offer.text) else 0.0
