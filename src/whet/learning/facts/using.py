"""Signs that something read was used: the same names, options, numbers and words in what was done afterwards."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Iterable

_PIECE = re.compile(r"#[0-9A-Fa-f]{3,8}\b|(?<![\w-])--?[A-Za-z][\w-]{1,40}|\d+(?:\.\d+)+|\d{2,}|[^\W\d]\w*")
_NAME = re.compile(r"#.*|-.*|\d.*|.*_.*|.*\d.*|[a-z]+[A-Z].*|[A-Z][a-z]+[A-Z].*|[A-Z]{3,}")
_LONGEST = 60


@lru_cache(maxsize=1024)
def names(text: str) -> frozenset[str]:
    """What nobody writes by chance: identifiers, options, colours, numbers that say something."""
    return frozenset(
        piece.lower().lstrip("-") for piece in _PIECE.findall(text) if len(piece) <= _LONGEST and _NAME.fullmatch(piece)
    )


class Use:
    """What was done after something was read, as sets to compare with; built from the last call to the first."""

    __slots__ = ("by_name", "names", "terms", "wanted")

    def __init__(self, wanted: str) -> None:
        self.wanted = key_terms(wanted)
        self.names: set[str] = set()
        self.terms: set[str] = set()
        self.by_name: dict[str, list[int]] = {}

    def add(self, at: int, text: str) -> None:
        """Take a call in that came before those already taken in."""
        found = names(text)
        self.names |= found
        self.terms |= key_terms(text)
        for name in found:
            self.by_name.setdefault(name, []).append(at)

    def users(self, shared: Iterable[str], most: int) -> tuple[int, ...]:
        """The first calls that hold any of these names."""
        return tuple(sorted({at for name in shared for at in self.by_name[name][-most:]})[:most])
