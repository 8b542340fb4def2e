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
from whet.store.chain import Chain
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.store.clock import Clock
    from whet.store.state import StateDatabase
    from whet.values import Json


class AuditEntry(NamedTuple):
    """A decision that has no place in the record yet."""

    actor: str
    action: str
    """`write`, `trust`, `view`, `audit`, `override` or `revoke`."""
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
    previous: str
    hash: str

    def to_json(self) -> Json:
        """The record as every surface answers it."""
        return {**self._asdict(), "time": iso(self.time)}


class Problem(NamedTuple):
    """Something in the record that is not as it must be."""

    record: int
    code: str
    message: str


class Audit:
    """The record of one state directory. Reading never creates it."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self._clock = clock
        self._chain = Chain(state, "audit", Record._make, Record._fields, _seal)

    def add(self, entries: Iterable[AuditEntry]) -> tuple[Record, ...]:
        """Append decisions, all or none. Raises FailedError."""
        with self.state.write() as connection:
            return tuple(self._chain.append(connection, (self._clock(), *map(plain, entry))) for entry in entries)

    def records(self, *, skill: str = "", last: int | None = None) -> tuple[Record, ...]:
        """Every decision, oldest first, or those about one skill, or only the last ones."""
        return self._chain.rows("? IN ('', skill)", (plain(skill),), last=last)

    def about(self, path: str, action: str) -> Record | None:
        """The last decision of one kind about the skill at a path."""
        return next(iter(self._chain.rows("path = ? AND action = ?", (plain(path), action), last=1)), None)

    def override(self, digest: str) -> Override | None:
        """The override that holds for exactly this content. One whose own hash does not fit holds for nothing."""
        found = self._chain.rows("digest = ? AND action IN ('override', 'revoke')", (digest,), last=1) if digest else ()
        for record in found:
            if record.action == "override" and self._chain.is_whole(record):
                return Override(record.digest, record.reason, record.actor, iso(record.time))
        return None

    def verify(self) -> tuple[Problem, ...]:
        """What does not fit: an entry that was changed, dropped or slipped in."""
        problems: list[Problem] = []
        for record, expected, follows, whole in self._chain.check():
            if record.id != expected:
                problems.append(Problem(record.id, "record-missing", f"Record {expected} is missing."))
            if not follows:
                message = f"Record {record.id} does not follow the one before it."
                problems.append(Problem(record.id, "chain-broken", message))
            if not whole:
                problems.append(Problem(record.id, "record-changed", f"Record {record.id} was changed."))
        return tuple(problems)

    def examine(self) -> tuple[Note, ...]:
        """What is wrong with the record, for a report about the machine."""
        hint = "`whet audit --verify` tells all of it. Restore Whet's state directory from a copy."
        return tuple(
            Note("audit-not-whole", "error", problem.message, hint, path=self.state.path)
            for problem in self.verify()[:1]
        )


def plain(text: str) -> str:
    """The text as a database can hold it: what stands for an undecodable byte of a file name becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _seal(values: tuple[Any, ...]) -> str:
    """The hash of an entry with what it says of the one before it."""
    return sha256(json.dumps(values, ensure_ascii=True, default=repr).encode()).hexdigest()
