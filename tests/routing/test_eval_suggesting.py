"""Words that would help, and the proof that they do."""

from __future__ import annotations

from routing.counting import Counting
from whet.routing.evals.formats import Case
from whet.routing.evals.judge import judged
from whet.routing.evals.suggestions import Suggestion, suggest

TEXTS = {"p": "fill pdf forms", "d": "write docx letters", "x": "excel sheets"}


def cases(skill: str, fits: tuple[str, ...], away: tuple[str, ...] = ()) -> list[Case]:
    return [Case(message, skill, message in fits, "") for message in (*fits, *away)]


MISSED = cases(
    "p",
    ("sign the lease agreement", "please sign a lease agreement for me", "can you sign this contract"),
    ("sign up for the newsletter",),
)


def test_words_of_the_missed_messages() -> None:
    results = judged(MISSED, Counting(TEXTS))
    assert suggest(results, TEXTS) == (Suggestion("p", "use", "lease agreement", 2),)


def test_words_of_other_skills_and_of_its_own_text_are_no_help() -> None:
    shared = {f"other{number}": "lease agreement" for number in range(3)}
    results = judged(MISSED, Counting(TEXTS))
    assert suggest(results, {**TEXTS, **shared}) == ()
    assert suggest(results, {**TEXTS, "p": "the lease agreement"}) == ()


def test_words_that_everybody_uses_are_no_help() -> None:
    others = [case for skill in "dxyz" for case in cases(skill, (f"lease agreement for {skill}",))]
    assert suggest(judged([*MISSED, *others], Counting({**TEXTS, "y": "", "z": ""})), TEXTS) == ()


def test_words_to_stay_away_from() -> None:
    false = cases("p", ("fill pdf forms",), ("print pdf tickets", "lost my pdf tickets", "pdf tickets for two"))
    results = judged(false, Counting(TEXTS))
    assert suggest(results, TEXTS) == (Suggestion("p", "avoid", "pdf tickets", 3),)


def test_only_what_improves_is_kept() -> None:
    judge = Counting(TEXTS)
    results = judged(MISSED, judge)
    kept = suggest(results, TEXTS, try_phrase=judge.with_phrase)
    assert kept == (Suggestion("p", "use", "lease agreement", 2, 2.0),)
    assert suggest(results, TEXTS, try_phrase=lambda *_: judge) == ()


def test_what_hurts_a_sibling_is_dropped() -> None:
    judge = Counting({**TEXTS, "d": "lease draft"})
    sibling = cases("d", ("lease agreement draft forms",))
    results = judged([*MISSED, *sibling], judge)
    assert [item.phrase for item in suggest(results, TEXTS)] == ["lease agreement"]
    assert suggest(results, TEXTS, try_phrase=judge.with_phrase) == ()


def test_what_hurts_the_messages_beside_is_dropped() -> None:
    judge = Counting(TEXTS)
    results, beside = judged(MISSED, judge), judged(cases("p", (), ("read the lease agreement",)), judge)
    assert suggest(results, TEXTS, try_phrase=judge.with_phrase, beside=beside) == ()


def test_a_phrase_to_avoid_is_tried_too() -> None:
    judge = Counting(TEXTS)
    false = cases("p", ("fill pdf forms",), ("print pdf tickets", "lost my pdf tickets", "tickets as pdf"))
    kept = suggest(judged(false, judge), TEXTS, try_phrase=judge.with_phrase)
    assert kept == (Suggestion("p", "avoid", "tickets", 3, 1.5),)


def test_scripts_without_spaces() -> None:
    missed = cases("p", ("请签署租赁合同", "帮我看租赁合同", "租赁合同到期了"))
    (found,) = suggest(judged(missed, Counting(TEXTS)), TEXTS)
    assert found == Suggestion("p", "use", "租赁合同", 3)


def test_where_words_are_not_written_apart_whole_pieces_are_suggested() -> None:
    missed = cases("p", ("帮我整理会议记录吧", "今天的会议记录整理一下", "会议记录要整理"))
    found = suggest(judged(missed, Counting(TEXTS)), TEXTS)
    assert found == (Suggestion("p", "use", "会议记录", 3), Suggestion("p", "use", "整理", 3))
    alone = cases("p", ("请签署租赁合同，谢谢",))
    assert [item.phrase for item in suggest(judged(alone, Counting(TEXTS)), TEXTS)] == ["请签署租赁合同", "谢谢"]
    apart = cases("p", ("签署租赁合同", "写一首诗"))
    assert suggest(judged(apart, Counting(TEXTS)), TEXTS) == ()


def test_pieces_that_a_text_has_already_are_no_help() -> None:
    missed = cases("p", ("请签署租赁合同书", "租赁合同书到期了"), ("租赁合同书的历史",))
    judge = Counting(TEXTS)
    assert suggest(judged(missed, judge), TEXTS) == ()
    fits = missed[:2]
    assert suggest(judged(fits, judge), TEXTS) == (Suggestion("p", "use", "租赁合同书", 2),)
    assert suggest(judged(fits, judge), {**TEXTS, "p": "处理租赁合同书"}) == ()


def test_the_document() -> None:
    plain = Suggestion("p", "use", "lease", 2)
    assert plain.to_json() == {
        "skill": "p",
        "kind": "use",
        "phrase": "lease",
        "messages": 2,
        "gain": None,
        "verified": False,
    }
    assert plain._replace(gain=1.0).to_json()["verified"] is True
