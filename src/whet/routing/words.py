"""The terms by which skills and messages are matched: identifiers taken apart, endings cut, fillers left out.

`cherry-pick`, `cherryPick` and `cherry_pick` all give `cherry`, `pick` and the whole; so a message finds a code word
however either side spells it. Scripts written without spaces give pairs of neighbouring characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import normalize
from zlib import crc32

from whet.skill.words import WIDE, terms_of

_FILLERS = frozenset(
    """
    a an and any are as at be been by can could do does for from get had has have help how i if in into is it its just
    like me my need no not of on or our please should so some that the there this to use using want was we were what
    when where which why will with would you your also im
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of eighty strings
)
_CHUNK = re.compile(rf"[{WIDE}-\U0010ffff]+|[^\W_{WIDE}-\U0010ffff]+(?:[-_.'’][^\W_{WIDE}-\U0010ffff]+)*")
_JOINT = re.compile(r"[-_.]")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LONGEST = 40
"""Characters of a term; what is longer is a digest or a key and matches nothing."""


def words(text: str) -> list[str]:
    """The terms of a text, in the order they stand."""
    return [term for chunk in chunks(text) for term in _terms(chunk)]


def chunks(text: str) -> list[str]:
    """The words of a text as they are written, identifiers in one piece."""
    return _CHUNK.findall(text if text.isascii() else normalize("NFC", text))


def number(term: str) -> int:
    """What a term is stored as."""
    return crc32(term.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=65536)
def _terms(chunk: str) -> tuple[str, ...]:
    parts = _JOINT.split(chunk.replace("’", "'").replace("'s", "").replace("'", ""))
    found: list[str] = []
    for part in parts:
        humps = _HUMPS.findall(part) if part.isascii() and not part.islower() else ()
        if len(humps) > 1:
            found += humps
        found.append(part)
    terms: dict[str, None] = {}
    for word in found:
        plain = word.casefold()
        if not plain or len(plain) > _LONGEST or (plain in _FILLERS and len(parts) == 1):
            continue
        terms.update(dict.fromkeys(terms_of(plain)))
    return tuple(terms)
