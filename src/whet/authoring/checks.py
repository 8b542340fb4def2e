"""The door for the guard: what is asked, and obeyed, before a write becomes visible.

There is no default. Whoever makes an `Author` says what checks its writes; `unchecked` is a check like any other, and
everything written under it is marked as such, in the answer and in the journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.skill.tree import Item


class Verdict(NamedTuple):
    """What a check says of a skill that is about to be written."""

    decision: str
    """`allow`, `ask` (a person decides: the write becomes a proposal) or `block`."""
    label: str
    """What the journal keeps, such as `safe` or `unchecked`."""
    reason: str = ""


class Check(Protocol):
    """Looks at what a skill will be. Raising blocks the write: a check that fails is no check that passed."""

    def __call__(self, name: str, after: Mapping[str, Item], actor: str) -> Verdict:
        """The verdict on one skill."""


def unchecked(name: str, after: Mapping[str, Item], actor: str) -> Verdict:  # noqa: ARG001  the shape of a check
    """Let everything pass, and say so."""
    return Verdict("allow", "unchecked", "Nothing has scanned this for dangers.")
