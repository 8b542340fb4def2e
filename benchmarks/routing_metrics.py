"""How good an order is, and how good a decision is.

Orders are judged as the data asks: the gold skills found by rank k over all gold skills (recall), the reciprocal rank
of the first gold and nDCG, both at 10. A copy or an equivalent of a gold stands for it; once the gold is found, another
one does not take a rank. Decisions are judged on pairs of a score and whether the skill should have fired.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from routing_data import Query

CUTS = (1, 3, 5, 10, 50)
MEASURES = (*(f"recall@{cut}" for cut in CUTS), "mrr@10", "ndcg@10")
COMPARED = ("recall@1", "ndcg@10")
"""Measures with an interval, by which one ranker is compared with another."""
_SAMPLES, _AUC_SAMPLES = 2_000, 500
_SEED = 20260
_DEPTH = 10


# --- orders ---------------------------------------------------------------------------------------------------------


def ranks(order: Iterable[str], query: Query) -> list[int]:
    """The ranks, from 1, at which the gold skills of a message are found within the deepest cut."""
    stands_for = {other: gold for gold, others in query.equivalent.items() for other in others}
    stands_for.update({gold: gold for gold in query.relevant})
    found: dict[str, int] = {}
    rank = 0
    for one in order:
        gold = stands_for.get(one)
        if gold in found:
            continue
        rank += 1
        if rank > CUTS[-1]:
            break
        if gold is not None:
            found[gold] = rank
            if len(found) == len(query.relevant):
                break
    return list(found.values())


def judge(found: Sequence[int], golds: int) -> dict[str, float]:
    """Every measure of one message, from the ranks at which its gold skills are found."""
    shares = {f"recall@{cut}": sum(rank <= cut for rank in found) / golds for cut in CUTS}
    first = min(found, default=0)
    gain = sum(1 / log2(rank + 1) for rank in found if rank <= _DEPTH)
    best = sum(1 / log2(rank + 1) for rank in range(1, min(_DEPTH, golds) + 1))
    return {**shares, "mrr@10": 1 / first if 0 < first <= _DEPTH else 0.0, "ndcg@10": gain / best}


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Every measure over messages, in percent."""
    return {measure: percent(_mean([row[measure] for row in rows])) for measure in MEASURES}


