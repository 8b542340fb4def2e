"""How often each skill is viewed, used and changed, and whether it helped.

    usage = Usage(state, clock)
    usage.record("use", str(card.id), digest)
    usage.of(*counted_as(card)).uses

Recording appends one line to a log (`usage_log`) and nothing else: no lock, no database, no sync, and no failure that
reaches the caller. That is why the log is next to `state.db`: no process waits for another. Reading counts the log
first: new events are added to `state.db` in one transaction, which also records how far the log is counted. The first
event of a day, and one that makes the log large, counts it too.

Counts are worth keeping, but nothing waits for them. If the state database cannot be read or written, the log is
counted in memory, and stays. `problems` reports that.
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress

from whet.errors import WhetError
from whet.learning.usage_log import Event, Log
from whet.notes import Note
from whet.records import NamedTuple
from whet.store.clock import iso
from whet.store.failures import os_failures
from whet.values import Json, answer_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from whet.authoring.commits import Committed
    from whet.learning.usage_log import Kind
    from whet.library.card import Card
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

DIRECTORY = "usage"
_EDITS = frozenset(("create", "edit", "patch", "write-file", "remove-file", "rename", "merge"))
"""Changes that count; restored, installed or updated content is nobody's work on the skill."""


class Total(NamedTuple):
    """The counts of a skill, or of one version of it. Times are 0 for never."""

    skill: str
    digest: str = ""
    """The content; "" for all versions together, and for counts from elsewhere without one."""
    version: str = ""
    """The declared version; for all versions together, the last one that declares it."""
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
        """Return the counts as JSON: times as text, null for never."""
        times = {name: iso(ns) if ns else None for name, ns in zip(Total._fields[9:], self[9:], strict=True)}
        return {**self._asdict(), **times}


class DeadSkill(NamedTuple):
    """A skill that is listed in every prompt without benefit."""

    name: str
    reason: str
    """`never-loaded`, or `never-helped` for one that was loaded and repeatedly failed."""
    tokens: int
    """Approximate tokens of its name and description in a prompt."""
    days: int
    """Days of observation."""
    command: str
    """The command that removes it from prompts."""


class UsageTotals(NamedTuple):
    """The counts of all skills."""

    skills: tuple[Total, ...]
    report: tuple[Note, ...]
    """Problems of the records."""
    dead: tuple[DeadSkill, ...] = ()
    """Skills that cost tokens in every prompt and were never loaded, or never helped; the most expensive first."""

    def to_json(self) -> Json:
        """Return the counts as JSON."""
        return answer_json(self)


class SkillUsage(NamedTuple):
    """The counts of one skill, by version."""

    name: str
    total: Total | None
    versions: tuple[Total, ...]
    report: tuple[Note, ...]

    def to_json(self) -> Json:
        """Return the counts as JSON."""
        return answer_json(self)


_COUNTED = {
    "view": "views",
    "use": "uses",
    "patch": "patches",
    "helped": "helped",
    "failed": "failed",
    "corrected": "corrected",
}
_LATEST = {"use": "last_used", "view": "last_viewed"}
_COLUMNS = ", ".join(Total._fields)
_ADD = f"""
INSERT INTO usage_counts ({_COLUMNS}) VALUES ({", ".join("?" * len(Total._fields))})
ON CONFLICT (skill, digest) DO UPDATE SET
    version = CASE excluded.version WHEN x'' THEN version ELSE excluded.version END,
    {", ".join(f"{field} = {field} + excluded.{field}" for field in _COUNTED.values())},
    first = coalesce(min(nullif(first, 0), nullif(excluded.first, 0)), nullif(first, 0), excluded.first),
    {", ".join(f"{field} = max({field}, excluded.{field})" for field in Total._fields[-3:])}
"""  # noqa: S608  our own column names


def count_event(event: Event) -> Total:
    """Return the counts of one event."""
    time, kind, skill, digest, version = event
    latest = {_LATEST[kind]: time} if kind in _LATEST else {}
    return Total(skill, digest, version, first=time, last=time, **{_COUNTED[kind]: 1}, **latest)


