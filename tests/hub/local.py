"""A real hub in this process, on a port of this machine, for tests of what others do with it.

with hub_running(tmp_path) as hub:
    hub.publish("acme", "review", "1.0.0", archive, days_ago=5)
    machine.ask("install", f"hub:{hub.url}/acme/review")
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn

from hub.world import KEY, shared_checker
from whet.hub.app import create_app
from whet.hub.blobs import open_blobs
from whet.hub.database import open_database
from whet.hub.log import HubLog
from whet.hub.registry import Hub, HubSettings
from whet.hub.tokens import Identity
from whet.skill.archive import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from whet.hub.checker import Checker
    from whet.hub.requests import Route

ANYONE = Identity("publisher", ("admin",), "token", "")
_SECOND = 10**9
_DAY = 86_400


class LocalHub:
    """A hub that is being served, and a clock that can be set back for what is published."""

    def __init__(
        self,
        top: Path,
        settings: HubSettings,
        origin: str,
        port: int,
        checker: Checker | None,
        pages: Sequence[Route],
    ) -> None:
        self._ago = 0.0
        database = open_database(str(top / "hub.db"))
        blobs, log = open_blobs(str(top / "blobs"), database), HubLog(database, origin, KEY)
        self.hub = Hub(database, blobs, log, checker or shared_checker(), settings, self._now)
        config = uvicorn.Config(create_app(self.hub, pages), "127.0.0.1", port, log_level="warning", access_log=False)
        self.server = uvicorn.Server(config)
        self.url = ""

    def publish(self, owner: str, name: str, version: str, archive: bytes, *, days_ago: float = 0) -> Any:
        """Publish a version, as if so many days ago; what the hub says of it."""
        self._ago = days_ago
        try:
            done = self.hub.publish(ANYONE, owner, name, version, archive, unpack(archive).digest)
        finally:
            self._ago = 0.0
        return json.loads(done.document)

    def _now(self) -> int:
        return time.time_ns() - int(self._ago * _DAY) * _SECOND


@contextmanager
def hub_running(
    top: Path,
    settings: HubSettings | None = None,
    *,
    name: str = "local-hub",
    origin: str = "hub.example",
    port: int = 0,
    checker: Checker | None = None,
    pages: Sequence[Route] = (),
) -> Iterator[LocalHub]:
    """Serve a hub until the block ends; its files lie in a directory of `top`, where they may have been before."""
    directory = top / name
    directory.mkdir(exist_ok=True)
    local = LocalHub(directory, settings or HubSettings(), origin, port, checker, pages)
    thread = threading.Thread(target=local.server.run, daemon=True)
    thread.start()
    try:
        while not local.server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        local.url = f"http://127.0.0.1:{local.server.servers[0].sockets[0].getsockname()[1]}"
        yield local
    finally:
        local.server.should_exit = True
        thread.join()
        local.hub.close()
