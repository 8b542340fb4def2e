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
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

ORIGIN = "0" * 64
"""What stands before the first entry."""
_COLUMNS = "id, time, actor, action, skill, path, digest, trust, verdict, decision, reason, previous, hash"


class Note(NamedTuple):
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

    def to_json(self) -> dict[str, Any]:
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

    def add(self, notes: Iterable[Note]) -> tuple[Record, ...]:
        """Append decisions, all or none. Raises FailedError."""
        made: list[Record] = []
        with self.state.write() as connection:
            last = connection.execute("SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1").fetchone()
            number, previous = last or (0, ORIGIN)
            for note in notes:
                number += 1
                values: tuple[Any, ...] = (number, self._clock(), *map(plain, note), previous)
                record = Record._make((*values, _hash(values)))
                connection.execute(
                    f"INSERT INTO audit ({_COLUMNS}) VALUES ({', '.join('?' * len(record))})",  # noqa: S608  columns are ours
                    record,
                )
                previous = record.hash
                made.append(record)
        return tuple(made)

    def records(self, *, skill: str = "", last: int | None = None) -> tuple[Record, ...]:
        """Every decision, oldest first, or those about one skill, or only the last ones."""
        query = f"SELECT {_COLUMNS} FROM audit WHERE ? IN ('', skill) ORDER BY id DESC LIMIT ?"  # noqa: S608  columns are ours
        rows = self.state.read(query, (plain(skill), -1 if last is None else last))
        return tuple(Record(*row) for row in reversed(rows))

    def about(self, path: str, action: str) -> Record | None:
        """The last decision of one kind about the skill at a path."""
        query = f"SELECT {_COLUMNS} FROM audit WHERE path = ? AND action = ? ORDER BY id DESC LIMIT 1"  # noqa: S608  columns are ours
        rows = self.state.read(query, (plain(path), action))
        return Record(*rows[0]) if rows else None

    def override(self, digest: str) -> Override | None:
        """The override that holds for exactly this content. One whose own hash does not fit holds for nothing."""
        query = (
            f"SELECT {_COLUMNS} FROM audit WHERE digest = ? AND action IN ('override', 'revoke') "  # noqa: S608  columns are ours
            "ORDER BY id DESC LIMIT 1"
        )
        rows = self.state.read(query, (digest,)) if digest else []
        if not rows:
            return None
        record = Record(*rows[0])
        if record.action != "override" or record.hash != _hash(rows[0][:-1]):
            return None
        return Override(record.digest, record.reason, record.actor, iso(record.time))

    def verify(self) -> tuple[Problem, ...]:
        """What does not fit: an entry that was changed, dropped or slipped in."""
        problems: list[Problem] = []
        number, previous = 0, ORIGIN
        for row in self.state.read(f"SELECT {_COLUMNS} FROM audit ORDER BY id"):  # noqa: S608  columns are ours
            record = Record(*row)
            if record.id != number + 1:
                problems.append(Problem(record.id, "record-missing", f"Record {number + 1} is missing."))
            if record.previous != previous:
                message = f"Record {record.id} does not follow the one before it."
                problems.append(Problem(record.id, "chain-broken", message))
            if record.hash != _hash(row[:-1]):
                problems.append(Problem(record.id, "record-changed", f"Record {record.id} was changed."))
            number, previous = record.id, record.hash
        return tuple(problems)


def plain(text: str) -> str:
    """The text as a database can hold it: what stands for an undecodable byte of a file name becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _hash(values: tuple[Any, ...]) -> str:
    """The hash of an entry with what it says of the one before it."""
    return sha256(json.dumps(values, ensure_ascii=True, default=repr).encode()).hexdigest()
