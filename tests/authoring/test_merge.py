"""Two changes of one text come together, or nobody guesses."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.authoring import merge
from whet.authoring.merge import Conflict, Pieces, merge_text

LINES = st.lists(st.sampled_from("abcdef"), max_size=8).map(lambda rows: "".join(f"{row}\n" for row in rows))


def merged(base: str, ours: str, theirs: str, *, touching: bool = True) -> str | None:
    """The merged text; None where there is a conflict."""
    pieces = merge_text(base.encode(), ours.encode(), theirs.encode(), touching=touching)
    texts = [piece for piece in pieces if isinstance(piece, bytes)]
    return b"".join(texts).decode() if len(texts) == len(pieces) else None


def swapped(pieces: Pieces) -> Pieces:
    return [Conflict(*piece[::-1]) if isinstance(piece, Conflict) else piece for piece in pieces]


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\n", "a\nB\nC\n"),
        ("a\nb\nc\n", "a\nB\nc\n", "a\nX\nc\n", None),
        ("a\nb\n", "a\nb\n", "a\n", "a\n"),
        ("a\nb\n", "x\na\nb\n", "a\nb\ny\n", "x\na\nb\ny\n"),
        ("a\n", "a\nx\n", "a\ny\n", None),
        ("a\nb\n", "a\nX\n", "a\nX\n", "a\nX\n"),
        ("c\na\na\na\nd\n", "x\nc\na\na\nd\n", "c\na\na\nd\n", "x\nc\na\na\nd\n"),  # which a went cannot be told
        ("d\nb\nd\n", "d\nb\nb\nd\n", "c\nd\nb\nb\nd\n", "c\nd\nb\nb\nd\n"),
        ("", "", "", ""),
    ],
)
def test_changes_in_different_places_come_together(base: str, ours: str, theirs: str, expected: str | None) -> None:
    assert merged(base, ours, theirs) == expected


@settings(max_examples=200, deadline=None)
@given(LINES, LINES)
def test_one_change_alone_is_that_change(base: str, changed: str) -> None:
    assert merged(base, changed, base) == changed
    assert merged(base, base, changed) == changed
    assert merged(base, changed, changed) == changed


@settings(max_examples=200, deadline=None)
@given(LINES, LINES, LINES)
def test_the_two_sides_can_be_swapped(base: str, ours: str, theirs: str) -> None:
    assert merged(base, ours, theirs) == merged(base, theirs, ours)
    texts = [text.encode() for text in (base, ours, theirs)]
    assert merge_text(texts[0], texts[2], texts[1]) == swapped(merge_text(*texts))


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "touching", "expected"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\n", True, [b"a\nB\nC\n"]),
        ("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\n", False, [b"a\n", Conflict(b"B\nc\n", b"b\nc\n", b"b\nC\n")]),
        ("a\nb\n", "a\nx\nb\n", "a\n", True, [b"a\n", Conflict(b"x\nb\n", b"b\n", b"")]),
        ("", "same\nmine\n", "same\nother\n", False, [b"same\n", Conflict(b"mine\n", b"", b"other\n")]),
        ("a", "b", "c", False, [Conflict(b"b", b"a", b"c")]),
        ("a\rx\nb\n", "A\rx\nb\n", "a\rx\nb\nc", False, [b"A\rx\nb\nc"]),
    ],
)
def test_a_conflict_has_all_three_states_and_no_line_that_both_share(
    base: str, ours: str, theirs: str, touching: bool, expected: Pieces
) -> None:
    pieces = merge_text(base.encode(), ours.encode(), theirs.encode(), touching=touching)
    joined: Pieces = []
    for piece in pieces:
        if isinstance(piece, bytes) and joined and isinstance(joined[-1], bytes):
            joined[-1] += piece
        else:
            joined.append(piece)
    assert joined == expected


@settings(max_examples=200, deadline=None)
@given(LINES, LINES, LINES, st.booleans())
def test_either_side_can_be_read_from_the_pieces(base: str, ours: str, theirs: str, touching: bool) -> None:
    """Taking a side in all conflicts leaves a text in which no line of that side is lost that it had added."""
    mine = ours.replace("a", "mine")
    pieces = merge_text(base.encode(), mine.encode(), theirs.encode(), touching=touching)
    text = b"".join(piece if isinstance(piece, bytes) else piece.yours for piece in pieces).decode()
    assert text.split("\n").count("mine") >= mine.split("\n").count("mine")


@settings(max_examples=100, deadline=None)
@given(LINES, LINES, st.integers(0, 40))
def test_a_comparison_that_is_cut_short_loses_nothing(base: str, changed: str, steps: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "_STEPS", steps)
        assert merged(base, changed, base + "end\n") in (None, f"{changed}end\n")
        assert merged(base, changed + "new\n", "old\n" + base) in (None, f"old\n{changed}new\n")


def test_texts_with_nothing_in_common_are_compared_in_passing() -> None:
    numbers = [f"{number}\n" for number in range(20_000)]
    mixed = random.Random(1).sample(numbers, len(numbers))
    large = "".join(numbers)
    assert merged(large, "".join(mixed), "x\n" * 20_000) is None
    assert merged(large, "first\n" + large, large + "last\n") == f"first\n{large}last\n"
