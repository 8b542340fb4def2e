"""The learned baseline: LambdaMART (LightGBM) that puts the best of words and vectors into a new order.

It sees how well words fit field by field, how much of the message is covered, how the name fits, and three numbers of
MiniLM. What it learned it never learned from the messages it is asked: either all messages of their source are left out
of its training (skills nobody has seen), or all messages of the same skill (skills of a known kind).
"""

from __future__ import annotations

import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from routing_baselines import (
    BODY,
    DESCRIPTION,
    EVERYTHING,
    HEADINGS,
    METADATA,
    NAME,
    Lexical,
    best,
    places,
    stretched,
)
from routing_data import NotMeasuredError, need
from routing_words import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from routing_baselines import Floats, Ints, Pool
    from routing_data import Query

_LEXICAL, _DENSE = 100, 50
"""How many candidates words and vectors bring; together about 130."""
_FOLDS = 5
_ROUNDS = 200
_SETTINGS: dict[str, Any] = {
    "objective": "lambdarank",
    "learning_rate": 0.03,
    "num_leaves": 7,
    "min_data_in_leaf": 100,
    "lambda_l2": 10,
    "feature_fraction": 0.8,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambdarank_truncation_level": 10,
    "seed": 1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
"""Of four that were tried, the one that ranked messages left out of training best: in favour of the baseline."""


def by_source(query: Query) -> str:
    """Messages of one source are left out together."""
    return query.source


def by_skill(query: Query) -> str:
    """Messages of one skill are left out together, a fifth of the skills at a time."""
    return str(zlib.crc32(query.group.encode()) % _FOLDS)


class Candidates:
    """The candidates of a library for a message, with their features."""

    def __init__(self, pool: Pool, members: Sequence[int]) -> None:
        self._pool = pool
        self.members = np.asarray(members)
        self._vectors = pool.vectors[self.members]
        self._all = Lexical(pool, members, EVERYTHING)
        self._metadata = Lexical(pool, members, METADATA)
        self._fields = [
            Lexical(pool, members, [float(field == at) for at in range(4)])
            for field in (NAME, DESCRIPTION, HEADINGS, BODY)
        ]
        chosen = [pool.skills[at] for at in members]
        self._names = [frozenset(pool.words(skill.name)) for skill in chosen]
        self._pairs = [frozenset(pairwise(pool.words(skill.description))) for skill in chosen]
        sizes = ([len(skill.name), len(skill.description), len(skill.body)] for skill in chosen)
        self._sizes = np.log1p(np.array(list(sizes), np.float32))

    def of(self, message: str) -> tuple[Ints, Floats]:
        """Places in the library and a row of features for each of them."""
        terms = self._pool.terms(message)
        lexical, semantic = self._all.scores(terms), self._vectors @ self._pool.vector(message)
        lexical_places, semantic_places = places(lexical), places(semantic)
        chosen = np.flatnonzero((lexical_places <= _LEXICAL) | (semantic_places <= _DENSE))
        fields = [field.scores(terms) for field in self._fields]
        whole: list[NDArray[Any]] = [
            lexical,
            stretched(lexical),
            np.log(lexical_places),
            self._metadata.scores(terms),
            np.log(places(self._metadata.scores(terms))),
            *fields,
            self._all.covered(terms),
            *(field.covered(terms) for field in self._fields),
            self._matched(terms),
            self._rarest(terms),
            semantic,
            stretched(semantic),
            np.log(semantic_places),
            stretched(lexical) + 0.2 * stretched(semantic),
        ]
        columns = [column[chosen] for column in whole]
        columns += list(self._sizes[chosen].T)
        said = self._pool.words(message[:LONGEST])
        pairs = frozenset(pairwise(said))
        columns += list(np.array([self._named(frozenset(said), pairs, int(at)) for at in chosen], np.float32).T)
        columns += [np.full(len(chosen), len(terms)), lexical[chosen] - np.sort(lexical)[-2:][0]]
        return chosen, np.stack(columns, axis=1).astype(np.float32)

    def _matched(self, terms: dict[int, float]) -> Floats:
        """How many words of the message each skill has."""
        total = np.zeros(len(self.members), np.float32)
        for word in terms:
            total[self._all.having(word)] += 1
        return total

    def _rarest(self, terms: dict[int, float]) -> Floats:
        """How rare the rarest word of the message is that each skill has."""
        total = np.zeros(len(self.members), np.float32)
        for word in terms:
            at = self._all.having(word)
            total[at] = np.maximum(total[at], self._all.rarity[word])
        return total

    def _named(self, words: frozenset[str], pairs: frozenset[tuple[str, str]], at: int) -> tuple[float, float, float]:
        """The share of the words of a name that is said, whether all are, and pairs that the description has too."""
        name = self._names[at]
        share = len(name & words) / max(len(name), 1)
        return share, float(share == 1), len(self._pairs[at] & pairs)


class Learned:
    """Models, one for every part that is left out of training."""

    def __init__(self, pool: Pool, queries: Sequence[Query], fold: Callable[[Query], str]) -> None:
        self._lightgbm = need("lightgbm", "lightgbm")
        self._pool = pool
        self._fold = fold
        self._queries = [query for query in queries if query.relevant]
        if len({fold(query) for query in self._queries}) < 2:
            raise NotMeasuredError("the messages cannot be divided, so nothing can be left out of training")
        self._rows: list[tuple[str, Floats, Ints]] = []
        self._models: dict[str, Any] = {}

    def ranker(self, members: Sequence[int]) -> Callable[[Query], Sequence[int]]:
        """A ranker of a library."""
        candidates = Candidates(self._pool, members)

        def rank(query: Query) -> list[int]:
            chosen, features = candidates.of(query.text)
            return best(candidates.members[chosen], self._model(self._fold(query)).predict(features))

        return rank

    def _model(self, fold: str) -> Any:
        """What was learned from the messages outside a fold."""
        if fold not in self._models:
            rows = [(features, labels) for other, features, labels in self._training() if other != fold]
            data = self._lightgbm.Dataset(
                np.concatenate([features for features, _ in rows]),
                np.concatenate([labels for _, labels in rows]),
                group=[len(labels) for _, labels in rows],
            )
            self._models[fold] = self._lightgbm.train(_SETTINGS, data, _ROUNDS)
        return self._models[fold]

    def _training(self) -> list[tuple[str, Floats, Ints]]:
        """Fold, features and labels of every message whose skill is among its candidates in the whole pool."""
        if not self._rows:
            candidates = Candidates(self._pool, range(len(self._pool.skills)))
            for query in self._queries:
                right = {*query.relevant, *(other for others in query.equivalent.values() for other in others)}
                chosen, features = candidates.of(query.text)
                labels = np.array([self._pool.skills[at].id in right for at in chosen], np.int64)
                if labels.any():
                    self._rows.append((self._fold(query), features, labels))
        return self._rows
