"""How well skills do on their trigger evals: the numbers, and the messages behind them.

Two questions are kept apart. *must*: of the messages for which a skill comes up by itself, how many are right
(precision), and how many of those it is for are reached that way (recall). *offered* counts must and may together: what
a model gets to choose from. A message that another skill wins instead is *stolen*; that is between siblings, and
shows which descriptions have to be told apart.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.routing.evals.judging import Judge, Judged, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.routing.evals.formats import Case
    from whet.routing.evals.suggesting import Suggestion

__all__ = ("Judge", "Report", "Scores", "Stolen", "Tally", "rounded", "split", "tally")

SEED = 42
HELD_OUT = 0.4
"""The share of the cases that is kept apart."""
_MOST_LISTED = 50
"""Messages of a kind that a report holds for one skill."""
_MOST_SHOWN = 5
"""Messages that are shown for one pair of siblings."""
_LONGEST = 300
"""Characters of a message in a report."""


class Scores(NamedTuple):
    """Counts of right and wrong answers, and what is made of them; None where there is nothing to divide by."""

    hits: int
    misses: int
    false: int
    rightly_silent: int

    @property
    def precision(self) -> float | None:
        """Of the messages it came up for, the share it was for."""
        return _share(self.hits, self.hits + self.false)

    @property
    def recall(self) -> float | None:
        """Of the messages it is for, the share it came up for."""
        return _share(self.hits, self.hits + self.misses)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two."""
        return _share(2 * self.hits, 2 * self.hits + self.false + self.misses)

    @property
    def accuracy(self) -> float | None:
        """The share of right answers."""
        return _share(self.hits + self.rightly_silent, sum(self))

    def to_json(self) -> dict[str, Any]:
        """The shares, rounded, and the counts."""
        shares = {name: rounded(getattr(self, name)) for name in ("precision", "recall", "f1", "accuracy")}
        return {**shares, **self._asdict()}


class Stolen(NamedTuple):
    """Messages for one skill for which another one came up instead."""

    skill: str
    by: str
    messages: tuple[str, ...]

    def to_json(self, name: Callable[[str], str]) -> dict[str, Any]:
        """With the names of the skills."""
        shown = [_shown(message) for message in self.messages[:_MOST_SHOWN]]
        return {"skill": name(self.skill), "by": name(self.by), "count": len(self.messages), "messages": shown}


class Tally(NamedTuple):
    """How one skill does; the key "" stands for messages that no skill should come up for."""

    skill: str
    must: Scores
    offered: Scores
    missed: tuple[Judged, ...]
    """Messages for it that it is not even offered for."""
    only_offered: tuple[Judged, ...]
    """Messages for it that it does not come up for by itself."""
    false: tuple[Judged, ...]
    """Messages not for it that it is offered, or comes up, for."""
    stolen: tuple[Stolen, ...]

    def to_json(self, name: Callable[[str], str], *, explicit: bool = False) -> dict[str, Any]:
        """As a report holds it; `explicit` says that only a person may invoke the skill."""
        return {
            "skill": name(self.skill),
            "explicit": explicit,
            "cases": sum(self.must),
            "must": self.must.to_json(),
            "offered": self.offered.to_json(),
            "missed": [_line(item, name) for item in self.missed[:_MOST_LISTED]],
            "only_offered": [_line(item, name) for item in self.only_offered[:_MOST_LISTED]],
            "false_triggers": [_line(item, name) for item in self.false[:_MOST_LISTED]],
            "stolen": [item.to_json(name) for item in self.stolen],
        }


