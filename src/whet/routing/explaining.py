"""Why a skill came up, in short phrases a person can check against the message and the skill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whet.skill.terms import WIDE, chunks, pieces, terms

if TYPE_CHECKING:
    from whet.routing.judging import Candidates, Judgement

_SHOWN = 5
_PHRASE = 80
"""Characters of a trigger phrase that is told."""
_TELLING = 0.15
"""The part of the strongest term's weight that a term must have to be worth telling."""
_MEANT = 0.35
_EXCLUDING = 0.02


class Explainer:
    """Tells, for each of the skills in question, what speaks for it."""

    def __init__(self, given: Candidates, judged: Judgement) -> None:
        self._given = given
        self._judged = judged
        self._spelled = _spellings(given.asked.text)

    def why(self, at: int) -> tuple[str, ...]:
        """The evidence for the skill at this place, the strongest first; what speaks against it last."""
        given, judged = self._given, self._judged
        row = given.rows[at]
        told: list[str] = []
        if judged.naming[at] == "named":
            told.append(f"the message names {row.name}")
        if judged.example[at] > 0:
            told.append("much like a message it was right for")
        if phrase := self._phrase(at):
            told.append(f"matched trigger '{phrase}'")
        described, bodied = self._matched(at)
        if described:
            told.append(f"described by {_quoted(described)}")
        if bodied:
            told.append(f"its text has {_quoted(bodied)}")
        guesses = given.asked.guessed.items()
        told += [f"'{word}' taken for '{other}'" for word, other in guesses if self._has(at, word)]
        if given.names[-1] == "meaning" and given.values[at, -1] >= _MEANT:
            told.append(f"close in meaning ({given.values[at, -1]:.2f})")
        if judged.excluded[at] > _EXCLUDING:
            told.append(f"but it says it is not for {_quoted(self._excluded(at))}")
        if judged.example[at] < 0:
            told.append("but much like a message it was wrong for")
        if judged.naming[at] == "declined":
            told.append(f"but the message turns {row.name} down")
        return tuple(told)

    def _phrase(self, at: int) -> str:
        """The trigger phrase with most words of the message, and no other words."""
        said = set(self._given.asked.terms)
        phrases = [phrase for phrase in self._given.rows[at].more.get("phrases", ()) if len(phrase) <= _PHRASE]
        return max((phrase for phrase in phrases if (own := terms(phrase)) and said >= set(own)), key=len, default="")

    def _matched(self, at: int) -> tuple[list[str], list[str]]:
        """The telling terms of the message: those in name and description, and those in the body alone."""
        asked, table = self._given.asked, self._given.table
        every, name, description, _ = table.found[:, :, at]
        worth = table.rarity * asked.gains * every
        least = _TELLING * float(worth.max(initial=0))
        described: list[str] = []
        bodied: list[str] = []
        for place in np.argsort(-worth, kind="stable"):
            if worth[place] <= 0 or worth[place] < least:
                break
            kept = described if name[place] > 0 or description[place] > 0 else bodied
            word = self._spelling(asked.terms[place])
            if word not in kept and len(kept) < _SHOWN:
                kept.append(word)
        return described, bodied

    def _excluded(self, at: int) -> list[str]:
        asked = self._given.asked
        against = set(self._given.rows[at].more.get("against", ()))
        pairs = zip(asked.terms, asked.numbers, strict=True)
        return list(dict.fromkeys(self._spelling(term) for term, number in pairs if int(number) in against))[:_SHOWN]

    def _has(self, at: int, term: str) -> bool:
        return bool(self._given.table.found[0, self._given.asked.terms.index(term), at] > 0)

    def _spelling(self, term: str) -> str:
        return self._spelled.get(term, term)


def _spellings(text: str) -> dict[str, str]:
    """Term -> the first word of the message that gave it; itself where words are not written apart."""
    found: dict[str, str] = {}
    for chunk in chunks(text):
        for part in pieces(chunk):
            for term in terms(part):
                found.setdefault(term, part if part < WIDE else term)
    return found


def _quoted(terms: list[str]) -> str:
    return ", ".join(f"'{term}'" for term in terms)
