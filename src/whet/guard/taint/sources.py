"""The judge of sources: the origin of packages, look-alike names, and the target of an agent's requests.

`data/package_names.toml` lists the known indexes and names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import URL, host_of, is_placeholder
from whet.guard.tables import shape, words
from whet.guard.taint.network import Judgement
from whet.skill.names import is_slip

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACEHOLDER = expression(r"[<>{}$%*]|your|example\.|company|\bcorp\b|acme|\.\.\.")
_CLAIM = shape("package_names", "claims", frame=r"^(?:{})-|-(?:{})$")
"""The words with which a name claims to be the real one."""
_SYSTEM = expression(r"^(?:git|hg|svn|sparse)\+")


def is_index(host: str) -> bool:
    """Return whether the host is an official package index, a mirror, or made for a company's own packages."""
    if host.endswith(".amazonaws.com"):
        return any(part in f".{host}" for part in (".codeartifact.", ".dkr.ecr.", ".s3."))
    labels = host.split(".")
    return any(".".join(labels[at:]) in words("package_names", "indexes") for at in range(len(labels)))


def judge_index(address: str, *, unchecked: bool = False) -> Iterator[Judgement]:
    """Judge the address of a package index; `unchecked` if its certificate is not verified."""
    url = _SYSTEM.sub("", address.strip("\"' "))
    host = host_of(url)
    if not host.name or host.near or is_index(host.name) or _PLACEHOLDER.search(url.lower()):
        return
    unsafe = host.shady or unchecked or url.lower().startswith("http://") or _imitates(host.name)
    yield Judgement("index-redirect", "critical" if unsafe else "warn", host.name)


def _imitates(host: str) -> bool:
    """Return whether a host begins with the name of a package index, such as `pypi.org.mirror.example`."""
    labels = host.split(".")
    return any(is_index(".".join(labels[:end])) for end in range(2, len(labels)))


def judge_image(image: str) -> Iterator[Judgement]:
    """Judge a container image by its registry, and by an owner whose name is made of that of an official image."""
    host, slash, rest = image.partition("/")
    if slash and ("." in host or ":" in host):
        yield from judge_index(f"https://{host}")
        return
    name = re.split(r"[:@]", rest)[0]
    if (
        name in words("package_names", "images")
        and name in host != name
        and host not in words("package_names", "owners")
    ):
        yield Judgement("typosquat-dependency", None, host, f"{host}/{name} looks like the official image {name}")


def judge_package(address: str, *, runs: bool = False) -> Iterator[Judgement]:
    """Judge a package that may be named by a URL; `runs` if it runs as soon as something is installed."""
    url = _SYSTEM.sub("", address.strip())
    if not re.match(r"(?:https?|ssh|git|ftp)://", url, re.IGNORECASE) or _PLACEHOLDER.search(url.lower()):
        return
    host, plain = host_of(url), url.lower().startswith("http://")
    known = host.kind == "known" or is_index(host.name)
    if not host.near and (plain or not known):
        yield Judgement("package-from-address", "critical" if host.shady or runs else "warn", host.name)


def judge_base(variable: str, url: str, *, shipped: bool = False) -> Iterator[Judgement]:
    """Judge a variable that sets the address of an agent's requests.

    A proxy depends on the network that a command runs in, except in settings that are `shipped` to everybody.
    """
    host = host_of(url)
    if variable not in words("manifests", "bases") or not URL.match(url) or is_placeholder(host.name):
        return
    proxy = "PROXY" in variable.upper()
    odd = host.shady or (url.lower().startswith("http:") and not proxy)
    if not host.near and host.kind != "known" and (odd or shipped or not proxy):
        yield Judgement("agent-redirect", "critical" if odd else "warn", host.name)


def lookalike(name: str, kind: str) -> str:
    """Return the well-known name of a kind, such as `pypi`, that a name is taken for; empty if there is none.

    It is one typing error away, or has the same letters and beginning (`scypi`), or more words (`requests-official`).
    """
    famous = words("package_names", kind)
    if name in famous or name in words("package_names", "real") or not 4 <= len(name) <= 40:
        return ""
    bare = _CLAIM.sub("", name)
    if bare != name and bare in famous:
        return bare
    near = (known for known in sorted(famous) if abs(len(known) - len(name)) < 3)
    return next(
        (known for known in near if is_slip(name, known) or _mixes(name, known) or _reads(name) == _reads(known)), ""
    )


def _reads(name: str) -> str:
    """Return a name as hasty readers see it: `rn` looks like `m`, `1` like `l`."""
    return name.replace("rn", "m").replace("vv", "w").replace("cl", "d").replace("1", "l").replace("0", "o")


def _mixes(name: str, known: str) -> bool:
    """Return whether a name has the letters of a known one in another order, after the same two."""
    return name[:2] == known[:2] and sorted(name) == sorted(known)
