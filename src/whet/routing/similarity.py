"""The similarity of the skills of a library, by name, description and body together.

Two values are compared, and the higher one counts:

- the texts of the two skills: the cosine between their terms, where a term weighs more the rarer it is in the
  library and the more often it occurs, and twice as much in the name and the description. This distinguishes
  duplicates from siblings made from one template;
- the texts of the skills around them: the terms of each skill together with those of its nearest skills, less what
  the two contribute to each other. Two skills for one job that use different words have the same neighbours. This
  counts for half, so that a pair needs common words of its own.

Then the names are compared. Siblings of one family share a word of their names and much of their texts, and have the
same neighbours, but each is named after something that the others never mention; of two skills for one job, at least
one mentions what the other is named after. Missing mentions take away more than half of a sibling's score, unless the
two texts are the same.

Not every skill is compared with every other. Each looks for those that share its most significant terms, and for a
term that very many share only at the nearest by their order, so that the work grows with the number of skills and
not with its square. In a large library of very similar skills a pair may be missed; another run finds it once the
pairs before it are merged.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from functools import lru_cache
from heapq import nsmallest
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from whet.skill.terms import WIDE, filler_terms, spell, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whet.routing.texts import Texts

BODY = 8000
"""Maximum length of a body."""

_KEPT = 120
"""Number of terms of a skill that are compared, heaviest first."""
_HEARD = 160
"""Number of terms of a skill and its nearest skills together."""
_ASKED = 16
"""Number of terms by which a skill looks for others."""
_LOOKED_AT = 64
"""Maximum number of skills considered for one term."""
_CLOSEST = 16
"""Maximum number of skills that one skill is compared with in full."""
_PROMISING = 0.05
"""Minimum similarity by these terms alone."""
_NEAREST = 8
"""Maximum number of neighbours of a skill."""
_FAR = 0.1
"""Cosine up to which a skill is not a neighbour."""
_SAME = 0.9
"""Cosine from which two texts are the same, whatever their names; templates stay below."""
_SIBLINGS, _STRANGERS = 0.6, 0.1
"""Penalties if neither skill mentions what the other is named after: if their names share a word, as in a family of
siblings, and if they do not."""
_STEM = 5
"""Number of letters by which another form of a word is recognised: extract, extractor, extraction."""
_EDITION = re.compile(r"(?:v|ver|version|rev|revision|run|try|copy|old|new|final|draft|backup)?\d*")
"""A word of a name that marks an edition and says nothing about its purpose."""
_COMMON = 0.05
"""Share of skills with a filler word from which it does not count."""
_MOST_TIMES = 100
"""Number of occurrences from which a term weighs no more."""
_SHOWN = 6
"""Number of words shown as evidence."""
_REMEMBERED = 1000
"""Number of skills whose results are cached; the order of pairs makes that nearly enough."""

Vector = dict[str, float]
"""The weight of each term, heaviest first."""


class Similarity:
    """The skills of a library, prepared for comparison and identified by their places in `texts`."""

    def __init__(self, texts: Sequence[Texts], others: Sequence[Texts] = (), among: int = 0) -> None:
        """`others` are not compared: they are a sample of the rest of a library of `among` skills.

        They show which words are common there if `texts` were chosen because they are similar.
        """
        each = max(1.0, (among - len(texts)) / len(others)) if others else 1.0
        self._texts = texts
        self._said = [*map(_read, texts)]
        users, elsewhere = _count_users(self._said), _count_users(map(_read, others))
        self._rarity = _rarities(users, elsewhere, len(texts), len(others), each)
        self._own = [_vector(found, self._rarity) for found in self._said]
        self._users = users + elsewhere
        remember = lru_cache(maxsize=_REMEMBERED)
        self._heard = remember(self._hear)
        self._mentioned = remember(self._read_mentioned)
        self.pairs = {pair: self._cosine(*pair) for pair in self._candidates()}
        """The cosine of each candidate pair of places, the smaller place first."""
        self._nearest = self._neighbours()

    def score(self, one: int, other: int, least: float = 0.0) -> float:
        """Return the similarity of two skills: 1 for the same text, 0 if they have no significant word in common.

        A score that cannot reach `least` is not computed; 0 is returned.
        """
        pair = (one, other) if one < other else (other, one)
        own = self.pairs[pair] if pair in self.pairs else self._cosine(*pair)
        share = 1.0 if own >= _SAME else self._mentions(*pair)
        if (1 + own) / 2 * share < least:
            return 0.0
        found = max(own, (own + self._around(*pair, own)) / 2) * share
        return min(1.0, round(found, 3))

    def evidence(self, one: int, other: int) -> tuple[str, ...]:
        """Return the terms that contribute most to the similarity, as words of the first skill."""
        mine, theirs = self._own[one], self._own[other]
        worth = {term: weight * theirs[term] for term, weight in mine.items() if term in theirs}
        found = sorted(worth, key=worth.__getitem__, reverse=True)[:_SHOWN]
        words: dict[str, str] = {}
        for word in dict.fromkeys(word for part in _parts(self._texts[one]) for word in spell(part)):
            for term in stem(word):
                words.setdefault(term, word if word.isascii() else term)
        return tuple(words.get(term, term) for term in found)

    # --- candidates -------------------------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs to compare in full, each once, the smaller number first."""
        vectors, users = self._own, self._users
        asked = [[term for term in vector if users[term] > 1][:_ASKED] for vector in vectors]
        holders: dict[str, tuple[list[int], list[float]]] = {term: ([], []) for found in asked for term in found}
        for at, vector in enumerate(vectors):
            for term, weight in vector.items():
                if term in holders:
                    places, weights = holders[term]
                    places.append(at)
                    weights.append(weight)
        seen: set[tuple[int, int]] = set()
        for one, vector in enumerate(vectors):
            alike: dict[int, float] = {}
            for term in asked[one]:
                own = vector[term]
                for other, weight in _window(*holders[term], one):
                    alike[other] = alike.get(other, 0.0) + own * weight
            alike.pop(one, None)
            close = [(-share, other) for other, share in alike.items() if share >= _PROMISING]
            for _, other in nsmallest(_CLOSEST, close):
                pair = (one, other) if one < other else (other, one)
                if pair not in seen:
                    seen.add(pair)
                    yield pair

    def _neighbours(self) -> list[dict[int, float]]:
        """Return the neighbours of each skill, with their weights."""
        around: list[list[tuple[float, int]]] = [[] for _ in self._own]
        for (one, other), own in self.pairs.items():
            if own > _FAR:
                around[one].append((-own, other))
                around[other].append((-own, one))
        return [{other: -own - _FAR for own, other in nsmallest(_NEAREST, found)} for found in around]

    # --- similarity -------------------------------------------------------------------------------------------------

    def _cosine(self, one: int, other: int) -> float:
        return _dot(self._own[one], self._own[other])

    def _around(self, one: int, other: int, own: float) -> float:
        """Return the cosine of two skills with their neighbours, less what they contribute to each other."""
        for_one, for_other = self._nearest[one].get(other, 0.0), self._nearest[other].get(one, 0.0)
        mine, my_square, my_self = self._heard(one)
        theirs, their_square, their_self = self._heard(other)
        product = _dot(mine, theirs) - for_other * my_self - for_one * their_self + for_one * for_other * own
        my_square += for_one * (for_one - 2 * _dot(self._own[other], mine)) if for_one else 0.0
        their_square += for_other * (for_other - 2 * _dot(self._own[one], theirs)) if for_other else 0.0
        return product / sqrt(my_square * their_square) if min(my_square, their_square) > 0 else 0.0

    def _hear(self, at: int) -> tuple[Vector, float, float]:
        """Return the terms of a skill and its neighbours, their squared length, and the product with its own terms."""
        own = self._own[at]
        found = dict(own)
        for other, loud in self._nearest[at].items():
            for term, weight in self._own[other].items():
                found[term] = found.get(term, 0.0) + loud * weight
        if len(found) > _HEARD:
            found = {term: found[term] for term in nsmallest(_HEARD, found, key=lambda term: (-found[term], term))}
        return found, sum(weight * weight for weight in found.values()), _dot(own, found)

    def _mentions(self, one: int, other: int) -> float:
        """Return the factor for how much each skill mentions of what only the other is named after.

        Siblings never mention each other; the skill that mentions more counts.
        """
        mine, theirs = self._said[one].name, self._said[other].name
        missed = [
            share for terms, at in ((mine - theirs, other), (theirs - mine, one)) for share in self._missed(terms, at)
        ]
        return 1 - min(missed, default=0.0) * (_STRANGERS if mine.isdisjoint(theirs) else _SIBLINGS)

    def _missed(self, terms: frozenset[str], at: int) -> Iterator[float]:
        """Yield the share of these terms that a skill does not mention; nothing if there are no terms."""
        if whole := sum(self._rarity[term] for term in terms):
            unsaid = [term for term in terms if not self._mentioned(at).issuperset(_stem(term))]
            yield sum(self._rarity[term] for term in unsaid) / whole

    def _read_mentioned(self, at: int) -> frozenset[str]:
        return frozenset(stem for term in self._said[at].times for stem in _stem(term))


