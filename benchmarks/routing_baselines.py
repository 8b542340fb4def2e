"""The rankers that Whet is measured against, each made for a library and asked with a message.

A library is a list of positions in the pool. Everything that depends on the collection (how rare a word is, how long a
text is on average) is taken from the library alone, as it is for somebody who has installed just these skills. What
does not (words of a skill, vectors) is computed once for the pool.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from routing_data import NotMeasuredError
from routing_minilm import SIZE, MiniLM, normalised
from routing_words import COMMON, LONGEST, RUN, headings, splitter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from routing_data import Skill

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]
    Ranker = Callable[[str], Sequence[int]]
    """A message -> positions in the pool, best first."""

DEPTH = 100
"""How many skills a ranker names."""
NAME, DESCRIPTION, HEADINGS, BODY = range(4)
_LENGTHS = (0.5, 0.5, 0.5, 0.75)
"""How much the length of each field counts (b)."""
_SATURATION = 6.0
"""k1, in the units of the weights below."""
EVERYTHING = (8.0, 6.0, 1.0, 1.0)
METADATA = (8.0, 6.0, 0.0, 0.0)
_FUSED = 60
_DENSE_SHARE = 0.2
_FTS_TERMS = 32
_CHUNK = 256


class Counts(NamedTuple):
    """How often each word is in a field: three columns, ordered by skill."""

    skills: Ints
    words: Ints
    times: Floats


class Pool:
    """The skills with what the baselines share, each part computed when it is first needed."""

    def __init__(self, skills: Sequence[Skill], vectors: str | None = None) -> None:
        self.skills = skills
        self.vocabulary: dict[str, int] = {}
        self._vectors = vectors
        self._messages: dict[str, Floats] = {}
        self.encoding: list[float] = []
        """Seconds that each message took to become a vector."""

    @cached_property
    def words(self) -> Callable[[str], list[str]]:
        """A text -> its words."""
        return splitter()

    @cached_property
    def fields(self) -> tuple[Counts, ...]:
        """Name, description with when to use, headings, body."""
        texts: tuple[Callable[[Skill], str], ...] = (
            lambda skill: skill.name,
            described,
            lambda skill: headings(skill.body),
            lambda skill: skill.body,
        )
        return tuple(self._count(text) for text in texts)

    def _count(self, text: Callable[[Skill], str]) -> Counts:
        skills: list[int] = []
        words: list[int] = []
        times: list[int] = []
        for at, skill in enumerate(self.skills):
            found = Counter(self.words(text(skill)))
            skills += [at] * len(found)
            words += [self.vocabulary.setdefault(word, len(self.vocabulary)) for word in found]
            times += found.values()
        return Counts(np.array(skills, np.int64), np.array(words, np.int64), np.array(times, np.float32))

    def terms(self, message: str) -> dict[int, float]:
        """The known words of a message -> how much each counts: a little more when it is said twice."""
        self.fields  # noqa: B018 - the vocabulary is filled by counting
        found = Counter(self.vocabulary.get(word, -1) for word in self.words(message[:LONGEST]))
        return {word: min(times, 2) ** 0.5 for word, times in found.items() if word >= 0}

    @cached_property
    def encoder(self) -> MiniLM:
        """The dense model."""
        return MiniLM()

    @cached_property
    def vectors(self) -> Floats:
        """One row for each skill: read from the file given, or computed and kept there when it does not exist yet."""
        if self._vectors and os.path.exists(self._vectors):
            read = np.load(self._vectors).astype(np.float32)
            if read.shape != (len(self.skills), SIZE):
                raise NotMeasuredError(f"{self._vectors} has the shape {read.shape}, not {SIZE} for each skill")
            return normalised(read)
        texts = [f"{skill.name}. {skill.description}" for skill in self.skills]
        chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            found: Floats = np.concatenate(list(workers.map(self.encoder.encode, chunks)))
        if self._vectors:
            np.save(self._vectors, found.astype(np.float16))
        return found

    def vector(self, message: str) -> Floats:
        """The vector of a message, computed once."""
        if message not in self._messages:
            encoder = self.encoder
            began = time.perf_counter()
            self._messages[message] = encoder.encode([message])[0]
            self.encoding.append(time.perf_counter() - began)
        return self._messages[message]


def described(skill: Skill) -> str:
    """The description with what else says when to use a skill."""
    return "\n".join([skill.description, skill.when_to_use, *skill.triggers]).strip()


# --- words ----------------------------------------------------------------------------------------------------------


class Lexical:
    """BM25F over a library: counts of a word are weighted by field and length, added up, then saturated."""

    def __init__(self, pool: Pool, members: Sequence[int], weights: Sequence[float]) -> None:
        self._pool = pool
        self.size = len(members)
        place = np.full(len(pool.skills), -1, np.int64)
        place[list(members)] = np.arange(self.size)
        keys, values = [], []
        for field, weight, b in zip(pool.fields, weights, _LENGTHS, strict=True):
            if weight:
                rows = place[field.skills]
                skills, words, times = rows[rows >= 0], field.words[rows >= 0], field.times[rows >= 0]
                lengths = np.bincount(skills, times, minlength=self.size)
                average = lengths.mean() or 1.0
                keys.append(words * self.size + skills)
                values.append(weight * times / (1 - b + b * lengths / average)[skills])
        found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        summed = np.bincount(inverse, np.concatenate(values))
        self._skills = found % self.size
        words = found // self.size
        self._starts = np.searchsorted(words, np.arange(len(pool.vocabulary) + 1))
        having = np.diff(self._starts)
        self.rarity = np.log1p((self.size - having + 0.5) / (having + 0.5))
        self._scores = (summed / (summed + _SATURATION) * self.rarity[words]).astype(np.float32)

    def scores(self, terms: dict[int, float]) -> Floats:
        """How well each skill of the library fits."""
        total = np.zeros(self.size, np.float32)
        for word, times in terms.items():
            start, end = self._starts[word], self._starts[word + 1]
            total[self._skills[start:end]] += self._scores[start:end] * np.float32(times)
        return total

    def covered(self, terms: dict[int, float]) -> Floats:
        """The share of a message, by rarity of its words, that each skill has."""
        total = np.zeros(self.size, np.float32)
        for word in terms:
            total[self._skills[self._starts[word] : self._starts[word + 1]]] += self.rarity[word]
        return total / np.float32(max(sum(self.rarity[word] for word in terms), 1e-9))

    def having(self, word: int) -> Ints:
        """The skills of the library that have a word."""
        return self._skills[self._starts[word] : self._starts[word + 1]]


def bm25f(pool: Pool, members: Sequence[int], weights: Sequence[float]) -> Ranker:
    """Words only."""
    index, names = Lexical(pool, members, weights), np.asarray(members)
    return lambda message: best(names, index.scores(pool.terms(message)))


def fts5(pool: Pool, members: Sequence[int]) -> Ranker:
    """The full-text search that comes with SQLite, asked for any of the first words of a message."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE skills USING fts5(name, description, body, tokenize='porter unicode61')")
    rows = ((at, skill.name, described(skill), skill.body) for at, skill in ((at, pool.skills[at]) for at in members))
    database.executemany("INSERT INTO skills (rowid, name, description, body) VALUES (?, ?, ?, ?)", rows)

    def rank(message: str) -> list[int]:
        terms = list(dict.fromkeys(plain_words(message)))[:_FTS_TERMS]
        asked = " OR ".join(f'"{term}"' for term in terms)
        order = "SELECT rowid FROM skills WHERE skills MATCH ? ORDER BY bm25(skills, 8, 6, 1) LIMIT ?"
        return [row[0] for row in database.execute(order, (asked, DEPTH))] if asked else []

    return rank


