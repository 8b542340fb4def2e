"""What an expression needs, read off its parsed form: `benchmarks/literals.py` writes it down for every shipped one."""

from __future__ import annotations

from typing import Any

from whet.guard.literals import FLAGS, LENGTH, Needs

_NEEDS = 6
"""Needs of an expression that are looked for: those that the fewest texts meet."""
_VAGUE = 80
"""What costs so much says nothing."""
_WAYS = 400
"""Different words that one place of an expression can hold, before it counts as anything."""
_COMMON = frozenset(
    (
        *("the", "a", "an", "and", "or", "to", "of", "in", "is", "it", "for", "on", "with", "as", "by", "at"),
        *("be", "this", "that", "from", "you", "your", "if", "not", "do", "are", "all", "any"),
    )
)


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
"""The letters since the word began, one for each way to get here: `""` at the beginning, None where nobody knows."""
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
