"""Hash chains: append-only rows, each bound to the previous one by a hash.

The hash of a row covers its fields and the hash of the previous row, so that later changes, deletions and insertions
are noticed. The history of skills and the record of decisions are two such tables.

Each chain has a log beside the database: one line of JSON for each row, appended after the commit and before the change
is acknowledged. Its last line says how long the table must be, and from its lines `repair` restores rows that the
database has lost. If a killed process left the log shorter than the table, the next append completes it.

Rows that are in neither stay missing. A row with the action `lost` names their numbers, which then no longer count as a
problem: the chain can be proven from there on, and the loss stays on record.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from whet.errors import FailedError, WhetError
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.store.atomic import free_name, write_bytes
from whet.store.directories import sync_directory
from whet.store.failures import os_failures
from whet.store.home import LOGS
from whet.store.locks import FileLock, lock_path
from whet.store.regular import is_irregular, open_regular

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from whet.store.state import StateDatabase

ORIGIN = "0" * 64
"""Hash before the first row."""
LOST = "lost"
"""Action of a row that names lost rows."""
REPAIR_HINT = "Run `whet doctor --repair`; it restores what it can and deletes nothing."
_NUMBERS = compile_late(r"(?<![\w:])(\d+)(?:-(\d+))?(?!\w)")
_LOCK_SECONDS = 10.0
_LAG_NS = 10 * 10**9
"""A row that is this much older than the last change of the log must be in it."""


Range = tuple[int, int]
"""First and last of consecutive numbers."""


class Row(Protocol):
    """A named tuple with the fields of a table: `id` first, `previous` and `hash` last."""

    @property
    def id(self) -> int: ...
    @property
    def time(self) -> int: ...
    @property
    def action(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def previous(self) -> str: ...
    @property
    def hash(self) -> str: ...
    def __iter__(self) -> Iterator[Any]: ...


R = TypeVar("R", bound=Row)


class Problem(NamedTuple):
    """A problem in a chain."""

    number: int
    """Number of the row; 0 if it is not about a row."""
    code: str
    message: str


class Loaded(NamedTuple, Generic[R]):
    """The rows and the log of a chain."""

    rows: tuple[R, ...]
    lines: tuple[R | None, ...] | None
    """A row for each line of the log, None for a damaged one; None without a log."""
    changed: int
    """Modification time of the log."""


class ChainRepair(NamedTuple):
    """The result of repairing a chain."""

    done: tuple[str, ...]
    """One sentence for each step."""
    lost: tuple[Range, ...]
    """Numbers of rows that could not be restored and that no row names yet."""


class Chain(Generic[R]):
    """A table of the state database and its log."""

    def __init__(
        self,
        state: StateDatabase,
        table: str,
        make: Callable[[Iterable[Any]], R],
        fields: Sequence[str],
        seal: Callable[[tuple[Any, ...]], str],
        *,
        noun: str = "entry",
        durable: bool = True,
    ) -> None:
        """`seal` returns the hash of a row from all its other fields.

        `noun` is the name of a row in messages. `durable=False`: the log does not wait for the disk; after a power
        failure it may be shorter than the table, and is completed.
        """
        self._state, self._table, self._make, self._seal = state, table, make, seal
        self._fields, self._noun, self._durable = tuple(fields), noun, durable
        self.log = os.path.join(state.directory, LOGS[table])
        columns = ", ".join(fields)
        self._select = f"SELECT {columns} FROM {table}"  # noqa: S608  names are ours
        self._insert = f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(fields))})"  # noqa: S608  names are ours

    def append(self, connection: sqlite3.Connection, rows: Iterable[Sequence[Any]], after: int = 0) -> tuple[R, ...]:
        """Add rows in a transaction; each has the values of its fields between `id` and `previous`.

        Their numbers are higher than `after`. Raises FailedError `history-cut` if rows are missing before them.
        """
        if self._state.open().after_commit(self.catch_up):
            self.refuse_cut()
        last = self.last(connection)
        if last is None:
            self._make_log()
        first, previous = max(last.id if last else 0, after) + 1, last.hash if last else ORIGIN
        made = []
        for number, values in enumerate(rows, first):
            head = (number, *values, previous)
            previous = self._seal(head)
            made.append((*head, previous))
        connection.executemany(self._insert, made)
        return tuple(map(self._make, made))

    def last(self, connection: sqlite3.Connection) -> R | None:
        """Return the last row, as seen by a transaction."""
        found = connection.execute(f"{self._select} ORDER BY id DESC LIMIT 1").fetchone()
        return self._make(found) if found else None

    def rows(self, where: str = "", values: Sequence[Any] = (), *, last: int | None = None) -> tuple[R, ...]:
        """Return the rows, oldest first: all, those that match a condition, or only the last ones."""
        query = f"{self._select} {f'WHERE {where}' if where else ''} ORDER BY id DESC LIMIT ?"
        found = self._state.read(query, (*values, -1 if last is None else last))
        return tuple(map(self._make, reversed(found)))

    def is_whole(self, row: R) -> bool:
        """Return whether the hash of a row is valid."""
        return row.hash == self._seal(tuple(row)[:-1])

    # the log

    def catch_up(self) -> None:
        """Append missing rows of the table to the log; if that fails, the next call tries again."""
        with suppress(WhetError), self._lock(), os_failures(self.log):
            fd = open_regular(self.log, os.O_RDWR | os.O_CREAT)
            with open(fd, "r+b") as file:
                line, end = _last_line(file)
                known = self._parsed(line) if line else None
                if line and known is None:
                    return  # damaged: `refuse_cut` reports it
                rows = self.rows("id > ?", (known.id if known else 0,))
                if rows:
                    file.seek(end)
                    file.truncate()
                    file.write(self._lines(rows))
                    file.flush()
                    if self._durable:
                        os.fsync(file.fileno())

    def refuse_cut(self) -> None:
        """Raise FailedError `history-cut` if the table does not match its log."""
        if problem := self._cut():
            raise FailedError("history-cut", problem, hint=REPAIR_HINT, path=self.log)

    def _cut(self) -> str:
        """Describe how the table falls short of its log; without a log, whether the table itself is damaged."""
        if is_irregular(self.log):
            return f"{self.log} is not a regular file."
        try:
            with open(self.log, "rb", opener=open_regular) as file:
                line, _ = _last_line(file)
        except (FileNotFoundError, NotADirectoryError):
            line = b""
        except OSError as error:
            return f"Cannot read {self.log}: {error.strerror or error}."
        if not line:
            return next((problem.message for problem in self._check(self.rows())), "")
        last = self._parsed(line)
        if last is None:
            return f"The last line of {self.log} is damaged."
        found = self.rows("id = ?", (last.id,))
        if found and found[0].hash == last.hash:
            return ""
        if found:
            return f"{self._named([last.id])} different in {self.log}."
        return f"{self._named([last.id])} in {self.log}, but not in the database."

    def _make_log(self) -> None:
        """Create an empty log before the first row: if it is missing later, it was removed."""
        if not os.path.lexists(self.log):
            with os_failures(self.log):
                os.close(os.open(self.log, os.O_WRONLY | os.O_CREAT, 0o600))
                sync_directory(os.path.dirname(self.log))

    def _lock(self) -> FileLock:
        return FileLock(lock_path(self._state.directory, "log", self._table), timeout=_LOCK_SECONDS)

    def _lines(self, rows: Iterable[R]) -> bytes:
        texts = (json.dumps(dict(zip(self._fields, row, strict=True)), default=str) for row in rows)
        return b"".join(f"{text}\n".encode() for text in texts)

    def _parsed(self, line: bytes) -> R | None:
        """Return the row in a line of the log, if its hash is valid. Fields added since are empty."""
        try:
            values = json.loads(line)
            row = self._make(values.get(field, "") for field in self._fields)
            return row if self.is_whole(row) else None
        except (AttributeError, RecursionError, TypeError, ValueError):
            return None

    def load(self) -> Loaded[R]:
        """Read the log, then the rows: this way every row of the log is in the table, even while others append."""
        lines: tuple[R | None, ...] | None
        changed = 0
        try:
            with open(self.log, "rb", opener=open_regular) as file:
                lines = tuple(self._parsed(line) for line in file.read().split(b"\n")[:-1])
                changed = os.fstat(file.fileno()).st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            lines = (None,) if is_irregular(self.log) else None
        except OSError:
            lines = (None,)
        return Loaded(self.rows(), lines, changed)

    # the whole chain

    def verify(self, loaded: Loaded[R]) -> Iterator[Problem]:
        """Yield the problems among the rows of the table, and between them and the log."""
        rows, lines, changed = loaded
        yield from self._check(rows)
        if lines is None:
            if rows:
                yield Problem(0, "log-damaged", f"{self.log} is missing.")
            return
        known = {row.id: row.hash for row in lines if row}
        table = {row.id: row.hash for row in rows}
        if None in lines:
            yield Problem(0, "log-damaged", f"Line {lines.index(None) + 1} of {self.log} has been altered.")
        if sorted(known) != [row.id for row in lines if row]:
            yield Problem(0, "log-damaged", f"The lines of {self.log} are out of order or repeated.")
        if gone := sorted(known.keys() - table.keys()):
            yield Problem(gone[0], "history-cut", f"{self._named(gone)} in {self.log}, but not in the database.")
        if other := sorted(number for number in known.keys() & table.keys() if known[number] != table[number]):
            yield Problem(other[0], "history-cut", f"{self._named(other)} different in {self.log}.")
        last = max(known, default=0)
        late = [row.id for row in rows if row.id not in known and (row.id < last or row.time + _LAG_NS < changed)]
        if late and None not in lines:
            yield Problem(late[0], "log-damaged", f"{self._named(late)} not in {self.log}.")

    def _check(self, rows: Sequence[R]) -> Iterator[Problem]:
        """Yield the rows that do not match the previous one."""
        lost = [span for row in rows if self.is_whole(row) for span in lost_numbers(row)]
        number, previous = 0, ORIGIN
        for row in rows:
            gone = row.id > number + 1 and not _covers(lost, (number + 1, row.id - 1))
            if gone:
                message = f"{self._say([(number + 1, row.id - 1)])} missing."
                yield Problem(row.id, f"{self._noun}-missing", message)
            if row.previous != previous and (gone or row.id == number + 1):
                yield Problem(row.id, "chain-broken", f"{self._named([row.id])} not linked to the previous one.")
            if not self.is_whole(row):
                yield Problem(row.id, f"{self._noun}-changed", f"{self._named([row.id])} altered.")
            number, previous = row.id, row.hash

    def has_lost(self, rows: Iterable[R], number: int) -> bool:
        """Return whether the row with that number is recorded as lost."""
        return _covers([span for row in rows for span in lost_numbers(row)], (number, number))

    def _named(self, numbers: Sequence[int]) -> str:
        """Return these rows as the beginning of a sentence."""
        return self._say(_ranges(numbers))

    def _say(self, ranges: Sequence[Range]) -> str:
        one = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
        noun = self._noun if one else f"{self._noun.replace('y', 'ie')}s"
        return f"{noun.capitalize()} {in_ranges(ranges)} {'is' if one else 'are'}"

    def repair(self, least: int = 0) -> ChainRepair:
        """Make table and log agree on every row that one of them has. Nothing is deleted.

        A row counts if its own hash is valid. The log decides if the two differ, and each row decides which one came
        before it. Unused rows are kept beside the database. `least` is a number that the chain is known to have
        reached.
        """
        loaded = self.load()
        reached = loaded.rows[-1].id if loaded.rows else 0
        if reached >= least and next(self.verify(loaded), None) is None:
            if loaded.rows:
                self.catch_up()
            return ChainRepair((), ())
        with self._state.write() as connection, self._lock():
            rows, logged, _ = self.load()
            lines = logged or ()
            chosen = self._joined([row for row in rows if self.is_whole(row)], [row for row in lines if row])
            kept = tuple(chosen[number] for number in sorted(chosen))
            dropped = [row for row in rows if chosen.get(row.id) != row]
            done: list[str] = []
            if dropped:
                aside = free_name(os.path.join(self._state.directory, f"{self._table}.json"))
                write_bytes(aside, self._lines(dropped), mode=0o600)
                connection.executemany(f"DELETE FROM {self._table} WHERE id = ?", [(row.id,) for row in dropped])  # noqa: S608  names are ours
                done.append(f"{self._named([row.id for row in dropped])} altered; a copy is in {aside}.")
            table = {row.id for row in rows} - {row.id for row in dropped}
            if back := [row for row in kept if row.id not in table]:
                connection.executemany(self._insert, [tuple(row) for row in back])
                done.append(f"{self._named([row.id for row in back])} restored from {self.log}.")
            if kept != logged and (kept or logged):
                done += self._write_log(kept, keep=kept[: len(lines)] != lines)
        most = max(chosen, default=0)
        reached = max([least, most, *(row.id for row in dropped if row.id <= most + len(rows))])
        spans = [span for row in kept for span in lost_numbers(row)]
        numbers = [0, *sorted(chosen), reached + 1]
        gaps = [(one + 1, other - 1) for one, other in pairwise(numbers) if other - one > 1]
        return ChainRepair(tuple(done), tuple(gap for gap in gaps if not _covers(spans, gap)))

    def _write_log(self, rows: Iterable[R], *, keep: bool) -> Iterator[str]:
        """Rewrite the log; `keep` a copy of the old one if it differs."""
        aside = free_name(self.log)
        if keep:
            with os_failures(self.log, doing="set aside"):
                if os.path.isfile(self.log):
                    with open(self.log, "rb") as file:
                        write_bytes(aside, file.read(), mode=0o600)
                else:
                    os.rename(self.log, aside)
        write_bytes(self.log, self._lines(rows), mode=0o600)
        yield f"{self.log} was rewritten" + (f"; the old file is kept as {aside}." if keep else ".")

    def _joined(self, rows: Sequence[R], logged: Sequence[R]) -> dict[int, R]:
        """Return one row for each number, from the table and the log."""
        known: dict[int, list[R]] = {}
        for row in (*logged, *rows):
            if row.id > 0 and row not in known.setdefault(row.id, []):
                known[row.id].append(row)
        start = max((row.id for row in logged), default=0) or max(known, default=0)
        chosen: dict[int, R] = {}
        for number in sorted((number for number in known if number <= start), reverse=True):
            later = chosen.get(number + 1)
            for row in known[number]:
                if later is None or later.previous == row.hash:
                    chosen[number] = row
                    break
        for row in sorted(rows, key=lambda row: row.id):
            before = chosen.get(row.id - 1)
            if row.id > start and (before is None or before.hash == row.previous):
                chosen[row.id] = row
        return chosen


def in_ranges(ranges: Iterable[Range]) -> str:
    """Format numbers as `4-6, 9`, which `lost_numbers` reads back."""
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in ranges)


def lost_numbers(row: Row) -> list[Range]:
    """Return the numbers of the rows that this row names as lost."""
    found = _NUMBERS.findall(row.reason) if row.action == LOST else []
    return [(int(low), int(high or low)) for low, high in found]


def _ranges(numbers: Iterable[int]) -> list[Range]:
    ranges: list[Range] = []
    for number in numbers:
        if ranges and ranges[-1][1] + 1 == number:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def _covers(ranges: Iterable[Range], wanted: Range) -> bool:
    return any(low <= wanted[0] and wanted[1] <= high for low, high in ranges)


def _last_line(file: BinaryIO) -> tuple[bytes, int]:
    """Return the last complete line, and where it ends; anything after it was cut off by a kill."""
    end, block = file.seek(0, os.SEEK_END), 4096
    while True:
        start = max(0, end - block)
        file.seek(start)
        data = file.read(end - start)
        stop = data.rfind(b"\n")
        begin = data.rfind(b"\n", 0, max(stop, 0))
        if stop >= 0 and (begin >= 0 or not start):
            return data[begin + 1 : stop], start + stop + 1
        if not start:
            return b"", 0
        block *= 8
