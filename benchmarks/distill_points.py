"""Does a text hold a point? A lexical measure that needs no model and does not flatter.

A point is a sentence that says what matters (`key_point`) and the passage it was taken from (`skill_reference`). Both
are taken apart into terms: code (names with humps, digits or underscores, options, numbers, colours) and plain words
without fillers and endings. Code weighs twice as much as a word, and the sentence as much as the passage. A text holds
the point as far as these terms stand *together*, within a stretch of about a paragraph: words that are merely somewhere
in five thousand tokens say nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from whet.skill import terms as skill_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

THRESHOLDS = {"loose": 0.5, "covered": 0.6, "strict": 0.75}
"""The share of a point's terms from which on it counts; the middle one is the measure."""
STRETCH = 150
"""Terms that stand together; longer for a point that has more terms than fit."""
_CODE_WEIGHT = 2.0
_PIECE = re.compile(r"#[0-9A-Fa-f]{3,8}\b|(?<![\w-])--?[A-Za-z][\w-]*|\d+(?:[.,]\d+)*|[^\W\d_]\w*|_\w+")
_CODE = re.compile(r"#.*|-.*|\d.*|.*_.*|.*\d.*|[a-z]+[A-Z].*|[A-Z][a-z]+[A-Z].*|[A-Z]{3,}")


class Point(NamedTuple):
    """The terms of a point, with what each of them weighs; all together weigh 1."""

    weights: Mapping[str, float]


def terms(text: str) -> list[tuple[str, bool]]:
    """The terms of a text in order, and whether each is code."""
    found: list[tuple[str, bool]] = []
    for piece in _PIECE.findall(text):
        if _CODE.fullmatch(piece) and not (piece.isdigit() and len(piece) < 2):
            found.append((piece.lower().lstrip("-"), True))
        else:
            found.extend((word, False) for word in skill_terms.terms(piece) if not skill_terms.is_common(word))
    return found


def read_point(key_point: str, reference: str) -> Point:
    """A point to look for."""
    weights: defaultdict[str, float] = defaultdict(float)
    parts = [dict(terms(text)) for text in (key_point, reference)]
    parts = [part for part in parts if part]
    for part in parts:
        whole = sum(_CODE_WEIGHT if code else 1.0 for code in part.values())
        for term, code in part.items():
            weights[term] += (_CODE_WEIGHT if code else 1.0) / whole / len(parts)
    return Point(dict(weights))


def held(point: Point, text: Sequence[str]) -> float:
    """How much of a point stands together somewhere in a text (its terms in order), from 0 to 1."""
    stretch = max(STRETCH, 2 * len(point.weights))
    counts: Counter[str] = Counter()
    now = best = 0.0
    for at, term in enumerate(text):
        if term in point.weights:
            counts[term] += 1
            if counts[term] == 1:
                now += point.weights[term]
                best = max(best, now)
        if at >= stretch and (gone := text[at - stretch]) in point.weights:
            counts[gone] -= 1
            if counts[gone] == 0:
                now -= point.weights[gone]
    return min(best, 1.0)


def shares(points: Sequence[Point], text: str) -> list[float]:
    """How much of each point a text holds."""
    sequence = [term for term, _ in terms(text)]
    return [held(point, sequence) for point in points]
