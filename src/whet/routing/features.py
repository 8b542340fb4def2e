"""What is compared about the skills that share a message's terms: a table of features, one row for each skill.

The table is worked out in two steps. For some hundred skills there is what the postings alone tell; the best of
them are looked at more closely, with the order of their words and their lengths. Every feature is put on one scale
across the skills of a message (`standard`), because how high scores run depends on the message and means nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from heapq import nlargest
from itertools import pairwise
from math import log, log1p, sqrt
from typing import TYPE_CHECKING

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.terms import codes, number, terms

if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from whet.routing.index import Postings, Row

    Found = Mapping[int, Sequence[Postings]]
    """For each term, who has it, in each segment of the index."""
    Values = Sequence[Sequence[float]]
    """Skills x features."""

FIRST = (
    "bm25f",  # the whole text, fielded
    "sentences",  # how well it does for each sentence of the message, against the best there
    "share",  # of the message's terms that it has
    "rarity",  # the same, by how rare they are
    "rarest",  # the rarest term it has, against the rarest of the message
    "missing",  # the rarest term it lacks
    "apart",  # terms it has that the other skills in question lack
    "described-apart",  # the same for name and description
    "name",
    "description",
    "body",
)
LATER = (
    *FIRST,
    "named",  # the share of its name's terms that the message has
    "fully-named",
    "described-pairs",  # neighbouring terms of the message that are neighbours in name and description too
    "pairs",  # the same in the body
    "description-length",
    "body-length",
)

_RIVALS = 40
"""Skills that "apart" looks at."""


class Table(NamedTuple):
    """The skills in question and the message's terms in them."""

    slots: list[int]
    """The skills, best by BM25F first."""
    found: list[dict[int, bytes]]
    """For each skill, by the places of the terms it has: four weights up to 255 (all, name, description, body)."""
    rarity: list[float]
    """For each term."""
    bm25f: list[float]

    def chosen(self, places: Collection[int]) -> Table:
        """Only the skills at these places."""
        return Table(
            [self.slots[at] for at in places],
            [self.found[at] for at in places],
            self.rarity,
            [self.bm25f[at] for at in places],
        )


def rarities(postings: Found, asked: Asked, alive: bytearray) -> list[float]:
    """How much each term tells; nothing when nobody has it."""
    total = alive.count(1)
    counts = (sum(sum(map(alive.__getitem__, part.slots)) for part in postings.get(term, ())) for term in asked.numbers)
    return [_rareness(total, count) if count else 0.0 for count in counts]


def _rareness(total: int, count: int) -> float:
    return log(1 + (total - count + 0.5) / (count + 0.5))


def scores(postings: Found, asked: Asked, rarity: Sequence[float], alive: bytearray) -> list[float]:
    """BM25F of every slot."""
    totals = [0.0] * len(alive)
    for term, telling, gain in zip(asked.numbers, rarity, asked.gains, strict=True):
        if telling:
            worth = telling * gain / 255
            for part in postings.get(term, ()):
                for slot, weight in zip(part.slots, part.totals, strict=True):
                    totals[slot] += worth * weight
    return totals if 0 not in alive else [total if own else 0.0 for total, own in zip(totals, alive, strict=True)]


def best(totals: Sequence[float], most: int) -> list[int]:
    """The slots with the highest scores above nothing, the best first."""
    scored = [total for total in totals if total > 0]
    least = nlargest(most, scored)[-1] if len(scored) > most else 0.0
    found = [slot for slot, total in enumerate(totals) if total > 0 and total >= least]
    found.sort(key=lambda slot: -totals[slot])
    return found[:most]


def table(postings: Found, asked: Asked, rarity: list[float], totals: Sequence[float], slots: Collection[int]) -> Table:
    """The message's terms in the given skills."""
    ordered = sorted(slots, key=lambda slot: (-totals[slot], slot))
    found: dict[int, dict[int, bytes]] = {slot: {} for slot in ordered}
    ascending = sorted(found)
    for place, term in enumerate(asked.numbers):
        for part in postings.get(term, ()):
            for slot, at in _among(part.slots, ascending, found):
                found[slot][place] = part.weights(at)
    return Table(ordered, list(found.values()), rarity, [totals[slot] for slot in ordered])


_SEARCHED = 12
"""So many times as many postings as skills are searched rather than read one by one."""


def _among(slots: array[int], wanted: Sequence[int], known: Collection[int]) -> Iterator[tuple[int, int]]:
    """Those of the wanted that are among ascending slots, and where."""
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


def first(asked: Asked, given: Table) -> list[tuple[float, ...]]:
    """The features that postings tell: skills x `FIRST`."""
    rarity = given.rarity
    weight = [telling * gain / 255 for telling, gain in zip(rarity, asked.gains, strict=True)]
    telling = max(1, sum(one > 0 for one in rarity))
    mass, rarest = sum(rarity) or 1.0, max(rarity, default=0.0)
    by_rarity = sorted(range(len(rarity)), key=lambda place: -rarity[place])
    described = [[place for place, (_, name, text, _) in has.items() if name or text] for has in given.found]
    columns = zip(
        given.bm25f,
        _sentences(asked, given),
        _apart(given.found, len(rarity)),
        _apart(described, len(rarity)),
        given.found,
        strict=True,
    )
    features: list[tuple[float, ...]] = []
    for bm25f, sentences, apart, described_apart, has in columns:
        name = description = body = 0.0
        for place, (_, in_name, in_description, in_body) in has.items():
            worth = weight[place]
            name += worth * in_name
            description += worth * in_description
            body += worth * in_body
        features.append(
            (
                bm25f,
                sentences,
                len(has) / telling,
                sum(rarity[place] for place in has) / mass,
                max((rarity[place] for place in has), default=0.0) / (rarest or 1.0),
                next((rarity[place] for place in by_rarity if place not in has), 0.0),
                apart,
                described_apart,
                name,
                description,
                body,
            )
        )
    return features


