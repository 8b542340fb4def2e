"""Skills that fit a message: named ones first, then those that the index finds among the visible skills.

Skills that the message names (`/name`, `$name`, `[$name](path)`) need no search. All others come from the index
(`whet.routing`), which knows all skills; visibility is decided here, for each question. Recommended skills have passed
the guard as they are now: unscanned ones are scanned first. If the best skill is hidden from this caller, a note says
so, with the reason.
"""

from __future__ import annotations

import os
from functools import cached_property
from itertools import islice

from whet.errors import FailedError, UsageError, WhetError
from whet.library.catalogue import CardsById
from whet.library.visibility import guard_blocked, hidden_cards, refusal
from whet.notes import Note
from whet.prompt.mentions import command_form, find_mentions, may_name
from whet.records import NamedTuple
from whet.routing.router import OFFERED, decide
from whet.routing.scoring import MAY, MUST
from whet.routing.texts import checked
from whet.skill.names import key as name_key
from whet.values import Json, Rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Literal, TypeAlias

    from whet.library.card import Card
    from whet.library.visibility import Caller
    from whet.library.workspace import Snapshot
    from whet.prompt.requests import Asked
    from whet.routing.index_manager import IndexManager
    from whet.routing.router import Found

    Level: TypeAlias = Literal["must", "may", "none"]
    """How much a message needs a skill."""

_TURNS, _TURN = 2, 600
"""Number of earlier messages that count, and characters of each."""
_FILES = 200
"""Number of files whose kinds count."""
NAMED = "the message names it"
_MOST_HIDDEN = 3
"""Number of fitting hidden skills that are mentioned."""
_RANKED = 100
"""Number of skills by which a list or an index is ranked."""
_AGAINST = "but "
"""Prefix of a reason against a skill."""
_NEAR, _FAR = 32, 120
"""Number of skills to compare one with; more if it is not among the first."""


class MessageContext(NamedTuple):
    """The context of a message. It often has what the message leaves out."""

    turns: tuple[str, ...] = ()
    """The messages before it, the latest last."""
    files: tuple[str, ...] = ()
    """Names or paths of files that are open or in the working directory. Their kinds count."""
    loaded: tuple[str, ...] = ()
    """Names of skills that the conversation has already loaded. They match only if the message names them."""

    @classmethod
    def here(cls, directory: str, turns: tuple[str, ...] = ()) -> MessageContext:
        """Return the context of a working directory: the names of the first files in it."""
        try:
            with os.scandir(directory) as found:
                return cls(turns, tuple(entry.name for entry in islice(found, _FILES)))
        except OSError:
            return cls(turns)

    @property
    def text(self) -> str:
        """The words that count, the latest turn first."""
        from whet.routing.words import file_words

        turns = (turn[:_TURN] for turn in reversed(self.turns[-_TURNS:]))
        return "\n".join((*turns, " ".join(file_words(self.files[:_FILES])))).strip()


_NO_CONTEXT = MessageContext()


class Match(NamedTuple):
    """A skill that fits a message."""

    card: Card
    fit: float
    """The probability that it is the right one, from 0 to 1."""
    why: tuple[str, ...]
    """The evidence for it, and against it."""
    also: tuple[Card, ...] = ()
    """Nearly identical skills, such as a copy or a skill of the same name by another author."""

    @property
    def name(self) -> str:
        """The name a person types."""
        return self.card.full_name

    @property
    def explicit(self) -> bool:
        """Whether only a person may invoke it."""
        return not self.card.gates.model_invocable

    def to_json(self) -> Json:
        """Return the match as a row of a search."""
        card = self.card
        told = {"name": card.full_name, "path": card.location, "score": self.fit, "why": list(self.why)}
        told["also"] = [other.full_name for other in self.also]
        return {**told, "description": card.description, "scope": card.scope, "explicit": self.explicit}


