"""What the session itself worked out: why things are done in this way, in the words in which it was said.

The last answer, what was said between the calls and what was thought are read for sentences that explain the work:
they share names, options and words with the commands and scripts, or give a reason. What tells of the single case
stays out: results, people, sentences with numbers that no command holds. So does what only announces the next call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.facts.model import Passage
from whet.learning.facts.passages import taken_apart
from whet.learning.facts.using import Use, names
from whet.learning.facts.wording import bare, capital, pieces
from whet.learning.facts.written import language_of
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whet.learning.facts.acts import Act
    from whet.learning.facts.model import Parameter
    from whet.learning.transcripts.events import Event

MOST = 24
"""Passages that are kept."""
_SAME = 0.7
"""The share of words that two passages have in common which say the same."""
_TEXTS = 120
"""Messages that are read, the last ones."""
_LONGEST = 700
"""Characters of one passage."""
_LEAST = 0.75
"""The weight below which a sentence explains nothing."""
_ANSWER = 1.3
"""What a sentence of the last answer is worth beside the same one on the way."""
_EVIDENCE = 3
_SHORTEST = 5
"""Words of a sentence that can explain something."""
_OF_A_CASE = frozenset(("date", "email", "phone", "amount", "id", "name", "version"))
_REASON = re.compile(
    r"(?i)\b(?:because|since|so that|otherwise|instead|rather than|therefore|means?|root cause|prevents?|avoids?"
    r"|ensures?|requires?|must|never|always|only|default|note|important|key|unless|if|when|before|after|must not|cannot"
    r"|needs? to|should|by|using|via|reject\w*|allow\w*|increas\w*|decreas\w*|reduc\w*)\b"
)
_CHAT = re.compile(
    r"(?i)\A(?:let me|let's|i'll|i will|i'm going to|i am going to|time to)\b"
    r"|\b(?:the user|user wants|skills?|tool calls?|toolsearch|wait|hmm|the task|todo list|subagents?"
    r"|(?:has|have) been|successfully|is (?:now )?(?:complete|done|ready|resolved|healthy)|all done"
    r"|looks? (?:good|great|right|correct|fine)|looking (?:at|back)|think|thinking|let me|let's)\b"
)
"""How the session talks about itself."""
_OPENING = re.compile(r"(?i)\A(?:ok(?:ay)?|good|great|now|next|then|first|finally|so|and|also)[,.:!]?\s+")
_MYSELF = re.compile(r"\b(?:I|I'm|I'll|I've|I'd|my|we|We|we're|we've|our|me)\b")
_DOUBT = re.compile(
    r"(?i)\b(?:might|maybe|perhaps|probably|possibly|seems?|appears?|i guess|not sure|whether|figure out|could be"
    r"|would be|likely|potentially|actually|however)\b"
)
_NUMBER = re.compile(r"(?<![\w#])\d[\d.,:/]*\d|(?<![\w#.])\d(?=\s*%)")
_PERSON = re.compile(r"\b[A-Z][a-z]{1,20}(?: [A-Z]\.?)? [A-Z][a-z]{1,20}\b")
_BRACKETS = re.compile(r"\s*\([^()\n]{1,120}\)")
_ITEM = re.compile(r"\A(?:[*+•]|\d{1,3}[.)])[ \t]+")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*\Z")
_RULER = re.compile(r"[ \t|:-]{3,}\Z")
_MARK = re.compile(r"[✓✔✅❌☑]|\[x\]", re.IGNORECASE)


class Case(NamedTuple):
    """What tells a sentence about the single case from one about the work."""

    known: set[str]
    """Numbers that commands, scripts or the request hold."""
    done: str
    """All commands and scripts."""
    values: re.Pattern[str]
    """Values that belong to the case."""

    def tells(self, text: str) -> bool:
        """Does a text tell of the single case?"""
        if "[secret" in text or self.values.search(text) or _MARK.search(text):
            return True
        if any(_plain(number) not in self.known for number in _NUMBER.findall(text)):
            return True
        return any(person not in self.done for person in _PERSON.findall(text))


def insights_of(
    events: Sequence[Event], done: Sequence[Act], request: str, parameters: Iterable[Parameter]
) -> tuple[Passage, ...]:
    """The passages that explain the work, in the order in which they were said."""
    use, case = _work(done, request, parameters)
    if not use.names and not use.terms:
        return ()
    told = [(at, event) for at, event in enumerate(events) if _is_told(event)][-_TEXTS:]
    last = max((at for at, event in told if event.kind == "assistant"), default=-1)
    found: list[Passage] = []
    for at, event in told:
        for text, section in _explained(event.text, case):
            weight, shared = _weight(text, use)
            weight *= _ANSWER if at == last else 1.0
            if weight >= _LEAST and (shared or _REASON.search(text)):
                evidence = tuple(dict.fromkeys((at, *use.users(shared, _EVIDENCE))))
                found.append(Passage(text, "session", "the session", section, evidence, round(weight, 3)))
    kept: list[tuple[int, frozenset[str]]] = []
    for number in sorted(range(len(found)), key=lambda number: (-found[number].weight, -number)):
        words = key_terms(found[number].text)
        if len(kept) < MOST and not any(_alike(words, others) for _, others in kept):
            kept.append((number, words))
    return tuple(found[number] for number, _ in sorted(kept, key=lambda one: one[0]))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _SAME * min(len(one), len(other))


def _is_told(event: Event) -> bool:
    return event.kind == "assistant" or (event.kind == "note" and event.about == "thinking")


def _work(done: Sequence[Act], request: str, parameters: Iterable[Parameter]) -> tuple[Use, Case]:
    """Commands and scripts as things to compare with; data that was written is the case, not the work."""
    use = Use(request)
    texts = [request]
    for act in reversed(done):
        if act.tool == "Bash" or (act.tool in ("Write", "Edit") and language_of(act.text("path"))):
            use.add(act.at, act.words)
            texts.append(act.words)
    work = "\n".join(texts)
    forms = sorted(
        {form for one in parameters if one.sort in _OF_A_CASE for form in (one.example, *one.spellings) if form},
        key=len,
        reverse=True,
    )
    values = re.compile("|".join(rf"(?<!\w){re.escape(form)}(?!\w)" for form in forms) or r"(?!)")
    return use, Case({_plain(number) for number in re.findall(r"\d[\d.,:/]*\d|\d", work)}, work, values)


def _plain(number: str) -> str:
    return number.strip(".,:/").replace(",", "")


def _weight(text: str, use: Use) -> tuple[float, frozenset[str]]:
    """How much a text explains of the work, and the names by which one sees it."""
    held, words = names(text), key_terms(text)
    shared = held & use.names
    told = sum(0.35 if name.isdigit() else 1.0 for name in shared)
    common = len(words & use.terms) / (len(words) + 4.0)
    asked = len(words & use.wanted) / (len(words) + 4.0)
    weight = 0.3 * min(told, 5.0) + 0.8 * common + 0.5 * asked + 0.25 * bool(_REASON.search(text))
    return weight, shared


def _explained(message: str, case: Case) -> Iterator[tuple[str, str]]:
    """The parts of a message that may explain something, each with the heading above it."""
    for piece in taken_apart(message):
        if piece.code:
            continue
        lines = piece.text.split("\n")
        if all(_ROW.match(line) for line in lines):
            text = _rows(lines, case)
        elif len(lines) > 1 and lines[0].rstrip(" *").endswith(":"):
            text = _listed(lines, case)
        else:
            text = _prose(piece.text, case)
        if text and len(text) <= _LONGEST:
            yield text, "" if case.tells(piece.section) or len(piece.section) > 60 else piece.section


def _rows(lines: list[str], case: Case) -> str:
    """The rows of a table that are not about the case."""
    head = [line for line in lines[:2] if line is lines[0] or _RULER.match(line)]
    rows = [line for line in lines[len(head) :] if not case.tells(line)]
    return "\n".join([*head, *rows]) if rows and not case.tells(lines[0]) else ""


def _listed(lines: list[str], case: Case) -> str:
    """A list with the line that announces it, less the items that explain nothing."""
    kept = [_ITEM.sub("- ", line) for line in lines[1:] if line.strip() and _explains(line, case)]
    head = capital(bare(lines[0].strip()))
    announced = _explains(head, case) and not head.startswith("Here")
    return "\n".join([head, *kept] if announced and len(kept) > 1 else kept)


def _prose(text: str, case: Case) -> str:
    """The sentences of a paragraph or item that explain something."""
    kept: list[str] = []
    for _, sentence in pieces(text):
        if len(sentence.split()) < _SHORTEST or _CHAT.search(_OPENING.sub("", sentence)):
            continue
        plain = _BRACKETS.sub(lambda found: "" if case.tells(found[0]) else found[0], bare(sentence))
        if len(plain.split()) >= _SHORTEST and _explains(plain, case):
            kept.append(capital(plain))
    return " ".join(kept)


def _explains(text: str, case: Case) -> bool:
    """Is it neither talk, nor doubt, nor about the case?"""
    talk = _CHAT.search(text) or _MYSELF.search(text) or _DOUBT.search(text) or "?" in text or "…" in text
    return not talk and not text.endswith("...") and not case.tells(text)
