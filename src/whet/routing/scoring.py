"""From features to an order, and from an order to how sure one can be of it.

The order comes from the fitted weights, moved by what a message says outright (it names a skill, or turns it down) and
by what people said about earlier messages. How sure one can be is another question: the best of a bad lot is still
best. It is a logistic curve over a few things: the share of the message's subject the skill has, where a term that
nobody has counts too, and the small words of any message do not; how telling those in its name and description are;
how much there is to go by; the lead it has on the next; whether the message names it, or turns it down; and whether it
is about something the skill says it is not for. It was fitted on messages that should and should not bring a skill up,
in libraries from four skills to thousands, on the runners-up of messages that are for another skill, and on messages
about something else altogether; benchmarks/detect.py measures it. One word is no proof, whatever the curve says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from whet.routing import features
from whet.routing.weights import row as weights_of
from whet.skill.terms import WIDE, chunks, is_common, pieces, terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.routing.features import Asked, Table
    from whet.routing.index import Row
    from whet.routing.weights import Weights

MUST = 0.85
"""How sure one must be to bring a skill up without asking."""
MAY = 0.22
"""How sure one must be to offer it."""

_NAMED = 3.0
_DECLINED = -20.0
"""More than words can make good: what is turned down comes last, and nobody is held to its confidence."""
_EXAMPLE = 4.0
_COUNTEREXAMPLE = 6.0
_ALIKE = 0.5
"""From which likeness on an earlier message says something about this one."""
_APART = -2.0
"""What being about something that a skill says it is not for costs at most."""
_RECENT = 0.1
"""What use lately is worth: enough to decide between equals."""
_GUESSED = 0.5
"""What a mistyped word counts."""
_ONE_WORD = 0.8
"""How sure one word can make: not so sure that a skill comes up by itself."""
_IN_PASSING, _UNDESCRIBED = 3, 0.2
"""Fewer terms than this that only a body has are said in passing, and make no skill worth offering."""
_FEW = 5.0
"""A lead over so many rivals counts half: being the best of three means little."""
_MOST_EXCLUDED = 0.12
EVIDENCE = (
    "start",
    "share",  # of the message's subject that it has; a term that nobody has is one it lacks
    "described",  # of the message's subject that its name and description have
    "telling",  # how rare those are, as a logarithm
    "length",  # of the subject in terms, as a logarithm
    "lead",  # on the next, or behind the first
    "excluded",  # the part of the message that it says it is not for
    "named",
    "declined",
)
"""What speaks for a skill being right at all, and against it."""


class Judgement(NamedTuple):
    """The skills in question, judged; the arrays go by their places."""

    scores: np.ndarray
    """By these they are ordered; equals by their keys, so that it does not matter in which order they came in."""
    keys: tuple[str, ...]
    sure: np.ndarray
    """From 0 to 1: how likely each is right for the message."""
    naming: tuple[Naming, ...]
    excluded: np.ndarray
    """The part of the message, by rarity, that each says it is not for."""
    example: np.ndarray
    """How much each one's most alike known message is like this one; below 0 for one that was not for it."""

    def order(self) -> list[int]:
        """The places, best first."""
        return sorted(range(len(self.keys)), key=lambda at: (-round(float(self.scores[at]), 4), self.keys[at]))


def judge(given: Candidates, weights: Weights, recent: Sequence[str] = ()) -> Judgement:
    """Order the skills in question and tell how sure each is."""
    if not given.rows:
        empty = np.zeros(0)
        return Judgement(empty, (), empty, (), empty, empty)
    kind = weights.meaning if given.names == features.WITH_MEANING else weights.words
    scores = features.standard(given.values) @ weights_of(kind, given.names)
    names = Names(given.asked.text)
    naming = tuple(names.naming(row.name) for row in given.rows)
    worth = dict(zip(map(int, given.asked.numbers), map(float, given.table.rarity), strict=True))
    most = max(worth.values(), default=0.0)
    full = {term: weight or most for term, weight in worth.items()}  # what nobody has tells as much as the rarest
    mass = sum(full.values()) or 1.0
    excluded = np.array([sum(full.get(term, 0.0) for term in row.more.get("against", ())) / mass for row in given.rows])
    example = np.array([_example(worth, row.more) for row in given.rows])
    places = {key: at for at, key in enumerate(recent)}
    lately = np.array([_RECENT / (1 + places[row.key]) if row.key in places else 0.0 for row in given.rows])
    said = np.array([{"named": _NAMED, "declined": _DECLINED, "": 0.0}[one] for one in naming])
    taught = np.where(example > 0, _EXAMPLE, _COUNTEREXAMPLE) * example
    keys = tuple(row.key for row in given.rows)
    apart = _APART * np.minimum(excluded, _MOST_EXCLUDED) / _MOST_EXCLUDED
    judged = Judgement(scores + said + taught + lately + apart, keys, np.zeros(len(keys)), naming, excluded, example)
    seen = evidence(given, judged)
    sure = 1 / (1 + np.exp(-(seen @ weights_of(weights.sure, EVIDENCE) + taught)))
    return judged._replace(sure=np.minimum(sure, np.where((said > 0) | (taught > 0), 1.0, _proof(seen))))


