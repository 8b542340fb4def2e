"""A chain: rows that are only ever appended, each bound to the one before it by a hash.

The hash of a row covers its fields and the hash of the row before, so that nothing can be changed, dropped or slipped
in later without being noticed. Rows that are missing at the very end leave nothing behind that could tell. The history
of skills and the record of decisions are two such tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whet.store.state import StateDatabase

ORIGIN = "0" * 64
"""What stands before the first row."""


class Row(Protocol):
    """A named tuple with the fields of a table: `id` first, `previous` and `hash` last."""

    @property
    def id(self) -> int: ...
    @property
    def previous(self) -> str: ...
    @property
    def hash(self) -> str: ...
    def __iter__(self) -> Iterator[Any]: ...


R = TypeVar("R", bound=Row)


class Checked(NamedTuple, Generic[R]):
    """A row, and how it fits the one before it."""

    row: R
    expected: int
    """The number it should have."""
    follows: bool
    """It names the hash of the row before it."""
    whole: bool
    """Its own hash fits what it says."""


class Chain(Generic[R]):
    """One table of the state database."""

    def __init__(
        self,
        state: StateDatabase,
        table: str,
        make: Callable[[Iterable[Any]], R],
        fields: Sequence[str],
        seal: Callable[[tuple[Any, ...]], str],
    ) -> None:
        """`seal` is the hash of a row, given all of its fields but the hash itself."""
        self._state, self._table, self._make, self._seal = state, table, make, seal
        self._select = f"SELECT {', '.join(fields)} FROM {table}"  # noqa: S608  names are ours

    def append(self, connection: sqlite3.Connection, values: Sequence[Any]) -> R:
        """Add a row in a transaction; `values` are its fields between `id` and `previous`."""
        last = self.last(connection)
        head = (last.id + 1, *values, last.hash) if last else (1, *values, ORIGIN)
        fields = (*head, self._seal(head))
        marks = ", ".join("?" * len(fields))
        connection.execute(f"INSERT INTO {self._table} VALUES ({marks})", fields)  # noqa: S608  names are ours
        return self._make(fields)

    def last(self, connection: sqlite3.Connection) -> R | None:
        """The last row, seen from a transaction."""
        found = connection.execute(f"{self._select} ORDER BY id DESC LIMIT 1").fetchone()
        return self._make(found) if found else None

    def rows(self, where: str = "", values: Sequence[Any] = (), *, last: int | None = None) -> tuple[R, ...]:
        """The rows, oldest first: all, those of a condition, or only the last ones."""
        query = f"{self._select} {f'WHERE {where}' if where else ''} ORDER BY id DESC LIMIT ?"
        found = self._state.read(query, (*values, -1 if last is None else last))
        return tuple(map(self._make, reversed(found)))

    def is_whole(self, row: R) -> bool:
        """Does the row say what was written?"""
        return row.hash == self._seal(tuple(row)[:-1])

    def check(self) -> Iterator[Checked[R]]:
        """Every row with how it fits."""
        number, previous = 0, ORIGIN
        for row in self.rows():
            yield Checked(row, number + 1, row.previous == previous, self.is_whole(row))
            number, previous = row.id, row.hash
