"""How much each feature counts. Fitted on labelled messages by benchmarks/routing_fitting.py, which prints this table.

A weight of ranking is per standard deviation of the feature across the skills in question. Those of `sure` are of a
logistic curve, in the units of `whet.routing.scoring.EVIDENCE`; benchmarks/routing_sureness.py fits them.
"""

from __future__ import annotations

from whet.records import NamedTuple


class Weights(NamedTuple):
    """The weights of each step of ranking, by feature."""

    first: dict[str, float]
    """Choosing whom to look at more closely; set by hand."""
    words: dict[str, float]
    """Ranking those that are."""
    sure: dict[str, float]
    """Telling how likely a skill is right at all."""


FITTED = Weights(
    first={"bm25f": 0.4, "sentences": 0.2, "share": 0.3, "described-apart": 0.3, "description": 0.2, "rarest": 0.2},
    words={
        "bm25f": -0.017,
        "sentences": 0.298,
        "share": 0.183,
        "rarest": 0.137,
        "apart": 0.294,
        "described-apart": 0.209,
        "description": 0.126,
        "opening": 0.416,
        "body": 0.233,
        "named": 0.346,
        "fully-named": 0.138,
        "described-pairs": 0.034,
        "pairs": 0.346,
        "quoted": 0.257,
        "description-length": 0.351,
        "body-length": 0.011,
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
