"""How likely a skill is right for a message at all: the curve behind `detect`, fitted on labelled messages.

    python benchmarks/routing_sureness.py --pool POOL.jsonl[.gz] --queries Q.jsonl

prints `sure` of `whet.routing.scoring`. A pair of a message and a skill is right when the message is for the skill.
Wrong are the messages that an author wrote as near misses; the best runner-up of a message that is for another skill,
because two skills seldom are right at once; and the first skill of a library that a message has nothing to do with,
because most messages call for none. Everything is asked in libraries of three sizes (a few skills, one vendor's, the
whole pool), so that the curve holds for all of them.
"""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import routing_threads  # noqa: F401  before numpy starts its threads
from routing_data import LARGEST, SMALLEST, arguments_of, libraries, read_pool, read_queries
from routing_ours import entries

from whet.routing.router import Router
from whet.routing.scoring import EVIDENCE, evidence, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from routing_data import Query, Skill

_RUNNER_UP, _ELSEWHERE = 0.2, 0.5
"""How much a pair of these kinds counts, against one that an author labelled."""
_POSITIVES = 350
"""Messages of skills without near misses that are taken beside the others."""
_STRANGERS = 500
_FEW = (3, 6, 12, 24)
_SMALL = 10.0
"""How strongly the curve is kept flat, in pairs."""


class Pair(NamedTuple):
    """A message and a skill in some library."""

    source: str
    right: bool
    share: float
    signs: np.ndarray


def signs(router: Router, message: str, key: str | None = None) -> tuple[str, np.ndarray] | None:
    """The evidence for a skill, or for the first one; None when it is not in question, or the message turns it down."""
    given = router.candidates(message)
    judged = judge(given, router.weights)
    keys = given.keys
    if not keys or (key is not None and key not in keys):
        return None
    at = judged.order()[0] if key is None else keys.index(key)
    if judged.naming[at] == "declined":
        return None
    return keys[at], np.array(evidence(given, judged)[at])


def gather(pool: Sequence[Skill], queries: Sequence[Query]) -> list[Pair]:
    """All pairs; the choice of small libraries and of strangers is always the same."""
    dice = random.Random(7)
    numbers = {skill.id: at for at, skill in enumerate(pool)}
    vendors = {name: found for name, found in libraries(pool).items() if SMALLEST <= len(found) <= LARGEST}
    routers = {name: make_router(pool, found) for name, found in vendors.items()}
    whole = make_router(pool, range(len(pool)))
    missed = {skill for query in queries for skill in query.negative_for}
    users = [query for query in queries if query.kind == "user"]
    labelled = [(query, one, True) for query in users for one in query.relevant if one in missed]
    labelled += [(query, one, False) for query in queries for one in query.negative_for]
    plain = [(query, one, True) for query in users for one in query.relevant if one not in missed]
    labelled += dice.sample(plain, min(_POSITIVES, len(plain)))
    pairs: list[Pair] = []
    for query, wanted, right in labelled:
        at, vendor = numbers.get(wanted), wanted.partition(":")[0]
        if at is None or vendor not in vendors:
            continue
        others = [other for other in vendors[vendor] if other != at]
        few = make_router(pool, [at, *dice.sample(others, min(dice.choice(_FEW), len(others)))])
        for router in (few, routers[vendor], whole):
            pairs += _labelled(router, query, str(at), right, numbers)
    for query in dice.sample(users, min(_STRANGERS, len(users))):
        own = {one.partition(":")[0] for one in query.relevant}
        vendor = dice.choice([name for name in sorted(vendors) if name not in own])
        members = vendors[vendor]
        few = make_router(pool, dice.sample(members, min(dice.choice(_FEW), len(members))))
        for router in (few, routers[vendor]):
            if found := signs(router, query.text):
                pairs.append(Pair(query.source, False, _ELSEWHERE, found[1]))
    return pairs


def _labelled(router: Router, query: Query, key: str, right: bool, numbers: dict[str, int]) -> Iterable[Pair]:
    if found := signs(router, query.text, key):
        yield Pair(query.source, right, 1.0, found[1])
    if right:
        golds = {*query.relevant, *(twin for twins in query.equivalent.values() for twin in twins)}
        keys = {str(numbers[gold]) for gold in golds if gold in numbers}
        second = next((one.key for one in router.find(query.text, 3) if one.key not in keys), None)
        if second and (found := signs(router, query.text, second)):
            yield Pair(query.source, False, _RUNNER_UP, found[1])


def make_router(pool: Sequence[Skill], members: Iterable[int]) -> Router:
    """A router over some skills of the pool, by their places."""
    router = Router(":memory:")
    router.update(entries((at, pool[at]) for at in members))
    return router


def fit(pairs: Sequence[Pair]) -> dict[str, float]:
    """The curve under which the pairs are most likely, by Newton's method."""
    values = np.array([pair.signs for pair in pairs])
    right = np.array([pair.right for pair in pairs], dtype=np.float64)
    shares = np.array([pair.share for pair in pairs])
    scale = values.std(axis=0)
    scale[0] = 1.0  # "start" is the same everywhere
    scale[scale == 0] = 1.0
    scaled = values / scale
    flat = np.full(len(EVIDENCE), _SMALL)
    flat[0] = 0.0
    weights = np.zeros(len(EVIDENCE))
    for _ in range(30):
        chances = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (shares * (chances - right)) + flat * weights
        bend = (scaled.T * (shares * chances * (1 - chances))) @ scaled + np.diag(flat + 1e-9)
        weights -= np.linalg.solve(bend, slope)
    return {name: round(float(weight), 2) for name, weight in zip(EVIDENCE, weights / scale, strict=True)}


def main() -> int:
    """Fit on everything and print the weights."""
    options = arguments_of((__doc__ or "").partition("\n")[0]).parse_args()
    pool = read_pool(options.pool)
    print(json.dumps(fit(gather(pool, read_queries(options.queries, pool, options.limit))), indent=4))
    return 0


if __name__ == "__main__":
    sys.exit(main())
