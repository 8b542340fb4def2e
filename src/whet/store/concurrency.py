"""The same for several things at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

S = TypeVar("S")
T = TypeVar("T")

MOST = 8
"""Things that are done at the same time."""


def together(
    do: Callable[[S], T], items: Sequence[S], most: int = MOST, *, end: Callable[[], object] | None = None
) -> list[T]:
    """What each of them gives, in their order. The first failure is raised; what has not begun by then never begins.

    `end` asks those that have begun to come to an end; it is called on a failure and on Ctrl-C.
    """
    if len(items) < 2:
        return [do(item) for item in items]
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    with ThreadPoolExecutor(max_workers=min(most, len(items))) as pool:
        futures = [pool.submit(do, item) for item in items]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            # Chosen before the others are ended: that they were is nobody's failure.
            failed = next((future for future in futures if future.done() and future.exception()), None)
            return [future.result() for future in ([failed] if failed else futures)]
        except BaseException:
            for future in futures:
                future.cancel()
            if end is not None:
                end()
            raise
