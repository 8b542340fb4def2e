"""What is compared about the skills that share a message's terms: a table of features, one row for each skill.

The table is worked out in two steps. For some hundred skills there is what the postings alone tell; the best of
them are looked at more closely, with the order of their words and their lengths. Every feature is put on one scale
across the skills of a message (`standard`), because how high scores run depends on the message and means nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whet.skill.terms import number, terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.routing.index import Postings, Row

FIRST = (
    "bm25f",  # the whole text, fielded
    "sentences",  # how well it does for each sentence of the message, against the best there
    "share",  # of the message's terms that it has
    "rarity",  # the same, by how rare they are
    "rarest",  # the rarest term it has, against the rarest of the message
    "missing",  # the rarest term it lacks
    "apart",  # terms it has that the other skills in question lack
    "described-apart",  # the same for name and description
    "name",
    "description",
    "body",
)
LATER = (
    *FIRST,
    "named",  # the share of its name's terms that the message has
    "fully-named",
    "described-pairs",  # neighbouring terms of the message that are neighbours in name and description too
    "pairs",  # the same in the body
    "description-length",
    "body-length",
)
WITH_MEANING = (*LATER, "meaning")

_RIVALS = 40
"""Skills that "apart" looks at."""


class Table(NamedTuple):
    """The skills in question and the message's terms in them."""

    slots: np.ndarray
    """The skills, best by BM25F first."""
    found: np.ndarray
    """float32, fields (all, name, description, body) x terms x skills: weights from 0 to 1."""
    rarity: np.ndarray
    """float32, for each term."""
    bm25f: np.ndarray


def rarities(postings: Mapping[int, Postings], asked: Asked, alive: np.ndarray) -> np.ndarray:
    """How much each term tells; nothing when nobody has it."""
    total = int(alive.sum())
    counts = np.array([_living(postings, int(term), alive) for term in asked.numbers], dtype=np.float32)
    rarity: np.ndarray = np.log(1 + (total - counts + 0.5) / (counts + 0.5)).astype(np.float32)
    rarity[counts == 0] = 0
    return rarity


def _living(postings: Mapping[int, Postings], term: int, alive: np.ndarray) -> int:
    found = postings.get(term)
    return int(alive[found.slots].sum()) if found else 0


