"""Counts that were made elsewhere, taken over.

Hermes keeps one JSON file, `.usage.json`: a map from skill names to records with `use_count`, `view_count`,
`patch_count` and times. What was taken over from a record is remembered by the skill and the time at which Hermes made
the record, so that importing a file again, or a copy of it, adds only what has grown since.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError, NotFoundError
from whet.learning.usage import Total, add, blob
from whet.store.failures import os_failures
from whet.values import Json, answer_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from whet.learning.usage import Usage
    from whet.notes import Note

_COUNTS = ("view_count", "use_count", "patch_count")
_TIMES = ("created_at", "last_used_at", "last_viewed_at", "last_patched_at")
_MOST = 10**12
"""What no count of events ever reaches."""


class _Record(NamedTuple):
    """What a record of Hermes says."""

    created: str
    """When it was made, as it stands there."""
    total: Total


class Skipped(NamedTuple):
    """A record that was left out, and why."""

    skill: str
    reason: str


class Imported(NamedTuple):
    """What was taken over."""

    imported: int
    """Skills that there was anything new about."""
    skipped: tuple[Skipped, ...]
    report: tuple[Note, ...]
    """What is wrong with what was recorded."""

    def to_json(self) -> Json:
        """The value as JSON."""
        return answer_json(self)


def import_hermes(usage: Usage, path: str) -> Imported:
    """Add the counts of a `.usage.json`. Records that cannot be understood are left out, and told."""
    records: list[_Record] = []
    skipped: list[Skipped] = []
    for name, fields in _parsed(path).items():
        try:
            records.append(_record(name, fields))
        except ValueError as error:
            skipped.append(Skipped(name, str(error)))
    with usage.writing() as connection:
        imported = sum(_take_over(connection, record) for record in records)
    return Imported(imported, tuple(skipped), usage.problems)


def _parsed(path: str) -> Mapping[str, Any]:
    import json

    if not os.path.lexists(path):
        hint = "Name the file; Hermes keeps it as skills/.usage.json in its home."
        raise NotFoundError("path-not-found", f"{path} does not exist.", hint=hint, path=path)
    with os_failures(path, doing="read", other="read-failed"), open(path, "rb") as file:
        data = file.read()
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _not_a_usage_file(path, f"it is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise _not_a_usage_file(path, "it is not a map from skills to records")
    return found


def _not_a_usage_file(path: str, why: str) -> InvalidError:
    hint = "Nothing was imported. Name the .usage.json of a Hermes home, or restore it from a copy."
    return InvalidError("usage-file", f"{path} is not a usage file: {why}.", hint=hint, path=path)


def _record(name: str, fields: Any) -> _Record:
    """Raises ValueError with the reason why a record cannot be used."""
    if not isinstance(fields, dict):
        raise ValueError("It is not a record.")  # noqa: TRY004  one way to say that a record is unusable
    views, uses, patches = (_count(field, fields.get(field)) for field in _COUNTS)
    created, used, viewed, patched = (_time(field, fields.get(field)) for field in _TIMES)
    times = [time for time in (created, used, viewed, patched) if time]
    total = Total(
        name,
        views=views,
        uses=uses,
        patches=patches,
        first=min(times, default=0),
        last_used=used,
        last_viewed=viewed,
        last=max(used, viewed, patched),
    )
    return _Record(str(fields.get("created_at") or ""), total)


def _count(field: str, value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise ValueError(f"{field} is {_shown(value)}, which is not a count.")
    return value


def _time(field: str, value: Any) -> int:
    """Nanoseconds since 1970 UTC; 0 for a time that is not given."""
    from datetime import UTC, datetime, timedelta

    if value is None:
        return 0
    start = datetime(1970, 1, 1, tzinfo=UTC)
    try:
        moment = datetime.fromisoformat(value)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - start
    except (TypeError, ValueError, OverflowError):
        since = timedelta(days=-1)
    nanoseconds = since // timedelta(microseconds=1) * 1000
    if not 0 <= nanoseconds < 2**63:
        raise ValueError(f"{field} is {_shown(value)}, which is not a time.")
    return nanoseconds


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _take_over(connection: sqlite3.Connection, record: _Record) -> bool:
    """Add what has grown since a record was last taken over; whether anything has."""
    key = blob(record.total.skill), blob(record.created)
    query = "SELECT views, uses, patches FROM usage_imports WHERE skill = ? AND created = ?"
    before = connection.execute(query, key).fetchone() or (0, 0, 0)
    now = record.total[3:6]
    grown = [max(0, new - old) for new, old in zip(now, before, strict=True)]
    if not any(grown):
        return False
    add(connection, [record.total._replace(views=grown[0], uses=grown[1], patches=grown[2])])
    most = [max(pair) for pair in zip(now, before, strict=True)]
    connection.execute("REPLACE INTO usage_imports VALUES (?, ?, ?, ?, ?)", (*key, *most))
    return True
