"""Requests to pages of `whet ui`, and the declaration of routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whet.api import Library
    from whet.notes import Note
    from whet.web.pages import Moved, Page


class Asked(NamedTuple):
    """A request to a page."""

    library: Library
    path: Mapping[str, str]
    """Variable parts of the address."""
    given: Mapping[str, str]
    """Fields of the query, or of the submitted form."""
    examine: Callable[[], Iterable[Note]] = tuple
    """Returns notes about this machine and its clients, besides the library."""

    def text(self, name: str, default: str = "") -> str:
        """Return a field with LF line ends."""
        return self.given.get(name, default).replace("\r\n", "\n")

    def number(self, name: str, default: int) -> int:
        """Return a field that is a whole number from 1. Raise UsageError."""
        text = self.given.get(name, "")
        if not text:
            return default
        if not text.isdecimal() or len(text) > 9 or int(text) < 1:
            raise UsageError(
                "bad-number", f"{name} must be a whole number from 1, not {text!r:.40}.", hint="Correct it."
            )
        return int(text)

    def is_set(self, name: str) -> bool:
        """Return whether a box is ticked."""
        return self.given.get(name, "") not in ("", "0", "off")


class Route(NamedTuple):
    """A page, or an action of a page."""

    method: str
    path: str
    """In Starlette's syntax."""
    answer: Callable[[Asked], Page | Moved]
