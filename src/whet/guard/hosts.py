"""Knowledge about the hosts that skills talk to: trusted installers, and services that attackers use.

The lists are small on purpose. A host on none of them is neither good nor bad.
"""

from __future__ import annotations

import ipaddress
import re
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from whet.guard.expression import expression
from whet.guard.tables import load_table, shape

Kind = Literal[
    "loopback", "private", "address", "paste", "drop", "tunnel", "shortener", "free", "reserved", "known", "other"
]

URL = expression(
    r"[HhFfWw](?:(?<=[Hh])[Tt]{2}[Pp][Ss]?|(?<=[Ff])[Tt][Pp]|(?<=[Ww])[Ss]{1,2})://[^\s\"'`<>()\[\]{}|\\^]{1,2000}"
)
"""Case is written out because an expression that begins with one of few letters is faster."""
_AUTHORITY = expression(r"^[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?(\[[0-9a-f:.]+\]|[^/:?#\s]+)", re.IGNORECASE)

_TELLING = shape("network", "telling", 0, frame=r"(?:^|[.-])(?:{})(?:[.-]|\d|$)")
_TOP = shape("network", "top", 0, frame=r"\.(?:{})$")


_PLACEHOLDER = shape("network", "placeholder", 0)


class Host(NamedTuple):
    """A host of a URL, and its kind."""

    name: str
    kind: Kind

    @property
    def near(self) -> bool:
        """Whether the host is this machine or in its own network."""
        return self.kind in ("loopback", "private")

    @property
    def shady(self) -> bool:
        """Whether the host is disreputable: no trustworthy installer or API is served from here."""
        return self.kind in ("address", "paste", "drop", "tunnel", "shortener")


@lru_cache(maxsize=4096)
def host_of(url: str) -> Host:
    """Return the host of a URL (or a bare `host/path`)."""
    found = _AUTHORITY.match(url)
    bare = url.partition("/")[0].rpartition("@")[2].partition(":")[0]
    name = (found[1] if found else bare).lower().rstrip(".")
    return Host(name, _kind(name, url.lower()))


def is_unsafe(url: str) -> bool:
    """Return whether a URL leads to a disreputable host, or over plain HTTP to another machine."""
    host = host_of(url)
    return host.shady or (url[:5].lower() == "http:" and not host.near)


def distrust(text: str) -> int:
    """Return how little the address in a text can be trusted, from 0 to 3; a text without one counts 1 if it is short, like `/`."""
    found = URL.search(text)
    if found is None:
        return int(len(text) < 3)
    host = host_of(found[0])
    if host.near or is_installer(found[0].lower()):
        return 0
    return 3 if is_unsafe(found[0]) else 1 if host.kind == "known" else 2


def is_installer(url: str) -> bool:
    """Return whether a URL is the installer of a well-known tool, over TLS."""
    lowered = url.lower()
    bare = lowered.removeprefix("https://").removeprefix("www.").partition("?")[0]
    return not lowered.startswith("http://") and f"{bare}/".startswith(_installer_paths())


@lru_cache(maxsize=1024)
def serves_installers(name: str) -> bool:
    """Return whether the host serves the installer of a well-known tool."""
    return any(entry.partition("/")[0] == name for entry in _installers())


@lru_cache(maxsize=1024)
def serves_modules(url: str) -> bool:
    """Return whether the host serves packages of public registries for programs to import."""
    name = host_of(url).name
    return any(name == one or name.endswith(f".{one}") for one in load_table("hosts")["modules"])


def is_placeholder(name: str) -> bool:
    """Return whether a host name is a placeholder that the reader must replace."""
    return _PLACEHOLDER.match(name) is not None


def is_stand_in(text: str) -> bool:
    """Return whether a URL or command names a host that belongs to nobody: an example, a blank, `ATTACKER_IP`.

    Data sent there reaches nobody, so an attacker would not write it.
    """
    name = host_of(text).name
    if is_placeholder(name) or ".".join(name.split(".")[-2:]) in load_table("hosts")["stand_in"] or _BLANK.search(name):
        return True
    address = _address(name)
    if address is not None:
        return address.is_private  # addresses for documentation are private, too
    return " " in text and _BLANK.search(text) is not None and not _NUMBERS.search(text) and "://" not in text


_BLANK = shape("network", "blank", re.IGNORECASE)
_NUMBERS = expression(r"\d{1,3}(?:\.\d{1,3}){3}")


@lru_cache(maxsize=1024)
def is_shared(url: str) -> bool:
    """Return whether a URL is a place on a well-known host that anyone can have: a bucket, a form, a gist."""
    bare = (url.partition("://")[2] or url).lower()
    return _shared().match(bare) is not None


@cache
def _shared() -> re.Pattern[str]:
    return re.compile("|".join(load_table("hosts")["shared"]))


def odd_top(name: str) -> bool:
    """Return whether the host has a top-level domain that attackers often use and companies seldom do."""
    return _TOP.search(name) is not None


def _kind(name: str, url: str) -> Kind:
    if (address := _address(name)) is not None:
        if address.is_loopback or address.is_unspecified:
            return "loopback"
        return "private" if _is_private(address) else "address"
    if name == "localhost" or name.endswith(".localhost"):
        return "loopback"
    if name.endswith((".local", ".internal", ".lan")) or "." not in name:
        return "private"
    if _TELLING.search(name):
        return "drop"
    bare = url.partition("://")[2] or url
    if bare.startswith(_drop_paths()):
        return "drop"
    labels = name.split(".")
    kinds = _kinds()
    for start in range(len(labels)):
        if (kind := kinds.get(".".join(labels[start:]))) is not None:
            return kind
    return "paste" if labels[0] in ("paste", "pastebin", "hastebin") else "other"


@cache
def _installers() -> tuple[str, ...]:
    """Return the addresses of the installers of well-known tools, which people pipe into a shell."""
    return tuple(load_table("hosts")["installers"])


@cache
def _installer_paths() -> tuple[str, ...]:
    return tuple(f"{entry.rstrip('/')}/" for entry in _installers())


@cache
def _drop_paths() -> tuple[str, ...]:
    return tuple(entry for entry in load_table("hosts")["drop"] if "/" in entry)


_LISTED = ("known", "reserved", "free", "shortener", "tunnel", "paste", "drop")


@cache
def _kinds() -> dict[str, Kind]:
    """Return the kind of each listed host; a later list of the table wins."""
    return {name: kind for kind, names in load_table("hosts").items() if kind in _LISTED for name in names}


_DOCUMENTATION = tuple(
    map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"))
)
"""Documentation networks, which count as public: examples of attacks use them."""


def _is_private(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_private and not any(
        address in network for network in _DOCUMENTATION if network.version == address.version
    )


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address of a host name, even if it is a single number, hex or octal, as curl accepts it."""
    bare = name.strip("[]")
    if not bare or not (bare[0].isdigit() or ":" in bare):
        return None
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        pass
    parts = bare.split(".")
    try:
        numbers = [
            int(part, 16 if part.startswith("0x") else 8 if part.startswith("0") and part != "0" else 10)
            for part in parts
        ]
    except ValueError:
        return None
    if len(numbers) > 4 or any(number < 0 for number in numbers) or (len(numbers) == 1 and numbers[0] < 1 << 24):
        return None
    total = 0
    for number in numbers[:-1]:
        if number > 255:
            return None
        total = total << 8 | number
    total = total << 8 * (5 - len(numbers)) | numbers[-1]
    return ipaddress.IPv4Address(total) if total < 1 << 32 else None
