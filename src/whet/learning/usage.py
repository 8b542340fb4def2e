"""How often each skill is viewed, used and changed, and whether it helped.

    usage = Usage(state, clock)
    usage.record("use", str(card.id), digest)
    usage.of(*counted_as(card)).uses

Recording appends one line to a log (`usage_log`) and nothing else: no lock, no database, no sync, and no failure that
reaches the caller. That is why the log is a file of its own beside `state.db`: nobody waits for anybody. Reading counts
the log first: its lines are added to `state.db` in one transaction, which also notes the name of the segment they came
from, and the segment is deleted. Whoever makes the log large counts it too, unless somebody else is at it.

Counts are worth keeping, but nothing waits for them. Where the state database cannot be read or written, what is in the
log is added up in memory, and stays there. `problems` tells.
"""

from __future__ import annotations

import errno
import itertools
import os
import threading
from contextlib import ExitStack, contextmanager, suppress

from whet.errors import FailedError, WhetError
from whet.learning.usage_log import LAST, Event, Log
from whet.notes import Note
from whet.records import NamedTuple
from whet.store.clock import iso
from whet.store.failures import os_failures
from whet.store.locks import FileLock, is_file_at
from whet.store.regular import open_regular
from whet.values import Json, answer_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, BinaryIO

    from whet.authoring.commits import Committed
    from whet.learning.usage_log import Kind
    from whet.library.card import Card
    from whet.store.clock import Clock
    from whet.store.database import Database
    from whet.store.state import StateDatabase

_REMEMBERED = 1000
"""Segments that stay on record after they are counted."""


class Total(NamedTuple):
    """What is known about a skill, or about one version of it. Times are 0 for never."""

    skill: str
    digest: str = ""
    """Which version; "" for all of them together, and for counts made elsewhere that name none."""
    version: str = ""
    """What that version calls itself; of all of them together, the last one that says it."""
    views: int = 0
    uses: int = 0
    patches: int = 0
    helped: int = 0
    failed: int = 0
    corrected: int = 0
    first: int = 0
    last_used: int = 0
    last_viewed: int = 0
    last: int = 0
    """The last event of any kind."""

    def to_json(self) -> Json:
        """The counts as JSON carries them: times as text, null for never."""
        times = {name: iso(ns) if ns else None for name, ns in zip(Total._fields[9:], self[9:], strict=True)}
        return {**self._asdict(), **times}


class DeadSkill(NamedTuple):
    """A skill that is listed in every prompt and does nothing for it."""

    name: str
    reason: str
    """`never-loaded`, or `never-helped` for one that was loaded and noted to have failed, again and again."""
    tokens: int
    """What its name and description cost in a prompt, about."""
    days: int
    """For how long that has been watched."""
    command: str
    """What removes it from prompts."""


class UsageTotals(NamedTuple):
    """What is known about every skill."""

    skills: tuple[Total, ...]
    report: tuple[Note, ...]
    """What is wrong with what was recorded."""
    dead: tuple[DeadSkill, ...] = ()
    """Skills that cost tokens in every prompt and were never loaded, or never helped; the dearest first."""

    def to_json(self) -> Json:
        """The counts as JSON."""
        return answer_json(self)


class SkillUsage(NamedTuple):
    """What is known about one skill, by version."""

    name: str
    total: Total | None
    versions: tuple[Total, ...]
    report: tuple[Note, ...]

    def to_json(self) -> Json:
        """The counts as JSON."""
        return answer_json(self)


_COUNTED = {
    "view": "views",
    "use": "uses",
    "patch": "patches",
    "helped": "helped",
    "failed": "failed",
    "corrected": "corrected",
}
_PLACES = {kind: Total._fields.index(field) for kind, field in _COUNTED.items()}
_FIRST = Total._fields.index("first")
_LATEST = {"use": Total._fields.index("last_used"), "view": Total._fields.index("last_viewed")}
_COLUMNS = ", ".join(Total._fields)
_ADD = f"""
INSERT INTO usage_counts ({_COLUMNS}) VALUES ({", ".join("?" * len(Total._fields))})
ON CONFLICT (skill, digest) DO UPDATE SET
    version = CASE excluded.version WHEN x'' THEN version ELSE excluded.version END,
    {", ".join(f"{field} = {field} + excluded.{field}" for field in _COUNTED.values())},
    first = coalesce(min(nullif(first, 0), nullif(excluded.first, 0)), nullif(first, 0), excluded.first),
    {", ".join(f"{field} = max({field}, excluded.{field})" for field in Total._fields[-3:])}
"""  # noqa: S608  our own column names


