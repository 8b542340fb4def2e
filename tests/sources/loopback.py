"""Servers on this machine that do what a script says, well or badly.

    with serving({"/SKILL.md": b"...", "/old": redirect("/SKILL.md"), "/flaky": [reset(), b"at last"]}) as server:
        web = server.web()
        assert web.get(f"{server.url}/old", limit=100).body == b"..."
        assert [request.path for request in server.requests] == ["/old", "/SKILL.md"]

A route is bytes (answered with 200), a `Route` (made by the functions below), a list of them (one for each request, the
last for all others), or a function from the `Request` to one of these. The query is not part of a route. What has no
route is answered with 404. With `tls=True` the server speaks TLS as `skills.test`, `localhost` and `127.0.0.1`; its
certificate, which a `Web` trusts when its environment has SSL_CERT_FILE, is `CERTIFICATE`.
"""

from __future__ import annotations

import contextlib
import gzip
import http.server
import os
import select
import socket
import ssl
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import pytest

from whet.errors import WhetError
from whet.sources.web.client import Web

NAME = "skills.test"
"""A name that no name system knows and the certificate is for."""


class Request(NamedTuple):
    """One request that came."""

    method: str
    path: str
    """With the query; of a CONNECT, host and port."""
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes = b""


class Route(NamedTuple):
    """What is done with a request: the head is sent, the body, the pieces, and then `after` happens."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""
    length: str | None = ""
    """Content-Length: "" for the true one, None for no such header."""
    pieces: Callable[[], Iterator[bytes]] | None = None
    """Sent behind the body, each by itself."""
    interval: float = 0.0
    """Seconds between pieces."""
    raw: bytes | None = None
    """Sent instead of the head and the body."""
    after: str = ""
    """`close` (and say so), `drop` (close without a word), `reset` (an error over there), `hang` (to the end)."""


Answer: TypeAlias = bytes | Route | Callable[[Request], "bytes | Route"]
Routes: TypeAlias = Mapping[str, Answer | list[Answer]]


def answer(body: bytes = b"", status: int = 200, **headers: str) -> Route:
    """An honest answer; `content_type="text/html"` is the header Content-Type."""
    return Route(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def redirect(to: str, status: int = 302) -> Route:
    """Elsewhere: a path of this server or a whole address."""
    return Route(status, {"Location": to})


def truncated(body: bytes, missing: int = 1) -> Route:
    """Promises so many more bytes than it sends, and closes."""
    return Route(body=body, length=str(len(body) + missing), after="close")


def excessive(body: bytes, extra: bytes = b"more") -> Route:
    """Sends more than it promises."""
    return Route(body=body + extra, length=str(len(body)))


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> Route:
    """The pieces as chunks; an `end` of b"" cuts the answer off."""
    frames = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end
    return Route(headers={"Transfer-Encoding": "chunked"}, body=frames, length=None, after="close" if not end else "")


def dropped(body: bytes) -> Route:
    """An honest answer, after which the connection is gone although it could have been used again."""
    return Route(body=body, after="drop")


def until_closed(body: bytes) -> Route:
    """Without a length: the end is where the connection ends."""
    return Route(body=body, length=None, after="close")


def dripping(body: bytes, interval: float = 0.02) -> Route:
    """One byte after the other, with a pause between them."""
    return Route(
        length=str(len(body)), pieces=lambda: (body[at : at + 1] for at in range(len(body))), interval=interval
    )


def endless(piece: bytes = b"x" * 4096) -> Route:
    """Without a length and without an end."""
    return Route(length=None, pieces=lambda: iter(lambda: piece, None))


def reset(body: bytes = b"", length: int = 0) -> Route:
    """Breaks the connection: at once, or after a part of a body of this length."""
    if not length:
        return Route(raw=b"", after="reset")
    return Route(body=body, length=str(length), after="reset")


def hang() -> Route:
    """Never says anything."""
    return Route(raw=b"", after="hang")


def stall(body: bytes, missing: int = 1) -> Route:
    """Stops in the middle and keeps the connection."""
    return Route(body=body, length=str(len(body) + missing), after="hang")


def header_flood() -> Route:
    """Headers without an end."""
    head = b"HTTP/1.1 200 OK\r\n"
    flood = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 1000) for number in range(50))
    return Route(raw=head, pieces=lambda: iter(lambda: flood, None))


def gzip_bomb(size: int) -> Route:
    """So many bytes in very few."""
    packed = gzip.compress(bytes(size), 9, mtime=0)
    return Route(headers={"Content-Encoding": "gzip"}, body=packed)


def verbatim(data: bytes) -> Route:
    """Exactly these bytes, then the end."""
    return Route(raw=data, after="close")


class Server:
    """A running server; `requests` and `connections` grow while it runs."""

    def __init__(self, listener: _Listener, *, tls: bool) -> None:
        self._listener = listener
        self.port = int(listener.server_address[1])
        self.host = f"127.0.0.1:{self.port}"
        """As it stands in an address, and in `private_hosts`."""
        self.url = f"{'https' if tls else 'http'}://{self.host}"

    @property
    def requests(self) -> list[Request]:
        """Every request so far."""
        return self._listener.requests

    @property
    def connections(self) -> int:
        """How many connections have been made."""
        return self._listener.connections

    @property
    def sent(self) -> int:
        """How many bytes have been sent."""
        return self._listener.sent

    def web(self, **more: Any) -> Web:
        """A Web that may visit this server, does not wait between tries, and gives up soon."""
        arguments = {"env": {}, "timeout": 10.0, "total": 30.0, "pause": lambda _: None, **more}
        return Web(**{**arguments, "private_hosts": (self.host, *more.get("private_hosts", ()))})


@contextlib.contextmanager
def serving(routes: Routes, *, tls: bool = False, tunnels: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server with these routes. With `tunnels` it is a proxy too: `host:port` of a CONNECT -> where it leads."""
    with _Listener(routes, tunnels or {}) as listener:
        if tls:
            listener.socket = _server_context().wrap_socket(
                listener.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield Server(listener, tls=tls)
        finally:
            listener.ending.set()
            listener.shutdown()
            thread.join()


@contextlib.contextmanager
def certificate_file() -> Iterator[str]:
    """A file with the certificate, for SSL_CERT_FILE."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "certificate.pem")
        with open(path, "w", encoding="ascii") as file:
            file.write(CERTIFICATE)
        yield path


def failure(call: Callable[[], object]) -> tuple[type[WhetError], str]:
    """What a call fails with: a whole error, with a hint and without the word `secret`."""
    with pytest.raises(WhetError) as caught:
        call()
    assert caught.value.message.endswith(".")
    assert caught.value.hint
    assert "secret" not in str(caught.value.to_json())
    return type(caught.value), caught.value.code


class _Listener(http.server.ThreadingHTTPServer):
    block_on_close = True
    daemon_threads = False

    def __init__(self, routes: Routes, tunnels: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.routes = {path: list(route) if isinstance(route, list) else [route] for path, route in routes.items()}
        self.tunnels = tunnels
        self.requests: list[Request] = []
        self.connections = 0
        self.sent = 0
        self.ending = threading.Event()
        self.lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        """Clients that leave early are what these tests are about."""

    def route(self, request: Request) -> Route:
        with self.lock:
            self.requests.append(request)
            script = self.routes.get(request.path.partition("?")[0])
            chosen = (script.pop(0) if len(script) > 1 else script[0]) if script else Route(404)
        if callable(chosen) and not isinstance(chosen, Route):
            chosen = chosen(request)
        return chosen if isinstance(chosen, Route) else Route(body=chosen)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener
    connection: socket.socket

    def setup(self) -> None:
        # A connection that is kept open must not keep the server from ending.
        self.request.settimeout(0.1)
        super().setup()

    def handle(self) -> None:
        self.close_connection = False
        while not self.close_connection and self._has_more():
            self.handle_one_request()

    def _has_more(self) -> bool:
        """Wait for the next request until the server ends."""
        while not self.server.ending.is_set():
            with contextlib.suppress(TimeoutError):
                return bool(self.rfile.peek(1))  # type: ignore[attr-defined]  # a BufferedReader
            self._refresh()
        return False

    def _refresh(self) -> None:
        """A reader that ran into a timeout once refuses to go on; nothing was read, so a new one takes over."""
        self.rfile = self.connection.makefile("rb", -1)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_CONNECT(self) -> None:
        request = self._request()
        target = self.server.tunnels.get(request.path)
        with self.server.lock:
            self.server.requests.append(request)
        self.close_connection = True
        if target is None:
            return self._send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        host, _, port = target.rpartition(":")
        with socket.create_connection((host, int(port))) as onward:
            self._send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            ends = {self.connection: onward, onward: self.connection}
            while not self.server.ending.is_set():
                for ready in select.select([*ends], [], [], 0.05)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return None
                    ends[ready].sendall(data)
        return None

    def _request(self) -> Request:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        return Request(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)

    def _answer(self) -> None:
        route = self.server.route(self._request())
        self.connection.settimeout(10)
        self._send(_head(route) + route.body if route.raw is None else route.raw)
        for piece in route.pieces() if route.pieces else ():
            if self.server.ending.wait(route.interval) if route.interval else self.server.ending.is_set():
                break
            self._send(piece)
        self.connection.settimeout(0.1)
        self.close_connection = bool(route.after)
        if route.after == "hang":
            self.server.ending.wait()
        elif route.after == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _send(self, data: bytes) -> None:
        self.connection.sendall(data)
        with self.server.lock:
            self.server.sent += len(data)


def _head(route: Route) -> bytes:
    lines = [f"HTTP/1.1 {route.status} Whatever", *(f"{name}: {value}" for name, value in route.headers.items())]
    if route.length is not None and route.status not in (204, 304):
        lines.append(f"Content-Length: {route.length or len(route.body)}")
    if route.after not in ("", "drop"):
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "server.pem")
        with open(path, "w", encoding="ascii") as file:
            file.write(_KEY + CERTIFICATE)
        context.load_cert_chain(path)
    return context


# Of these tests alone, trusted by nothing else; valid from 2020 to 2120.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBwTCCAWagAwIBAgIBATAKBggqhkjOPQQDAjAWMRQwEgYDVQQDDAtza2lsbHMu
dGVzdDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFjEUMBIGA1UE
AwwLc2tpbGxzLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAR0Q4u1Izgg
Dsd0CQZDMGXPe6kGwsbGmnO/+E1yaPsQiL8apZqKUXcJGvRRe/+xwsPpi8KdAWIw
fu/irGm4V0Qfo4GiMIGfMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgKE
MBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBQuw/FYNlzdVKfxvcrAVsW5
sqCPoTAfBgNVHSMEGDAWgBQuw/FYNlzdVKfxvcrAVsW5sqCPoTAnBgNVHREEIDAe
ggtza2lsbHMudGVzdIIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
IQCQJNSDqqS87mxynOLSZ+JIZzO9kb4sUcmFnctaqg6YDAIhAL8FJQ68Tx9l8Y0G
/Jk6qs8SFoMld2ALwDcgMHDGyzfB
-----END CERTIFICATE-----
"""
_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIGV4PYlqoDUlpE1p
kds31Ga5Spk+EjYYt2Hqj+ZjqyehRANCAAR0Q4u1IzggDsd0CQZDMGXPe6kGwsbG
mnO/+E1yaPsQiL8apZqKUXcJGvRRe/+xwsPpi8KdAWIwfu/irGm4V0Qf
-----END PRIVATE KEY-----
"""
