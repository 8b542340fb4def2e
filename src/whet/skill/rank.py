"""How well skills fit a query: by words, without a model, the same answer every time.

What is called like the query comes first, then what begins so, then what has all its words in its name, then what has
them in name, group and description, rare words counting more. Only when nothing fits is one word taken as a typing
mistake. A skill that its author marked as internal fits only its own name.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from whet.skill.names import closest, key
from whet.skill.terms import FILLERS, spell, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_WORDS = 16
"""Words of a query that count."""
EXACT, BEGINS, IN_NAME, IN_TEXT, SIMILAR, CLAIMED = range(6)
"""Why something fits, best first; `CLAIMED` is for what fits only because its source says so."""

_DESCRIBED = 2000
"""Characters of a description that are looked at."""
_LONG_ENOUGH = 3
"""Letters that make the beginning of a word a sign of it."""
_NAME, _NAME_BEGINS, _GROUP, _TEXT, _TEXT_BEGINS = 8.0, 5.0, 3.0, 3.0, 1.5
_WHOLE_NAME = 0.1
"""What it adds when the name has no other words than the query."""
_NEAR = 10
"""Names that a typing mistake may mean."""


class Entry(NamedTuple):
    """A skill as it is ranked."""

    name: str
    group: str
    description: str
    internal: bool = False


class Fit(NamedTuple):
    """How well a skill fits; the lower, the better."""

    tier: int
    order: float
    whole: bool = True
    """It has every word of the query."""


class _Words(NamedTuple):
    name: frozenset[str]
    group: frozenset[str]
    text: frozenset[str]


_NOTHING = _Words(frozenset(), frozenset(), frozenset())


def rank(entries: Sequence[Entry], query: str) -> dict[int, Fit]:
    """Which skills fit, by their position, and how well; all of them where the query is empty."""
    wanted = "-".join(spell(key(query)))
    named = {at: "-".join(spell(key(entry.name))) for at, entry in enumerate(entries)}
    open_ = [at for at, entry in enumerate(entries) if not entry.internal or (wanted and named[at] == wanted)]
    spelled = _query_words(query)
    words = tuple(dict.fromkeys(term for word in spelled for term in stem(word)))[:MAX_WORDS]
    if not words:
        return dict.fromkeys(open_, Fit(EXACT, 0.0)) if not query.strip() else {}
    heads = {word[:_LONG_ENOUGH] if word.isascii() else "" for word in spelled}
    found: dict[int, Fit] = {}
    for at, fit in zip(open_, _fits([_words(entries[at], heads) for at in open_], words), strict=True):
        if named[at] == wanted:
            found[at] = Fit(EXACT, 0.0)
        elif named[at].startswith(wanted):
            found[at] = Fit(BEGINS, len(named[at]))
        elif fit is not None:
            found[at] = fit
    if not found and len(words) == 1:
        near = closest(wanted, [named[at] for at in open_], _NEAR)
        found = {at: Fit(SIMILAR, near.index(named[at]), whole=False) for at in open_ if named[at] in near}
    return found


def _query_words(query: str) -> list[str]:
    """The words that count, as they are written; the fillers only when there are no others."""
    spelled = list(dict.fromkeys(spell(key(query))))
    return [word for word in spelled if word not in FILLERS] or spelled


def _words(entry: Entry, heads: set[str]) -> _Words:
    """The words of a skill; none where no word can begin like one of the query, which is quickly seen."""
    parts = [key(part) for part in (entry.name, entry.group, entry.description[:_DESCRIBED])]
    if not any(head in part for head in heads for part in parts):
        return _NOTHING
    return _Words(*(frozenset(term for word in spell(part) for term in stem(word)) for part in parts))


def _fits(entries: Sequence[_Words], words: Sequence[str]) -> list[Fit | None]:
    """How well each skill speaks of the words; None for less than half of them."""
    found = [[_weight(entry, word) for word in words] for entry in entries]
    with_word = [sum(row[at] > 0 for row in found) for at in range(len(words))]
    rarity = [1 + math.log(1 + len(entries) / count) if count else 0.0 for count in with_word]
    fits: list[Fit | None] = []
    for entry, row in zip(entries, found, strict=True):
        matched = sum(weight > 0 for weight in row)
        total = sum(weight * rare for weight, rare in zip(row, rarity, strict=True)) * matched / len(words)
        total *= 1 + _WHOLE_NAME * len(entry.name.intersection(words)) / max(1, len(entry.name))
        tier = IN_NAME if min(row) >= _NAME_BEGINS else IN_TEXT
        fits.append(Fit(tier, -total, matched == len(words)) if matched and 2 * matched >= len(words) else None)
    return fits


def _weight(entry: _Words, word: str) -> float:
    """How strongly a skill speaks of one word."""
    begins = len(word) >= _LONG_ENOUGH
    if word in entry.name:
        return _NAME
    if begins and any(other.startswith(word) for other in entry.name):
        return _NAME_BEGINS
    if word in entry.group:
        return _GROUP
    if word in entry.text:
        return _TEXT
    return _TEXT_BEGINS if begins and any(other.startswith(word) for other in entry.text) else 0.0
