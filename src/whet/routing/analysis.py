"""The index data of one skill, computed from its own words alone, so that an edit never touches another skill.

Each term gets a BM25F weight from 1 to 255: the counts in the name, in the description (with when to use it, trigger
phrases, tags and known messages) and in the body without its code blocks are divided by the length of each, added up
with the weight of the field, and flattened. Lengths are compared with those of a typical skill instead of the library's
mean, and the rarity of a term is applied at query time; so neither has to be recomputed when skills come and go.
"""

from __future__ import annotations

import re
from collections import Counter
from math import ceil
from typing import TYPE_CHECKING

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.routing.index import Analysis, Row
from whet.skill.body import visible_text
from whet.skill.terms import codes, number, numbers, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.routing.texts import Texts

BODY = 12_000
"""Maximum length of a body."""

_ORDINARY = (3.3, 40.0, 360.0)
"""Number of terms in each field of a typical skill."""
_WEIGHT = (8.0, 6.0, 1.0)
_LENGTH = (0.5, 0.5, 0.75)
"""The weight of the length of each field."""
_FLAT = 3.0
_MOST_TERMS = 600
_MOST_MESSAGES = 50
_MOST_PHRASES = 24
_QUOTED = compile_late(r"""(?<!\w)["“「]([^"“”「」\n]{2,80})["”」](?!\w)""")
"""Text between quotation marks."""


def analyse(texts: Texts) -> Analysis:
    """Return the index data of a skill."""
    description, clauses = without_negations(texts.description)
    when_to_use, more_clauses = without_negations(texts.when_to_use)
    body, sections = without_exclusions(visible_text(texts.body[:BODY]))
    name = terms(texts.name)
    positive, phrases = _phrases((description, when_to_use), texts.triggers, len(name))
    positive += terms("\n".join((*texts.tags, *texts.examples)))
    fields = [[*map(number, name)], [*map(number, positive)], numbers(body)]
    headed = numbers(_headings(body))
    counts = [Counter(found) for found in fields]
    counts[2].update(headed)
    excluded = numbers("\n".join((clauses, more_clauses, sections, texts.when_not_to_use)))
    leading = [*dict.fromkeys((*fields[0], *fields[1]))][:_MOST_TERMS]
    rest = [term for term in counts[2] if term not in counts[0] and term not in counts[1]]
    rest = rest[: _MOST_TERMS - len(leading)]
    sizes = (len(fields[0]), len(fields[1]), len(fields[2]) + len(headed))
    worth = [
        weight / (1 - length + length * size / ordinary)
        for weight, length, size, ordinary in zip(_WEIGHT, _LENGTH, sizes, _ORDINARY, strict=True)
    ]
    return Analysis(
        terms=[*leading, *rest],
        leading=len(leading),
        weights=_weigh(counts, leading, rest, worth),
        spellings=frozenset(
            word for word in [*dict.fromkeys((*name, *positive))][:_MOST_TERMS] if word.isascii() and word.isalpha()
        ),
        row=Row(
            name=texts.name,
            sequence=codes(fields[0] + fields[1] + fields[2]),
            lead=len(fields[0]) + len(fields[1]),
            description=len(fields[1]),
            phrases=phrases,
            against=frozenset(excluded).difference(fields[0], fields[1]),
            examples=_messages(texts.examples),
            counterexamples=_messages(texts.counterexamples),
        ),
    )


def _phrases(
    told: tuple[str, ...], triggers: tuple[str, ...], start: int
) -> tuple[list[str], tuple[tuple[int, int, str], ...]]:
    """Return the terms of a description and its triggers, and the phrases among them, with positions from `start`."""
    pieces = [(piece, odd) for text in told for odd, piece in enumerate(_QUOTED.split(text))]
    found: list[str] = []
    phrases: list[tuple[int, int, str]] = []
    for piece, odd in (*pieces, *((trigger, 1) for trigger in triggers)):
        inside = terms(piece)
        if odd % 2 and inside and len(phrases) < _MOST_PHRASES:
            phrases.append((start + len(found), len(inside), piece.strip()))
        found += inside
    return found, tuple(phrases)


