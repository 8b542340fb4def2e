"""Which skills fit a message: what it names comes first, then what the index finds among the skills this caller sees.

Skills that the message names (`/name`, `$name`, `[$name](path)`) need no search. Everything else is asked of the index
(`whet.routing`), which knows all skills; who may see what is decided here, at the moment of asking. What a repository
brings passes the guard before it is recommended, as it does before it is read. A skill that fits best and is hidden
from this caller is told of in a note, and so is why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from whet.errors import FailedError, UsageError, WhetError
from whet.library.visibility import hidden
from whet.notes import Note
from whet.prompt.asking import Asked, asked_for
from whet.prompt.commands import RESERVED
from whet.prompt.mentions import command_form, find_mentions
from whet.routing.index_manager import key_of
from whet.routing.judging import MAY, MUST
from whet.routing.router import About, Detected, Found
from whet.routing.texts import checked
from whet.values import Json, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.visibility import Caller
    from whet.library.workspace import Snapshot
    from whet.prompt.ranking import Use
    from whet.routing.index_manager import IndexManager, Shelf
    from whet.routing.router import Router

T = TypeVar("T")

Level: TypeAlias = Literal["must", "may", "none"]
"""How much a message calls for a skill."""
NAMED = "the message names it"
_MOST_HIDDEN = 3
"""Hidden skills that fit and are told of."""
_RECENT = 20
"""Skills used lately that decide between equals."""
_RANKED = 100
"""Skills that a list or an index is ranked by."""
_AGAINST = "but "
"""How a reason begins that speaks against a skill."""
_NONE = Detected("none", None, 0.0, (), ())


class Match(NamedTuple):
    """A skill that fits a message."""

    card: Card
    fit: float
    """How probable it is that it is the right one, from 0 to 1."""
    why: tuple[str, ...]
    """What speaks for it, and what against it."""

    @property
    def name(self) -> str:
        """The name a person types."""
        return self.card.full_name

    @property
    def explicit(self) -> bool:
        """May only a person invoke it?"""
        return not self.card.gates.model_invocable

    def to_json(self) -> Json:
        """The match as a row of a search."""
        card = self.card
        told = {"name": card.full_name, "path": card.location, "score": self.fit, "why": list(self.why)}
        return {**told, "description": card.description, "scope": card.scope, "explicit": self.explicit}


class Matches(Rows[Match]):
    """The skills that fit a message, the best first."""

    __slots__ = ("notes", "semantic")

    def __init__(self, rows: Sequence[Match], *, semantic: bool, notes: tuple[Note, ...]) -> None:
        super().__init__(rows)
        self.semantic = semantic
        """Whether meaning counted beside words."""
        self.notes = notes
        """What else is worth knowing, such as a skill that fits and is hidden from this caller."""

    def to_json(self) -> Json:
        """The search as JSON carries it."""
        rows = [match.to_json() for match in self]
        notes = [note.to_json() for note in self.notes]
        return {"success": True, "results": rows, "semantic": self.semantic, "notes": notes}


class Assessment(NamedTuple):
    """How one skill does for a message, and why."""

    card: Card
    rank: int | None
    confidence: float
    level: Level
    reasons: tuple[str, ...]
    """What speaks for it."""
    against: tuple[str, ...]
    """What speaks against it."""
    instead: str | None
    """The skill that comes up instead."""
    ahead: Match | None
    """The one that ranks before it."""
    hidden: Note | None
    """Why it does not come up, however well it fits."""

    def to_json(self) -> Json:
        """The assessment as JSON carries it."""
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
    """Whether a skill should be brought up for a message."""

    level: Level
    """`must`, `may` or `none`."""
    match: Match | None
    """The skill to bring up."""
    confidence: float
    """How sure that is; where none comes up, of the nearest."""
    nearest: Match | None = None
    """What comes closest where none comes up."""
    others: tuple[Match, ...] = ()
    """Skills that may come up, too."""
    about: Assessment | None = None
    """How the skill does that was asked about."""
    semantic: bool = False
    """Whether meaning counted beside words."""
    notes: tuple[Note, ...] = ()
    """What else is worth knowing."""

    @property
    def skill(self) -> str | None:
        """The name of the skill to bring up."""
        return self.match.name if self.match else None

    @property
    def evidence(self) -> tuple[str, ...]:
        """What speaks for it."""
        return self.match.why if self.match else ()

    def to_json(self) -> Json:
        """The detection as JSON carries it."""
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
                {"name": other.name, "path": other.card.location, "confidence": other.fit, "evidence": list(other.why)}
                for other in self.others
            ],
            **({"about": self.about.to_json()} if self.about else {}),
            "semantic": self.semantic,
            "notes": [note.to_json() for note in self.notes],
        }


class SkillMatcher:
    """What answers questions about messages for one library."""

    def __init__(self, index_manager: IndexManager, used: Callable[[], Mapping[str, Use]]) -> None:
        self.index_manager = index_manager
        self._used = used

    def find(self, message: str, k: int, caller: Caller) -> Matches:
        """The skills that fit a message best, the best first."""
        if k < 1:
            raise UsageError("bad-limit", f"A list of {k} skills makes no sense.", hint="Give 1 or more.")
        question = Question(self, message, caller)
        asked = question.asked
        rows = [Match(card, 1.0, (NAMED,)) for card in asked.cards[:k]]
        if len(rows) < k and asked.request.strip():
            question.banned.update(map(key_of, asked.cards))
            found = question.put(
                lambda router, allowed, recent: router.find(
                    asked.request, k - len(rows), allowed=allowed, recent=recent
                ),
                lambda found: [item.key for item in found],
            )
            rows += [question.match(item) for item in found]
        if not asked.cards:
            question.tell_hidden()
            question.is_unwanted()
        semantic, notes = question.about()
        return Matches(rows, semantic=semantic, notes=notes)

    def detect(
        self, message: str, caller: Caller, skill: str | None = None, snapshot: Snapshot | None = None
    ) -> Detection:
        """Whether a skill must, may or should not be brought up for a message, without being asked for.

        With a `skill`, also how that one does. A `snapshot` is for a caller that has looked already.
        """
        question = Question(self, message, caller._replace(model=True), snapshot)
        card = None if skill is None else self.index_manager.workspace.find(skill)[0]
        detection = self._detected(question)
        about = None if card is None else self._about(question, card, detection.skill)
        semantic, notes = question.about()
        return detection._replace(about=about, semantic=semantic, notes=notes)

    def _detected(self, question: Question) -> Detection:
        if question.asked.cards:
            first, *rest = [Match(card, 1.0, (NAMED,)) for card in question.asked.cards]
            return Detection("must", first, 1.0, others=tuple(rest))
        detected = _NONE
        if not question.is_unwanted():
            detected = question.put(
                lambda router, allowed, recent: router.detect(question.message, allowed=allowed, recent=recent),
                _all_keys,
            )
            question.tell_hidden()
        confidence, match, nearest = round(detected.confidence, 4), None, None
        if detected.key is not None:
            match = Match(question.cards[detected.key], confidence, tuple(detected.evidence))
        if detected.nearest is not None:
            nearest = Match(question.cards[detected.nearest], confidence, ())
        others = tuple(question.match(item) for item in detected.others)
        return Detection(detected.decision, match, confidence, nearest, others)

    def _about(self, question: Question, card: Card, winner: str | None) -> Assessment:
        """How one skill does for a message, what speaks for it and against it, and what comes before it."""
        key, named = key_of(card), question.asked.cards
        if card in named:
            about, reason = About(1, Found(key, 1.0, (NAMED,)), None, "must"), None
        else:
            about = question.put(
                lambda router, allowed, recent: router.about(question.message, key, allowed=allowed, recent=recent),
                lambda _: (),
            )
            reason = self._kept_back(question, card)
        why = about.found.why if about.found else ()
        against = [sentence.removeprefix(_AGAINST) for sentence in why if sentence.startswith(_AGAINST)]
        outdone = ""
        if named and card not in named:
            outdone = "the message names another skill"
        elif not named and question.is_unwanted():
            outdone = "much like a message that no skill should come up for"
        against += [outdone] if outdone else []
        ahead = about.rival if about.rank != 1 else None
        return Assessment(
            card,
            about.rank,
            round(about.found.score, 4) if about.found else 0.0,
            "none" if reason or outdone else about.decision,
            tuple(sentence for sentence in why if not sentence.startswith(_AGAINST)),
            tuple(against),
            winner if winner != card.full_name else None,
            Match(question.cards[ahead.key], ahead.score, tuple(ahead.why)) if ahead else None,
            reason,
        )

    def _kept_back(self, question: Question, card: Card) -> Note | None:
        """Why a skill does not come up, however well it fits."""
        config = question.snapshot.config
        if reason := hidden(card, question.caller, config.disabled, config.probe):
            return reason
        entry = self.lets_in(card, question.snapshot)
        return Note(entry.code, "info", entry.message, entry.hint) if entry else None

    def relevance(self, message: str, caller: Caller, *, few: bool) -> Relevance:
        """How much each skill matters for a message; with `few`, only those count that should come up for it."""
        return Relevance(lambda: self._relevant(message, caller, few=few))

    def _relevant(self, message: str, caller: Caller, *, few: bool) -> dict[str, float]:
        question = Question(self, message, caller)
        named = {card.path: 2.0 for card in question.asked.cards}
        if question.is_unwanted():
            return named
        if few:
            detected = question.put(lambda router, allowed, _: router.detect(message, allowed=allowed), _all_keys)
            found = {item.key: item.score for item in detected.others}
            if detected.key is not None:
                found[detected.key] = 1.0
        else:
            ranked = question.put(
                lambda router, allowed, _: router.find(message, _RANKED, allowed=allowed), lambda _: ()
            )
            found = {item.key: item.score for item in ranked}
        return {**{question.cards[key].path: score for key, score in found.items()}, **named}

    def scores(self, query: str, cards: Iterable[Card]) -> dict[str, float]:
        """How well the best of these skills fit a query, by path; those for which nothing speaks are left out.

        A list does not wait until a large library is indexed; then there is nothing to tell.
        """
        snapshot = self.index_manager.workspace.snapshot()
        if not self.index_manager.is_ready(snapshot):
            return {}
        wanted = {key_of(card): card.path for card in cards}
        found = self.index_manager.ask(
            lambda router, _: router.find(query, _RANKED, allowed=wanted.__contains__), snapshot
        )
        return {wanted[item.key]: item.score for item in found if item.why}

    def recent(self, snapshot: Snapshot) -> Sequence[str]:
        """The skills used lately, the latest first."""
        by_key = snapshot.catalogue.by_key
        uses = [(use.last, name) for name, use in self._used().items() if use.last and name in by_key]
        return [key_of(by_key[name]) for _, name in sorted(uses, reverse=True)[:_RECENT]]

    def lets_in(self, card: Card, snapshot: Snapshot) -> Note | None:
        """Why the guard keeps a skill back, or None when it lets it in; only a repository's skills are asked about."""
        if card.scope != "project":
            return None
        workspace = self.index_manager.workspace
        try:
            workspace.admit(workspace.open(card), snapshot.config)
        except WhetError as error:
            return Note.from_error(error, "warning", skill=card.full_name, path=card.path)
        return None


