"""What must stand in a text for an expression to match it, derived from the expression itself.

A need is a set of beginnings of words, one of which must be there: `\\b(?:send|post)\\b.{0,40}\\bkeys?\\b` needs `send` or `post`,
and `key` or `keys`. An expression that is a choice has several ways, each with needs of its own. A text is parted into words once, and only the expressions whose needs its words meet are compiled and tried. Words
are known by their first eight letters; a shorter beginning after which the word may go on ends in `*`.

Deriving takes longer than matching: what every shipped expression needs is prepared in `data/literals.json`, which
`benchmarks/literals.py` writes and a test compares. An expression that is not in there is derived when it is first used.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from whet.guard.expression import expression
from whet.guard.tables import load_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Needs = tuple[tuple[frozenset[str], ...], ...]
"""The ways to match an expression, each with what it needs."""
FLAGS = re.IGNORECASE | re.MULTILINE
LENGTH = 8
"""Letters of a word that are looked at."""
_KNOWN = 100_000
_NEEDS = 6
"""Needs of an expression that are looked for: those that the fewest texts meet."""
_VAGUE = 80
"""What costs so much says nothing."""
_WAYS = 400
"""Different words that one place of an expression can hold, before it counts as anything."""
_WORD = expression(r"[^\W_]+")
_LETTERS = bytes(code if chr(code).isascii() and chr(code).isalnum() else 32 for code in range(256)).lower()
_ASCII = bytes(range(128))
_ROWS = _LETTERS[:10] + b"\n" + _LETTERS[11:]
_COMMON = frozenset(
    (
        *("the", "a", "an", "and", "or", "to", "of", "in", "is", "it", "for", "on", "with", "as", "by", "at"),
        *("be", "this", "that", "from", "you", "your", "if", "not", "do", "are", "all", "any"),
    )
)


def vocabulary(text: str) -> set[str]:
    """The words of a text in lower case; `_` and every sign part them."""
    if _has_foreign_letters(text):
        return set(_WORD.findall(text.lower()))
    return set(text.encode("ascii", "replace").translate(_LETTERS).decode().split())


def _has_foreign_letters(text: str) -> bool:
    """Are there letters beyond ASCII? Dashes, arrows and pictures, which most texts have, are none."""
    if text.isascii():
        return False
    rest = text.encode("utf-8", "replace").translate(None, _ASCII).decode()
    return any(map(str.isalnum, set(rest)))


def _row_words(rows: Sequence[str]) -> list[Collection[str]]:
    """The words of each row."""
    whole = "\n".join(rows)
    if whole.count("\n") == len(rows) - 1 and not _has_foreign_letters(whole):
        return [row.split() for row in whole.encode("ascii", "replace").translate(_ROWS).decode().split("\n")]
    return [vocabulary(row) for row in rows]


class Way(NamedTuple):
    """One way to match an expression: the need that the fewest texts meet, as a number, and all needs as bits."""

    regex: str
    rarest: int
    mask: int


class Literals:
    """The needs of several expressions, each a bit, so that what a text meets is one number."""

    __slots__ = ("_always", "_dull", "_known", "_telling", "_ways", "_whole", "_within")

    def __init__(self, expressions: Iterable[str]) -> None:
        numbers: dict[frozenset[str], int] = {}
        self._always: list[str] = []
        self._ways: dict[int, list[Way]] = {}
        for regex in expressions:
            for way in needs(regex):
                if not way:
                    self._always.append(regex)
                    continue
                bits = [numbers.setdefault(need, len(numbers)) for need in way]
                self._ways.setdefault(bits[0], []).append(Way(regex, bits[0], sum(1 << bit for bit in bits)))
        self._whole: dict[str, list[int]] = {}
        self._within: dict[str, list[int]] = {}
        for need, number in numbers.items():
            for key in need:
                table = self._within if key.endswith("*") else self._whole
                table.setdefault(key.rstrip("*"), []).append(number)
        self._known: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._telling: set[str] = set()
        self._dull: set[str] = set()

    def met(self, text: str) -> set[str]:
        """The expressions that the words of a text may match."""
        return {*self._always, *(way.regex for way in self._live(self._tell(vocabulary(text))))}

    def rows(self, rows: Sequence[str]) -> dict[str, Collection[int]]:
        """The expressions that rows of a text may match, each with the numbers of these rows."""
        found: dict[str, Collection[int]] = {regex: range(len(rows)) for regex in self._always}
        words = _row_words(rows)
        told = self._tell(set().union(*words))
        live = self._live(told)
        if not live:
            return found
        where: dict[int, list[int]] = {way.rarest: [] for way in live}
        wanted = 0
        for way in live:
            wanted |= way.mask
        telling: dict[str, tuple[int, tuple[int, ...]]] = {}
        for word in told:
            bits, rarest = self._known[word]
            if bits & wanted:
                telling[word] = bits, tuple(one for one in rarest if one in where)
        rare = {word for word, (_, rarest) in telling.items() if rarest}
        common = set(telling)
        met = [0] * len(rows)
        for number, row in enumerate(words):
            if rare.isdisjoint(row):
                continue
            mask = 0
            for word in common.intersection(row):
                bits, rarest = telling[word]
                mask |= bits
                for one in rarest:
                    where[one].append(number)
            met[number] = mask
        chosen: dict[str, set[int]] = {}
        for regex, rarest_, mask in live:
            if numbers := [number for number in where[rarest_] if met[number] & mask == mask]:
                chosen.setdefault(regex, set()).update(numbers)
        found.update((regex, sorted(numbers)) for regex, numbers in chosen.items())
        return found

    def _tell(self, words: set[str]) -> set[str]:
        """Those of some words that an expression needs."""
        if len(self._dull) > _KNOWN:
            self._dull.clear()
            self._telling.clear()
            self._known.clear()
        for word in words.difference(self._dull, self._telling):
            self._learn(word)
        return words.intersection(self._telling)

    def _live(self, words: set[str]) -> list[Way]:
        """The ways whose needs words meet."""
        mask = 0
        rarest: set[int] = set()
        for word in words:
            bits, rare = self._known[word]
            mask |= bits
            rarest.update(rare)
        return [way for one in rarest for way in self._ways[one] if mask & way.mask == way.mask]

    def _learn(self, word: str) -> None:
        numbers = {*self._whole.get(word[:LENGTH], ())}.union(
            *(self._within.get(word[:end], ()) for end in range(1, LENGTH))
        )
        if not numbers:
            self._dull.add(word)
            return
        rarest = tuple(number for number in numbers if number in self._ways)
        self._known[word] = sum(1 << number for number in numbers), rarest
        self._telling.add(word)


@lru_cache(maxsize=4096)
def needs(regex: str) -> Needs:
    """What an expression needs: of one way at least everything."""
    prepared = _prepared().get(key_of(regex))
    return derive(regex) if prepared is None else tuple(tuple(map(frozenset, way)) for way in prepared)


def key_of(regex: str) -> str:
    """The name of an expression in the prepared table."""
    return f"{crc32(regex.encode()):08x}"


@cache
def _prepared() -> dict[str, list[list[list[str]]]]:
    table: dict[str, list[list[list[str]]]] = load_table("literals")
    return table


@cache
def all_beginnings() -> frozenset[str]:
    """The first four letters of the words that any shipped expression looks for; words of fewer letters are whole."""
    keys = (key for ways in _prepared().values() for way in ways for need in way for key in need)
    return frozenset(key[:4] for key in keys if "*" not in key[:4])


def derive(regex: str) -> Needs:
    """What an expression needs, read off its parsed form; a way without needs where any word could be in a match."""
    from re import _parser  # type: ignore[attr-defined]  # the parsed form has no public name

    tree = list(_parser.parse(regex, FLAGS))
    walk = _Walk()
    ways = []
    for one in walk.parted(tree):
        found: list[frozenset[str]] = []
        _flush(walk.sequence(one, None, found), found)
        kept: list[frozenset[str]] = []
        for need in sorted(set(found), key=lambda need: (_cost(need), sorted(need))):
            if _cost(need) < _VAGUE and not any(_implies(other, need) for other in kept):
                kept = [*(other for other in kept if not _implies(need, other)), need]
        ways.append(tuple(kept[:_NEEDS]))
    return tuple(ways) if all(ways) else ((),)


def _implies(one: frozenset[str], other: frozenset[str]) -> bool:
    """Does every text that meets one need meet the other?"""
    return all(key in other or any(f"{key[:end]}*" in other for end in range(1, LENGTH)) for key in one)


def _cost(need: frozenset[str]) -> int:
    """How many texts may meet a need, roughly."""
    return sum(8 if key in _COMMON or (key[-1] == "*" and len(key) < 3) else 3 if key[3:] == "*" else 1 for key in need)


_Open = frozenset[str] | None
"""The letters since the word began, one for each way to get here; `""` right at the beginning, None where nobody knows."""
_START = frozenset(("",))


def _flush(opened: _Open, found: list[frozenset[str]]) -> None:
    """What has been read of a word is needed, however it goes on."""
    if opened and "" not in opened:
        found.append(frozenset(word if len(word) >= LENGTH else f"{word}*" for word in opened))


def _lose(opened: _Open, found: list[frozenset[str]]) -> _Open:
    """From here on nobody knows the word."""
    _flush(opened, found)
    return None


def _close(opened: _Open, found: list[frozenset[str]]) -> _Open:
    """Here the word ends, and another may begin."""
    if opened and "" not in opened:
        found.append(opened)
    return _START


class _Walk:
    """Goes through a parsed expression with what is known of the word at each place, and collects needs."""

    def __init__(self) -> None:
        from re import _constants  # type: ignore[attr-defined]  # the parsed form has no public name

        self.c: Any = _constants

    def parted(self, items: list[Any]) -> list[list[Any]]:
        """The ways of an expression that is a choice, each as a sequence of its own."""
        last: Any = items[-1] if items else (None, None)
        if last[0] is self.c.SUBPATTERN and len(last[1][3]) == 1:
            last = last[1][3][0]
        return [[*items[:-1], *way] for way in last[1][1]] if last[0] is self.c.BRANCH else [items]

    def sequence(self, items: Any, opened: _Open, found: list[frozenset[str]]) -> _Open:
        c = self.c
        for kind, value in items:
            if kind in (c.LITERAL, c.IN):
                opened = self.character(value if kind is c.IN else ((kind, value),), opened, found)
            elif kind is c.SUBPATTERN or kind is c.ATOMIC_GROUP:
                opened = self.sequence(value[3] if kind is c.SUBPATTERN else value, opened, found)
            elif kind is c.BRANCH:
                opened = self.branch(value[1], opened, found)
            elif kind in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
                opened = self.repeat(value, opened, found)
            elif kind is c.AT and value is c.AT_BOUNDARY:
                opened = _close(opened, found)
            elif kind is c.AT and value in (c.AT_BEGINNING, c.AT_BEGINNING_STRING):
                opened = _START
            elif kind is c.ASSERT_NOT and value[0] < 0:
                opened = _START if opened is None and self.no_word(list(value[1])) else opened
            elif kind not in (c.ASSERT, c.ASSERT_NOT, c.AT) or value is c.AT_NON_BOUNDARY:
                opened = _lose(opened, found)
        return opened

    def no_word(self, behind: list[Any]) -> bool:
        """Does a look back say that no letter stands there?"""
        c = self.c
        return len(behind) == 1 and behind[0][0] is c.IN and (c.CATEGORY, c.CATEGORY_WORD) in behind[0][1]

    def character(self, members: Any, opened: _Open, found: list[frozenset[str]]) -> _Open:
        letters, parts = self.members(members)
        if not letters:
            return _close(opened, found) if parts else _lose(opened, found)
        if opened is None:
            return None
        if parts:
            _flush(opened, found)
        grown = frozenset(word if len(word) >= LENGTH else word + one for word in opened for one in letters)
        if len(grown) > _WAYS:
            return _lose(opened, found)
        return grown | _START if parts else grown

    def members(self, members: Any) -> tuple[set[str], bool]:
        """The letters that a character may be, and whether it may part words; neither for what may be anything."""
        c = self.c
        letters, parts = set[str](), False
        for kind, value in members:
            if kind is c.CATEGORY and value in (c.CATEGORY_SPACE, c.CATEGORY_NOT_WORD):
                parts = True
            elif kind is c.LITERAL or (kind is c.RANGE and value[1] - value[0] < 64):
                low, high = (value, value) if kind is c.LITERAL else value
                ones = {chr(code).lower() for code in range(low, high + 1)}
                letters |= set(filter(str.isalnum, ones))
                parts |= not all(map(str.isalnum, ones))
            else:
                return set(), False
        return letters, parts

    def branch(self, branches: Any, opened: _Open, found: list[frozenset[str]]) -> _Open:
        best: list[frozenset[str]] = []
        ends: list[_Open] = []
        for one in branches:
            inner: list[frozenset[str]] = []
            ends.append(self.sequence(one, opened, inner))
            _flush(ends[-1], inner)
            best += [min(inner, key=_cost)] if inner else []
        if len(best) == len(ends):
            found.append(frozenset().union(*best))
        return _either(*ends)

    def repeat(self, value: Any, opened: _Open, found: list[frozenset[str]]) -> _Open:
        least, most, items = value
        _flush(opened, found)
        once = self.sequence(items, opened, found if least else [])
        again = once if most == 1 else self.sequence(items, once, [])
        after = _either(once, again) if again == once else None
        if least and after is None:
            _flush(once, found)
        return after if least else _either(opened, after)


def _either(*ways: _Open) -> _Open:
    known = [way for way in ways if way is not None]
    every = frozenset[str]().union(*known)
    return every if len(known) == len(ways) and len(every) <= _WAYS else None
