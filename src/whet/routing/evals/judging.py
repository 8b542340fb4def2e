"""What is asked to judge messages, and the answers to one labelled message.

Everything here works on the keys by which the judge tells skills apart. A skill is *must* for a message when it would
be brought up by itself, *may* when it would be offered (alone, or beside the one that comes up), else *none*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.routing.evals.formats import Case

Tier: TypeAlias = Literal["must", "may", "none"]
RANKS = 10
"""How far down the ranking a skill is looked for."""


class Found(Protocol):
    """One skill of a ranking."""

    @property
    def key(self) -> str:
        """Which skill."""

    @property
    def score(self) -> float:
        """How well it fits, from 0 to 1."""


class Detected(Protocol):
    """What should come up for a message."""

    @property
    def decision(self) -> Tier:
        """Whether anything should."""

    @property
    def key(self) -> str | None:
        """Which skill, unless none should."""

    @property
    def others(self) -> Sequence[Found]:
        """Further skills that may come up."""


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
    if detected.decision != "none" and detected.key is not None:
        tiers = {found.key: "may" for found in detected.others}
        tiers[detected.key] = detected.decision
        return Seen(ranking, detected.key, tiers)
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
