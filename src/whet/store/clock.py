"""Time as a value that is passed in: nanoseconds since 1970 UTC, from a callable that tests can replace."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

Clock: TypeAlias = "Callable[[], int]"
"""Returns the current time in nanoseconds since 1970-01-01T00:00:00Z."""

_SECOND = 1_000_000_000


def system_clock() -> int:
    """Return the machine's time."""
    return time.time_ns()


def iso(ns: int) -> str:
    """Format a time in seconds, rounded down: `2026-11-15T06:00:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ns // _SECOND))