class Matches(Rows[Match]):
    """The skills that fit a message, the best first."""

    __slots__ = ("notes",)

    def __init__(self, rows: Sequence[Match], *, notes: tuple[Note, ...]) -> None:
        super().__init__(rows)
        self.notes = notes
        """Remarks, such as a skill that fits but is hidden from this caller."""

    def to_json(self) -> Json:
        """Return the search as JSON."""
        rows = [match.to_json() for match in self]
        notes = [note.to_json() for note in self.notes]
        return {"success": True, "results": rows, "notes": notes}


class Assessment(NamedTuple):
    """The result of one skill for a message, with reasons."""

    card: Card
    rank: int | None
    confidence: float
    level: Level
    reasons: tuple[str, ...]
    """The evidence for it."""
    against: tuple[str, ...]
    """The evidence against it."""
    instead: str | None
    """The skill that comes up instead."""
    ahead: Match | None
    """The skill that ranks before it."""
    hidden: Note | None
    """Why it does not come up, no matter how well it fits."""

    def to_json(self) -> Json:
        """Return the assessment as JSON."""
        return {
            "name": self.card.full_name,
            "path": self.card.location,
            "rank": self.rank,
            "confidence": self.confidence,
            "decision": self.level,
            "needed": {"must": MUST, "may": MAY},
            "for": list(self.reasons),
            "against": list(self.against),
            "instead": self.instead,
            "ahead": {"name": self.ahead.name, "confidence": self.ahead.fit} if self.ahead else None,
            "hidden": self.hidden.to_reason() if self.hidden else None,
        }


class Detection(NamedTuple):
    """Whether a skill should trigger for a message."""

    level: Level
    """`must`, `may` or `none`."""
    match: Match | None
    """The skill that should trigger."""
    confidence: float
    """The probability that it is the right one; if none triggers, that of the nearest."""
    nearest: Match | None = None
    """The closest skill, if none triggers."""
    others: tuple[Match, ...] = ()
    """Other skills that may trigger."""
    about: Assessment | None = None
    """The assessment of the skill that the caller asked about."""
    notes: tuple[Note, ...] = ()
    """Remarks."""
    kept_back: tuple[Card, ...] = ()
    """Skills that fit better but that the guard blocks; empty unless requested."""

    @property
    def skill(self) -> str | None:
        """The name of the skill that should trigger."""
        return self.match.name if self.match else None

    @property
    def evidence(self) -> tuple[str, ...]:
        """The evidence for it."""
        return self.match.why if self.match else ()

    def to_json(self) -> Json:
        """Return the detection as JSON."""
        nearest = {"name": self.nearest.name, "confidence": self.confidence} if self.nearest else None
        return {
            "success": True,
            "decision": self.level,
            "skill": self.skill,
            "path": self.match.card.location if self.match else None,
            "confidence": self.confidence,
            "evidence": list(self.evidence),
            "nearest": nearest,
            "others": [
                {
                    "name": other.name,
                    "path": other.card.location,
                    "confidence": other.fit,
                    "evidence": list(other.why),
                    "also": [card.full_name for card in other.also],
                }
                for other in self.others
            ],
            "also": [card.full_name for card in self.match.also] if self.match else [],
            **({"about": self.about.to_json()} if self.about else {}),
            "notes": [note.to_json() for note in self.notes],
        }


