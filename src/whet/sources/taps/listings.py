"""What sources had when they were last asked: a cache, so that a second search costs nothing and works without a net.

They are rows of `cache.db`. The cache only saves work: a row that is damaged or about something else is as good as none
and is replaced by the next answer.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import FailedError, WhetError
from whet.sources.model import Offer
from whet.sources.refs.reading import read_ref, ref_text
from whet.store.clock import system_clock

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from whet.library.roots import Place
    from whet.store.cache import CacheDatabase
    from whet.store.clock import Clock
    from whet.store.database import Database

MAX_COUNT = 64
MAX_BYTES = 4 * 1024 * 1024
MAX_TOTAL_BYTES = 32 * 1024 * 1024

_FORMAT = 1
_HOUR = 3600 * 1_000_000_000


class Kept(NamedTuple):
    """What a source had."""

    offers: tuple[Offer, ...]
    time: int
    """When it said so, in nanoseconds since 1970."""
    fresh: bool
    """Within the last hour: it need not be asked again."""


class Listings:
    """The cache of one person."""

    __slots__ = ("_clock", "_database", "_place")

    def __init__(self, database: CacheDatabase, place: Place, clock: Clock = system_clock) -> None:
        self._database = database
        self._place = place
        self._clock = clock

    def find(self, key: str) -> Kept | None:
        """What was kept under a key, however old; None when there is nothing that can be read."""
        query = "SELECT document FROM listings WHERE key = ?"
        rows = self._database.use(lambda database: database.read(query, (_name(key),)), create=False)
        try:
            return self._kept(json.loads(rows[0][0]), key) if rows else None
        except (ValueError, TypeError, KeyError, RecursionError, WhetError):
            return None

    def keep(self, key: str, revision: str, offers: Iterable[Offer]) -> bool:
        """Keep an answer, and let the oldest go where there are too many. False when it is too large to keep.

        Raises FailedError where it cannot be written.
        """
        rows = [[*offer._replace(ref=None), ref_text(offer.ref)] for offer in offers]  # type: ignore[arg-type]  # the text stands for it
        now = self._clock()
        document = {"format": _FORMAT, "key": key, "revision": revision, "time": now, "offers": rows}
        text = json.dumps(document, separators=(",", ":"))
        if len(text) > MAX_BYTES:
            return False

        def write(database: Database) -> bool:
            with database.write() as connection:
                connection.execute("REPLACE INTO listings VALUES (?, ?, ?)", (_name(key), now, text))
                _prune(connection, _name(key))
            return True

        if not self._database.use(write):
            problem = self._database.problem
            message = problem.message if problem else f"{self._database.path} is in use."
            raise FailedError("state-failed", message, hint=problem.hint if problem else "Try again.")
        return True

    def _kept(self, document: Any, key: str) -> Kept:
        if document["format"] != _FORMAT or document["key"] != key:
            raise ValueError("it is about something else")
        offers = tuple(_offer(row, self._place) for row in document["offers"])
        time = document["time"]
        return Kept(offers, time, 0 <= self._clock() - time < _HOUR)


def _name(key: str) -> str:
    """A key as a database can hold it."""
    return sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _prune(connection: sqlite3.Connection, newest: str) -> None:
    """Let the rows go that were written longest ago, until few and small enough are left."""
    query = "SELECT key, length(document) FROM listings ORDER BY key = ? DESC, time DESC, key"
    left = MAX_TOTAL_BYTES
    for number, (key, size) in enumerate(connection.execute(query, (newest,)).fetchall(), 1):
        left -= size
        if number > MAX_COUNT or (left < 0 and number > 1):
            connection.execute("DELETE FROM listings WHERE key = ?", (key,))


def _offer(row: Any, place: Place) -> Offer:
    """One offer as it was kept; anything else raises."""
    *values, text = row
    offer = Offer(*values)._replace(ref=read_ref(text, place))
    texts = (offer.name, offer.description, offer.revision, offer.marker, offer.version, offer.digest, offer.group)
    if not all(isinstance(value, str) for value in texts) or not isinstance(offer.hidden, bool):
        raise TypeError("a value is of another type")
    return offer
