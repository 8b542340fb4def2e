"""The curator's memory: pins and the time of the last run survive; reading makes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whet.errors import FailedError
from whet.learning.lifecycle import Lifecycle, Pin
from whet.library.state import Decisions
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Ticking:
    """A clock that tests set."""

    now = 7

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def lifecycle(tmp_path: Path, clock: Ticking) -> Iterator[Lifecycle]:
    found = Lifecycle(StateDatabase(str(tmp_path / "state")), clock)
    yield found
    found.state.close()


def test_asking_makes_no_file(lifecycle: Lifecycle, tmp_path: Path) -> None:
    assert (lifecycle.pins(), lifecycle.last_run(), lifecycle.unpin("x")) == ({}, 0, False)
    assert not (tmp_path / "state").exists()


def test_a_pin_lasts_and_is_found_by_what_was_pinned(lifecycle: Lifecycle, clock: Ticking, tmp_path: Path) -> None:
    assert [lifecycle.pin("~/skills/Deploy", "Needed once a year."), lifecycle.pin("b")] == [True, True]
    lifecycle.state.close()
    clock.now = 9
    again = Lifecycle(StateDatabase(str(tmp_path / "state")), clock)
    assert again.pins() == {"b": Pin("", 7), "~/skills/Deploy": Pin("Needed once a year.", 7)}
    assert [again.unpin("~/skills/Deploy"), again.unpin("~/skills/Deploy")] == [True, False]
    assert again.pins() == {"b": Pin("", 7)}
    again.state.close()


def test_pinning_again_keeps_the_time_and_takes_a_new_reason(lifecycle: Lifecycle, clock: Ticking) -> None:
    lifecycle.pin("a", "first")
    clock.now = 9
    assert [lifecycle.pin("a"), lifecycle.pins()] == [False, {"a": Pin("", 7)}]
    assert [lifecycle.pin("a", "second\udc80"), lifecycle.pins()] == [False, {"a": Pin("second?", 7)}]


def test_of_two_processes_that_find_a_run_due_one_may_run(lifecycle: Lifecycle, clock: Ticking, tmp_path: Path) -> None:
    other = Lifecycle(StateDatabase(str(tmp_path / "state")), clock)
    assert [lifecycle.ran(100), lifecycle.last_run(), other.last_run()] == [True, 100, 100]
    assert [lifecycle.ran(200, after=100), other.ran(201, after=100)] == [True, False]
    assert [lifecycle.last_run(), other.last_run()] == [200, 200]
    assert [other.ran(50), other.last_run()] == [True, 50]
    other.state.close()


def test_the_first_of_all_runs_can_be_claimed_too(lifecycle: Lifecycle) -> None:
    assert [lifecycle.ran(5, after=0), lifecycle.ran(6, after=0), lifecycle.last_run()] == [True, False, 5]


def test_rows_that_hold_something_else_do_no_harm(lifecycle: Lifecycle) -> None:
    lifecycle.pin("a", "why")
    lifecycle.pin("b", "why")
    lifecycle.ran(5)
    with lifecycle.state.write() as connection:
        connection.execute("UPDATE pins SET name = 7, since = 'x' WHERE name = 'b'")
        connection.execute("UPDATE curator SET value = 'a while ago'")
    assert lifecycle.pins() == {"7": Pin("why", 0), "a": Pin("why", 7)}
    assert lifecycle.last_run() == 0


def test_a_damaged_database_is_an_error_and_not_an_empty_one(lifecycle: Lifecycle, tmp_path: Path) -> None:
    lifecycle.pin("x")
    lifecycle.state.close()
    (tmp_path / "state" / "state.db").write_bytes(b"garbage" * 1000)
    with pytest.raises(FailedError) as caught:
        lifecycle.pins()
    assert caught.value.code == "state-corrupt"


def test_it_shares_its_file_with_the_users_decisions(lifecycle: Lifecycle, clock: Ticking, tmp_path: Path) -> None:
    decisions = Decisions(StateDatabase(str(tmp_path / "state")), clock)
    decisions.disable("x")
    lifecycle.pin("x")
    assert (lifecycle.state.path, lifecycle.pins()) == (decisions.state.path, {"x": Pin("", 7)})
    assert decisions.disabled() == {("x", "")}
    decisions.state.close()
