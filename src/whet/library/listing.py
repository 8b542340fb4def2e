"""Tier 1 of disclosure: the list of skills, filtered, ordered and paged. It never reads a body.

With a query the best match comes first: skills whose names have all its words, then those that have them in name,
description or category, then those whose bodies fit better than these (`scores`) or, if there are none of these, nearly
as well as the best. Hidden skills in the list are compared with the others and do not change which of them are listed.
A cursor names the last skill of a page, so that pages stay consistent when skills are added or removed.
"""

from __future__ import annotations

import os

from whet.errors import UsageError
from whet.library.catalogue import left_out, shadowed, untrusted
from whet.library.readiness import missing
from whet.library.visibility import can_be_hidden, hidden_cards, is_marked
from whet.records import NamedTuple
from whet.skill.gates import OPEN
from whet.values import Json, Rows, fields_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from whet.library.card import Card
    from whet.library.visibility import Caller
    from whet.library.workspace import Snapshot
    from whet.skill.rank import Ranking

    Scores = Callable[[str, Collection[str]], Mapping[str, float]]
    """How well the best-fitting of the skills at these paths fit a query, from 0 to 1, by path."""

LIST_SCOPES = ("project", "user", "org", "external", "plugin")
STATES = ("ready", "not-ready", "hidden")
"""States of a skill in a list: `not-ready` ones need a program or a key, `hidden` ones are not offered."""
_CLOSE = 0.3
"""If no skill has all the words, skills are listed whose score is at least this share of the best one."""
_MOST_DIGITS = 18


class Category(NamedTuple):
    name: str
    skills: int
    """Number of skills in it."""
    description: str

    def to_json(self) -> Json:
        """Return the category as JSON."""
        return {"name": self.name, "count": self.skills, "description": self.description}


class Aside(NamedTuple):
    """Counts of skills that are not listed."""

    waiting: int = 0
    """Skills of a repository that waits for trust."""
    hidden: int = 0
    """Skills that are hidden from this caller."""
    shadowed: int = 0
    """Skills shadowed by another of the same name; 0 if they are listed."""
    left_out: int = 0
    """Skills that cannot be read."""
    missing_roots: tuple[str, ...] = ()
    """Roots that do not exist."""


class Skills(Rows["Card"]):
    """A page of the skills that a caller may see."""

    __slots__ = ("aside", "categories", "hint", "next", "total", "verdicts")

    def __init__(
        self,
        cards: list[Card],
        categories: tuple[Category, ...],
        total: int,
        next: str | None,  # noqa: A002  what it is called on every surface
        hint: str,
        aside: Aside,
    ) -> None:
        super().__init__(cards)
        self.categories = categories
        """The categories, counted over all skills."""
        self.total = total
        """Number of matches on all pages."""
        self.next = next
        """The cursor of the next page; None after the last."""
        self.hint = hint
        self.aside = aside
        self.verdicts: Mapping[str, tuple[tuple[str, str], ...]] = {}
        """By path, the decision of each client used here about the skill; empty unless requested."""

    def to_json(self) -> Json:
        """Return the list as JSON."""
        return {
            "success": True,
            "skills": [
                {**card.to_json(), **({"clients": dict(told)} if (told := self.verdicts.get(card.path)) else {})}
                for card in self
            ],
            "categories": [category.to_json() for category in self.categories],
            "count": len(self),
            "total": self.total,
            "next": self.next,
            "hint": self.hint,
            **{name: value for name, value in fields_json(self.aside).items() if value},
        }


class _Ranked(NamedTuple):
    """Skills prepared for queries."""

    cards: list[Card]
    places: dict[str, int]
    """The position of each card in the list, by path."""
    ranking: Ranking


class _Look(NamedTuple):
    """Data that every list of a catalogue needs."""

    cards: tuple[Card, ...]
    unsure: tuple[Card, ...]
    """Skills that could be hidden even if nothing is disabled."""
    counts: dict[str, int]
    """Number of skills per category."""


def _counted(cards: Iterable[Card]) -> dict[str, int]:
    """Return the number of skills per category."""
    counts: dict[str, int] = {}
    for card in cards:
        counts[card.category] = counts.get(card.category, 0) + 1
    return counts


