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
from typing import TYPE_CHECKING, BinaryIO

from whet.errors import FailedError, WhetError
from whet.learning.usage_counts import (
    Total,
    added,
    count,
    damage,
    is_counted,
    load,
    move,
    tally,
    together,
)
from whet.learning.usage_log import LAST, Event, Kind, Log
from whet.notes import Note
from whet.store.clock import iso
from whet.store.failures import os_failures
from whet.store.locks import FileLock, is_file_at

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whet.authoring.commits import Committed
    from whet.library.card import Card
    from whet.store.clock import Clock
    from whet.store.database import Database
    from whet.store.state import StateDatabase

__all__ = ["Event", "Kind", "Total", "Usage"]

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
        self._log = Log(os.path.join(state.directory, DIRECTORY))
        self.path = state.path
        self._clock = clock
        self._turn = threading.RLock()
        self._notes: dict[str, Note] = {}
        self._failures = itertools.count(1)
        self._failure = 0, ""

    def record(self, kind: Kind, skill: str, digest: str, *, version: str = "", session: str = "") -> bool:
        """Note that something happened to a skill. Never raises; False when it could not be noted."""
        try:
            large = self._log.append(Event(self._clock(), kind, skill, digest, version, session))
        except Exception as error:  # noqa: BLE001  whatever it is, an invocation must not fail because of it
            self._failure = next(self._failures), str(error)
            return False
        if large:
            self._count_soon()
        return True

    def totals(self) -> tuple[Total, ...]:
        """Every skill that anything is known about, all its versions together, by name."""
        by_skill: dict[str, list[Total]] = {}
        for total in self._rows():
            by_skill.setdefault(total.skill, []).append(total)
        return tuple(whole for _, totals in sorted(by_skill.items()) if (whole := together(totals)))

    def named(self, names: Mapping[str, str]) -> tuple[Total, ...]:
        """The same by names for people: `names` has those of ids; a skill that is gone has that of its directory."""
        by_name: dict[str, list[Total]] = {}
        for total in self._rows():
            name = names.get(total.skill) or total.skill.rpartition("/")[2]
            by_name.setdefault(name, []).append(total._replace(skill=name))
        return tuple(whole for _, totals in sorted(by_name.items()) if (whole := together(totals)))

    def of(self, *skills: str) -> Total | None:
        """One skill, by everything that it is counted as, all its versions together; None when nothing is known."""
        return together([total for skill in dict.fromkeys(skills) for total in self._rows(skill)])

    def versions(self, *skills: str) -> tuple[Total, ...]:
        """The versions of a skill, told apart by their content, the one that was last touched first."""
        rows = [total for skill in dict.fromkeys(skills) for total in self._rows(skill)]
        rows = added(total._replace(skill=skills[0]) for total in rows) if len(skills) > 1 else rows
        return tuple(sorted(rows, key=lambda total: (total.last, total.digest), reverse=True))

    def rename(self, old: str, new: str) -> bool:
        """Give all that was recorded so far about one skill to another; whether there was anything and it worked."""
        try:
            with self.writing() as connection:
                return old != new and move(connection, old, new)
        except WhetError as error:
            self._unavailable(error)
            return False

    def follow(self, commits: Sequence[Committed]) -> Iterable[str]:
        """Count what was changed, and keep the counts of skills that have another name now."""
        for commit in commits:
            if commit.moved:
                for known in (str(commit.before), f"{commit.scope}:{commit.old_name}"):
                    self.rename(known, str(commit.after))
            if commit.before and commit.after and commit.entry.action in _EDITS:
                self.record("patch", str(commit.after), commit.entry.after, version=commit.version)
        return ()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the counts, which hold everything recorded so far. What fails is raised."""
        with self._turn, self._alone(_PATIENCE):
            self._count(self.state.open())
            with self.state.write() as connection:
                yield connection

    @property
    def problems(self) -> tuple[Note, ...]:
        """What could not be recorded, counted or read, as far as it has come up."""
        number, why = self._failure
        if not number:
            return tuple(self._notes.values())
        message = f"{number} {'event' if number == 1 else 'events'} could not be recorded: {why}."
        hint = "Check free space and who may write there. Invocations are not affected."
        return (*self._notes.values(), Note("usage-not-recorded", "warning", message, hint, path=self._log.path))

    # --- counting ---------------------------------------------------------------------------------------------------

    def _alone(self, seconds: float) -> FileLock:
        """The lock of whoever changes the database or the segments of the log."""
        return FileLock(os.path.join(self._log.directory, "locks", "usage.lock"), timeout=seconds)

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
        with os_failures(self._log.path, doing="count"):
            for name in self._log.names():
                if database.read_only:
                    raise PermissionError(errno.EACCES, f"{self.path} may only be read")
                with database.use() as connection:
                    done = is_counted(connection, name)
                segment = name if done else self._log.seal(name)
                if not done:
                    totals, damaged = tally(self._log.read(segment))
                    with database.write() as connection:
                        count(connection, segment, totals, damaged, min(max(self._clock(), 1), LAST))
                self._log.remove(segment)

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
        with os_failures(self._log.directory, doing="read", other="read-failed"):
            waiting = self._log.names()
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
                    log = stack.enter_context(open(self._log.path, "rb"))
                with suppress(OSError):
                    names = self._log.names()
                for name in names:
                    with suppress(OSError):
                        waiting[name] = tally(self._log.read(name))[0]
                with suppress(WhetError):
                    stored, segments = self._stored(skill)
                if log is None or is_file_at(log.fileno(), self._log.path):
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
