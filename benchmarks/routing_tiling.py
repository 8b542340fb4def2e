"""As many skills as wanted, from a pool of real ones.

Beyond the pool its skills come again, varied: another name, a few other words in the description, one word in twenty of
the body exchanged for a word of the pool, and every second time a word nobody has used before. So lists of skills per
word grow as they would, and the vocabulary grows too. Number n is always the same skill.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from routing_data import Skill

_WORD = re.compile(r"[a-z]{4,12}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_IN_DESCRIPTION, _IN_BODY = 8, 20
"""One word in so many is exchanged."""
_CHARACTERS = 20, 300
"""Length of a sentence that may stand for a message."""


class Tiled:
    """A pool that goes on for ever."""

    def __init__(self, pool: Sequence[Skill]) -> None:
        self._pool = pool
        self._words = sorted({word for skill in pool for word in _WORD.findall(f"{skill.name} {skill.description}")})

    def skill(self, number: int) -> Skill:
        """The skill of a number."""
        original = self._pool[number % len(self._pool)]
        if number < len(self._pool):
            return original
        random = Random(number)
        new = f" {random.choice(self._words)}{number:x}" if number % 2 else ""
        return original._replace(
            id=f"tiled:{number}",
            name=f"{original.name}-{random.choice(self._words)}",
            description=self._varied(original.description, random, _IN_DESCRIPTION),
            body=self._varied(original.body, random, _IN_BODY) + new,
        )

    def _varied(self, text: str, random: Random, one_in: int) -> str:
        words = text.split(" ")
        for _ in range(1 + len(words) // one_in):
            words[random.randrange(len(words))] = random.choice(self._words)
        return " ".join(words)


def sentences(pool: Sequence[Skill], count: int) -> list[str]:
    """Sentences of descriptions, in the place of messages."""
    low, high = _CHARACTERS
    found = [part for skill in pool for part in _SENTENCE.split(skill.description) if low <= len(part) <= high]
    return Random(1).sample(found, min(count, len(found)))
