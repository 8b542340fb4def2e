"""The features by which skills are compared, worked out by hand for small libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from routing.shelf import SHELF, router
from whet.routing import features
from whet.routing.features import ask, corrected
from whet.routing.index import Postings
from whet.routing.texts import Texts
from whet.routing.weights import FITTED, row
from whet.skill.terms import number

if TYPE_CHECKING:
    from whet.routing.router import Router

THREE = (
    Texts("cherry-pick", "Backport a fix to a release branch", "git cherry pick the commit"),
    Texts("rebase", "Rewrite a branch", "git rebase the commit"),
    Texts("bake-bread", "Bake sourdough bread", "flour, water, salt"),
)


def value(known: Router, message: str, key: str, name: str) -> float:
    given = known.candidates(message)
    (at,) = (at for at, row in enumerate(given.rows) if row.key == key)
    return float(given.values[at, given.names.index(name)])


@pytest.fixture(scope="module")
def known() -> Router:
    return router(THREE, semantic=False)


def test_only_skills_that_share_a_term_are_in_question(known: Router) -> None:
    assert {row.key for row in known.candidates("backport to the branch").rows} == {"cherry-pick", "rebase"}
    assert known.candidates("nothing of this").rows == ()


def test_the_table_has_a_row_for_each_skill_and_a_column_for_each_feature(known: Router) -> None:
    given = known.candidates("backport the fix, commit it to a branch")
    assert given.values.shape == (len(given.rows), len(features.LATER)) and given.names == features.LATER
    assert np.isfinite(given.values).all()
    assert given.table.found.shape == (4, len(given.asked.terms), len(given.rows))
    assert given.table.found.min() >= 0 and given.table.found.max() <= 1


def test_shares_of_the_message(known: Router) -> None:
    message = "backport the commit to a branch"
    assert value(known, message, "cherry-pick", "share") == 1
    assert value(known, message, "rebase", "share") == pytest.approx(2 / 3)
    assert value(known, message, "cherry-pick", "missing") == 0
    assert value(known, message, "rebase", "missing") > 0
    assert value(known, message, "rebase", "rarest") < value(known, message, "cherry-pick", "rarest") == 1


def test_names_that_a_message_has_in_part_or_wholly(known: Router) -> None:
    assert value(known, "cherry on the branch", "cherry-pick", "named") == 0.5
    assert value(known, "cherry pick it", "cherry-pick", "named") == 1
    assert value(known, "cherry pick it", "cherry-pick", "fully-named") == 1
    assert value(known, "cherry on the branch", "cherry-pick", "fully-named") == 0


def test_words_side_by_side(known: Router) -> None:
    assert value(known, "release branch", "cherry-pick", "described-pairs") == 1
    assert value(known, "branch release", "cherry-pick", "described-pairs") == 0
    assert value(known, "git cherry", "cherry-pick", "pairs") == 1
    assert value(known, "cherry", "cherry-pick", "pairs") == 0
    assert value(known, "fix git", "cherry-pick", "described-pairs") == 0  # one up front, one in the body


def test_rare_terms_tell_more_and_those_of_the_dead_nothing() -> None:
    asked = ask("common rare gone")
    postings = {
        number("common"): Postings(np.arange(4, dtype=np.uint32), np.full((4, 4), 255, dtype=np.uint8)),
        number("rare"): Postings(np.array([2], dtype=np.uint32), np.full((4, 1), 255, dtype=np.uint8)),
        number("gone"): Postings(np.array([4], dtype=np.uint32), np.full((4, 1), 255, dtype=np.uint8)),
    }
    alive = np.array([True, True, True, True, False])
    rarity = features.rarities(postings, asked, alive)
    assert rarity[1] > rarity[0] > rarity[2] == 0
    totals = features.scores(postings, asked, rarity, alive)
    assert totals.tolist() == pytest.approx([rarity[0], rarity[0], rarity[0] + rarity[1], rarity[0], 0])
    table = features.table(postings, asked, rarity, totals, np.array([0, 2]))
    assert table.slots.tolist() == [2, 0]
    assert table.found[0].tolist() == [[1, 1], [1, 0], [0, 0]]


def test_one_scale_for_every_feature() -> None:
    scaled = features.standard(np.array([[1.0, 5.0], [3.0, 5.0]]))
    assert scaled.tolist() == [[pytest.approx(-1, abs=1e-4), 0], [pytest.approx(1, abs=1e-4), 0]]
    assert features.standard(np.zeros((0, 3))).shape == (0, 3)


def test_every_feature_has_a_weight() -> None:
    assert set(FITTED.words) == set(features.LATER) and set(FITTED.meaning) == set(features.WITH_MEANING)
    assert set(FITTED.first) <= set(features.FIRST)
    assert row({"b": 2.0}, ("a", "b")).tolist() == [0, 2]


def test_a_message_is_read_into_terms_sentences_and_pairs() -> None:
    asked = ask("Squash the commits. Then push, push the branch")
    assert asked.terms == ("squash", "commit", "then", "push", "branch")
    assert asked.gains.tolist() == pytest.approx([1, 1, 1, 2**0.5, 1])
    assert [view.tolist() for view in asked.views] == [[0, 1], [2, 3, 4]]
    assert asked.pairs.tolist() == [[0, 1], [1, 2], [2, 3], [3, 3], [3, 4]]


def test_only_so_much_of_a_message_is_read() -> None:
    asked = ask(" ".join(f"term{at}" for at in range(5000)))
    assert (len(asked.text), len(asked.terms)) == (4096, 256)
    assert len(ask("One sentence here. " * 50).views) == 8
    assert ask("").terms == () and ask("").pairs.shape == (0, 2)


def test_a_mistyped_word_is_asked_as_another_and_counts_less() -> None:
    asked = corrected(ask("depoly it now"), {"depoly": "deploy"})
    assert asked.numbers.tolist() == [number("deploy"), number("now")]
    assert asked.gains[0] < asked.gains[1] == 1
    assert (asked.terms, asked.guessed) == (("depoly", "now"), {"depoly": "deploy"})


def test_meaning_is_one_more_feature() -> None:
    given = router(SHELF).candidates("squash commits")
    assert given.names == features.WITH_MEANING and given.values.shape[1] == len(features.WITH_MEANING)
    near = given.values[:, -1]
    assert ((near >= -1) & (near <= 1)).all()
    assert given.rows[int(near.argmax())].key == "git-rebase"
