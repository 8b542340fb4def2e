"""Secrets in variables: whose they are by their names, and where they may be sent.

A key that goes to the service it belongs to is how services are used. The same key anywhere else is stolen: known keys may go
only to the hosts of their service (`services.toml`, not what a host calls itself), and what no service takes (a private key, the
address of a database) may go nowhere. A key of a service nobody knows may go to any host of good name, in a place made for keys.
"""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from whet.guard.hosts import host_of

if TYPE_CHECKING:
    from whet.guard.finding import Severity
    from whet.guard.hosts import Host

Where = Literal["body", "head", "url", "login"]
"""Where in a request a secret stands; `login` is a place made for it, such as `curl --user`."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LABEL = re.compile(
    r"(?:auth\w{0,12}|tokens?|[\w-]{0,20}keys?|secrets?|pass(?:word|wd|phrase)?|pwd|credentials?|pat|jwt|session\w{0,10}|cookies?|bearer)"
    r"[\"'\]\\]{0,4}\s{0,3}[:=]\s{0,3}[\"'\\{$]{0,4}(?:(?:bearer|basic|token|key|apikey|bot|sso-key)[ =])?[\"'\\{$]{0,4}[\w@:.%-]{0,40}$",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def secret_name(name: str) -> bool:
    """Does the name of a variable say that it holds a secret?"""
    parts = _words(name)
    joined = "_".join(parts)
    table = _table()["names"]
    if any(f"_{pair}_" in f"_{joined}_" for pair in (*table["pairs"], *table["never_sent"])):
        return not parts[-1:] or parts[-1] not in ("path", "file", "name") or "credentials" in parts
    for at, part in enumerate(parts):
        key = part == "key" and at > 0 and (parts[at - 1] in table["keys"] or parts[at - 1] in _table()["hosts"])
        if (key or part in table["words"]) and not set(parts[at + 1 :]) & _not_behind():
            return True
    return False


@lru_cache(maxsize=4096)
def owner_of(name: str) -> str:
    """The well-known service that a secret belongs to by its name; empty where none is known."""
    parts = _words(name)
    hosts = _table()["hosts"]
    return next((part for part in parts if part in hosts), "")


def belongs(name: str, host: Host) -> bool:
    """Is this a host of the service that a secret is for?"""
    if owner := owner_of(name):
        return any(host.name == own or host.name.endswith("." + own) for own in _table()["hosts"][owner])
    labels = set(re.split(r"[.-]", host.name))
    return any(len(part) > 2 and part in labels for part in _words(name) if not _is_common(part))


def sent(name: str, url: str, where: Where, before: str = "") -> Severity | None:
    """How grave it is that a secret is sent there; `None` for its own service and for this machine.

    `before` is what stands before it in the request, such as `Authorization: Bearer `.
    """
    host = host_of(url)
    unknown = not host.name or any(sign in host.name for sign in "$`{<%")
    if unknown:
        return None if where == "login" or _LABEL.search(before) or not _never_sent(name) else "warn"
    if host.near or (belongs(name, host) and not _never_sent(name)):
        return None
    if host.shady or owner_of(name) or _never_sent(name):
        return "critical"
    if where == "login" or _LABEL.search(before):
        return "warn" if url[:7].lower() == "http://" and host.kind != "reserved" else None
    return "critical" if where in ("body", "url") or host.kind != "known" else "warn"


@lru_cache(maxsize=1024)
def _never_sent(name: str) -> bool:
    joined = "_".join(_words(name))
    return any(f"_{one}_" in f"_{joined}_" for one in _table()["names"]["never_sent"])


def _words(name: str) -> list[str]:
    return [part.lower() for part in _PARTS.findall(name)]


def _is_common(part: str) -> bool:
    names = _table()["names"]
    return part in names["words"] or part in names["keys"] or part in ("key", "id", "user", "url", "my", "your", "the")


@cache
def _not_behind() -> frozenset[str]:
    return frozenset(_table()["names"]["not_behind"])


@cache
def _table() -> dict[str, Any]:
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "services.toml"), "rb") as file:
        return tomllib.load(file)
