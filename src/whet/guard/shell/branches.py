"""The branches of a shell script: which of several values a variable has after a branch, a function or a loop."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from whet.guard.hosts import distrust
from whet.guard.tables import load_toml
from whet.guard.taint import branches
from whet.guard.taint.value import TELLING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    from whet.guard.shell.words import Word

_LONGEST = 2000


@cache
def _programs() -> frozenset[str]:
    return frozenset(name for names in load_toml("shell_clients")["interpreters"].values() for name in names)


def _matters(value: str | Sequence[Word] | None) -> bool:
    """Return whether a value may be an address, a path, a command or a program."""
    text = value if isinstance(value, str) else " ".join(word.text for word in value or ())
    return 0 < len(text) < _LONGEST and (text in _programs() or TELLING.search(text) is not None)


class Branches(branches.Branches):
    """Which assignments count in one reading of a script, and what another reading may differ in."""

    __slots__ = ("_final", "_late", "_repeats", "_trail")

    def __init__(self, taken: int = -1, final: Mapping[str, str] | None = None) -> None:
        super().__init__(taken)
        self._final = final or {}
        """Values from the end of the script, which functions and loops have from their beginning."""
        self._trail: list[tuple[dict[str, Any], str, Any]] = []
        """Each assignment: the table of the variable, its name and its value before."""
        self._repeats = False
        """There was a function or loop."""
        self._late = False
        """A variable has changed that a function or loop before may use."""

    def put(self, table: dict[str, Any], name: str, new: Any) -> None:
        """Give a variable or an array a value; None if the value is unknown."""
        old = table.pop(name, None)
        if new is not None:
            table[name] = new
        self._trail.append((table, name, old))
        self._late = self._late or (self._repeats and old is not None and old != new and _matters(new))

    def enter(self, variables: dict[str, str], *, repeats: bool) -> int:
        """Begin a branch, or what runs several times or later; return what `leave` needs."""
        start = len(self._trail)
        self._repeats = self._repeats or repeats
        for name, value in self._final.items() if repeats else ():
            if variables.get(name, value) != value:
                self._trail.append((variables, name, variables[name]))
                variables[name] = value
        return start

    def leave(self, start: int, *, apart: bool) -> None:
        """End a branch, and give variables their old values if it does not count, or if it runs in a process `apart`."""
        before = {(id(table), name): (table, name, old) for table, name, old in reversed(self._trail[start:])}
        for table, name, old in before.values():
            new = table.get(name)
            if old is None or old == new:
                continue
            takes = not (_matters(old) or _matters(new)) or self.takes(name, (start, len(self._trail)))
            if apart or not takes or self._final.get(name) == new:
                table[name] = old

    def pick(self, name: str, words: Sequence[Word]) -> Word | None:
        """Return the item that a loop or an unknown index takes from some addresses; None in the first reading."""
        if len(words) < 2 or not any("://" in word.text for word in words):
            return None
        if self.takes(name, "pick") and self._taken < 0:
            return None
        return max(words, key=lambda word: distrust(word.text))

    def others(self, variables: Mapping[str, str] | None = None) -> Iterator[Self]:
        """Yield what to read the script with again; `variables` are those at its end."""
        yield from super().others()
        if self._late and self._taken < 0:
            final = {name: value for name, value in (variables or {}).items() if _matters(value)}
            yield type(self)(final=final)
