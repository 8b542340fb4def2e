"""Passages that read like the orders of malicious skills: a small linear model over words, concepts and signs.

Polite orders have no vocabulary of their own, so no pattern finds them; but the likelihood of their words together can be
learned. The model is a table of weights (`data/passages.txt`), learned by `benchmarks/passages.py` from attacks and honest
twins by many writers and from the paragraphs of honest skills. Its features are the words of a passage and pairs of
neighbouring words, the concepts that they stand for in eight languages (`data/concepts.toml`), marks of code such as
options and pipes, the position and the length of the passage, and the patterns that matched it. It reads running text and
code alike, each passage alone and all passages of a section together: an order is often spread over a sentence, a list and
a command. The sum of the weights is the log-odds that a passage is an order of an attacker, and two thresholds turn it into
a warning or a danger.
"""

from __future__ import annotations

import math
import os
import re
from functools import cache, lru_cache
from itertools import chain, filterfalse, pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.hosts import URL, host_of, serves_installers
from whet.guard.literals import has_foreign_letters
from whet.guard.tables import load_table, load_toml, word_list

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

_WORD = expression(r"[^\W\d_]{2,30}")
_EAST = expression(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CASES = bytes(97 if 97 <= code <= 122 else 65 if 65 <= code <= 90 else 32 for code in range(256))
_LETTERS = bytes(code | 32 if chr(code | 32).isalpha() and 65 <= code <= 122 else 32 for code in range(256))
_LETTER_ROWS = _LETTERS[:10] + b"\n" + _LETTERS[11:]
_MARK = expression(
    r"[-|>$</~.&](?:(?<=-)(?<![\w-]-)-?[a-z][\w-]{0,20}|(?<=\|)\s{0,8}[a-z]\w{0,20}|(?<=>)>|(?<=\$)[(a-z{]|(?<=<)\("
    r"|(?<=/)dev/\w{1,20}|(?<=~)(?=/)|(?<=/)\.[a-z]\w{1,14}|(?<=\.)[a-z]\w{1,14}|(?<=&)&)"
)
_CALL, _LONGEST_CALL = expression(r"\b[a-z_]\w{1,20}\("), 21
"""The elements of commands and programs: options, pipes, file name extensions, calls."""
_RESERVED = (".example", ".test", ".invalid")
"""Top-level domains reserved for examples, which show that an attack is only an example."""
_LONGEST = 1500
_FEWEST = {False: 6, True: 3}
"""Number of words below which a passage of running text (False) or code (True) says too little."""
_ENGLISH = 2
"""Number of different common English words that make a passage English."""
_FULL, _WIDEST = 500, 1200
"""Characters at which a group ends before the next paragraph, and at which it ends anywhere."""
_PIECE = 600
_KINDS = {"known": "<known>", "loopback": "<near>", "private": "<near>", "other": "<address>", "reserved": "<address>"}


class Passage(NamedTuple):
    """A piece of a text as the model reads it."""

    line: int
    text: str
    signs: frozenset[str]
    """The position of the passage, and the patterns that matched it."""
    section: int = 0
    begins: bool = True
    """A paragraph, which may begin a group; a list or a block of code belongs to the passage before it."""
    code: bool = False


class Look(NamedTuple):
    """The features of a passage (words, pairs of words, concepts, marks and signs), and its words, which give its size."""

    seen: frozenset[str]
    words: frozenset[str]


class Score(NamedTuple):
    """How far a passage is beyond the two thresholds (above 0: beyond), its heaviest words, and the orders that it seems to
    give."""

    warn: float
    critical: float
    words: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()


def tokens(text: str) -> list[str]:
    """Return the words of a passage; for scripts without spaces, pairs of characters."""
    ignored = word_list("addresses")
    text = text[:_LONGEST]
    if not has_foreign_letters(text):
        raw = _part_humps(text.encode("ascii", "replace"))
        return [word for word in raw.translate(_LETTERS).decode().split() if len(word) > 1 and word not in ignored]
    lowered = re.sub("([a-z])([A-Z])", r"\1 \2", text).lower()
    words = [word for word in _WORD.findall(lowered) if word not in ignored]
    if not _EAST.search(lowered):
        return words
    parted: list[str] = []
    for word in words:
        parted.extend(word[at : at + 2] for at in range(len(word) - 1)) if _EAST.match(word) else parted.append(word)
    return parted


def _part_humps(raw: bytes) -> bytes:
    """Split `camelCase` into two words."""
    cases = raw.translate(_CASES)
    parts, start = [], 0
    while (at := cases.find(b"aA", start)) >= 0:
        parts.append(raw[start : at + 1])
        start = at + 1
    return b" ".join((*parts, raw[start:]))


def stem(word: str) -> str:
    """Return the part that the forms of a word share."""
    if len(word) > 4 and word.isascii():
        for ending in ("ing", "ed", "es", "s"):
            if word.endswith(ending) and len(word) - len(ending) > 2:
                word = word[: -len(ending)]
                break
        word = word.removesuffix("e") if len(word) > 3 else word
    return word[:7] if word.isascii() else word[:6]


class Word(NamedTuple):
    """The properties of a word in the model."""

    stem: str
    light: bool
    """The word is so common that every sentence may contain it."""
    concepts: tuple[str, ...]


class _Words(dict[str, Word]):
    """A cache of words, filled on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.weights, self.concepts = model()[0], concepts()[0]
        self.light, self.english = word_list("function"), word_list("english")
        self.content: dict[str, str] = {}
        """The stems of the words that count, and "" for those that every sentence may contain."""
        self.worth: dict[str, int] = {}
        """The weights of these stems."""
        self.stems: dict[str, str] = {}
        self.meanings: dict[str, tuple[str, ...]] = {}
        """The concepts that the words stand for."""

    def learn(self, words: set[str]) -> None:
        """Look up the words that are not in the cache."""
        if len(self) > _KEPT:
            for kept in (self, self.stems, self.content, self.worth, self.meanings):
                kept.clear()
        for word in words.difference(self.stems):
            self[word]

    def are_english(self, words: list[str]) -> bool:
        """Return whether the words are those of an English passage."""
        return len(self.english.intersection(words)) >= _ENGLISH

    def content_of(self, words: list[str]) -> frozenset[str]:
        """Return the stems of the words that not every sentence may contain."""
        return frozenset(map(self.content.__getitem__, words)).difference(_NOTHING_SAID)

    def pairs(self, words: list[str]) -> set[str]:
        """Return the pairs of words that the model knows."""
        return set(filter(self.weights.__contains__, _pairs(map(self.stems.__getitem__, words))))

    def __missing__(self, word: str) -> Word:
        one, light = stem(word), word in self.light
        found = self[word] = Word(one, light, self.concepts.get(one, ()))
        self.stems[word] = one
        self.content[word] = content = "" if light else one
        self.worth[content] = self.weights.get(content, 0)
        self.meanings[word] = found.concepts
        return found


_KEPT = 50_000
_NOTHING_SAID = frozenset(("",))
_FOREIGN = "<foreign>"


@cache
def _words() -> _Words:
    return _Words()


def look(text: str, signs: Iterable[str] = (), *, code: bool = False) -> Look | None:
    """Return the features of a passage, or `None` if it says too little.

    Words of languages other than English would reveal the language and little else, because there are few honest skills to
    learn them from. Only their concepts count.
    """
    words = tokens(text)
    if len(words) < _FEWEST[code]:
        return None
    known = list(map(_words().__getitem__, words))
    named = _concepts((word.concepts for word in known), text)
    seen = {*signs, *named, *_marks(text[:_LONGEST]), *_denied(known)}
    content = frozenset(words)
    if code or _words().are_english(words):
        content = _words().content_of(words)
        seen.update(_pairs(word.stem for word in known), content)
    else:
        seen.add(_FOREIGN)
    if code:
        seen.add("<code-block>")
    return Look(frozenset(seen), content)


class Weighed(NamedTuple):
    """A passage that says enough to be weighed: its words and concepts, and its marks if they were computed."""

    passage: Passage
    words: list[str]
    content: frozenset[str]
    """The stems of its words in English text and in code, the words themselves in other languages."""
    concepts: frozenset[str]
    marks: set[str] | None
    """Pairs of words, marks of code and denied concepts, if they were computed."""
    weight: int

    def look(self) -> Look:
        """Return the features of the passage that the model knows; like `look`, without features that have no weight."""
        one = self.passage
        marks = _more(one, self.words, self.concepts) if self.marks is None else self.marks
        seen = {*one.signs, *self.concepts, *marks}
        if one.code:
            seen.add("<code-block>")
        seen |= self.content if one.code or _words().are_english(self.words) else {_FOREIGN}
        return Look(frozenset(seen), self.content)


def weigh(one: Passage, words: list[str], least: int) -> Weighed | None:
    """Return the features of a passage and their weight, or `None` if it says too little.

    If its size, words and concepts alone stay far below `least`, pairs of words and marks hardly make up for that: then they
    are not computed, and the weight is that of the others.
    """
    if len(words) < _FEWEST[one.code]:
        return None
    weights, known = model()[0], _words()
    named = _concepts(map(known.meanings.__getitem__, words), one.text)
    weight = _weight_of(named) + _weight_of_signs(one.signs, code=one.code)
    if one.code or known.are_english(words):
        content = known.content_of(words)
        weight += sum(map(known.worth.__getitem__, content))
    else:
        content = frozenset(words)
        weight += weights.get(_FOREIGN, 0)
    weight += weights.get(_size(content), 0)
    if weight + _MORE[one.code] < least:
        return Weighed(one, words, content, named, None, weight)
    marks = _more(one, words, named)
    return Weighed(one, words, content, named, marks, weight + sum([weights.get(mark, 0) for mark in marks]))


def _more(one: Passage, words: list[str], named: frozenset[str]) -> set[str]:
    """Return the known pairs of words, the marks of code and the denied concepts of a passage."""
    known = _words()
    marks = set(_marks(one.text[:_LONGEST]))
    if one.code or known.are_english(words):
        marks |= known.pairs(words)
    if "+never" in named:
        marks.update(_denied(list(map(known.__getitem__, words))))
    return marks


_MORE = {False: 60, True: 150}
"""The highest weight that pairs and marks add to running text (False) or code (True); one passage in thousands has more."""


def _tokens_of(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of several passages; if all of them are ASCII, they are split at once."""
    texts = [text[:_LONGEST].replace("\n", " ") for text in texts]
    whole = "\n".join(texts)
    if not texts or has_foreign_letters(whole):
        return list(map(tokens, texts))
    raw = _part_humps(whole.encode("ascii", "replace")).translate(_LETTER_ROWS).decode()
    ignored = word_list("addresses").union(word for word in set(raw.split()) if len(word) == 1)
    return [list(filterfalse(ignored.__contains__, row.split())) for row in raw.split("\n")]


def _pairs(stems: Iterable[str]) -> Iterator[str]:
    """Return the neighbouring words of a passage as features."""
    return map(" ".join, pairwise(stems))


def _size(words: Collection[str]) -> str:
    """Return the feature for the number of different words: the more there are, the more of them have a weight."""
    return _SIZES[min(len(words), _MANY_WORDS)]


_MANY_WORDS = 400
_SIZES = [f"<size-{round(2 * math.log2(count + 1))}>" for count in range(_MANY_WORDS + 1)]


def _marks(text: str) -> Iterator[str]:
    """Yield the kinds of addresses, and the marks of code outside addresses: the name of a host says nothing."""
    if "@" in text:
        yield "<mail>"
    if "`" in text:
        yield "<code>"
    if "://" in text:
        for match in URL.finditer(text):
            host = host_of(match[0])
            yield "<known>" if serves_installers(host.name) else _KINDS.get(host.kind, "<shady>")
            if match[0][:5].lower() == "http:" and not host.near:
                yield "<plain>"
        text = URL.sub(" ", text)
    text = text.lower()
    yield from [f"~{''.join(mark.split())}" for mark in _MARK.findall(text) if mark not in _RESERVED]
    last, at = 0, text.find("(")
    while at >= 0:
        if (call := _CALL.search(text, max(last, at - _LONGEST_CALL), at + 1)) is not None:
            yield f"~{call[0]}"
        last, at = at + 1, text.find("(", at + 1)


def _concepts(groups: Iterable[tuple[str, ...]], text: str) -> frozenset[str]:
    """Return the concepts of a passage as features: those of its words, and those that scripts without spaces name."""
    named = frozenset(chain.from_iterable(groups))
    if not text.isascii() and _EAST.search(text):
        table, east = concepts()
        named = named.union(*map(table.__getitem__, east.findall(text[:_LONGEST].lower())))
    return frozenset([f"+{name}" for name in named])


def _denied(known: list[Word]) -> Iterator[str]:
    """Yield the concepts that follow a negation."""
    for at, word in enumerate(known):
        if "never" in word.concepts:
            for near in known[at + 1 : at + 5]:
                yield from (f"no+{concept}" for concept in near.concepts if concept != "never")


def features(looks: Sequence[Look]) -> set[str]:
    """Return the features of passages that belong together."""
    seen = set[str]().union(*(look.seen for look in looks))
    seen.add(_size(frozenset[str]().union(*(look.words for look in looks))))
    if len(looks) > 1:
        seen.add("<wide>")
    return seen


@lru_cache(maxsize=1024)
def _weight_of_signs(signs: frozenset[str], *, code: bool) -> int:
    """Return the weight of the position of a passage and of the patterns that matched it."""
    weights = model()[0]
    return sum([weights.get(sign, 0) for sign in (signs | {"<code-block>"} if code else signs)])


@lru_cache(maxsize=4096)
def _weight_of(named: frozenset[str]) -> int:
    """Return the weight of concepts."""
    weights = model()[0]
    return sum([weights.get(feature, 0) for feature in named])


@cache
def concepts() -> tuple[dict[str, tuple[str, ...]], re.Pattern[str]]:
    """Return the concepts of each stem, and an expression for the words of scripts without spaces."""
    table: dict[str, tuple[str, ...]] = {}
    east = []
    for concept, words in load_toml("concepts").items():
        for word in words.split():
            joined = not word.isascii() and _EAST.match(word) is not None
            key = word if joined else stem(word)
            if concept not in (known := table.get(key, ())):
                table[key] = (*known, concept)
            if joined:
                east.append(word)
    return table, expression("|".join(sorted(set(east), key=lambda word: (-len(word), word))))


def pieces(code: str, line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield a program in pieces that end at blank lines, or where they get long, each with its line."""
    kept: list[str] = []
    size, start = 0, line
    for number, row in enumerate(code.split("\n"), start=line):
        if kept and (size + len(row) > _PIECE or (size > _PIECE // 2 and not row.strip())):
            yield start, "\n".join(kept)
            kept, size, start = [], 0, number
        kept.append(row[:_LONGEST])
        size += len(kept[-1]) + 1
    yield start, "\n".join(kept)


def spans(passages: Sequence[Passage]) -> Iterator[tuple[int, int]]:
    """Yield the ranges that are judged: every passage alone, and the passages of a section together."""
    yield from ((at, at + 1) for at in range(len(passages)))
    yield from _sections(passages)


def _sections(passages: Sequence[Passage]) -> Iterator[tuple[int, int]]:
    """Yield the sections of several passages, split at a paragraph if they are long."""
    at = 0
    while at < len(passages):
        end, size = at + 1, len(passages[at].text)
        while end < len(passages) and passages[end].section == passages[at].section:
            size += len(passages[end].text)
            if size > _WIDEST or (passages[end].begins and size - len(passages[end].text) > _FULL):
                break
            end += 1
        if end > at + 1:
            yield at, end
        at = end


class Judged(NamedTuple):
    """A passage or section that is beyond the threshold for a warning, or close to it if a pattern matched."""

    passage: Passage
    """The passage, or the first one of the section."""
    score: Score
    lines: frozenset[int]
    """The lines of its passages."""


def judge(passages: Sequence[Passage], beside: int = 0) -> Iterator[Judged]:
    """Yield the passages beyond a threshold, and those that patterns matched if they are close to it.

    A section is yielded only if none of its passages alone is as far beyond. `beside` is the number of characters in the
    other texts of the package.
    """
    if not passages:
        return
    size = lift(len(passages) + beside // _EACH)
    least = round((size + background(()) + _FAR) / UNIT) - model()[1]
    words = _tokens_of([one.text for one in passages])
    _words().learn(set().union(*words))
    weighed = list(map(weigh, passages, words, repeat(least)))
    weights = sorted((one.weight * UNIT for one in weighed if one is not None), reverse=True)
    more = round((size + background(weights[1:])) / UNIT)
    warn = model()[1] - more

    def scored(some: Iterable[Weighed], more: int) -> Score:
        return score([one.look() for one in some], more)

    found: dict[int, Judged] = {}
    for at, one in enumerate(weighed):
        if one is None:
            continue
        limit = -_CLOSE if _is_matched(one.passage) else ALONE[one.passage.code]
        if (one.weight + warn) * UNIT >= min(limit, 0) and (alone := scored((one,), more)).warn > limit:
            found[at] = Judged(one.passage, alone, frozenset((one.passage.line,)))
    for start, end in _sections(passages):
        some = [one for one in weighed[start:end] if one is not None]
        if len(some) < 2 or max(one.weight for one in some) < least:
            continue
        others = (one.weight * UNIT for one in (*weighed[:start], *weighed[end:]) if one is not None)
        together = scored(some, round((size + background(others)) / UNIT))
        alone = max((found[at].score for at in range(start, end) if at in found), default=_NOTHING)
        if together.warn > 0 and (together.critical > 0 >= alone.critical or alone.warn <= 0):
            found[start] = Judged(passages[start], together, frozenset(one.passage.line for one in some))
    told: set[str] = set()
    for _, judged in sorted(found.items()):
        if judged.passage.text not in told:
            told.add(judged.passage.text)
            yield judged


def _is_matched(one: Passage) -> bool:
    return any(sign[0] == "=" for sign in one.signs)


_CLOSE = 4.5
"""How far below the threshold a passage that an uncertain pattern matched is still a warning."""


def lift(passages: int) -> float:
    """Return the additional weight required in a package of `passages`: the more there are, the odder is the oddest."""
    return _PER_SIZE * math.log(min(max(passages, _USUAL), _MANY) / _USUAL)


_PER_SIZE = 0.75
_USUAL, _MANY = 40, 400
"""Numbers of passages of a usual and a long package."""


def background(others: Iterable[float]) -> float:
    """Return the additional weight required of a passage, or of a section, in a text whose other passages have these weights.

    An order that was put into a skill stands out from it, while an honest skill about a risky subject is odd throughout. So
    what counts are the oddest of the others, within bounds: a few odd passages do not hide an order.
    """
    oddest = sorted((min(max(weight, _PLAIN), _RISKY) for weight in others), reverse=True)[:_OTHERS]
    return _OF_OTHERS * (sum(oddest) + _TYPICAL * (_OTHERS - len(oddest))) / _OTHERS


_OTHERS, _OF_OTHERS = 5, 0.4
_PLAIN, _TYPICAL, _RISKY = -2.5, 0.5, 1.0
"""Weights of passages: the least and the most that counts, and what counts where a text has fewer passages."""
ALONE = {False: 0.0, True: 2.0}
"""What a passage of running text (False) or code (True) must exceed alone: the readers of programs know more of code."""
_EACH = 160
"""Length in characters of a usual passage."""


def score(looks: Sequence[Look], more: int = 0) -> Score:
    """Score passages that belong together; `more` is subtracted from their weight."""
    seen = features(looks)
    weights, warn, critical = model()
    total = sum(map(weights.__getitem__, seen & weights.keys())) - more
    if total + warn <= 0:
        return Score((total + warn) * UNIT, _NOTHING.critical)
    orders = tuple(order for ground, order in _GROUNDS.items() if ground <= seen)
    grounded = any(feature[0] == "=" for feature in seen) or bool(orders)
    grounded &= any(map(_CODE.isdisjoint, (look.seen for look in looks)))
    words = sorted(
        (feature for feature in seen if weights.get(feature, 0) > 0 and not re.search("[<=+~]", feature)),
        key=lambda feature: (-weights[feature], feature),
    )
    danger = (total + critical) * UNIT if grounded else _NOTHING.critical
    return Score((total + warn) * UNIT, danger, tuple(words[:4]), orders)


_GROUNDS = {frozenset(ground.split()): order for ground, order in load_table("words")["grounds"].items()}
"""Concepts that a passage must contain to be a danger and not only odd, if no pattern matched it, and the order they make."""
_CODE = frozenset(("<fence>", "<file>", "<code-block>"))
"""The positions of code. Code alone is only odd: the checkers of programs know where its values go."""
UNIT = 0.04
"""The log-odds that one unit of a stored weight stands for."""
_NOTHING = Score(-9.0, -9.0)
_FAR = -4.0
"""A section is judged only if one of its passages comes this close to the threshold for a warning."""


@cache
def model() -> tuple[dict[str, int], int, int]:
    """Return the weights, and the biases that put the thresholds for a warning and for a danger at 0."""
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "passages.txt")
    with open(path, encoding="utf-8") as file:
        parts = file.read().replace("\n", "\t").split("\t")
    weights = dict(zip(parts[::2], map(int, parts[1::2]), strict=False))
    return weights, weights.pop("<warn>"), weights.pop("<critical>")
