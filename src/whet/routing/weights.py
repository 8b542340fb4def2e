"""How much each feature counts. Fitted on labelled messages by benchmarks/routing_fitting.py, which prints this table.

A weight of ranking is per standard deviation of the feature across the skills in question. Those of `sure` are of a
logistic curve, in the units of `whet.routing.scoring.EVIDENCE`; benchmarks/routing_sureness.py fits them.
"""

from __future__ import annotations

from whet.records import NamedTuple


class Weights(NamedTuple):
    """The weights of each step of ranking, by feature."""

    words: dict[str, float]
    """Ranking."""
    sure: dict[str, float]
    """Telling how likely a skill is right at all."""


FITTED = Weights(
    words={
        "sentences": 0.282,
        "apart": 0.326,
        "described-apart": 0.229,
        "opening": 0.448,
        "body": 0.287,
        "named": 0.387,
        "pairs": 0.271,
        "quoted": 0.189,
        "description-length": 0.449,
    },
    sure={
        "start": -4.52,
        "share": 4.68,
        "described": 1.77,
        "length": 0.6,
        "lead": 0.39,
        "excluded": -21.36,
        "named": 0.55,
    },
)