def plain_words(message: str) -> list[str]:
    """The words of a message as they are typed, without the most frequent ones."""
    return [word for word in RUN.findall(message[:LONGEST].lower()) if word not in COMMON]


# --- vectors and both -----------------------------------------------------------------------------------------------


def dense(pool: Pool, members: Sequence[int]) -> Ranker:
    """The cosine of MiniLM vectors of the message and of name and description."""
    names = np.asarray(members)
    vectors = pool.vectors[names]
    return lambda message: best(names, vectors @ pool.vector(message))


def reciprocal(pool: Pool, members: Sequence[int]) -> Ranker:
    """Reciprocal rank fusion of words and vectors, as it is used everywhere."""
    index, names = Lexical(pool, members, EVERYTHING), np.asarray(members)
    vectors = pool.vectors[names]

    def rank(message: str) -> list[int]:
        lists = index.scores(pool.terms(message)), vectors @ pool.vector(message)
        return best(names, sum((1 / (_FUSED + places(scores)) for scores in lists), np.zeros(len(names))))

    return rank


def convex(pool: Pool, members: Sequence[int]) -> Ranker:
    """Words, with a share of vectors, both stretched to 0..1."""
    index, names = Lexical(pool, members, EVERYTHING), np.asarray(members)
    vectors = pool.vectors[names]

    def rank(message: str) -> list[int]:
        lexical, semantic = index.scores(pool.terms(message)), vectors @ pool.vector(message)
        return best(names, stretched(lexical) + _DENSE_SHARE * stretched(semantic))

    return rank


def stretched(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """Scores between 0 and 1."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def places(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """The rank of each, from 1; of equals the first comes first."""
    found = np.empty(len(scores), np.int64)
    found[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return found


def best(names: NDArray[np.int64], scores: NDArray[np.floating]) -> list[int]:
    """The positions with the highest scores."""
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    return [int(name) for name in names[order]]
