"""What is known of packages: `data/package_names.toml`, read once."""

from __future__ import annotations

from functools import cache

from whet.guard.tables import load_toml
from whet.skill.names import is_slip


@cache
def names(kind: str) -> frozenset[str]:
    """One of the lists: `indexes`, `pypi`, `npm` or `real`."""
    return frozenset(load_toml("package_names")[kind])


def is_index(host: str) -> bool:
    """Is this the host of a package index that is official, a mirror of one, or made for a company's own packages?"""
    if host.endswith(".amazonaws.com"):
        return ".codeartifact." in f".{host}" or ".s3." in f".{host}"
    labels = host.split(".")
    return any(".".join(labels[at:]) in names("indexes") for at in range(len(labels)))


def lookalike(name: str, kind: str) -> str:
    """The well-known package, of `pypi` or `npm`, whose name is a slip of the finger away; empty when there is none."""
    famous = names(kind)
    if name in famous or name in names("real") or not 4 <= len(name) <= 40:
        return ""
    return next((known for known in sorted(famous) if abs(len(known) - len(name)) < 2 and is_slip(name, known)), "")
