"""What learning needs of a library, and which of its skills it leaves to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.authoring.editor import SkillEditor
    from whet.learning.sessions import Sessions
    from whet.learning.usage import Usage
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.routing.feedback import Feedback


class Shelf(Protocol):
    """What learning needs of a library; `whet.api.Library` is one."""

    @property
    def workspace(self) -> Workspace:
        """Its skills."""
        ...

    @property
    def edit(self) -> SkillEditor:
        """What changes them, with its history and proposals."""
        ...

    @property
    def sessions(self) -> Sessions:
        """The sessions that hooks told of."""
        ...

    @property
    def usage(self) -> Usage:
        """How skills did."""
        ...

    @property
    def remarks(self) -> Feedback:
        """What skills are for, and what not."""
        ...

    def is_locked(self, name: str, *, here: bool = False) -> bool:
        """Was this skill installed?"""
        ...

    def manage(
        self,
        operations: Sequence[Mapping[str, Any]],
        *,
        actor: str = "user",
        origin: str = "foreground",
        reason: str = "",
        stage: bool = False,
        viewed: Callable[[str, str], bool] | None = None,
    ) -> dict[str, Any]:
        """Change skills."""
        ...


def held_back(shelf: Shelf, card: Card) -> str:
    """Why a skill is not changed without asking, though it is the user's: a sentence, or nothing."""
    from whet.learning.lifecycle import Lifecycle

    pins = Lifecycle(shelf.workspace.state, shelf.workspace.clock).pins()
    if not pins.keys().isdisjoint(card.known_as):
        return "It is pinned."
    return "It is installed." if shelf.is_locked(card.name, here=card.scope == "project") else ""
