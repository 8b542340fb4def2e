"""Read the remains of a damaged SQLite table, row by row.

SQLite refuses a whole query at the first damaged page, but rows on the other pages can still be reached by their row
number. So: read forward until it fails; skip the damage in growing steps and continue from there; read backward from
each of these points, and from the end if no step succeeds; then halve the remaining gaps, the widest first, because an
intact page may be between two damaged ones. Tables without row numbers are read only forward and backward. Every gap is
reported.
"""

from __future__ import annotations

import heapq
import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FIRST, _LAST = -(2**63), 2**63 - 1
_PROBES = 5_000
"""Attempts to read inside gaps, per table: limits the time for a file of which little is left."""


class _Table(NamedTuple):
    """A table to copy: the columns of both files, and the key of its rows."""

    name: str
    there: str
    """Its name in the source."""
    columns: tuple[str, ...]
    numbered: bool
    """Whether rows have numbers (`rowid`)."""
    key: tuple[str, ...]
    """The column that is the number, if any; for rows without numbers, the columns that order them."""


class Copied(NamedTuple):
    """The result of copying one table."""

    rows: int
    lost: tuple[str, ...]


def copy_table(source: sqlite3.Connection, target: sqlite3.Connection, name: str, there: str = "") -> Copied:
    """Copy every readable row of a table that `target` lacks; only `source` may be damaged.

    `there` is the name of the table in `source`, if different.
    """
    try:
        table = _table(source, target, name, there or name)
    except sqlite3.Error as error:
        return Copied(0, (f"{name}: nothing could be read ({error})",))
    if not table.columns:
        return Copied(0, (f"{name}: the table is missing",))
    keep = _Keeper(target, table)
    gaps = list((_numbered if table.numbered else _keyed)(source, table, keep.add))
    return Copied(keep.rows, (*(f"{name}: {gap}" for gap in gaps), *keep.refusals()))


