"""Run a function for several items at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

S = TypeVar("S")
T = TypeVar("T")

MOST = 8
"""Default number of threads."""


def together(
    do: Callable[[S], T], items: Sequence[S], most: int = MOST, *, end: Callable[[], object] | None = None
) -> list[T]:
    """Return the results in order. The first failure is raised; items that have not started by then never start.

    `end` asks running calls to stop; it is called on a failure and on Ctrl-C.
    """
    if len(items) < 2:
        return [do(item) for item in items]
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    with ThreadPoolExecutor(max_workers=min(most, len(items))) as pool:
        futures = [pool.submit(do, item) for item in items]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            # Chosen before the others are stopped: that is not a failure of theirs.
            failed = next((future for future in futures if future.done() and future.exception()), None)
            return [future.result() for future in ([failed] if failed else futures)]
        except BaseException:
            for future in futures:
                future.cancel()
            if end is not None:
                end()
            raise
