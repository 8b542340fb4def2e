"""The judge of messages, and its answers to labelled messages.

Everything here uses the keys by which the judge identifies skills. A skill is *must* for a message if it triggers
automatically, *may* if it is offered (alone, or beside the one that triggers), else *none*.
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
"""Number of ranks in which a skill is searched."""


class Judge(Protocol):
    """An object that answers for messages, such as `whet.routing.router.Router`."""

    def find(self, message: str, k: int = ...) -> Sequence[Found]:
        """Return the best skills for a message, best first."""

    def detect(self, message: str) -> Detected:
        """Decide which skills a message triggers or offers."""

    def confidence(self, message: str, key: str) -> float:
        """Return the probability that this skill is right for a message."""


class Judged(NamedTuple):
    """A case and its outcome."""

    case: Case
    tier: Tier
    rank: int | None
    """Its place in the ranking from 1; None if it is not among the first."""
    confidence: float | None
    """None for a message that is about no skill."""
    winner: str
    """The skill that triggered or was offered first; "" for none."""
    first: str
    """The skill that ranks first, triggered or not; "" for none."""
    rightful: bool
    """Whether this message is known to be for the winner, too."""

    @property
    def worth(self) -> float:
        """The value of the answer: 1 for the best, 0 for the worst, 0.5 for an offer."""
        reached = {"must": 1.0, "may": 0.5, "none": 0.0}[self.tier]
        return reached if self.case.fits else 1.0 - reached


class _Answer(NamedTuple):
    """The judge's answer to one message."""

    ranking: tuple[str, ...]
    top: str
    """The skill that triggers or is offered first; "" for none."""
    tiers: dict[str, Tier]
    """The tier of every skill that triggers or is offered."""


def _answer(judge: Judge, message: str) -> _Answer:
    detected = judge.detect(message)
    ranking = tuple(found.key for found in judge.find(message, RANKS))
    if detected.first is None:
        return _Answer(ranking, "", {})
    offered = (detected.first, *detected.others)
    tiers: dict[str, Tier] = {key: "may" for found in offered for key in (found.key, *found.also)}
    return _Answer(ranking, detected.first.key, tiers | {detected.first.key: detected.decision})


def judged(cases: Iterable[Case], judge: Judge) -> tuple[Judged, ...]:
    """Return every case with its outcome; each message is judged once, however many cases it has."""
    cases = tuple(cases)
    rightful = {(case.message, case.skill) for case in cases if case.fits}
    answers = {message: _answer(judge, message) for message in dict.fromkeys(case.message for case in cases)}
    results = []
    for case in cases:
        message, key = case.message, case.skill
        ranking, top, tiers = answers[message]
        results.append(
            Judged(
                case,
                tier=tiers.get(key or top, "none"),  # if a message is about no skill, any skill that triggers is wrong
                rank=ranking.index(key) + 1 if key in ranking else None,
                confidence=judge.confidence(message, key) if key else None,
                winner=top,
                first=ranking[0] if ranking else "",
                rightful=(message, top) in rightful,
            )
        )
    return tuple(results)


class IndexJudge:
    """A judge of automatic triggering: skills hidden from the model do not count."""

    def __init__(self, index_manager: IndexManager, snapshot: Snapshot, router: Router | None = None) -> None:
        """`router` replaces the router of the index manager."""
        self._index_manager, self._snapshot, self._router = index_manager, snapshot, router
        cards, config = snapshot.catalogue.cards, snapshot.config
        self._seen = {str(card.id) for card in cards if hidden(card, MODEL, config.disabled, config.probe) is None}

    def find(self, message: str, k: int = 10) -> tuple[Found, ...]:
        """Return the best skills for a message, best first."""
        return self._ask(lambda router: router.find(message, k, allowed=self._seen))

    def detect(self, message: str) -> Detected:
        """Decide which skills a message triggers or offers."""
        return self._ask(lambda router: router.detect(message, allowed=self._seen))

    def confidence(self, message: str, key: str) -> float:
        """Return the probability that this skill is right for a message."""
        return self._ask(lambda router: router.confidence(message, key))

    def _ask(self, question: Callable[[Router], T]) -> T:
        return self._index_manager.ask(lambda router: question(self._router or router), self._snapshot)


class Trial:
    """A copy of the index in which one skill at a time has different texts. Only the last change is in effect."""

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
        """Return a judge with the texts of a skill changed; `mark` identifies the change."""
        if self._router is None:
            self._router, self._entries = self._index_manager.copy(self._snapshot)

        def tried(entry: Entry) -> Entry:
            if entry.key != key:
                return entry
            return entry._replace(stamp=f"{entry.stamp}/{mark}", read=lambda: change(entry.read()))

        self._router.update(map(tried, self._entries))
        return IndexJudge(self._index_manager, self._snapshot, self._router)

    def with_phrase(self, key: str, kind: Kind, phrase: str) -> IndexJudge:
        """Return a judge with a phrase added to the description of a skill, or to its exclusions."""

        def said(texts: Texts) -> Texts:
            if kind == "use":
                return texts._replace(description=f"{texts.description} Use for: {phrase}.")
            return texts._replace(when_not_to_use=f"{texts.when_not_to_use}\n{phrase}".lstrip())

        return self(key, f"{kind}/{phrase}", said)

    def with_description(self, key: str, description: str) -> IndexJudge:
        """Return a judge with another description of a skill."""
        return self(key, f"description/{description}", lambda texts: texts._replace(description=description))
