"""Which skills fit a message: what it names comes first, then what the index finds among the skills this caller sees.

Skills that the message names (`/name`, `$name`, `[$name](path)`) need no search. Everything else is asked of the index
(`whet.routing`), which knows all skills; who may see what is decided here, at the moment of asking. What a repository
brings passes the guard before it is recommended, as it does before it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from whet.errors import UsageError, WhetError
from whet.library.report import Entry
from whet.library.visibility import hidden
from whet.prompt.asking import Asked, asked_for
from whet.prompt.commands import RESERVED
from whet.routing.keeping import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.lookout import Snapshot
    from whet.library.visibility import Caller
    from whet.prompt.ranking import Use
    from whet.routing.keeping import Keeper, Shelf
    from whet.routing.router import Detected, Router

T = TypeVar("T")

NAMED = "the message names it"
_RECENT = 20
"""Skills used lately that decide between equals."""
_RANKED = 100
"""Skills that a list or an index is ranked by."""


class Offers:
    """What answers questions about messages for one library."""

    def __init__(self, keeper: Keeper, used: Callable[[], Mapping[str, Use]]) -> None:
        self.keeper = keeper
        self._used = used
        self._let_in: dict[str, Card] = {}
        """Skills of a repository as the guard has let them in."""

    def find(self, message: str, k: int, caller: Caller) -> dict[str, Any]:
        """The skills that fit a message best, the best first."""
        if k < 1:
            raise UsageError("bad-limit", f"A list of {k} skills makes no sense.", hint="Give 1 or more.")
        asking = _Asking(self, message, caller)
        asked = asking.asked
        rows = [_row(card, 1.0, [NAMED]) for card in asked.cards[:k]]
        if len(rows) < k and asked.request.strip():
            asking.banned.update(map(key_of, asked.cards))
            found = asking.put(
                lambda router, allowed, recent: router.find(
                    asked.request, k - len(rows), allowed=allowed, recent=recent
                ),
                lambda found: [item.key for item in found],
            )
            rows += [_row(asking.cards[item.key], item.score, item.why) for item in found]
        return {"success": True, "results": rows, **asking.about()}

    def detect(self, message: str, caller: Caller) -> dict[str, Any]:
        """Whether a skill must, may or should not be brought up for a message, without being asked for."""
        asking = _Asking(self, message, caller._replace(model=True))
        if asking.asked.cards:
            first, *rest = [_offer(card, 1.0, [NAMED]) for card in asking.asked.cards]
            return {"success": True, "decision": "must", **_first(first), "others": rest, **asking.about()}
        detected = asking.put(
            lambda router, allowed, recent: router.detect(message, allowed=allowed, recent=recent), _all_keys
        )
        evidence = list(detected.evidence)
        told = {"skill": None, "path": None, "confidence": round(detected.confidence, 4), "evidence": evidence}
        if (key := _key(detected)) is not None:
            told = _first(_offer(asking.cards[key], detected.confidence, detected.evidence))
        others = [_offer(asking.cards[item.key], item.score, item.why) for item in detected.others]
        return {"success": True, "decision": detected.decision, **told, "others": others, **asking.about()}

    def relevance(self, message: str, caller: Caller, *, few: bool) -> Callable[[Card], float]:
        """How much each skill matters for a message; with `few`, only those count that should come up for it.

        The index is asked when the first skill is.
        """
        known: list[dict[str, float]] = []

        def score(card: Card) -> float:
            if not known:
                known.append(self._relevant(message, caller, few=few))
            return known[0].get(card.path, 0.0)

        return score

    def _relevant(self, message: str, caller: Caller, *, few: bool) -> dict[str, float]:
        asking = _Asking(self, message, caller)
        if few:
            detected = asking.put(lambda router, allowed, _: router.detect(message, allowed=allowed), _all_keys)
            found = {item.key: item.score for item in detected.others}
            if (key := _key(detected)) is not None:
                found[key] = 1.0
        else:
            ranked = asking.put(lambda router, allowed, _: router.find(message, _RANKED, allowed=allowed), lambda _: ())
            found = {item.key: item.score for item in ranked}
        named = {card.path: 2.0 for card in asking.asked.cards}
        return {**{asking.cards[key].path: score for key, score in found.items()}, **named}

    def scores(self, query: str, cards: Iterable[Card]) -> dict[str, float]:
        """How well the best of these skills fit a query, by path; those for which nothing speaks are left out.

        A list does not wait until a large library is indexed; then there is nothing to tell.
        """
        snapshot = self.keeper.lookout.look()
        if not self.keeper.is_ready(snapshot):
            return {}
        wanted = {key_of(card): card.path for card in cards}
        found = self.keeper.ask(lambda router, _: router.find(query, _RANKED, allowed=wanted.__contains__), snapshot)
        return {wanted[item.key]: item.score for item in found if item.why}

    def recent(self, snapshot: Snapshot) -> Sequence[str]:
        """The skills used lately, the latest first."""
        by_key = snapshot.catalogue.by_key
        uses = [(use.last, name) for name, use in self._used().items() if use.last and name in by_key]
        return [key_of(by_key[name]) for _, name in sorted(uses, reverse=True)[:_RECENT]]

    def lets_in(self, key: str, card: Card, snapshot: Snapshot) -> Entry | None:
        """Why the guard keeps a skill back, or None when it lets it in; a repository's skill is looked at once."""
        if card.scope != "project" or self._let_in.get(key) == card:
            return None
        lookout = self.keeper.lookout
        try:
            lookout.admit(lookout.open(card), snapshot.survey)
        except WhetError as error:
            return Entry(error.code, "warning", card.full_name, card.path, error.message, error.hint)
        self._let_in[key] = card
        return None


