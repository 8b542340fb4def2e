"""Passages that read like the orders of malicious skills: a small linear model over words, concepts and signs.

Polite orders have no vocabulary of their own, so no pattern finds them; how likely their words are together can be learned.
The model is a table of weights (`data/passages.txt`), learned by `benchmarks/passages.py` from passages written for the
purpose and from the paragraphs of honest skills. It sees the words of a passage, the concepts that they stand for in eight
languages (`data/concepts.toml`), where it stands, and which patterns matched it. The sum of the weights is the log-odds
that it is an order of an attacker, and two thresholds make a warning or a danger of it.
"""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.hosts import URL, host_of
from whet.guard.tables import word_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WORD = re.compile(r"[^\W\d_]{2,30}(?:n't)?")
_EAST = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LONGEST = 1500
_FEWEST = 6
_ENGLISH = 2
"""So many different ones of the commonest English words make a passage English."""
SHORTEST = 24
"""Characters below which a passage says too little."""
_KINDS = {"known": "<known>", "loopback": "<near>", "private": "<near>", "other": "<address>", "reserved": "<address>"}


class Score(NamedTuple):
    """How far a passage lies beyond the two thresholds (above 0: it is beyond), and the words that weigh most."""

    warn: float
    critical: float
    words: tuple[str, ...] = ()


def tokens(text: str) -> list[str]:
    """The words of a passage; of scripts without blanks, its pairs of characters."""
    ignored = word_list("addresses")
    lowered = text[:_LONGEST].lower().replace("’", "'")
    words = [word for word in _WORD.findall(lowered) if word not in ignored]
    if lowered.isascii() or not _EAST.search(lowered):
        return words
    parted: list[str] = []
    for word in words:
        parted.extend(word[at : at + 2] for at in range(len(word) - 1)) if _EAST.match(word) else parted.append(word)
    return parted


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """What the forms of a word share."""
    if len(word) > 4 and word.isascii():
        for ending in ("ing", "ed", "es", "s"):
            if word.endswith(ending) and len(word) - len(ending) > 2:
                word = word[: -len(ending)]
                break
        word = word.removesuffix("e") if len(word) > 3 else word
    return word[:7] if word.isascii() else word[:6]


def features(text: str, signs: Iterable[str] = ()) -> set[str]:
    """What the model sees of a passage: concepts, pairs of concepts, the signs around it, and the words of English ones.

    Words of other languages would tell the language and little else: there are few honest skills to learn them from.
    """
    words = tokens(text)
    if len(words) < _FEWEST:
        return set()
    stems = [stem(word) for word in words]
    seen = {*signs, *_addresses(text), *_concepts(stems, text)}
    if len(word_list("english").intersection(words)) >= _ENGLISH:
        style = word_list("function")
        light = [word in style for word in words]
        seen.update(one for one, known in zip(stems, light, strict=True) if not known)
        pairs = zip(pairwise(stems), pairwise(light), strict=True)
        seen.update(f"{one} {two}" for (one, two), (first, second) in pairs if not (first and second))
    return seen


def _addresses(text: str) -> Iterator[str]:
    if "@" in text:
        yield "<mail>"
    if "`" in text:
        yield "<code>"
    if "://" in text:
        yield from (_KINDS.get(host_of(match[0]).kind, "<shady>") for match in URL.finditer(text[:_LONGEST]))


def _concepts(stems: list[str], text: str) -> Iterator[str]:
    table, east = concepts()
    order = [table.get(one, ()) for one in stems]
    seen = {concept for group in order for concept in group}
    if not text.isascii():
        seen.update(concept for match in east.findall(text[:_LONGEST].lower()) for concept in table[match])
    if "never" in seen:
        for at, group in enumerate(order):
            if "never" in group:
                yield from (
                    f"no+{concept}" for near in order[at + 1 : at + 5] for concept in near if concept != "never"
                )
    yield from _crossed(tuple(sorted(seen)))


@lru_cache(maxsize=4096)
def _crossed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Concepts and their pairs, as the model knows them."""
    return (*(f"+{name}" for name in names), *(f"{one}+{two}" for one, two in combinations(names, 2)))


@cache
def concepts() -> tuple[dict[str, tuple[str, ...]], re.Pattern[str]]:
    """What each stem stands for, and an expression for the words of scripts without blanks."""
    import tomllib

    with open(_path("concepts.toml"), "rb") as file:
        listed = tomllib.load(file)
    table: dict[str, tuple[str, ...]] = {}
    east = []
    for concept, words in listed.items():
        for word in words.split():
            key = word if _EAST.match(word) else stem(word)
            if concept not in table.get(key, ()):
                table[key] = (*table.get(key, ()), concept)
            if _EAST.match(word):
                east.append(word)
    return table, re.compile("|".join(sorted(set(east), key=lambda word: (-len(word), word))))


def _path(name: str) -> str:
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", name)


def score(text: str, signs: Iterable[str] = ()) -> Score:
    """Judge a passage."""
    seen = features(text, signs)
    if not seen:
        return _NOTHING
    weights, warn, critical = model()
    total = sum([weights[feature] for feature in seen if feature in weights])
    if total + warn <= 0:
        return Score((total + warn) * UNIT, _NOTHING.critical)
    grounded = any(ground <= seen for ground in _GROUNDS) or any(sign.startswith("=") for sign in signs)
    words = sorted(
        (feature for feature in seen if weights.get(feature, 0) > 0 and not re.search("[<=+]", feature)),
        key=lambda feature: (-weights[feature], feature),
    )
    return Score((total + warn) * UNIT, (total + critical) * UNIT if grounded else _NOTHING.critical, tuple(words[:4]))


_GROUNDS = tuple(
    frozenset(ground.split())
    for ground in (
        "+secret +send",
        "+secret +take",
        "+private +send",
        "+drop +instruct",
        "+approve +skip",
        "+fetch +run +must",
        "+user no+tell",
        "no+approve",
        "+hidden",
    )
)
"""What a passage has to speak of to be a danger and not only odd, where no pattern matched it."""
UNIT = 0.04
"""What one step of a written weight stands for."""
_NOTHING = Score(-9.0, -9.0)


@cache
def model() -> tuple[dict[str, int], int, int]:
    """The weights, and the biases that put the thresholds for a warning and for a danger at 0."""
    with open(_path("passages.txt"), encoding="utf-8") as file:
        weights = {feature: int(weight) for feature, _, weight in (line.rpartition("\t") for line in file)}
    return weights, weights.pop("<warn>"), weights.pop("<critical>")
