"""Regular expressions that are compiled on first use.

Most texts need few of them, and compiling an expression takes longer than matching it to a page. An expression that
ignores case takes twice as long, so it is tried on the lower-case text first.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
_CAPITAL = re.compile(r"\\.|\(\?P|[A-Z]", re.DOTALL)
_ALIKE = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"))
"""Letters that match `i` and `s` when case is ignored, but whose lower case is another letter."""


class Expression:
    """A regular expression that is compiled on first use."""

    def __init__(self, regex: str, flags: int) -> None:
        self.pattern = regex
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


class Folded(Expression):
    """An expression that ignores case."""

    def __init__(self, regex: str, flags: int) -> None:
        super().__init__(regex, flags)
        self._lower = Expression(lower(regex), flags & ~re.IGNORECASE)
        self._exact = Expression(regex, flags)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(self._exact, name)
        return found

    def search(self, text: str, *between: int) -> re.Match[str] | None:
        """Return the first match, or None."""
        if not between:
            first = self._lower.search(fold(text))
            if first is None:
                return None
            between = (first.start(),)
        found: re.Match[str] | None = self._exact.search(text, *between)
        return found


@lru_cache(maxsize=16)
def fold(text: str) -> str:
    """Return a text in lower case with the same length; cached because several expressions search the same text."""
    if not text.isascii():
        for letter, plain in _ALIKE:
            text = text.replace(letter, plain)
    return text.lower()


@lru_cache(maxsize=1024)
def lower(regex: str) -> str:
    """Return an expression that finds in folded text what this one finds when case is ignored."""
    return _CAPITAL.sub(lambda found: found[0] if len(found[0]) > 1 else found[0].lower(), regex)


def expression(regex: str, flags: int = 0) -> re.Pattern[str]:
    """Return an expression that is compiled when one of its methods is first used."""
    return cast("re.Pattern[str]", (Folded if flags & re.IGNORECASE else Expression)(regex, flags))