# --- from texts to vectors ------------------------------------------------------------------------------------------


def _parts(texts: Texts) -> tuple[str, str]:
    """Return the metadata and the body of a skill."""
    head = " ".join((texts.name, texts.description, texts.when_to_use, *texts.triggers, *texts.tags))
    return head, texts.body[:BODY]


class _Said(NamedTuple):
    """The terms of one skill."""

    times: Counter[str]
    """The number of occurrences of each."""
    head: frozenset[str]
    """Those of the metadata."""
    name: frozenset[str]
    """Those of its name."""


def _read(texts: Texts) -> _Said:
    head, body = ([term for word in spell(part) for term in stem(word)] for part in _parts(texts))
    called = (term for word in spell(texts.name) if not _EDITION.fullmatch(word) for term in stem(word))
    return _Said(Counter(head + body), frozenset(head), frozenset(called))


def _count_users(said: Iterable[_Said]) -> Counter[str]:
    """Return the number of skills with each term."""
    return Counter(term for one in said for term in one.times)


def _rarities(users: Counter[str], elsewhere: Counter[str], texts: int, others: int, each: float) -> dict[str, float]:
    """Return the weight of each term by rarity; 0 for single letters and common fillers."""
    total, least = texts + each * others, 1 / max(1, texts + others)
    worth: dict[str, float] = {}
    for term, count in users.items():
        share = max(least, (count + each * elsewhere[term]) / total)
        told = len(term) > 1 and (share <= _COMMON or term not in filler_terms())
        worth[term] = log(1 + 1 / share) if told else 0.0
    return worth


