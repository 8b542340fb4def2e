"""The proxy of a request, from the environment: HTTPS_PROXY, HTTP_PROXY, NO_PROXY, in either case.

The lower-case spelling wins, as in other programs. Only plain HTTP proxies are supported; requests use a tunnel, so the
proxy sees only the host of an https request.
"""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from whet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.sources.web.addresses import Address

_PROXY = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?(?:(?P<user>[^@/]*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?/?"
)
_PORT = 80


class Proxy(NamedTuple):
    """A proxy that the user chose; its address is not checked."""

    host: str
    port: int
    authorization: str = ""
    """Value of the Proxy-Authorization header."""

    @property
    def shown(self) -> str:
        """Host and port, for messages."""
        return f"{self.host}:{self.port}"


def proxy_for(address: Address, env: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for an address; None for a direct connection. Raise UsageError `bad-proxy`."""
    if _is_here(address.host) or _excepted(address, env.get("no_proxy") or env.get("NO_PROXY") or ""):
        return None
    name = f"{address.scheme}_proxy"
    value = env.get(name) or _upper(name.upper(), env)
    return _read(value, name.upper()) if value else None


def _upper(name: str, env: Mapping[str, str]) -> str:
    """Return an upper-case variable. In a CGI program, HTTP_PROXY is a request header and is ignored."""
    return "" if name == "HTTP_PROXY" and "REQUEST_METHOD" in env else env.get(name, "")


def _read(value: str, name: str) -> Proxy:
    found = _PROXY.fullmatch(value.strip())
    port = int(found["port"] or _PORT) if found else 0
    if found is None or (found["scheme"] or "http").lower() != "http" or not 0 < port < 1 << 16:
        message = f"{name} does not name a proxy that Whet can use."
        raise UsageError("bad-proxy", message, hint=f"Set {name} to http://host:port, or unset it.")
    authorization = ""
    if found["user"] is not None:
        from base64 import b64encode

        authorization = f"Basic {b64encode(unquote(found['user']).encode()).decode()}"
    return Proxy(found["host"].strip("[]"), port, authorization)


def _is_here(host: str) -> bool:
    """Return whether a host is this machine, which is never reached through a proxy."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _excepted(address: Address, listed: str) -> bool:
    """Return whether NO_PROXY names the host: itself, a parent domain, its network, or everything."""
    return any(_names(entry.strip().lower(), address) for entry in listed.split(","))


def _names(entry: str, address: Address) -> bool:
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry:
        try:
            return ip_address(address.host) in ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and (name.endswith("]") or ":" not in name):
        if int(port) != address.port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").removeprefix(".")
    return address.host == entry or address.host.endswith(f".{entry}")
