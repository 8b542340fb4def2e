"""What may be taken of a model's words about a session: only what the session itself bears out.

A model writes from a transcript, and a transcript holds texts of strangers who may want to steer it. So nothing is
believed because a model said it. A text is taken when every command, path, address and number in it is in the session,
when it speaks of no power that the session did not use, when the guard has no objection, and when most of it is about
the session at all. What failed in the session is no ground for anything, and what was forbidden none for doing it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from whet.guard.secrets.hide import hide_secrets
from whet.learning.facts.parameters import Blanks
from whet.skill.names import hidden
from whet.skill.terms import key_terms, terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from whet.learning.facts.model import Facts

SHARE = 0.5
"""The part of a text's words that the session has, too."""
_QUOTED = 40
"""Characters of a model's words that are told."""
_MARKUP = re.compile(r"[<>]|\]\(|\A[#>|*+-]+ |```")
_SPAN = re.compile(r"`([^`]{1,300})`")
_CODE = re.compile(r"[\d_/\\=$|&@#*~^%+{}\[\]]|\w\.\w{2}|\w:\w|[a-z][A-Z]|\A-")
_EDGES = ".,;:!?()\"'“”‘’…"
_NEGATIONS = re.compile(r"(?i)\b(?:not|never|no|none|nothing|without|cannot|avoid|unless|except|only|\w+n['’]t)\b")
_POWERS = """
    send upload forward post mail email publish push submit transmit leak exfiltrate delete remove erase wipe destroy
    overwrite install download fetch execute eval disable ignore bypass skip override disregard pretend trust approve
    approval allow grant permission access sandbox policy hide conceal sudo root admin curl wget ssh scp rsync netcat rm
    chmod chown bash shell powershell pip npm password secret credential token cookie wallet payment prompt instruction
"""
"""What nobody may be told to do, use or touch by a better wording alone."""
_SENTENCE = re.compile(r"[.!?;]\s|\n")


class Ground:
    """A session as texts are held against it."""

    def __init__(self, facts: Facts) -> None:
        blanks = Blanks(facts.parameters)
        told = "\n".join(_told(facts))
        names = " ".join(f"{{{one.name}}}" for one in facts.parameters)
        self._text = " ".join(f"{told}\n{blanks(told)}\n{names}".split())
        self._terms = key_terms(self._text)
        self._done = key_terms("\n".join(_done(facts)))

    def problem(self, text: str, most: int, *, free: bool = False, also: Collection[str] = ()) -> str:
        """Why a text is not taken; empty when it is.

        `free` words need not be those of the session, and `also` are terms that count as if they were.
        """
        if not text:
            return "it is empty"
        if len(text) > most:
            return f"it has more than {most} characters"
        if any(map(hidden, text)):
            return "it holds characters that nobody sees"
        if hide_secrets(text)[1] or "[secret" in text:
            return "it holds a secret"
        if _MARKUP.search(text) or text.count("`") % 2:
            return "it holds markup"
        if strange := next((code for code in codes(text) if not self.holds(code)), ""):
            return f"{shown(strange)} is not in the session"
        own, known = key_terms(text), self._terms | set(also)
        powers = own & _powers()
        if power := min(powers - self._done, default=""):
            return f"nobody did anything in the session that is about {shown(power)}"
        if powers and (strange := min(own - known, default="")):
            return f"{shown(strange)} is not in the session"
        if rule := _objection(text):
            return f"the guard objects to it ({rule})"
        if not free and len(own & known) < SHARE * len(own):
            return "too little of it is about the session"
        return ""

    def holds(self, code: str) -> bool:
        """Does the session have this, as a whole?"""
        return re.search(rf"(?<!\w){re.escape(' '.join(code.split()))}(?!\w)", self._text) is not None


def says_the_same(old: str, new: str) -> bool:
    """Is a rule still the rule? It forbids where it forbade, and keeps its names, its numbers and most of its words."""
    if bool(_NEGATIONS.search(old)) != bool(_NEGATIONS.search(new)):
        return False
    if not set(codes(old)) <= set(codes(new)):
        return False
    before, after = key_terms(old), key_terms(new)
    kept = len(before & after)
    return kept >= SHARE * len(before) and kept >= SHARE * len(after)


def codes(text: str) -> Iterator[str]:
    """What is no plain language in a text: what stands in backticks, and words that look like code or numbers."""
    for span in _SPAN.finditer(text):
        yield span[1].strip()
    for piece in _SPAN.sub(" ", text).split():
        word = piece.strip(_EDGES)
        if _CODE.search(word):
            yield word


def shown(text: str) -> str:
    """The beginning of what a model said, fit to be told."""
    line = "".join(" " if hidden(sign) else sign for sign in hide_secrets(text)[0])
    return repr(line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…")


def _told(facts: Facts) -> Iterator[str]:
    """Every text of the session that is a ground: all but what failed in it."""
    yield from (facts.goal, facts.request, *facts.requirements, *facts.corrections, *facts.files)
    for step in facts.steps:
        yield from (step.title, step.tool, step.action, step.why, step.criterion)
    for end in facts.dead_ends:
        yield from (end.said, end.instead)
    for use in facts.tools:
        yield from (use.tool, use.command)
    for passage in facts.knowledge:
        yield from (passage.text, passage.source, passage.section)
    for one in facts.parameters:
        yield from (one.name.replace("_", " "), one.about)


def _done(facts: Facts) -> Iterator[str]:
    """What was done, and what the user asked for without forbidding it."""
    for step in facts.steps:
        yield from (step.title, step.tool, step.action, step.why, step.criterion)
    yield from (use.command for use in facts.tools)
    for text in (facts.goal, facts.request, *facts.requirements, *facts.corrections):
        yield from (sentence for sentence in _SENTENCE.split(text) if not _NEGATIONS.search(sentence))


@lru_cache(maxsize=1)
def _powers() -> frozenset[str]:
    return frozenset(terms(_POWERS))


def _objection(text: str) -> str:
    """The first rule of the guard that a text breaks; what is only told, such as that a network is used, is none."""
    from whet.guard import rules
    from whet.guard.prose.checker import check

    table = rules.every()
    return next((hit.rule for hit in check(text).hits if (hit.severity or table[hit.rule].severity) != "info"), "")
