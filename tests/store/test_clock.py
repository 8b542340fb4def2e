from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from whet.store.clock import iso, system_clock


def test_iso_is_utc_to_the_second_below() -> None:
    assert iso(1_794_722_400_999_999_999) == "2026-11-15T06:00:00Z"


@given(st.integers(min_value=0, max_value=4_102_444_800_000_000_000))
def test_iso_reads_back_as_the_same_second(ns: int) -> None:
    second = ns // 1_000_000_000
    assert datetime.fromisoformat(iso(ns)) == datetime.fromtimestamp(second, UTC)


def test_the_system_clock_gives_nanoseconds_of_this_century() -> None:
    assert 946_684_800 < system_clock() // 1_000_000_000 < 4_102_444_800
