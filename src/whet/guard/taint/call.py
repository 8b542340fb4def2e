"""One call of a program, whatever language it is written in, and what the tables say that it does."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.tables import load_toml
from whet.guard.taint.mark import HOLE
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

Place = int | str
"""Where a part of a call stands: the number of an argument, the name of one, or `owner`."""


class Row(NamedTuple):
    """What a function does: a row of `data/LANGUAGE_calls.toml`."""

    does: str = ""
    """The judge that is asked."""
    at: tuple[Place, ...] = (0,)
    """Where the address or the path stands, best place first."""
    given: tuple[Place, ...] = ()
    """Where the content or the second path stands."""
    head: int = -1
    """The argument that holds headers."""
    gives: str = ""
    """The name of what comes back."""
    what: str = ""
    """Words for a person."""
    grave: bool = False
    when: str = ""
    """Of a command: how its arguments have to begin."""


class _Table(NamedTuple):
    names: dict[str, Row]
    programs: dict[str, list[tuple[re.Pattern[str], Row]]]
    """Of commands: every row, since a program may do several things."""
    verbs: dict[str, list[tuple[frozenset[str], Row]]]
    roots: dict[str, Row]


@cache
def _table(language: str) -> _Table:
    table = _Table({}, {}, {}, {})
    for entry in load_toml(f"{language}_calls")["call"]:
        fields: Any = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        names, of, roots, verbs = (fields.pop(key, ()) for key in ("names", "of", "roots", "verbs"))
        row = Row(**fields)
        for name in (*names, *(f"{owner}.{verb}" for owner in of for verb in verbs)):
            table.names[name] = row
            for program in load_toml("shell_clients")["programs"][name[1:]] if name[0] == "@" else [name]:
                table.programs.setdefault(program, []).append((re.compile(row.when, re.IGNORECASE | re.DOTALL), row))
        for verb in verbs if roots else ():
            table.verbs.setdefault(verb, []).append((frozenset(roots), row))
        for root in roots if not verbs else ():
            table.roots[root] = row
    return table


def find_row(language: str, name: str) -> Row | None:
    """What a function does by its real name: one by one, by its module and its last part, or by its module alone."""
    table = _table(language)
    row = table.names.get(name)
    if row is None and name:
        root, _, rest = name.partition(".")
        for roots, found in table.verbs.get(rest.rpartition(".")[2], ()):
            if root in roots:
                return found
        row = table.roots.get(root) if rest else None
    return row


def find_rows(program: str, arguments: str) -> list[Row]:
    """What a command does, by its program and its arguments."""
    return [row for when, row in _table("shell").programs.get(program, ()) if when.match(arguments)]


@cache
def judged_programs() -> frozenset[str]:
    """The programs that do something that is judged."""
    return frozenset(_table("shell").programs)


@cache
def judged_roots(language: str) -> frozenset[str]:
    """The modules whose functions do something that is judged."""
    table = _table(language)
    known = {name.partition(".")[0] for name in table.names} | set(table.roots)
    return frozenset(known.union(*(roots for rows in table.verbs.values() for roots, _ in rows)))


class Call:
    """One call, with everything known about it."""

    __slots__ = ("args", "callee", "folder", "made", "name", "names", "node", "owner", "row", "scope", "verb", "words")

    def __init__(
        self,
        name: str,
        callee: Value,
        owner: Value,
        args: Sequence[Value],
        words: dict[str, Value],
        node: Any,
        *,
        verb: str = "",
        made: bool = True,
        scope: Any = None,
    ) -> None:
        self.name = name
        """The dotted name of what is called, such as `fs.readFileSync`, or empty if it is unknown."""
        self.verb = verb or name.rpartition(".")[2]
        """The last part of it."""
        self.callee = callee
        self.owner = owner
        """What the method is called on."""
        self.args = list(args)
        self.words = words
        """Arguments by name, and the members of objects that are given as options."""
        self.node = node
        self.scope = scope
        self.made = made
        """Whether it may make an object: in JavaScript, whether it is written with `new`."""
        self.names: dict[Place, str] = {}
        """What the arguments and the owner are called in the program."""
        self.row = Row()
        self.folder: str | None = None
        """Where a command of a script runs, empty if the script does not say so."""

    def arg(self, index: int, word: str = "") -> Value:
        """An argument by place or by name."""
        return self.args[index] if 0 <= index < len(self.args) else self.words.get(word, NOTHING)

    def every(self) -> list[Value]:
        """All arguments."""
        return [*self.args, *self.words.values()]

    def place(self, places: Sequence[Place]) -> Place | None:
        """The first of some places where something stands."""
        for place in places:
            there = place < len(self.args) if isinstance(place, int) else place == "owner" or place in self.words
            if there:
                return place
        return None

    def part(self, places: Sequence[Place]) -> Value:
        """What stands at the first of some places where something stands."""
        place = self.place(places)
        if place is None:
            return NOTHING
        return self.args[place] if isinstance(place, int) else self.words.get(place, self.owner)

    def key(self, places: Sequence[Place]) -> str:
        """What the path at a place is told apart by: its text, or the name it goes by."""
        value, place = self.part(places), self.place(places)
        text = value.path or value.said
        if text.replace(HOLE, "").strip("/. "):
            return text
        return self.names.get(place, "") if place is not None else ""
