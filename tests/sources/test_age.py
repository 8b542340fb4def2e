"""How old something is, told from what its source claims and from what was seen there before."""

from __future__ import annotations

import pytest

from whet.sources.age import (
    DAY,
    Commit,
    Sighting,
    choose_commit,
    describe_age,
    is_exact,
    is_local,
    published,
    read_time,
)
from whet.sources.model import Offer, Ref

NOW = 1_800_000_000


def ago(days: float) -> int:
    return NOW - int(days * DAY)


@pytest.mark.parametrize(
    ("claimed", "seen", "expected"),
    [
        (ago(9), (), ago(9)),  # never looked at before: the claim is all there is
        (0, (), NOW),
        (NOW + DAY, (), NOW),  # the future
        (0, (Sighting("new", ago(4), ago(1)),), ago(4)),
        (NOW + DAY, (Sighting("new", ago(4), ago(1)),), ago(4)),
        (ago(1), (Sighting("new", ago(4), ago(4)),), ago(4)),  # it was seen before it says that it was made
        (ago(900), (Sighting("old", ago(9), ago(2)),), ago(2)),  # it was not there two days ago, whatever it says
        (ago(900), (Sighting("old", ago(9), ago(8)), Sighting("new", ago(5), ago(1))), ago(8)),
        (ago(900), (Sighting("new", ago(5), ago(4)), Sighting("other", ago(1), ago(1))), ago(900)),
    ],
)
def test_what_was_seen_counts_for_more_than_a_claim(claimed: int, seen: tuple[Sighting, ...], expected: int) -> None:
    assert published(claimed, "new", seen, NOW) == expected


HISTORY = (Commit("d", ago(0.2)), Commit("c", ago(2)), Commit("b", ago(5)), Commit("a", ago(40)))


@pytest.mark.parametrize(
    ("history", "seen", "expected"),
    [
        (HISTORY, (), (2, ago(5))),
        (HISTORY[:2], (), (-1, 0)),
        ((), (), (-1, 0)),
        # A commit is no older than what it builds on.
        ((Commit("e", ago(900)), *HISTORY), (), (3, ago(5))),
        # An old date on a commit that was not there at the last look.
        (
            (Commit("d", ago(0)), Commit("c", ago(30)), Commit("b", ago(40))),
            (Sighting("b", ago(9), ago(1)),),
            (2, ago(40)),
        ),
        # One that an earlier look had, inside a later commit.
        (
            (Commit("d", ago(0)), Commit("c", ago(4)), Commit("b", ago(40))),
            (Sighting("d", ago(0.1), ago(0.1)), Sighting("b", ago(9), ago(6))),
            (1, ago(4)),
        ),
    ],
)
def test_the_newest_commit_that_is_old_enough(
    history: tuple[Commit, ...], seen: tuple[Sighting, ...], expected: tuple[int, int]
) -> None:
    assert choose_commit(history, seen, NOW, ago(3)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-15T12:00:00Z", 1_794_744_000),
        ("2026-11-15T13:00:00+01:00", 1_794_744_000),
        ("2026-11-15T12:00:00", 1_794_744_000),
        ("Sun, 15 Nov 2026 12:00:00 GMT", 1_794_744_000),
        ("0001-01-01T00:00:00Z", 0),
        ("yesterday", 0),
        ("", 0),
    ],
)
def test_a_time_is_read_or_is_none(text: str, expected: int) -> None:
    assert read_time(text) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(5, "less than a minute"), (-9, "less than a minute"), (60, "1 minute"), (5 * 3600, "5 hours"), (DAY, "1 day")],
)
def test_an_age_in_words(seconds: int, expected: str) -> None:
    assert describe_age(seconds) == expected


def test_what_is_on_this_machine_and_what_is_named_exactly() -> None:
    local = [Ref("path", "/a"), Ref("archive", "/a.zip"), Ref("git", "file:///a"), Ref("marketplace", "/a")]
    assert all(map(is_local, local))
    assert not any(map(is_local, [Ref("git", "https://host/a"), Ref("url", "https://host/a.zip")]))
    commit = "1" * 40
    assert is_exact(Offer("a", "", Ref("git", "https://host/a", commit), commit))
    assert not is_exact(Offer("a", "", Ref("git", "https://host/a", "main"), commit))
    assert not is_exact(Offer("a", "", Ref("git", "https://host/a"), ""))
