"""From features to an order, and from an order to how sure one can be of it.

The order comes from the fitted weights, moved by what a message says outright (it names a skill, or turns it down) and
by what people said about earlier messages. How sure one can be is another question: the best of a bad lot is still
best. It is a logistic curve over a few things: the share of the message's subject the skill has, where a term that
nobody has counts too, and the small words of any message do not; how much of it name and description have; how much
there is to go by; the lead it has on the next; whether the message names it; and whether it is about something the
skill says it is not for. The curve was fitted on messages that should and should not bring a skill up, in libraries
from four skills to thousands, on the runners-up of messages that are for another skill, and on messages about something
else altogether; benchmarks/detect.py measures it.

Three rules stand above the curve. A skill that the message turns down is not meant. One word of name and description is
no proof that a skill is, whatever its text has. And where nobody searched, and the message does not read like a request
that any skill is for (`whet.routing.asking`), no skill is likely, unless the message names it or was brought up as an
example; a skill that quotes two words of the message or more as its trigger may still be offered.
"""

from __future__ import annotations

from heapq import nlargest
from math import exp, expm1, log1p, sqrt

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.routing import features
from whet.routing.asking import likelihood
from whet.skill.names import key as name_key
from whet.skill.terms import WIDE, codes, is_common, key_terms, spell, split_words, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Literal

    from whet.routing.features import Asked, Table, Values
    from whet.routing.index import Row

    Naming = Literal["", "named", "declined"]

MUST = 0.75
"""How sure one must be to bring a skill up without asking."""
MAY = 0.28
"""How sure one must be to offer it."""

_NAMED = 3.0
_DECLINED = -20.0
"""More than words can make good: what is turned down comes last, and nobody is held to its confidence."""
_SAID: dict[str, float] = {"named": _NAMED, "declined": _DECLINED, "": 0.0}
_EXAMPLE = 4.0
_COUNTEREXAMPLE = 6.0
_ALIKE = 0.5
"""From which likeness on an earlier message says something about this one."""
_APART = -2.0
"""What being about something that a skill says it is not for costs at most."""
_GUESSED = 0.5
"""What a mistyped word counts."""
_ONE_WORD = 0.7
"""How sure one word of name and description can make: not so sure that a skill comes up by itself."""
_TURNED_DOWN = 0.02
"""How sure one can be of a skill that the message turns down."""
_IN_PASSING, _UNDESCRIBED = 3, 0.2
"""Fewer terms than this that only a body has are said in passing, and make no skill worth offering."""
_FEW = 5.0
"""A lead over so many rivals counts half: being the best of three means little."""
_MOST_EXCLUDED = 0.12
_CONTEXT = 2.0
"""What it is worth at most that the context of a message is about a skill."""
_AROUND, _MOST_AROUND = 0.5, 2
"""What a term counts as proof that only the context has, and how many count."""
_SAME_NAME, _COPY = 0.15, 0.65
"""The share of their terms that equivalent skills have in common: with one name, and with two."""
EVIDENCE = (
    "start",
    "share",  # of the message's subject that it has; a term that nobody has is one it lacks
    "described",  # of the message's subject that its name and description have
    "length",  # of the subject in terms, as a logarithm
    "lead",  # on the next, or behind the first
    "excluded",  # the part of the message that it says it is not for
    "named",
)
"""What speaks for a skill being right at all, and against it."""


class Weights(NamedTuple):
    """The weights of each step of ranking, by feature."""

    words: dict[str, float]
    """Ranking."""
    sure: dict[str, float]
    """Telling how likely a skill is right at all."""


FITTED = Weights(
    words={
        "apart": 0.353,
        "opening": 0.72,
        "text": 0.482,
        "named": 0.425,
        "pairs": 0.278,
        "quoted": 0.201,
        "description-length": 0.529,
    },
    sure={
        "start": -4.52,
        "share": 4.68,
        "described": 1.77,
        "length": 0.6,
        "lead": 0.39,
        "excluded": -21.36,
        "named": 0.55,
    },
)
"""Fitted on labelled messages. A weight of ranking is per standard deviation of the feature across the skills in
question (benchmarks/routing_fitting.py prints them); those of `sure` are in the units of `EVIDENCE`
(benchmarks/routing_sureness.py)."""


