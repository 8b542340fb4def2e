"""The terms by which texts are compared: words without case, endings and fillers, with identifiers split.

`cherry-pick`, `cherryPick` and `cherry_pick` all give `cherry` and `pick`, so a message finds an identifier however
either side spells it. Scripts written without spaces give pairs of neighbouring characters.
"""

from __future__ import annotations

from array import array
from functools import cache, lru_cache
from itertools import chain, groupby
from unicodedata import normalize
from zlib import crc32

from whet.patterns import compile_late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
"""Words that say nothing about the purpose of a skill."""
_DROPPED = frozenset(
    """
    a an and any are as at be been by can could do does for from get had has have help how i if in into is it its just
    like me my need no not of on or our please should so some that the there this to use using want was we were what
    when where which why will with would you your also im
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of eighty strings
)
"""Words that are not terms."""
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
"""Words that may occur in any message."""
MARKS = (
    r"\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963"
    r"\u0966-\u1fff\ufe00-\ufe0f"
)
"""Combining marks, and the scripts that are full of them; for a regex."""
WIDE = "\u2e80"
"""First character of the scripts written without spaces."""

_APART = {code: " " for code in range(128) if not chr(code).isalnum()}
"""Separators of words in ASCII text: several times as fast as matching words."""
_BETWEEN = bytes(ord(" ") if code in _APART and chr(code) != "'" else code for code in range(256))
"""The same for UTF-8 text, except the apostrophe."""
_ASCII_CHUNK = compile_late(r"[A-Za-z0-9]+(?:[-_.'][A-Za-z0-9]+)*")
_HUMPS = compile_late(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS = rf"[^\W_](?:[^\W_]|[{MARKS}])*"
_ANY_CHUNK = compile_late(rf"{_LETTERS}(?:[-_.'’]{_LETTERS})*")
_ANY_WORD = compile_late(_LETTERS)
"""Words of any script. A class with a large range, such as `WIDE` and above, takes milliseconds to compile."""
_MOST_KNOWN = 131_072
"""Largest number of cached tokens."""
_LONGEST = 40
"""Largest length of a term; a longer one is a digest or a key and matches nothing."""
_SHORT = 3
"""Longest word without an ending."""
_NUMBER = 3
"""Shortest number that is meaningful; shorter ones number lists."""
_ROOT = 6
"""Shortest root to which `ment` can be an ending: `deployment`, but `implement`."""


def terms(text: str) -> list[str]:
    """Return the terms of a text in order."""
    return [*chain.from_iterable(map(_terms, _tokens(text)))]


def numbers(text: str) -> list[int]:
    """Return the numbers of the terms of a text in order."""
    if len(_known_numbers) > _MOST_KNOWN:
        _known_numbers.clear()
    return [*chain.from_iterable(map(_known_numbers.__getitem__, _tokens(text)))]


class _Numbers(dict[str, tuple[int, ...]]):
    """Caches the numbers of the terms of each token. Most tokens of a text occur again."""

    def __missing__(self, token: str) -> tuple[int, ...]:
        found = self[token] = tuple(map(number, _split(token)))
        return found


_known_numbers = _Numbers()


def _tokens(text: str) -> list[str]:
    """Split a text into pieces of one or more words: much faster than finding words, and most pieces are cached."""
    return text.encode("utf-8", "surrogatepass").translate(_BETWEEN).decode("utf-8", "surrogatepass").split()


@lru_cache(maxsize=1024)
def key_terms(text: str) -> frozenset[str]:
    """Return the meaningful terms of a text."""
    return frozenset(term for term in terms(text) if not is_common(term))


def chunks(text: str) -> list[str]:
    """Return the words of a text as written, identifiers in one piece."""
    if text.isascii():
        return _ASCII_CHUNK.findall(text)
    found = (part for chunk in _ANY_CHUNK.findall(normalize("NFKC", text)) for part in split_scripts(chunk))
    return [part for part in (part.strip("-_.'’") for part in found) if part]


def split_scripts(word: str) -> list[str]:
    """Split a word into parts of scripts with spaces between words and of scripts without."""
    return [word] if max(word) < WIDE else ["".join(run) for _, run in groupby(word, WIDE.__le__)]


def spell(text: str) -> list[str]:
    """Return the plain words of a text without case, including fillers, with identifiers split."""
    return split_words(text.casefold())


def split_words(text: str) -> list[str]:
    """Return the plain words of a text as written."""
    return text.translate(_APART).split() if text.isascii() else _ANY_WORD.findall(text)


def plain_terms(text: str) -> list[str]:
    """Return the terms of the plain words of a text in order."""
    return [term for word in spell(text) for term in stem(word)]


@lru_cache(maxsize=65536)
def stem(word: str) -> tuple[str, ...]:
    """Return the terms of a word without case: pairs of characters in scripts without spaces, else its stem."""
    if not word.isascii() and max(word) >= WIDE:
        return tuple(word[at : at + 2] for at in range(max(1, len(word) - 1)))
    return (_stem(word) if word.isascii() and len(word) > _SHORT else word,)


def is_common(term: str) -> bool:
    """Return whether a term may occur in any message. It helps to tell skills apart, but proves nothing."""
    return term in _common_terms() or (term.isascii() and (len(term) == 1 or (term.isdigit() and len(term) < _NUMBER)))


@cache
def filler_terms() -> frozenset[str]:
    """Return the fillers as written, and as terms."""
    return FILLERS.union(term for word in FILLERS for term in stem(word))


@lru_cache(maxsize=65536)
def number(term: str) -> int:
    """Return the number by which a term is stored."""
    return crc32(term.encode("utf-8", "surrogatepass"))


def codes(numbers: Iterable[int]) -> bytes:
    """Return half of each number as bytes: too little to identify a term, but enough for two neighbouring ones."""
    return array("H", array("I", numbers).tobytes())[::2].tobytes()


@cache
def _common_terms() -> frozenset[str]:
    return frozenset(term for word in _COMMON for term in stem(word))


def _split(token: str) -> tuple[str, ...]:
    if token.isalpha() and token.isascii() and (token.islower() or token[1:].islower()):  # the most common case
        word = token.lower()
        return () if word in _DROPPED or len(word) > _LONGEST else stem(word)
    if token.isascii():
        return _stems(_without_quotes(token))
    words = (word for chunk in chunks(token) for word in split_words(_without_quotes(chunk)))
    return tuple(chain.from_iterable(map(_stems, words)))


_terms = lru_cache(maxsize=65536)(_split)


def _without_quotes(word: str) -> str:
    return word.replace("’", "'").strip("'").replace("'s", "").replace("'", "")


@lru_cache(maxsize=65536)
def _stems(part: str) -> tuple[str, ...]:
    """Return the terms of a part of an identifier: of its words, and of the whole."""
    humps: list[str] = []
    if part.isascii() and not (part.islower() or part.isdigit() or (part.isalpha() and part[1:].islower())):
        humps = _HUMPS.findall(part)
    stems: dict[str, None] = {}
    for word in (*humps, part) if len(humps) > 1 else (part,):
        plain = word.casefold()
        if plain and (len(plain) <= _LONGEST or plain >= WIDE) and plain not in _DROPPED:
            stems.update(dict.fromkeys(stem(plain)))
    return tuple(stems)


def _stem(word: str) -> str:
    """Remove English endings: `query` and `queries`, `probe` and `probing`, `deploy` and `deployment` become equal."""
    if word[-1] not in "desgt":
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("ches", "shes", "sses", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORT:
            return _restore_root(word[: -len(ending)])
    if word.endswith("ment") and len(word) - 4 >= _ROOT:
        word = word[:-4]
    return word[:-1] if word.endswith("e") and len(word) > _SHORT + 1 else word


def _restore_root(root: str) -> str:
    """Return the root of a word without `ing` or `ed`, as it is spelled alone."""
    if root[-1] == root[-2] and len(root) > _SHORT and root[-1] not in "lsz":
        return root[:-1]
    vowels = "aeiou"
    silent = root[-1] not in "aeiouwxy" and root[-2] in vowels and root[-3] not in vowels
    return root + "e" if silent and len(root) == _SHORT else root
