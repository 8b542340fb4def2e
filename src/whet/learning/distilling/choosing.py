"""What fits: passages chosen by how strongly they were used and by what they add, texts cut to a number of tokens."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from math import sqrt
from typing import TYPE_CHECKING

from whet.learning.facts.using import names
from whet.prompt.tokens import estimate
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.facts.model import Passage

LINE = 10
"""Tokens that a line stands for at least: a body has a limit of lines, too."""
_OVERHEAD = 8
"""Tokens around a passage: its section, an empty line."""
_STEADY = 25
"""Tokens added to the price of every passage, so that scraps do not win by being short."""
_REPEATED = 0.2
"""What is left of a passage's worth when all of it was said already."""


def chosen(passages: Sequence[Passage], tokens: int) -> tuple[Passage, ...]:
    """The passages that go into so many tokens, in their order.

    Greedy: the next one is the strongest for the square root of its length, less what those before it have said. The
    worth of a passage only falls as others are taken, so it is worked out again only for those that come to the top.
    """
    costs = [max(estimate(passage.text), passage.text.count("\n") * LINE) + _OVERHEAD for passage in passages]
    said = [names(passage.text) | key_terms(passage.text) for passage in passages]
    known: Counter[str] = Counter()

    def worth(at: int) -> float:
        new: float = sum(1.0 / (1 + known[term]) for term in said[at]) / (len(said[at]) or 1)
        return passages[at].weight * (_REPEATED + (1 - _REPEATED) * new) / sqrt(costs[at] + _STEADY)

    queue = [(-worth(at), at) for at in range(len(passages))]
    heapq.heapify(queue)
    taken: list[int] = []
    room = tokens
    while queue:
        _, at = heapq.heappop(queue)
        if costs[at] > room:
            continue
        now = (-worth(at), at)
        if queue and now > queue[0]:
            heapq.heappush(queue, now)
            continue
        taken.append(at)
        room -= costs[at]
        known.update(said[at])
    return tuple(passages[at] for at in sorted(taken))


def cut(text: str, tokens: int) -> str:
    """A text cut at a line so that it costs at most so many tokens; empty when not even one line fits."""
    if estimate(text) <= tokens:
        return text
    lines = text.split("\n")
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate("\n".join(lines[:middle])) <= tokens:
            low = middle
        else:
            high = middle - 1
    return "\n".join(lines[:low]).rstrip()


def bounded(text: str, tokens: int, characters: int, lines: int) -> str:
    """Within all limits; a body that is over one of them by a little loses its end."""
    if len(text) <= characters and estimate(text) <= tokens and text.count("\n") <= lines:
        return text
    whole = text[:characters].split("\n")[:-1][:lines]
    short = cut("\n".join(whole), tokens - 10)
    return closed(short) + "\n"


def closed(text: str) -> str:
    """A text that was cut, with the fence closed that it may have been cut in."""
    fence = ""
    for line in text.split("\n"):
        found = re.match(r"\s*(`{3,}|~{3,})", line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and line.strip() == found[1]:
            fence = ""
    return f"{text}\n{fence}" if fence else text
