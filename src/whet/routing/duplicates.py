"""Near-duplicates: the skills of a library that are for the same job, and the skills that a new one resembles.

Both are judged by bodies together with names and descriptions (`whet.routing.similarity`): two skills for one job
seldom have the same name.
"""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from math import log
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError, WhetError
from whet.notes import Note
from whet.routing.similarity import Similarity
from whet.routing.texts import Texts, texts_of, texts_of_card
from whet.skill.terms import filler_terms, plain_terms
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from whet.library.workspace import Workspace

THRESHOLD = 0.5
"""Minimum score of near-duplicates. Measured on skills that agents wrote for ten tasks: from here on all pairs but one
in a thousand are for the same task; below, more are for the step before or after."""
RESEMBLING = 0.35
"""Minimum score for a note to the author of a new skill."""
CANDIDATES = 30
"""Maximum number of skills that a new one is compared with in full."""
MOST = 50
"""Default maximum number of pairs."""
REMARKS = 3
"""Maximum number of similar skills reported to the author of a new one."""
_OWN = 0.4
"""Minimum share of the threshold that the own words of two skills must reach before their neighbours are compared."""
_TOLD = 1000
"""Maximum length of a body when candidates are chosen by their names and descriptions."""


class Pair(NamedTuple):
    """Two skills that are for the same job, or nearly."""

    one: str
    other: str
    score: float
    """The similarity, at most 1 for the same text."""
    shared: tuple[str, ...]
    """The most significant common words."""
    paths: tuple[str, ...] = ()
    """The locations of the two, if known."""


class Alike(NamedTuple):
    """A skill that another one resembles."""

    name: str
    score: float
    shared: tuple[str, ...]


def near_duplicates(texts: Mapping[str, Texts], threshold: float = THRESHOLD, most: int = MOST) -> tuple[Pair, ...]:
    """Return the most similar pairs of skills, most similar first."""
    names = sorted(texts)
    similarity = Similarity([texts[name] for name in names])
    worth_it = [pair for pair, own in similarity.pairs.items() if own >= threshold * _OWN]
    scored = [(-score, pair) for pair in worth_it if (score := similarity.score(*pair, threshold)) >= threshold]
    return tuple(
        Pair(names[one], names[other], -score, similarity.evidence(one, other))
        for score, (one, other) in nsmallest(most, scored)
    )


def alike(
    new: Texts,
    candidates: Mapping[str, Texts],
    others: Collection[Texts] = (),
    *,
    among: int = 0,
    threshold: float = RESEMBLING,
    most: int = REMARKS,
) -> tuple[Alike, ...]:
    """Return the candidates that a skill resembles, most similar first.

    Candidates were chosen because they are likely, so they do not show which words are common in the library: `others`
    do, a sample of the rest of its `among` skills.
    """
    names = sorted(candidates)
    similarity = Similarity([new, *(candidates[name] for name in names)], tuple(others), among)
    scored = [(-similarity.score(0, at), at) for at in range(1, len(names) + 1)]
    found = nsmallest(most, [item for item in scored if -item[0] >= threshold])
    return tuple(Alike(names[at - 1], -score, similarity.evidence(at, 0)) for score, at in found)


def likely(new: Texts, cards: Mapping[str, str], most: int = CANDIDATES) -> tuple[str, ...]:
    """Return the skills to compare a new one with, from their names and descriptions, most likely first.

    This needs no index: it reads no body but the new one.
    """
    head = set(plain_terms(" ".join((new.name, new.description, new.when_to_use, *new.triggers, *new.tags))))
    own = head.union(plain_terms(new.body[:_TOLD])) - filler_terms()
    said = {name: own.intersection(plain_terms(text)) for name, text in cards.items()}
    users = Counter(term for found in said.values() for term in found)
    worth = {term: log(1 + len(cards) / count) * (2 if term in head else 1) for term, count in users.items()}
    scored = [(-sum(sorted(map(worth.__getitem__, found))), name) for name, found in said.items() if len(found) > 1]
    return tuple(name for _, name in nsmallest(most, scored))


def spread(names: Collection[str], count: int = CANDIDATES) -> tuple[str, ...]:
    """Return a deterministic sample of the names, evenly spread over their order."""
    ordered = sorted(names)
    return tuple(ordered[at * len(ordered) // count] for at in range(count)) if len(ordered) > count else tuple(ordered)


class Duplicates(NamedTuple):
    """The pairs that were found, most similar first."""

    pairs: tuple[Pair, ...]
    compared: int
    """Number of skills that were compared in full."""
    total: int
    threshold: float
    report: tuple[Note, ...]
    """Notes on skills that could not be read."""

    def to_json(self) -> Json:
        """Return the pairs as JSON."""
        return {**answer_json(self), "count": len(self.pairs)}


def find_duplicates(
    workspace: Workspace, name: str | None = None, threshold: float | None = None, most: int = MOST
) -> Duplicates:
    """Return the pairs of skills that are for the same job, or the skills similar to one, most similar first."""
    least = THRESHOLD if threshold is None else threshold
    if not 0 < least <= 1:
        hint = f"The default is {THRESHOLD}."
        raise UsageError("bad-threshold", f"The threshold must be above 0 and at most 1, not {threshold}.", hint=hint)
    if most < 1:
        raise UsageError("bad-limit", f"The limit must be at least 1, not {most}.", hint="Give a limit of 1 or more.")
    shelf = _Shelf(workspace)
    if name is None:
        compared = len(shelf.cards)
        found = near_duplicates({name: shelf.texts(name) for name in shelf.cards}, least, most)
    else:
        own = workspace.find(name)[0].full_name
        compared, others = shelf.alike(shelf.texts(own), own, least, most)
        found = tuple(Pair(own, *other) for other in others)
    paths = [tuple(shelf.cards[name].location for name in (pair.one, pair.other)) for pair in found]
    pairs = [pair._replace(score=round(pair.score, 2), paths=at) for pair, at in zip(found, paths, strict=True)]
    return Duplicates(tuple(pairs), compared, len(shelf.cards), least, tuple(shelf.problems))


def resembling(workspace: Workspace, name: str, told: Texts, threshold: float = RESEMBLING) -> tuple[Alike, ...]:
    """Return the skills of the library that a new one resembles; `told` is its text if it is not on disk yet."""
    shelf = _Shelf(workspace)
    new = shelf.texts(name) if name in shelf.cards else told
    return shelf.alike(new, name, threshold, REMARKS)[1]


class _Shelf:
    """The skills of a library, read on demand; an unreadable skill is judged by its card."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.cards = {card.full_name: card for card in workspace.snapshot().catalogue.cards}
        self.problems: list[Note] = []
        """Notes on skills that could not be read."""

    def texts(self, name: str) -> Texts:
        """Return the texts of a skill."""
        card = self.cards[name]
        try:
            return texts_of(self._workspace.open(card).skill)
        except WhetError as error:
            self.problems.append(Note.from_error(error, "warning", skill=name, path=card.path))
            return texts_of_card(card)

    def alike(self, new: Texts, own: str, threshold: float, most: int) -> tuple[int, tuple[Alike, ...]]:
        """Return the number of skills compared in full, and those that the new one resembles."""
        heads = {name: f"{card.name} {card.description} {card.when}" for name, card in self.cards.items()}
        heads.pop(own, None)
        candidates = likely(new, heads)
        others = [self.texts(name) for name in spread(heads.keys() - {*candidates})]
        chosen = {name: self.texts(name) for name in candidates}
        return len(chosen), alike(new, chosen, others, among=len(heads) + 1, threshold=threshold, most=most)
