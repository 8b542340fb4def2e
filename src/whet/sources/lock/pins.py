"""Whether a skill is pinned, and why: by a decision of the person, or in a lock, which may come from somebody else."""

from __future__ import annotations

import os
from contextlib import suppress

from whet.errors import WhetError
from whet.library.roots import LOCK_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.library.card import Card
    from whet.library.workspace import Workspace


_LEVELS = 4
"""How far above a skill's directory the lock of its root may lie: skills lie in categories."""


def read_pin(card: Card, workspace: Workspace) -> str | None:
    """Why a skill is pinned, "" for no reason; None if it is not pinned. A lock that cannot be read pins nothing."""
    pins = workspace.decisions.pins()
    if (key := next((key for key in card.known_as if key in pins), None)) is not None:
        return pins[key]
    place = os.path.dirname(card.resolved)
    above = os.path.dirname(place)
    for _ in range(_LEVELS):
        above = os.path.dirname(above)
        if os.path.lexists(file := os.path.join(above, LOCK_NAME)):
            from whet.sources.lock.file import read

            with suppress(WhetError):
                path = os.path.relpath(place, above).replace(os.sep, "/")
                return next((read_pinned(one.pinned) for one in read(file).entries if one.path == path), None)
    return None


def write_pinned(reason: str | None) -> str:
    """How a lock and the history write that a skill is pinned: the reason, `yes` without one, "" if it is not."""
    return "" if reason is None else reason or "yes"


def read_pinned(written: str) -> str | None:
    """Why a skill is pinned; None if it is not."""
    return "" if written == "yes" else written or None
