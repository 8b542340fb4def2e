"""The catalogue: an immutable snapshot of the skills, and of which one each name refers to.

Names are compared by `whet.skill.names.key`. The root that comes first wins; the loser is *shadowed*: reported, and
still reachable by its qualified name or its path. A file reached twice is one skill. Skills of an untrusted
repository are *waiting*: counted and named, never loaded.
"""

from __future__ import annotations

import os
from _collections_abc import Mapping  # `collections.abc` loads `collections`
from itertools import permutations

from whet.errors import AmbiguousError, NotFoundError, RefusedError
from whet.library.files import inside
from whet.library.roots import gallery_names
from whet.notes import Note
from whet.records import NamedTuple, cached_property
from whet.skill.names import closest, split_qualified
from whet.skill.names import key as name_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from whet.library.card import Card
    from whet.library.discovery import RootListing
    from whet.library.roots import Root


class Catalogue(NamedTuple):
    """All skills, and which one each name refers to."""

    cards: tuple[Card, ...]
    """The skills that their names refer to, sorted by name."""
    shadowed: tuple[tuple[Card, Card], ...]
    """Pairs of a skill and the one that its name refers to instead."""
    waiting: tuple[Card, ...]
    """Skills of a repository that is not trusted."""
    roots: tuple[Root, ...]
    """The roots that were searched, highest precedence first."""
    categories: dict[str, str]
    """Category -> text of its DESCRIPTION.md, or ""."""
    places: tuple[Note, ...]
    """Remarks about directories, links and files that are not skills."""
    by_key: dict[str, Card]
    """The cards by their `key`."""

    def at(self, place: str) -> Card | None:
        """Return the skill at a resolved path, even one that is shadowed or waits for trust."""
        cards = (*self.cards, *(loser for loser, _ in self.shadowed), *self.waiting)
        return next((card for card in cards if card.place == place), None)

    def trusted(self) -> tuple[Card, ...]:
        """Return all skills that may be loaded, even shadowed ones."""
        return (*self.cards, *(loser for loser, _ in self.shadowed))

    def report(self) -> tuple[Note, ...]:
        """Return notes about files that were skipped or repaired, and skills that are shadowed or wait for trust."""
        entries = list(self.places)
        for card in self.cards:
            entries.extend(note.at(card.full_name, card.path) for note in card.notes)
        entries.extend(shadowed(loser, winner) for loser, winner in self.shadowed)
        entries.extend(untrusted(card) for card in self.waiting)
        return tuple(entries)


class CardsById(Mapping[str, "Card"]):
    """The skills of a catalogue by their ids.

    Most are named like their directories and are found by name; only if one is not, all are searched.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._found: dict[str, Card] = {}

    @cached_property
    def _all(self) -> dict[str, Card]:
        return {str(card.id): card for card in self._catalogue.cards}

    def __getitem__(self, key: str) -> Card:
        card = self._found.get(key)
        if card is None:
            card = self._catalogue.by_key.get(name_key(key.rpartition("/")[2]))
            card = self._found[key] = card if card is not None and str(card.id) == key else self._all[key]
        return card

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._catalogue.cards)


def assemble(shelves: Sequence[RootListing], hidden: Collection[str] = ()) -> Catalogue:
    """Build the catalogue from the listings of all roots, in order of precedence.

    `hidden` are the resolved directories of skills to leave out.
    """
    by_key: dict[str, Card] = {}
    losers: list[tuple[Card, Card]] = []
    waiting: list[Card] = []
    categories: dict[str, str] = {}
    places: list[Note] = []
    seen = None if _apart(shelves) else set[str]()
    for shelf in shelves:
        places.extend(shelf.notes)
        for container in shelf.containers.values():
            places.extend(container.notes)
            if container.description and shelf.root.trusted:
                categories.setdefault(container.category, container.description)
        cards = [*shelf.cards()]
        if hidden:
            cards = [card for card in cards if os.path.dirname(card.resolved) not in hidden]
        if not shelf.root.trusted:
            waiting.extend(_ordered(cards, seen))
            continue
        new = {card.key: card for card in cards}
        if seen is None and len(new) == len(cards) and by_key.keys().isdisjoint(new):
            by_key.update(new)  # the usual case: no two skills have the same name, and the order does not matter
            continue
        for card in _ordered(cards, seen):
            winner = by_key.setdefault(card.key, card)
            if winner is not card:
                losers.append((card, winner))
    winners = tuple([by_key[key] for key in sorted(by_key)])
    for name in dict.fromkeys([card.category for card in winners]):
        if name:
            categories.setdefault(name, "")
    return Catalogue(
        winners,
        tuple(losers),
        tuple(waiting),
        tuple(shelf.root for shelf in shelves),
        categories,
        tuple(places),
        by_key,
    )


def find(catalogue: Catalogue, name: str) -> Card:
    """Return the skill that `name` refers to: a name, a qualified name, a directory's name or a path.

    Raises NotFoundError with the closest names, AmbiguousError with the candidates, RefusedError for a waiting skill.
    """
    if card := catalogue.by_key.get(name_key(name)):
        return card
    found = _meant(name, catalogue.trusted())
    if len(found) == 1:
        return found[0]
    if found:
        candidates = [card.location for card in found]
        raise AmbiguousError(
            "ambiguous-name",
            f"{len(found)} skills are named {name!r}.",
            hint="Name one by its path: " + ", ".join(candidates) + ".",
            candidates=candidates,
            name=name,
        )
    raise _not_found(catalogue, name)


def _meant(name: str, cards: Sequence[Card]) -> list[Card]:
    """Return the cards that a qualified name, a path or a directory's name may refer to."""
    scope, bare = split_qualified(name)
    wanted = name_key(bare)
    if scope:
        return [card for card in cards if scope in (card.root.namespace, card.scope) and name_key(card.name) == wanted]
    if os.sep in name or "/" in name:
        return [card for card in cards if _is_at(card, name)]
    return [card for card in cards if card.kind == "skill" and name_key(os.path.basename(card.directory)) == wanted]


