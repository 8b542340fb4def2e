"""The branches of a shell script: which of several values a variable has after a branch, a function or a loop.

A script is read once as if all its branches ran one after the other. If a branch changes what matters (an address, a path, a
program), it is read again as if that branch did not run, because an attacker writes the other value into a branch that never does.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from whet.guard.tables import load_toml
from whet.guard.taint.value import TELLING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MOST = 3
"""Maximum number of branches of a variable that are tried."""
_LONGEST = 2000


@cache
def _programs() -> frozenset[str]:
    return frozenset(name for names in load_toml("shell_clients")["interpreters"].values() for name in names)


def _matters(text: str | None) -> bool:
    return bool(text) and len(text or "") < _LONGEST and (text in _programs() or TELLING.search(text or "") is not None)


class Branches:
    """Which assignments count in one reading of a script, and what another reading may differ in."""

    __slots__ = ("_counts", "_final", "_late", "_repeats", "_taken", "_trail")

    def __init__(self, taken: int = -1, final: Mapping[str, str] | None = None) -> None:
        self._taken = taken
        """How many branches that change a variable are taken; all if negative."""
        self._final = final or {}
        """Values from the end of the script, which functions and loops have from their beginning."""
        self._trail: list[tuple[str, str | None]] = []
        """Each assignment, with the value before it."""
        self._counts: dict[str, int] = {}
        """The number of branches that have changed each variable."""
        self._repeats = False
        """There was a function or loop."""
        self._late = False
        """A variable has changed that a function or loop before may use."""

    def note(self, name: str, old: str | None, new: str | None) -> None:
        """Record an assignment."""
        self._trail.append((name, old))
        self._late = self._late or (self._repeats and old is not None and old != new and _matters(new))

    def enter(self, variables: dict[str, str], *, repeats: bool) -> int:
        """Begin a branch, or what runs several times or later; return what `leave` needs."""
        start = len(self._trail)
        self._repeats = self._repeats or repeats
        for name, value in self._final.items() if repeats else ():
            if variables.get(name, value) != value:
                self._trail.append((name, variables[name]))
                variables[name] = value
        return start

    def leave(self, variables: dict[str, str], start: int, *, apart: bool) -> None:
        """End a branch, and give variables their old values if it does not count, or if it runs in a process `apart`."""
        before = dict(reversed(self._trail[start:]))
        for name, old in before.items():
            new = variables.get(name)
            if old is None or old == new:
                continue
            if _matters(old) or _matters(new):
                self._counts[name] = self._counts.get(name, 0) + 1
            if apart or self._final.get(name) == new or 0 <= self._taken < self._counts.get(name, 0):
                variables[name] = old

    def others(self, variables: Mapping[str, str]) -> Iterator[Branches]:
        """Yield what to read the script with again; `variables` are those at its end."""
        for taken in range(min(max(self._counts.values(), default=0), _MOST)):
            yield Branches(taken)
        if self._late:
            yield Branches(final={name: value for name, value in variables.items() if _matters(value)})