def scores(postings: Mapping[int, Postings], asked: Asked, rarity: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """BM25F of every slot."""
    total = np.zeros(len(alive), dtype=np.float32)
    for term, weight in zip(asked.numbers, rarity * asked.gains, strict=True):
        found = postings.get(int(term))
        if found is not None and weight:
            total[found.slots] += found.weights[0] * np.float32(weight / 255)
    total[~alive] = 0
    return total


def table(
    postings: Mapping[int, Postings], asked: Asked, rarity: np.ndarray, totals: np.ndarray, slots: np.ndarray
) -> Table:
    """The message's terms in the given skills."""
    slots = slots[np.argsort(-totals[slots], kind="stable")]
    order = np.argsort(slots)
    ordered = slots[order]
    found = np.zeros((4, len(asked.terms), len(slots)), dtype=np.float32)
    for at, term in enumerate(asked.numbers):
        posting = postings.get(int(term))
        if posting is None:
            continue
        places = np.minimum(np.searchsorted(posting.slots, ordered), len(posting.slots) - 1)
        hit = posting.slots[places] == ordered
        found[:, at, order[hit]] = posting.weights[:, places[hit]] * np.float32(1 / 255)
    return Table(slots, found, rarity, totals[slots])


def first(asked: Asked, given: Table) -> np.ndarray:
    """The features that postings tell: skills x `FIRST`."""
    every, name, description, body = given.found
    weight = given.rarity * asked.gains
    telling = given.rarity > 0
    rarity = given.rarity
    mass = float(rarity.sum()) or 1.0
    has = every > 0
    described = (name > 0) | (description > 0)
    return np.stack(
        [
            given.bm25f,
            _sentences(asked, given),
            has.sum(axis=0) / max(1, int(telling.sum())),
            rarity @ has / mass,
            (rarity[:, None] * has).max(axis=0, initial=0) / (float(rarity.max(initial=0)) or 1.0),
            (rarity[:, None] * ~has).max(axis=0, initial=0),
            _apart(has),
            _apart(described),
            weight @ name,
            weight @ description,
            weight @ body,
        ],
        axis=1,
    ).astype(np.float32)


def _sentences(asked: Asked, given: Table) -> np.ndarray:
    impact = given.found[0] * given.rarity[:, None]
    total = np.zeros(impact.shape[1], dtype=np.float32)
    for view in asked.views:
        score = impact[view].sum(axis=0)
        total += score / (float(score.max(initial=0)) or 1.0)
    return total


def _apart(has: np.ndarray) -> np.ndarray:
    """The share of terms a skill has, each worth more the fewer of its rivals have it."""
    rivals = has[:, :_RIVALS]
    count, users = rivals.shape[1], rivals.sum(axis=1)
    weight = np.log(1 + (count - users + 0.5) / (users + 0.5))
    share: np.ndarray = weight @ has / (float(weight.sum()) or 1.0)
    return share


def later(
    asked: Asked,
    given: Table,
    features: np.ndarray,
    rows: Sequence[Row],
    sequences: Sequence[np.ndarray],
) -> np.ndarray:
    """The features of a closer look: skills x `LATER`, for the skills of `given`."""
    named = (given.found[1] > 0).sum(axis=0) / np.array([max(1, row.name_terms) for row in rows])
    described, bodied = _pairs(asked, given, rows, sequences)
    return np.column_stack(
        [
            features,
            named,
            named >= 1,
            described,
            bodied,
            np.log1p([row.description for row in rows]),
            np.log1p([row.body for row in rows]),
        ]
    ).astype(np.float32)


def _pairs(
    asked: Asked, given: Table, rows: Sequence[Row], sequences: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """How much of the message's neighbouring terms are neighbours in each skill, up front and in the body."""
    if not len(asked.pairs) or not rows:
        return np.zeros(len(rows)), np.zeros(len(rows))
    count = len(asked.terms)
    worth = np.zeros((count, count))
    worth[asked.pairs[:, 0], asked.pairs[:, 1]] = given.rarity[asked.pairs].sum(axis=1)
    mass = float(worth.sum()) or 1.0
    everything = np.concatenate(sequences)
    places = _places(asked.numbers, everything)
    sizes = [size for row, one in zip(rows, sequences, strict=True) for size in (row.lead, len(one) - row.lead)]
    parts = np.repeat(np.arange(len(sizes)), sizes)
    at = np.flatnonzero((places[:-1] >= 0) & (places[1:] >= 0) & (parts[:-1] == parts[1:]))
    codes = distinct((parts[at] * count + places[at]) * count + places[at + 1])
    found = np.bincount(codes // (count * count), weights=worth.ravel()[codes % (count * count)], minlength=len(sizes))
    return found[0::2] / mass, found[1::2] / mass


def _places(numbers: np.ndarray, sequence: np.ndarray) -> np.ndarray:
    """Where each term of a sequence is among the message's, -1 for one that is not.

    Two terms of a message that end in the same sixteen bits hide one another, which happens to one message in thirty.
    """
    table = np.zeros(1 << 16, dtype=np.int64)
    table[numbers & 0xFFFF] = np.arange(len(numbers))
    places = table[sequence & 0xFFFF]
    return np.where(numbers[places] == sequence, places, -1)


def distinct(values: np.ndarray) -> np.ndarray:
    """The values, each once, in order; `np.unique` imports what takes longer than a search."""
    ordered = np.sort(values)
    different = np.ones(len(ordered), dtype=np.bool_)
    different[1:] = ordered[1:] != ordered[:-1]
    return ordered[different]


def standard(features: np.ndarray) -> np.ndarray:
    """Each feature with mean 0 and deviation 1 across the skills of a message."""
    if not len(features):
        return features
    scaled: np.ndarray = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-6)
    return scaled


LONGEST = 4096
"""Characters of a message that are read."""
_MOST = 256
"""Terms of a message that are asked about."""
_VIEWS = 8
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|,? (?:and then|then|also) ", re.IGNORECASE)
_SHORTEST_VIEW = 8
_GUESS = 0.6
"""How much a word counts that was taken for a mistyped one."""


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


def corrected(asked: Asked, guesses: dict[str, str]) -> Asked:
    """The same message with mistyped words taken for others."""
    numbers, gains = asked.numbers.copy(), asked.gains.copy()
    for at, term in enumerate(asked.terms):
        if term in guesses:
            numbers[at] = number(guesses[term])
            gains[at] *= _GUESS
    return asked._replace(numbers=numbers, gains=gains, guessed=guesses)