class SkillMatcher:
    """Finds skills for messages in one library."""

    def __init__(self, index_manager: IndexManager) -> None:
        self.index_manager = index_manager

    def find(self, message: str, k: int, caller: Caller, context: MessageContext | None = None) -> Matches:
        """Return the skills that fit a message best, the best first."""
        if k < 1:
            raise UsageError("bad-limit", f"The limit must be at least 1, not {k}.", hint="Give 1 or more.")
        question = Question(self, message, caller, context=context, searched=True)
        rows = [Match(card, 1.0, (NAMED,)) for card in question.named[:k]]
        if len(rows) < k and question.request.strip():
            question.shut.update(str(card.id) for card in question.named)
            rows += map(question.match, question.search(k - len(rows), question.request))
        if not question.named:
            question.tell_hidden()
            question.is_unwanted()
        return Matches(rows, notes=question.notes())

    def detect(
        self, message: str, caller: Caller, skill: str | None = None, context: MessageContext | None = None
    ) -> Detection:
        """Return whether a skill must, may or should not be brought up for a message, without a request.

        With a `skill`, also the assessment of that one.
        """
        question = Question(self, message, caller._replace(model=True), context=context)
        card = None if skill is None else self.index_manager.workspace.find(skill)[0]
        detection = question.detect()
        if question.is_asked:
            question.tell_hidden()
        about = None if card is None else question.assess(card, detection.skill)
        return detection._replace(about=about, notes=question.notes())

    def offer(
        self, message: str, caller: Caller, snapshot: Snapshot, context: MessageContext | None = None
    ) -> Detection:
        """Return the result of `detect` from one look at the disk, without notes, but with blocked skills."""
        question = Question(self, message, caller, snapshot, context)
        detection = question.detect()
        if not (question.is_asked and question.snapshot.config.disabled.keeps_back):
            return detection
        fitting = question.fit_but_hidden()
        return detection._replace(kept_back=tuple(card for card, why in fitting if why.code == "guard-blocked"))

    def relevance(self, message: str, caller: Caller, *, few: bool) -> Relevance:
        """Return how much each skill matters for a message; with `few`, only skills that should come up count."""
        return Relevance(self, message, caller, few=few)

    def scores(self, query: str, paths: Collection[str]) -> dict[str, float]:
        """Return how well the best of the skills at these paths fit a query; those without evidence are left out.

        A list does not wait until a large library is indexed; then the result is empty.
        """
        snapshot = self.index_manager.workspace.snapshot()
        if not self.index_manager.is_ready(snapshot):
            return {}
        cards = snapshot.catalogue.cards
        shown = {str(card.id): card.path for card in cards if card.path in paths}
        shut = {str(card.id) for card in cards if card.path not in paths}
        return {shown[found.key]: found.score for found in self.index_manager.find(query, _RANKED, snapshot, shut=shut)}


