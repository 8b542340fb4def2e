"""How much each feature counts. Fitted on labelled messages by benchmarks/routing_fitting.py, which prints this table.

A weight is per standard deviation of the feature across the skills in question.
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


FITTED = Weights(
    first={"bm25f": 0.4, "sentences": 0.2, "share": 0.3, "described-apart": 0.3, "description": 0.2, "rarest": 0.2},
    words={
        "bm25f": 0.126,
        "sentences": 0.273,
        "share": 0.182,
        "rarity": -0.043,
        "rarest": 0.103,
        "missing": -0.032,
        "apart": 0.291,
        "described-apart": 0.245,
        "name": 0.004,
        "description": 0.322,
        "body": 0.133,
        "named": 0.356,
        "fully-named": 0.083,
        "described-pairs": 0.139,
        "pairs": 0.288,
        "description-length": 0.468,
        "body-length": 0.028,
    },
    meaning={
        "bm25f": 0.147,
        "sentences": 0.285,
        "share": 0.221,
        "rarity": -0.044,
        "rarest": 0.118,
        "missing": -0.048,
        "apart": 0.328,
        "described-apart": 0.23,
        "name": 0.01,
        "description": 0.203,
        "body": 0.105,
        "named": 0.299,
        "fully-named": 0.108,
        "described-pairs": 0.122,
        "pairs": 0.262,
        "description-length": 0.514,
        "body-length": 0.072,
        "meaning": 0.427,
    },
)


def row(given: dict[str, float], names: tuple[str, ...]) -> np.ndarray:
    """The weights in the order of the features."""
    return np.array([given.get(name, 0.0) for name in names], dtype=np.float32)
