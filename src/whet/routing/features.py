"""The features of the skills that share terms with a message: a table with one row for each skill.

The skills are the best by BM25F, about a hundred of them. Every feature is standardised across the skills of a message
(`standard`), because the level of scores depends on the message and means nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from heapq import nlargest
from itertools import pairwise
from math import log, sqrt
from operator import mul

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.terms import codes, is_common, number, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from whet.routing.index import Postings, Row

    Found = Mapping[int, Sequence[Postings]]
    """The postings of each term, by segment of the index."""
    Values = Sequence[Sequence[float]]
    """A row of features for each skill."""

FEATURES = (
    "apart",  # terms it has that the other candidates lack
    "opening",  # the share of the message, by rarity and position, that name and description have
    "text",  # BM25F; terms in name or description count half, because the features above cover them
    "named",  # the share of its name's terms that the message has, slightly less for a name of few terms
    "pairs",  # neighbouring terms of the message that are also neighbours in the body
    "quoted",  # the rarity of the message's terms in one of its quoted phrases and triggers
    "description-length",  # in terms, as far as it is not long
)

_EARLY = 4
"""Position at which a term counts half in "opening"."""
_MOST_OF_IT = 0.6
"""Minimum share of a phrase's terms that a message must have."""
_LONG = 150
"""Number of terms from which a description counts as long."""
_RIVALS = 40
"""Number of skills that "apart" compares."""


class Table(NamedTuple):
    """The candidate skills and the message's terms in them."""

    slots: list[int]
    """The skills, best by BM25F first."""
    found: list[dict[int, int]]
    """For each skill the weights, up to 255, of the terms it has, by place."""
    described: list[set[int]]
    """The places of those terms that are in the name or description."""
    around: list[dict[int, int]]
    """The weights of terms in name and description that only the context of the message has."""
    rarity: list[float]
    """The rarity of each term."""


def rarities(postings: Found, asked: Asked, alive: bytearray) -> list[float]:
    """Return the rarity of each term; 0 if no skill has it."""
    total = alive.count(1)
    counts = (sum(sum(map(alive.__getitem__, part.slots)) for part in postings.get(term, ())) for term in asked.numbers)
    return [_rareness(total, count) if count else 0.0 for count in counts]


def _rareness(total: int, count: int) -> float:
    return log(1 + (total - count + 0.5) / (count + 0.5))


def scores(postings: Found, asked: Asked, rarity: Sequence[float], alive: bytearray) -> list[float]:
    """Return the BM25F score of every slot."""
    totals = [0.0] * len(alive)
    for term, telling, gain in zip(asked.numbers, rarity, asked.gains, strict=True):
        if telling:
            worth = telling * gain / 255
            for part in postings.get(term, ()):
                for slot, weight in zip(part.slots, part.weights, strict=True):
                    totals[slot] += worth * weight
    return totals if 0 not in alive else [total if own else 0.0 for total, own in zip(totals, alive, strict=True)]


def best(totals: Sequence[float], most: int) -> list[int]:
    """Return the slots with the highest positive scores, best first."""
    scored = [total for total in totals if total > 0]
    least = nlargest(most, scored)[-1] if len(scored) > most else 0.0
    found = [slot for slot, total in enumerate(totals) if total > 0 and total >= least]
    found.sort(key=lambda slot: -totals[slot])
    return found[:most]


def table(postings: Found, asked: Asked, rarity: list[float], slots: list[int]) -> Table:
    """Return the table of the message's terms in the given skills."""
    made = Table(slots, [{} for _ in slots], [set() for _ in slots], [{} for _ in slots], rarity)
    skills, ascending = {slot: skill for skill, slot in enumerate(slots)}, sorted(slots)
    for place, term in enumerate(asked.numbers):
        own = place < asked.own
        for part in postings.get(term, ()):
            if own or part.described:
                for slot, at in _among(part.slots, ascending, skills):
                    (made.found if own else made.around)[skills[slot]][place] = part.weights[at]
                    if own and part.described:
                        made.described[skills[slot]].add(place)
    return made