class Question:
    """One message of one caller, about the skills as of one look."""

    def __init__(
        self,
        matcher: SkillMatcher,
        message: str,
        caller: Caller,
        snapshot: Snapshot | None = None,
        context: MessageContext | None = None,
        *,
        searched: bool = False,
    ) -> None:
        """`searched`: a person or a model searches with the message. Raises UsageError for an invalid message."""
        self.message = checked(message)
        self._context = context or _NO_CONTEXT
        self._searched = searched
        self.caller = caller
        self._matcher, self._index = matcher, matcher.index_manager
        self.snapshot = snapshot or self._index.workspace.snapshot()
        config = self.snapshot.config
        reasons = hidden_cards(self.snapshot.catalogue.cards, caller, config.disabled, config.probe)
        self._hidden = {str(card.id): reason for card, reason in reasons}
        loaded = {name_key(name) for name in self._context.loaded}
        present = [card for card in self.snapshot.catalogue.cards if loaded and not loaded.isdisjoint(card.known_as)]
        self.shut = {*self._hidden, *(str(card.id) for card in present)}
        """Keys of skills that must not be found."""
        self.is_asked = False
        """Whether the index was used."""
        self.cards = CardsById(self.snapshot.catalogue)
        self._notes: list[Note] = []
        self.named: tuple[Card, ...] = ()
        """Skills that the message names and a person may invoke."""
        self.request = self.message
        """The user's own words, without the commands at their beginning."""
        if may_name(self.message):
            self._read_names()

    def _read_names(self) -> None:
        """Find the skills that the message names; a slash may also mean something else."""
        try:
            asked = self._asked_for(self.message)
        except WhetError as error:
            if error.code == "command-not-found":
                self._unknown(self.message.split()[0].removeprefix("/"), error)
            else:
                self._notes.append(Note.from_error(error, "warning"))
            return
        for item in asked.missing:
            self._notes.append(Note(item.code, "warning", item.message, item.hint, skill=item.name))
        refused = self._refuse(asked.cards)
        for card in asked.cards:
            if reason := refused.get(str(card.id)):
                why = refusal(card, reason)
                self._notes.append(Note.from_error(why, "warning", skill=card.full_name, path=card.path))
        self.named, self.request = tuple(card for card in asked.cards if str(card.id) not in refused), asked.request
        begins = self.message.lstrip().startswith("$") and not (self.named or asked.missing)
        first = find_mentions(self.message.lstrip())[:1] if begins else ()
        if first and first[0].start == 0:
            try:
                self._asked_for(f"/{first[0].name}")
            except WhetError as error:
                self._unknown(first[0].name, error)

    def _asked_for(self, text: str) -> Asked:
        from whet.prompt.requests import asked_for

        return asked_for(text, self.snapshot, self.caller._replace(model=False))

    def _unknown(self, word: str, error: WhetError) -> None:
        """Add a note on an unknown name at the beginning of a message, unless the word is a client's."""
        from whet.prompt.commands import RESERVED

        if command_form(word) not in RESERVED:
            self._notes.append(_named_unknown(word, error.hint))

    def _refuse(self, cards: Sequence[Card]) -> dict[str, Note]:
        """Hide the skills that the guard blocks, and return the reasons; new ones are scanned."""
        workspace, config = self._index.workspace, self.snapshot.config
        if new := workspace.unreviewed(cards, config):
            config = workspace.review(new, config)
            self.snapshot = self.snapshot._replace(config=config)
        blocked = ((card, config.disabled.kept_back(card)) for card in cards)
        refused = {str(card.id): guard_blocked(card, why.reason) for card, why in blocked if why}
        self._hidden |= refused
        self.shut.update(refused)
        return refused

    def search(
        self, k: int, text: str = "", *, least: float = 0.0, shut: Collection[str] | None = None
    ) -> tuple[Found, ...]:
        """Return the skills that fit a text, or the message, best; those with at least the score `least` passed the
        guard.

        With other keys to `shut` out, the guard is not used, and nothing is grouped.
        """
        while True:
            closed = self.shut if shut is None else shut
            found = self._index.find(
                text or self.message,
                k,
                self.snapshot,
                shut=closed,
                context=self._context.text,
                grouped=shut is None,
                searched=self._searched,
            )
            self.is_asked = True
            if shut is not None:
                return found
            likely = (key for item in found if item.score >= least for key in (item.key, *item.also))
            if not self._refuse([self.cards[key] for key in likely]):
                return found

    def detect(self) -> Detection:
        """Decide whether to bring up a skill: one that the message names, else one that the index is sure of."""
        if self.named:
            first, *rest = [Match(card, 1.0, (NAMED,)) for card in self.named]
            return Detection("must", first, 1.0, others=tuple(rest))
        if self.is_unwanted():
            return Detection("none", None, 0.0)
        found = decide(self.search(OFFERED, least=MAY))
        match = self.match(found.first) if found.first is not None else None
        nearest = Match(self.cards[found.nearest], found.confidence, ()) if found.nearest is not None else None
        return Detection(found.decision, match, found.confidence, nearest, tuple(map(self.match, found.others)))

    def assess(self, card: Card, winner: str | None) -> Assessment:
        """Assess one skill for the message, with evidence for and against it, and the skill before it."""
        key, named = str(card.id), {str(asked.id) for asked in self.named}
        reason: Note | None = None
        ranking: tuple[Match, ...] = (Match(card, 1.0, (NAMED,)),)
        if key not in named:
            reason = self._hidden.get(key) or self._refuse([card]).get(key)
            shut = self.shut - {key}
            for most in (_NEAR, _FAR):
                ranking = tuple(map(self.match, self.search(most, shut=shut)))
                if any(str(match.card.id) == key for match in ranking):
                    break
        rank = next((rank for rank, match in enumerate(ranking, 1) if str(match.card.id) == key), None)
        own = ranking[rank - 1] if rank else Match(card, 0.0, ())
        level: Level = "none"
        if rank and rank <= OFFERED and own.fit >= MAY:
            level = "must" if rank == 1 and own.fit >= MUST else "may"
        against = [sentence.removeprefix(_AGAINST) for sentence in own.why if sentence.startswith(_AGAINST)]
        outdone = ""
        if named and key not in named:
            outdone = "the message names another skill"
        elif not named and self.is_unwanted():
            outdone = "similar to a message that needs no skill"
        return Assessment(
            card,
            rank,
            own.fit,
            "none" if reason or outdone else level,
            tuple(sentence for sentence in own.why if not sentence.startswith(_AGAINST)),
            (*against, outdone) if outdone else tuple(against),
            winner if winner != card.full_name else None,
            next((match for match in ranking if str(match.card.id) != key), None) if rank != 1 else None,
            reason,
        )

    def relevant(self, *, few: bool) -> dict[str, float]:
        """Return how much skills matter, by path: named ones most; with `few`, only those that should come up."""
        named = {card.path: 2.0 for card in self.named}
        if self.is_unwanted():
            return named
        found = self.search(OFFERED, least=MAY) if few else self.search(_RANKED, shut=self.shut)
        scores = {self.cards[item.key].path: item.score for item in found if not few or item.score >= MAY}
        if few and scores:
            scores[next(iter(scores))] = 1.0
        return {**scores, **named}

    def fit_but_hidden(self) -> Iterator[tuple[Card, Note]]:
        """Yield the hidden skills that fit better than all available ones, with reasons."""
        if not self._hidden:
            return
        for item in self.search(_MOST_HIDDEN, shut=self.shut - self._hidden.keys()):
            if item.key not in self._hidden or item.score < MAY:
                break
            yield self.cards[item.key], self._hidden[item.key]

    def tell_hidden(self) -> None:
        """Add notes on hidden skills that fit better than all available ones."""
        self._notes.extend(_fits_but_hidden(card, reason) for card, reason in self.fit_but_hidden())

    def is_unwanted(self) -> bool:
        """Return whether feedback says that no skill should come up for such a message, and add a note then."""
        try:
            unwanted = self._index.feedback.is_unwanted(self.message)
        except FailedError:  # the keeper of the index reports that it cannot be read
            return False
        if unwanted and _no_skill_wanted() not in self._notes:
            self._notes.append(_no_skill_wanted())
        return unwanted

    def match(self, found: Found) -> Match:
        """Return a result of the index as a match."""
        return Match(self.cards[found.key], found.score, found.why, tuple(self.cards[key] for key in found.also))

    def notes(self) -> tuple[Note, ...]:
        """Remarks."""
        return (*self._notes, *(self._index.notes if self.is_asked else ()))


