"""Reporting changed skills to clients: each library in use is read every few seconds while a client listens.

A look without changes costs some microseconds per skill; the pause grows with the duration of a look, so that a large
library takes no more of the machine than a small one. A client's own change is looked for at once.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import WhetError
from whet.interfaces.mcp.packages import unfit
from whet.library.bundles import read_bundles
from whet.prompt.requests import visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from mcp.server.connection import Connection
    from mcp.server.subscriptions import InMemorySubscriptionBus

    from whet.interfaces.mcp.client_session import ClientContext, ClientSession
    from whet.interfaces.mcp.resource_server import Served
    from whet.values import Json

PAUSE = 2.0
"""Seconds between two looks, at least."""
SHARE = 0.02
"""The share of time that looking may take."""


class Known:
    """A library as of one look; the lists for clients are computed only when they are compared."""

    def __init__(self, context: ClientContext) -> None:
        workspace = context.tools.session.workspace
        self._snapshot = workspace.snapshot()
        self._bundles, _ = read_bundles(self._snapshot.config.bundle_directories)
        self._person, self._model = context.caller, context.tools.session.as_model

    @cached_property
    def resources(self) -> tuple[tuple[str, str], ...]:
        """Names and descriptions of the skills that a model may choose."""
        chosen = visible(self._snapshot, self._model)
        return tuple((card.qualified, card.description) for card in chosen if not unfit(card))

    @cached_property
    def prompts(self) -> tuple[tuple[str, ...], ...]:
        """Names, descriptions and argument hints of the skills that a person may invoke, and the bundles."""
        skills = visible(self._snapshot, self._person)
        return (
            *((card.qualified, card.description, card.hint) for card in skills),
            *((bundle.slug, bundle.description, *bundle.skills) for bundle in self._bundles),
        )


class Changed(NamedTuple):
    """The differences since the last look."""

    resources: bool
    prompts: bool
    uris: tuple[str, ...]
    """Addresses whose contents changed, appeared or disappeared."""


class Audience:
    """A client that is notified of changes: what it knows, and its subscriptions."""

    def __init__(
        self, client: ClientSession, tell: Callable[[Changed], Awaitable[None]], uris: Iterable[str] = ()
    ) -> None:
        """`uris` are the addresses it subscribed to."""
        self.client = client
        self.tell = tell
        self.known: Known | None = None
        self.stamps: dict[str, str | None] = dict.fromkeys(uris)
        """The addresses it subscribed to, and the stamps of the last look."""

    def compare(self, now: Known) -> Changed:
        """Return the changes to report, and remember them as known."""
        before, self.known = self.known, now
        served = self.client.context().served
        uris: list[str] = []
        for uri, old in list(self.stamps.items()):
            new = stamp(served, uri)
            if uri in self.stamps:  # not unsubscribed meanwhile
                self.stamps[uri] = new
                uris.extend([uri] if old not in (None, new) else ())
        if before is None:
            return Changed(resources=False, prompts=False, uris=tuple(uris))
        return Changed(before.resources != now.resources, before.prompts != now.prompts, tuple(uris))


def stamp(served: Served, uri: str) -> str:
    """Return a stamp that changes with the contents of a resource; "" if it does not exist."""
    try:
        return contents_stamp(served.read(uri))
    except WhetError:
        return ""


def contents_stamp(told: Json) -> str:
    """Return the stamp of contents that were read."""
    return hashlib.sha256(json.dumps(told["contents"]).encode()).hexdigest()


async def tell(connection: Connection, changed: Changed) -> None:
    """Notify a client on its own channel."""
    if changed.resources:
        await connection.send_resource_list_changed()
    if changed.prompts:
        await connection.send_prompt_list_changed()
    for uri in changed.uris:
        await connection.send_resource_updated(uri)


async def publish(bus: InMemorySubscriptionBus, changed: Changed) -> None:
    """Notify the listeners of a stream."""
    from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated

    if changed.resources:
        await bus.publish(ResourcesListChanged())
    if changed.prompts:
        await bus.publish(PromptsListChanged())
    for uri in changed.uris:
        await bus.publish(ResourceUpdated(uri))
