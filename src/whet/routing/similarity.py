"""How alike the skills of a library are, judged on name, description and body together.

Two things are compared, and what speaks more for a pair counts:

- what two skills say themselves: the cosine between their terms, where a term weighs more the rarer it is in the
  library and the more often it is said, and twice as much in the name and the description. That is what tells
  duplicates from siblings made from one template;
- what the skills around them say: each skill's terms together with those of its nearest skills, less what the two
  would say for each other. Two skills for one job that were written in other words have the same skills around them.
  This counts for half, so that it takes words of their own to make a pair.

Then the names are looked at. Siblings of one family share a word of their names and many of their texts, and have the
same skills around them, but each is called after something that the others never mention; two skills for one job
mention what the other one is called after, one of them at least. What is not mentioned takes away more than half of a
sibling's score, unless the two say the same.

Not every skill is compared with every other. Each looks for those that share its most telling terms, and of a term
that very many share it looks only at the nearest by their order, so that the work grows with the number of skills and
not with its square. In a large library of much the same skills a pair may be missed; another look finds it once the
pairs before it are merged.
"""

from __future__ import annotations

import re
from array import array
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
"""Characters of a body that are looked at."""

_KEPT = 120
"""Terms of a skill that are compared, the heaviest ones."""
_HEARD = 160
"""Terms of a skill and its nearest ones together."""
_ASKED = 16
"""Terms by which a skill looks for others."""
_LOOKED_AT = 64
"""Skills that are looked at for one term."""
_CLOSEST = 16
"""Skills that one skill is compared with in full."""
_PROMISING = 0.05
"""What the terms by which a skill looks for others must bring at least."""
_NEAREST = 8
"""Skills that speak for a skill."""
_FAR = 0.1
"""The cosine up to which a skill does not speak for another."""
_SAME = 0.9
"""The cosine from which on two skills say the same, whatever they are called; templates stay below."""
_SIBLINGS, _STRANGERS = 0.6, 0.1
"""What is taken away when neither mentions what the other one is called after: if a word of their names is the same, as
in a family of siblings, and if none is."""
_STEM = 5
"""Letters by which it is told that a word is mentioned in another form: extract, extractor, extraction."""
_EDITION = re.compile(r"(?:v|ver|version|rev|revision|run|try|copy|old|new|final|draft|backup)?\d*")
"""A word of a name that tells one edition from another, and nothing of what it is for."""
_COMMON = 0.05
"""The share of skills that say a word from which on it does not count if it is a filler."""
_GAINS = 100
_GAIN = [0.0, *(1 + log(times) for times in range(1, _GAINS + 1))]
"""What a term's weight is multiplied by when it is said so many times."""
_SHOWN = 6
"""Words shown as evidence."""
_REMEMBERED = 1000
"""Skills of which is kept what was worked out for a pair; pairs come in an order in which that is nearly enough."""

Vector = dict[int, float]
"""Term -> weight, the heaviest first."""


