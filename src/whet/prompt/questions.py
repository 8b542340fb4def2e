"""One message of one caller, put to the index: what it names, who may answer, and what else is worth knowing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from whet.errors import FailedError, WhetError
from whet.library.report import Entry
from whet.library.visibility import hidden
from whet.prompt.asking import Asked, asked_for
from whet.prompt.commands import RESERVED
from whet.prompt.mentions import command_form, find_mentions
from whet.routing.judging import MAY
from whet.routing.messages import checked
from whet.routing.telling import fits_but_hidden, named_unknown, no_skill_wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.visibility import Caller, Hidden
    from whet.library.workspace import Snapshot
    from whet.prompt.offering import Offers
    from whet.routing.index_manager import Shelf
    from whet.routing.router import Router

T = TypeVar("T")

NAMED = "the message names it"
_MOST_HIDDEN = 3
"""Hidden skills that fit and are told of."""


class Question:
    """One message of one caller."""

    def __init__(self, offers: Offers, message: str, caller: Caller, snapshot: Snapshot | None = None) -> None:
        """Raises UsageError for what is no message."""
        self.message = checked(message)
        self.caller = caller
        self.snapshot = snapshot or offers.index_manager.workspace.snapshot()
        self._offers = offers
        self._semantic: bool | None = None
        self._notes: list[Entry] = []
        self.banned: set[str] = set()
        """Keys of skills that are not to be found."""
        self.cards: Mapping[str, Card] = {}
        self._refused: dict[str, Hidden] = {}
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
                self._notes.append(Entry(error.code, "warning", "", "", error.message, error.hint))
            return Asked((), self.message)
        for item in asked.missing:
            self._notes.append(Entry(item["code"], "warning", item["name"], "", item["message"], item["hint"]))
        kept_back = {card: reason for card in asked.cards if (reason := self._offers.lets_in(card, self.snapshot))}
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
        workspace = self._offers.index_manager.workspace
        return asked_for(text, workspace, self.snapshot, self.caller._replace(model=False), RESERVED)

    def _unknown(self, word: str, error: WhetError) -> None:
        """Note that a message begins with the name of a skill that is not there, unless a client knows the word."""
        if command_form(word) not in RESERVED:
            self._notes.append(named_unknown(word, error.hint))

    def put(
        self,
        question: Callable[[Router, Callable[[str], bool], Sequence[str]], T],
        keys: Callable[[T], Iterable[str]],
    ) -> T:
        """Ask, and ask again without those of the answer's `keys` that the guard keeps back."""
        offers, snapshot = self._offers, self.snapshot

        def asked(router: Router, shelf: Shelf) -> T:
            self._semantic, self.cards = router.semantic, shelf.cards
            self._refused = {}
            return question(router, self._allowed, offers.recent(snapshot))

        while True:
            answer = offers.index_manager.ask(asked, snapshot)
            reasons = {key: offers.lets_in(self.cards[key], snapshot) for key in keys(answer)}
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
        found = self._offers.index_manager.ask(
            lambda router, _: router.find(
                self.message, _MOST_HIDDEN, allowed=lambda key: key in refused or self._allowed(key)
            ),
            self.snapshot,
        )
        for item in found:
            if item.key not in refused or item.score < MAY:
                break
            self._notes.append(fits_but_hidden(self.cards[item.key], refused[item.key]))

    def is_unwanted(self) -> bool:
        """Did somebody say that no skill should come up for such a message? Then it is noted, too."""
        try:
            unwanted = self._offers.index_manager.feedback.is_unwanted(self.message)
        except FailedError:  # whoever keeps the index tells that it cannot be read
            return False
        if unwanted and no_skill_wanted() not in self._notes:
            self._notes.append(no_skill_wanted())
        return unwanted

    def about(self) -> dict[str, Any]:
        """Whether meaning counted beside words, and what else is worth knowing."""
        index_manager, notes = self._offers.index_manager, list(self._notes)
        if self._semantic is not None:
            notes.extend(index_manager.notes)
        if (
            self._semantic is False
            and self.snapshot.config.settings.semantic
            and (told := index_manager.lexical_only())
        ):
            notes.append(told)
        return {"semantic": bool(self._semantic), "notes": [note.to_json() for note in notes]}
