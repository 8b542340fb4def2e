"""Which skills fit a message: what it names comes first, then what the index finds among the skills this caller sees.

Skills that the message names (`/name`, `$name`, `[$name](path)`) need no search. Everything else is asked of the index
(`whet.routing`), which knows all skills; who may see what is decided here, at the moment of asking. What a repository
brings passes the guard before it is recommended, as it does before it is read. A skill that fits best and is hidden
from this caller is told of in a note, and so is why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError, WhetError
from whet.library.report import Entry
from whet.library.visibility import Hidden, hidden
from whet.prompt.questions import NAMED, Question
from whet.routing.index_manager import key_of
from whet.routing.judging import MAY, MUST
from whet.routing.router import About, Detected, Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.visibility import Caller
    from whet.library.workspace import Snapshot
    from whet.prompt.ranking import Use
    from whet.routing.index_manager import IndexManager

_RECENT = 20
"""Skills used lately that decide between equals."""
_RANKED = 100
"""Skills that a list or an index is ranked by."""
_AGAINST = "but "
"""How a reason begins that speaks against a skill."""
_NONE = Detected("none", None, 0.0, (), ())


class Offers:
    """What answers questions about messages for one library."""

    def __init__(self, index_manager: IndexManager, used: Callable[[], Mapping[str, Use]]) -> None:
        self.index_manager = index_manager
        self._used = used

    def find(self, message: str, k: int, caller: Caller) -> dict[str, Any]:
        """The skills that fit a message best, the best first."""
        if k < 1:
            raise UsageError("bad-limit", f"A list of {k} skills makes no sense.", hint="Give 1 or more.")
        question = Question(self, message, caller)
        asked = question.asked
        rows = [_row(card, 1.0, [NAMED]) for card in asked.cards[:k]]
        if len(rows) < k and asked.request.strip():
            question.banned.update(map(key_of, asked.cards))
            found = question.put(
                lambda router, allowed, recent: router.find(
                    asked.request, k - len(rows), allowed=allowed, recent=recent
                ),
                lambda found: [item.key for item in found],
            )
            rows += [_row(question.cards[item.key], item.score, item.why) for item in found]
        if not asked.cards:
            question.tell_hidden()
            question.is_unwanted()
        return {"success": True, "results": rows, **question.about()}

    def detect(
        self, message: str, caller: Caller, skill: str | None = None, snapshot: Snapshot | None = None
    ) -> dict[str, Any]:
        """Whether a skill must, may or should not be brought up for a message, without being asked for.

        With a `skill`, also how that one does. A `snapshot` is for a caller that has looked already.
        """
        question = Question(self, message, caller._replace(model=True), snapshot)
        card = None if skill is None else self.index_manager.workspace.find(skill)[0]
        told = self._detected(question)
        if card is not None:
            told["about"] = self._about(question, card, told["skill"])
        return {"success": True, **told, **question.about()}

    def _detected(self, question: Question) -> dict[str, Any]:
        if question.asked.cards:
            first, *rest = [_offer(card, 1.0, [NAMED]) for card in question.asked.cards]
            return {"decision": "must", **_first(first), "nearest": None, "others": rest}
        detected = _NONE
        if not question.is_unwanted():
            detected = question.put(
                lambda router, allowed, recent: router.detect(question.message, allowed=allowed, recent=recent),
                _all_keys,
            )
            question.tell_hidden()
        told: dict[str, Any] = {
            "skill": None,
            "path": None,
            "confidence": round(detected.confidence, 4),
            "evidence": [],
        }
        if detected.key is not None:
            told = _first(_offer(question.cards[detected.key], detected.confidence, detected.evidence))
        nearest = None
        if detected.nearest is not None:
            nearest = {"name": question.cards[detected.nearest].full_name, "confidence": told["confidence"]}
        others = [_offer(question.cards[item.key], item.score, item.why) for item in detected.others]
        return {"decision": detected.decision, **told, "nearest": nearest, "others": others}

    def _about(self, question: Question, card: Card, winner: str | None) -> dict[str, Any]:
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
        return {
            "name": card.full_name,
            "path": card.location,
            "rank": about.rank,
            "confidence": round(about.found.score, 4) if about.found else 0.0,
            "decision": "none" if reason or outdone else about.decision,
            "needed": {"must": MUST, "may": MAY},
            "for": [sentence for sentence in why if not sentence.startswith(_AGAINST)],
            "against": against,
            "instead": winner if winner != card.full_name else None,
            "ahead": {"name": question.cards[ahead.key].full_name, "confidence": ahead.score} if ahead else None,
            "hidden": reason._asdict() if reason else None,
        }

    def _kept_back(self, question: Question, card: Card) -> Hidden | None:
        """Why a skill does not come up, however well it fits."""
        config = question.snapshot.config
        if reason := hidden(card, question.caller, config.disabled, config.probe):
            return reason
        entry = self.lets_in(card, question.snapshot)
        return Hidden(entry.code, entry.message, entry.hint) if entry else None

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

    def lets_in(self, card: Card, snapshot: Snapshot) -> Entry | None:
        """Why the guard keeps a skill back, or None when it lets it in; only a repository's skills are asked about."""
        if card.scope != "project":
            return None
        workspace = self.index_manager.workspace
        try:
            workspace.admit(workspace.open(card), snapshot.config)
        except WhetError as error:
            return Entry(error.code, "warning", card.full_name, card.path, error.message, error.hint)
        return None


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


def _row(card: Card, score: float, why: Iterable[str]) -> dict[str, Any]:
    """One skill of a search."""
    told = {"name": card.full_name, "path": card.location, "score": round(score, 4), "why": list(why)}
    explicit = not card.gates.model_invocable
    return {**told, "description": card.description, "scope": card.scope, "explicit": explicit}


def _offer(card: Card, confidence: float, evidence: Iterable[str]) -> dict[str, Any]:
    """One skill that should or may come up."""
    known = {"name": card.full_name, "path": card.location, "confidence": round(confidence, 4)}
    return {**known, "evidence": list(evidence)}


def _first(offer: dict[str, Any]) -> dict[str, Any]:
    return {"skill": offer.pop("name"), **offer}
