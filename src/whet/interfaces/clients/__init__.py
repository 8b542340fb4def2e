"""Connections to existing clients, shown before they are made and undone on request."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.api import Library
    from whet.store.intents import Handler
    from whet.store.state import StateDatabase


def settle_connections(library: Library) -> Library:
    """Let a library also finish connections that were killed; nothing is loaded until there is one."""
    library.handlers.append(_handlers)
    return library


def _handlers(state: StateDatabase) -> dict[str, Handler]:
    from whet.interfaces.clients.plan import handlers

    return handlers(state)
