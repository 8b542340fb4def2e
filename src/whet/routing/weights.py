"""How much each feature counts. Fitted on labelled messages by benchmarks/routing_fitting.py, which prints this table.

A weight of ranking is per standard deviation of the feature across the skills in question. Those of `sure` are of a
logistic curve, in the units of `whet.routing.judging.EVIDENCE`; benchmarks/routing_sureness.py fits them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Weights(NamedTuple):
    """The weights of each step of ranking, by feature."""

    first: dict[str, float]
    """Choosing whom to look at more closely; set by hand."""
    words: dict[str, float]
    """Ranking without meaning."""
    meaning: dict[str, float]
    """Ranking with it."""
    sure: dict[str, float]
    """Telling how likely a skill is right at all."""


FITTED = Weights(
    first={"bm25f": 0.4, "sentences": 0.2, "share": 0.3, "described-apart": 0.3, "description": 0.2, "rarest": 0.2},
    words={
        "bm25f": 0.094,
        "sentences": 0.296,
        "share": 0.171,
        "rarity": -0.049,
        "rarest": 0.115,
        "missing": -0.032,
        "apart": 0.306,
        "described-apart": 0.241,
        "name": -0.007,
        "description": 0.333,
        "body": 0.136,
        "named": 0.381,
        "fully-named": 0.072,
        "described-pairs": 0.138,
        "pairs": 0.281,
        "description-length": 0.456,
        "body-length": 0.056,
    },
    meaning={
        "bm25f": 0.143,
        "sentences": 0.285,
        "share": 0.23,
        "rarity": -0.053,
        "rarest": 0.117,
        "missing": -0.052,
        "apart": 0.328,
        "described-apart": 0.228,
        "name": 0.002,
        "description": 0.215,
        "body": 0.106,
        "named": 0.323,
        "fully-named": 0.099,
        "described-pairs": 0.12,
        "pairs": 0.255,
        "description-length": 0.501,
        "body-length": 0.087,
        "meaning": 0.414,
    },
    sure={
        "start": -3.98,
        "share": 4.7,
        "described": 1.41,
        "telling": 0.09,
        "length": 0.41,
        "lead": 0.34,
        "excluded": -41.02,
        "named": 0.37,
        "declined": -5.8,
    },
)


def row(given: dict[str, float], names: tuple[str, ...]) -> np.ndarray:
    """The weights in the order of the features."""
    return np.array([given.get(name, 0.0) for name in names], dtype=np.float32)
