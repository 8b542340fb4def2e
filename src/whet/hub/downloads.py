"""Approximate numbers of downloads.

Downloads are counted in memory and stored every few seconds: a killed process loses the latest. The same caller and the
same version count once an hour in each process, so that a loop does not make a skill popular.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whet.hub.database import Database, Transaction

_HOUR = 3600
_MOST_SEEN = 100_000


class Downloads:
    """The downloads that are not stored yet."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._counts = Counter[int]()
        self._seen: set[tuple[str, int]] = set()
        self._hour = 0

    def count(self, caller: str, version: int, now: int) -> None:
        """Count a download of the version with this id."""
        with self._lock:
            if now // _HOUR != self._hour or len(self._seen) >= _MOST_SEEN:
                self._hour = now // _HOUR
                self._seen.clear()
            if (caller, version) not in self._seen:
                self._seen.add((caller, version))
                self._counts[version] += 1

    def flush(self) -> None:
        """Store the counts."""
        with self._lock:
            counts, self._counts = self._counts, Counter[int]()
        if not counts:
            return

        def change(transaction: Transaction) -> None:
            for version, count in sorted(counts.items()):  # in one order, so that two hubs do not block each other
                transaction.run("UPDATE versions SET downloads = downloads + ? WHERE id = ?", count, version)
                sql = "UPDATE skills SET downloads = downloads + ? WHERE id = (SELECT skill FROM versions WHERE id = ?)"
                transaction.run(sql, count, version)

        try:
            self._database.write(change)
        except BaseException:
            with self._lock:
                self._counts += counts
            raise