def evidence(given: Candidates, judged: Judgement) -> np.ndarray:
    """The skills in question x `EVIDENCE`."""
    every, name, description, _ = given.table.found
    subject = {term for term in given.asked.terms if not is_common(term)}
    certain = np.array(
        [_GUESSED if term in given.asked.guessed else term in subject for term in given.asked.terms], float
    )
    count, length = len(judged.scores), max(1, len(subject))
    described = (name > 0) | (description > 0)
    return np.column_stack(
        [
            np.ones(count),
            certain @ (every > 0) / length,
            certain @ described / length,
            np.log1p((given.table.rarity * certain) @ described),
            np.full(count, np.log1p(len(subject))),
            _lead(judged.scores),
            np.minimum(judged.excluded, _MOST_EXCLUDED),
            [one == "named" for one in judged.naming],
            [one == "declined" for one in judged.naming],
        ]
    )


def _proof(seen: np.ndarray) -> np.ndarray:
    """How sure one can be at most, by how many terms of the subject there are and whether one is in the description."""
    share, described, length = (seen[:, EVIDENCE.index(name)] for name in ("share", "described", "length"))
    matched = np.rint(share * np.expm1(length))
    most = np.where(matched < 2, _ONE_WORD, 1.0)
    return np.where((described == 0) & (matched < _IN_PASSING), _UNDESCRIBED, most)


def _lead(scores: np.ndarray) -> np.ndarray:
    """How far each is ahead of the next, or behind the first; little where there are few."""
    count = len(scores)
    if count < 2:
        return np.zeros(count)
    second, first = np.partition(scores, count - 2)[-2:]
    lead: np.ndarray = np.clip(scores - np.where(scores == first, second, first), -4, 4)
    return lead * (count / (count + _FEW))


def _example(worth: Mapping[int, float], more: Mapping[str, list[list[int]]]) -> float:
    """The likeness of a message to the known messages of a skill, its own and those that were not for it."""
    best = 0.0
    for name, sign in (("examples", 1.0), ("counter", -1.0)):
        for known in more.get(name, ()):
            alike = _alike(worth, known)
            if alike >= _ALIKE and alike > abs(best):
                best = sign * alike
    return best


def _alike(worth: Mapping[int, float], terms: Sequence[int]) -> float:
    """How much two messages share, by how rare their terms are; what nobody has counts as the rarest."""
    most = max(worth.values(), default=0.0) or 1.0
    shared = sum(worth[term] or most for term in terms if term in worth)
    either = sum(weight or most for weight in worth.values()) + most * sum(term not in worth for term in terms)
    return shared / (either or 1.0)


class Candidates(NamedTuple):
    """A message, the skills that may be meant, and what is compared about them; in no order that means anything."""

    asked: Asked
    table: Table
    rows: tuple[Row, ...]
    values: np.ndarray
    """skills x features."""
    names: tuple[str, ...]
    """Of the features."""


Naming = Literal["", "named", "declined"]

_WORD = re.compile(r"[^\W_]+")
_MARKED = re.compile(r"[$/`]([^\W_]+)\b|(?<![^\W_])([^\W_]+)[`'\"]?\s+skill\b")
_DECLINING = tuple(
    f"-{words}-{article}"
    for words in (
        "not",
        "not-use",
        "not-using",
        "don-t-use",
        "dont-use",
        "never-use",
        "instead-of",
        "rather-than",
        "other-than",
        "except",
        "without",
        "without-using",
    )
    for article in ("", "the-")
)