def tally(events: Iterable[Event | None]) -> tuple[list[Total], int]:
    """The counts of events, by skill and digest, and how many lines of the log were damaged."""
    found: dict[tuple[str, str], list[Any]] = {}
    damaged = 0
    for event in events:
        if event is None:
            damaged += 1
            continue
        time, kind, skill, digest, version, _ = event
        row = found.get((skill, digest))
        if row is None:
            row = found[skill, digest] = [skill, digest, "", 0, 0, 0, 0, 0, 0, time, 0, 0, 0]
        row[2] = version or row[2]
        row[_PLACES[kind]] += 1
        row[_FIRST] = min(row[_FIRST], time)
        for place in (_LATEST.get(kind, -1), -1):
            row[place] = max(row[place], time)
    return [Total._make(row) for row in found.values()], damaged


def added(totals: Iterable[Total]) -> list[Total]:
    """The counts with those of the same skill and digest as one."""
    found: dict[tuple[str, str], Total] = {}
    for total in totals:
        key = total.skill, total.digest
        found[key] = plus(found[key], total) if key in found else total
    return list(found.values())


def plus(one: Total, other: Total) -> Total:
    """Both together, under the name and digest of `one`; the version is that of `other`, if it has one."""
    counts = [a + b for a, b in zip(one[3:9], other[3:9], strict=True)]
    first = min(one.first, other.first) or one.first or other.first
    latest = [max(pair) for pair in zip(one[10:], other[10:], strict=True)]
    return Total._make((one.skill, one.digest, other.version or one.version, *counts, first, *latest))


def together(versions: Iterable[Total]) -> Total | None:
    """All versions of a skill as one; None when there are none."""
    ordered = sorted(versions, key=lambda total: (total.last, total.digest))
    if not ordered:
        return None
    whole = ordered[0]._replace(digest="")
    for total in ordered[1:]:
        whole = plus(whole, total)
    return whole


# --- in the database ------------------------------------------------------------------------------------------------


def blob(text: str) -> bytes:
    """A text as it is stored."""
    return text.encode("utf-8", "surrogatepass")


def load(connection: sqlite3.Connection, skill: str | None = None) -> tuple[list[Total], int]:
    """The counts of one skill or of all, and how many rows hold something else."""
    query = f"SELECT {_COLUMNS} FROM usage_counts"  # noqa: S608  our own column names
    found = (
        connection.execute(query) if skill is None else connection.execute(f"{query} WHERE skill = ?", [blob(skill)])
    )
    rows = [_total(row) for row in found]
    totals = [total for total in rows if total]
    return totals, len(rows) - len(totals)


def _total(row: tuple[Any, ...]) -> Total | None:
    """A row as counts; None when damage made something else of it."""
    numbers = row[3:]
    if {*map(type, numbers)} != {int} or min(numbers) < 0:
        return None
    try:
        return Total._make((*(bytes.decode(text, "utf-8", "surrogatepass") for text in row[:3]), *numbers))
    except (TypeError, ValueError):
        return None


def add(connection: sqlite3.Connection, totals: Iterable[Total]) -> None:
    """Add counts to those that are stored."""
    connection.executemany(_ADD, ((*map(blob, total[:3]), *total[3:]) for total in totals))


def is_counted(connection: sqlite3.Connection, segment: str) -> bool:
    """Whether a segment of the log is among the counts."""
    return connection.execute("SELECT 1 FROM usage_segments WHERE segment = ?", [segment]).fetchone() is not None


def count(connection: sqlite3.Connection, segment: str, totals: Iterable[Total], damaged: int, now: int) -> None:
    """Add what a segment of the log holds, and put the segment on record."""
    add(connection, totals)
    connection.execute("INSERT INTO usage_segments (segment) VALUES (?)", [segment])
    connection.execute(
        "DELETE FROM usage_segments WHERE number <= (SELECT max(number) FROM usage_segments) - ?", [_REMEMBERED]
    )
    if damaged:
        connection.execute(
            "INSERT INTO usage_damage VALUES (1, ?, ?)"
            " ON CONFLICT (number) DO UPDATE SET lines = lines + excluded.lines, last = excluded.last",
            (damaged, now),
        )


