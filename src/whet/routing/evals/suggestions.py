"""Phrases that would make a skill trigger for messages it misses, or not trigger for messages it is not for.

*use*: phrases that are frequent in the messages a skill misses, and rare in the texts and messages of other skills, in
its own negative messages and in its own text. *avoid*: phrases of the messages that wrongly trigger it and that are in
none of the messages it is for; they belong in a "Do not use" clause. Scripts without spaces have no words to choose
from: there, the longest pieces that messages have in common are used. If the judge can be asked again with the phrase
added, only those are kept that improve the skill and make no skill worse.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from whet.routing.evals.judge import Judged, judged
from whet.skill.terms import FILLERS, is_common

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.routing.evals.judge import Judge
    from whet.values import Json

Kind: TypeAlias = Literal["use", "avoid"]
Try: TypeAlias = "Callable[[str, Kind, str], Judge]"
"""Returns a judge with a phrase added to a skill: to its description (`use`), or to its exclusions (`avoid`)."""
MOST = 5
"""Maximum number of suggestions of a kind for one skill."""
_TRIED = 8
"""Maximum number of candidates of a kind that are tried for one skill."""
_LONGEST_PHRASE = 3
_LONGEST_CJK = 4
"""Length of the pieces by which texts are compared."""
_LONGEST_PIECE = 12
"""Maximum length of a suggested piece."""
_LENGTHS = (1.0, 1.3, 1.5)
"""Weights of phrases of one, two and three words: a longer phrase is more specific."""
_READ = 2_000
"""Maximum number of characters of a message that are read."""
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:[-'’.+#][^\W_{_CJK}]+)*[+#]{{0,2}}")
_IDEOGRAPH = re.compile(f"[{_CJK}]")
_RUN = re.compile(f"[{_CJK}]{{2,}}")
_SIZES = range(2, _LONGEST_PIECE + 1)


class Suggestion(NamedTuple):
    """A phrase to add to a skill's description."""

    skill: str
    kind: Kind
    phrase: str
    messages: int
    """Number of wrongly answered messages that contain it."""
    gain: float | None = None
    """Number of right answers gained, where an offer counts half; None if it was not tried."""

    def to_json(self) -> Json:
        """Return the suggestion as JSON."""
        return {**self._asdict(), "verified": self.gain is not None}


def suggest(
    results: Sequence[Judged],
    texts: Mapping[str, str],
    *,
    try_phrase: Try | None = None,
    beside: Sequence[Judged] = (),
) -> tuple[Suggestion, ...]:
    """Return suggestions from judged cases; `texts` are the names and descriptions of the skills, by key.

    `beside` are cases from which no phrase is taken, but that must not get worse either.
    """
    known = {key: frozenset(_phrases(text)) for key, text in texts.items()}
    spread = Counter(phrase for phrases in known.values() for phrase in phrases)
    heard: dict[str, set[str]] = {}
    by_skill: dict[str, list[Judged]] = {}
    for item in results:
        by_skill.setdefault(item.case.skill, []).append(item)
        if item.case.fits:
            heard.setdefault(item.case.skill, set()).update(_phrases(item.case.message))
    said = Counter(phrase for phrases in heard.values() for phrase in phrases)
    suggestions: list[Suggestion] = []
    for skill, own in by_skill.items():
        if not skill:
            continue
        for candidates in (_uses(skill, own, known, spread, said), _avoids(skill, own, texts.get(skill, ""))):
            chosen = candidates[:MOST]
            if try_phrase is not None:
                tried = (_tried(item, results, beside, try_phrase) for item in candidates[:_TRIED])
                chosen = sorted((item for item in tried if item is not None), key=lambda item: -(item.gain or 0.0))
            suggestions += chosen[:MOST]
    return tuple(suggestions)