class Judgement(NamedTuple):
    """The skills in question, judged; everything goes by their places."""

    scores: list[float]
    """By these they are ordered; equals by their keys, so that it does not matter in which order they came in."""
    keys: tuple[str, ...]
    sure: list[float]
    """From 0 to 1: how likely each is right for the message."""
    naming: tuple[Naming, ...]
    excluded: list[float]
    """The part of the message, by rarity, that each says it is not for."""
    example: list[float]
    """How much each one's most alike known message is like this one; below 0 for one that was not for it."""

    def order(self) -> list[int]:
        """The places, best first."""
        return sorted(range(len(self.keys)), key=lambda at: (-round(self.scores[at], 4), self.keys[at]))

    def behind(self, at: int, likely: float, score: float) -> float:
        """How likely the skill at this place is, behind one that is so likely and has this score.

        The order was fitted so that the odds of two skills differ by the exponential of the difference of their scores.
        """
        if likely >= 1:
            return round(self.sure[at], 3)
        odds = likely / (1 - likely) * exp(min(0.0, self.scores[at] - score))
        return round(min(self.sure[at], odds / (1 + odds)), 3)


def judge(given: Candidates, weights: Weights, *, searched: bool = False) -> Judgement:
    """Order the skills in question and tell how sure each is. What somebody `searched` for asks for a skill."""
    scores = features.weigh(features.standard(given.values), features.FEATURES, weights.words)
    names = Names(given.asked.text)
    naming = tuple(names.naming(row.name) for row in given.rows)
    worth = dict(zip(given.asked.numbers[: given.asked.own], given.table.rarity, strict=False))
    most = max(worth.values(), default=0.0)
    full = {term: weight or most for term, weight in worth.items()}  # what nobody has tells as much as the rarest
    mass = sum(full.values()) or 1.0
    excluded = [sum(full.get(term, 0.0) for term in row.against) / mass for row in given.rows]
    example = [_example(worth, row) for row in given.rows]
    taught = [(_EXAMPLE if one > 0 else _COUNTEREXAMPLE) * one for one in example]
    for at, around in enumerate(_around(given.table)):
        scores[at] += _CONTEXT * around + _SAID[naming[at]] + taught[at]
        scores[at] += _APART * min(excluded[at], _MOST_EXCLUDED) / _MOST_EXCLUDED
    judged = Judgement(scores, given.keys, [], naming, excluded, example)
    seen = evidence(given, judged)
    asks = 1.0 if searched else likelihood(given.asked.text, given.total)
    for at, likely in enumerate(features.weigh(seen, EVIDENCE, weights.sure)):
        sure = 1 / (1 + exp(-(likely + taught[at])))
        most = _proof(seen[at]) if given.table.found[at] else _UNDESCRIBED
        fits = min(sure, most) * asks
        if naming[at] == "declined":
            fits = min(sure, _TURNED_DOWN)
        elif naming[at] == "named" or taught[at] > 0:
            fits = sure
        elif any(len(key_terms(phrase)) > 1 for phrase in given.phrases(at)):
            fits = max(fits, min(min(sure, most) * sqrt(asks), _ONE_WORD))
        judged.sure.append(fits)
    return judged


def _around(table: Table) -> list[float]:
    """From 0 to 1: how much the context of a message is about each skill."""
    found = [sum(table.rarity[place] * weight for place, weight in has.items()) for has in table.around]
    most = max(found, default=0.0) or 1.0
    return [one / most for one in found]


def evidence(given: Candidates, judged: Judgement) -> list[tuple[float, ...]]:
    """The skills in question x `EVIDENCE`."""
    asked = given.asked
    said = asked.terms[: asked.own]
    subject = {term for term in said if not is_common(term)}
    certain = [_GUESSED if term in asked.guessed else float(term in subject) for term in said]
    length = max(1, len(subject))
    leads = _lead(judged.scores)
    seen: list[tuple[float, ...]] = []
    for at, has in enumerate(given.table.found):
        more = _AROUND * min(len(given.table.around[at]), _MOST_AROUND)
        seen.append(
            (
                1.0,
                min(1.0, (sum(certain[place] for place in has) + more) / length),
                min(1.0, (sum(certain[place] for place in given.table.described[at]) + more) / length),
                log1p(len(subject)),
                leads[at],
                min(judged.excluded[at], _MOST_EXCLUDED),
                float(judged.naming[at] == "named"),
            )
        )
    return seen


