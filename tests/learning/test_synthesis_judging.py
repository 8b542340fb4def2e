"""Which sessions are worth a skill: the whole table of outlines."""

from __future__ import annotations

import pytest

from learning.outlines import HARD, NOT, TABLE, Outline
from whet.learning.evidence.session import evidence_of
from whet.learning.selection.worth import CODES, Report, judge


def verdict(outline: Outline) -> Report:
    return judge(evidence_of(outline.transcript), outline.transcript)


def test_it_fires_on_the_hard_ones_and_not_on_the_others() -> None:
    found = {outline.name: verdict(outline).code for outline in TABLE}
    assert found == {outline.name: outline.code for outline in TABLE}


def test_the_table_is_large_and_covers_every_rule() -> None:
    assert len(HARD) >= 20
    assert len(NOT) >= 20
    assert {outline.code for outline in TABLE} == CODES.keys()
    assert {outline.code for outline in HARD} == {"hard"}


@pytest.mark.parametrize("outline", TABLE, ids=lambda outline: outline.name)
def test_a_verdict_says_why_and_names_events_that_exist(outline: Outline) -> None:
    found = verdict(outline)
    assert found.captured == (outline.code == "hard")
    assert found.why[0] == CODES[outline.code]
    assert all(0 <= at < len(outline.transcript.events) for at in found.evidence)
    assert bool(found.evidence) or not found.captured
