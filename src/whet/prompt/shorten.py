"""Shortening descriptions so that the differences between sibling skills stay.

A shortened line is made of pieces of the description as its author wrote them: the first clause, or as much of it as
leaves room for more, and then *phrases*, runs of words between filler words and punctuation. Nothing is ever cut inside
a phrase, neighbours keep the short words between them, and one word out of the middle of a clause or of a quotation is
not shown, for lists of such words cannot be read. Each phrase is worth the sum of its words, and a word is worth more

- the fewer other skills of the same index use it (which distinguishes siblings),
- the earlier it occurs and the more often it is repeated (measured on real messages: a user is four times as likely to
  say a word from the beginning of a description as one from its end, and says a repeated one twice as often),
- unless the skill's own name, which is always shown, says it already.

Room goes to the phrase of any skill with the most worth for its cost; every phrase of a skill makes its next one a
little less urgent, so that a few long descriptions do not crowd out the short ones.

A negation ("Do not use for ...", "Forms are not filled in") is one phrase with all that it negates, and the text after
it starts a new sentence: half of it, or more than it, would say the opposite. It knows English and the commonest
Chinese; if in doubt, the phrase is the longer one.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from itertools import pairwise
from math import exp, log

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.terms import FILLERS, MARKS, WIDE, filler_terms, plain_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

ELLIPSIS = "…"
"""Ends every description that is not shown in full."""

_WORD = compile_late(rf"_*[^\W_](?:[^\W_]|[{MARKS}]|['’.+#/_-](?=_*[^\W_]))*[+#_]*")

_VERB = r"(?:is|are|was|were|be|has|have|had|will|would|should|can|could|must|may|might|need|do|does|did)"
_STILL = (
    r"""\.(?=\s+(?-i:[a-z]))|(?<=\b(?:e\.g|i\.e))\.|(?<=\bvs)\.|(?<=\s\d)\.|(?<=\s\d\d)\.|[.,;!?](?![\s"'”’)\]}]|$)"""
)
"""A mark that ends nothing: in an abbreviation, the number of an item, a number or the name of a file."""
_N_T = r"n['’ʼ`´]?t"
_NEGATION = compile_late(
    rf"""(?<![^\W_])(?<![^\W_]_)(?<!-)(?:
    (?:(?P<verb>
          {_VERB}(?:\s+(?:(?:\w+ly|also|still|yet|be)\s+)?["“(*_]*(?:not|never|no)|{_N_T})|(?:ca|wo|sha|ai){_N_T}|cannot
          |never|no\s+longer|nothing|none|unable|instead(?!\s+of)
        )
      |(?P<state>
          not\s+(?:(?:\w+ly|yet)\s+)?(?:\w+ed|meant|available|possible|suitable|part\s+of|in\s+scope)|not\s+yet
          |unsupported|deprecated|superseded|replaced\s+by|discontinued|obsolete|excluded|avoided|forbidden
          |(?:out\s+of|outside|beyond)\s+(?:\w+\s+)?scope|(?<=\()(?:no|not|never)(?=\))
        )
      |(?:(?:every|any|no)(?:thing|one|body)|all|any|every|each|none)\s+(?:[\w-]+\s+){{0,3}}?(?:but|other\s+than|except)
      |not|neither|nor|no|without|instead\s+of|rather\s+than
      |other\s+than|(?:apart|aside)\s+from|except|unless|exclud(?:e|es|ing)|(?:exception|exclusion|limitation)s?:
      |avoid(?:s|ing)?|ignor(?:e|es|ing)|lack(?:s|ing)?|refus(?:e|es|ing)|skip(?:\s+(?:for|if|when)|:)
    )(?!_*[^\W_]|-)
    |(?P<even>even)\s+(?:if|when|though|without)\s
)|(?:(?P<wide>不支持|不[能可]|无法|不再)|不[要用适得]|[请切]勿|禁止|除非)""",
    re.IGNORECASE | re.VERBOSE,
)
"""The beginning of a negation. With `verb`, `state` or `wide`, the text before it is negated too."""
_SENTENCE = compile_late(rf"(?:[^.!?。！？]|{_STILL})*", re.IGNORECASE)
_CLAUSE = compile_late(rf"(?:[^.,;!?。，；！？—–]|{_STILL})*", re.IGNORECASE)
"""The rest of a negation, to the end of the sentence, because the end of a negated list is unknown; with `even`, of the
clause.
"""
_SUBJECT = compile_late(
    r"""\((?![^()]*\))|(?:[.;:!?—–]["'”’]*|\b(?:when|whenever|where|if|while|because|but))\s+|[。！？；：（]\s*""",
    re.IGNORECASE,
)
"""The end of the text before the subject of a negation; a comma is not, as in "Excel, Word are not read"."""
_BESIDE = compile_late(r"(?:\s*:|\s*[(\[](?:which|that|who|it|this|they|these)?)\s*$", re.IGNORECASE)
_BESIDE_REMARK = compile_late(r"\s*[:(\[—–-]\s*$")
"""Text between a thing and its negation: a verb, or a remark such as "unsupported"."""
_QUOTES = ('"', "“", "”")
_QUOTED = compile_late(r"""(?<![^\s(\[{,:])(?:"[^"]*"(?!\w)|“[^”]*”|\([^()]*\)|\[[^][]*\]|\{[^{}]*\})""")
_CONNECTION = compile_late(r"[\w ,/&'-]{1,4}|[.:;] ")
_SENTENCE_LIKE = compile_late(r"[\w ,/&'-]{1,24}|[.:;] ")
"""Text that may stay between two shown neighbours; more of it if there is room to spare."""
_CLAUSE_END = compile_late(r"[.;:!?,)](?=\s)|\s(?=[—–-]\s|[(\[])|[。；！？，]")
_BREAK = compile_late(r"[^\w\s]|\b(?:and|or)\b", re.IGNORECASE)
"""Text between two clauses or two items of a list."""

_EARLY_WORDS = 60.0
_LATE_WORTH = 0.4
_NAMED_WORTH = 0.3
_NEGATED_WORTH = 0.3
_MOST_REPEATS = 4
_ALMOST = 3
"""Number of additional characters that are worth showing a text in full."""
_SPARE = 0.6
"""The share of all text that must fit for the most urgent phrases to come first in any rank, with neighbours."""
_OPENING, _JOINED = 0.3, 0.25
"""The share of a text's mean room for its first clause as written. Of a longer clause, the beginning is shown, with
text between its phrases if that is only a part of them.
"""
_HUNGER = 400.0
"""Number of shown characters of a skill that halve the worth of its next phrase."""
_FIRST, _ALONE, _PART = range(3)
"""The beginning of a text; a phrase that can be read alone; a word of a clause or a quotation, which needs others."""


class Phrase(NamedTuple):
    """A piece of a description that is shown whole or not at all."""

    start: int
    end: int
    worth: tuple[tuple[str, float], ...]
    """Its terms, and the worth of each."""
    negated: bool
    rank: int
    """Its turn: `_FIRST`, `_ALONE` or `_PART`."""


def shorten(names: Sequence[str], texts: Sequence[str], room: int, cost: Callable[[str], int]) -> list[str]:
    """Shorten each text next to its name to at most `room` in all; "" if there is no room left.

    `cost` returns the cost of a text; hidden text costs nothing.
    """
    allotment = _Allotment(names, texts, cost)
    allotment.fill(room)
    return allotment.shown


def cut(text: str, limit: int) -> str:
    """Return the beginning of a text, up to the last end of a clause within `limit` characters."""
    if len(text) <= limit:
        return text
    most = limit - len(ELLIPSIS)
    ends = [found.end() for found in _CLAUSE_END.finditer(text, 0, most)]
    end = ends[-1] if ends and ends[-1] > limit // 2 else text.rfind(" ", 0, most + 1)
    if end <= 0 or (end < limit // 2 and text[most] >= WIDE):
        end = most  # one word longer than the limit, or a script without spaces
    for start, stop in _negations(text[: 2 * limit]):
        if start < end < stop and (start or not any(_negations(text[:end]))):
            end = start
    return text[:end].rstrip(" ,;:.-—–") + ELLIPSIS


@lru_cache(maxsize=1024)
def _terms_in(text: str) -> tuple[str, ...]:
    """Return the `terms` of a description, cached because an index is often made from the same ones."""
    return tuple(plain_terms(text))


@lru_cache(maxsize=1024)
def _split_phrases(text: str) -> tuple[Phrase, ...]:
    """Return the `phrases` of a description; every term in them is worth 1."""
    found = phrases(text)
    gaps = ["", *(text[before[1] : after[0]] for before, after in pairwise(found)), ""]
    apart = [not gap or _BREAK.search(gap) is not None for gap in gaps]
    torn = [(gaps[at][-1:] in _QUOTES) != (gaps[at + 1][:1] in _QUOTES) for at in range(len(found))]
    return tuple(
        Phrase(
            start,
            end,
            tuple((term, 1.0) for term in dict.fromkeys(plain_terms(text[start:end])) if len(term) > 1),
            negated,
            _ALONE if negated or " " in text[start:end] or (apart[at] and apart[at + 1] and not torn[at]) else _PART,
        )
        for at, (start, end, negated) in enumerate(found)
    )


def phrases(text: str) -> list[tuple[int, int, bool]]:
    """Return start and end of the phrases of a text, and whether each is a negation."""
    found: list[tuple[int, int, bool]] = []
    at = 0
    for start, end in _negations(text):
        found.extend(_plain_phrases(text, at, start))
        quoted = text[start - 1 : start] in _QUOTES and text[end : end + 1] in _QUOTES
        found.append((start - quoted, end + quoted, True))
        at = end + quoted
    found.extend(_plain_phrases(text, at, len(text)))
    return found


def _negations(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the negations of a text, each with everything that it negates."""
    quotes = [quoted.span() for quoted in _QUOTED.finditer(text)]
    at = 0
    while negation := _NEGATION.search(text, at):
        start, at = _reach(text, at, negation, quotes)
        yield start, len(text[:at].rstrip())


def _reach(text: str, at: int, negation: re.Match[str], quotes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return start and end of a negated text: after `at`, and within its quotes or brackets."""
    start, rest = negation.span()
    end = next((_CLAUSE if negation["even"] else _SENTENCE).finditer(text, rest)).end()
    first = at
    for opening, closing in quotes:
        if opening < start < closing and _is_apart(text[opening:closing], negation):
            first, end = max(at, opening + 1), min(end, closing - 1)
        elif start < opening < end < closing - 2:  # a sentence that ends in quotes continues after them
            end = next(_SENTENCE.finditer(text, closing)).end()
    if negation["verb"] or negation["state"] or negation["wide"]:
        beside = (_BESIDE_REMARK if negation["state"] else _BESIDE).search(text, at, start)
        before = beside.start() if beside else start
        if before < first:  # the brackets hold a remark on the text before them
            first, end = at, end + 1
        ends = (subject.end() for subject in _SUBJECT.finditer(text, first, before) if not _goes_on(text, subject))
        start = max(ends, default=first)
    return start, end


def _goes_on(text: str, stop: re.Match[str]) -> bool:
    """Return whether a full stop is that of an abbreviation: "Word etc. are not read"."""
    return stop[0][0] == "." and text[stop.end() : stop.end() + 1].islower()


def _is_apart(quoted: str, negation: re.Match[str]) -> bool:
    """Return whether text in quotes or brackets can be negated alone: it is more than an emphasized word."""
    if quoted[0] in _QUOTES:
        return len(quoted.split()) > 2
    return len(quoted.split()) > 1 or bool(negation["state"])


def _plain_phrases(text: str, start: int, end: int) -> list[tuple[int, int, bool]]:
    found: list[tuple[int, int, bool]] = []
    first = last = -1
    for word in _WORD.finditer(text, start, end):
        filler = word[0].lower() in FILLERS
        if first >= 0 and (filler or text[last : word.start()] != " "):
            found.append((first, last, False))
            first = -1
        if not filler:
            first = word.start() if first < 0 else first
            last = word.end()
    if first >= 0:
        found.append((first, last, False))
    return found


class _Allotment:
    """One distribution of room among the descriptions of an index."""

    def __init__(self, names: Sequence[str], texts: Sequence[str], cost: Callable[[str], int]) -> None:
        self.texts = texts
        self.cost = cost
        self.phrases = _weigh(names, texts)
        self.shown = [""] * len(texts)
        self._spent = [0] * len(texts)
        self._connection = _CONNECTION
        self._chosen: list[list[int]] = [[] for _ in texts]
        self._said: list[set[str]] = [set() for _ in texts]

    def fill(self, room: int) -> None:
        """Distribute the room: to openings, to phrases readable alone, to the rest; then complete nearly full texts."""
        share = room / max(1, sum(map(self.cost, self.texts)))
        most = int(_OPENING * share * sum(map(len, self.texts)) / max(1, len(self.texts)))
        self.phrases = [_open(text, found, most) for text, found in zip(self.texts, self.phrases, strict=True)]
        turns = [{_FIRST}, {_ALONE}, {_PART}] if share < _SPARE else [{_FIRST, _ALONE, _PART}]
        for ranks in turns:
            if _PART in ranks:
                self._connection = _SENTENCE_LIKE
            room = self._hand_out(room, ranks)
        self._complete(room)

    def _hand_out(self, room: int, ranks: Collection[int]) -> int:
        """Show phrases of these ranks, the most urgent first; return the remaining room."""
        heap = [
            (-self._urgency(at, number), at, number)
            for at, found in enumerate(self.phrases)
            for number, phrase in enumerate(found)
            if phrase.rank in ranks and (phrase.rank != _PART or len(ranks) > 1 or self._is_beside(at, number))
        ]
        heapify(heap)
        while heap and heap[0][0] < 0 and room > 0:
            _, at, number = heap[0]
            now = -self._urgency(at, number)
            if len(heap) > 1 and now > min(heap[1][0], heap[2][0] if len(heap) > 2 else 0.0):
                heapreplace(heap, (now, at, number))
                continue
            heappop(heap)
            if now < 0:
                room -= self._take(at, number, room)
        return room

    def _is_beside(self, at: int, number: int) -> bool:
        """Return whether the phrase next to this one is shown, with at most a few letters between the two."""
        text, found = self.texts[at], self.phrases[at]
        shown = [other for other in (number - 1, number + 1) if other in self._chosen[at]]
        pairs = ((found[min(number, other)], found[max(number, other)]) for other in shown)
        return any(self._connection.fullmatch(text[before.end : after.start]) for before, after in pairs)

    def _complete(self, room: int) -> None:
        """Show nearly complete texts in full, as far as there is room, the smallest differences first."""
        short = [(self.cost(text) - self._spent[at], at) for at, text in enumerate(self.texts)]
        for more, at in sorted(short):
            if more <= room and self.shown[at] != self.texts[at]:
                self.shown[at] = self.texts[at]
                room -= more

    def _urgency(self, at: int, number: int) -> float:
        """Return the worth of a phrase per unit of its cost; 0 once the whole text is shown."""
        if not self.phrases[at]:
            return 0.0
        phrase, said = self.phrases[at][number], self._said[at]
        worth = sum(value for term, value in phrase.worth if term not in said)
        spent = self._spent[at]
        return worth / ((phrase.end - phrase.start + (2 if spent else 4)) * (1 + spent / _HUNGER))

    def _take(self, at: int, number: int, room: int) -> int:
        """Show one more phrase if it fits; return its cost."""
        phrase, spent = self.phrases[at][number], self._spent[at]
        if phrase.end - phrase.start > room and self.cost(self.texts[at][phrase.start : phrase.end]) > room:
            return 0
        before = self._chosen[at]
        self._chosen[at] = sorted((*before, number))
        text, whole = self._joined(at), self.texts[at]
        if len(whole) <= len(text) + _ALMOST and self.cost(whole) - spent <= room:
            text = whole
            self.phrases[at] = []
        more = self.cost(text) - spent
        if more > room:
            self._chosen[at] = before
            return 0
        self.shown[at], self._spent[at] = text, spent + more
        self._said[at].update(term for term, _ in phrase.worth)
        return more

    def _joined(self, at: int) -> str:
        """Return the chosen phrases in their order; neighbours keep the few letters between them."""
        text, found = self.texts[at], self.phrases[at]
        parts: list[str] = []
        last = -2
        for number in self._chosen[at]:
            phrase = found[number]
            if parts:
                before = found[last]
                between = text[before.end : phrase.start] if number == last + 1 else ""
                negations = (one for one in (before, phrase) if one.negated and text[one.start] not in _QUOTES)
                apart = ". " if any(negations) else ", "
                parts.append(between if self._connection.fullmatch(between) else apart)
            parts.append(text[phrase.start : phrase.end])
            last = number
        return "".join(parts) + ELLIPSIS


def _open(text: str, found: list[Phrase], most: int) -> list[Phrase]:
    """Return the phrases of a text, with its first clause or its beginning as one, up to `most` characters."""
    if not found:
        return found
    start, clause = found[0].start, _CLAUSE_END.search(text, found[0].end)
    stop = clause.start() if clause else len(text)
    words = count = 0
    end = start
    for number, phrase in enumerate(found, 1):
        is_last = number == len(found) or found[number].start >= stop
        reach = stop if is_last else phrase.end
        if phrase.negated or phrase.end > stop or reach - start > most:
            break
        words += phrase.end - phrase.start
        if is_last or reach - start - words <= _JOINED * words:
            count, end = number, reach
    if " " not in text[start:end]:
        return found
    worth = dict(pair for phrase in found[:count] for pair in phrase.worth)
    return [Phrase(start, end, tuple(worth.items()), negated=False, rank=_FIRST), *found[count:]]


def _weigh(names: Sequence[str], texts: Sequence[str]) -> list[list[Phrase]]:
    """Return every phrase of every text with its worth."""
    own = [set(plain_terms(name)) for name in names]
    said = [_terms_in(text) for text in texts]
    users = Counter(term for name, words in zip(own, said, strict=True) for term in name.union(words))
    fillers = filler_terms()
    rarity = {term: log(1 + len(texts) / count) for term, count in users.items() if term not in fillers}
    found: list[list[Phrase]] = []
    for text, name, words in zip(texts, own, said, strict=True):
        repeats = Counter(words)
        worth: dict[str, float] = {}
        for place, term in enumerate(words):
            if term not in worth:
                early = _LATE_WORTH + exp(-place / _EARLY_WORDS)
                named = _NAMED_WORTH if term in name else 1.0
                worth[term] = rarity.get(term, 0.0) * early * named * min(repeats[term], _MOST_REPEATS)
        row: list[Phrase] = []
        for phrase in _split_phrases(text):
            share = _NEGATED_WORTH if phrase.negated else 1.0
            values = tuple((term, worth.get(term, 0.0) * share) for term, _ in phrase.worth)
            row.append(phrase._replace(worth=values))
        found.append(row)
    return found
