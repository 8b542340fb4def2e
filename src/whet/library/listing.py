"""Tier 1 of disclosure: the list of skills, filtered, ordered and paged. It reads no body, ever.

With a query the best match comes first: skills whose names have all its words, then those that have them in name,
description or category, then those that whoever knows the bodies (`scores`) finds to fit better than these, or, where
there are none of these, nearly as well as the best. Skills that are listed though they are hidden are measured against
the others and move none of them in or out. A cursor names the last skill of a page, so that pages stay in step when
skills come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.skill.names import key as name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whet.library.card import Card

    Scores = Callable[[str, list[Card]], Mapping[str, float]]
    """How well the skills that fit a query best fit it, from 0 to 1, by path."""

_CLOSE = 0.5
"""Where no skill has all the words, those are listed that fit at least this much as well as the one that fits best."""
_MOST_DIGITS = 18


def list_answer(
    cards: Iterable[Card],
    *,
    category: str | None,
    query: str | None,
    limit: int | None,
    cursor: str | None,
    describe: Callable[[Card], dict[str, Any]],
    categories: dict[str, str],
    scores: Scores,
    apart: Callable[[Card], bool] = lambda _: False,
) -> dict[str, Any]:
    """The list of skills. `cursor` is the `next` of the page before; `apart` says which are hidden."""
    if limit is not None and limit < 1:
        raise UsageError("bad-limit", f"A page of {limit} skills makes no sense.", hint="Give a limit of 1 or more.")
    counts: dict[str, int] = {}
    among: list[Card] = []
    for card in cards:
        counts[card.category] = counts.get(card.category, 0) + 1
        if category is None or _in_category(card.category, category):
            among.append(card)
    if query and query.split():
        chosen, page, further = _best_first(_matching(among, query, scores, apart), limit, cursor)
    else:
        chosen = among
        rest = [card for card in chosen if card.key > cursor] if cursor else chosen
        page = rest[:limit] if limit else rest
        further = page[-1].key if len(page) < len(rest) else None
    total = len(chosen)
    return {
        "success": True,
        "skills": [describe(card) for card in page],
        "categories": [
            {"name": name, "count": counts[name], "description": categories.get(name, "")}
            for name in sorted(counts)
            if name
        ],
        "count": len(page),
        "total": total,
        "next": further,
        "hint": _list_hint(total, len(page), further, category, query),
    }


def _in_category(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}/")


def _best_first(chosen: list[Card], limit: int | None, cursor: str | None) -> tuple[list[Card], list[Card], str | None]:
    """What matches a query, one page of it, and the cursor of the next page."""
    after = _read_cursor(cursor) if cursor else None
    start = 0
    if after is not None:  # behind the skill it names; where that is gone, where it was
        place, key = after
        start = next((at for at, card in enumerate(chosen, 1) if card.key == key), max(0, place - 1))
    page = chosen[start : start + limit] if limit else chosen[start:]
    end = start + len(page)
    return chosen, page, f"{end}.{page[-1].key}" if page and end < len(chosen) else None


def _matching(cards: list[Card], query: str, scores: Scores, apart: Callable[[Card], bool]) -> list[Card]:
    """The skills that match, the best first."""
    words = name_key(query).split()
    shown = [card for card in cards if not apart(card)]
    beside = [card for card in cards if apart(card)]
    known = {**(scores(query, beside) if beside else {}), **(scores(query, shown) if shown else {})}
    named: list[Card] = []
    told: list[Card] = []
    others: list[Card] = []
    for card in cards:
        if all(word in card.key for word in words):
            named.append(card)
        elif all(word in f"{card.key} {name_key(card.description)} {name_key(card.category)}" for word in words):
            told.append(card)
        elif card.path in known:
            others.append(card)

    def best_first(card: Card) -> tuple[float, str]:
        return -known.get(card.path, 0.0), card.key

    literal = [*sorted(named, key=best_first), *sorted(told, key=best_first)]
    measures = [card for card in literal if not apart(card)]
    if measures:
        best = max(known.get(card.path, 0.0) for card in measures)
        others = [card for card in others if known[card.path] > best]
    else:
        least = _CLOSE * max((known.get(card.path, 0.0) for card in shown or cards), default=0.0)
        others = [card for card in others if known[card.path] >= least]
    return [*literal, *sorted(others, key=best_first)]


def _read_cursor(cursor: str) -> tuple[int, str]:
    place, _, key = cursor.partition(".")
    if not (place.isdecimal() and len(place) < _MOST_DIGITS and key):
        hint = "Give the `next` of the page before, with the same query."
        raise UsageError("bad-cursor", f"{cursor!r} is no cursor of a query.", hint=hint)
    return int(place), key


def _list_hint(total: int, shown: int, further: str | None, category: str | None, query: str | None) -> str:
    if further:
        return f"{shown} of {total}; ask again with cursor {further!r} for more."
    if not total and (category or query):
        return "Nothing matches; leave out the query or the category to see everything."
    if not total:
        return "No skills yet. `whet new NAME` makes one."
    return "Open one with its name to read its instructions."
