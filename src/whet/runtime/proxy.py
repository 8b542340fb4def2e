"""The only way from a sandbox to the network: a proxy that connects to the hosts a skill declares, and to no others.

A program in the box has only a loopback: it cannot look up names or reach an address outside. Every HTTP proxy client
connects here, where the host is checked, looked up once, and connected at one of the addresses found. Every requested
host is recorded for the report.
"""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.guard.permissions.decision import covers_host, host_of_address, is_inside
from whet.guard.sandbox.box import PROXY_PORT
from whet.runtime.journal import Contact
from whet.sources.web.addresses import is_public

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whet.guard.permissions.grants import Grant

_HEAD = 32_768
_PATIENCE = 60.0
_LINE = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]\r\n")
_HOP = re.compile(rb"(?im)^(?:proxy-[\w-]+|connection|keep-alive|host):[^\r\n]*\r\n")
_URL = re.compile(r"(https?)://([^/?#]+)(.*)", re.DOTALL)


def declared_hosts(grants: Iterable[Grant]) -> tuple[str, ...]:
    """Return the hosts that grants name: those of WebFetch, and those in the addresses of commands."""
    found: dict[str, None] = {}
    for grant in grants:
        if grant.problem:
            continue
        if grant.tool == "WebFetch" and grant.rule:
            found[grant.rule.removeprefix("domain:")] = None
        for word in grant.words if grant.tool == "Bash" and "://" in grant.rule else ():
            host, problem = host_of_address(word.rstrip("*")) if "://" in word else ("", "no address")
            if not problem:
                found[host] = None
    return tuple(found)


class Proxy:
    """Connects programs in a box to these hosts: `name`, `name:port` or `*.name`."""

    def __init__(self, hosts: Sequence[str], *, resolve: Callable[[str, int], Sequence[str]] | None = None) -> None:
        """`resolve` looks up a host and a port instead of the system."""
        self.hosts = tuple(hosts)
        self._resolve = resolve or _look_up
        self._lock = threading.Lock()
        self._contacts: list[Contact] = []

    def variables(self) -> dict[str, str]:
        """Return the environment variables that point to the proxy."""
        address = f"http://127.0.0.1:{PROXY_PORT}"
        names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        return dict.fromkeys(names, address)

    def take_contacts(self) -> list[Contact]:
        """Return the hosts requested since the last call, each once."""
        with self._lock:
            found, self._contacts = list(dict.fromkeys(self._contacts)), []
        return found

    def serve(self, listening: socket.socket) -> None:
        """Answer connections until the socket is closed."""
        threading.Thread(target=self._accept, args=(listening,), daemon=True, name="whet-proxy").start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True, name="whet-proxy").start()

    def _answer(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(_PATIENCE)
            head, rest = _read_head(client)
            found = _LINE.match(head)
            method, target = (found[1].decode(), found[2].decode("latin-1")) if found else ("", "")
            address = _target(method, target)
            if found is None or address is None:
                client.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
                return
            host, port, path = address
            try:
                server = self._connect(host, port, tunnel=not path)
            except PermissionError as error:
                text = f"{error}\n".encode()
                size = f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
                client.sendall(f"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n{size}".encode() + text)
                return
            except OSError:
                client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n")
                return
            with server:
                if path:
                    own = f"{method} {path} HTTP/1.1\r\nHost: {_spelled(host, port, 80)}\r\nConnection: close\r\n"
                    server.sendall(own.encode("latin-1") + _HOP.sub(b"", head[found.end() :]) + rest)
                else:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    server.sendall(rest)
                _pump(client, server)

    def _connect(self, host: str, port: int, *, tunnel: bool) -> socket.socket:
        """Connect to a declared host. Raise PermissionError for another one."""
        wanted = _spelled(host, port, 443 if tunnel else 80)
        allowed = any(covers_host(rule, wanted) for rule in self.hosts)
        found = self._resolve(host, port) if allowed else ()
        if allowed and not is_inside(host) and not all(map(is_public, found)):
            allowed = False  # a public name that leads into a private network
        with self._lock:
            self._contacts.append(Contact(wanted, allowed))
        if not allowed:
            raise PermissionError(f"{wanted} is not one of the hosts that this skill declares.")
        problem = OSError(f"{host} was not found")
        for address in found:
            try:
                return socket.create_connection((address, port), _PATIENCE)
            except OSError as error:
                problem = error
        raise problem


def _look_up(host: str, port: int) -> Sequence[str]:
    rows = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(row[4][0]) for row in rows))


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data and len(data) < _HEAD:
        if not (more := client.recv(8192)):
            break
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def _target(method: str, text: str) -> tuple[str, int, str] | None:
    """Return host, port and, for a request that is not a tunnel, the path; None if it is not an address."""
    if method == "CONNECT":
        scheme, authority, path = "https", text, ""
    elif (found := _URL.fullmatch(text)) and found[1].lower() == "http":
        scheme, authority, path = "http", found[2], found[3] if found[3].startswith("/") else f"/{found[3]}"
    else:
        return None
    host, problem = host_of_address(f"{scheme}://{authority}/")
    if problem:
        return None
    name, colon, port = host.rpartition(":")
    if not colon or "]" in port:
        return host, 443 if scheme == "https" else 80, path
    return name, int(port), path


def _spelled(host: str, port: int, usual: int) -> str:
    return host if port == usual else f"{host}:{port}"


def _pump(client: socket.socket, server: socket.socket) -> None:
    """Copy bytes both ways until one side is done."""

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=carry, args=(client, server), daemon=True, name="whet-proxy")
    back.start()
    carry(server, client)
    back.join(_PATIENCE)
