"""A baseline: the findings that somebody has looked at and lives with, each with a reason, in a file of the user's.

A finding is known again by its fingerprint (rule, file, what stands there), so it may move within its file. An entry
holds for one skill, by the name of its directory, and until its day is over if it has one. Nothing in a package is ever
taken for a baseline by itself; whoever scans names the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError
from whet.guard.expression import expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.guard.finding import Finding
    from whet.values import Json

VERSION = 1
KNOWN = "Known when the baseline was written."
_DAY = expression(r"\d{4}-\d{2}-\d{2}")


class Entry(NamedTuple):
    """One finding that is accepted."""

    skill: str
    fingerprint: str
    rule: str
    file: str
    reason: str
    until: str = ""
    """The last day it holds, such as `2027-01-31`; "" for ever."""

    def to_json(self) -> Json:
        """The entry as the file has it."""
        return {name: value for name, value in self._asdict().items() if value or name != "until"}


class BaselineUse(NamedTuple):
    """What became of a baseline's entries in a scan."""

    file: str
    applied: int
    unused: tuple[Entry, ...]
    expired: tuple[Entry, ...]
    inside: tuple[str, ...]
    """The scanned packages that contain the baseline file."""


class WrittenBaseline(NamedTuple):
    """A baseline that was written."""

    file: str
    entries: int
    """How many findings it accepts."""


class Applied(NamedTuple):
    """What a baseline leaves of the findings of one skill."""

    findings: tuple[Finding, ...]
    accepted: tuple[tuple[Finding, Entry], ...]


def read_baseline(text: str, path: str) -> tuple[Entry, ...]:
    """The entries of a baseline file. Raises InvalidError."""
    import json

    hint = "Write it with `whet scan --write-baseline FILE`."
    try:
        found = json.loads(text)
        if not isinstance(found, dict) or found.get("version") != VERSION:
            raise InvalidError("bad-baseline", f"{path} is not a baseline of version {VERSION}.", hint=hint)
        entries = tuple(_entry(item) for item in found["entries"])
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidError("bad-baseline", f"{path} is not a baseline: {error}.", hint=hint) from error
    return entries


def _entry(item: Any) -> Entry:
    if not isinstance(item, dict):
        raise TypeError("an entry is not a mapping")
    values = {name: item.get(name, "") for name in Entry._fields}
    if not all(isinstance(value, str) for value in values.values()):
        raise TypeError("an entry has a value that is not text")
    entry = Entry(**values)
    if not entry.fingerprint or not entry.reason.strip():
        raise ValueError("an entry has no fingerprint or no reason")
    if entry.until and not _DAY.fullmatch(entry.until):
        raise ValueError(f"{entry.until!r} is not a date such as 2027-01-31")
    return entry


def write_baseline(found: Iterable[tuple[str, Iterable[Finding]]], reason: str) -> str:
    """The text of a baseline that accepts these findings; what is only information needs no entry."""
    import json

    entries = {
        (skill, finding.fingerprint): Entry(skill, finding.fingerprint, finding.rule, finding.file, reason or KNOWN)
        for skill, findings in found
        for finding in findings
        if finding.severity != "info"
    }
    document = {"version": VERSION, "entries": [entries[key].to_json() for key in sorted(entries)]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def apply(entries: Sequence[Entry], skill: str, findings: Iterable[Finding], today: str) -> Applied:
    """Take the accepted findings out."""
    known = {entry.fingerprint: entry for entry in entries if entry.skill == skill and not expired(entry, today)}
    left: list[Finding] = []
    accepted: list[tuple[Finding, Entry]] = []
    for finding in findings:
        entry = known.get(finding.fingerprint)
        if entry is None:
            left.append(finding)
        else:
            accepted.append((finding, entry))
    return Applied(tuple(left), tuple(accepted))


def expired(entry: Entry, today: str) -> bool:
    """Is its last day over? Days are texts that sort."""
    return bool(entry.until) and entry.until < today
