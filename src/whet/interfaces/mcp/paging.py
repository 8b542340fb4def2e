"""Lists in pages. A cursor names the last item of a page, so that pages stay consistent when items change."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from whet.errors import UsageError
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

PAGE_BYTES = 200_000
"""Size of a full page in bytes of JSON; items are never cut, so the last one may exceed it."""
_LOOKED_AT = 4
"""Number of items that are tried for each one that fits a page; some yield nothing."""
_LONGEST = 8192


class Bounds(NamedTuple):
    """The limits of one page."""

    items: int
    share: Callable[[Any], float] = lambda item: weight(item) / PAGE_BYTES
    """The share of a page that an item takes; 1 is all of it."""


def weight(item: Any) -> int:
    """Return the size of an item in bytes of JSON."""
    return len(json.dumps(as_json(item), ensure_ascii=False).encode())


def page(
    kind: str,
    items: Iterable[tuple[str, Callable[[], T | None]]],
    cursor: str | None,
    bounds: Bounds,
) -> tuple[list[T], str | None]:
    """Return the items of a page and the cursor of the next one.

    `items` are sorted, each with its sort key and a function that makes it when it is needed; None is left out. A page
    without items may have a cursor, too.
    """
    after = None if cursor is None else _read(kind, cursor)
    left = [item for item in items if after is None or item[0] > after]
    made: list[T] = []
    share = 0.0
    for number, (key, make) in enumerate(left, 1):
        if (item := make()) is not None:
            made.append(item)
            share += bounds.share(item)
        full = share >= 1 or len(made) >= bounds.items or number >= _LOOKED_AT * bounds.items
        if full and number < len(left):
            return made, _write(kind, key)
    return made, None


def _write(kind: str, key: str) -> str:
    return base64.urlsafe_b64encode(f"{kind} {key}".encode()).decode().rstrip("=")


def _read(kind: str, cursor: str) -> str:
    own, _, key = _decode(cursor).partition(" ")
    if own == kind and key:
        return key
    hint = "Pass the nextCursor of the previous page unchanged, or none for the first page."
    raise UsageError("bad-cursor", f"{cursor[:80]!r} is not a cursor of this list.", hint=hint)


def _decode(cursor: str) -> str:
    """Return the text of a cursor; "" if it is not one of ours."""
    if len(cursor) > _LONGEST:
        return ""
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        return ""