def _proof(seen: Sequence[float]) -> float:
    """How sure one can be at most, by how many terms of the subject there are, and how many in the description."""
    share, described, length = (seen[EVIDENCE.index(name)] for name in ("share", "described", "length"))
    if described == 0 and round(share * expm1(length)) < _IN_PASSING:
        return _UNDESCRIBED
    return _ONE_WORD if round(described * expm1(length)) < 2 else 1.0


def _lead(scores: Sequence[float]) -> list[float]:
    """How far each is ahead of the next, or behind the first; little where there are few."""
    count = len(scores)
    if count < 2:
        return [0.0] * count
    first, second = nlargest(2, scores)
    ahead = (score - (second if score == first else first) for score in scores)
    return [max(-4.0, min(4.0, one)) * (count / (count + _FEW)) for one in ahead]


def _example(worth: Mapping[int, float], row: Row) -> float:
    """The likeness of a message to the known messages of a skill, its own and those that were not for it."""
    best = 0.0
    for messages, sign in ((row.examples, 1.0), (row.counterexamples, -1.0)):
        for known in messages:
            alike = _alike(worth, known)
            if alike >= _ALIKE and alike > abs(best):
                best = sign * alike
    return best


def _alike(worth: Mapping[int, float], terms: Collection[int]) -> float:
    """How much two messages share, by how rare their terms are; what nobody has counts as the rarest."""
    most = max(worth.values(), default=0.0) or 1.0
    shared = sum(worth[term] or most for term in terms if term in worth)
    either = sum(weight or most for weight in worth.values()) + most * sum(term not in worth for term in terms)
    return shared / (either or 1.0)


class Candidates(NamedTuple):
    """A message, the skills that may be meant, and what is compared about them; in no order that means anything."""

    asked: Asked
    table: Table
    keys: tuple[str, ...]
    rows: tuple[Row, ...]
    values: Values
    """skills x `FEATURES`."""
    total: int
    """Skills in the library."""

    def phrases(self, at: int) -> Iterator[str]:
        """The trigger phrases of the skill at this place that the message has every word of."""
        said = {*memoryview(codes(self.asked.numbers[: self.asked.own])).cast("H")}
        sequence = memoryview(self.rows[at].sequence).cast("H")
        known = self.rows[at].phrases
        return (text for start, size, text in known if said.issuperset(sequence[start : start + size]))