class _Keeper:
    """Adds rows to the target and counts them; a row that already exists in full is neither new nor lost."""

    def __init__(self, target: sqlite3.Connection, table: _Table) -> None:
        names = ["rowid", *table.columns] if table.numbered and not table.key else list(table.columns)
        columns = [_quoted(name) for name in names]
        into, marks = f"{_quoted(table.name)} ({', '.join(columns)})", ", ".join("?" * len(columns))
        same = " AND ".join(f"{column} IS ?" for column in columns)
        self._insert = f"INSERT OR IGNORE INTO {into} VALUES ({marks})"  # noqa: S608 - names come from the schema
        self._find = f"SELECT 1 FROM {_quoted(table.name)} WHERE {same}"  # noqa: S608 - names come from the schema
        self._skip = 1 if table.numbered and table.key else 0
        self._target = target
        self._table = table
        self._refused: list[str] = []
        self.rows = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row as selected, its number first if it has one."""
        values = row[self._skip :]
        try:
            added = self._target.execute(self._insert, values).rowcount == 1
        except sqlite3.IntegrityError as error:
            self._refused.append(f"{row[0]!r}: {error}")
            return
        if added:
            self.rows += 1
        elif self._target.execute(self._find, values).fetchone() is None:
            self._refused.append(f"{row[0]!r}: another row has the same key, or it breaks a rule of the table")

    def refusals(self) -> tuple[str, ...]:
        """Return one sentence about all rows that could be read but not stored."""
        if not self._refused:
            return ()
        return (f"{self._table.name}: {len(self._refused)} could not be kept; the first is {self._refused[0]}",)


def _table(source: sqlite3.Connection, target: sqlite3.Connection, name: str, there: str) -> _Table:
    known = {row[1] for row in source.execute(f"PRAGMA table_info({_quoted(there)})")}
    here = target.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
    columns = tuple(row[1] for row in here if row[1] in known)
    key = [(row[5], row[1], str(row[2]).upper()) for row in here if row[5]]
    try:
        target.execute(f"SELECT rowid FROM {_quoted(name)} LIMIT 0")  # noqa: S608 - names come from the schema
    except sqlite3.OperationalError:
        return _Table(name, there, columns, numbered=False, key=tuple(column for _, column, _ in sorted(key)))
    alias = tuple(column for _, column, kind in key if len(key) == 1 and kind == "INTEGER" and column in columns)
    return _Table(name, there, columns, numbered=True, key=alias)


def _numbered(source: sqlite3.Connection, table: _Table, add: Callable[[tuple[Any, ...]], None]) -> Iterator[str]:
    """Add all rows that can be reached by number; yield the gaps."""
    chosen = ", ".join(map(_quoted, table.columns))
    ask = f"SELECT rowid, {chosen} FROM {_quoted(table.there)} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"  # noqa: S608 - names come from the schema

    def forward(low: int, high: int) -> int:
        """Add rows from `low` on; return the first number not covered, above `high` if all are read."""
        for row in _rows(source, ask, (low, high)):
            if row is None or row[0] < low:
                return low
            add(row)
            low = row[0] + 1
        return high + 1

    def backward(low: int, high: int) -> int:
        """Add rows from `high` down; return the last number not covered, below `low` if all are read."""
        for row in _rows(source, ask + " DESC", (low, high)):
            if row is None or row[0] > high:
                return high
            add(row)
            high = row[0] - 1
        return low - 1

    gaps: list[tuple[int, int, int]] = []
    low = forward(_FIRST, _LAST)
    if low == _FIRST:  # the first page is damaged; numbers usually start at 1
        gaps.append((_FIRST, _FIRST, -1))
        low = forward(0, _LAST)
    while low <= _LAST:
        landing, reached = _leap(low, forward)
        high = backward(low, landing - 1)
        if low <= high:
            heapq.heappush(gaps, (low - high, low, high))
        low = reached
    yield from _halve(gaps, forward, backward)


def _leap(low: int, forward: Callable[[int, int], int]) -> tuple[int, int]:
    """Try growing steps from `low` until a read succeeds; return its start and end."""
    step = 1
    while low + step <= _LAST:
        reached = forward(low + step, _LAST)
        if reached > low + step:
            return low + step, reached
        step *= 2
    return _LAST + 1, _LAST + 1


def _halve(
    gaps: list[tuple[int, int, int]], forward: Callable[[int, int], int], backward: Callable[[int, int], int]
) -> Iterator[str]:
    """Search for intact pages inside the gaps, the widest first; yield the gaps that remain."""
    lost: list[tuple[int, int]] = []
    probes = _PROBES
    while gaps:
        _, low, high = heapq.heappop(gaps)
        if low in (high, _FIRST) or high == _LAST or probes <= 0:
            lost.append((low, high))
            continue
        probes -= 1
        middle = (low + high) // 2
        reached = forward(middle + 1, high)
        for part in ((low, backward(low, middle)), (reached, high if reached > high else backward(reached, high))):
            if part[0] <= part[1]:
                heapq.heappush(gaps, (part[0] - part[1], *part))
    yield from map(_gap, _joined(lost))


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge adjacent ranges."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and joined[-1][1] + 1 == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined


def _gap(ends: tuple[int, int]) -> str:
    low, high = ends
    if low == _FIRST:
        return "no row could be read" if high == _LAST else f"rows up to {high} could not be read"
    if high == _LAST:
        return f"rows from {low} on could not be read"
    return f"row {low} could not be read" if low == high else f"rows {low} to {high} could not be read"


def _keyed(source: sqlite3.Connection, table: _Table, add: Callable[[tuple[Any, ...]], None]) -> Iterator[str]:
    """Add all rows that can be reached from either end of the key; yield one sentence if the ends did not meet."""
    chosen = ", ".join(map(_quoted, table.columns))
    for direction in ("ASC", "DESC"):
        order = ", ".join(f"{_quoted(column)} {direction}" for column in table.key)
        ask = f"SELECT {chosen} FROM {_quoted(table.there)} ORDER BY {order}"  # noqa: S608 - names come from the schema
        for row in _rows(source, ask, ()):
            if row is None:
                break
            add(row)
        else:
            return
    yield "some rows between the first and the last could not be read"


def _rows(source: sqlite3.Connection, ask: str, values: tuple[int, ...]) -> Iterator[tuple[Any, ...] | None]:
    """Yield the rows of a query; a final `None` means that it failed."""
    try:
        yield from source.execute(ask, values)
    except (sqlite3.Error, UnicodeDecodeError):
        yield None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
