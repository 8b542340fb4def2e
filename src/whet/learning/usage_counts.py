"""Counts of usage: adding them up, and the tables they are kept in.

Texts are stored as bytes, because a name may hold what SQLite does not take for text (half a surrogate pair, for one).
Every segment of the log that was counted stays on record for a while, in the transaction that counted it, so that a
process that dies before it can delete the segment does not make it count twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whet.store.clock import iso

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from whet.learning.usage_log import Event
    from whet.values import Json

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