class Question:
    """One message of one caller."""

    def __init__(self, matcher: SkillMatcher, message: str, caller: Caller, snapshot: Snapshot | None = None) -> None:
        """Raises UsageError for what is no message."""
        self.message = checked(message)
        self.caller = caller
        self.snapshot = snapshot or matcher.index_manager.workspace.snapshot()
        self._matcher = matcher
        self._semantic: bool | None = None
        self._notes: list[Note] = []
        self.banned: set[str] = set()
        """Keys of skills that are not to be found."""
        self.cards: Mapping[str, Card] = {}
        self._refused: dict[str, Note] = {}
        """Hidden skills that were in question."""
        self.asked = self._named()

    def _named(self) -> Asked:
        """What the message asks for by name, as a person may; a slash can mean anything else, too."""
        try:
            asked = self._asked_for(self.message)
        except WhetError as error:
            if error.code == "command-not-found":
                self._unknown(self.message.split()[0].removeprefix("/"), error)
            else:
                self._notes.append(Note.from_error(error, "warning"))
            return Asked((), self.message)
        for item in asked.missing:
            self._notes.append(Note(item.code, "warning", item.message, item.hint, skill=item.name))
        kept_back = {card: reason for card in asked.cards if (reason := self._matcher.lets_in(card, self.snapshot))}
        self._notes.extend(kept_back.values())
        asked = asked._replace(cards=tuple(card for card in asked.cards if card not in kept_back))
        begins = self.message.lstrip().startswith("$") and not (asked.cards or asked.missing)
        first = find_mentions(self.message.lstrip())[:1] if begins else ()
        if first and first[0].start == 0:
            try:
                self._asked_for(f"/{first[0].name}")
            except WhetError as error:
                self._unknown(first[0].name, error)
        return asked

    def _asked_for(self, text: str) -> Asked:
        return asked_for(text, self.snapshot, self.caller._replace(model=False), RESERVED)

    def _unknown(self, word: str, error: WhetError) -> None:
        """Note that a message begins with the name of a skill that is not there, unless a client knows the word."""
        if command_form(word) not in RESERVED:
            self._notes.append(_named_unknown(word, error.hint))

    def put(
        self,
        question: Callable[[Router, Callable[[str], bool], Sequence[str]], T],
        keys: Callable[[T], Iterable[str]],
    ) -> T:
        """Ask, and ask again without those of the answer's `keys` that the guard keeps back."""
        matcher, snapshot = self._matcher, self.snapshot

        def asked(router: Router, shelf: Shelf) -> T:
            self._semantic, self.cards = router.semantic, shelf.cards
            self._refused = {}
            return question(router, self._allowed, matcher.recent(snapshot))

        while True:
            answer = matcher.index_manager.ask(asked, snapshot)
            reasons = {key: matcher.lets_in(self.cards[key], snapshot) for key in keys(answer)}
            refused = {key: reason for key, reason in reasons.items() if reason is not None}
            if not refused:
                return answer
            self.banned.update(refused)
            self._notes.extend(refused.values())

    def _allowed(self, key: str) -> bool:
        """May it come up?"""
        card, config = self.cards.get(key), self.snapshot.config
        if card is None or key in self.banned:
            return False
        reason = hidden(card, self.caller, config.disabled, config.probe)
        if reason is not None:
            self._refused[key] = reason
        return reason is None

    def tell_hidden(self) -> None:
        """Note which skills fit better than all that the last answer had, and why they are not in it."""
        refused = dict(self._refused)
        if not refused:
            return
        found = self._matcher.index_manager.ask(
            lambda router, _: router.find(
                self.message, _MOST_HIDDEN, allowed=lambda key: key in refused or self._allowed(key)
            ),
            self.snapshot,
        )
        for item in found:
            if item.key not in refused or item.score < MAY:
                break
            self._notes.append(_fits_but_hidden(self.cards[item.key], refused[item.key]))

    def is_unwanted(self) -> bool:
        """Did somebody say that no skill should come up for such a message? Then it is noted, too."""
        try:
            unwanted = self._matcher.index_manager.feedback.is_unwanted(self.message)
        except FailedError:  # whoever keeps the index tells that it cannot be read
            return False
        if unwanted and _no_skill_wanted() not in self._notes:
            self._notes.append(_no_skill_wanted())
        return unwanted

    def match(self, found: Found) -> Match:
        """What the index found, as it is told."""
        return Match(self.cards[found.key], round(found.score, 4), tuple(found.why))

    def about(self) -> tuple[bool, tuple[Note, ...]]:
        """Whether meaning counted beside words, and what else is worth knowing."""
        index_manager, notes = self._matcher.index_manager, list(self._notes)
        if self._semantic is not None:
            notes.extend(index_manager.notes)
        if (
            self._semantic is False
            and self.snapshot.config.settings.semantic
            and (told := index_manager.lexical_only())
        ):
            notes.append(told)
        return bool(self._semantic), tuple(notes)


