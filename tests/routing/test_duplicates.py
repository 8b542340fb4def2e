"""Near-duplicates: one job written down twice is found, with evidence, at a cost that does not grow with the square."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.duplicate_pairs import FAMILIES, area, labelled
from whet.routing import similarity
from whet.routing.duplicates import Pair, alike, likely, near_duplicates, spread
from whet.routing.similarity import BODY, Similarity
from whet.routing.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Sequence

KEYFRAMES = Texts(
    "ffmpeg-keyframes",
    "Extract keyframes from a video with FFmpeg.",
    "# Keyframes\nRun `ffmpeg -skip_frame nokey -i video.mp4 -vsync vfr frame_%03d.png` and count the PNG files.\n"
    "Every keyframe becomes one image. Check with ffprobe that none is missing.",
)
FRAMES = Texts(
    "video-frame-extraction",
    "Use FFmpeg to extract the keyframes of a video as PNG images.",
    "# Keyframes\n`ffmpeg -skip_frame nokey -i video.mp4 -vsync vfr out_%04d.png` makes one PNG image of every "
    "keyframe.\nCount the files, and check with ffprobe that no keyframe of the video is missing.",
)
TAXES = Texts(
    "quarterly-taxes",
    "Prepare the quarterly tax return of a small company.",
    "# Steps\nCollect invoices and receipts, add up the turnover, enter the totals into the form, and keep the "
    "confirmation.",
)
LETTERS = Texts(
    "cover-letters",
    "Write a cover letter for a job application.",
    "# Steps\nRead the advertisement, choose three achievements that fit, and end with a question about the team.",
)
LIBRARY = {"ffmpeg-keyframes": KEYFRAMES, "video-frames": FRAMES, "quarterly-taxes": TAXES, "cover-letters": LETTERS}

WORDS = st.sampled_from(["deploy", "server", "test", "video", "frame", "tax", "form", "the", "a", "用户", "données"])
SAID = st.lists(WORDS, max_size=12).map(" ".join)
TEXTS = st.builds(Texts, st.lists(WORDS, min_size=1, max_size=2).map("-".join), SAID, SAID)
LIBRARIES = st.dictionaries(st.text("abc", min_size=1, max_size=3), TEXTS, max_size=12)


def names(pairs: Sequence[Pair]) -> list[tuple[str, str]]:
    return [(pair.one, pair.other) for pair in pairs]


# --- what is found --------------------------------------------------------------------------------------------------


def test_two_skills_for_the_same_step_are_found_with_the_words_that_tell() -> None:
    assert near_duplicates(LIBRARY) == (
        Pair("ffmpeg-keyframes", "video-frames", 0.83, ("keyframes", "video", "ffmpeg", "png", "frame", "extract")),
    )


def test_skills_for_one_job_score_above_all_others_whatever_they_are_called() -> None:
    skills = labelled()
    similarity = Similarity([skill.texts for skill in skills.values()])
    jobs = [skill.job for skill in skills.values()]
    pairs = list(combinations(range(len(jobs)), 2))
    assert area([(similarity.score(*pair), jobs[pair[0]] == jobs[pair[1]]) for pair in pairs]) >= 0.95
    found = near_duplicates({name: skill.texts for name, skill in skills.items()}, threshold=0.3)
    assert len(found) >= 10
    assert {(skills[pair.one].job == skills[pair.other].job) for pair in found} == {True}


@pytest.mark.parametrize("family", FAMILIES)
def test_siblings_from_one_template_are_not_duplicates(family: str) -> None:
    texts = {skill.name: skill for skill in FAMILIES[family]}
    assert near_duplicates(texts, threshold=0.4) == ()
    others = {name: skill.texts for name, skill in labelled().items()}
    assert [pair for pair in near_duplicates(others, threshold=0.3) if pair.one in texts or pair.other in texts] == []


def test_a_sibling_written_twice_is_found_among_its_siblings() -> None:
    texts = {skill.name: skill for skill in FAMILIES["depot"]}
    again = Texts(
        "depot-webhooks", "Add webhooks with depot: signing secret, HTTPS address.", texts["depot-webhook-create"].body
    )
    found = near_duplicates({**texts, "depot-webhooks": again})
    assert names(found) == [("depot-webhook-create", "depot-webhooks")]


def test_the_same_text_twice_is_as_alike_as_can_be() -> None:
    found = near_duplicates({**LIBRARY, "copy": TAXES})
    assert [(pair.one, pair.other, pair.score) for pair in found if pair.score == 1] == [("copy", "quarterly-taxes", 1)]


def test_a_copy_under_another_name_is_found() -> None:
    copy = TAXES._replace(name="bookkeeping-calendar")
    assert names(near_duplicates({**LIBRARY, "copy": copy})) == [
        ("ffmpeg-keyframes", "video-frames"),
        ("copy", "quarterly-taxes"),
    ]


def test_a_word_that_only_tells_editions_apart_tells_nothing() -> None:
    def score(one: str, other: str) -> float:
        texts = [KEYFRAMES._replace(name=f"ffmpeg-{one}"), FRAMES._replace(name=f"ffmpeg-{other}"), TAXES]
        return Similarity(texts).score(0, 1)

    assert score("v2", "old") > 1.5 * score("subtitles", "thumbnails")


def test_a_copy_under_the_name_of_a_sibling_is_found() -> None:
    texts = {"taxes": TAXES, "taxes-mine": TAXES._replace(name="quarterly-taxes-mine"), "x": LETTERS}
    assert names(near_duplicates(texts)) == [("taxes", "taxes-mine")]


def test_unrelated_skills_are_not_alike_even_alone_in_a_library() -> None:
    assert near_duplicates({"quarterly-taxes": TAXES, "cover-letters": LETTERS}) == ()


@pytest.mark.parametrize(
    "bodies", [{}, {"a": ""}, {"a": "", "b": ""}, {"a": "x y z", "b": "x y z"}, {"a": "—", "b": "!"}]
)
def test_where_nothing_is_said_nothing_is_alike(bodies: dict[str, str]) -> None:
    assert near_duplicates({name: Texts("", "", body) for name, body in bodies.items()}, threshold=0.1) == ()


def test_scripts_without_spaces_are_compared_too() -> None:
    texts = {
        "a": Texts("部署应用", "将应用部署到生产服务器并检查日志", ""),
        "b": Texts("应用部署", "把应用部署到生产服务器，然后检查日志", ""),
        "c": TAXES,
    }
    assert names(near_duplicates(texts)) == [("a", "b")]


def test_what_stands_behind_the_limit_does_not_count() -> None:
    texts = {"a": TAXES._replace(body=TAXES.body.ljust(BODY) + LETTERS.body), "b": TAXES, "c": LETTERS}
    assert [(pair.one, pair.other, pair.score) for pair in near_duplicates(texts)] == [("a", "b", 1.0)]


def test_the_most_alike_come_first_and_no_more_than_asked_for() -> None:
    texts = {**LIBRARY, "copy": KEYFRAMES, "copy-of-taxes": TAXES}
    found = near_duplicates(texts)
    assert names(found) == [
        ("copy", "ffmpeg-keyframes"),
        ("copy-of-taxes", "quarterly-taxes"),
        ("copy", "video-frames"),
        ("ffmpeg-keyframes", "video-frames"),
    ]
    assert near_duplicates(texts, most=2) == found[:2]
    assert near_duplicates(texts, threshold=1) == found[:2]


# --- what it costs --------------------------------------------------------------------------------------------------


def test_of_very_many_that_say_the_same_each_is_compared_with_a_few() -> None:
    body = "\n".join((*KEYFRAMES, *TAXES, *LETTERS)[2::9])
    texts = [Texts(f"skill-{number:03}", KEYFRAMES.description, f"{body}\nNumber {number}.") for number in range(300)]
    similarity = Similarity(texts)
    assert {at for pair in similarity.pairs for at in pair} == set(range(300))
    assert len(similarity.pairs) <= 16 * len(texts)


def test_what_is_remembered_for_pairs_is_bounded_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {name: skill.texts for name, skill in labelled().items()}
    found = near_duplicates(texts, threshold=0.1)
    monkeypatch.setattr(similarity, "_REMEMBERED", 1)
    assert near_duplicates(texts, threshold=0.1) == found


def test_the_answer_is_the_same_in_every_process() -> None:
    code = (
        "from whet.routing.duplicates import near_duplicates\nfrom whet.routing.texts import Texts\n"
        f"print(near_duplicates({LIBRARY!r}, threshold=0.01))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
            encoding="utf-8",
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert answers == {f"{near_duplicates(LIBRARY, threshold=0.01)}\n"}


# --- one new skill --------------------------------------------------------------------------------------------------

SHOP = {
    f"item-{number}": Texts(f"item-{number}", f"Sells article {number} in aisle {number}.", "") for number in range(9)
}


def test_a_new_skill_is_told_what_it_resembles_by_its_body() -> None:
    new = FRAMES._replace(name="stills", description="Pictures for later.")
    (found,) = alike(new, {"taxes": TAXES, "keys": KEYFRAMES}, [LETTERS, *SHOP.values()], among=12)
    assert (found.name, found.score >= 0.35, "ffmpeg" in found.shared) == ("keys", True, True)


def test_candidates_that_are_alike_do_not_make_their_subject_a_common_word() -> None:
    candidates = {f"key{number}": KEYFRAMES._replace(name=f"key-{number}") for number in range(6)}
    few = alike(FRAMES, candidates)
    many = alike(FRAMES, candidates, [TAXES, LETTERS, *SHOP.values()], among=1000)
    assert few[0].score < many[0].score


def test_only_the_most_alike_are_named() -> None:
    candidates = dict.fromkeys("abcde", TAXES)
    assert [item[:2] for item in alike(TAXES, candidates)] == [("a", 1.0), ("b", 1.0), ("c", 1.0)]
    assert alike(TAXES, candidates, most=1, threshold=1.0)[0][:2] == ("a", 1.0)
    assert alike(TAXES, {}) == ()


def test_candidates_are_chosen_by_what_their_cards_share_with_the_new_skill() -> None:
    cards = {name: f"{text.name} {text.description}" for name, text in {**LIBRARY, **SHOP}.items()}
    assert likely(FRAMES, cards, 2) == ("video-frames", "ffmpeg-keyframes")
    told = Texts("stills", "Pictures.", "Extract the keyframes of the video with FFmpeg.")
    assert set(likely(told, cards)) == {"ffmpeg-keyframes", "video-frames"}
    assert likely(Texts("zebra", "", ""), cards) == ()


def test_a_sample_is_spread_over_all_names() -> None:
    assert spread([f"n{number:02}" for number in range(12)], 4) == ("n00", "n03", "n06", "n09")
    assert spread({"b", "a"}, 4) == ("a", "b")


# --- whatever the texts ---------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(LIBRARIES, st.floats(0.05, 1.0), st.integers(0, 8))
def test_pairs_are_of_two_skills_each_named_once_whatever_their_order(
    texts: dict[str, Texts], threshold: float, most: int
) -> None:
    found = near_duplicates(texts, threshold, most)
    assert len(found) <= most
    assert all(pair.one < pair.other and {pair.one, pair.other} <= set(texts) for pair in found)
    assert len({pair[:2] for pair in found}) == len(found)
    assert all(threshold <= pair.score <= 1 for pair in found)
    assert [pair.score for pair in found] == sorted((pair.score for pair in found), reverse=True)
    assert near_duplicates(dict(reversed(texts.items())), threshold, most) == found


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=8))
def test_a_score_is_the_same_from_both_sides_and_a_bound_changes_none_that_reaches_it(texts: list[Texts]) -> None:
    similarity = Similarity(texts)
    for one, other in combinations(range(len(texts)), 2):
        score = similarity.score(one, other)
        assert 0 <= score <= 1
        assert similarity.score(other, one) == score
        assert similarity.score(one, other, 0.5) == score or (similarity.score(one, other, 0.5), score < 0.5) == (
            0,
            True,
        )


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, max_size=6), TEXTS.filter(lambda text: any(len(word) > 2 for word in text.name.split("-"))))
def test_the_same_text_scores_one_in_any_library(others: list[Texts], text: Texts) -> None:
    text = text._replace(body=f"{text.body} lighthouse")
    assert Similarity([*others, text, text]).score(len(others), len(others) + 1) == 1.0
    assert alike(text, {"same": text}, others)[0][:2] == ("same", 1.0)
