"""What a page of `whet ui` is asked with, and how a route is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whet.api import Library
    from whet.notes import Note
    from whet.web.pages import Moved, Page


class Asked(NamedTuple):
    """One request to a page."""

    library: Library
    path: Mapping[str, str]
    """The variable parts of the address."""
    given: Mapping[str, str]
    """The fields of the query, or of the form that was sent."""
    examine: Callable[[], Iterable[Note]] = tuple
    """Gives what is to be said about this machine and its clients, besides the library."""

    def text(self, name: str, default: str = "") -> str:
        """A field; line ends as Python has them."""
        return self.given.get(name, default).replace("\r\n", "\n")

    def number(self, name: str, default: int) -> int:
        """A field that is a whole number from 1. Raises UsageError."""
        text = self.given.get(name, "")
        if not text:
            return default
        if not text.isdecimal() or len(text) > 9 or int(text) < 1:
            raise UsageError(
                "bad-number", f"{name} must be a whole number from 1, not {text!r:.40}.", hint="Correct it."
            )
        return int(text)

    def is_set(self, name: str) -> bool:
        """Is a box ticked?"""
        return self.given.get(name, "") not in ("", "0", "off")


class Route(NamedTuple):
    """One page, or one thing that a page can do."""

    method: str
    path: str
    """As Starlette writes it."""
    answer: Callable[[Asked], Page | Moved]
