"""Two changes of one text come together, or nobody guesses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.authoring.merging import merged

LINES = st.lists(st.sampled_from("abcdef"), max_size=8).map(lambda rows: "".join(f"{row}\n" for row in rows))


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\n", "a\nB\nC\n"),
        ("a\nb\nc\n", "a\nB\nc\n", "a\nX\nc\n", None),
        ("a\nb\n", "a\nb\n", "a\n", "a\n"),
        ("a\nb\n", "x\na\nb\n", "a\nb\ny\n", "x\na\nb\ny\n"),
        ("a\n", "a\nx\n", "a\ny\n", None),
        ("a\nb\n", "a\nX\n", "a\nX\n", "a\nX\n"),
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
