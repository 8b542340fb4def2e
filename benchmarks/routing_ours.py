"""Whet's own router on the skills of a pool.

A skill is known to the router by a number, so that nothing of its id can be found in the index.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from routing_data import NotMeasuredError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from routing_data import Skill


def load() -> Any:
    """The module of the router."""
    try:
        return importlib.import_module("whet.routing.router")
    except ImportError as error:
        raise NotMeasuredError(f"the router of Whet does not load: {error}") from None


def texts(skill: Skill) -> Any:
    """What routing reads of a skill."""
    from whet.routing.texts import Texts

    return Texts(
        skill.name,
        skill.description,
        skill.body,
        when_to_use=skill.when_to_use,
        triggers=skill.triggers,
        tags=skill.tags,
    )


def entries(skills: Iterable[tuple[int, Skill]], stamp: Callable[[int], str] = lambda _: "1") -> list[Any]:
    """Skills with their numbers as the router takes them."""
    router = load()
    return [router.Entry(str(at), stamp(at), lambda skill=skill: texts(skill)) for at, skill in skills]


class Ours:
    """A router over some skills of a pool, in a directory of its own."""

    def __init__(self, pool: Sequence[Skill], members: Iterable[int], directory: str) -> None:
        number = len(os.listdir(directory))
        self.router: Any = load().Router(os.path.join(directory, f"routing-{number}.db"))
        self.router.update(entries((at, pool[at]) for at in members))

    def rank(self, message: str, depth: int) -> list[int]:
        """Positions in the pool, best first."""
        return [int(found.key) for found in self.router.find(message, depth)]

    def confidence(self, message: str, at: int) -> float:
        """How sure the router is that this skill should fire."""
        return float(self.router.confidence(message, str(at)))

    def detected(self, message: str) -> tuple[str, int | None, frozenset[int]]:
        """The decision, the skill it is about, and everything that is offered with it."""
        found = self.router.detect(message)
        key = None if found.key is None else int(found.key)
        others = frozenset(int(key) for one in found.others for key in (one.key, *one.also))
        return found.decision, key, others if key is None else others | {key}

    def close(self) -> None:
        """Let go of the index."""
        self.router.close()
