"""The day's allowance and the breaker, with a clock that is set by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whet.learning.selection.budget import ALLOWANCE, LIMIT, LONGEST, Allowance, State
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 10**9
HOUR = 3600 * SECOND
DAY = 24 * HOUR
START = 1_800_000_000 * SECOND


class Clock:
    """A clock that is set by hand."""

    now = START

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(tmp_path: Path, clock: Clock) -> State:
    return State(StateDatabase(str(tmp_path / "state")), clock)


def test_looking_makes_no_file(state: State, tmp_path: Path) -> None:
    assert (state.left(), state.until(), state.read().breaker.reason) == (Allowance(), 0, "")
    state.worked()
    state.decided([])
    assert not (tmp_path / "state").exists()


def test_what_is_spent_is_gone_until_the_next_day(state: State, clock: Clock) -> None:
    state.spend(sessions=39, skills=1)
    state.spend(sessions=2, tokens=30)
    assert (state.used(), state.left()) == (Allowance(41, 1, 30), Allowance(0, 4, 199_970))
    clock.now += DAY
    assert (state.used(), state.left()) == (Allowance(0, 0, 0), ALLOWANCE)


def test_another_process_sees_what_was_spent(state: State, tmp_path: Path, clock: Clock) -> None:
    state.spend(skills=2)
    assert State(StateDatabase(str(tmp_path / "state")), clock).used() == Allowance(0, 2, 0)


def test_failures_in_a_row_stop_it_for_a_growing_time(state: State, clock: Clock) -> None:
    waits = []
    for _ in range(10):
        for _ in range(LIMIT - 1):
            state.failed("no room")
            assert state.until() == 0
        state.failed("no room")
        waits.append(state.until() - clock.now)
        assert state.read().breaker.reason == "3 failures in a row, the last: no room"
        clock.now = state.until()
        assert state.until() == 0
    assert waits == [*(HOUR * 2**trip for trip in range(8)), LONGEST, LONGEST]


def test_something_that_works_begins_the_row_anew(state: State) -> None:
    for _ in range(LIMIT):
        state.failed("once")
        state.failed("twice")
        state.worked()
    assert state.until() == 0


def test_rejected_proposals_in_a_row_stop_it_once(state: State, clock: Clock) -> None:
    decisions = [(START - 3, "rejected"), (START - 1, "rejected"), (START - 2, "rejected"), (0, "pending")]
    state.decided(decisions[:2])
    assert state.until() == 0
    state.decided(decisions)
    assert (state.until(), state.read().breaker.reason) == (START + HOUR, "3 proposals in a row were rejected.")
    clock.now += 2 * HOUR
    state.decided(decisions)
    assert state.until() == 0
    more = [(clock.now + number, "rejected") for number in range(3)]
    state.decided([*decisions, *more])
    assert state.until() == clock.now + 2 * HOUR


def test_an_approval_ends_the_row_and_makes_the_next_stop_short(state: State, clock: Clock) -> None:
    known = [(1, "rejected"), (2, "approved"), (3, "rejected"), (4, "rejected")]
    state.decided(known)
    assert state.until() == 0
    state.decided([*known, (5, "rejected")])
    assert state.until() == START + HOUR
    clock.now += DAY
    state.decided([(6, "approved")])
    state.decided([(6, "approved"), (7, "rejected"), (8, "rejected"), (9, "rejected")])
    assert state.until() == clock.now + HOUR


def test_a_clock_that_went_back_does_not_stop_it_for_years(state: State, clock: Clock) -> None:
    for _ in range(LIMIT):
        state.failed("x")
    assert state.until()
    clock.now -= 365 * DAY
    assert state.until() == 0


@pytest.mark.parametrize("content", ["", "[", "{", "3", "[]", '{"until": "x"}'])
def test_what_is_damaged_counts_as_nothing(state: State, tmp_path: Path, content: str) -> None:
    with StateDatabase(str(tmp_path / "state")).write() as connection:
        connection.executemany("INSERT INTO learning VALUES (?, ?)", [("day", content), ("breaker", content)])
    assert (state.left(), state.until()) == (Allowance(), 0)
    assert state.problem == "The record of breaker cannot be read; counting starts again."
    state.spend(sessions=1)
    assert state.used() == Allowance(1, 0, 0)