class Report(NamedTuple):
    """How a library does on its trigger evals."""

    tallies: tuple[Tally, ...]
    """By skill, the worst recall first."""
    must: Scores
    offered: Scores
    """All together, but for the skills that never come up by themselves."""
    ranks: tuple[int | None, ...]
    """Where the right skill stood in the ranking, for each message that has one."""
    explicit: frozenset[str] = frozenset()
    """The skills that only a person may invoke."""
    held_out: bool = False
    suggestions: tuple[Suggestion, ...] = ()

    def asked(self) -> list[Tally]:
        """Those of skills that come up by themselves."""
        return [one for one in self.tallies if one.skill and one.skill not in self.explicit]

    def to_json(self, names: Mapping[str, str]) -> dict[str, Any]:
        """The report as every surface answers it; `names` are those of the keys."""

        def name(key: str) -> str:
            return names.get(key, key)

        confusions = sorted(
            (item for tally in self.tallies for item in tally.stolen), key=lambda item: (-len(item.messages), item)
        )
        return {
            "cases": sum(sum(tally.must) for tally in self.tallies),
            "held_out": self.held_out,
            "overall": {
                "must": self.must.to_json(),
                "offered": self.offered.to_json(),
                "first": rounded(_share(sum(rank == 1 for rank in self.ranks), len(self.ranks))),
                "top5": rounded(_share(sum(rank is not None and rank <= 5 for rank in self.ranks), len(self.ranks))),
            },
            "skills": [
                tally.to_json(name, explicit=tally.skill in self.explicit) for tally in self.tallies if tally.skill
            ],
            "no_skill": next((tally.to_json(name) for tally in self.tallies if not tally.skill), None),
            "confusions": [item.to_json(name) for item in confusions[:_MOST_LISTED]],
            "suggestions": [item.to_json(name) for item in self.suggestions],
        }


def tally(results: Sequence[Judged], explicit: Iterable[str] = ()) -> Report:
    """The report on cases that were judged; `explicit` are the skills that only a person may invoke."""
    silent = frozenset(explicit)
    by_skill: dict[str, list[Judged]] = {}
    for item in results:
        by_skill.setdefault(item.case.skill, []).append(item)
    tallies = [_tally(skill, items) for skill, items in by_skill.items()]
    tallies.sort(key=lambda item: (item.offered.recall is None, item.offered.recall or 0.0, item.skill))
    counted = [item for item in results if item.case.skill not in silent]
    ranks = tuple(item.rank for item in counted if item.case.fits)
    return Report(tuple(tallies), _scores(counted, "must"), _scores(counted, "may"), ranks, silent)


def split(cases: Iterable[Case]) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Cases to learn from and cases held out, 60 to 40 of each verdict of each skill, always the same ones.

    A case goes by the hash of its message, so that adding one moves few others.
    """
    groups: dict[tuple[str, bool], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.skill, case.fits), []).append(case)
    learn: list[Case] = []
    held: list[Case] = []
    for group in groups.values():
        group.sort(key=lambda case: sha256(f"{SEED}\0{case.message}".encode("utf-8", "replace")).digest())
        kept = round(len(group) * HELD_OUT) if len(group) > 2 else len(group) - 1
        learn += group[kept:]
        held += group[:kept]
    return tuple(learn), tuple(held)


def _tally(skill: str, items: list[Judged]) -> Tally:
    stolen: dict[str, list[str]] = {}
    for item in items:
        if item.case.fits and item.tier != "must" and item.winner and item.winner != skill and not item.rightful:
            stolen.setdefault(item.winner, []).append(item.case.message)
    thefts = sorted((Stolen(skill, by, tuple(messages)) for by, messages in stolen.items()), key=_by_count)
    return Tally(
        skill,
        _scores(items, "must"),
        _scores(items, "may"),
        tuple(item for item in items if item.case.fits and item.tier == "none"),
        tuple(item for item in items if item.case.fits and item.tier == "may"),
        tuple(item for item in items if not item.case.fits and item.tier != "none"),
        tuple(thefts),
    )


def _by_count(item: Stolen) -> tuple[int, str]:
    return -len(item.messages), item.by


def _scores(items: Iterable[Judged], least: Tier) -> Scores:
    """Right and wrong answers when a skill counts as up from this tier on."""
    counts = {(fits, up): 0 for fits in (True, False) for up in (True, False)}
    for item in items:
        counts[item.case.fits, item.tier == "must" or item.tier == least] += 1
    return Scores(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def _line(item: Judged, name: Callable[[str], str]) -> dict[str, Any]:
    return {
        "message": _shown(item.case.message),
        "place": item.case.place,
        "tier": item.tier,
        "rank": item.rank,
        "confidence": rounded(item.confidence),
        "winner": name(item.winner) if item.winner else None,
        "first": name(item.first) if item.first else None,
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def rounded(value: float | None) -> float | None:
    """As reports hold a share."""
    return None if value is None else round(value, 4)


def _shown(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"
