"""How well skills match a query: by words, without a model, deterministically.

A skill named like the query comes first, then names that begin with it, then names with all its words, then skills with
them in name, group and description, rare words counting more. Only if nothing matches, one word is treated as a typo. A
skill that its author marked as internal matches only its own name.
"""

from __future__ import annotations

import math
from operator import mul
from typing import TYPE_CHECKING

from whet.records import NamedTuple
from whet.skill.names import closest, key
from whet.skill.terms import FILLERS, spell, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_WORDS = 16
"""Words of a query that count."""
EXACT, BEGINS, IN_NAME, IN_TEXT, SIMILAR, CLAIMED = range(6)
"""Tiers of matches, best first; `CLAIMED` is for skills that match only because their source says so."""

_DESCRIBED = 2000
"""Characters of a description that are read."""
_LONG_ENOUGH = 3
"""Letters from which on the beginning of a word counts."""
_NAME, _NAME_BEGINS, _GROUP, _TEXT, _TEXT_BEGINS = 8.0, 5.0, 3.0, 3.0, 1.5
_WHOLE_NAME = 0.1
"""Bonus for a name that has no other words than the query."""
_NEAR = 10
"""Names that a typo may mean."""


class Entry(NamedTuple):
    """A skill to rank."""

    name: str
    group: str
    description: str
    internal: bool = False


class Fit(NamedTuple):
    """How well a skill matches; lower is better."""

    tier: int
    order: float
    whole: bool = True
    """Whether it has every word of the query."""


class _Words(NamedTuple):
    """The terms of a skill, each on its own line, so that terms and their beginnings are found by text search."""

    name: str
    group: str
    text: str


def rank(entries: Sequence[Entry], query: str) -> dict[int, Fit]:
    """Rank skills by their index; return those that match, or all if the query is empty."""
    return Ranking(entries).rank(query)


class Ranking:
    """Skills that are ranked for several queries: the data of each skill is computed once, on demand."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._parts = [(key(entry.name), key(entry.group), key(entry.description[:_DESCRIBED])) for entry in entries]
        self._named = ["-".join(spell(name)) for name, _, _ in self._parts]
        self._texts = ["\n".join(parts) for parts in self._parts]
        self._internal = frozenset(at for at, entry in enumerate(entries) if entry.internal)
        self._words: dict[int, _Words] = {}

    def rank(self, query: str) -> dict[int, Fit]:
        """Rank skills by their index; return those that match, or all if the query is empty."""
        wanted, named = "-".join(spell(key(query))), self._named
        places: Sequence[int] = range(len(named))
        if self._internal:
            places = [at for at in places if at not in self._internal or (wanted and named[at] == wanted)]
        words = tuple(dict.fromkeys(term for word in _query_words(query) for term in stem(word)))[:MAX_WORDS]
        if not words:
            return dict.fromkeys(places, Fit(EXACT, 0.0)) if not query.strip() else {}
        found = self._fits(places, words)
        for at in [at for at in places if named[at].startswith(wanted)]:
            found[at] = Fit(EXACT, 0.0) if named[at] == wanted else Fit(BEGINS, len(named[at]))
        if not found and len(words) == 1:
            near = closest(wanted, [named[at] for at in places], _NEAR)
            found = {at: Fit(SIMILAR, near.index(named[at]), whole=False) for at in places if named[at] in near}
        return found

    def _fits(self, places: Sequence[int], words: Sequence[str]) -> dict[int, Fit]:
        """Rank the skills that have half of the words or more."""
        texts, known = self._texts, self._words
        rows: dict[int, list[float]] = {}
        rarity = []
        for number, word in enumerate(words):
            head, count = _head(word), 0
            for at in [at for at in places if head in texts[at]]:
                if weight := _weight(known.get(at) or self._find_words(at), word):
                    count += 1
                    rows.setdefault(at, [0.0] * len(words))[number] = weight
            rarity.append(1 + math.log(1 + len(places) / count) if count else 0.0)
        fits = {}
        for at, row in rows.items():
            matched = len(row) - row.count(0.0)
            if 2 * matched >= len(words):
                total = sum(map(mul, row, rarity)) * matched / len(words)
                total *= 1 + _WHOLE_NAME * row.count(_NAME) / max(1, known[at].name.count("\n") - 1)
                fits[at] = Fit(IN_NAME if min(row) >= _NAME_BEGINS else IN_TEXT, -total, matched == len(words))
        return fits

    def _find_words(self, at: int) -> _Words:
        terms = (dict.fromkeys(term for word in spell(part) for term in stem(word)) for part in self._parts[at])
        found = self._words[at] = _Words(*("\n".join(("", *each, "")) for each in terms))
        return found


def _head(word: str) -> str:
    """Return a prefix of every word with this term, or a longer one: `fly` is also the term of `flies`."""
    if not word.isascii():
        return ""
    return word[:-1] if len(word) <= _LONG_ENOUGH and word.endswith("y") else word[:_LONG_ENOUGH]


def _query_words(query: str) -> list[str]:
    """Return the words that count, as written; fillers only if there are no others."""
    spelled = list(dict.fromkeys(spell(key(query))))
    return [word for word in spelled if word not in FILLERS] or spelled


def _weight(entry: _Words, word: str) -> float:
    """Return how strongly a skill matches one word."""
    exact, begins = f"\n{word}\n", f"\n{word}" if len(word) >= _LONG_ENOUGH else "\n\n"
    if exact in entry.name:
        return _NAME
    if begins in entry.name:
        return _NAME_BEGINS
    if exact in entry.group:
        return _GROUP
    if exact in entry.text:
        return _TEXT
    return _TEXT_BEGINS if begins in entry.text else 0.0