class Similarity:
    """The skills of a library, ready to be compared; they are named by their places in `texts`."""

    def __init__(self, texts: Sequence[Texts], others: Sequence[Texts] = (), among: int = 0) -> None:
        """`others` are not compared: they stand for the rest of a library of `among` skills.

        They tell which words are common there, when `texts` were chosen because they are alike.
        """
        said, users, self._vocabulary = _read([*texts, *others], len(texts))
        each = max(1.0, (among - len(texts)) / len(others)) if others else 1.0
        self._texts = texts
        self._said = said[: len(texts)]
        self._rarity = _rarities(users, len(texts), len(others), each, self._vocabulary)
        self._own = [_vector(found, self._rarity) for found in self._said]
        self._users = users[0] + users[1]
        remember = lru_cache(maxsize=_REMEMBERED)
        self._heard = remember(self._hear)
        self._mentioned = remember(self._read_mentioned)
        self.pairs = {pair: self._cosine(*pair) for pair in self._candidates()}
        """Pairs of places that are worth a look, the smaller first, and their cosines."""
        self._nearest = self._neighbours()

    def score(self, one: int, other: int, least: float = 0.0) -> float:
        """How alike two skills are: 1 for the same text, 0 where they have no telling word in common.

        What cannot come to `least` is not worked out and comes to 0.
        """
        pair = (one, other) if one < other else (other, one)
        own = self.pairs[pair] if pair in self.pairs else self._cosine(*pair)
        share = 1.0 if own >= _SAME else self._mentions(*pair)
        if (1 + own) / 2 * share < least:
            return 0.0
        found = max(own, (own + self._around(*pair, own)) / 2) * share
        return min(1.0, round(found, 3))

    def evidence(self, one: int, other: int) -> tuple[str, ...]:
        """The terms that bring two skills together most, as words of the first one."""
        mine, theirs = self._own[one], self._own[other]
        worth = {term: weight * theirs[term] for term, weight in mine.items() if term in theirs}
        found = [self._vocabulary[term] for term in sorted(worth, key=worth.__getitem__, reverse=True)[:_SHOWN]]
        words: dict[str, str] = {}
        for word in dict.fromkeys(word for part in _parts(self._texts[one]) for word in spell(part)):
            for term in stem(word):
                words.setdefault(term, word if word.isascii() else term)
        return tuple(words.get(term, term) for term in found)

    # --- which to compare -------------------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[tuple[int, int]]:
        """The pairs that are worth comparing in full, each once, the smaller number first."""
        vectors, users = self._own, self._users
        asked = [[term for term in vector if users[term] > 1][:_ASKED] for vector in vectors]
        holders: dict[int, tuple[list[int], list[float]]] = {term: ([], []) for found in asked for term in found}
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
        """For each skill those that speak for it, and how loudly."""
        around: list[list[tuple[float, int]]] = [[] for _ in self._own]
        for (one, other), own in self.pairs.items():
            if own > _FAR:
                around[one].append((-own, other))
                around[other].append((-own, one))
        return [{other: -own - _FAR for own, other in nsmallest(_NEAREST, found)} for found in around]

    # --- how alike --------------------------------------------------------------------------------------------------

    def _cosine(self, one: int, other: int) -> float:
        return _dot(self._own[one], self._own[other])

    def _around(self, one: int, other: int, own: float) -> float:
        """The cosine of two skills with those around them, less what they say for each other."""
        for_one, for_other = self._nearest[one].get(other, 0.0), self._nearest[other].get(one, 0.0)
        mine, my_square, my_self = self._heard(one)
        theirs, their_square, their_self = self._heard(other)
        product = _dot(mine, theirs) - for_other * my_self - for_one * their_self + for_one * for_other * own
        my_square += for_one * (for_one - 2 * _dot(self._own[other], mine)) if for_one else 0.0
        their_square += for_other * (for_other - 2 * _dot(self._own[one], theirs)) if for_other else 0.0
        return product / sqrt(my_square * their_square) if min(my_square, their_square) > 0 else 0.0

    def _hear(self, at: int) -> tuple[Vector, float, float]:
        """A skill's terms with those of its nearest; the square of their length; their product with its own terms."""
        own = self._own[at]
        found = dict(own)
        for other, loud in self._nearest[at].items():
            for term, weight in self._own[other].items():
                found[term] = found.get(term, 0.0) + loud * weight
        if len(found) > _HEARD:
            found = {term: found[term] for term in nsmallest(_HEARD, found, key=lambda term: (-found[term], term))}
        return found, sum(weight * weight for weight in found.values()), _dot(own, found)

    def _mentions(self, one: int, other: int) -> float:
        """What is left of a score for how much each skill mentions of what only the other one is called after.

        Siblings never mention each other: of the two, the one that mentions more counts.
        """
        mine, theirs = self._said[one].name, self._said[other].name
        missed = [
            share for terms, at in ((mine - theirs, other), (theirs - mine, one)) for share in self._missed(terms, at)
        ]
        return 1 - min(missed, default=0.0) * (_STRANGERS if mine.isdisjoint(theirs) else _SIBLINGS)

    def _missed(self, terms: frozenset[int], at: int) -> Iterator[float]:
        """The share of these terms that a skill does not mention; nothing where there are none."""
        if whole := sum(self._rarity[term] for term in terms):
            unsaid = [term for term in terms if not self._mentioned(at).issuperset(self._stem(term))]
            yield sum(self._rarity[term] for term in unsaid) / whole

    def _read_mentioned(self, at: int) -> frozenset[str]:
        return frozenset(stem for term in set(self._said[at].terms) for stem in self._stem(term))

    def _stem(self, term: int) -> tuple[str, ...]:
        """By what it is told that a term is mentioned: its beginning, or its characters where words are not apart."""
        word = self._vocabulary[term]
        return tuple(word) if word[0] >= WIDE else (word[:_STEM].rstrip("e"),)


