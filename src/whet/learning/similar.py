"""Which skills say nearly the same, found from their words alone.

Two skills are compared in two ways, and the higher score counts:

- what they are about: the cosine between their terms, where a term weighs more the rarer it is in the library and the
  more often it is said, and twice as much at the beginning of a text, where name and description stand. That is what
  tells duplicates from siblings made from one template;
- what they say word for word: the part of the shorter text's runs of three words that the other one has too. That
  finds a copy that has grown since.

Not every skill is compared with every other. Each looks for those that share its most telling terms, and of a term
that very many share it looks only at the nearest by name, so that the work grows with the number of skills and not
with its square. In a large library of much the same skills a pair may be missed; another run finds it once the pairs
before it are merged.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from heapq import nsmallest
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from whet.prompt.shorten import phrases, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

TEXT = 8000
"""Characters of a skill that are looked at."""
THRESHOLD = 0.55
"""The score from which on two skills are near duplicates. Measured on skills that agents wrote for ten tasks: from here
on a pair is for the same step of the same task, further down more and more are for the step before or after."""

_HEAD = 40
"""Terms at the beginning of a text that count twice: about a name and a description."""
_KEPT = 120
"""Terms of a skill that are compared, the heaviest ones."""
_ASKED = 16
"""Terms by which a skill looks for others."""
_NEAREST = 64
"""Skills that are looked at for one term."""
_CLOSEST = 16
"""Skills that one skill is compared with in full."""
_COMMON = 0.05
"""The share of skills that say a word from which on it is looked whether it is a mere filler."""
_PROMISING = 0.2
"""The part of the score that the terms by which a skill looks for others must bring."""
_COPIED = 0.7
"""The part of the score from which on it is looked whether one text stands in the other."""
_GAINS = 100
_GAIN = [0.0, *(1 + log(times) for times in range(1, _GAINS + 1))]
"""What a term's weight is multiplied by when it is said so many times."""
_SLACK = 30
"""Added to the number of a text's runs of words, or a few that coincide would make a short text a copy."""
_WORD = re.compile(r"[^\W_]+")
_SHOWN = 6
"""Words shown as evidence."""

Vector = dict[int, float]
"""Term -> weight, of length 1, the heaviest first."""


class Pair(NamedTuple):
    """Two skills that say nearly the same."""

    one: str
    other: str
    score: float
    """At most 1, which is the same text."""
    shared: tuple[str, ...]
    """The words that tell most of what both have in common."""


def near_duplicates(texts: Mapping[str, str], threshold: float = THRESHOLD, most: int = 50) -> tuple[Pair, ...]:
    """The pairs of skills that are most alike, the most alike first; each text is name, description and body."""
    names = sorted(texts)
    said, vocabulary = _said([texts[name][:TEXT] for name in names])
    users = Counter[int]()
    for found in said:
        users.update(set(found))
    rarity = [_rarity(word, users[term] / len(names)) for term, word in enumerate(vocabulary)]
    vectors = [_vector(found, rarity) for found in said]
    runs: dict[int, set[int]] = {}
    scored: list[tuple[float, int, int]] = []
    for one, other in _candidates(vectors, users, threshold * _PROMISING):
        score = _cosine(vectors[one], vectors[other])
        if threshold * _COPIED <= score < threshold:
            for at in (one, other):
                if at not in runs:
                    runs[at] = _runs(said[at], len(vocabulary))
            score = max(score, _overlap(runs[one], runs[other]))
        score = round(score, 3)
        if score >= threshold:
            scored.append((-score, one, other))
    return tuple(
        Pair(names[one], names[other], -score, _evidence(vectors[one], vectors[other], vocabulary, texts[names[one]]))
        for score, one, other in nsmallest(most, scored)
    )


class _Numbers(dict[str, int]):
    """Terms, numbered as they come."""

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self)
        return number


def _said(texts: Iterable[str]) -> tuple[list[array[int]], list[str]]:
    """The terms of each text, as numbers, and what the numbers stand for."""
    numbers = _Numbers()
    return [array("L", map(numbers.__getitem__, terms(text))) for text in texts], list(numbers)


def _rarity(word: str, share: float) -> float:
    """What a term is worth that this share of all skills says; nothing for a letter and for what is said everywhere."""
    if len(word) == 1 or (share > _COMMON and not phrases(word)):
        return 0.0
    return log(1 + 1 / share)


def _vector(said: array[int], rarity: Sequence[float]) -> Vector:
    weights = {term: _GAIN[min(times, _GAINS)] * rarity[term] for term, times in Counter(said).items()}
    for term in set(said[:_HEAD]):
        weights[term] *= 2
    heaviest = sorted(weights, key=weights.__getitem__, reverse=True)[:_KEPT]
    length = sqrt(sum(weights[term] ** 2 for term in heaviest))
    return {term: weights[term] / length for term in heaviest if weights[term]}


def _candidates(vectors: Sequence[Vector], users: Mapping[int, int], least: float) -> Iterator[tuple[int, int]]:
    """The pairs that are worth comparing in full, each once, the smaller number first."""
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
            for other, weight in _nearest(*holders[term], one):
                alike[other] = alike.get(other, 0.0) + own * weight
        closest = sorted((-share, other) for other, share in alike.items() if share >= least and other != one)
        for _, other in closest[:_CLOSEST]:
            pair = (one, other) if one < other else (other, one)
            if pair not in seen:
                seen.add(pair)
                yield pair


def _nearest(places: list[int], weights: list[float], at: int) -> Iterable[tuple[int, float]]:
    """Those around `at` among the ordered places."""
    if len(places) > _NEAREST:
        start = max(0, min(bisect_left(places, at) - _NEAREST // 2, len(places) - _NEAREST))
        places, weights = places[start : start + _NEAREST], weights[start : start + _NEAREST]
    return zip(places, weights, strict=True)


def _cosine(one: Vector, other: Vector) -> float:
    return sum([weight * other[term] for term, weight in one.items() if term in other])


def _runs(said: array[int], base: int) -> set[int]:
    """Every three words in a row, as one number."""
    return {(a * base + b) * base + c for a, b, c in zip(said, said[1:], said[2:], strict=False)}


def _overlap(one: set[int], other: set[int]) -> float:
    """How much of the shorter text stands word for word in the longer one."""
    return len(one & other) / (min(len(one), len(other)) + _SLACK)


def _evidence(one: Vector, other: Vector, vocabulary: Sequence[str], text: str) -> tuple[str, ...]:
    """The terms that bring two texts together most, as words of the first one."""
    worth = {term: weight * other[term] for term, weight in one.items() if term in other}
    found = [vocabulary[term] for term in sorted(worth, key=worth.__getitem__, reverse=True)[:_SHOWN]]
    words: dict[str, str] = {}
    for word in dict.fromkeys(_WORD.findall(text[:TEXT].casefold())):
        for term in terms(word):
            words.setdefault(term, word if word.isascii() else term)
    return tuple(words.get(term, term) for term in found)
