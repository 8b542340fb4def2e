"""Near-duplicates: which skills of a library are for the same job, and which ones a new skill resembles.

Both are judged on bodies together with names and descriptions (`whet.routing.similarity`): two skills for one job are
seldom called the same.
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
from whet.skill.terms import filler_terms, plain_terms, spell, stem
from whet.values import Json, as_json

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from whet.library.workspace import Workspace

THRESHOLD = 0.5
"""The score from which on two skills are near-duplicates. Measured on skills that agents wrote for ten tasks: from here
on all pairs but one in a thousand are for the same task; further down more are for the step before or after."""
RESEMBLING = 0.35
"""The score from which on whoever writes a new skill is told of another one: it is only a remark."""
CANDIDATES = 30
"""Skills that a new one is compared with in full."""
MOST = 50
"""Pairs that are named unless more are asked for."""
REMARKS = 3
"""Skills that whoever writes a new one is told of."""
_OWN = 0.4
"""The part of the score that two skills must bring by their own words, for those around them to be asked."""
_TOLD = 1000
"""Characters of a body that count when candidates are chosen by their names and descriptions alone."""


class Pair(NamedTuple):
    """Two skills that are for the same job, or nearly."""

    one: str
    other: str
    score: float
    """At most 1, which is the same text."""
    shared: tuple[str, ...]
    """The words that tell most of what both have in common."""
    paths: tuple[str, ...] = ()
    """Where the two are, if that is known."""


class Alike(NamedTuple):
    """A skill that another one resembles."""

    name: str
    score: float
    shared: tuple[str, ...]


def near_duplicates(texts: Mapping[str, Texts], threshold: float = THRESHOLD, most: int = MOST) -> tuple[Pair, ...]:
    """The pairs of skills that are most alike, the most alike first."""
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
    """Which of the candidates a skill resembles, the most alike first.

    Candidates were chosen because they are likely, so they do not tell which words are common in the library: `others`
    do, some of the rest of its `among` skills.
    """
    names = sorted(candidates)
    similarity = Similarity([new, *(candidates[name] for name in names)], tuple(others), among)
    scored = [(-similarity.score(0, at), at) for at in range(1, len(names) + 1)]
    found = nsmallest(most, [item for item in scored if -item[0] >= threshold])
    return tuple(Alike(names[at - 1], -score, similarity.evidence(at, 0)) for score, at in found)


def likely(new: Texts, cards: Mapping[str, str], most: int = CANDIDATES) -> tuple[str, ...]:
    """The skills that are worth comparing a new one with, from their names and descriptions, the likeliest first.

    For where there is no index to ask: it reads no body but the new one.
    """
    head = set(plain_terms(" ".join((new.name, new.description, new.when_to_use, *new.triggers, *new.tags))))
    own = head.union(plain_terms(new.body[:_TOLD])) - filler_terms()
    shared: dict[str, tuple[str, ...]] = {}
    said: dict[str, set[str]] = {}
    users = Counter[str]()
    for name, text in cards.items():
        found: set[str] = set()
        for word in set(spell(text)):
            if word not in shared:
                shared[word] = tuple(term for term in stem(word) if term in own)
            found.update(shared[word])
        said[name] = found
        users.update(found)
    worth = {term: log(1 + len(cards) / count) * (2 if term in head else 1) for term, count in users.items()}
    scored = [(-sum(sorted(map(worth.__getitem__, found))), name) for name, found in said.items() if len(found) > 1]
    return tuple(name for _, name in nsmallest(most, scored))


def spread(names: Collection[str], count: int = CANDIDATES) -> tuple[str, ...]:
    """Some of the names, evenly spread over their order: a sample that is the same every time."""
    ordered = sorted(names)
    return tuple(ordered[at * len(ordered) // count] for at in range(count)) if len(ordered) > count else tuple(ordered)


class Duplicates(NamedTuple):
    """The pairs that were found, the most alike first."""

    pairs: tuple[Pair, ...]
    compared: int
    """Skills that were compared in full."""
    total: int
    threshold: float
    report: tuple[Note, ...]
    """What could not be read."""

    def to_json(self) -> Json:
        """The pairs as JSON."""
        pairs, *others = (as_json(part) for part in self)
        told = dict(zip(self._fields[1:], others, strict=True))
        return {"success": True, "pairs": pairs, "count": len(self.pairs), **told}


def find_duplicates(
    workspace: Workspace, name: str | None = None, threshold: float | None = None, most: int = MOST
) -> Duplicates:
    """The pairs of skills that are for the same job, or the skills similar to one, the most similar first."""
    least = THRESHOLD if threshold is None else threshold
    if not 0 < least <= 1:
        hint = f"The default is {THRESHOLD}."
        raise UsageError("bad-threshold", f"The threshold must be above 0 and at most 1, not {threshold}.", hint=hint)
    if most < 1:
        raise UsageError("bad-limit", f"The limit must be at least 1, not {most}.", hint="Give a limit of 1 or more.")
    shelf = _Shelf(workspace)
    if name is None:
        compared = len(shelf.cards)
        found = near_duplicates(shelf.all_texts(), least, most)
    else:
        own = workspace.find(name)[0].full_name
        compared, others = shelf.alike(shelf.texts(own), own, least, most)
        found = tuple(Pair(own, *other) for other in others)
    paths = [tuple(shelf.cards[name].location for name in (pair.one, pair.other)) for pair in found]
    pairs = [pair._replace(score=round(pair.score, 2), paths=at) for pair, at in zip(found, paths, strict=True)]
    return Duplicates(tuple(pairs), compared, len(shelf.cards), least, tuple(shelf.problems))


def resembling(workspace: Workspace, name: str, told: Texts, threshold: float = RESEMBLING) -> tuple[Alike, ...]:
    """Which skills of the library a new one resembles; `told` is what it says where it is not on disk yet."""
    shelf = _Shelf(workspace)
    new = shelf.texts(name) if name in shelf.cards else told
    return shelf.alike(new, name, threshold, REMARKS)[1]


class _Shelf:
    """The skills of a library, read when they are asked for; one that cannot be read is judged by its card."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.cards = {card.full_name: card for card in workspace.snapshot().catalogue.cards}
        self.problems: list[Note] = []
        """What could not be read."""

    def texts(self, name: str) -> Texts:
        """What a skill says."""
        card = self.cards[name]
        try:
            return texts_of(self._workspace.open(card).skill)
        except WhetError as error:
            self.problems.append(Note.from_error(error, "warning", skill=name, path=card.path))
            return texts_of_card(card)

    def all_texts(self) -> dict[str, Texts]:
        """What every skill says."""
        return {name: self.texts(name) for name in self.cards}

    def alike(self, new: Texts, own: str, threshold: float, most: int) -> tuple[int, tuple[Alike, ...]]:
        """With how many skills one was compared in full, and which of them it resembles."""
        heads = {name: f"{card.name} {card.description} {card.when}" for name, card in self.cards.items()}
        heads.pop(own, None)
        candidates = likely(new, heads)
        others = [self.texts(name) for name in spread(heads.keys() - {*candidates})]
        chosen = {name: self.texts(name) for name in candidates}
        return len(chosen), alike(new, chosen, others, among=len(heads) + 1, threshold=threshold, most=most)