class LastRanking:
    """Data that the last list or search prepared for the next one: the user types, or asks for the next page."""

    def __init__(self) -> None:
        self._last: _Ranked | None = None
        self._look: _Look | None = None

    def look(self, cards: tuple[Card, ...]) -> _Look:
        """Return the prepared data of a catalogue's skills."""
        last = self._look
        if last is None or last.cards is not cards:
            last = self._look = _Look(cards, tuple(filter(can_be_hidden, cards)), _counted(cards))
        return last

    def of(self, cards: list[Card]) -> _Ranked:
        """Return these skills, prepared for queries."""
        from operator import is_

        last = self._last
        if last is None or len(last.cards) != len(cards) or not all(map(is_, last.cards, cards)):
            from whet.skill.rank import Entry, Ranking

            entries = [Entry(card.name, card.category, card.description) for card in cards]
            last = _Ranked([*cards], {card.path: at for at, card in enumerate(cards)}, Ranking(entries))
            self._last = last
        return last


def list_skills(
    snapshot: Snapshot,
    caller: Caller,
    scores: Scores,
    *,
    ranking: LastRanking | None = None,
    category: str | None = None,
    query: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    include_hidden: bool = False,
    scope: str | None = None,
    state: str | None = None,
) -> Skills:
    """Return the skills that this caller may see. `cursor` is the `next` of the previous page.

    Pass a `ranking` to list often.
    """
    if limit is not None and limit < 1:
        raise UsageError("bad-limit", f"The limit must be at least 1, not {limit}.", hint="Pass a limit of 1 or more.")
    for what, given, known in (("scope", scope, LIST_SCOPES), ("state", state, STATES)):
        if given is not None and given not in known:
            hint = f"Use one of {', '.join(known)}."
            raise UsageError("bad-filter", f"{given!r:.40} is not a {what}.", hint=hint)
    include_hidden = include_hidden or state == "hidden"
    catalogue, disabled, probe = snapshot.catalogue, snapshot.config.disabled, snapshot.config.probe
    look = (ranking or LastRanking()).look(catalogue.cards)
    looked_at = look.unsure if disabled.none else catalogue.cards
    reasons = {card.path: reason for card, reason in hidden_cards(looked_at, caller, disabled, probe)}
    cards = [*catalogue.cards]
    if include_hidden and (catalogue.waiting or catalogue.shadowed):
        reasons |= {card.path: untrusted(card) for card in catalogue.waiting}
        reasons |= {loser.path: shadowed(loser, winner) for loser, winner in catalogue.shadowed}
        others = (*catalogue.waiting, *(loser for loser, _ in catalogue.shadowed))
        cards = sorted((*cards, *others), key=lambda card: card.key)
    elif reasons and not include_hidden:
        cards = [
            card for card in cards if (reason := reasons.get(card.path)) is None or is_marked(card, reason, caller)
        ]
    counts = look.counts if len(cards) == len(catalogue.cards) else _counted(cards)
    among = cards if category is None else [card for card in cards if _in_category(card.category, category)]
    if scope is not None:
        among = [card for card in among if card.scope == scope]
    if state == "hidden":
        among = [card for card in among if card.path in reasons]
    elif state is not None:
        ready = state == "ready"
        shown = (card for card in among if card.path not in reasons)
        among = [card for card in shown if (card.gates is OPEN or not missing(card.gates, probe)) is ready]
    if query and query.split():
        chosen, page, further = _best_first(
            _matching(among, query, scores, ranking or LastRanking(), reasons), limit, cursor
        )
    else:
        chosen = among
        rest = [card for card in chosen if card.key > cursor] if cursor else chosen
        if cursor and not rest and chosen and cursor != chosen[-1].key:
            raise _bad_cursor(cursor)
        page = rest[: _whole_names(rest, limit)] if limit else rest
        further = page[-1].key if len(page) < len(rest) else None
    plain = disabled.none and not reasons
    listed = [
        card
        if plain and card.ready
        else card._replace(
            ready=card.gates is OPEN or not missing(card.gates, probe),
            hidden=reasons[card.path].code if card.path in reasons else "",
            listing=disabled.listed(card).mode.removeprefix("normal"),
            verdict=blocked.verdict if (blocked := disabled.kept_back(card)) else "",
        )
        for card in page
    ]
    return Skills(
        listed,
        tuple(Category(name, counts[name], catalogue.categories.get(name, "")) for name in sorted(counts) if name),
        len(chosen),
        further,
        _list_hint(len(chosen), len(page), further, category, query),
        Aside(
            len(catalogue.waiting),
            0 if include_hidden else len(catalogue.cards) - len(cards),
            0 if include_hidden else len(catalogue.shadowed),
            len(left_out(catalogue)),
            tuple(root.path for root in catalogue.roots if not os.path.isdir(root.real)),
        ),
    )