class Relevance:
    """How much each skill matters for a message. The index is used at the first call."""

    def __init__(self, matcher: SkillMatcher, message: str, caller: Caller, *, few: bool) -> None:
        self._matcher, self._message, self._caller, self._few = matcher, checked(message), caller, few

    @cached_property
    def _known(self) -> dict[str, float]:
        return Question(self._matcher, self._message, self._caller).relevant(few=self._few)

    def __call__(self, card: Card) -> float:
        """Return 0 to 1; 2 for a skill that the message names."""
        return self._known.get(card.path, 0.0)

    def fits(self, card: Card) -> bool:
        """Return whether it should come up, or be offered."""
        return self(card) >= MAY


def _fits_but_hidden(card: Card, reason: Note) -> Note:
    """Return a note that a skill fits, and why it does not come up."""
    message, hint = f"{card.full_name} fits but is not offered: {reason.message}", reason.hint
    if reason.code == "explicit-only":
        message, hint = f"{card.full_name} fits, but only a person may invoke it.", f"Type /{card.full_name}."
    return Note("fits-but-hidden", "info", message, hint, skill=card.full_name, path=card.path)


def _named_unknown(name: str, hint: str) -> Note:
    """Return a note on an unknown name at the beginning of a message."""
    return Note("named-unknown", "info", f"There is no skill {name!r}.", hint)


def _no_skill_wanted() -> Note:
    """Return a note that feedback prevents all skills."""
    message = "Feedback says that a message like this needs no skill."
    hint = "`whet learn feedback --none --list` shows it; `--forget` removes it."
    return Note("no-skill-wanted", "info", message, hint)
