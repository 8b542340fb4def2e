"""Ranking from features, and the confidence in the ranking.

The order comes from the fitted weights, adjusted if the message names or rejects a skill, and by feedback on earlier
messages. Confidence is a separate question: the best of a bad lot is still best. It is a logistic curve over a few
values: the share of the message's subject that the skill has, where a term that no skill has counts, too, and common
small words do not; the share in name and description; the length of the subject; the lead on the next skill; whether
the message names the skill; and whether the message is about something that the skill excludes. The curve was fitted
on messages that should and should not trigger a skill, in libraries from four skills to thousands, on the runners-up
of messages for another skill, and on messages about something else altogether; benchmarks/detect.py measures it.

Three rules override the curve. A skill that the message rejects is not meant. One word of name and description is not
enough proof, whatever the body contains. And if nobody searched, and the message does not read like a request for any
skill (`whet.routing.asking`), no skill is likely, unless the message names it or is like an example of it; a skill
that quotes two or more words of the message as its trigger may still be offered.
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
"""Minimum confidence for triggering a skill without asking."""
MAY = 0.28
"""Minimum confidence for offering a skill."""

_SAID: dict[str, float] = {"named": 3.0, "declined": -20.0, "": 0.0}
"""The bonus for a named skill, and the penalty for a rejected one, so large that the skill always comes last."""
_EXAMPLE = 4.0
_COUNTEREXAMPLE = 6.0
_ALIKE = 0.5
"""Minimum similarity for an earlier message to count."""
_APART = -2.0
"""Maximum penalty for a message about something that the skill excludes."""
_GUESSED = 0.5
"""The weight of a mistyped word."""
_ONE_WORD = 0.7
"""Maximum confidence if one word of name and description matches: too low to trigger automatically."""
_TURNED_DOWN = 0.02
"""Maximum confidence in a skill that the message rejects."""
_IN_PASSING, _UNDESCRIBED = 3, 0.2
"""With fewer matching terms than this, all in the body, the confidence is too low to offer the skill."""
_FEW = 5.0
"""Number of rivals over whom a lead counts half: being the best of three means little."""
_MOST_EXCLUDED = 0.12
_CONTEXT = 2.0
"""Maximum bonus if the context of a message is about a skill."""
_AROUND, _MOST_AROUND = 0.5, 2
"""The weight of a term that only the context has, and the maximum number of such terms."""
_SAME_NAME, _COPY = 0.15, 0.65
"""Minimum share of common terms of equivalent skills: with the same name, and with different names."""
EVIDENCE = (
    "start",
    "share",  # share of the subject that the skill has; a term that no skill has counts as missing
    "described",  # share of the subject that its name and description have
    "length",  # logarithm of the number of terms in the subject
    "lead",  # distance to the next skill, or to the first
    "excluded",  # share of the message that the skill excludes
    "named",
)
"""The evidence for and against a skill."""


class Weights(NamedTuple):
    """The weights of ranking and confidence, by feature."""

    words: dict[str, float]
    """The weights of ranking."""
    sure: dict[str, float]
    """The weights of confidence."""


FITTED = Weights(
    words={
        "apart": 0.41,
        "opening": 0.632,
        "text": 0.519,
        "named": 0.452,
        "pairs": 0.258,
        "quoted": 0.19,
        "description-length": 0.417,
    },
    sure={
        "start": -4.4,
        "share": 5.35,
        "described": 1.38,
        "length": 0.49,
        "lead": 0.35,
        "excluded": -17.1,
        "named": 0.35,
    },
)
"""Weights fitted on labelled messages. A weight of ranking is per standard deviation of the feature across the
candidates (benchmarks/routing_fitting.py prints them); those of `sure` are in the units of `EVIDENCE`
(benchmarks/routing_sureness.py)."""


class Judgement(NamedTuple):
    """The judged candidates; all lists are by candidate number."""

    scores: list[float]
    """The scores that define the order; ties are ordered by key, so that the input order does not matter."""
    keys: tuple[str, ...]
    sure: list[float]
    """The probability that each skill is right for the message."""
    naming: tuple[Naming, ...]
    excluded: list[float]
    """The share of the message, by rarity, that each skill excludes."""
    example: list[float]
    """The similarity to the most similar known message of each skill; negative if that message was not for it."""

    def order(self) -> list[int]:
        """Return the candidate numbers, best first."""
        return sorted(range(len(self.keys)), key=lambda at: (-round(self.scores[at], 4), self.keys[at]))

    def behind(self, at: int, likely: float, score: float) -> float:
        """Return the probability of the skill at `at`, after one with the probability `likely` and this `score`.

        The order was fitted so that the odds of two skills differ by the exponential of the difference of their scores.
        """
        if likely >= 1:
            return round(self.sure[at], 3)
        odds = likely / (1 - likely) * exp(min(0.0, self.scores[at] - score))
        return round(min(self.sure[at], odds / (1 + odds)), 3)


def judge(given: Candidates, weights: Weights, *, searched: bool = False) -> Judgement:
    """Rank the candidates and compute the confidence in each. With `searched`, the message counts as a request."""
    scores = features.weigh(features.standard(given.values), features.FEATURES, weights.words)
    names = Names(given.asked.text)
    naming = tuple(names.naming(row.name) for row in given.rows)
    worth = dict(zip(given.asked.numbers[: given.asked.own], given.table.rarity, strict=False))
    most = max(worth.values(), default=0.0)
    full = {term: weight or most for term, weight in worth.items()}  # unknown terms weigh as much as the rarest
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
    """Return how much the context of a message is about each skill, from 0 to 1."""
    found = [sum(table.rarity[place] * weight for place, weight in has.items()) for has in table.around]
    most = max(found, default=0.0) or 1.0
    return [one / most for one in found]


def evidence(given: Candidates, judged: Judgement) -> list[tuple[float, ...]]:
    """Return the values of `EVIDENCE` for each candidate."""
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
    """Return the maximum confidence, by the number of matching terms of the subject and those in the description."""
    share, described, length = (seen[EVIDENCE.index(name)] for name in ("share", "described", "length"))
    if described == 0 and round(share * expm1(length)) < _IN_PASSING:
        return _UNDESCRIBED
    return _ONE_WORD if round(described * expm1(length)) < 2 else 1.0


def _lead(scores: Sequence[float]) -> list[float]:
    """Return the distance of each score to the next or the first; reduced if there are few candidates."""
    count = len(scores)
    if count < 2:
        return [0.0] * count
    first, second = nlargest(2, scores)
    ahead = (score - (second if score == first else first) for score in scores)
    return [max(-4.0, min(4.0, one)) * (count / (count + _FEW)) for one in ahead]


def _example(worth: Mapping[int, float], row: Row) -> float:
    """Return the similarity of a message to the known messages of a skill; negative for a counterexample."""
    best = 0.0
    for messages, sign in ((row.examples, 1.0), (row.counterexamples, -1.0)):
        for known in messages:
            alike = _alike(worth, known)
            if alike >= _ALIKE and alike > abs(best):
                best = sign * alike
    return best


def _alike(worth: Mapping[int, float], terms: Collection[int]) -> float:
    """Return the similarity of two messages, weighted by rarity; a term that no skill has counts as the rarest."""
    most = max(worth.values(), default=0.0) or 1.0
    shared = sum(worth[term] or most for term in terms if term in worth)
    either = sum(weight or most for weight in worth.values()) + most * sum(term not in worth for term in terms)
    return shared / (either or 1.0)


class Candidates(NamedTuple):
    """A message, its candidate skills in no particular order, and their features."""

    asked: Asked
    table: Table
    keys: tuple[str, ...]
    rows: tuple[Row, ...]
    values: Values
    """The values of `FEATURES` for each candidate."""
    total: int
    """Number of skills in the library."""

    def phrases(self, at: int) -> Iterator[str]:
        """Return the trigger phrases of the skill at `at` whose words are all in the message."""
        said = {*memoryview(codes(self.asked.numbers[: self.asked.own])).cast("H")}
        sequence = memoryview(self.rows[at].sequence).cast("H")
        known = self.rows[at].phrases
        return (text for start, size, text in known if said.issuperset(sequence[start : start + size]))


class Twins:
    """Detection of near-identical skills: copies, and skills of the same name by different authors."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._names = [name_key(row.name) for row in rows]
        self._heads = [frozenset(memoryview(row.sequence).cast("H")[: row.lead]) for row in rows]
        self._whole: dict[int, frozenset[int]] = {}

    def are(self, one: int, other: int) -> bool:
        """Return whether the skills at these places are near-identical."""
        if self._names[one] == self._names[other]:
            return _overlap(self._all(one), self._all(other)) >= _SAME_NAME
        alike = _overlap(self._heads[one], self._heads[other]) >= _COPY
        return alike and _overlap(self._all(one), self._all(other)) >= _COPY

    def _all(self, at: int) -> frozenset[int]:
        if at not in self._whole:
            self._whole[at] = frozenset(memoryview(self._rows[at].sequence).cast("H"))
        return self._whole[at]


