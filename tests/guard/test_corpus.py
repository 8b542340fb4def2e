"""The corpus: every danger is found, and every twin is left alone."""

from __future__ import annotations

import pytest
from tiers import thinned

from guard.corpus import Pair, pairs
from whet.guard.finding import LABELS
from whet.guard.rules import every
from whet.guard.scan import scan

LARGE = 1_000_000


def is_large(pair: Pair) -> bool:
    """Such a pair takes long, and is one of many that carry the same danger."""
    return sum(len(item.data) for tree in (pair.bad, pair.good) for item in tree.values()) > LARGE


FOUND = [pair for pair in pairs() if not pair.missed]
ROWS = [
    *thinned((pair for pair in FOUND if not is_large(pair)), 3),
    *(pytest.param(pair, marks=pytest.mark.deep) for pair in FOUND if is_large(pair)),
]


def check(pair: Pair) -> None:
    """A danger is found, and its twin is safe."""
    bad, good = scan(pair.bad), scan(pair.good)
    assert LABELS.index(bad.verdict) >= LABELS.index(pair.expect), bad.findings
    assert set(pair.rules) <= {finding.rule for finding in bad.findings}
    alarming = [finding for finding in good.findings if finding.severity != "info"]
    assert (good.verdict, alarming) == ("safe", [])
    assert not set(pair.rules) & {finding.rule for finding in alarming}


@pytest.mark.parametrize("pair", ROWS, ids=lambda pair: f"{pair.pack}-{pair.id}")
def test_a_danger_is_found_and_its_twin_is_safe(pair: Pair) -> None:
    check(pair)


@pytest.mark.parametrize("pair", [pair for pair in pairs() if pair.missed], ids=lambda pair: f"{pair.pack}-{pair.id}")
def test_a_pair_that_is_missed_says_so_as_long_as_it_is(pair: Pair) -> None:
    """One that comes out as it should loses the word."""
    with pytest.raises(AssertionError):
        check(pair)


def test_there_are_enough_pairs_with_names_of_their_own() -> None:
    names = [f"{pair.pack}-{pair.id}" for pair in pairs()]
    assert len(names) == len(set(names)) >= 300


def test_every_rule_about_packages_has_a_pair() -> None:
    about_the_scan = {"scanner-error", "too-many-findings"}
    assert set(every()) - {rule for pair in pairs() for rule in pair.rules} == about_the_scan
