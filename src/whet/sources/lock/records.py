"""The rows of the ledger: every entry that was ever to be in a lock, and what became of it.

A row is `pending` until its change is made, then `done`; `void` when it was not. Rows are never removed: they are how
earlier contents of a skill are known again, and what a lost lock is rebuilt from.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError, InvalidError
from whet.guard.audit import plain
from whet.sources.lock.file import Installed, entry_json, entry_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

UNNEEDED = -1
"""For `Record.journal`: the history hears nothing of it."""
_INSERT = """
INSERT INTO installs (time, lock, path, run, entry, digest, journal, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""


class Record(NamedTuple):
    """One entry that was to be made, or a removal."""

    id: int
    path: str
    run: str
    entry: Installed | None
    journal: int
    """The last entry of the history before it was to be made, or `UNNEEDED`."""


class Records:
    """The rows of one state directory. Reading never creates the database."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self._clock = clock

    def intend(
        self,
        file: str,
        run: str,
        new: Iterable[tuple[str, Installed | None]],
        journal: int,
        found: Iterable[Installed] = (),
    ) -> list[int]:
        """Write down what is about to be in a lock, and what was found in it, all or nothing; the ids of the new."""
        now, lock = self._clock(), plain(file)
        ids = []
        with self.state.write() as connection:
            for entry in found:
                connection.execute(_INSERT, (now, lock, entry.path, "", *_columns(entry), UNNEEDED, "done"))
            for path, wanted in new:
                row = (now, lock, path, plain(run), *_columns(wanted), journal, "pending")
                ids.append(int(connection.execute(_INSERT, row).lastrowid or 0))
        return ids

    def mark(self, ids: Sequence[int], state: str) -> None:
        """Write down what became of rows."""
        if ids:
            with self.state.write() as connection:
                for id_ in ids:
                    connection.execute("UPDATE installs SET state = ? WHERE id = ?", (state, id_))

    def pending(self, file: str) -> tuple[Record, ...]:
        """What is on its way into a lock, or was when its process was killed."""
        return self._records("lock = ? AND state = 'pending'", file)

    def done(self, file: str, *, path: str = "", digest: str = "") -> tuple[Record, ...]:
        """What was in a lock, oldest first: everything, or about one skill, or one content."""
        return self._records(
            "lock = ? AND ? IN ('', path) AND ? IN ('', digest) AND state = 'done'", file, path, digest
        )

    def runs(self, file: str) -> frozenset[str]:
        """The runs of the history that a lock knows of: those that went, or are going, through the ledger."""
        query = "SELECT DISTINCT run FROM installs WHERE lock = ? AND state IN ('done', 'pending')"
        return frozenset(row[0] for row in self.state.read(query, (plain(file),)))

    def followed(self, file: str) -> int | None:
        """The last entry of the history that a lock has followed; None when it never did."""
        rows = self.state.read("SELECT journal FROM followed WHERE lock = ?", (plain(file),))
        return int(rows[0][0]) if rows else None

    def follow(self, file: str, journal: int) -> None:
        """Write down how far a lock has followed the history."""
        with self.state.write() as connection:
            connection.execute("INSERT OR REPLACE INTO followed VALUES (?, ?)", (plain(file), journal))

    def _records(self, where: str, file: str, *values: str) -> tuple[Record, ...]:
        query = f"SELECT id, path, run, entry, journal FROM installs WHERE {where} ORDER BY id"  # noqa: S608  ours
        rows = self.state.read(query, (plain(file), *values))
        return tuple(Record(id_, path, run, _entry(path, text), journal) for id_, path, run, text, journal in rows)


def _columns(entry: Installed | None) -> tuple[str | None, str]:
    """An entry as the database keeps it, and its digest."""
    return (None, "") if entry is None else (json.dumps(entry_json(entry), sort_keys=True), entry.digest)


def _entry(path: str, text: str | None) -> Installed | None:
    if text is None:
        return None
    try:
        return entry_of(path, json.loads(text))
    except (InvalidError, ValueError) as error:
        hint = "Restore Whet's state directory from a copy."
        raise FailedError("state-corrupt", f"A record of {path} cannot be read: {error}", hint=hint) from error
