"""What is known of packages: `names.toml`, read once."""

from __future__ import annotations

import os
from functools import cache


@cache
def names(kind: str) -> frozenset[str]:
    """One of the lists: `indexes`, `pypi`, `npm` or `real`."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "names.toml"), "rb") as file:
        return frozenset(tomllib.load(file)[kind])


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
    return next((known for known in sorted(famous) if abs(len(known) - len(name)) < 2 and _one_slip(name, known)), "")


def _one_slip(one: str, two: str) -> bool:
    """One letter added, left out, replaced, or two neighbours exchanged."""
    start = 0
    while start < min(len(one), len(two)) and one[start] == two[start]:
        start += 1
    first, second = one[start:], two[start:]
    if len(first) == len(second):
        return first[1:] == second[1:] or (first[:2] == second[:2][::-1] and first[2:] == second[2:])
    return first[1:] == second if len(first) > len(second) else first == second[1:]
