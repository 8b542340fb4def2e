"""Tier 1 of disclosure: the list of skills, filtered and paged. It reads no body, ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.skill.names import key as name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.library.card import Card


def list_answer(
    cards: Iterable[Card],
    *,
    category: str | None,
    query: str | None,
    limit: int | None,
    cursor: str | None,
    describe: Callable[[Card], dict[str, Any]],
    categories: dict[str, str],
) -> dict[str, Any]:
    """The list of skills, sorted by name. `cursor` is the `next` of the page before."""
    if limit is not None and limit < 1:
        raise UsageError("bad-limit", f"A page of {limit} skills makes no sense.", hint="Give a limit of 1 or more.")
    counts: dict[str, int] = {}
    chosen: list[Card] = []
    words = name_key(query).split() if query else []
    for card in cards:
        counts[card.category] = counts.get(card.category, 0) + 1
        if category is not None and not _in_category(card.category, category):
            continue
        if words and not _mentions(card, words):
            continue
        chosen.append(card)
    total = len(chosen)
    if cursor:
        chosen = [card for card in chosen if card.key > cursor]
    page = chosen[:limit] if limit else chosen
    further = page[-1].key if len(page) < len(chosen) else None
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


def _mentions(card: Card, words: list[str]) -> bool:
    text = f"{card.key} {name_key(card.description)} {name_key(card.category)}"
    return all(word in text for word in words)


def _list_hint(total: int, shown: int, further: str | None, category: str | None, query: str | None) -> str:
    if further:
        return f"{shown} of {total}; ask again with cursor {further!r} for more."
    if not total and (category or query):
        return "Nothing matches; leave out the query or the category to see everything."
    if not total:
        return "No skills yet. `whet new NAME` makes one."
    return "Open one with its name to read its instructions."
