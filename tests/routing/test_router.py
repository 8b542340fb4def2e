"""Finding and detecting: the right skill for a message, any message, and what a caller may ask for."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.labelled import ELSEWHERE, PLAIN
from routing.shelf import SHELF, entry, router
from whet.routing.router import Detected, Found, Router
from whet.routing.scoring import MAY, MUST
from whet.routing.texts import Texts


@pytest.fixture(scope="module")
def known() -> Router:
    return router()


# find


@pytest.mark.parametrize(("message", "key"), PLAIN)
def test_the_right_skill_is_first(known: Router, message: str, key: str) -> None:
    found = known.find(message)
    assert found[0].key == key and found[0].why
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    assert len({one.key for one in found}) == len(found) <= 10
    assert known.find(message) == found


def test_so_many_as_are_asked_for(known: Router) -> None:
    message = "write tests for the git commit"
    every = known.find(message, 100)
    assert [known.find(message, k) for k in (0, 1, 3)] == [(), every[:1], every[:3]]
    assert 3 < len(every) <= len(SHELF)


def test_only_what_is_allowed_and_the_rest_moves_up(known: Router) -> None:
    message = "squash the commits"
    every = {one.key for one in known.find(message, 100)}
    found = known.find(message, 100, allowed=every - {"git-rebase"})
    assert {one.key for one in found} == every - {"git-rebase"}
    assert known.find(message, allowed=()) == ()
    assert known.detect(message, allowed=()) == Detected("none", None, 0.0, ())


def test_those_who_are_not_allowed_take_nobodys_place() -> None:
    crowd = [Texts(f"secret-{at}", "Files the yearly tax return.", "Tax return.") for at in range(300)]
    known = router([*crowd, Texts("open", "Looks at a tax return and explains it.", "Tax.")])
    for most in (10, 150):
        found = known.find("file my yearly tax return", most, allowed={"open"})
        assert [one.key for one in found] == ["open"]


@pytest.mark.parametrize(
    "message",
    ["", " \n", "please help me with this", "what is it for", "\0", "🚀🎉", "\ud800\udfff", "!?", "\x1b[31m", "'" * 50],
)
def test_messages_that_say_nothing_call_for_nothing(known: Router, message: str) -> None:
    assert all(found.score < MAY for found in known.find(message))
    assert known.detect(message)[:2] == ("none", None)


def test_long_and_strange_messages(known: Router) -> None:
    assert known.find("squash my commits " * 60_000)[0].key == "git-rebase"
    assert known.find("squash my commits " + "x" * 1_000_000)[0].key == "git-rebase"
    assert known.find("squash\0my\ud800commits 🚀")[0].key == "git-rebase"
    assert known.find("部" * 100_000 + " squash") == known.find("部" * 100_000 + " squash")


_SHARED = router()


@settings(max_examples=80, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_any_message_has_an_answer(message: str) -> None:
    found = _SHARED.find(message)
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    assert found == _SHARED.find(message)


@pytest.mark.parametrize(
    ("message", "key", "told"),
    [
        ("cannary releases", "kubernetes-rollout", "'cannary' taken for 'canary'"),
        ("flatten the docuemnt", "pdf-forms", "'docuemnt' taken for 'document'"),
        ("subtitels for the video", "video-subtitles", "'subtitel' taken for"),
        ("postmrtem after the outage", "incident-report", "'postmrtem' taken for 'postmortem'"),
        ("terrafrom variables", "terraform-modules", "'terrafrom' taken for 'terraform'"),
    ],
)
def test_typing_errors_are_corrected_and_told(known: Router, message: str, key: str, told: str) -> None:
    found = known.find(message)[0]
    assert found.key == key
    assert any(phrase.startswith(told) for phrase in found.why)


def test_a_word_that_somebody_has_is_not_corrected_though_others_are_alike() -> None:
    known = router([Texts("a-form", "Fill a form", ""), Texts("a-farm", "Run a farm", "")])
    assert [found.key for found in known.find("farm")] == ["a-farm"]


def test_words_of_skills_that_are_gone_are_not_guessed() -> None:
    known = router([Texts("one", "deploi things", ""), Texts("two", "deploy services", "")])
    known.update([entry(Texts("two", "deploy services", ""))])
    assert [found.key for found in known.find("deplox")] == ["two"]
    assert [found.key for found in known.find("deploi")] == ["two"]


# detect


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("squash and reorder the commits of my branch with an interactive rebase", "git-rebase"),
        ("summarise the meeting transcript into minutes with decisions, owners and deadlines", "meeting-minutes"),
        ("use the git-bisect skill to find the commit", "git-bisect"),
        ("$api-design", "api-design"),
        ("make the slow queries of our report fast with an index", "sql-tuning"),
    ],
)
def test_what_must_be_brought_up(known: Router, message: str, key: str) -> None:
    found = known.detect(message)
    assert (found.decision, found.key) == ("must", key)
    assert found.confidence >= MUST and found.first == known.find(message, searched=False)[0]


def test_what_may_be_offered(known: Router) -> None:
    offered = [(found, key) for message, key in PLAIN if (found := known.detect(message)).decision == "may"]
    assert len(offered) > 5
    assert all(found.key == key and MAY <= found.confidence < MUST for found, key in offered)


@pytest.mark.parametrize("size", [1, 3, 25])
def test_messages_about_something_else_call_for_nothing(size: int) -> None:
    known = router(SHELF[:size])
    assert {message: known.detect(message).decision for message in ELSEWHERE} == dict.fromkeys(ELSEWHERE, "none")
    assert all(not found.first and not found.others for found in map(known.detect, ELSEWHERE))


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("undo the commits that I already pushed", "git-rebase"),
        ("start my local docker-compose setup", "kubernetes-rollout"),
        ("a question about query performance", "database-migration"),
        ("写会议纪要", "weekly-report-zh"),
    ],
)
def test_what_it_says_it_is_not_for_does_not_fire_it(known: Router, message: str, key: str) -> None:
    found = known.detect(message)
    assert key not in (found.key, *(other.key for other in found.others))
    assert known.confidence(message, key) < MAY


@pytest.mark.parametrize(
    "message",
    [
        "find the bug, but don't use git-bisect",
        "find the commit with the bug without git-bisect",
        "read the log instead of git-bisect",
        "not git-bisect",
    ],
)
def test_a_skill_that_is_turned_down_does_not_fire(known: Router, message: str) -> None:
    found = known.detect(message)
    assert "git-bisect" not in (found.key, *(other.key for other in found.others))
    assert known.confidence(message, "git-bisect") < 0.1


def test_naming_a_skill_brings_it_up(known: Router) -> None:
    for texts in SHELF:
        if not texts.name.endswith("zh"):
            assert known.detect(f"use the {texts.name} skill").key == texts.name
            assert known.confidence(f"/{texts.name}", texts.name) > MAY


def test_others_may_be_called_for_too() -> None:
    known = router((*SHELF, SHELF[0]._replace(name="history-tidying")))
    found = known.detect("squash and reorder the commits of my branch")
    assert found.first is not None and found.key == "git-rebase" and not found.others
    assert found.first.also == ("history-tidying",)  # it says the same
    apart = known.find("squash and reorder the commits of my branch")
    assert [other.key for other in apart[:2]] == ["git-rebase", "history-tidying"] and not apart[0].also


def test_a_decision_goes_by_the_score(known: Router) -> None:
    for message, _ in PLAIN:
        found, (first, *_) = known.detect(message), known.find(message, searched=False)
        expected = "must" if first.score >= MUST else "may" if first.score >= MAY else "none"
        assert (found.decision, found.confidence) == (expected, first.score)
        assert known.confidence(message, first.key) == pytest.approx(first.score, abs=0.0006)


def test_an_empty_library_has_nothing_for_anybody() -> None:
    known = Router(":memory:")
    for message in ("squash my commits", "", "/git-rebase"):
        assert known.find(message) == ()
        assert known.detect(message) == Detected("none", None, 0.0, ())
        assert known.confidence(message, "git-rebase") == 0
    known.close()


def test_where_none_is_called_for_the_nearest_is_told(known: Router) -> None:
    found = known.detect("undo the commits that I already pushed")
    assert (found.decision, found.key) == ("none", None)
    assert found.nearest == known.find("undo the commits that I already pushed")[0].key
    assert known.detect("squash and reorder the commits of my branch").nearest is None


def test_confidence_in_what_is_not_there_is_nothing(known: Router) -> None:
    assert known.confidence("squash my commits", "no-such-skill") == 0
    assert known.confidence("squash my commits", "") == 0


# sharing


def told(found: tuple[Found, ...]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.key, one.why) for one in found]


def test_threads_share_a_router() -> None:
    known = router()
    messages = [message for message, _ in PLAIN[:8]]
    states = (SHELF[0], SHELF[0]._replace(description="Knit woollen socks", triggers=()))
    expected = []
    for state in (1, 0):
        known.update([entry(states[state], stamp="ab"[state]), *map(entry, SHELF[1:])])
        expected.append([told(known.find(message)) for message in messages])
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            for at, message in enumerate(messages):
                if (found := told(known.find(message))) not in (expected[0][at], expected[1][at]):
                    wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(20):
        known.update([entry(states[turn % 2], stamp="ab"[turn % 2]), *map(entry, SHELF[1:])])
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
