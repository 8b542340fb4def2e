"""Which changes in the branches of a program count.

A program is read once as if all its branches ran one after the other, so that the last value of a name counts. If a branch
replaces something that matters (a module, a function, a key, an address), the program is read again as if that branch did not
run, because an attacker writes the other value into a branch that never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.finding import Hit, Seen, rank
from whet.guard.rules import severity_of
from whet.guard.taint.call import judged_roots

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator
    from typing import Self

    from whet.guard.taint.value import Value

_MOST = 2
"""Maximum number of branches that change the same name and are tried."""


class Branches:
    """Which changes count in one reading of a program, and what another reading may differ in."""

    __slots__ = ("_places", "_taken")

    def __init__(self, taken: int = -1) -> None:
        self._taken = taken
        """How many changes of a name count; all if negative."""
        self._places: dict[str, dict[Hashable, int]] = {}
        """The places that change each name, numbered."""

    def takes(self, name: str, place: Hashable) -> bool:
        """Return whether a change of a name, in a branch at a place, counts."""
        places = self._places.setdefault(name, {})
        return places.setdefault(place, len(places)) < self._taken or self._taken < 0

    def others(self) -> Iterator[Self]:
        """Yield what to read the program with again."""
        most = max(map(len, self._places.values()), default=0) if self._taken < 0 else 0
        yield from (type(self)(taken) for taken in range(min(most, _MOST)))


def replaces(old: Value, new: Value, language: str) -> bool:
    """Return whether a new value lacks the function or the module of the old one."""
    if old.fn is not None and old.fn != new.fn:
        return True
    return old.name != new.name and old.name.partition(".")[0] in judged_roots(language)


def united(seen: Seen, other: Seen) -> Seen:
    """Return what one reading found, and what another one found that is graver for the same rule and line."""
    return Seen((*seen.hits, *_graver(other.hits, seen.hits)), (*seen.facts, *other.facts))


def _graver(hits: Iterable[Hit], known: Iterable[Hit]) -> Iterator[Hit]:
    ranks: dict[tuple[str, int], int] = {}
    for hit in known:
        key = hit.rule, hit.line
        ranks[key] = max(ranks.get(key, 0), rank(severity_of(hit)))
    yield from (hit for hit in hits if rank(severity_of(hit)) > ranks.get((hit.rule, hit.line), 0))
