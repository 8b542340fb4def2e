"""Environment variables that hold secrets, and the hosts to which each of them belongs."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from whet.guard.expression import expression
from whet.guard.hosts import host_of
from whet.guard.tables import load_toml, words
from whet.guard.taint.mark import HOLE, Mark

_PART = expression(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

Belongs = Literal["nowhere", "generic", "vendor", "other"]


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _PART.findall(name[:200])]


@lru_cache(maxsize=2048)
def secret_name(name: str) -> bool:
    """Return whether the name of a variable says that it holds a secret."""
    parts = _parts(name)
    if not parts or "_".join(parts) in words("keys", "plain"):
        return False
    joined = f"_{'_'.join(parts)}_"
    names = [one for one in (*words("keys", "nowhere"), *words("keys", "whole")) if f"_{one}_" in joined]
    if any(joined.endswith(f"_{one}_") for one in names):
        return True
    return parts[-1] not in words("keys", "about") and (
        bool(names) or (not words("keys", "words").isdisjoint(parts) and parts[0] not in words("keys", "public"))
    )


def secret_key(name: str) -> Mark | None:
    """Return the mark of an environment variable; None if it does not hold a secret."""
    if not secret_name(name):
        return None
    return Mark("key", name, name, grave=belongs(name) == "nowhere")


@lru_cache(maxsize=2048)
def belongs(name: str) -> Belongs:
    """Return whose secret a variable holds: that of a known vendor (`vendor`), of another named service (`other`), of
    no particular service (`generic`), or only the user's (`nowhere`), such as a private key or database password."""
    joined = "_".join(_parts(name))
    if joined in words("keys", "alone") or any(f"_{one}_" in f"_{joined}_" for one in words("keys", "nowhere")):
        return "nowhere"
    stems = _stems(name)
    if _vendor(stems) is not None:
        return "vendor"
    return "other" if len("".join(stems)) > 2 else "generic"


@lru_cache(maxsize=2048)
def owner(name: str) -> str:
    """Return an identifier of the owner of a secret, to distinguish several owners."""
    stems = _stems(name)
    return _vendor(stems) or "".join(stems) or name.lower()


def _stems(name: str) -> list[str]:
    """Return the parts of a name that identify the owner."""
    kinds = words("keys", "words"), words("keys", "generic")
    return [part for part in _parts(name) if not any(part in kind for kind in kinds)]


def _vendor(stems: list[str]) -> str | None:
    services = load_toml("keys")["services"]
    return next((stem for stem in ("".join(stems), *stems) if stem in services), None)


def own_service(name: str, url: str) -> bool:
    """Return whether a URL is a host of the service that a secret belongs to, and not plain HTTP."""
    host, stems = host_of(url), _stems(name)
    if HOLE in host.name or url[:5].lower() == "http:":
        return False
    vendor = _vendor(stems)
    if vendor is not None and host.kind != "reserved":
        return any(f".{host.name}".endswith(f".{one}") for one in load_toml("keys")["services"][vendor])
    if vendor is not None:
        return vendor in host.name.split(".")
    return not host.shady and host.kind != "free" and belongs(name) != "nowhere" and _named_after(stems, host.name)


def _named_after(stems: list[str], host: str) -> bool:
    """Return whether a label of the host contains the name of the service."""
    labels = host.split(".")
    names = [*(stem for stem in stems if len(stem) > 2), "".join(stems)]
    plain = [label.replace("-", "") for label in labels[: -1 if len(labels) > 1 else None]]
    return any(
        word in label or (len(label) > 3 and word.startswith(label)) for label in plain for word in names if word
    )
