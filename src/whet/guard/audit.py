"""The record of decisions: append-only, each entry bound to the previous one by a hash.

Every decision of the guard about a package (a write, an approval, an override, the trust of a repository, an audit) is
recorded: time, actor, action, content, trust, findings, decision and reason. The entries are rows of a durable
database, so that a crash loses no acknowledged entry and processes can append at the same time. An override is also
an entry; it applies to exactly the content whose digest it names, until it is revoked.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.policy import Override
from whet.notes import Note
from whet.store.chain import LOST, REPAIR_HINT, Chain, in_ranges
from whet.store.clock import iso

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from whet.store.chain import Problem
    from whet.store.clock import Clock
    from whet.store.repair import Repaired
    from whet.store.state import StateDatabase
    from whet.values import Json


class AuditEntry(NamedTuple):
    """A decision that is not in the record yet."""

    actor: str
    action: str
    """`write`, `trust`, `view`, `audit`, `override`, `revoke`, `eval` or `publish`, or the action of an install."""
    skill: str
    path: str
    digest: str
    trust: str
    verdict: str
    decision: str
    reason: str


class Record(NamedTuple):
    """One recorded decision."""

    id: int
    time: int
    actor: str
    action: str
    skill: str
    path: str
    digest: str
    trust: str
    verdict: str
    decision: str
    reason: str
    journal: str
    """Number and hash of the newest entry of the history at that time."""
    previous: str
    hash: str

    def to_json(self) -> Json:
        """Return the record as JSON."""
        return {**self._asdict(), "time": iso(self.time)}


class Audit:
    """The record of one state directory. Reading never creates it."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self._clock = clock
        self._chain = Chain(state, "audit", Record._make, Record._fields, _seal, noun="record", durable=False)

    def add(self, entries: Iterable[AuditEntry]) -> tuple[Record, ...]:
        """Append decisions, all or none. Raises FailedError."""
        with self.state.write() as connection:
            return self._append(connection, entries)

    def _append(
        self, connection: sqlite3.Connection, entries: Iterable[AuditEntry], after: int = 0
    ) -> tuple[Record, ...]:
        newest = connection.execute("SELECT id || ' ' || hash FROM journal ORDER BY id DESC LIMIT 1").fetchone()
        rows = ((self._clock(), *map(plain, entry), newest[0] if newest else "") for entry in entries)
        return self._chain.append(connection, rows, after)

    def records(self, *, skill: str = "", last: int | None = None) -> tuple[Record, ...]:
        """Return every decision, oldest first; only those about `skill`, and only the `last` ones, if given."""
        return self._chain.rows("? IN ('', skill)", (plain(skill),), last=last)

    def about(self, path: str, action: str) -> Record | None:
        """Return the last decision of one kind about the skill at a path."""
        return next(iter(self._chain.rows("path = ? AND action = ?", (plain(path), action), last=1)), None)

    def last_about(self, digest: str, action: str) -> Record | None:
        """Return the last decision of one kind about exactly this content; `None` if the record's hash does not match."""
        found = self._chain.rows("digest = ? AND action = ?", (digest, action), last=1) if digest else ()
        return next((record for record in found if self._chain.is_whole(record)), None)

    def override(self, digest: str) -> Override | None:
        """Return the override for exactly this content; `None` if the record's hash does not match."""
        found = self._chain.rows("digest = ? AND action IN ('override', 'revoke')", (digest,), last=1) if digest else ()
        for record in found:
            if record.action == "override" and self._chain.is_whole(record):
                return Override(record.digest, record.reason, record.actor, iso(record.time))
        return None

    def verify(self) -> tuple[Problem, ...]:
        """Return the problems: entries that were changed, dropped or inserted, or that only the log has."""
        return tuple(self._chain.verify(self._chain.load()))

    def examine(self) -> tuple[Note, ...]:
        """Return the problems of the record as notes for a report about the machine."""
        return tuple(
            Note("audit-not-whole", "error", problem.message, REPAIR_HINT, path=self.state.path)
            for problem in self.verify()[:1]
        )

    def repair(self) -> Repaired:
        """Restore the entries that the log has, and record those that are lost."""
        from whet.store.repair import Repaired

        done, lost = self._chain.repair()
        if not lost:
            return Repaired(done)
        reason = f"Lost: records {in_ranges(lost)}."
        with self.state.write() as connection:
            self._append(connection, [AuditEntry("whet", LOST, "", "", "", "", "", "", reason)], lost[-1][1])
        return Repaired(done, (reason,))


def plain(text: str) -> str:
    """Return the text as a database can store it: an undecodable byte of a file name becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _seal(values: tuple[Any, ...]) -> str:
    """Return the hash of an entry, including the hash of the previous entry."""
    *before, journal, previous = values
    told = (*before, *([journal] if journal else ()), previous)  # entries of earlier versions had none
    return sha256(json.dumps(told, ensure_ascii=True, default=repr).encode()).hexdigest()
