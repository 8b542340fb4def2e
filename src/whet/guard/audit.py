"""The record of decisions: append-only, each entry bound to the one before it by a hash.

Whatever the guard decides about a package (a write, an approval, an override, the trust of a repository, an audit) is
kept: when, who, what, which content, how far trusted, what was found, what was decided and why. The entries are rows of
a durable database, so that a crash loses none that was acknowledged and processes can append at the same time. An
override is such an entry too; it holds for exactly the content whose digest it names, until it is revoked.
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
    """A decision that has no place in the record yet."""

    actor: str
    action: str
    """`write`, `trust`, `view`, `audit`, `override`, `revoke`, `eval` or `publish`, or what an install did."""
    skill: str
    path: str
    digest: str
    trust: str
    verdict: str
    decision: str
    reason: str


class Record(NamedTuple):
    """One decision."""

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
        """The record as JSON."""
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
            return tuple(self._append(connection, entry) for entry in entries)

    def _append(self, connection: sqlite3.Connection, entry: AuditEntry, after: int = 0) -> Record:
        newest = connection.execute("SELECT id || ' ' || hash FROM journal ORDER BY id DESC LIMIT 1").fetchone()
        values = (self._clock(), *map(plain, entry), newest[0] if newest else "")
        return self._chain.append(connection, values, after)

    def records(self, *, skill: str = "", last: int | None = None) -> tuple[Record, ...]:
        """Every decision, oldest first, or those about one skill, or only the last ones."""
        return self._chain.rows("? IN ('', skill)", (plain(skill),), last=last)

    def about(self, path: str, action: str) -> Record | None:
        """The last decision of one kind about the skill at a path."""
        return next(iter(self._chain.rows("path = ? AND action = ?", (plain(path), action), last=1)), None)

    def last_about(self, digest: str, action: str) -> Record | None:
        """The last decision of one kind about exactly this content. One whose own hash does not fit is none."""
        found = self._chain.rows("digest = ? AND action = ?", (digest, action), last=1) if digest else ()
        return next((record for record in found if self._chain.is_whole(record)), None)

    def override(self, digest: str) -> Override | None:
        """The override that holds for exactly this content. One whose own hash does not fit holds for nothing."""
        found = self._chain.rows("digest = ? AND action IN ('override', 'revoke')", (digest,), last=1) if digest else ()
        for record in found:
            if record.action == "override" and self._chain.is_whole(record):
                return Override(record.digest, record.reason, record.actor, iso(record.time))
        return None

    def verify(self) -> tuple[Problem, ...]:
        """What does not fit: an entry that was changed, dropped or slipped in, or that only the log has."""
        return tuple(self._chain.verify(self._chain.load()))

    def examine(self) -> tuple[Note, ...]:
        """What is wrong with the record, for a report about the machine."""
        return tuple(
            Note("audit-not-whole", "error", problem.message, REPAIR_HINT, path=self.state.path)
            for problem in self.verify()[:1]
        )

    def repair(self) -> Repaired:
        """Restore what the log has, and record what is lost."""
        from whet.store.repair import Repaired

        done, lost = self._chain.repair()
        if not lost:
            return Repaired(done)
        reason = f"Lost: records {in_ranges(lost)}."
        with self.state.write() as connection:
            self._append(connection, AuditEntry("whet", LOST, "", "", "", "", "", "", reason), lost[-1][1])
        return Repaired(done, (reason,))


def plain(text: str) -> str:
    """The text as a database can hold it: what stands for an undecodable byte of a file name becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _seal(values: tuple[Any, ...]) -> str:
    """The hash of an entry with what it says of the one before it."""
    *before, journal, previous = values
    told = (*before, *([journal] if journal else ()), previous)  # those of versions before had none
    return sha256(json.dumps(told, ensure_ascii=True, default=repr).encode()).hexdigest()
