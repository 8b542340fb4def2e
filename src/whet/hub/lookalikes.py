"""Names that are easily taken for others."""

from __future__ import annotations

from whet.skill.names import is_slip

_SAME = str.maketrans("01358", "oless")
_SHORTEST = 4
"""Shorter names differ from each other by one letter all the time."""


def looks_like(name: str, other: str) -> bool:
    """Is one name easily taken for the other? Equal names are not meant."""
    if name == other or min(len(name), len(other)) < _SHORTEST:
        return False
    one, two = (_skeleton(text) for text in (name, other))
    return one == two or is_slip(one, two)


def _skeleton(name: str) -> str:
    """What the eye keeps of a name."""
    return name.replace("-", "").replace("rn", "m").replace("vv", "w").translate(_SAME)