class Names:
    """What a message may name, read once and asked about many skills."""

    def __init__(self, message: str) -> None:
        plain = message.casefold()
        self._words = f"-{'-'.join(_WORD.findall(plain))}-"
        self._marked = {one or other for one, other in _MARKED.findall(plain)}

    def naming(self, name: str) -> Naming:
        """How the message takes this name."""
        parts = _WORD.findall(name.casefold())
        if not parts or (len(parts) == 1 and parts[0] not in self._marked):
            return ""
        wanted = f"-{'-'.join(parts)}-"
        at = self._words.find(wanted)
        naming: Naming = ""
        while at >= 0:
            if self._words[: at + 1].endswith(_DECLINING):
                return "declined"
            naming, at = "named", self._words.find(wanted, at + 1)
        return naming


_SHOWN = 5
_PHRASE = 80
"""Characters of a trigger phrase that is told."""
_TELLING = 0.15
"""The part of the strongest term's weight that a term must have to be worth telling."""
_MEANT = 0.35
_EXCLUDING = 0.02


class Explainer:
    """Tells, for each of the skills in question, what speaks for it."""

    def __init__(self, given: Candidates, judged: Judgement) -> None:
        self._given = given
        self._judged = judged
        self._spelled = _spellings(given.asked.text)

    def why(self, at: int) -> tuple[str, ...]:
        """The evidence for the skill at this place, the strongest first; what speaks against it last."""
        given, judged = self._given, self._judged
        row = given.rows[at]
        told: list[str] = []
        if judged.naming[at] == "named":
            told.append(f"the message names {row.name}")
        if judged.example[at] > 0:
            told.append("similar to a message it was right for")
        if phrase := self._phrase(at):
            told.append(f"matched trigger '{phrase}'")
        described, bodied = self._matched(at)
        if described:
            told.append(f"described by {_quoted(described)}")
        if bodied:
            told.append(f"its text has {_quoted(bodied)}")
        guesses = given.asked.guessed.items()
        told += [f"'{word}' taken for '{other}'" for word, other in guesses if self._has(at, word)]
        if given.names[-1] == "meaning" and given.values[at, -1] >= _MEANT:
            told.append(f"close in meaning ({given.values[at, -1]:.2f})")
        if judged.excluded[at] > _EXCLUDING:
            told.append(f"but it says it is not for {_quoted(self._excluded(at))}")
        if judged.example[at] < 0:
            told.append("but similar to a message it was wrong for")
        if judged.naming[at] == "declined":
            told.append(f"but the message rules out {row.name}")
        return tuple(told)

    def _phrase(self, at: int) -> str:
        """The trigger phrase with most words of the message, and no other words."""
        said = set(self._given.asked.terms)
        phrases = [phrase for phrase in self._given.rows[at].more.get("phrases", ()) if len(phrase) <= _PHRASE]
        return max((phrase for phrase in phrases if (own := terms(phrase)) and said >= set(own)), key=len, default="")

    def _matched(self, at: int) -> tuple[list[str], list[str]]:
        """The telling terms of the message: those in name and description, and those in the body alone."""
        asked, table = self._given.asked, self._given.table
        every, name, description, _ = table.found[:, :, at]
        worth = table.rarity * asked.gains * every
        least = _TELLING * float(worth.max(initial=0))
        described: list[str] = []
        bodied: list[str] = []
        for place in np.argsort(-worth, kind="stable"):
            if worth[place] <= 0 or worth[place] < least:
                break
            kept = described if name[place] > 0 or description[place] > 0 else bodied
            word = self._spelling(asked.terms[place])
            if word not in kept and len(kept) < _SHOWN:
                kept.append(word)
        return described, bodied

    def _excluded(self, at: int) -> list[str]:
        asked = self._given.asked
        against = set(self._given.rows[at].more.get("against", ()))
        pairs = zip(asked.terms, asked.numbers, strict=True)
        return list(dict.fromkeys(self._spelling(term) for term, number in pairs if int(number) in against))[:_SHOWN]

    def _has(self, at: int, term: str) -> bool:
        return bool(self._given.table.found[0, self._given.asked.terms.index(term), at] > 0)

    def _spelling(self, term: str) -> str:
        return self._spelled.get(term, term)


def _spellings(text: str) -> dict[str, str]:
    """Term -> the first word of the message that gave it; itself where words are not written apart."""
    found: dict[str, str] = {}
    for chunk in chunks(text):
        for part in pieces(chunk):
            for term in terms(part):
                found.setdefault(term, part if part < WIDE else term)
    return found


def _quoted(terms: list[str]) -> str:
    return ", ".join(f"'{term}'" for term in terms)
