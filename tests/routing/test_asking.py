"""Messages that need no skill bring none up, whatever words they share with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.shelf import router
from whet.routing import asking
from whet.routing.asking import likelihood, score, signs, table
from whet.routing.texts import Texts

TIDY = Texts("tidy-code", "Format files, rename variables, add comments, remove unused imports.", "# Tidy\n\nFormat.")
SPACE = Texts("space-facts", "How old the universe is, and other facts about space and stars.", "# Space\n\nOld.")


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("ok", {"*", "ok", "^ok", "#1"}),
        ("What's next?", {"*", "what's", "^what's", "next", "?", "what's next", "next ?", "what'*", "#2"}),
        (
            "rename 3 variables",
            {"*", "^rename", "rename", "renam*", "0", "variables", "varia*"} | {"rename 3", "3 variables", "#3-4"},
        ),
        ("继续", {"*", "^继续", "继", "续", "继续", "#1"}),
        ("écris ça", {"*", "^écris", "écris", "ça", "écris ça", "#2"}),
        ("", {"*", "#1"}),
    ],
)
def test_what_a_message_consists_of(message: str, found: set[str]) -> None:
    assert signs(message) == found


@pytest.mark.parametrize(
    "message", ["ok go ahead", "format this file", "rename this variable", "how old is the universe?", "add a comment"]
)
def test_ordinary_messages_do_not_bring_a_skill_up_by_itself(message: str) -> None:
    assert router((TIDY, SPACE)).detect(message).decision != "must"


def test_a_skill_that_is_named_comes_up_all_the_same() -> None:
    found = router((TIDY, SPACE)).detect("use tidy-code to format the files")
    assert (found.decision, found.key) == ("must", "tidy-code")


def test_more_skills_want_more_evidence() -> None:
    chances = [likelihood("tidy the comments of this module", total) for total in (1, 16, 343, 5_000)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > chances[-1]


@given(st.text(max_size=600), st.integers(min_value=0, max_value=1_000_000))
def test_any_message_has_a_likelihood(message: str, total: int) -> None:
    assert 0 < likelihood(message, total) < 1
    assert score(message) == score(message.upper().lower()) or not message.isascii()


def test_the_table_has_a_weight_once_for_every_sign() -> None:
    rows = Path(asking.__file__).with_name("asking.txt").read_text(encoding="utf-8").splitlines()
    assert rows[0].startswith("// ")
    weights = [abs(float(row.partition("\t")[0])) for row in rows[1:]]
    assert weights == sorted(weights, reverse=True)
    assert len(table()) == len(rows) - 1


@pytest.mark.parametrize("message", ["ship it", "ok, ship it", "ship it now"])
def test_a_search_is_a_request_however_short_it_is(message: str) -> None:
    known = router((Texts("release", "Ship and publish a new version.", "# Release\n\nTag it."), TIDY, SPACE))
    best, detected = known.find(message)[0], known.detect(message)
    assert (best.key, best.score > 0.5) == ("release", True)
    assert (detected.decision, detected.nearest) == ("none", "release")
