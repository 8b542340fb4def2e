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
_COMMON = frozenset(
    """
    a about above after again all almost already also although always am an and another any anyone anything are around
    as ask at away back be because been before being below best better between both but by bye came can cannot come
    could couldnt did didnt do does doesnt doing done dont down during each either else enough etc even ever every
    everything few fine first for from further gave get gets getting give given go goes going gone good got great had
    happen happened happens has have havent having he hello help her here hers hey hi him his how however i id if ill im
    in instead into is isnt it its itself ive just keep kind know last later least less let lets like likely little look
    looks lot made make makes making many may maybe me mean might mine more morning most much must my myself need needs
    never next nice no none nor not nothing now of off often oh ok okay on once one ones only or other others ought our
    ours out over own per perhaps please pretty put quite rather really right said same saw say says see seem seems seen
    shall she should shouldnt since so some somebody someone something sometimes soon sorry still such sure take taken
    takes tell than thank thanks that thats the their theirs them then there theres these they theyre thing things think
    this those though three through thus till to today together told too took toward tried tries try two under unless
    until up upon us use used uses using usually very via wait want wanted wants was wasnt way we well went were werent
    weve what whatever whats when whenever where whether which while who whoever whole whom whose why will with within
    without wont word would wouldnt wow yeah yes yet you your youre yours yourself
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of three hundred strings
)
_CHUNK = re.compile(rf"(?:(?=[{WIDE}-\U0010ffff])[^\W_])+|[^\W_{WIDE}-\U0010ffff]+(?:[-_.'’][^\W_{WIDE}-\U0010ffff]+)*")
_JOINT = re.compile(r"[-_.]")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LONGEST = 40
"""Characters of a term; what is longer is a digest or a key and matches nothing."""
_NUMBER = 3
"""Digits of a number that tells something by itself; shorter ones number lists."""


def words(text: str) -> list[str]:
    """The terms of a text, in the order they stand."""
    return [term for chunk in chunks(text) for term in _terms(chunk)]


def chunks(text: str) -> list[str]:
    """The words of a text as they are written, identifiers in one piece."""
    return _CHUNK.findall(text if text.isascii() else normalize("NFC", text))


def is_common(term: str) -> bool:
    """May it stand in any message, whatever that is about? It helps to tell skills apart, and proves nothing."""
    return term in _common_terms() or (term.isascii() and (len(term) == 1 or (term.isdigit() and len(term) < _NUMBER)))


@lru_cache(maxsize=1)
def _common_terms() -> frozenset[str]:
    return frozenset(term for word in _COMMON for term in terms_of(word))


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
        if not plain or (len(plain) > _LONGEST and plain < WIDE) or (plain in _FILLERS and len(parts) == 1):
            continue
        terms.update(dict.fromkeys(terms_of(plain)))
    return tuple(terms)
