"""Names in messages, and what moves order and confidence: what is said outright, and what was said before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.shelf import SHELF, router, with_more
from whet.routing.scoring import FITTED, MAY, MUST, Judgement, Names, judge
from whet.routing.texts import Texts

if TYPE_CHECKING:
    from whet.routing.router import Router
    from whet.routing.scoring import Candidates


@pytest.mark.parametrize(
    ("message", "name", "expected"),
    [
        ("use git-rebase", "git-rebase", "named"),
        ("do a git rebase", "git-rebase", "named"),
        ("Git_Rebase now", "git-rebase", "named"),
        ("GIT-REBASE", "git-rebase", "named"),
        ("/git-rebase main", "git-rebase", "named"),
        ("rebase with git", "git-rebase", ""),
        ("mygit-rebased", "git-rebase", ""),
        ("git-rebase-all", "git-rebase", "named"),
        ("not git-rebase", "git-rebase", "declined"),
        ("don't use git-rebase", "git-rebase", "declined"),
        ("don’t use the git-rebase skill", "git-rebase", "declined"),
        ("do not use git-rebase", "git-rebase", "declined"),
        ("merge instead of git rebase", "git-rebase", "declined"),
        ("merge rather than the git-rebase", "git-rebase", "declined"),
        ("anything other than git-rebase", "git-rebase", "declined"),
        ("everything except git-rebase", "git-rebase", "declined"),
        ("without using git-rebase", "git-rebase", "declined"),
        ("never use git-rebase", "git-rebase", "declined"),
        ("git-rebase is fine, but not git-rebase today", "git-rebase", "declined"),
        ("why not? git-rebase", "git-bisect", ""),
        ("deploy the service", "deploy", ""),
        ("$deploy the service", "deploy", "named"),
        ("/deploy", "deploy", "named"),
        ("run `deploy`", "deploy", "named"),
        ("the deploy skill", "deploy", "named"),
        ('the "deploy" skill', "deploy", "named"),
        ("not the deploy skill", "deploy", "declined"),
        ("周报 技能", "周报", ""),
        ("/周报", "周报", "named"),
        ("", "git-rebase", ""),
        ("anything", "", ""),
        ("anything", "--", ""),
    ],
)
def test_how_a_message_takes_a_name(message: str, name: str, expected: str) -> None:
    assert Names(message).naming(name) == expected


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80), st.text(max_size=20))
def test_any_message_and_any_name(message: str, name: str) -> None:
    assert Names(message).naming(name) in ("", "named", "declined")
    assert Names(message).naming(name) == Names(message.upper().lower()).naming(name.upper().lower()) or not (
        message.isascii() and name.isascii()
    )


@pytest.mark.parametrize("piece", ["x", "部", "a ", "$a", "not the ", "git-rebase "])
def test_long_messages_are_read_in_one_go(piece: str) -> None:
    assert Names(piece * 200_000).naming("git-bisect") == ""


def judged(known: Router, message: str) -> tuple[Candidates, Judgement]:
    given = known.candidates(message)
    return given, judge(given, FITTED)


def at(given: Candidates, key: str) -> int:
    return given.keys.index(key)


@pytest.fixture(scope="module")
def known() -> Router:
    return router()


def test_nothing_in_question_is_judged_as_nothing(known: Router) -> None:
    _, found = judged(known, "")
    assert (found.order(), len(found.sure), found.naming) == ([], 0, ())


def test_a_named_skill_goes_up_and_one_turned_down_goes_down(known: Router) -> None:
    message = "find the commit with the bug"
    sure = [known.confidence(f"{message}{more}", "git-bisect") for more in (", use git-bisect", "", ", not git-bisect")]
    assert sure[0] > sure[2] and sure[1] > sure[2] and sure[2] < MAY <= MUST < sure[0]
    given, found = judged(known, f"{message}, not git-bisect")
    assert given.keys[found.order()[0]] != "git-bisect"
    assert found.naming[at(given, "git-bisect")] == "declined"


def test_one_word_of_name_and_description_brings_no_skill_up_by_itself() -> None:
    body = "Press the key, then sort the list and copy the old file."
    keys = Texts("keyboards", "Choose a keyboard and its keys.", body)
    known = router((*SHELF, keys))
    assert known.detect("sort these keys and copy the list").decision == "may"
    assert known.detect("choose the keys of a keyboard").decision == "must"


def test_a_question_that_has_the_trigger_of_a_skill_is_offered_it() -> None:
    said = 'Find the cause of a failure. Use when the user says "this test fails".'
    texts = [Texts("failures", description, "Repeat it.") for description in (said, said.replace('"', ""))]
    asked = "why does this test fail only on Mondays?"
    quoted, plain = (router((*SHELF, one)).confidence(asked, "failures") for one in texts)
    assert plain < quoted < MUST


def test_how_much_of_a_message_it_says_it_is_not_for(known: Router) -> None:
    given, found = judged(known, "undo the commits that I already pushed")
    assert found.excluded[at(given, "git-rebase")] > 0
    given, found = judged(known, "squash the commits")
    assert not any(found.excluded)


def test_sure_is_between_nothing_and_one_and_goes_with_its_evidence(known: Router) -> None:
    for message in ("squash", "squash commits", "squash the commits of my branch", "x " * 100 + "squash"):
        _, found = judged(known, message)
        assert all(0 <= sure <= 1 for sure in found.sure)
    few, many = (known.confidence(message, "git-rebase") for message in ("squash everything tonight", "squash commits"))
    assert few < many


TAUGHT = "make my branch pretty before the review"


def test_a_message_it_was_right_for_brings_it_up_again() -> None:
    before, after = router(), router(with_more("git-rebase", examples=(TAUGHT,)))
    assert after.find(TAUGHT)[0].key == "git-rebase" and after.detect(TAUGHT).decision == "must"
    similar = "make the branch pretty before a review"
    for message in (TAUGHT, similar):
        assert after.confidence(message, "git-rebase") > before.confidence(message, "git-rebase")
    assert after.find(similar)[0].key == "git-rebase"
    for message in ("fill in this pdf form", "convert png pictures to webp", "what is the capital of Portugal"):
        assert [found.key for found in after.find(message)][:1] == [found.key for found in before.find(message)][:1]
        assert after.confidence(message, "git-rebase") == pytest.approx(
            before.confidence(message, "git-rebase"), abs=0.05
        )


def test_a_message_it_was_wrong_for_does_not_bring_it_up_again() -> None:
    wrong = "summarise the decisions of the retrospective"
    before = router()
    after = router(with_more("meeting-minutes", counterexamples=(wrong,)))
    assert before.find(wrong)[0].key == "meeting-minutes"
    assert after.detect(wrong).key != "meeting-minutes"
    for message in (wrong, "summarise decisions of a retrospective"):
        assert after.confidence(message, "meeting-minutes") < 0.1 < before.confidence(message, "meeting-minutes")
    unrelated = "summarise the transcript into minutes"
    assert after.confidence(unrelated, "meeting-minutes") == before.confidence(unrelated, "meeting-minutes")


def test_the_more_alike_of_two_known_messages_counts() -> None:
    both = with_more("git-rebase", examples=("tidy the branch today",), counterexamples=("tidy the branch tomorrow",))
    known = router(both)
    assert known.confidence("tidy the branch today", "git-rebase") > 0.9
    assert known.confidence("tidy the branch tomorrow", "git-rebase") < 0.1


def test_a_skill_that_is_turned_down_does_not_stand_in_the_way_of_another() -> None:
    log = Texts("log-reading", "Read the git log and find who changed a line.", "git log, git blame, pickaxe")
    message = "read the log to find the commit with the bug instead of git-bisect"
    known = router((*SHELF, log))
    found = known.detect(message)
    assert (found.key, found.confidence) == ("log-reading", round(known.confidence(message, "log-reading"), 3))
