"""Whether a skill is pinned, and why: by a decision of the user, or in a lock, which others may have written."""

from __future__ import annotations

import os
from contextlib import suppress

from whet.errors import WhetError
from whet.library.roots import LOCK_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.sources.lock.file import Installed


_LEVELS = 4
"""Levels above a skill's directory at which the lock of its root may be: skills can be in categories."""


def read_pin(card: Card, workspace: Workspace, entry: Installed | None) -> str | None:
    """Return why a skill is pinned, "" for no reason; None if it is not pinned. `entry` is its lock entry."""
    pins = workspace.decisions.pins()
    if (key := next((key for key in card.known_as if key in pins), None)) is not None:
        return pins[key]
    return read_pinned(entry.pinned) if entry else None


def read_entry(card: Card) -> Installed | None:
    """Return the lock entry of a skill, with an absolute source; None if no lock names it.

    An unreadable lock names nothing.
    """
    place = os.path.dirname(card.resolved)
    above = os.path.dirname(place)
    for _ in range(_LEVELS):
        above = os.path.dirname(above)
        if os.path.lexists(file := os.path.join(above, LOCK_NAME)):
            from whet.sources.lock.file import opened_source, read

            with suppress(WhetError):
                path = os.path.relpath(place, above).replace(os.sep, "/")
                entry = next((one for one in read(file).entries if one.path == path), None)
                return entry._replace(source=opened_source(entry.source, above)) if entry else None
    return None


def write_pinned(reason: str | None) -> str:
    """Return a pin as a lock and the history write it: the reason, `yes` without one, "" if not pinned."""
    return "" if reason is None else reason or "yes"


def read_pinned(written: str) -> str | None:
    """Return why a skill is pinned; None if it is not."""
    return "" if written == "yes" else written or None