def merge(totals: Iterable[Total]) -> list[Total]:
    """Add up the counts for each skill and digest; the version is the latest one recorded."""
    found: dict[tuple[str, str], Total] = {}
    for total in totals:
        key = total.skill, total.digest
        found[key] = _plus(found[key], total) if key in found else total
    return list(found.values())


def _plus(one: Total, other: Total) -> Total:
    counts = [a + b for a, b in zip(one[3:9], other[3:9], strict=True)]
    first = min(one.first, other.first) or one.first or other.first
    latest = [max(pair) for pair in zip(one[10:], other[10:], strict=True)]
    return Total._make((one.skill, one.digest, other.version or one.version, *counts, first, *latest))


def by_skill(totals: Iterable[Total]) -> tuple[Total, ...]:
    """Return the counts with all versions of a skill as one, sorted by name."""
    ordered = sorted(totals, key=lambda total: (total.skill, total.last, total.digest))
    return tuple(merge(total._replace(digest="") for total in ordered))


class Usage:
    """The usage of one state directory. Thread-safe."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self.log = Log(os.path.join(state.directory, DIRECTORY))
        self._clock = clock
        self._unavailable: Note | None = None
        self._failures = itertools.count(1)
        self._failure = 0, ""

    def record(self, kind: Kind, skill: str, digest: str, *, version: str = "") -> bool:
        """Record an event of a skill. Never raises; returns False if it could not be recorded."""
        try:
            due = self.log.append(Event(self._clock(), kind, skill, digest, version))
        except Exception as error:  # noqa: BLE001  whatever it is, an invocation must not fail because of it
            self._failure = next(self._failures), str(error)
            return False
        with suppress(Exception):  # the event is recorded; problems of the counts are left to the next reader
            if due:
                self._count()
        return True

    def totals(self) -> tuple[Total, ...]:
        """Return the counts of every skill, over all its versions, sorted by name."""
        return by_skill(self._rows())

    def named(self, names: Mapping[str, str]) -> tuple[Total, ...]:
        """Return the counts with names instead of ids, by `names`; a removed skill is named after its directory."""
        return by_skill(
            total._replace(skill=names.get(total.skill) or total.skill.rpartition("/")[2]) for total in self._rows()
        )

    def of(self, *skills: str) -> Total | None:
        """Return the counts of one skill under all its ids and names, over all its versions; None if there are none."""
        return next(iter(by_skill(self.versions(*skills))), None)

    def versions(self, *skills: str) -> tuple[Total, ...]:
        """Return the counts for each content of a skill, the latest first."""
        rows = merge(total._replace(skill=skills[0]) for total in self._rows(*skills))
        return tuple(sorted(rows, key=lambda total: (total.last, total.digest), reverse=True))

    def rename(self, old: str, new: str) -> bool:
        """Move the counts of one skill to another. Returns whether there were any and it worked."""
        try:
            self._count()
            with self.state.write() as connection:
                totals = _load(connection, (old,)) if old != new else []
                if totals:
                    connection.execute("DELETE FROM usage_counts WHERE skill = ?", [_blob(old)])
                    _add(connection, (total._replace(skill=new) for total in totals))
        except WhetError as error:
            self._note(error)
            return False
        return bool(totals)

    def follow(self, commits: Sequence[Committed]) -> Iterable[str]:
        """Count changes, and keep the counts of renamed skills."""
        for commit in commits:
            if commit.moved:
                for known in (str(commit.before), f"{commit.scope}:{commit.old_name}"):
                    self.rename(known, str(commit.after))
            if commit.before and commit.after and commit.entry.action in _EDITS:
                self.record("patch", str(commit.after), commit.entry.after, version=commit.version)
        return ()

    @property
    def problems(self) -> tuple[Note, ...]:
        """Events that could not be recorded, counted or read so far."""
        known = (self._unavailable,) if self._unavailable else ()
        number, why = self._failure
        if not number:
            return known
        message = f"{number} {'event' if number == 1 else 'events'} could not be recorded: {why}."
        hint = "Check free space and who may write there. Invocations are not affected."
        return (*known, Note("usage-not-recorded", "warning", message, hint, path=self.log.directory))

    def _rows(self, *skills: str) -> list[Total]:
        """Return the counts by skill and version, of these skills or of all."""
        stored: list[Total] = []
        counted: dict[str, int] = {}
        self._unavailable = None
        try:
            self._count()
        except WhetError as error:
            self._note(error)
        try:
            if database := self.state.existing():
                with database.snapshot() as connection:
                    stored, counted = _load(connection, skills), _counted(connection)
        except WhetError as error:
            self._note(error)
        waiting = [count_event(event) for event in self._waiting(counted) if not skills or event.skill in skills]
        return merge((*stored, *waiting)) if waiting else stored

    def _waiting(self, counted: Mapping[str, int]) -> list[Event]:
        """Return the uncounted events, as far as they can be read."""
        found: list[Event] = []
        with suppress(OSError):
            for name, size in self.log.sizes().items():
                if size > counted.get(name, 0):
                    found += self.log.read(name, counted.get(name, 0))[0]
        return found

    def _count(self) -> None:
        """Add new events of the log to the counts. Creates no database if there is nothing to count."""
        with os_failures(self.log.directory, doing="count"):
            sizes = self.log.sizes()
            known = dict(self.state.read("SELECT name, counted FROM usage_logs")) if sizes else {}
            if any(size > known.get(name, 0) for name, size in sizes.items()):
                with self.state.write(durable=False) as connection:
                    sizes = self.log.sizes()  # again: counts of others meanwhile must stay recorded
                    known = _counted(connection)
                    connection.execute("DELETE FROM usage_logs")
                    for name in sizes:
                        events, end = self.log.read(name, known.get(name, 0))
                        _add(connection, merge(map(count_event, events)))
                        connection.execute("INSERT INTO usage_logs VALUES (?, ?)", (name, end))
            if removed := [name for name in sizes if self.log.remove_old(name, self._clock())]:
                with self.state.write(
                    durable=False
                ) as connection:  # an earlier Whet may create a file of that name again
                    connection.executemany("DELETE FROM usage_logs WHERE name = ?", [(name,) for name in removed])

    def _note(self, error: WhetError) -> None:
        self._unavailable = Note("usage-unavailable", "warning", error.message, error.hint, path=self.state.path)


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _load(connection: sqlite3.Connection, skills: Sequence[str]) -> list[Total]:
    """Return the counts of these skills or of all; damaged rows are left out."""
    query = f"SELECT {_COLUMNS} FROM usage_counts"  # noqa: S608  our own column names
    if skills:
        query += f" WHERE skill IN ({', '.join('?' * len(skills))})"
    return [total for row in connection.execute(query, [*map(_blob, skills)]) if (total := _total(row))]


def _total(row: tuple[Any, ...]) -> Total | None:
    numbers = row[3:]
    if {*map(type, numbers)} != {int} or min(numbers) < 0:
        return None
    try:
        return Total._make((*(bytes.decode(text, "utf-8", "surrogatepass") for text in row[:3]), *numbers))
    except (TypeError, ValueError):
        return None


def _add(connection: sqlite3.Connection, totals: Iterable[Total]) -> None:
    """Add counts to those that are stored."""
    connection.executemany(_ADD, ((*map(_blob, total[:3]), *total[3:]) for total in totals))


def _counted(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how far each file of the log is counted."""
    return dict(connection.execute("SELECT name, counted FROM usage_logs"))


def counted_as(card: Card) -> tuple[str, str, str]:
    """Return a skill's keys in the counts: its id; for an older Whet, its name with its scope; for Hermes, its name."""
    return str(card.id), card.qualified, card.full_name
