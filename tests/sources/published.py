"""Published sites, as files and as clients see them."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from sources.publishable import place
from whet.authoring.trees import digest
from whet.sources.model import FetchContext, Ref
from whet.sources.publish.index import LOCK, SITE
from whet.sources.registries.wellknown import WellKnownSource
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def index_of(site: Path, which: str = SITE) -> Any:
    return json.loads((site / which / "index.json").read_bytes())


def names_of(site: Path) -> list[str]:
    return [entry["name"] for entry in index_of(site)["skills"]]


def everything(site: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(site)): path.read_bytes() for path in sorted(site.rglob("*")) if path.is_file()}
    return {path: data for path, data in found.items() if path != LOCK}


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The directory as an ordinary web server gives it out; its host."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def fetched(host: str, top: Path) -> dict[str, str]:
    """Name -> content digest of everything that our own client gets from there."""
    web = Web(env={}, private_hosts=(host,))
    reach = FetchContext(place(top), web, threading.Event(), lambda _: None)
    source = WellKnownSource(Ref("well-known", f"http://{host}"), reach)
    listing = source.inspect()
    assert listing.notes == ()
    packages = source.fetch(listing.offers)
    web.close()
    return {package.offer.name: digest(package.tree) for package in packages}