def _vector(said: _Said, rarity: Mapping[str, float]) -> Vector:
    """Return the heaviest terms of a skill as a vector of length 1."""
    weights = {
        term: (1 + log(min(times, _MOST_TIMES))) * rarity[term] * (2 if term in said.head else 1)
        for term, times in said.times.items()
    }
    heaviest = sorted(weights, key=weights.__getitem__, reverse=True)[:_KEPT]
    length = sqrt(sum(weights[term] ** 2 for term in heaviest))
    return {term: weights[term] / length for term in heaviest if weights[term]}


def _stem(term: str) -> tuple[str, ...]:
    """Return what identifies mentions of a term: its beginning, or its characters in scripts without spaces."""
    return tuple(term) if term[0] >= WIDE else (term[:_STEM].rstrip("e"),)


def _window(places: list[int], weights: list[float], at: int) -> Iterable[tuple[int, float]]:
    """Return the places around `at` among the ordered places, with their weights."""
    if len(places) > _LOOKED_AT:
        start = max(0, min(bisect_left(places, at) - _LOOKED_AT // 2, len(places) - _LOOKED_AT))
        places, weights = places[start : start + _LOOKED_AT], weights[start : start + _LOOKED_AT]
    return zip(places, weights, strict=True)


def _dot(one: Vector, other: Vector) -> float:
    if len(other) < len(one):
        one, other = other, one
    return sum([weight * other[term] for term, weight in one.items() if term in other])
