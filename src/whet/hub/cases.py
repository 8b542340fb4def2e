"""The queue of a hub's moderators: a case is opened for a version and a cause, and closed by a decision.

A version has at most one open case for each cause, however many reports or scans ask for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from whet.hub.database import Transaction

Place = tuple[str, str, str]
"""Owner, name and version."""
_SHOWN = 2_000
_FIELDS = "id, owner, name, version, cause, text, opened, closed, decision, reason, decider"


class Case(NamedTuple):
    """A case for the moderators."""

    id: int
    owner: str
    name: str
    version: str
    cause: str
    """`guard`, `duplicate` or `held` when it was published; `rescan`, `report` or `appeal` later."""
    text: str
    opened: int
    closed: int
    """0 while it is open."""
    decision: str
    reason: str
    decider: str

    @property
    def place(self) -> Place:
        """The version it is about."""
        return self.owner, self.name, self.version


def open_case(transaction: Transaction, place: Place, cause: str, text: str, now: int) -> int:
    """Return the id of the open case about a version for a cause, opened if there is none."""
    sql = "SELECT id FROM cases WHERE owner = ? AND name = ? AND version = ? AND cause = ? AND closed = 0"
    row = transaction.one(sql, *place, cause)
    if row is None:
        sql = "INSERT INTO cases (owner, name, version, cause, text, opened) VALUES (?, ?, ?, ?, ?, ?) RETURNING id"
        row = transaction.get(sql, *place, cause, text[:_SHOWN], now)
    number: int = row[0]
    return number


def close_cases(transaction: Transaction, place: Place, decision: str, reason: str, decider: str, now: int) -> None:
    """Close all open cases about a version."""
    sql = """UPDATE cases SET closed = ?, decision = ?, reason = ?, decider = ?
        WHERE owner = ? AND name = ? AND version = ? AND closed = 0"""
    transaction.run(sql, now, decision, reason, decider, *place)


def find_case(transaction: Transaction, number: int) -> Case | None:
    """Return a case, or None."""
    row = transaction.one(f"SELECT {_FIELDS} FROM cases WHERE id = ?", number)  # noqa: S608  a constant
    return Case(*row) if row else None


def list_cases(transaction: Transaction, *, closed: bool, after: int, limit: int) -> list[Case]:
    """Return cases in the order in which they were opened, after the given id."""
    state = "closed > 0" if closed else "closed = 0"
    sql = f"SELECT {_FIELDS} FROM cases WHERE id > ? AND {state} ORDER BY id LIMIT ?"  # noqa: S608  constants
    return [Case(*row) for row in transaction.all(sql, after, limit)]