def mean_of_means(groups: Iterable[Sequence[Mapping[str, float]]]) -> dict[str, float]:
    """Every measure, each group counting the same, in percent."""
    kept = [rows for rows in groups if rows]
    return {measure: percent(_mean([_mean([row[measure] for row in rows]) for rows in kept])) for measure in MEASURES}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean, from samples with replacement, in percent."""
    if not values:
        return 0.0, 0.0
    data = np.asarray(values)
    random = np.random.default_rng(_SEED)
    means = np.array([data[random.integers(0, len(data), len(data))].mean() for _ in range(_SAMPLES)])
    low, high = np.quantile(means, (0.025, 0.975))
    return percent(float(low)), percent(float(high))


def difference(
    ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """How many points better, message by message, with the interval."""
    told = {}
    for measure in COMPARED:
        gains = [a[measure] - b[measure] for a, b in zip(ours, theirs, strict=True)]
        low, high = interval(gains)
        told[measure] = {"points": percent(_mean(gains)), "low": low, "high": high}
    return told


def percent(value: float) -> float:
    """A share as it is told."""
    return round(100 * value, 2)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


# --- decisions ------------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    """What becomes of the pairs when every score from a threshold on fires; shares are of 1."""

    threshold: float
    precision: float
    recall: float
    false_triggers: float
    """The share of the pairs that must not fire and do."""


def auc(scores: Sequence[float] | NDArray[np.float64], labels: Sequence[bool] | NDArray[np.bool_]) -> float | None:
    """How often a pair that should fire has a higher score than one that should not; equals count half."""
    right = np.asarray(labels, dtype=bool)
    positives, negatives = int(right.sum()), int((~right).sum())
    if not positives or not negatives:
        return None
    _, place, times = np.unique(np.asarray(scores, dtype=float), return_inverse=True, return_counts=True)
    above = np.cumsum(times)
    middle = above - (times - 1) / 2
    total = float(middle[place][right].sum())
    return (total - positives * (positives + 1) / 2) / (positives * negatives)


def auc_interval(scores: Sequence[float], labels: Sequence[bool]) -> tuple[float, float] | tuple[None, None]:
    """The 95 % interval of the area, from samples of the pairs with replacement."""
    values, right = np.asarray(scores, dtype=float), np.asarray(labels, dtype=bool)
    random = np.random.default_rng(_SEED)
    drawn = (random.integers(0, len(values), len(values)) for _ in range(_AUC_SAMPLES)) if len(values) else ()
    areas = [area for at in drawn if (area := auc(values[at], right[at])) is not None]
    if not areas:
        return None, None
    low, high = np.quantile(areas, (0.025, 0.975))
    return round(float(low), 4), round(float(high), 4)


def decided(fired: Sequence[bool], labels: Sequence[bool], threshold: float = 0.0) -> Point:
    """Precision, recall and false triggers of a decision; where nothing fired, nothing fired wrongly."""
    hits = sum(one and label for one, label in zip(fired, labels, strict=True))
    wrong = sum(one and not label for one, label in zip(fired, labels, strict=True))
    positives = sum(labels)
    return Point(
        threshold,
        hits / (hits + wrong) if hits + wrong else 1.0,
        hits / positives if positives else 0.0,
        wrong / (len(labels) - positives) if len(labels) > positives else 0.0,
    )


def curve(scores: Sequence[float], labels: Sequence[bool]) -> list[Point]:
    """One point for each threshold that changes anything, from the strictest to the laxest."""
    values, right = np.asarray(scores, dtype=float), np.asarray(labels, dtype=bool)
    order = np.argsort(-values, kind="stable")
    values, right = values[order], right[order]
    last: NDArray[np.bool_] = np.append(values[1:] != values[:-1], True) if len(values) else np.zeros(0, dtype=bool)
    hits, fired = np.cumsum(right)[last], np.flatnonzero(last) + 1
    positives = max(int(right.sum()), 1)
    negatives = max(int((~right).sum()), 1)
    return [
        Point(float(value), float(hit / count), float(hit / positives), float((count - hit) / negatives))
        for value, hit, count in zip(values[last], hits, fired, strict=True)
    ]


def most_recall(points: Sequence[Point], precision: float) -> Point | None:
    """The point that finds most of those at least this precise."""
    fit = [point for point in points if point.precision >= precision]
    return max(fit, key=lambda point: (point.recall, point.precision), default=None)


def most_precision(points: Sequence[Point], recall: float) -> Point | None:
    """The most precise point of those that find at least this share."""
    fit = [point for point in points if point.recall >= recall]
    return max(fit, key=lambda point: (point.precision, point.recall), default=None)


def brier(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The mean squared distance of a probability from what was right."""
    return _mean([(score - label) ** 2 for score, label in zip(scores, labels, strict=True)])


def reliability(scores: Sequence[float], labels: Sequence[bool], bins: int = 10) -> list[dict[str, float]]:
    """For each tenth of the scale that is used: how many pairs, what was claimed of them and what was true."""
    held: dict[int, list[tuple[float, bool]]] = {}
    for score, label in zip(scores, labels, strict=True):
        held.setdefault(min(int(score * bins), bins - 1), []).append((score, label))
    return [
        {
            "from": round(at / bins, 4),
            "to": round((at + 1) / bins, 4),
            "pairs": len(pairs),
            "claimed": round(_mean([score for score, _ in pairs]), 4),
            "true": round(_mean([float(label) for _, label in pairs]), 4),
        }
        for at, pairs in sorted(held.items())
    ]
