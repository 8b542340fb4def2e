"""Names that are easily confused."""

from __future__ import annotations

from whet.skill.names import is_slip

_SAME = str.maketrans("01358", "oless")
_SHORTEST = 4
"""Shorter names often differ by one letter."""


def looks_like(name: str, other: str) -> bool:
    """Return whether two different names are easily confused."""
    if name == other or min(len(name), len(other)) < _SHORTEST:
        return False
    one, two = (_skeleton(text) for text in (name, other))
    return one == two or is_slip(one, two)


def _skeleton(name: str) -> str:
    """Return a name with similar characters unified."""
    return name.replace("-", "").replace("rn", "m").replace("vv", "w").translate(_SAME)