class _Asking:
    """One message of one caller: what it names, and what is asked of the index about it."""

    def __init__(self, offers: Offers, message: str, caller: Caller) -> None:
        if not message.strip():
            raise UsageError("message-empty", "The message is empty.", hint="Give the words of the user.")
        self._offers = offers
        self._snapshot = offers.keeper.lookout.look()
        self._caller = caller
        self._semantic: bool | None = None
        self.notes: list[Entry] = []
        self.banned: set[str] = set()
        """Keys of skills that are not to be found."""
        self.cards: Mapping[str, Card] = {}
        self.asked = self._named(message)

    def _named(self, message: str) -> Asked:
        """What the message asks for by name, as a person may; a slash can mean anything else, too."""
        lookout = self._offers.keeper.lookout
        try:
            asked = asked_for(message, lookout, self._snapshot, self._caller._replace(model=False), RESERVED)
        except WhetError as error:
            if error.code != "command-not-found":
                self.notes.append(Entry(error.code, "warning", "", "", error.message, error.hint))
            return Asked((), message)
        for item in asked.missing:
            self.notes.append(Entry(item["code"], "warning", item["name"], "", item["message"], item["hint"]))
        return asked

    def put(
        self,
        question: Callable[[Router, Callable[[str], bool], Sequence[str]], T],
        keys: Callable[[T], Iterable[str]],
    ) -> T:
        """Ask, and ask again without those of the answer's `keys` that the guard keeps back."""
        offers, snapshot = self._offers, self._snapshot

        def asked(router: Router, shelf: Shelf) -> T:
            self._semantic, self.cards = router.semantic, shelf.cards
            return question(router, self._allowed, offers.recent(snapshot))

        while True:
            answer = offers.keeper.ask(asked, snapshot)
            reasons = {key: offers.lets_in(key, self.cards[key], snapshot) for key in keys(answer)}
            refused = {key: reason for key, reason in reasons.items() if reason is not None}
            if not refused:
                return answer
            self.banned.update(refused)
            self.notes.extend(refused.values())

    def _allowed(self, key: str) -> bool:
        card, survey = self.cards.get(key), self._snapshot.survey
        if card is None or key in self.banned:
            return False
        return hidden(card, self._caller, survey.disabled, survey.probe) is None

    def about(self) -> dict[str, Any]:
        """Whether meaning counted beside words, and what else is worth knowing."""
        keeper, notes = self._offers.keeper, list(self.notes)
        if self._semantic is not None:
            notes.extend(keeper.notes)
        if self._semantic is False and self._snapshot.survey.settings.semantic and (told := keeper.lexical_only()):
            notes.append(told)
        return {"semantic": bool(self._semantic), "notes": [note.to_json() for note in notes]}


def _key(detected: Detected) -> str | None:
    return detected.key if detected.decision != "none" else None


def _all_keys(detected: Detected) -> list[str]:
    first = _key(detected)
    return [*([] if first is None else [first]), *(item.key for item in detected.others)]


def _row(card: Card, score: float, why: Iterable[str]) -> dict[str, Any]:
    """One skill of a search."""
    told = {"name": card.full_name, "path": card.location, "score": round(score, 4), "why": list(why)}
    return {**told, "description": card.description, "scope": card.scope}


def _offer(card: Card, confidence: float, evidence: Iterable[str]) -> dict[str, Any]:
    """One skill that should or may come up."""
    known = {"name": card.full_name, "path": card.location, "confidence": round(confidence, 4)}
    return {**known, "evidence": list(evidence)}


def _first(offer: dict[str, Any]) -> dict[str, Any]:
    return {"skill": offer.pop("name"), **offer}