def _uses(
    skill: str,
    own: list[Judged],
    known: Mapping[str, frozenset[str]],
    spread: Mapping[str, int],
    said: Mapping[str, int],
) -> list[Suggestion]:
    """Return phrases of the missed messages, those shared by many messages and known to few skills first."""
    missed = [item.case.message for item in own if item.case.fits and item.tier == "none"]
    against = Counter(phrase for item in own if not item.case.fits for phrase in set(_phrases(item.case.message)))
    mine = known.get(skill, frozenset())
    total = len(known) or 1

    def weight(phrase: str, count: int) -> float:
        parts = _parts(phrase)
        known_here = all(part in mine for part in parts)
        others = max(
            min(spread.get(part, 0) for part in parts) - known_here, min(said.get(part, 1) for part in parts) - 1
        )
        rarity = math.log((total + 1) / (others + 0.5))
        if all(against[part] for part in parts) or known_here or others > max(1, total // 50):
            return 0.0
        return count * rarity * _LENGTHS[phrase.count(" ")]

    return _best(skill, "use", missed, weight)


def _avoids(skill: str, own: list[Judged], text: str) -> list[Suggestion]:
    """Return phrases of the messages that wrongly trigger the skill, none of which is in a message it is for."""
    false = [item.case.message for item in own if not item.case.fits and item.tier != "none"]
    wanted = {phrase for item in own if item.case.fits for phrase in _phrases(item.case.message)}
    named = set(_phrases(text[:200]))

    def weight(phrase: str, count: int) -> float:
        parts = _parts(phrase)
        return 0.0 if wanted.issuperset(parts) or named.issuperset(parts) else count

    return _best(skill, "avoid", false, weight)


def _best(skill: str, kind: Kind, messages: Sequence[str], weight: Callable[[str, int], float]) -> list[Suggestion]:
    """Return the phrases of the messages by weight; a phrase that overlaps a better one is left out."""
    counts: Counter[str] = Counter()
    for message in messages:
        counts.update(phrase for phrase in set(_phrases(message)) if not _IDEOGRAPH.match(phrase))
    counts.update(_pieces(messages))
    least = 2 if len(messages) > 2 else 1
    weighed = [(weight(phrase, count), phrase, count) for phrase, count in counts.items() if count >= least]
    weighed = [row for row in weighed if row[0] > 0]
    weighed.sort(key=lambda row: (-row[0], -len(row[1]), row[1]))
    chosen: list[Suggestion] = []
    for _, phrase, count in weighed:
        if not any(_overlap(phrase, other.phrase) for other in chosen):
            chosen.append(Suggestion(skill, kind, phrase, count))
        if len(chosen) >= _TRIED:
            break
    return chosen


def _overlap(one: str, other: str) -> bool:
    """Return whether two phrases overlap: one is within the other, or begins as the other ends."""
    if not _IDEOGRAPH.match(one):
        return f" {one} " in f" {other} " or f" {other} " in f" {one} "
    if one in other or other in one:
        return True
    ends = ((one, other), (other, one))
    return any(first[-count:] == last[:count] for first, last in ends for count in range(2, min(map(len, ends[0]))))


def _pieces(messages: Sequence[str]) -> dict[str, int]:
    """Return the longest pieces that several messages without spaces share, or the clauses of a single one."""
    runs = [{run.casefold() for run in _RUN.findall(message[:_READ])} for message in messages]
    if len(messages) == 1:
        return dict.fromkeys((run for run in runs[0] if len(run) <= _LONGEST_PIECE), 1)
    counts: Counter[str] = Counter()
    for own in runs:
        counts.update({run[at : at + size] for run in own for size in _SIZES for at in range(len(run) - size + 1)})
    shared = {piece: count for piece, count in counts.items() if count > 1}
    longer = Counter[str]()
    for piece, count in shared.items():
        for part in (piece[1:], piece[:-1]):
            longer[part] = max(longer[part], count)
    return {piece: count for piece, count in shared.items() if longer[piece] < count}


def _parts(phrase: str) -> list[str]:
    """Return the keys of a phrase: itself, or its pieces if it is longer than the compared ones."""
    if not _IDEOGRAPH.match(phrase) or len(phrase) <= _LONGEST_CJK:
        return [phrase]
    return [phrase[at : at + _LONGEST_CJK] for at in range(len(phrase) - _LONGEST_CJK + 1)]


def _tried(item: Suggestion, results: Sequence[Judged], beside: Sequence[Judged], try_phrase: Try) -> Suggestion | None:
    """Return the suggestion with its gain; None if it gains nothing or another skill loses."""
    judge = try_phrase(item.skill, item.kind, item.phrase)
    change = _change(item, results, judge)
    gain = change.pop(item.skill, 0.0)
    if gain <= 0 or any(other < 0 for other in change.values()):
        return None
    if any(other < 0 for other in _change(item, beside, judge).values()):
        return None
    return item._replace(gain=gain)


def _change(item: Suggestion, results: Sequence[Judged], judge: Judge) -> dict[str, float]:
    """Return the number of right answers that each skill gains with the phrase."""
    touched = [result for result in results if _concerned(result, item)]
    change: dict[str, float] = {}
    for old, new in zip(touched, judged([result.case for result in touched], judge), strict=True):
        change[old.case.skill] = change.get(old.case.skill, 0.0) + new.worth - old.worth
    return change


def _concerned(result: Judged, item: Suggestion) -> bool:
    """Return whether the phrase can change the outcome of this case: its skill or one of its words is involved."""
    case = result.case
    return item.skill in (case.skill, result.winner, result.first) or bool(
        {*item.phrase.split()} & {*_tokens(case.message)} or item.phrase in case.message
    )


def _phrases(text: str) -> Iterator[str]:
    """Yield the significant words of a text, and short phrases of neighbouring words."""
    run: list[str] = []
    end = 0
    for found in _TOKEN.finditer(text[:_READ]):
        word = found[0].casefold()
        ideograph = _IDEOGRAPH.match(word) is not None
        apart = text[end : found.start()] != ("" if ideograph else " ")
        if run and (apart or ideograph is not (_IDEOGRAPH.match(run[0]) is not None)):
            run.clear()
        end = found.end()
        if word in FILLERS or is_common(word) or word.isdecimal() or (len(word) < 2 and not ideograph):
            run.clear()
            continue
        run.append(word)
        longest = _LONGEST_CJK if ideograph else _LONGEST_PHRASE
        for count in range(2 if ideograph else 1, min(longest, len(run)) + 1):
            yield ("" if ideograph else " ").join(run[-count:])


def _tokens(text: str) -> list[str]:
    return [found[0].casefold() for found in _TOKEN.finditer(text[:_READ])]