def _sentences(asked: Asked, given: Table) -> list[float]:
    totals = [0.0] * len(given.found)
    impacts = [{place: given.rarity[place] * has[place][0] for place in has} for has in given.found]
    for view in asked.views:
        scored = [sum(impact[place] for place in view & impact.keys()) for impact in impacts]
        most = max(scored, default=0.0) or 1.0
        totals = [total + one / most for total, one in zip(totals, scored, strict=True)]
    return totals


def _apart(found: Sequence[Collection[int]], count: int) -> list[float]:
    """The share of terms a skill has, each worth more the fewer of its rivals have it."""
    users = Counter(place for has in found[:_RIVALS] for place in has)
    rivals = min(len(found), _RIVALS)
    weight = [_rareness(rivals, users[place]) for place in range(count)]
    mass = sum(weight) or 1.0
    return [sum(weight[place] for place in has) / mass for has in found]


def later(asked: Asked, given: Table, features: Values, rows: Sequence[Row]) -> list[tuple[float, ...]]:
    """The features of a closer look: skills x `LATER`, for the skills of `given`."""
    code = [codes([one]) for one in asked.numbers]
    pairs = [(one, other, given.rarity[one] + given.rarity[other]) for one, other in asked.pairs]
    mass = sum(worth for _, _, worth in pairs) or 1.0
    values = []
    for has, before, row in zip(given.found, features, rows, strict=True):
        named = sum(weights[1] > 0 for weights in has.values()) / max(1, row.name_terms)
        said = [(code[one] + code[other], worth) for one, other, worth in pairs if one in has and other in has]
        described, bodied = row.sequence[: 2 * row.lead], row.sequence[2 * row.lead :]
        values.append(
            (
                *before,
                named,
                float(named >= 1),
                sum(worth for pair, worth in said if pair in described) / mass,
                sum(worth for pair, worth in said if pair in bodied) / mass,
                log1p(row.description),
                log1p(row.body),
            )
        )
    return values


def standard(values: Values) -> list[list[float]]:
    """Each feature with mean 0 and deviation 1 across the skills of a message."""
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
    """The sum of each skill's features, by how much they count."""
    counted = [(at, weights[name]) for at, name in enumerate(names) if weights.get(name)]
    return [sum(row[at] * weight for at, weight in counted) for row in values]


LONGEST = 4096
"""Characters of a message that are read."""
_MOST = 256
"""Terms of a message that are asked about."""
_VIEWS = 8
_SENTENCE = compile_late(r"(?<=[.!?。！？])\s+|\n+|,? (?:and then|then|also) ", re.IGNORECASE)
_SHORTEST_VIEW = 8
_GUESS = 0.6
"""How much a word counts that was taken for a mistyped one."""


class Asked(NamedTuple):
    """What a message asks the index for."""

    text: str
    terms: tuple[str, ...]
    """Each once, in the order they come."""
    numbers: tuple[int, ...]
    """What they are stored as; another word's where one was mistyped."""
    gains: tuple[float, ...]
    """How much each counts: more when it is said twice, less when it was guessed."""
    views: tuple[frozenset[int], ...]
    """The places of the terms of each sentence."""
    pairs: frozenset[tuple[int, int]]
    """The places of terms that stand next to each other."""
    guessed: dict[str, str]
    """Mistyped words and what was taken for them."""


def ask(message: str) -> Asked:
    """Read a message."""
    text = message[:LONGEST]
    said = terms(text)
    counts = Counter(said)
    kept = tuple(counts)[:_MOST]
    places = {term: at for at, term in enumerate(kept)}
    known = [places.get(term, -1) for term in said]
    pairs = frozenset((one, other) for one, other in pairwise(known) if one >= 0 and other >= 0)
    views: list[frozenset[int]] = []
    for sentence in _SENTENCE.split(text):
        if sentence and len(sentence) > _SHORTEST_VIEW and len(views) < _VIEWS:
            views.append(frozenset(places[term] for term in terms(sentence) if term in places))
    return Asked(
        text,
        kept,
        tuple(map(number, kept)),
        tuple(min(counts[term], 2) ** 0.5 for term in kept),
        tuple(views) or (frozenset(range(len(kept))),),
        pairs,
        {},
    )


def corrected(asked: Asked, guesses: dict[str, str]) -> Asked:
    """The same message with mistyped words taken for others."""
    numbers = tuple(number(guesses.get(term, term)) for term in asked.terms)
    counts = zip(asked.terms, asked.gains, strict=True)
    gains = tuple(gain * _GUESS if term in guesses else gain for term, gain in counts)
    return asked._replace(numbers=numbers, gains=gains, guessed=guesses)
