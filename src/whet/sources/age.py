"""The age of offered skills. Skills that are too young are not installed.

Sources state a publication time: a hub its own time, a repository the time of a commit. The author of a commit chooses
its time, so observations take precedence: a revision seen at an earlier look is at least as old as that look, and one
not seen then is younger. Without a time, or with one in the future, the age counts from the first look.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from whet.errors import WhetError
from whet.records import NamedTuple
from whet.sources.refs.parse import ref_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from whet.sources.model import Offer, Ref
    from whet.store.state import StateDatabase

DAY = 86_400
_SECOND = 1_000_000_000
_KEPT = 40
"""Looks at one source that are remembered."""


class Sighting(NamedTuple):
    """A revision of a source, and when it was first and last seen there, in seconds."""

    revision: str
    first: int
    last: int


class Commit(NamedTuple):
    """A commit of a branch and the time it claims, in seconds."""

    id: str
    time: int


class Cooldown(NamedTuple):
    """The data that a source needs to offer only skills that are old enough."""

    before: int
    """Later publications are too young, in seconds since 1970."""
    looks: Looks
    installed: Mapping[str, str]
    """Installed revisions by path: nothing older is offered."""


def published(claimed: int, revision: str, seen: Sequence[Sighting], now: int, newer: Collection[str] = ()) -> int:
    """Return the best estimate of the publication time.

    `claimed` is the time that the source states, 0 for none; `newer` are revisions that contain this one.
    """
    present = [look for look in seen if look.revision == revision or look.revision in newer]
    first = min((look.first for look in present), default=now)
    absent = max((look.last for look in seen if look not in present and look.last <= first), default=0)
    claim = claimed if 0 < claimed <= now else first
    return min(max(claim, absent), first)


def choose_commit(history: Sequence[Commit], seen: Sequence[Sighting], now: int, before: int) -> tuple[int, int]:
    """Return the index of the newest commit that is old enough, in a history with the newest first, and its time.

    A commit is never older than its parents, whatever it claims. The index is -1 if there is none.
    """
    times: list[int] = []
    for commit in reversed(history):
        times.append(max(commit.time, times[-1] if times else 0))
    times.reverse()
    newer: set[str] = set()
    for place, (commit, time) in enumerate(zip(history, times, strict=True)):
        found = published(time, commit.id, seen, now, newer)
        if found <= before:
            return place, found
        newer.add(commit.id)
    return -1, 0


def describe_age(seconds: int) -> str:
    """Return an age in words: "5 hours"."""
    for unit, size in (("day", DAY), ("hour", 3600), ("minute", 60)):
        if count := max(seconds, 0) // size:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


def read_time(text: str) -> int:
    """Parse a time of JSON or of an HTTP header into seconds; 0 if it is invalid."""
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            time = read(text)
            return max(int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()), 0)
        except (ValueError, OverflowError, OSError):
            continue
    return 0


def is_local(ref: Ref) -> bool:
    """Return whether a source is on this machine, where its age does not matter."""
    return ref.kind in ("path", "archive") or "://" not in ref.location or ref.location.startswith("file:")


def is_exact(offer: Offer) -> bool:
    """Return whether exactly this content was requested: a commit, a version or a hash."""
    return bool(offer.ref.ref) and offer.ref.ref == offer.revision


class Looks:
    """The revisions seen at sources, and when. Collected from several threads and saved together."""

    def __init__(self, state: StateDatabase, now: int) -> None:
        """`now` is in nanoseconds."""
        self.now = now // _SECOND
        self._state = state
        self._lock = Lock()
        self._new: set[tuple[str, str]] = set()

    def seen(self, ref: Ref) -> tuple[Sighting, ...]:
        """Return the revisions seen at a source before."""
        query = "SELECT revision, first, last FROM sightings WHERE source = ?"
        with self._lock, suppress(WhetError):  # without memory, revisions look younger
            return tuple(Sighting(*row) for row in self._state.read(query, (ref_text(ref),)))
        return ()

    def published(self, ref: Ref, claimed: int, revision: str) -> int:
        """Return the publication time of a revision, and record that it was seen. `ref` is the followed source."""
        with self._lock:
            self._new.add((ref_text(ref), revision))
        return published(claimed, revision, self.seen(ref), self.now)

    def keep(self) -> None:
        """Save the new observations."""
        with self._lock:
            new, self._new = self._new, set()
        if not new:
            return
        add = (
            "INSERT INTO sightings VALUES (?, ?, ?, ?) "
            "ON CONFLICT (source, revision) DO UPDATE SET last = max(last, excluded.last)"
        )
        forget = (
            "DELETE FROM sightings WHERE source = ?1 AND revision NOT IN "
            "(SELECT revision FROM sightings WHERE source = ?1 ORDER BY last DESC LIMIT ?2)"
        )
        with suppress(WhetError), self._state.write(durable=False) as connection:
            for source, revision in sorted(new):
                connection.execute(add, (source, revision, self.now, self.now))
                connection.execute(forget, (source, _KEPT))
