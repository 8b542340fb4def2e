"""A message as it is asked about: its terms, its sentences, its neighbouring terms."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from whet.skill.terms import number, terms

LONGEST = 4096
"""Characters of a message that are read."""
_MOST = 256
"""Terms of a message that are asked about."""
_VIEWS = 8
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|,? (?:and then|then|also) ", re.IGNORECASE)
_SHORTEST_VIEW = 8


class Asked(NamedTuple):
    """What a message asks the index for."""

    text: str
    terms: tuple[str, ...]
    """Each once, in the order they come."""
    numbers: np.ndarray
    """uint32, what they are stored as; another word's where one was mistyped."""
    gains: np.ndarray
    """float32, how much each counts: more when it is said twice, less when it was guessed."""
    views: tuple[np.ndarray, ...]
    """The places of the terms of each sentence."""
    pairs: np.ndarray
    """n x 2, the places of terms that stand next to each other."""
    guessed: dict[str, str]
    """Mistyped words and what was taken for them."""


def ask(message: str) -> Asked:
    """Read a message."""
    text = message[:LONGEST]
    said = terms(text)
    counts = Counter(said)
    kept = tuple(counts)[:_MOST]
    places = {term: at for at, term in enumerate(kept)}
    known = [places.get(term, -1) for term in said]
    pairs = {(one, other) for one, other in pairwise(known) if one >= 0 and other >= 0}
    views: list[np.ndarray] = []
    for sentence in _SENTENCE.split(text):
        if sentence and len(sentence) > _SHORTEST_VIEW and len(views) < _VIEWS:
            found = dict.fromkeys(places[term] for term in terms(sentence) if term in places)
            views.append(np.array(list(found), dtype=np.intp))
    return Asked(
        text,
        kept,
        np.array([number(term) for term in kept], dtype=np.uint32),
        np.array([min(counts[term], 2) ** 0.5 for term in kept], dtype=np.float32),
        tuple(views) or (np.arange(len(kept)),),
        np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2),
        {},
    )


def corrected(asked: Asked, guesses: dict[str, str], trust: float = 0.6) -> Asked:
    """The same message with mistyped words taken for others."""
    numbers, gains = asked.numbers.copy(), asked.gains.copy()
    for at, term in enumerate(asked.terms):
        if term in guesses:
            numbers[at] = number(guesses[term])
            gains[at] *= trust
    return asked._replace(numbers=numbers, gains=gains, guessed=guesses)
