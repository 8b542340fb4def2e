"""Estimate whether a message asks for work that a skill could do.

Confirmations, small talk, general knowledge and small edits of the current code share words with many skills and need
none of them. Only the words of the message are judged: each word, the start of a long word, each pair of neighbours,
the first word and the length have a weight in `asking.txt`, and the sum goes through a logistic curve.
benchmarks/routing_asking.py fits the table on messages of several writers and measures it on writers left out.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import pairwise
from math import exp, log10

from whet.patterns import compile_late
from whet.skill.terms import WIDE, split_scripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_READ = 400
"""Maximum number of characters of a message that are read."""
_SIGNS = '?!/{}():;="'
_WORD = compile_late(rf"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[{_SIGNS}]")
_APART = {ord(sign): f" {sign} " for sign in _SIGNS} | dict.fromkeys(map(ord, "#$%&*+,-.<>@[\\]^_`|~"), " ")
_LONG, _START = 5, 5
"""For words longer than this, the first letters count as well."""
_LENGTHS = ((1, "1"), (2, "2"), (4, "3-4"), (7, "5-7"), (14, "8-14"))

_SLOPE, _OFFSET, _SIZE = 1.6, 3.2, 0.9
"""The curve: its slope, its value in the smallest library, and its decrease for ten times as many skills, because more
skills match by chance in a larger library."""


def likelihood(message: str, total: int) -> float:
    """Return the probability that a message is meant for a skill of a library with `total` skills."""
    return 1 / (1 + exp(-(_SLOPE * score(message) + _OFFSET - _SIZE * log10(1 + total))))


def score(message: str) -> float:
    """Return the sum of the weights of all signs in a message."""
    weights = table()
    return sum(float(weights.get(one, 0)) for one in signs(message))


def signs(message: str) -> set[str]:
    """Return the signs of a message as the table names them: `word`, `start*`, `^first`, `two words`, `#length`."""
    text = message[:_READ].lower()
    words = [*_split(text)]
    found = {"*", *(f"^{word}" for word in words[:1])}
    length = 0
    for word in words:
        if word[0] >= WIDE:
            found.update(word, (word[at : at + 2] for at in range(len(word) - 1)))
            length += (len(word) + 1) // 2
        elif word.isdigit():
            found.add("0")
            length += 1
        else:
            found.add(word)
            length += word[0].isalpha()
            if len(word) > _LONG:
                found.add(f"{word[:_START]}*")
    found.update(f"{one} {other}" for one, other in pairwise(words) if one[0] < WIDE > other[0])
    found.add(f"#{next((name for most, name in _LENGTHS if length <= most), '15+')}")
    return found


def _split(text: str) -> Iterator[str]:
    """Yield the words, numbers and signs of a text; most texts need no regular expression, which is slow to load."""
    for part in text.translate(_APART).split() if text.isascii() else split_scripts(text):
        one, quote, other = part.partition("'")
        is_word = one.isalpha() and (not quote or other.isalpha())
        if part[0] >= WIDE or (part.isascii() and (is_word or part.isdigit() or part in _SIGNS)):
            yield part
        else:
            yield from _WORD.findall(part)


@cache
def table() -> dict[str, str]:
    """Return the weights as text, read once; only the few that are used become numbers."""
    with open(os.path.join(os.path.dirname(__file__), "asking.txt"), encoding="utf-8") as file:
        next(file)
        cells = file.read().replace("\n", "\t").split("\t")
        return dict(zip(cells[1::2], cells[::2], strict=False))
