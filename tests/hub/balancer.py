"""A balancer on loopback: it hands connections to the hubs behind it in turn, and passes over those that are gone."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Balancer(socketserver.ThreadingTCPServer):
    """Plain TCP; `busy` says how many connections each port has now."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, ports: Sequence[int]) -> None:
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        self.ports = ports
        self.busy: Counter[int] = Counter()
        self.passed_over = 0
        self._turn = 0
        self._lock = threading.Lock()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection."""
        del client_address
        with self._lock:
            self._turn += 1
            turn = self._turn % len(self.ports)
        for port in (*self.ports[turn:], *self.ports[:turn]):
            try:
                hub = socket.create_connection(("127.0.0.1", port), timeout=30)
            except OSError:
                with self._lock:
                    self.passed_over += 1
                continue
            with hub, self._counted(port):
                back = threading.Thread(target=_copy, args=(request, hub), daemon=True)
                back.start()
                _copy(hub, request)
                back.join()
            return

    @contextmanager
    def _counted(self, port: int) -> Iterator[None]:
        with self._lock:
            self.busy[port] += 1
        try:
            yield
        finally:
            with self._lock:
                self.busy[port] -= 1


def _copy(here: socket.socket, there: socket.socket) -> None:
    """Pass on what one side says until it ends or breaks; then both directions end."""
    with contextlib.suppress(OSError):
        while data := here.recv(65_536):
            there.sendall(data)
    for each in (here, there):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def balancing(ports: Sequence[int]) -> Iterator[Balancer]:
    """A balancer in front of hubs at these ports."""
    with Balancer(ports) as balancer:
        thread = threading.Thread(target=balancer.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield balancer
        finally:
            balancer.shutdown()
            thread.join()