def _weigh(counts: list[Counter[int]], leading: list[int], rest: list[int], worth: list[float]) -> bytes:
    """Return the weight of each term, from its count in each field and the weight of the field."""
    (names, descriptions, bodies), (name, description, body) = counts, worth
    said = [
        name * names.get(term, 0) + description * descriptions.get(term, 0) + body * bodies.get(term, 0)
        for term in leading
    ]
    often = [*map(bodies.__getitem__, rest)]
    alone = {count: _flatten(body * count) for count in {*often}}  # most occur once or twice
    return bytes((*map(_flatten, said), *map(alone.__getitem__, often)))


def _flatten(together: float) -> int:
    return ceil(255 * together / (together + _FLAT))


def _messages(messages: tuple[str, ...]) -> tuple[frozenset[int], ...]:
    return tuple(frozenset(numbers(message)) for message in messages[:_MOST_MESSAGES])


class _Openings(NamedTuple):
    """The openings of clauses that say what a skill is not for."""

    clause: re.Pattern[str]
    words: tuple[str, ...]
    """Words of which every opening has one, to skip texts without such a clause quickly."""


_WORDS = ("not", "n't", "n’t", "dont", "dnt", "snt", "never", "skip", "avoid", "scope")
_SIGN = compile_late(
    r"(?:not|n't|n’t|dont|dnt|snt|never|skip|avoid|exclude|unless)[sd]?[\s*_>]*(?:use|using|trigger|invoke|activate|appl"
    r"|load|fire|select|pick|choose|chosen|call|run|be\s|to\s+be|for|intended|meant|suitable|appropriate|designed|this|when"
    r"|if|the\s+user)|skill[\s*_]+(?:is|should|must|does)|scope|请勿|不要|不适用于|使用しない"
)
"""One of these words with its continuation in a clause."""
_BEFORE, _AFTER = 16, 24
"""Number of characters before and after such a word within which a clause begins."""
_OPENING = _Openings(
    compile_late(
        r"""
        \b(?:do\s+not|don['’]?t|never|should\s+not|must\s+not|shouldn['’]?t|not\s+to\s+be)\s+(?:be\s+)?
        (?:used?|trigger(?:ed)?|invoked?|activated?|apply|applied|load(?:ed)?|fired?|select(?:ed)?|pick(?:ed)?|choose
        |chosen|call(?:ed)?|run\s+this)\b
    | \bnot\s+(?:intended\s+|meant\s+|suitable\s+|appropriate\s+|designed\s+)?for\b
    | \b(?:skip|avoid|exclude[sd]?)\s+(?:this\s+(?:skill\s+)?)?(?:when|if|for|using)\b
    | \bout\s+of\s+scope\b | \bout-of-scope\b
    | \bnot\s+when\b | \bunless\s+the\s+user\b
    | 请勿 | 不要(?:用于|使用) | 不适用于 | 使用しない
        """,
        re.IGNORECASE | re.VERBOSE,
    ),
    (*_WORDS, "exclude", "unless", "请勿", "不要", "不适用于", "使用しない"),
)
_END = re.compile(r"(?<=[.!?;])(?:\s|$)|(?<=[。；！？])|\n\s*\n|\n\s*[-*•]|\s[—–]\s(?=use\b)", re.IGNORECASE)
_LIST_END = re.compile(r"\n\s*\n(?!\s*[-*•]\s)")
_BRACKETS = 500
"""Maximum length of bracketed text."""
_POINTER = compile_late(
    r"[(（\[](?:use|see|try|prefer|that\ is|those\ are|→)[^)）\]]{0,120}[)）\]]"
    r"|[(（]`?[a-z0-9]+(?:-[a-z0-9]+)+`?[)）]"
    r"|(?<=[;,])\ use\ .{0,80}",
    re.IGNORECASE,
)
"""A reference to another skill, whose name is not part of the exclusion."""
_BACK = re.compile(r"[.!?;。；！？\n]\s*|\(|,\s+(?:but\s+)?$")
_EMPHASIS = re.compile(r"(?<=\S)(?:\*+|__)|(?:\*+|__)(?=\S)")
_BODY_OPENING = _Openings(
    compile_late(
        r"""
        \b(?:do\s+not|don['’]?t|never|should\s+not|must\s+not|shouldn['’]?t)\s+(?:be\s+)?
        (?:use|trigger|invoke|activate|apply|load|pick|choose|call|run)\s+
        (?:(?:this|the)\s+skill|(?:this|it)\s+(?:for|when|if|on|to)\b|(?:for|when|if)\b)
    | \bthis\s+skill\s+(?:is\s+not|isn['’]?t|should\s+not|must\s+not|does\s+not|doesn['’]?t)\b
    | \b(?:skip|avoid)\s+this\s+skill\b
    | ^[\s>*•-]*(?:not\s+(?:intended\s+|meant\s+|suitable\s+)?for|out\s+of\s+scope\s*:)
        """,
        re.IGNORECASE | re.VERBOSE | re.MULTILINE,
    ),
    (*_WORDS, "skill"),
)
"""The openings of exclusions in a body; any other "do not use" is advice."""
_EXCLUDING_SECTION = compile_late(
    r"^\#{1,6}[ \t]+[^\n]{0,20}?\b(?:not\s+(?:to\s+use|for)|(?:do\s+not|don['’]?t)\s+use|out\s+of\s+scope"
    r"|exclusions?|non-goals?)\b[^\n]{0,40}\n(.*?)(?=^\#{1,6}[ \t]|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
"""A section of a body whose heading says that it lists exclusions."""
_EXCLUDING = ("not", "n't", "n’t", "dont", "scope", "exclusion", "goal")
"""Words of which such a heading has one."""


def without_exclusions(body: str) -> tuple[str, str]:
    """Split a body into its text without exclusions, and the sections and sentences with exclusions."""
    sections: list[str] = []

    def take(found: re.Match[str]) -> str:
        sections.append(found[1])
        return "\n"

    headings = _headings(body).lower()
    rest = _EXCLUDING_SECTION.sub(take, body) if any(word in headings for word in _EXCLUDING) else body
    rest, sentences = without_negations(rest, _BODY_OPENING)
    return rest, "\n".join((*(_POINTER.sub(" ", section) for section in sections), sentences))


def _headings(body: str) -> str:
    """Return the headings of a body."""
    lines = (piece.partition("\n")[0].lstrip("#") for piece in f"\n{body}".split("\n#")[1:])
    return "\n".join(line for line in lines if line[:1].isspace())


def without_negations(text: str, openings: _Openings = _OPENING) -> tuple[str, str]:
    """Split a text into its text without exclusions, and the clauses that say what it is not for."""
    negative = _negative(text, openings)
    if not negative:
        return text, ""
    rows, excluding = text.split("\n"), 0
    for at in negative:
        near = slice(max(0, at - 1), at + 2)
        rows[near], excluding = _EMPHASIS.sub("", "\n".join(rows[near])).split("\n"), near.stop
    text, limit = "\n".join(rows), len("\n".join(rows[:excluding]))
    first = len("\n".join(rows[: max(0, negative[0] - 1)]))
    kept: list[str] = []
    taken: list[str] = []
    at = 0
    while (opening := openings.clause.search(text, max(at, first), limit)) is not None:
        before, start = text[at : opening.start()], opening.start()
        last = _closing(text, before, opening.end())
        end = _END.search(text, opening.end(), last)
        if end and text[opening.end() : end.start()].rstrip().endswith((":", "：")):
            end = _LIST_END.search(text, end.end(), last)  # a list follows "Not for:"
        stop = end.start() if end else last
        if opening.group().lower().startswith(("out", "使用")):
            start = at + max((found.end() for found in _BACK.finditer(before)), default=0)
        taken.append(text[start if start < opening.start() else opening.end() : stop])
        kept.append(text[at:start])
        at = stop
    kept.append(text[at:])
    return " ".join(kept), _POINTER.sub(" ", "\n".join(taken))


def _negative(text: str, openings: _Openings) -> list[int]:
    """Return the numbers of the rows with an exclusion. Texts without one, which are most, return quickly."""
    plain = text.lower()
    found = (_SIGN.match(plain, at) for word in openings.words for at in _places(word, plain))
    return sorted(
        {
            plain.count("\n", 0, sign.start())
            for sign in found
            if sign
            and openings.clause.search(_EMPHASIS.sub("", plain[max(0, sign.start() - _BEFORE) : sign.end() + _AFTER]))
        }
    )


def _places(word: str, text: str) -> Iterator[int]:
    """Yield the positions of a word in a text, several times faster than a regular expression."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _closing(text: str, before: str, start: int) -> int:
    """Return the end of the brackets around `start`; the end of the text if there are none."""
    if max(map(before.rfind, "(（")) > max(map(before.rfind, ")）")):
        found = [text.find(mark, start, start + _BRACKETS) for mark in ")）"]
        return min((at for at in found if at >= 0), default=len(text))
    return len(text)
