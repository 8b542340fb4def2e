"""Near duplicates: the same said twice is found, with evidence, at a cost that does not grow with the square."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.learning import similar
from whet.learning.similar import TEXT, THRESHOLD, Pair, near_duplicates

if TYPE_CHECKING:
    from collections.abc import Sequence

KEYFRAMES = """ffmpeg-keyframes
Extract keyframes from a video with FFmpeg.
# Keyframes
Run `ffmpeg -skip_frame nokey -i video.mp4 -vsync vfr frame_%03d.png` and count the PNG files.
Every keyframe becomes one image. Check with ffprobe that none is missing."""
FRAMES = """video-frame-extraction
Use FFmpeg to extract the keyframes of a video as PNG images.
# Keyframes
`ffmpeg -skip_frame nokey -i video.mp4 -vsync vfr out_%04d.png` makes one PNG image of every keyframe.
Count the files, and check with ffprobe that no keyframe of the video is missing."""
TAXES = """quarterly-taxes
Prepare the quarterly tax return of a small company.
# Steps
Collect invoices and receipts, add up the turnover, enter the totals into the form, and keep the confirmation."""
LETTERS = """cover-letters
Write a cover letter for a job application.
# Steps
Read the advertisement, choose three achievements that fit, and end with a question about the team."""
LIBRARY = {"ffmpeg-keyframes": KEYFRAMES, "video-frames": FRAMES, "quarterly-taxes": TAXES, "cover-letters": LETTERS}

WORDS = st.sampled_from(["deploy", "server", "test", "video", "frame", "tax", "form", "the", "a", "用户", "données"])
TEXTS = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.lists(WORDS, max_size=12).map(" ".join), max_size=12)


def names(pairs: Sequence[Pair]) -> list[tuple[str, str]]:
    return [(pair.one, pair.other) for pair in pairs]


def test_two_skills_for_the_same_step_are_found_with_the_words_that_tell() -> None:
    assert near_duplicates(LIBRARY) == (
        Pair("ffmpeg-keyframes", "video-frames", 0.755, ("video", "ffmpeg", "keyframes", "png", "frame", "keyframe")),
    )


def test_the_same_text_twice_is_as_alike_as_can_be() -> None:
    found = near_duplicates({**LIBRARY, "copy": TAXES})
    assert [(pair.one, pair.other, pair.score) for pair in found if pair.score == 1] == [("copy", "quarterly-taxes", 1)]


def test_a_copy_that_has_grown_is_found_by_what_it_still_says_word_for_word(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = " ".join(
        f"Enter account {number} and compare it with column {chr(64 + number) * 2}." for number in range(1, 20)
    )
    more = " ".join(f"Chapter{number} explains the rule for depreciation{number}." for number in range(80))
    texts = {"taxes": TAXES + steps, "year-end": f"year-end\nClose the books.\n{steps}\n{TAXES}\n{more}", "x": LETTERS}
    assert names(near_duplicates(texts)) == [("taxes", "year-end")]
    monkeypatch.setattr(similar, "_overlap", lambda _one, _other: 0.0)
    assert near_duplicates(texts) == ()


def test_unrelated_skills_are_not_alike_even_alone_in_a_library() -> None:
    assert near_duplicates({"quarterly-taxes": TAXES, "cover-letters": LETTERS}) == ()


@pytest.mark.parametrize(
    "texts", [{}, {"a": ""}, {"a": "", "b": ""}, {"a": "x y z", "b": "x y z"}, {"a": "—", "b": "!"}]
)
def test_where_nothing_is_said_nothing_is_alike(texts: dict[str, str]) -> None:
    assert near_duplicates(texts, threshold=0.1) == ()


def test_scripts_without_spaces_are_compared_too() -> None:
    texts = {
        "a": "部署应用 将应用部署到生产服务器并检查日志",
        "b": "应用部署 把应用部署到生产服务器，然后检查日志",
        "c": TAXES,
    }
    assert names(near_duplicates(texts)) == [("a", "b")]


def test_what_stands_behind_the_limit_does_not_count() -> None:
    texts = {"a": TAXES.ljust(TEXT) + LETTERS, "b": TAXES, "c": LETTERS}
    assert names(near_duplicates(texts)) == [("a", "b")]


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


def test_of_very_many_that_say_the_same_each_is_compared_with_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    cosine = similar._cosine

    def counted(one: similar.Vector, other: similar.Vector) -> float:
        nonlocal compared
        compared += 1
        return cosine(one, other)

    monkeypatch.setattr(similar, "_cosine", counted)
    texts = {f"skill-{number:03}": f"{KEYFRAMES}\n{TAXES}\n{LETTERS}\nNumber {number}." for number in range(300)}
    found = near_duplicates(texts, most=10_000)
    assert {name for pair in found for name in pair[:2]} == set(texts)
    assert compared <= 16 * len(texts)


def test_the_answer_is_the_same_in_every_process() -> None:
    code = f"from whet.learning.similar import near_duplicates\nprint(near_duplicates({LIBRARY!r}, threshold=0.01))"
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


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.floats(0.05, 1.0), st.integers(0, 8))
def test_pairs_are_of_two_skills_each_named_once_whatever_their_order(
    texts: dict[str, str], threshold: float, most: int
) -> None:
    found = near_duplicates(texts, threshold, most)
    assert len(found) <= most
    assert all(pair.one < pair.other and {pair.one, pair.other} <= set(texts) for pair in found)
    assert len({pair[:2] for pair in found}) == len(found)
    assert all(threshold <= pair.score <= 1 for pair in found)
    assert [pair.score for pair in found] == sorted((pair.score for pair in found), reverse=True)
    assert near_duplicates(dict(reversed(texts.items())), threshold, most) == found


def test_the_threshold_is_the_one_that_was_measured() -> None:
    assert THRESHOLD == 0.55
