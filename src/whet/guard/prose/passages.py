"""Passages that read like the orders of malicious skills: a small linear model over words and pairs of words.

Polite orders have no vocabulary of their own, so no pattern finds them; how likely their words are together can be learned.
The model is a table of weights (`data/passages.txt`), learned by `benchmarks/passages.py` from passages written for the
purpose and from the paragraphs of honest skills. It looks at English only, it never says more than "look at this", and
the threshold is set so that about four honest skills in a hundred are pointed at.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from itertools import pairwise, repeat
from math import fsum
from typing import TYPE_CHECKING

from whet.guard.tables import word_list

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"[a-z]{2,30}(?:n't)?")
_SIGNS = (("://", "<address>"), ("@", "<mail>"), ("`", "<code>"))
_LONGEST = 1500
_FEWEST = 8
SHORTEST = 30
"""Characters below which a passage says too little."""


def tokens(text: str) -> list[str]:
    """The words of a passage."""
    ignored = word_list("addresses")
    return [word for word in _WORD.findall(text[:_LONGEST].lower().replace("’", "'")) if word not in ignored]


def features(text: str) -> set[str]:
    """What the model sees of a passage: its words and its pairs of words. Empty where it is not English."""
    words = tokens(text)
    return _single(words, text) | _pairs(words) if is_english(words) else set()


def is_english(words: list[str]) -> bool:
    """Are these enough words, and English ones?"""
    return len(words) >= _FEWEST and len(word_list("english").intersection(words)) >= 2


def _pairs(words: list[str]) -> set[str]:
    style = word_list("function")
    return {f"{one} {two}" for one, two in pairwise(words) if one not in style or two not in style}


def _single(words: list[str], text: str) -> set[str]:
    return set(words).difference(word_list("function")).union(name for sign, name in _SIGNS if sign in text)


def score(text: str) -> tuple[float, list[str]]:
    """How far a passage lies beyond the threshold (above 0: point at it), and the words that weigh most."""
    weights, bias = model()
    words = tokens(text)
    seen = _single(words, text)
    total = bias + fsum(map(weights.get, seen, repeat(0.0)))
    if total < _FAR or not is_english(words):
        return _FAR, []
    pairs = _pairs(words)
    total += fsum(map(weights.get, pairs, repeat(0.0)))
    heaviest = sorted(seen | pairs, key=lambda feature: (-weights.get(feature, 0.0), feature)) if total > 0 else []
    return total, heaviest[:4]


_FAR = -2.5
"""Where the single words of a passage leave it so far from the threshold, its pairs of words are not looked at."""


@lru_cache(maxsize=1)
def model() -> tuple[dict[str, float], float]:
    """The weights, and the bias that puts the threshold at 0."""
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "passages.txt")
    with open(path, encoding="utf-8") as file:
        weights = dict(_weights(file.read().splitlines()))
    return weights, weights.pop("<bias>", 0.0)


def _weights(lines: list[str]) -> Iterator[tuple[str, float]]:
    for line in lines:
        feature, _, weight = line.rpartition("\t")
        if feature:
            yield feature, int(weight) / 100
