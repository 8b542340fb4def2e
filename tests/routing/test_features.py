"""The features by which skills are compared, worked out by hand for small libraries."""

from __future__ import annotations

from array import array
from math import isfinite
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.shelf import router
from whet.routing import features
from whet.routing.features import ask, corrected
from whet.routing.index import Postings
from whet.routing.scoring import FITTED
from whet.routing.texts import Texts
from whet.skill.terms import number

if TYPE_CHECKING:
    from whet.routing.router import Router

THREE = (
    Texts("cherry-pick", "Backport a fix to a release branch", "git cherry pick the commit"),
    Texts("rebase", "Rewrite a branch", "git rebase the commit"),
    Texts("bake-bread", "Bake sourdough bread", "flour, water, salt"),
)


def held(*slots: int) -> Postings:
    return Postings(array("I", slots), b"\xff" * len(slots), described=True)


def value(known: Router, message: str, key: str, name: str) -> float:
    given = known.candidates(message)
    at = given.keys.index(key)
    return given.values[at][features.FEATURES.index(name)]


@pytest.fixture(scope="module")
def known() -> Router:
    return router(THREE)


def test_only_skills_that_share_a_term_are_in_question(known: Router) -> None:
    assert {*known.candidates("backport to the branch").keys} == {"cherry-pick", "rebase"}
    assert known.candidates("nothing of this").rows == ()


def test_the_table_has_a_row_for_each_skill_and_a_column_for_each_feature(known: Router) -> None:
    given = known.candidates("backport the fix, commit it to a branch")
    assert len(given.values) == len(given.rows) == len(given.table.found)
    assert all(len(row) == len(features.FEATURES) and all(map(isfinite, row)) for row in given.values)
    assert all(0 <= place < len(given.asked.terms) for has in given.table.found for place in has)
    assert all(0 < weight < 256 for has in given.table.found for weight in has.values())
    assert all(has.keys() >= up_front for has, up_front in zip(given.table.found, given.table.described, strict=True))


def test_shares_of_the_message(known: Router) -> None:
    message = "backport the commit to a branch"
    assert value(known, message, "cherry-pick", "apart") == 1
    assert 0 < value(known, message, "rebase", "apart") < 2 / 3  # it lacks what tells the two apart
    assert 0 < value(known, message, "rebase", "opening") < value(known, message, "cherry-pick", "opening") < 1


def test_names_that_a_message_has_in_part_or_wholly(known: Router) -> None:
    assert value(known, "cherry on the branch", "cherry-pick", "named") == 1 / 3
    assert value(known, "cherry pick it", "cherry-pick", "named") == 2 / 3


def test_words_side_by_side(known: Router) -> None:
    assert value(known, "git cherry", "cherry-pick", "pairs") == 1
    assert value(known, "cherry git", "cherry-pick", "pairs") == 0
    assert value(known, "cherry", "cherry-pick", "pairs") == 0
    assert value(known, "fix git", "cherry-pick", "pairs") == 0  # one up front, one in the body


def test_rare_terms_tell_more_and_those_of_the_dead_nothing() -> None:
    asked = ask("common rare gone")
    postings = {
        number("common"): [held(0, 1), held(2, 3)],
        number("rare"): [held(2)],
        number("gone"): [held(4)],
    }
    alive = bytearray([1, 1, 1, 1, 0])
    rarity = features.rarities(postings, asked, alive)
    assert rarity[1] > rarity[0] > rarity[2] == 0
    totals = features.scores(postings, asked, rarity, alive)
    assert totals == pytest.approx([rarity[0], rarity[0], rarity[0] + rarity[1], rarity[0], 0])
    table = features.table(postings, asked, rarity, [2, 0])
    assert (table.slots, features.best(totals, 1)) == ([2, 0], [2])
    assert (table.found, table.described) == ([{0: 255, 1: 255}, {0: 255}], [{0, 1}, {0}])


@given(st.lists(st.integers(0, 400), unique=True), st.lists(st.integers(0, 400), unique=True, min_size=1))
def test_skills_are_found_among_many_postings_and_few(slots: list[int], wanted: list[int]) -> None:
    held, ascending = array("I", sorted(slots)), sorted(wanted)
    found = dict(features._among(held, ascending, {*wanted}))
    assert found == {slot: held.index(slot) for slot in {*slots} & {*wanted}}


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), max_size=40), st.integers(1, 9))
def test_the_best_are_those_with_the_highest_scores(totals: list[float], most: int) -> None:
    ranked = sorted((-total, slot) for slot, total in enumerate(totals) if total)
    assert features.best(totals, most) == [slot for _, slot in ranked[:most]]


def test_one_scale_for_every_feature() -> None:
    scaled = features.standard([[1.0, 5.0], [3.0, 5.0]])
    assert scaled == [[pytest.approx(-1, abs=1e-4), 0], [pytest.approx(1, abs=1e-4), 0]]
    assert features.standard([]) == []


def test_every_feature_has_a_weight() -> None:
    assert set(FITTED.words) == set(features.FEATURES)
    assert features.weigh([[3.0, 5.0], [1.0, 0.5]], ("a", "b"), {"a": 1.0, "b": 2.0}) == [13.0, 2.0]


def test_a_message_is_read_into_terms_and_pairs() -> None:
    asked = ask("Squash the commits. Then push, push the branch")
    assert asked.terms == ("squash", "commit", "then", "push", "branch")
    assert [*asked.gains] == [1.0, 1.0, 0.6, 1.0, 1.0]  # "then" may occur in any message
    assert asked.pairs == {(0, 1), (1, 2), (2, 3), (3, 3), (3, 4)}


def test_only_so_much_of_a_message_is_read() -> None:
    asked = ask(" ".join(f"term{at}" for at in range(5000)))
    assert (len(asked.text), len(asked.terms)) == (4096, 256)
    assert (ask("").terms, ask("").pairs) == ((), frozenset())


def test_a_mistyped_word_is_asked_as_another_and_counts_less() -> None:
    asked = corrected(ask("depoly it tonight"), {"depoly": "deploy"})
    assert asked.numbers == (number("deploy"), number("tonight"))
    assert asked.gains[0] < asked.gains[1] == 1
    assert (asked.terms, asked.guessed) == (("depoly", "tonight"), {"depoly": "deploy"})