class Relevance:
    """How much each skill matters for a message. The index is asked when the first skill is."""

    def __init__(self, ask: Callable[[], dict[str, float]]) -> None:
        self._ask = ask
        self._known: dict[str, float] | None = None

    def __call__(self, card: Card) -> float:
        """From 0 to 1; 2 for one that the message names."""
        if self._known is None:
            self._known = self._ask()
        return self._known.get(card.path, 0.0)

    def fits(self, card: Card) -> bool:
        """Should it come up, or be offered?"""
        return self(card) >= MAY


def _all_keys(detected: Detected) -> list[str]:
    return [*([] if detected.key is None else [detected.key]), *(item.key for item in detected.others)]


def _fits_but_hidden(card: Card, reason: Note) -> Note:
    """That a skill fits, and why it does not come up all the same."""
    message, hint = f"{card.full_name} fits, but is not offered: {reason.message}", reason.hint
    if reason.code == "explicit-only":
        message, hint = f"{card.full_name} fits, but only a person may invoke it.", f"Type /{card.full_name}."
    return Note("fits-but-hidden", "info", message, hint, skill=card.full_name, path=card.path)


def _named_unknown(name: str, hint: str) -> Note:
    """That a message begins with the name of a skill that is not there."""
    return Note("named-unknown", "info", f"There is no skill {name!r}.", hint)


def _no_skill_wanted() -> Note:
    """That no skill comes up because somebody said so."""
    message = "Somebody said that no skill should come up for a message like this."
    hint = "`whet feedback --none --list` shows it; with --forget, it is taken back."
    return Note("no-skill-wanted", "info", message, hint)
