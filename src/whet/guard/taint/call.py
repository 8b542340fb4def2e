"""A call in a program of any language, and the tables that say what functions do."""

from __future__ import annotations

import re
from copy import copy
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.expression import expression
from whet.guard.hosts import distrust
from whet.guard.tables import load_toml
from whet.guard.taint.mark import HOLE
from whet.guard.taint.value import NOTHING, TELLING, UNKNOWN, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Place = int | str
"""The place of a part of a call: the number of an argument, the name of one, or `owner`."""


class Row(NamedTuple):
    """A row of `data/LANGUAGE_calls.toml`, which says what a function does."""

    does: str = ""
    """The name of the judge."""
    at: tuple[Place, ...] = (0,)
    """The possible places of the address or path, best first."""
    given: tuple[Place, ...] = ()
    """The possible places of the content or the second path."""
    head: int = -1
    """The number of the argument that holds headers, or -1."""
    gives: str = ""
    """The name of the result."""
    what: str = ""
    """A human-readable description; some judges read it as an option."""
    grave: bool = False
    when: str = ""
    """For commands, a pattern that the start of the arguments must match."""


class _Table(NamedTuple):
    names: dict[str, Row]
    programs: dict[str, list[tuple[re.Pattern[str], Row]]]
    """All rows of each command, because a program may do several things."""
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
                table.programs.setdefault(program, []).append((expression(row.when, re.IGNORECASE | re.DOTALL), row))
        for verb in verbs if roots else ():
            table.verbs.setdefault(verb, []).append((frozenset(roots), row))
        for root in roots if not verbs else ():
            table.roots[root] = row
    return table


def find_row(language: str, name: str) -> Row | None:
    """Return the row of a function by its full name, by its module and its last part, or by its module alone."""
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
    """Return the rows of a command, by its program and arguments."""
    return [row for when, row in _table("shell").programs.get(program, ()) if when.match(arguments)]


@cache
def judged_programs() -> frozenset[str]:
    """Return the names of the programs in the shell table."""
    return frozenset(_table("shell").programs)


@cache
def judged_roots(language: str) -> frozenset[str]:
    """Return the modules whose functions are in the table of `language`."""
    table = _table(language)
    known = {name.partition(".")[0] for name in table.names} | set(table.roots)
    return frozenset(known.union(*(roots for rows in table.verbs.values() for roots, _ in rows)))


class Call:
    """A call, with everything known about it."""

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
        """The dotted name of the function, such as `fs.readFileSync`, or empty if it is unknown."""
        self.verb = verb or name.rpartition(".")[2]
        """The last part of the name."""
        self.callee = callee
        self.owner = owner
        """The object that the method is called on."""
        self.args = list(args)
        self.words = words
        """Arguments by name, and the members of objects that are passed as options."""
        self.node = node
        self.scope = scope
        self.made = made
        """Whether the call may create an object: in JavaScript, whether it is written with `new`."""
        self.names: dict[Place, str] = {}
        """The names that the program uses for the arguments and the owner."""
        self.row = Row()
        self.folder: str | None = None
        """The directory in which a command of a script runs, or empty if the script does not say so."""

    def arg(self, index: int, word: str = "") -> Value:
        """Return an argument by number or by name."""
        return self.args[index] if 0 <= index < len(self.args) else self.words.get(word, NOTHING)

    def alternatives(self, most: int) -> Iterator[Call]:
        """Yield copies of the call in which one argument, or a part of it, has another of its texts, those first that can be
        trusted least."""
        places: list[tuple[Place, Value]] = [*enumerate(self.args), *self.words.items(), ("owner", self.owner)]
        others = [(distrust(text), place, other) for place, value in places for text, other in _alternatives(value)]
        for _, place, other in sorted(others, key=itemgetter(0), reverse=True)[:most]:
            made = copy(self)
            made.args, made.words = list(self.args), dict(self.words)
            if isinstance(place, int):
                made.args[place] = other
            elif place in self.words:
                made.words[place] = other
            else:
                made.owner = other
            yield made

    def every(self) -> list[Value]:
        """Return all arguments."""
        return [*self.args, *self.words.values()]

    def place(self, places: Sequence[Place]) -> Place | None:
        """Return the first of `places` that the call has, or None."""
        for place in places:
            there = (
                -len(self.args) <= place < len(self.args)
                if isinstance(place, int)
                else place == "owner" or place in self.words
            )
            if there:
                return place
        return None

    def part(self, places: Sequence[Place]) -> Value:
        """Return the value at the first of `places` that the call has."""
        place = self.place(places)
        if place is None:
            return NOTHING
        return self.args[place] if isinstance(place, int) else self.words.get(place, self.owner)

    def key(self, places: Sequence[Place]) -> str:
        """Return the identity of the path at a place: its text, or the name that the program uses for it."""
        value, place = self.part(places), self.place(places)
        text = value.path or value.said
        if text.replace(HOLE, "").strip("/. "):
            return text
        return self.names.get(place, "") if place is not None else ""


def _alternatives(value: Value) -> Iterator[tuple[str, Value]]:
    """Yield a value with each other text that may be an address, a path or a command; of a list or map, one part is another."""
    field = "path" if value.path and value.text is None else "const"
    yield from ((text, value.but(**{field: text}, choices=())) for text in value.choices if TELLING.search(text))
    for at, part in enumerate((value.items or ())[:_MOST_PARTS]):
        for text, other in _alternatives(part) if part.choices else ():
            items = list(value.items or ())
            items[at] = other
            yield text, value.but(items=items, const=UNKNOWN)
    for name, part in list((value.props or {}).items())[:_MOST_PARTS]:
        for text, other in _alternatives(part) if part.choices else ():
            yield text, value.but(props={**(value.props or {}), name: other})


_MOST_PARTS = 20
"""Maximum number of parts of a value that may each be another."""
