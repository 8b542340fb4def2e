"""The words of a text as texts are compared: without case and the commonest English endings; fillers told apart.

Scripts that are written without spaces give pairs of neighbouring characters instead of words.
"""

from __future__ import annotations

import re
from functools import lru_cache

FILLERS = frozenset(
    """
    a about above across after again against all also an and any are around as ask asked asks at based be because
    been before being below between both but by can could create creating do does during each etc every few for from
    further get gets getting given guide has have having he help helps her here his how i if in include includes
    including into is it its just like made make makes making may me mention mentions might more most must my need
    needs new now of on once one only or other our out over own per provide provides said same says set sets she
    should show shows skill skills so some such task tasks than that the their them then there these they this those
    through to too two under until up us use used user users uses using very via vs want wants was we were what when
    whenever where which while who will with within work working would you your
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of two hundred strings
)
"""Words that tell nothing about what a skill is for."""
MARKS = (
    r"\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963"
    r"\u0966-\u1fff\ufe00-\ufe0f"
)
"""Signs above, below and between the letters of a word, and the scripts that are full of them; for a regex."""
WIDE = "\u2e80"
"""From here on, scripts that are written without spaces."""

_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{MARKS}])*")
_ENDINGS = ("ing", "ies", "es", "ed", "s")
_APART = {code: " " for code in range(128) if not chr(code).isalnum()}
"""What stands between words, for texts of nothing but ASCII: several times as fast as looking for the words."""


def spelled(text: str) -> list[str]:
    """The words of a text as they are written, without case."""
    if text.isascii():
        return text.lower().translate(_APART).split()
    return _WORD.findall(text.casefold())


def terms(text: str) -> list[str]:
    """The words of a text as they are compared: without case and the commonest English endings."""
    return [term for word in spelled(text) for term in terms_of(word)]


@lru_cache(maxsize=4096)
def terms_of(word: str) -> tuple[str, ...]:
    """What one word without case is compared as; several where words are not written apart."""
    if word.isascii():
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) > 2:
                return (word[: -len(ending)],)
    elif max(word) >= WIDE:
        return tuple(word[at : at + 2] for at in range(max(1, len(word) - 1)))
    return (word,)
