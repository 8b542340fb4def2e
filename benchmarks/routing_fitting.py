"""The weights by which Whet ranks skills, fitted on labelled messages.

    python benchmarks/routing_fitting.py --pool POOL.jsonl[.gz] --queries Q.jsonl

prints the table of `whet.routing.scoring`. The model is one weight for each feature: the chance of a skill to be the
right one is its share of the exponentials of all skills in question, and the weights make the right ones most likely.
A large source counts by the root of its size, and weights are kept small, because that does better on sources that
were not among the messages; `retrieval.py` measures it by fitting anew for each source without it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import routing_threads  # noqa: F401  before numpy starts its threads
from routing_data import arguments_of, read_pool, read_queries
from routing_ours import entries

from whet.routing import features
from whet.routing.router import Router
from whet.routing.scoring import FITTED, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from routing_data import Query, Skill

_SMALL = 0.05
"""How strongly weights are kept small."""
_STEPS = 200
_PACE = 0.06


class Sample(NamedTuple):
    """The skills in question for one message, and which of them are right."""

    query: Query
    values: np.ndarray
    right: np.ndarray


def samples(router: Router, pool: Sequence[Skill], queries: Sequence[Query]) -> list[Sample]:
    """What the router has to choose from, for every message that has something right among it."""
    numbers = {skill.id: str(at) for at, skill in enumerate(pool)}
    found = []
    for query in queries:
        golds = {*query.relevant, *(twin for twins in query.equivalent.values() for twin in twins)}
        keys = {numbers[gold] for gold in golds if gold in numbers}
        choice = router.candidates(query.text)
        right = np.array([key in keys for key in choice.keys], dtype=np.bool_)
        if right.any():
            found.append(Sample(query, np.array(features.standard(choice.values)), right))
    return found


def fit(given: Sequence[Sample], columns: int) -> np.ndarray:
    """The weights under which the right skills are most likely."""
    sizes = Counter(sample.query.source for sample in given)
    shares = np.array([sizes[sample.query.source] ** -0.5 for sample in given])
    shares /= shares.sum()
    most = max(len(sample.right) for sample in given)
    values = np.zeros((len(given), most, columns), dtype=np.float32)
    right = np.zeros((len(given), most), dtype=np.float32)
    there = np.zeros((len(given), most), dtype=np.bool_)
    for at, sample in enumerate(given):
        count = len(sample.right)
        values[at, :count], right[at, :count], there[at, :count] = sample.values, sample.right, True
    weights, drift, spread = (np.zeros(columns) for _ in range(3))
    flat = values.reshape(-1, columns)
    for step in range(1, _STEPS + 1):
        scores = (flat @ weights.astype(np.float32)).reshape(there.shape)
        scores[~there] = -np.inf
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        wanted = chances * right
        wanted /= wanted.sum(axis=1, keepdims=True) + 1e-12
        slope = flat.T @ ((chances - wanted) * shares[:, None]).ravel().astype(np.float32) + _SMALL * weights
        drift, spread = 0.9 * drift + 0.1 * slope, 0.99 * spread + 0.01 * slope * slope
        weights -= _PACE * (drift / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.99**step)) + 1e-8)
    return weights


def gather(pool: Sequence[Skill], queries: Sequence[Query], directory: str) -> list[Sample]:
    """The skills in question for every message, worked out once."""
    router = Router(os.path.join(directory, f"fitting-{len(os.listdir(directory))}.db"))
    router.update(entries(enumerate(pool)))
    return samples(router, pool, queries)


def fitted(gathered: Sequence[Sample], without: str = "") -> Weights:
    """The weights from all messages but those of one source."""
    found = fit([sample for sample in gathered if sample.query.source != without], len(features.FEATURES))
    pairs = zip(features.FEATURES, found, strict=True)
    return FITTED._replace(words={name: round(float(weight), 3) for name, weight in pairs})


def main() -> int:
    """Fit on everything and print the table."""
    options = arguments_of((__doc__ or "").partition("\n")[0]).parse_args()
    pool = read_pool(options.pool)
    queries = [query for query in read_queries(options.queries, pool, options.limit) if query.counts_in_main]
    with tempfile.TemporaryDirectory(prefix="whet-fitting-") as directory:
        found = fitted(gather(pool, queries, directory))
    print(json.dumps(found._asdict(), indent=4))
    return 0


if __name__ == "__main__":
    sys.exit(main())
