"""Does a message ask for work that some skill could be for?

Confirmations, small talk, general knowledge and small edits of the code at hand share words with many skills and need
none of them. Only the words of the message are judged: each word, the start of a long word, each pair of
neighbours, the first word and the length have a weight in `asking.txt`, and the sum goes through a logistic curve.
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
"""Characters of a message that are read."""
_SIGNS = '?!/{}():;="'
_WORD = compile_late(rf"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[{_SIGNS}]")
_APART = {ord(sign): f" {sign} " for sign in _SIGNS} | dict.fromkeys(map(ord, "#$%&*+,-.<>@[\\]^_`|~"), " ")
_LONG, _START = 5, 5
"""Of words longer than this, the first letters count as well."""
_LENGTHS = ((1, "1"), (2, "2"), (4, "3-4"), (7, "5-7"), (14, "8-14"))

_SLOPE, _OFFSET, _SIZE = 1.6, 3.2, 0.9
"""The curve: its slope, its value in the smallest library, and what ten times as many skills take from it, because the
more skills there are, the more of them match by chance."""


def likelihood(message: str, total: int) -> float:
    """From 0 to 1: how likely a message is meant for a skill of a library with so many of them."""
    return 1 / (1 + exp(-(_SLOPE * score(message) + _OFFSET - _SIZE * log10(1 + total))))


def score(message: str) -> float:
    """The weights of everything a message consists of, added up."""
    weights = table()
    return sum(float(weights.get(one, 0)) for one in signs(message))


def signs(message: str) -> set[str]:
    """What a message consists of, as the table names it: `word`, `start*`, `^first`, `two words`, `#length`."""
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
    """The words, numbers and signs of a text. An expression takes long to load, and most texts need none."""
    for part in text.translate(_APART).split() if text.isascii() else split_scripts(text):
        one, quote, other = part.partition("'")
        is_word = one.isalpha() and (not quote or other.isalpha())
        if part[0] >= WIDE or (part.isascii() and (is_word or part.isdigit() or part in _SIGNS)):
            yield part
        else:
            yield from _WORD.findall(part)


@cache
def table() -> dict[str, str]:
    """The weights, read once; few of them are asked for, and only those become numbers."""
    with open(os.path.join(os.path.dirname(__file__), "asking.txt"), encoding="utf-8") as file:
        next(file)
        cells = file.read().replace("\n", "\t").split("\t")
        return dict(zip(cells[1::2], cells[::2], strict=False))
