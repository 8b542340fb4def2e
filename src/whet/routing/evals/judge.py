"""What is asked to judge messages, and the answers to one labelled message.

Everything here works on the keys by which the judge tells skills apart. A skill is *must* for a message when it would
be brought up by itself, *may* when it would be offered (alone, or beside the one that comes up), else *none*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, Self, TypeAlias

from whet.library.visibility import MODEL, hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType
    from typing import TypeVar

    from whet.library.workspace import Snapshot
    from whet.routing.evals.formats import Case
    from whet.routing.evals.suggestions import Kind
    from whet.routing.index_manager import IndexManager
    from whet.routing.router import Detected, Entry, Found, Router
    from whet.routing.texts import Texts

    T = TypeVar("T")

Tier: TypeAlias = Literal["must", "may", "none"]
RANKS = 10
"""How far down the ranking a skill is looked for."""


class Judge(Protocol):
    """Whatever answers for messages; `whet.routing.router.Router` does."""

    def find(self, message: str, k: int = ...) -> Sequence[Found]:
        """The best skills for a message, the best first."""

    def detect(self, message: str) -> Detected:
        """What should come up for a message."""

    def confidence(self, message: str, key: str) -> float:
        """How probable it is that this skill should come up."""


class Seen(NamedTuple):
    """What the judge says about one message."""

    ranking: tuple[str, ...]
    top: str
    """The skill that comes up or is offered first; "" for none."""
    tiers: dict[str, Tier]
    """Every skill that must or may come up."""


class Judged(NamedTuple):
    """One case and what came of it."""

    case: Case
    tier: Tier
    rank: int | None
    """Its place in the ranking from 1, None when it is not among the first."""
    confidence: float | None
    """None for a message that is about no skill."""
    winner: str
    """The skill that came up or was offered first; "" for none."""
    first: str
    """The skill that ranks first, whether it comes up or not; "" for none."""
    rightful: bool
    """Whether the winner, too, is a skill this message is known to be for."""

    @property
    def worth(self) -> float:
        """1 for the best possible answer, 0 for the worst; an offer is half of either."""
        reached = {"must": 1.0, "may": 0.5, "none": 0.0}[self.tier]
        return reached if self.case.fits else 1.0 - reached


def look(judge: Judge, message: str) -> Seen:
    """Ask the judge about one message."""
    detected = judge.detect(message)
    ranking = tuple(found.key for found in judge.find(message, RANKS))
    tiers: dict[str, Tier] = {}
    if detected.first is not None:
        offered = (detected.first, *detected.others)
        tiers = {key: "may" for found in offered for key in (found.key, *found.also)}
        tiers[detected.first.key] = detected.decision
        return Seen(ranking, detected.first.key, tiers)
    return Seen(ranking, "", tiers)


def judged(cases: Iterable[Case], judge: Judge) -> tuple[Judged, ...]:
    """Every case with what the judge says; a message is looked at once, however many cases it has."""
    cases = tuple(cases)
    seen: dict[str, Seen] = {}
    rightful: dict[str, set[str]] = {}
    for case in cases:
        if case.fits:
            rightful.setdefault(case.message, set()).add(case.skill)
    results = []
    for case in cases:
        message, key = case.message, case.skill
        if message not in seen:
            seen[message] = look(judge, message)
        ranking, top, tiers = seen[message]
        first = ranking[0] if ranking else ""
        known = top in rightful.get(message, ())
        if not key:  # about no skill: whatever comes up is wrong
            results.append(Judged(case, tiers.get(top, "none"), None, None, top, first, known))
            continue
        rank = ranking.index(key) + 1 if key in ranking else None
        confidence = judge.confidence(message, key)
        results.append(Judged(case, tiers.get(key, "none"), rank, confidence, top, first, known))
    return tuple(results)


class IndexJudge:
    """What comes up by itself: a model asks, and skills hidden from it do not count."""

    def __init__(self, index_manager: IndexManager, snapshot: Snapshot, router: Router | None = None) -> None:
        """With a `router`, that one is asked in place of the index manager's own."""
        self._index_manager, self._snapshot, self._router = index_manager, snapshot, router
        cards, config = snapshot.catalogue.cards, snapshot.config
        self._seen = {str(card.id) for card in cards if hidden(card, MODEL, config.disabled, config.probe) is None}

    def find(self, message: str, k: int = 10) -> tuple[Found, ...]:
        """The best skills for a message, the best first."""
        return self._ask(lambda router: router.find(message, k, allowed=self._seen))

    def detect(self, message: str) -> Detected:
        """What should come up for a message."""
        return self._ask(lambda router: router.detect(message, allowed=self._seen))

    def confidence(self, message: str, key: str) -> float:
        """How probable it is that this skill should come up."""
        return self._ask(lambda router: router.confidence(message, key))

    def _ask(self, question: Callable[[Router], T]) -> T:
        return self._index_manager.ask(lambda router: question(self._router or router), self._snapshot)


class Trial:
    """A copy of the index in which one skill at a time says something else. The last try is the one that counts."""

    def __init__(self, index_manager: IndexManager, snapshot: Snapshot) -> None:
        self._index_manager, self._snapshot = index_manager, snapshot
        self._router: Router | None = None
        self._entries: list[Entry] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._router is not None:
            self._router.close()

    def __call__(self, key: str, mark: str, change: Callable[[Texts], Texts]) -> IndexJudge:
        """The judge as it would be with the texts of a skill changed; `mark` tells one change from another."""
        if self._router is None:
            self._router, self._entries = self._index_manager.copy(self._snapshot)

        def tried(entry: Entry) -> Entry:
            if entry.key != key:
                return entry
            return entry._replace(stamp=f"{entry.stamp}/{mark}", read=lambda: change(entry.read()))

        self._router.update(map(tried, self._entries))
        return IndexJudge(self._index_manager, self._snapshot, self._router)

    def with_phrase(self, key: str, kind: Kind, phrase: str) -> IndexJudge:
        """The judge as it would be with a phrase in the description of a skill, or in what it is not for."""

        def said(texts: Texts) -> Texts:
            if kind == "use":
                return texts._replace(description=f"{texts.description} Use for: {phrase}.")
            return texts._replace(when_not_to_use=f"{texts.when_not_to_use}\n{phrase}".lstrip())

        return self(key, f"{kind}/{phrase}", said)

    def with_description(self, key: str, description: str) -> IndexJudge:
        """The judge as it would be with another description of a skill."""
        return self(key, f"description/{description}", lambda texts: texts._replace(description=description))