# --- from texts to vectors ------------------------------------------------------------------------------------------


def _parts(texts: Texts) -> tuple[str, str]:
    """What a skill says of itself, and what it says."""
    head = " ".join((texts.name, texts.description, texts.when_to_use, *texts.triggers, *texts.tags))
    return head, texts.body[:BODY]


class _Numbers(dict[str, tuple[int, ...]]):
    """Words as they are written -> the numbers of their terms, which are numbered as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> tuple[int, ...]:
        self[word] = found = tuple(self.terms.setdefault(term, len(self.terms)) for term in stem(word))
        return found


class _Said(NamedTuple):
    """One skill's terms, as numbers."""

    terms: array[int]
    head: int
    """How many of the terms stand in what the skill says of itself."""
    name: frozenset[int]
    """What it is called after."""


def _read(texts: Sequence[Texts], first: int) -> tuple[list[_Said], tuple[Counter[int], Counter[int]], list[str]]:
    """What each text says; how many say a term, counted apart for the first few texts and for the rest; the terms."""
    numbers = _Numbers()
    users = Counter[int](), Counter[int]()
    said: list[_Said] = []
    for at, text in enumerate(texts):
        head, body = ([term for word in spell(part) for term in numbers[word]] for part in _parts(text))
        called = [term for word in spell(text.name) if not _EDITION.fullmatch(word) for term in numbers[word]]
        users[at >= first].update({*head, *body})
        said.append(_Said(array("L", head + body), len(head), frozenset(called)))
    return said, users, list(numbers.terms)


def _rarities(
    users: tuple[Counter[int], Counter[int]], texts: int, others: int, each: float, vocabulary: Sequence[str]
) -> list[float]:
    """What each term is worth: nothing for a letter, and for a filler that is said often; the rarer, the more."""
    total, least = texts + each * others, 1 / max(1, texts + others)
    worth: list[float] = []
    for term, word in enumerate(vocabulary):
        share = max(least, (users[0][term] + each * users[1][term]) / total)
        told = len(word) > 1 and (share <= _COMMON or word not in filler_terms())
        worth.append(log(1 + 1 / share) if told else 0.0)
    return worth


def _vector(said: _Said, rarity: Sequence[float]) -> Vector:
    weights = {term: _GAIN[min(times, _GAINS)] * rarity[term] for term, times in Counter(said.terms).items()}
    for term in set(said.terms[: said.head]):
        weights[term] *= 2
    heaviest = sorted(weights, key=weights.__getitem__, reverse=True)[:_KEPT]
    length = sqrt(sum(weights[term] ** 2 for term in heaviest))
    return {term: weights[term] / length for term in heaviest if weights[term]}


def _window(places: list[int], weights: list[float], at: int) -> Iterable[tuple[int, float]]:
    """Those around `at` among the ordered places."""
    if len(places) > _LOOKED_AT:
        start = max(0, min(bisect_left(places, at) - _LOOKED_AT // 2, len(places) - _LOOKED_AT))
        places, weights = places[start : start + _LOOKED_AT], weights[start : start + _LOOKED_AT]
    return zip(places, weights, strict=True)


def _dot(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    if len(other) < len(one):
        one, other = other, one
    return sum([weight * other[term] for term, weight in one.items() if term in other])