def damage(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many lines of the log were damaged so far, and when one was last found."""
    found = connection.execute("SELECT lines, last FROM usage_damage WHERE number = 1").fetchone()
    return found if found and all(isinstance(number, int) for number in found) else (0, 0)


def move(connection: sqlite3.Connection, old: str, new: str) -> bool:
    """Give the counts of one skill to another; whether there were any."""
    totals, _ = load(connection, old)
    connection.execute("DELETE FROM usage_counts WHERE skill = ?", [blob(old)])
    add(connection, (total._replace(skill=new) for total in totals))
    return bool(totals)


__all__ = ["Event", "Total", "Usage"]

DIRECTORY = "usage"
_PATIENCE = 5.0
"""Seconds that a reader waits for somebody else who counts."""
_EDITS = frozenset(("create", "edit", "patch", "write-file", "remove-file", "rename", "merge"))
"""Changes that count; what is brought back, installed or updated is nobody's work on the skill."""
_LOOKS = 3
"""How often the log is read again because it was counted meanwhile."""


class Usage:
    """The usage of one state directory, for any number of threads."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self.log = Log(os.path.join(state.directory, DIRECTORY))
        self.path = state.path
        self._clock = clock
        self._turn = threading.RLock()
        self._notes: dict[str, Note] = {}
        self._failures = itertools.count(1)
        self._failure = 0, ""

    def record(self, kind: Kind, skill: str, digest: str, *, version: str = "", session: str = "") -> bool:
        """Record an event of a skill. Never raises; returns False if it could not be recorded."""
        try:
            large = self.log.append(Event(self._clock(), kind, skill, digest, version, session))
        except Exception as error:  # noqa: BLE001  whatever it is, an invocation must not fail because of it
            self._failure = next(self._failures), str(error)
            return False
        if large:
            self._count_soon()
        return True

    def totals(self) -> tuple[Total, ...]:
        """The counts of every skill, over all its versions, sorted by name."""
        by_skill: dict[str, list[Total]] = {}
        for total in self._rows():
            by_skill.setdefault(total.skill, []).append(total)
        return tuple(whole for _, totals in sorted(by_skill.items()) if (whole := together(totals)))

    def named(self, names: Mapping[str, str]) -> tuple[Total, ...]:
        """The same with readable names: `names` maps ids to names; a removed skill is named after its directory."""
        by_name: dict[str, list[Total]] = {}
        for total in self._rows():
            name = names.get(total.skill) or total.skill.rpartition("/")[2]
            by_name.setdefault(name, []).append(total._replace(skill=name))
        return tuple(whole for _, totals in sorted(by_name.items()) if (whole := together(totals)))

    def of(self, *skills: str) -> Total | None:
        """The counts of one skill under all its ids and names, over all its versions; None if there are none."""
        return together([total for skill in dict.fromkeys(skills) for total in self._rows(skill)])

    def versions(self, *skills: str) -> tuple[Total, ...]:
        """The counts for each content of a skill, the latest first."""
        rows = [total for skill in dict.fromkeys(skills) for total in self._rows(skill)]
        rows = added(total._replace(skill=skills[0]) for total in rows) if len(skills) > 1 else rows
        return tuple(sorted(rows, key=lambda total: (total.last, total.digest), reverse=True))

    def rename(self, old: str, new: str) -> bool:
        """Move the counts of one skill to another. Returns whether there were any and it worked."""
        try:
            with self.writing() as connection:
                return old != new and move(connection, old, new)
        except WhetError as error:
            self._unavailable(error)
            return False

    def follow(self, commits: Sequence[Committed]) -> Iterable[str]:
        """Count changes, and keep the counts of renamed skills."""
        for commit in commits:
            if commit.moved:
                for known in (str(commit.before), f"{commit.scope}:{commit.old_name}"):
                    self.rename(known, str(commit.after))
            if commit.before and commit.after and commit.entry.action in _EDITS:
                self.record("patch", str(commit.after), commit.entry.after, version=commit.version)
        return ()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the counts, which include everything recorded so far. Errors are raised."""
        with self._turn, self._alone(_PATIENCE):
            self._count(self.state.open())
            with self.state.write() as connection:
                yield connection

    @property
    def problems(self) -> tuple[Note, ...]:
        """What could not be recorded, counted or read so far."""
        number, why = self._failure
        if not number:
            return tuple(self._notes.values())
        message = f"{number} {'event' if number == 1 else 'events'} could not be recorded: {why}."
        hint = "Check free space and who may write there. Invocations are not affected."
        return (*self._notes.values(), Note("usage-not-recorded", "warning", message, hint, path=self.log.path))

    # --- counting ---------------------------------------------------------------------------------------------------

    def _alone(self, seconds: float) -> FileLock:
        """The lock of whoever changes the database or the segments of the log."""
        return FileLock(os.path.join(self.log.directory, "locks", "usage.lock"), timeout=seconds)

    def _count_soon(self) -> None:
        """Count the log if nobody else is at it. What is wrong is left to the next reader."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            with self._alone(0):
                self._count(self.state.open())
        except Exception as error:  # noqa: BLE001  the event is recorded; nothing else matters to the caller
            if not (isinstance(error, FailedError) and error.code == "lock-timeout"):
                self._unavailable(error)
        finally:
            self._turn.release()

    def _count(self, database: Database) -> None:
        """Add the segments to the counts, and then the log, so that segments do not pile up where that fails."""
        with os_failures(self.log.path, doing="count"):
            for name in self.log.names():
                if database.read_only:
                    raise PermissionError(errno.EACCES, f"{self.path} may only be read")
                with database.use() as connection:
                    done = is_counted(connection, name)
                segment = name if done else self.log.seal(name)
                if not done:
                    totals, damaged = tally(self.log.read(segment))
                    with database.write() as connection:
                        count(connection, segment, totals, damaged, min(max(self._clock(), 1), LAST))
                self.log.remove(segment)

    # --- reading ----------------------------------------------------------------------------------------------------

    def _rows(self, skill: str | None = None) -> list[Total]:
        """The counts by skill and version, of one skill or of all."""
        with self._turn:
            try:
                rows = self._counted(skill)
            except WhetError as error:
                self._unavailable(error)
                return self._looked_up(skill)
            self._notes.pop("usage-unavailable", None)
            return rows

    def _counted(self, skill: str | None = None) -> list[Total]:
        """Count what is in the log, then read. Makes no database as long as there is nothing to count."""
        with os_failures(self.log.directory, doing="read", other="read-failed"):
            waiting = self.log.names()
        if waiting:
            with self._alone(_PATIENCE):
                self._count(self.state.open())
        return self._stored(skill)[0]

    def _stored(self, skill: str | None) -> tuple[list[Total], set[str]]:
        """The counts in the database and the segments they hold, at one moment."""
        database = self.state.existing()
        if database is None:
            return [], set()
        with database.snapshot() as connection:
            totals, odd = load(connection, skill)
            lines, last = damage(connection)
            segments = {row[0] for row in connection.execute("SELECT segment FROM usage_segments")}
        self._damaged(odd, lines, last)
        return totals, segments

    def _looked_up(self, skill: str | None) -> list[Total]:
        """The counts as far as they can be read, and what is not counted yet, without writing anything."""
        for _ in range(_LOOKS):
            with ExitStack() as stack:
                log: BinaryIO | None = None
                names: list[str] = []
                waiting: dict[str, list[Total]] = {}
                stored: list[Total] = []
                segments: set[str] = set()
                with suppress(OSError):  # whatever cannot be read is what brought us here
                    log = stack.enter_context(open(self.log.path, "rb", opener=open_regular))
                with suppress(OSError):
                    names = self.log.names()
                for name in names:
                    with suppress(OSError):
                        waiting[name] = tally(self.log.read(name))[0]
                with suppress(WhetError):
                    stored, segments = self._stored(skill)
                if log is None or is_file_at(log.fileno(), self.log.path):
                    break
        for name, totals in waiting.items():
            if name not in segments:
                stored.extend(total for total in totals if skill in (None, total.skill))
        return added(stored)

    # --- the report -------------------------------------------------------------------------------------------------

    def _unavailable(self, error: Exception) -> None:
        message, hint = (error.message, error.hint) if isinstance(error, WhetError) else (str(error), "")
        self._notes["usage-unavailable"] = Note("usage-unavailable", "warning", message, hint, path=self.path)

    def _damaged(self, rows: int, lines: int, last: int) -> None:
        self._notes.pop("usage-damaged", None)
        parts = [f"{lines} lines of the log, last at {iso(last)}"] if lines else []
        parts += [f"{rows} rows of the database"] if rows else []
        if parts:
            message = f"Damaged and left out: {' and '.join(parts)}."
            hint = "Everything else is counted. Nothing has to be done."
            self._notes["usage-damaged"] = Note("usage-damaged", "info", message, hint, path=self.path)


def counted_as(card: Card) -> tuple[str, str, str]:
    """What a skill is counted as: its id; by an older Whet, its name with its scope; in imports, its name."""
    return str(card.id), card.qualified, card.full_name
