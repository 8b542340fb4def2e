"""A baseline: the findings that somebody has reviewed and accepted, each with a reason, in a file of the user.

A finding is recognised by its fingerprint (rule, file, evidence), so it may move within its file. An entry applies to one
skill, by the name of its directory, up to its last day if it has one. No file in a package is ever used as a
baseline automatically; the caller of a scan names the file.
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
    """One accepted finding."""

    skill: str
    fingerprint: str
    rule: str
    file: str
    reason: str
    until: str = ""
    """The last day on which the entry applies, such as `2027-01-31`; "" for no limit."""

    def to_json(self) -> Json:
        """Return the entry as written in the file."""
        return {name: value for name, value in self._asdict().items() if value or name != "until"}


class BaselineUse(NamedTuple):
    """How the entries of a baseline were used in a scan."""

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
    """Number of findings that it accepts."""


class Applied(NamedTuple):
    """The findings of one skill, divided by a baseline."""

    findings: tuple[Finding, ...]
    accepted: tuple[tuple[Finding, Entry], ...]


def read_baseline(text: str, path: str) -> tuple[Entry, ...]:
    """Return the entries of a baseline file. Raises InvalidError."""
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
    """Return the text of a baseline that accepts these findings; findings of severity `info` need no entry."""
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
    """Separate the accepted findings from the others."""
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
    """Return whether the last day of an entry is over. Dates are compared as texts."""
    return bool(entry.until) and entry.until < today