class Twins:
    """Which skills say nearly the same, as copies do, and skills of one name by two authors."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._names = [name_key(row.name) for row in rows]
        self._heads = [frozenset(memoryview(row.sequence).cast("H")[: row.lead]) for row in rows]
        self._whole: dict[int, frozenset[int]] = {}

    def are(self, one: int, other: int) -> bool:
        """Are the skills at these places?"""
        if self._names[one] == self._names[other]:
            return _overlap(self._all(one), self._all(other)) >= _SAME_NAME
        alike = _overlap(self._heads[one], self._heads[other]) >= _COPY
        return alike and _overlap(self._all(one), self._all(other)) >= _COPY

    def _all(self, at: int) -> frozenset[int]:
        if at not in self._whole:
            self._whole[at] = frozenset(memoryview(self._rows[at].sequence).cast("H"))
        return self._whole[at]


def _overlap(one: frozenset[int], other: frozenset[int]) -> float:
    """The share of the terms of either that both have."""
    both = len(one & other)
    return both / max(1, len(one) + len(other) - both)


_MARKED = compile_late(r"[$/`]([^\W_]+)\b|(?<![^\W_])([^\W_]+)[`'\"]?\s+skill\b")
_MARKS = ("$", "/", "`", "skill")
_DECLINING = tuple(
    f"-{words}-{article}"
    for words in (
        *("not", "not-use", "not-using", "don-t-use", "dont-use", "never-use", "instead-of", "rather-than"),
        *("other-than", "except", "without", "without-using"),
    )
    for article in ("", "the-")
)


class Names:
    """What a message may name, read once and asked about many skills."""

    def __init__(self, message: str) -> None:
        plain = message.casefold()
        self._words = f"-{'-'.join(spell(plain))}-"
        marked = _MARKED.findall(plain) if any(sign in plain for sign in _MARKS) else ()
        self._marked = {one or other for one, other in marked}

    def naming(self, name: str) -> Naming:
        """How the message takes this name."""
        parts = spell(name)
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
_EXCLUDING = 0.02


class Explainer:
    """Tells, for each of the skills in question, what speaks for it."""

    def __init__(self, given: Candidates, judged: Judgement) -> None:
        self._given = given
        self._judged = judged
        self._spelled = _spellings(given.asked.read)

    def why(self, at: int) -> tuple[str, ...]:
        """The evidence for the skill at this place, the strongest first; what speaks against it last."""
        given, judged = self._given, self._judged
        row = given.rows[at]
        told: list[str] = []
        if judged.naming[at] == "named":
            told.append(f"the message names {row.name}")
        if judged.example[at] > 0:
            told.append("similar to a message it was right for")
        if phrase := max((text for text in given.phrases(at) if len(text) <= _PHRASE), key=len, default=""):
            told.append(f"matched trigger '{phrase}'")
        described, bodied = self._matched(at)
        if described:
            told.append(f"described by {_quoted(described)}")
        if bodied:
            told.append(f"its text has {_quoted(bodied)}")
        if around := self._around(at):
            told.append(f"the context has {_quoted(around)}")
        place, has = given.asked.terms.index, given.table.found[at]
        guesses = given.asked.guessed.items()
        told += [f"'{word}' taken for '{other}'" for word, other in guesses if place(word) in has]
        if judged.excluded[at] > _EXCLUDING:
            told.append(f"but it says it is not for {_quoted(self._excluded(at))}")
        if judged.example[at] < 0:
            told.append("but similar to a message it was wrong for")
        if judged.naming[at] == "declined":
            told.append(f"but the message rules out {row.name}")
        return tuple(told)

    def _matched(self, at: int) -> tuple[list[str], list[str]]:
        """The telling terms of the message: those in name and description, and those in the body alone."""
        asked, table = self._given.asked, self._given.table
        has = table.found[at]
        worth = {place: table.rarity[place] * asked.gains[place] * has[place] for place in sorted(has)}
        least = _TELLING * max(worth.values(), default=0.0)
        described: list[str] = []
        bodied: list[str] = []
        for place in sorted(worth, key=lambda place: -worth[place]):
            if worth[place] <= 0 or worth[place] < least:
                break
            kept = described if place in table.described[at] else bodied
            word = self._spelling(asked.terms[place])
            if word not in kept and len(kept) < _SHOWN:
                kept.append(word)
        return described, bodied

    def _around(self, at: int) -> list[str]:
        """The words of the context that the name and the description have, the most telling first."""
        table = self._given.table
        rarest = nlargest(_SHOWN, table.around[at], key=table.rarity.__getitem__)
        return list(dict.fromkeys(self._spelling(self._given.asked.terms[place]) for place in rarest))

    def _excluded(self, at: int) -> list[str]:
        asked = self._given.asked
        against = self._given.rows[at].against
        pairs = zip(asked.terms[: asked.own], asked.numbers, strict=False)
        return list(dict.fromkeys(self._spelling(term) for term, number in pairs if number in against))[:_SHOWN]

    def _spelling(self, term: str) -> str:
        return self._spelled.get(term, term)


_PUNCTUATION = "\"'`“”‘’.,;:!?()[]{}<>*"
"""What stands around a word and is no part of it."""


def _spellings(text: str) -> dict[str, str]:
    """Term -> the first word of the message that gave it; itself where words are not written apart."""
    found: dict[str, str] = {}
    for word in text.split():
        for part in (*split_words(word), word.strip(_PUNCTUATION)):
            for term in terms(part):
                found.setdefault(term, part if part < WIDE else term)
    return found


def _quoted(terms: list[str]) -> str:
    return ", ".join(f"'{term}'" for term in terms)
