"""A server between a mirror and what it mirrors: it counts what is asked for, and can send something else."""

from __future__ import annotations

import http.client
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Sent(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Relay:
    """Passes requests on to a port of this machine; `change` replaces what comes back for a path."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.asked: list[str] = []
        self.change: Callable[[str, Sent], Sent] = lambda _path, sent: sent
        self.url = ""
        self.port = 0

    def count(self, ending: str) -> int:
        """How often something with this ending was asked for."""
        return sum(path.endswith(ending) for path in self.asked)

    def pass_on(self, path: str) -> Sent:
        if not self.target:
            return self.change(path, Sent(404, {}, b"{}"))
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=30)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            kept = {"Content-Type": response.headers.get("Content-Type", "")}
            return self.change(path, Sent(response.status, kept, response.read()))
        finally:
            connection.close()


@contextmanager
def relaying(target: int = 0) -> Iterator[Relay]:
    """A relay to a port; without one, everything is missing unless `change` makes something of it."""
    relay = Relay(target)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            relay.asked.append(self.path)
            sent = relay.pass_on(self.path)
            self.send_response(sent.status)
            for name, value in {**sent.headers, "Content-Length": str(len(sent.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    relay.port = server.server_address[1]
    relay.url = f"http://127.0.0.1:{relay.port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
