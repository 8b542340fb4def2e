"""Regular expressions that are compiled when they are first used.

Most texts need few of them, and compiling an expression takes longer than matching it to a page. Without regard to case an
expression takes twice as long, so it is tried on the text in lower case first.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
_CAPITAL = re.compile(r"\\.|\(\?P|[A-Z]", re.DOTALL)
_ALIKE = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"))
"""Letters that count as `i` and `s` without regard to case, and whose lower case is another letter."""


class Expression:
    """Stands for a compiled expression, and has its methods from the first use on."""

    def __init__(self, regex: str, flags: int) -> None:
        self.pattern = regex
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


class Folded(Expression):
    """An expression without regard to case."""

    def __init__(self, regex: str, flags: int) -> None:
        super().__init__(regex, flags)
        self._lower = Expression(lower(regex), flags & ~re.IGNORECASE)
        self._exact = Expression(regex, flags)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(self._exact, name)
        return found

    def search(self, text: str, *between: int) -> re.Match[str] | None:
        """The first match, or None."""
        if not between:
            first = self._lower.search(fold(text))
            if first is None:
                return None
            between = (first.start(),)
        found: re.Match[str] | None = self._exact.search(text, *between)
        return found


@lru_cache(maxsize=16)
def fold(text: str) -> str:
    """A text in lower case, letter for letter; several expressions after one another look at the same text."""
    if not text.isascii():
        for letter, plain in _ALIKE:
            text = text.replace(letter, plain)
    return text.lower()


@lru_cache(maxsize=1024)
def lower(regex: str) -> str:
    """An expression that finds in folded text what this one finds without regard to case."""
    return _CAPITAL.sub(lambda found: found[0] if len(found[0]) > 1 else found[0].lower(), regex)


def expression(regex: str, flags: int = 0) -> re.Pattern[str]:
    """An expression that is compiled when one of its methods is first used."""
    return cast("re.Pattern[str]", (Folded if flags & re.IGNORECASE else Expression)(regex, flags))
