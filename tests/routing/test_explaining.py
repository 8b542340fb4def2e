"""Why a skill came up, in phrases that can be checked against the message and the skill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.labelled import PLAIN
from routing.shelf import router, with_more

if TYPE_CHECKING:
    from whet.routing.router import Router


@pytest.fixture(scope="module")
def known() -> Router:
    return router()


def why(known: Router, message: str, key: str) -> tuple[str, ...]:
    return next(found.why for found in known.find(message, 50) if found.key == key)


@pytest.mark.parametrize(
    ("message", "key", "expected"),
    [
        (
            "squash my commits",
            "git-rebase",
            ("matched trigger 'squash my commits'", "described by 'squash', 'commits'"),
        ),
        ("Please, tidy this TABLE.", "spreadsheet-cleaning", ("matched trigger 'tidy this table'",)),
        ("kubectl on the cluster", "kubernetes-rollout", ("described by 'cluster'", "its text has 'kubectl'")),
        ("use git-bisect", "git-bisect", ("the message names git-bisect", "described by 'git', 'bisect'")),
        ("idnex the joins", "sql-tuning", ("described by 'joins', 'idnex'", "'idnex' taken for 'index'")),
        (
            "undo the commits that I already pushed",
            "git-rebase",
            ("described by 'commits'", "but it says it is not for 'undo', 'already', 'pushed'"),
        ),
        (
            "find the bug without git-bisect",
            "git-bisect",
            ("described by 'git', 'bisect', 'find', 'bug'", "but the message rules out git-bisect"),
        ),
        ("写周报，下周计划", "weekly-report-zh", ("described by '下周', '周计', '计划', '写周', '周报'",)),
    ],
)
def test_phrases(known: Router, message: str, key: str, expected: tuple[str, ...]) -> None:
    told = why(known, message, key)
    assert {tuple(sorted(phrase.split("'"))) for phrase in expected} <= {tuple(sorted(one.split("'"))) for one in told}
    assert told[0].split(" ")[0] == expected[0].split(" ")[0]


def test_known_messages_are_told_of() -> None:
    right = router(with_more("git-rebase", examples=("make my branch pretty",)))
    wrong = router(with_more("git-rebase", counterexamples=("make my branch pretty",)))
    assert why(right, "make my branch pretty", "git-rebase")[0] == "similar to a message it was right for"
    assert why(wrong, "make my branch pretty", "git-rebase")[-1] == "but similar to a message it was wrong for"


def test_no_more_than_five_words_of_a_kind(known: Router) -> None:
    told = why(known, "interactive rebase squash reorder commits resolve conflicts history branch", "git-rebase")
    assert [phrase.count("'") // 2 for phrase in told if phrase.startswith("described by")] == [5]


def test_words_are_quoted_as_they_were_said_without_what_stands_around_them(known: Router) -> None:
    assert "described by 'Squash'" in why(known, '("Squash!")', "git-rebase")
    assert "described by 'squash'" in why(known, "x\x1b[31m squash\0y", "git-rebase")


@pytest.mark.parametrize(("message", "key"), PLAIN)
def test_every_right_answer_has_a_reason_and_the_words_are_the_messages_own(
    known: Router, message: str, key: str
) -> None:
    told = why(known, message, key)
    assert told
    for phrase in told:
        if phrase.startswith(("described by ", "its text has ")):
            assert all(word in message for word in phrase.split("'")[1::2])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["squash", "'", "not", "pdf-forms", "\0", "周报", "\n", "!", "\ud800", "COMMITS"])))
def test_any_message_can_be_explained(parts: list[str]) -> None:
    for found in _SHARED.find(" ".join(parts), 3):
        assert all(phrase and "\n" not in phrase and "\0" not in phrase for phrase in found.why)


_SHARED = router()
