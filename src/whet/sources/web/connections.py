"""Connections to judged addresses, kept for the next request to the same server.

Here the judgement stands between looking up a name and connecting to it: a name is looked up once for a connection,
every IP address found is judged, and the connection goes to one of them. Through a proxy, the proxy looks up the name;
what can be judged without looking it up has been judged then.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from whet.errors import FailedError
from whet.sources.web.proxies import proxy_for
from whet.sources.web.wires import Connection, open_wire, resolved, tls_context

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping, Sequence

    from whet.sources.web.addresses import Address, Allowed
    from whet.sources.web.wires import Watch

_IDLE_SECONDS = 30.0
_IDLE_EACH = 8


class Connections:
    """Opens connections, and keeps those that others have finished with. For several threads."""

    def __init__(
        self, env: Mapping[str, str], allowed: Allowed, resolve: Callable[[str, int], Sequence[str]] | None
    ) -> None:
        self._env = env
        self._allowed = allowed
        self._resolve = resolve
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._idle: dict[tuple[str, str, int], list[tuple[float, Connection]]] = {}

    def found(self, address: Address, watch: Watch) -> tuple[str, ...]:
        """The IP addresses of a host, all of them judged; none if a proxy will look it up."""
        self._allowed.check(address)
        if proxy_for(address, self._env) is not None:
            return ()
        if address.literal:
            return (address.literal,)
        found = self._look_up(address.host, address.port, watch)
        self._allowed.check_found(address, found)
        return found

    def open(self, address: Address, watch: Watch) -> Connection:
        """A new connection. Raises WhetError and DroppedError."""
        found = self.found(address, watch)
        proxy = proxy_for(address, self._env)
        if proxy is not None:
            found = resolved(proxy.host, proxy.port, watch)
        context = self._tls() if address.scheme == "https" else None
        return Connection(open_wire(address, found, proxy, context, watch))

    def kept(self, address: Address, watch: Watch) -> Connection | None:
        """A connection to the same server that still stands, if there is one."""
        while True:
            with self._lock:
                idle = self._idle.get(address.origin)
                if not idle:
                    return None
                since, connection = idle.pop()
            connection.wire.watch = watch
            if time.monotonic() - since < _IDLE_SECONDS and connection.wire.is_quiet():
                return connection
            connection.close()

    def keep(self, origin: tuple[str, str, int], connection: Connection) -> None:
        """Take back a connection after a complete answer."""
        with self._lock:
            idle = self._idle.setdefault(origin, [])
            idle.append((time.monotonic(), connection))
            surplus = idle.pop(0)[1] if len(idle) > _IDLE_EACH else None
        if surplus is not None:
            surplus.close()

    def close(self) -> None:
        """Close the connections that were kept."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for _, connection in (entry for entries in idle.values() for entry in entries):
            connection.close()

    def _look_up(self, host: str, port: int, watch: Watch) -> tuple[str, ...]:
        if self._resolve is None:
            return resolved(host, port, watch)
        found = tuple(self._resolve(host, port))
        if not found:
            raise FailedError("unreachable", f"The host {host} has no address.", hint="Check the spelling of the host.")
        return found

    def _tls(self) -> ssl.SSLContext:
        with self._lock:
            if self._context is None:
                self._context = tls_context(self._env)
            return self._context