def _whole_names(cards: list[Card], limit: int) -> int:
    """Return the length of a page: it ends before another name begins, because a cursor names its last skill."""
    end = min(limit, len(cards))
    while 0 < end < len(cards) and cards[end].key == cards[end - 1].key:
        end -= 1
    if not end:  # more than a page have the same name
        end = next((at for at, card in enumerate(cards) if card.key != cards[0].key), len(cards))
    return end


def _in_category(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}/")


def _best_first(chosen: list[Card], limit: int | None, cursor: str | None) -> tuple[list[Card], list[Card], str | None]:
    """Return the matches of a query, one page of them, and the cursor of the next page."""
    after = _read_cursor(cursor) if cursor else None
    start = 0
    if after is not None:  # after the skill it names or, if that is gone, at its position
        place, key = after
        start = next((at for at, card in enumerate(chosen, 1) if card.key == key), max(0, place - 1))
    page = chosen[start : start + limit] if limit else chosen[start:]
    end = start + len(page)
    return chosen, page, f"{end}.{page[-1].key}" if page and end < len(chosen) else None


def _matching(
    cards: list[Card], query: str, scores: Scores, ranking: LastRanking, apart: Collection[str]
) -> list[Card]:
    """Return the skills that match, the best first; `apart` are the paths of hidden ones."""
    from whet.skill.rank import IN_NAME

    _, places, ranked = ranking.of(cards)
    beside = places.keys() & apart
    shown = places.keys() - beside if beside else places.keys()
    known = {**(scores(query, beside) if beside else {}), **(scores(query, shown) if shown else {})}
    whole = {at: fit for at, fit in ranked.rank(query).items() if fit.whole}
    named = [cards[at] for at, fit in whole.items() if fit.tier <= IN_NAME]
    told = [cards[at] for at, fit in whole.items() if fit.tier > IN_NAME]
    others = [cards[at] for at in map(places.__getitem__, known) if at not in whole]

    def best_first(card: Card) -> tuple[float, str]:
        return -known.get(card.path, 0.0), card.key

    literal = [*sorted(named, key=best_first), *sorted(told, key=best_first)]
    measures = [card for card in literal if card.path not in apart]
    if measures:
        best = max(known.get(card.path, 0.0) for card in measures)
        others = [card for card in others if known[card.path] > best]
    else:
        least = _CLOSE * max((score for path, score in known.items() if path in (shown or places)), default=0.0)
        others = [card for card in others if known[card.path] >= least]
    return [*literal, *sorted(others, key=best_first)]


def _read_cursor(cursor: str) -> tuple[int, str]:
    place, _, key = cursor.partition(".")
    if not (place.isdecimal() and len(place) < _MOST_DIGITS and key):
        raise _bad_cursor(cursor)
    return int(place), key


def _bad_cursor(cursor: str) -> UsageError:
    hint = "Pass the `next` value of the previous page, with the same query; leave it out to start again."
    return UsageError("bad-cursor", f"{cursor!r:.80} is not a cursor of this list.", hint=hint)


def _list_hint(total: int, shown: int, further: str | None, category: str | None, query: str | None) -> str:
    if further:
        return f"{shown} of {total}; pass cursor {further!r} for more."
    if not total and (category or query):
        return "Nothing matches. Drop the query or the category to see everything."
    if not total:
        return "No skills yet. `whet new NAME` creates one; `whet gallery` shows what ships with Whet."
    if not shown:
        return f"The cursor is after the last of {total} skills. Leave it out to start again."
    return "Open a skill by name to read its instructions."
