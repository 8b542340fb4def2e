"""How good it is on a small labelled set, beside plain BM25F over name and description."""

from __future__ import annotations

from routing.labelled import ELSEWHERE, HARDER, NEAR_MISSES, PLAIN
from routing.shelf import SHELF, baseline, router

ASKED = (*PLAIN, *HARDER)


def recall(found: list[str | None]) -> float:
    return sum(one == wanted for one, (_, wanted) in zip(found, ASKED, strict=True)) / len(ASKED)


def by_baseline() -> float:
    skills = {texts.name: texts for texts in SHELF}
    return recall([next(iter(baseline(message, skills)), None) for message, _ in ASKED])


def test_the_right_skill_is_first_and_more_often_than_plain_bm25f_has_it() -> None:
    known = router()
    ours = recall([known.find(message, 1)[0].key for message, _ in ASKED])
    assert ours >= 0.9
    assert ours >= by_baseline() + 0.15


def test_nearly_always_it_is_among_the_first_three() -> None:
    known = router()
    missed = [message for message, wanted in ASKED if wanted not in {one.key for one in known.find(message, 3)}]
    assert len(missed) <= 0.04 * len(ASKED)


def test_what_is_decided_is_right_and_nothing_must_be_brought_up_for_other_messages() -> None:
    known = router()
    decided = [(known.detect(message), wanted) for message, wanted in ASKED]
    must = [(made.key, wanted) for made, wanted in decided if made.decision == "must"]
    fired = [(made.key, wanted) for made, wanted in decided if made.decision != "none"]
    assert len(must) >= 0.1 * len(ASKED) and all(key == wanted for key, wanted in must)
    assert len(fired) >= 0.7 * len(ASKED) and sum(key == wanted for key, wanted in fired) >= 0.95 * len(fired)
    assert not [message for message in NEAR_MISSES if known.detect(message).decision == "must"]
    assert not [message for message in ELSEWHERE if known.detect(message).decision != "none"]


def test_plain_bm25f_is_a_fair_baseline() -> None:
    assert 0.6 <= by_baseline() < 1
