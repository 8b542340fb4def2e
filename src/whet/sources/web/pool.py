"""Requests to checked addresses, over connections that are reused for the same server.

The check happens between lookup and connection: a name is looked up once for a connection, every IP address found is
checked, and the connection goes to one of them. Through a proxy, the proxy looks up the name, so only what needs no
lookup is checked.

This module loads `h11` and `ssl`; import it only where something is fetched.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from whet.errors import FailedError, WhetError
from whet.sources.web.connection import Connection, DroppedError, look_up, open_connection, tls_context
from whet.sources.web.proxies import proxy_for
from whet.sources.web.request import Response
from whet.sources.web.responses import cut_off, has_remark, pause_before, refusal

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping, Sequence

    from whet.sources.web.addresses import Address, Allowed
    from whet.sources.web.request import Request, Watch

_GIVEN = frozenset({200, 201, 202, 203, 204, 304})
_PAUSES = (0.5, 1.5)
"""Seconds before a request is repeated."""
_MOST_REMARK = 64 * 1024
_IDLE_SECONDS = 30.0
_IDLE_EACH = 8


class Pool:
    """Sends requests over its connections. Thread-safe."""

    def __init__(
        self,
        env: Mapping[str, str],
        allowed: Allowed,
        resolve: Callable[[str, int], Sequence[str]] | None,
        pause: Callable[[float], None],
    ) -> None:
        self._env = env
        self._allowed = allowed
        self._resolve = resolve
        self._pause = pause
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._idle: dict[tuple[str, str, int], list[tuple[float, Connection]]] = {}

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for _, connection in (entry for entries in idle.values() for entry in entries):
            connection.close()

    def find(self, address: Address, watch: Watch) -> tuple[str, ...]:
        """Return the checked IP addresses of a host; none if a proxy will look it up."""
        self._allowed.check(address)
        if proxy_for(address, self._env) is not None:
            return ()
        if address.literal:
            return (address.literal,)
        if self._resolve is None:
            found = look_up(address.host, address.port, watch)
        elif not (found := tuple(self._resolve(address.host, address.port))):
            message = f"The host {address.host} was not found."
            raise FailedError("unreachable", message, hint="Check the spelling of the host.")
        self._allowed.check_found(address, found)
        return found

    def request(self, address: Address, request: Request, watch: Watch) -> Response:
        """Send a request to one address, with retries. Raises WhetError."""
        for usual in (*_PAUSES, None):
            try:
                connection = self._ask(address, request, watch)
                again = usual and pause_before(connection.status, connection.headers, request.method, usual)
                if again is None:
                    return self._take(connection, address, request)
                connection.close()
            except DroppedError as error:
                if usual is None or request.method != "GET":
                    raise _unreachable(error, address.shown) from error
                again = usual
            watch.pause(again, self._pause)
        raise AssertionError("the last try returns or raises")

    def _ask(self, address: Address, request: Request, watch: Watch) -> Connection:
        """Send the request over an idle connection, if one is still open, or a new one, and read the head."""
        kept = self._kept(address, watch) if request.method == "GET" else None
        for connection in (*((kept,) if kept else ()), None):
            asked = connection or self._open(address, watch)
            try:
                headers = {"Host": address.netloc, **request.all_headers()}
                asked.ask(request.method, address.target, headers, request.body)
            except BaseException as error:
                asked.close()
                if connection is None or not isinstance(error, DroppedError):
                    raise
            else:
                return asked
        raise AssertionError("a new connection answers or raises")

    def _take(self, connection: Connection, address: Address, request: Request) -> Response:
        """Return the response or raise its error; the connection is kept or closed."""
        response = Response(address.url, connection.status, connection.headers, b"")
        try:
            if response.is_redirect:
                connection.discard()
            elif response.status not in _GIVEN:
                raise refusal(response.status, response.headers, _remark(connection), address.shown)
            elif request.reading:
                response = response._replace(body=connection.read(request.limit, request.progress))
        finally:
            self._keep(address.origin, connection)
        return response

    def _open(self, address: Address, watch: Watch) -> Connection:
        found = self.find(address, watch)
        proxy = proxy_for(address, self._env)
        if proxy is not None:
            found = look_up(proxy.host, proxy.port, watch)
        context = None
        if address.scheme == "https":
            with self._lock:
                context = self._context = self._context or tls_context(self._env)
        return open_connection(address, found, proxy, context, watch)

    def _kept(self, address: Address, watch: Watch) -> Connection | None:
        """Return an idle connection to the same server that is still open, if any."""
        while True:
            with self._lock:
                idle = self._idle.get(address.origin)
                if not idle:
                    return None
                since, connection = idle.pop()
            connection.watch = watch
            if time.monotonic() - since < _IDLE_SECONDS and connection.is_quiet():
                return connection
            connection.close()

    def _keep(self, origin: tuple[str, str, int], connection: Connection) -> None:
        """Keep a connection for reuse; close it if its response was not read to the end."""
        if not connection.reusable:
            return connection.close()
        with self._lock:
            idle = self._idle.setdefault(origin, [])
            idle.append((time.monotonic(), connection))
            surplus = idle.pop(0)[1] if len(idle) > _IDLE_EACH else None
        if surplus is not None:
            surplus.close()
        return None


def _remark(connection: Connection) -> bytes:
    """Return the server's message about a failure, if it is a short text that can be read."""
    try:
        return connection.read(_MOST_REMARK) if has_remark(connection.headers) else b""
    except (WhetError, DroppedError):
        return b""


def _unreachable(error: DroppedError, shown: str) -> FailedError:
    """Return the error for a server that closes the connection each time."""
    if error.began:
        return cut_off(shown, "the connection was closed by the other side")
    message = f"{shown} cannot be reached: the connection is closed by the other side."
    return FailedError("unreachable", message, hint="Check the address and your connection.")