def competes(card: Card, roots: Iterable[Root]) -> tuple[Root, ...]:
    """Return the roots whose skills would win against this card if they had its name."""
    before: list[Root] = []
    for root in roots:
        if root.path == card.root.path:
            break
        before.append(root)
    return tuple(before)


def _apart(shelves: Sequence[RootListing]) -> bool:
    """Return whether no file can be reached in two ways: no link leads to a skill, and no root is inside another."""
    roots = [shelf.root.real or shelf.root.path for shelf in shelves if shelf.containers]
    items = [item for shelf in shelves for item in shelf.containers.values()]
    linked = any(card.real for item in items for card in item.cards)
    return not linked and not any(inside(one, other) for one, other in permutations(roots, 2))


def _ordered(cards: list[Card], seen: set[str] | None) -> list[Card]:
    """Sort the skills of a root by path, those reached through a link last: a link never takes a skill's own place.

    With `seen`, return each file once, without files seen in other roots, and add them to `seen`.
    """
    cards = sorted(cards, key=lambda card: (card.real != "", card.path))
    if seen is None:
        return cards
    found: list[Card] = []
    for card in cards:
        if card.resolved not in seen:
            seen.add(card.resolved)
            found.append(card)
    return found


def _is_at(card: Card, name: str) -> bool:
    """Return whether a path (absolute, resolved, or relative to the root such as `category/skill`) is the card's."""
    path = os.path.normpath(name)
    places = [card.path, card.resolved]
    if card.kind == "skill":
        places += [card.directory, os.path.dirname(card.resolved)]
    return path in places or os.path.join(card.root.path, path) in places


LEFT_OUT = frozenset(("link-escape", "link-broken", "link-cycle", "unreadable", "not-a-file", "too-large"))
"""Codes of notes about a path where a skill was expected."""


def left_out(catalogue: Catalogue) -> tuple[Note, ...]:
    """Return notes about places where a skill was expected and could not be read."""
    return tuple(entry for entry in catalogue.places if entry.code in LEFT_OUT)


def _not_found(catalogue: Catalogue, name: str) -> NotFoundError | RefusedError:
    wanted = name_key(name)
    for entry in left_out(catalogue):
        directory, last = os.path.split(entry.path)
        if wanted == name_key(os.path.basename(directory) if last.endswith(".md") else last):
            message = f"{name!r} is left out: {entry.message}"
            return RefusedError(entry.code, message, hint=entry.hint, path=entry.path)
    waiting = [card for card in catalogue.waiting if card.key == wanted] or _meant(name, catalogue.waiting)
    if waiting:
        return RefusedError(
            "untrusted",
            f"{name!r} is a project skill, and this repository is not trusted.",
            hint=f"Read {waiting[0].path}, then run `whet guard trust`.",
            path=waiting[0].location,
        )
    if wanted in gallery_names():
        hint = f"It ships with Whet: `whet gallery add {wanted}` adds it."
        return NotFoundError("skill-not-found", f"There is no skill {name!r}.", hint=hint, suggestions=[])
    suggestions = list(closest(name, [card.full_name for card in catalogue.cards]))
    hint = f"Did you mean {', '.join(suggestions)}?" if suggestions else "`whet list` shows every skill."
    message = f"There is no skill {name!r}." if name.strip() else "The name of the skill is empty."
    return NotFoundError("skill-not-found", message, hint=hint, suggestions=suggestions)


def shadowed(loser: Card, winner: Card) -> Note:
    """Return a note that says why a skill's name does not refer to it."""
    same = loser.scope == winner.scope and loser.root.namespace == winner.root.namespace
    reach = loser.location if same else loser.qualified
    return Note(
        "shadowed",
        "warning",
        f"{winner.location} ({winner.scope}) has this name and takes precedence.",
        f"Use {reach} to reach it, or rename one of them.",
        skill=loser.full_name,
        path=loser.path,
    )


def untrusted(card: Card) -> Note:
    """Return a note that says why a skill of an untrusted repository is not loaded."""
    return Note(
        "untrusted",
        "warning",
        "This project is not trusted, so Whet does not load the skill; clients that read its directory do.",
        "Read the skill, then run `whet guard trust`.",
        skill=card.full_name,
        path=card.path,
    )
