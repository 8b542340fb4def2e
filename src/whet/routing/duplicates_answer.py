"""The question for near-duplicates, asked of a library on disk.

All pairs of a library take reading every skill. One skill is compared with a few only: those that are likely by name
and description, and a sample that tells which words are common; no other body is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError, WhetError
from whet.notes import Note
from whet.routing.duplicates import MOST, REMARKS, RESEMBLING, THRESHOLD, Pair, alike, likely, near_duplicates, spread
from whet.routing.texts import Texts, texts_of
from whet.values import Json, as_json

if TYPE_CHECKING:
    from whet.library.workspace import Workspace
    from whet.routing.duplicates import Alike


class Duplicate(NamedTuple):
    """Two skills that are for the same job."""

    one: str
    other: str
    score: float
    shared: tuple[str, ...]
    """The words that tell most of what they have in common."""
    paths: tuple[str, str]


class Duplicates(NamedTuple):
    """The pairs that were found, the most alike first."""

    pairs: tuple[Duplicate, ...]
    compared: int
    """Skills that were compared in full."""
    total: int
    threshold: float
    report: tuple[Note, ...]
    """What could not be read."""

    def to_json(self) -> Json:
        """The pairs as every surface answers them."""
        pairs, *others = (as_json(part) for part in self)
        told = dict(zip(self._fields[1:], others, strict=True))
        return {"success": True, "pairs": pairs, "count": len(self.pairs), **told}


def find_duplicates(
    workspace: Workspace, name: str | None = None, threshold: float | None = None, most: int = MOST
) -> Duplicates:
    """The pairs of skills that are for the same job, or what is like one skill, the most alike first."""
    least = THRESHOLD if threshold is None else threshold
    if not 0 < least <= 1:
        hint = f"Give a number above 0 and up to 1; {THRESHOLD} is the usual one."
        raise UsageError("bad-threshold", f"A threshold of {threshold} makes no sense.", hint=hint)
    if most < 1:
        raise UsageError("bad-limit", f"A list of {most} pairs makes no sense.", hint="Give a limit of 1 or more.")
    shelf = _Shelf(workspace)
    if name is None:
        compared = len(shelf.cards)
        found = near_duplicates(shelf.all_texts(), least, most)
    else:
        own = workspace.find(name)[0].full_name
        compared, others = shelf.alike(shelf.texts(own), own, least, most)
        found = tuple(Pair(own, *other) for other in others)
    pairs = tuple(
        Duplicate(
            *(pair.one, pair.other, round(pair.score, 2), tuple(pair.shared)),
            (shelf.cards[pair.one].location, shelf.cards[pair.other].location),
        )
        for pair in found
    )
    return Duplicates(pairs, compared, len(shelf.cards), least, tuple(shelf.problems))


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
            return Texts(card.name, card.description, "", card.when)

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