_SEARCHED = 12
"""Ratio of postings to skills from which postings are searched instead of scanned."""


def _among(slots: array[int], wanted: Sequence[int], known: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the wanted slots that are in the ascending `slots`, with their positions."""
    if len(slots) < _SEARCHED * len(wanted):
        yield from ((slot, at) for at, slot in enumerate(slots) if slot in known)
        return
    at, end = 0, len(slots)
    for slot in wanted:
        at = bisect_left(slots, slot, at)
        if at == end:
            return
        if slots[at] == slot:
            yield slot, at


def compare(asked: Asked, given: Table, rows: Sequence[Row]) -> list[tuple[float, ...]]:
    """Return the values of `FEATURES` for each skill of `given`, which has these rows."""
    rarity = given.rarity[: asked.own]
    weight = [telling * gain / 255 for telling, gain in zip(rarity, asked.gains, strict=False)]
    early = [one / (1 + at / _EARLY) for at, one in enumerate(rarity)]
    said = sum(early) or 1.0
    code = [codes([one]) for one in asked.numbers[: asked.own]]
    known = dict(zip(code, rarity, strict=False))
    pairs = [(one, other, code[one] + code[other], rarity[one] + rarity[other]) for one, other in asked.pairs]
    mass = sum(worth for *_, worth in pairs) or 1.0
    features: list[tuple[float, ...]] = []
    skills = zip(_apart(given.found, len(rarity)), given.found, given.described, rows, strict=True)
    for apart, has, up_front, row in skills:
        body = row.sequence[2 * row.lead :]
        name = {row.sequence[2 * at : 2 * at + 2] for at in range(row.lead - row.description)}
        phrases = (row.sequence[2 * at : 2 * (at + size)] for at, size, _ in row.phrases)
        features.append(
            (
                apart,
                sum(early[place] for place in up_front) / said,
                sum(weight[place] * one / (1 + (place in up_front)) for place, one in has.items()),
                len(name & known.keys()) / (1 + len(name)),
                sum(worth for one, other, pair, worth in pairs if one in has and other in has and pair in body) / mass,
                max((_in_phrase(phrase, known) for phrase in phrases), default=0.0),
                float(min(row.description, _LONG)),
            )
        )
    return features


def _apart(found: Sequence[Collection[int]], count: int) -> list[float]:
    """Return the share of terms that each skill has; a term weighs more the fewer rivals have it."""
    users = Counter(place for has in found[:_RIVALS] for place in has)
    rivals = min(len(found), _RIVALS)
    weight = [_rareness(rivals, users[place]) for place in range(count)]
    mass = sum(weight) or 1.0
    return [sum(weight[place] for place in has) / mass for has in found]


def _in_phrase(phrase: bytes, known: Mapping[bytes, float]) -> float:
    """Return the rarity of the phrase's terms in a message; 0 if the message has too few of them."""
    wanted = {phrase[at : at + 2] for at in range(0, len(phrase), 2)}
    said = [known[term] for term in wanted if term in known]
    share = len(said) / len(wanted) if wanted else 0.0
    return share * sum(said) if share >= _MOST_OF_IT else 0.0


def standard(values: Values) -> list[list[float]]:
    """Standardise each feature to mean 0 and deviation 1 across the skills of a message."""
    if not values:
        return []
    count = len(values)
    columns = []
    for column in zip(*values, strict=True):
        mean = sum(column) / count
        deviation = sqrt(sum((value - mean) ** 2 for value in column) / count) + 1e-6
        columns.append([(value - mean) / deviation for value in column])
    return [list(row) for row in zip(*columns, strict=True)]


def weigh(values: Values, names: Sequence[str], weights: Mapping[str, float]) -> list[float]:
    """Return the weighted sum of each skill's features."""
    counted = [weights[name] for name in names]
    return [sum(map(mul, row, counted)) for row in values]


LONGEST = 4096
"""Maximum number of characters of a message that are read."""
_MOST = 256
"""Maximum number of terms of a message."""
_ARGUMENT = compile_late(
    r"""(?s)```.*?(?:```|\Z)|`[^`\n]+`|"[^"\n]{1,200}"|“[^”\n]{1,200}”|https?://\S+"""
    r"""|(?:~|\.{1,2})?/[\w@.-]+(?:/[\w@.-]*)*?(?=\.\w{1,5}\b|[\s,;:!?)]|$)"""
    r"""|\b[\w@-]+(?:[/\\][\w@.-]+)+?(?=\.\w{1,5}\b|[\s,;:!?)]|$)|\b\w+(?=\.[a-z]{1,5}\b)|\b\w+_\w+\b"""
)
"""The object of the task: code, quotations, URLs, paths and file names without the suffix, identifiers."""
_SIGNS = ("`", '"', "“", "/", "\\", "_")
"""Characters of which all of these have one, except a file without a path. Messages with neither are not searched."""
_ARGUMENT_GAIN = 0.5
"""The weight of a word that is only in the object of the task."""
_COMMON_GAIN = 0.6
"""The weight of a word that may occur in any message."""
_CONTEXT_GAIN, _CONTEXT_TERMS = 0.3, 40
"""The weight of a word that only the context has, and the maximum number of such words."""
_GUESS = 0.6
"""The weight of a corrected word."""


class Asked(NamedTuple):
    """The query for a message."""

    text: str
    read: str
    """The words that were read: those of the text or their translation, and those of the context."""
    terms: tuple[str, ...]
    """The terms in order, without duplicates."""
    numbers: tuple[int, ...]
    """The stored numbers of the terms; for a mistyped term that of its correction."""
    gains: tuple[float, ...]
    """The weight of each term; lower for a correction, the object of the task, or the context."""
    pairs: frozenset[tuple[int, int]]
    """The places of neighbouring terms."""
    guessed: dict[str, str]
    """The corrections of mistyped words."""
    own: int
    """Number of terms in the message; the terms after them are only in its context."""


def ask(message: str, context: str = "") -> Asked:
    """Return the query for a message and its context."""
    text = message[:LONGEST]
    said = terms(text)
    kept = tuple(dict.fromkeys(said))[:_MOST]
    places = {term: at for at, term in enumerate(kept)}
    worked_on = any(sign in text for sign in _SIGNS) or any(part[:1].islower() for part in text.split(".")[1:])
    task = ({*terms(_ARGUMENT.sub(" ", text))} if worked_on else set()) or {*kept}
    gains = [(1.0 if term in task else _ARGUMENT_GAIN) * (_COMMON_GAIN if is_common(term) else 1.0) for term in kept]
    before = dict.fromkeys(terms(context[:LONGEST])) if context else {}
    around = tuple(term for term in before if term not in places and not is_common(term))[:_CONTEXT_TERMS]
    known = [places.get(term, -1) for term in said]
    pairs = frozenset((one, other) for one, other in pairwise(known) if one >= 0 and other >= 0)
    return Asked(
        text,
        f"{text}\n{context}" if context else text,
        (*kept, *around),
        tuple(map(number, (*kept, *around))),
        (*gains, *(_CONTEXT_GAIN for _ in around)),
        pairs,
        {},
        len(kept),
    )


def corrected(asked: Asked, guesses: dict[str, str]) -> Asked:
    """Return the query with corrections of mistyped words."""
    numbers = tuple(number(guesses.get(term, term)) for term in asked.terms)
    counts = zip(asked.terms, asked.gains, strict=True)
    gains = tuple(gain * _GUESS if term in guesses else gain for term, gain in counts)
    return asked._replace(numbers=numbers, gains=gains, guessed=guesses)
