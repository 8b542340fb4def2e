"""Web addresses, and which of them may be visited.

An address is read by one strict grammar, so that the checked address is the visited one. Other spellings that some
programs understand are refused: an IP address as one number, in octal or in hex, a name with a trailing dot, userinfo,
backslashes, invisible characters. Names in other scripts must be given in their ASCII form, because programs translate
them differently.

The table of IP addresses is our own. That of the standard library has changed between versions of Python, and it does
not look into IPv6 addresses that embed an IPv4 address.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin

from whet.errors import RefusedError, UsageError
from whet.patterns import compile_late
from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

PORTS = {"https": 443, "http": 80}

_MOST = 8192
_SHOWN = 200
_PARTS = compile_late(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?", re.DOTALL)
_AUTHORITY = compile_late(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?")
_LABEL = compile_late(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = compile_late(r"[0-9]+|0x[0-9a-f]*")
_SAFE = "!#$%&'()*+,/:;=?@[]~"
_UNWRITTEN = compile_late(r"[\x00-\x20\x7f\\\ud800-\udfff]")

_HINT = "Write it like https://example.com/path, the host as a plain name."


def _private_hint(address: Address) -> str:
    return f'If this is your own host, add `private_hosts = ["{address.host}"]` to config.toml (see docs/settings.md).'


_PRIVATE_NAMES = ("localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "home.arpa")
"""Suffixes of names that no public server has."""

_NOT_PUBLIC = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by the customers of a carrier; one cloud has its metadata here
        "127.0.0.0/8",
        "168.63.129.16/32",  # one cloud's host agent, at an address that looks public
        "169.254.0.0/16",  # link-local, and the metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; one cloud has its metadata here
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # network benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocols, including Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3ffe::/16",  # former test network
        "3fff::/20",  # documentation
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = frozenset({0x5EFE, 0x2005EFE})


class Address(NamedTuple):
    """A normalized web address without a fragment."""

    scheme: str
    host: str
    """Lower-case; an IPv6 address has no brackets."""
    port: int
    target: str
    """Path and query, as sent."""

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port; secrets belong to one origin."""
        return self.scheme, self.host, self.port

    @property
    def netloc(self) -> str:
        """Host and port as in an address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS.get(self.scheme) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.scheme}://{self.netloc}{self.target}"

    @property
    def shown(self) -> str:
        """Address for messages: without the query, which may contain tokens."""
        text = f"{self.scheme}://{self.netloc}{self.target.partition('?')[0]}"
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    @property
    def literal(self) -> str:
        """The host if it is an IP address, else ""."""
        return self.host if ":" in self.host or _NUMBER.fullmatch(self.host.rpartition(".")[2]) else ""


def read_address(text: str) -> Address:
    """Parse an address, whether or not it may be visited. Raise UsageError `bad-address`."""
    if len(text) > _MOST:
        raise _bad(text, f"has more than {_MOST} characters")
    if found := _UNWRITTEN.search(text):
        raise _bad(text, f"contains the character {found[0]!r}")
    parts = _PARTS.match(text)
    if parts is None:
        raise _bad(text, "is not a web address")
    scheme, authority = parts[1].lower(), parts[2]
    if "@" in authority:
        hint = "Remove the part before the @; pass tokens another way."
        raise UsageError("bad-address", f"The address {shown(text)} contains a user name or a password.", hint=hint)
    host, port = _host_and_port(authority, text)
    target = quote((parts[3] or "/") + (parts[4] or ""), safe=_SAFE)
    return Address(scheme, host, PORTS.get(scheme, 0) if port is None else port, target)


def joined(base: Address, location: str) -> Address:
    """Resolve a `Location` header against `base`. Raise UsageError `bad-address`."""
    quoted = quote(location.strip(" \t").encode("latin-1", "replace"), safe=_SAFE + "\\")
    try:
        return read_address(urljoin(base.url, quoted))
    except ValueError as error:
        raise _bad(quoted, "is not a web address") from error


def shown(text: str) -> str:
    """Return a supposed address for messages: without userinfo, query and odd characters."""
    plain = re.split(r"[?#]", text, maxsplit=1)[0]
    if "@" in plain:
        plain = f"…@{plain.rpartition('@')[2]}"
    return ascii(plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}...").replace("\\u2026", "…")


class Allowed:
    """Hosts that may be visited even if private, and without TLS: `name`, `name:port` or an IP address."""

    __slots__ = ("_hosts",)

    def __init__(self, hosts: Collection[str]) -> None:
        self._hosts = frozenset(map(_allowed, hosts))

    def __contains__(self, address: Address) -> bool:
        return not self._hosts.isdisjoint({(address.host, None), (address.host, address.port)})

    def check(self, address: Address) -> None:
        """Raise RefusedError `not-https` or `private-address` for what can be refused without a lookup."""
        if address.scheme not in PORTS or (address.scheme == "http" and address not in self):
            hint = f"Use an https address. {_private_hint(address)}"
            raise RefusedError("not-https", f"The address {address.shown} does not start with https.", hint=hint)
        if address in self:
            return
        if address.literal:
            self.check_found(address, (address.literal,))
        elif "." not in address.host or f".{address.host}".endswith(tuple(f".{name}" for name in _PRIVATE_NAMES)):
            message = f"The host of {address.shown} has a name that only private networks use."
            raise RefusedError("private-address", message, hint=_private_hint(address))

    def check_found(self, address: Address, found: Collection[str]) -> None:
        """Raise RefusedError if one of the IP addresses of a host is not public."""
        private = next((ip for ip in found if not is_public(ip)), None)
        if private is not None and address not in self:
            message = f"The host of {address.shown} is at {private}, which is not on the public internet."
            raise RefusedError("private-address", message, hint=_private_hint(address))


def is_public(ip: str) -> bool:
    """Return whether an IP address, and any IPv4 address embedded in it, is public."""
    try:
        address = ip_address(ip)
    except ValueError:
        return False
    return _public_4(address) if isinstance(address, IPv4Address) else _public_6(address)


def _public_4(address: IPv4Address) -> bool:
    return not any(address in network for network in _NOT_PUBLIC)


def _public_6(address: IPv6Address) -> bool:
    if address.scope_id:
        return False
    if address.ipv4_mapped is not None:
        return _public_4(address.ipv4_mapped)
    carried = IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64:
        return _public_4(carried)
    if address not in _GLOBAL_6 or any(address in network for network in _NOT_PUBLIC_6):
        return False
    return (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP or _public_4(carried)


def _host_and_port(authority: str, text: str) -> tuple[str, int | None]:
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise _bad(text, "has no readable host and port")
    port = int(found[2]) if found[2] else None
    if port is not None and not 0 < port < 1 << 16:
        raise _bad(text, f"has the port {port}, which does not exist")
    return _host(found[1], text), port


def _host(spelled: str, text: str) -> str:
    """Return the normalized host."""
    if spelled.startswith("["):
        try:
            return str(IPv6Address(spelled[1:-1]))
        except AddressValueError as error:
            raise _bad(text, "has an invalid IPv6 address") from error
    name = spelled.lower()
    if not name.isascii():
        hint = "Write the host in its ASCII form, which begins with xn--."
        raise UsageError("bad-address", f"The address {shown(text)} has a host that is not ASCII.", hint=hint)
    labels = name.split(".")
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise _bad(text, "has a host that is not a name")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(name))
        except AddressValueError as error:
            hint = "Write an IP address as four decimal numbers, such as 192.0.2.1."
            message = f"The address {shown(text)} has an IP address in an unusual spelling."
            raise UsageError("bad-address", message, hint=hint) from error
    return name


def _allowed(entry: str) -> tuple[str, int | None]:
    """Read an entry of `private_hosts`; an IPv6 address needs no brackets."""
    try:
        return str(IPv6Address(entry)), None
    except AddressValueError:
        pass
    try:
        return _host_and_port(entry, entry)
    except UsageError as error:
        message = f"The entry {shown(entry)} of private_hosts is not a host."
        raise UsageError("bad-address", message, hint="Write a name, name:port or an IP address.") from error


def _bad(text: str, problem: str) -> UsageError:
    return UsageError("bad-address", f"The address {shown(text)} {problem}.", hint=_HINT)
