"""The index as a judge of labelled messages, as it is and as it would be if a skill said something more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from whet.library.visibility import MODEL, hidden

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from whet.library.workspace import Snapshot
    from whet.routing.evals.suggesting import Kind
    from whet.routing.index_manager import IndexManager, Shelf
    from whet.routing.router import Detected, Entry, Found, Router
    from whet.routing.texts import Texts


class Judge:
    """What comes up by itself: a model asks, and skills hidden from it do not count."""

    def __init__(self, index_manager: IndexManager, snapshot: Snapshot, router: Router | None = None) -> None:
        """With a `router`, that one is asked in place of the index manager's own."""
        self._index_manager, self._snapshot, self._router = index_manager, snapshot, router

    def find(self, message: str, k: int = 10) -> tuple[Found, ...]:
        """The best skills for a message, the best first."""
        return self._index_manager.ask(
            lambda router, shelf: (self._router or router).find(message, k, allowed=_seen(shelf)), self._snapshot
        )

    def detect(self, message: str) -> Detected:
        """What should come up for a message."""
        return self._index_manager.ask(
            lambda router, shelf: (self._router or router).detect(message, allowed=_seen(shelf)), self._snapshot
        )

    def confidence(self, message: str, key: str) -> float:
        """How probable it is that this skill should come up."""
        return self._index_manager.ask(
            lambda router, _: (self._router or router).confidence(message, key), self._snapshot
        )


class Trial:
    """A copy of the index in which one skill at a time says something else. The last try is the one that counts."""

    def __init__(self, index_manager: IndexManager, snapshot: Snapshot) -> None:
        self._index_manager, self._snapshot = index_manager, snapshot
        self._router: Router | None = None
        self._entries: list[Entry] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._router is not None:
            self._router.close()

    def __call__(self, key: str, mark: str, change: Callable[[Texts], Texts]) -> Judge:
        """The judge as it would be with the texts of a skill changed; `mark` tells one change from another."""
        if self._router is None:
            self._router, self._entries = self._index_manager.copy(self._snapshot)

        def tried(entry: Entry) -> Entry:
            if entry.key != key:
                return entry
            return entry._replace(stamp=f"{entry.stamp}/{mark}", read=lambda: change(entry.read()))

        self._router.update(map(tried, self._entries))
        return Judge(self._index_manager, self._snapshot, self._router)

    def with_phrase(self, key: str, kind: Kind, phrase: str) -> Judge:
        """The judge as it would be with a phrase in the description of a skill, or in what it is not for."""

        def said(texts: Texts) -> Texts:
            if kind == "use":
                return texts._replace(description=f"{texts.description} Use for: {phrase}.")
            return texts._replace(when_not_to_use=f"{texts.when_not_to_use}\n{phrase}".lstrip())

        return self(key, f"{kind}/{phrase}", said)

    def with_description(self, key: str, description: str) -> Judge:
        """The judge as it would be with another description of a skill."""
        return self(key, f"description/{description}", lambda texts: texts._replace(description=description))


def _seen(shelf: Shelf) -> Callable[[str], bool]:
    cards, config = shelf.cards, shelf.snapshot.config

    def allowed(key: str) -> bool:
        return key in cards and hidden(cards[key], MODEL, config.disabled, config.probe) is None

    return allowed