def _overlap(one: frozenset[int], other: frozenset[int]) -> float:
    """Return the number of common terms divided by the number of all terms."""
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
    """The skill names in a message, parsed once for many skills."""

    def __init__(self, message: str) -> None:
        plain = message.casefold()
        self._words = f"-{'-'.join(spell(plain))}-"
        marked = _MARKED.findall(plain) if any(sign in plain for sign in _MARKS) else ()
        self._marked = {one or other for one, other in marked}

    def naming(self, name: str) -> Naming:
        """Return whether the message names or rejects the skill of this name."""
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
"""Maximum length of a trigger phrase in a reason."""
_TELLING = 0.15
"""Minimum share of the strongest term's weight for a term to be reported."""
_EXCLUDING = 0.02


class Explainer:
    """The reasons for each candidate."""

    def __init__(self, given: Candidates, judged: Judgement) -> None:
        self._given = given
        self._judged = judged
        self._spelled = _spellings(given.asked.read)

    def why(self, at: int) -> tuple[str, ...]:
        """Return the reasons for the skill at `at`, strongest first; reasons against it come last."""
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
        """Return the significant terms of the message in name and description, and those only in the body."""
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
        """Return the words of the context in name and description, most significant first."""
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
"""Punctuation that surrounds a word."""


def _spellings(text: str) -> dict[str, str]:
    """Return the first word of the message for each term; the term itself in scripts without spaces."""
    found: dict[str, str] = {}
    for word in text.split():
        for part in (*split_words(word), word.strip(_PUNCTUATION)):
            for term in terms(part):
                found.setdefault(term, part if part < WIDE else term)
    return found


def _quoted(terms: list[str]) -> str:
    return ", ".join(f"'{term}'" for term in terms)
