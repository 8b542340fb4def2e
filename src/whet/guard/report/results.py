"""The results of a scan of packages: one value for each package and one summary for all, the same in every format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.finding import LABELS, SEVERITIES

if TYPE_CHECKING:
    from whet.guard.baseline import Entry
    from whet.guard.finding import Finding, Label
    from whet.values import Json


class ScanResult(NamedTuple):
    """One package that was scanned."""

    path: str
    """The path as the caller named it, or as it was found."""
    skill: str
    """The name of its directory or file."""
    verdict: Label
    digest: str
    findings: tuple[Finding, ...]
    seconds: float = 0.0
    accepted: tuple[tuple[Finding, Entry], ...] = ()
    """Findings that a baseline accepts, each with its entry."""
    archive: bool = False
    """Whether the package is an archive or a single file."""

    def to_json(self) -> Json:
        """Return the result as JSON."""
        answer = {
            "path": self.path,
            "skill": self.skill,
            "verdict": self.verdict,
            "digest": self.digest,
            "findings": [finding.to_json() for finding in self.findings],
            "seconds": round(self.seconds, 6),
        }
        if self.accepted:
            answer["accepted"] = [{**finding.to_json(), "reason": entry.reason} for finding, entry in self.accepted]
        return answer


class ScanReport(NamedTuple):
    """All results of a scan."""

    results: tuple[ScanResult, ...]

    @property
    def verdict(self) -> Label:
        """The gravest verdict of all packages."""
        return LABELS[max((LABELS.index(result.verdict) for result in self.results), default=0)]

    def count(self, verdict: Label) -> int:
        """Return the number of packages with this verdict."""
        return sum(result.verdict == verdict for result in self.results)

    def to_json(self) -> Json:
        """Return the report as JSON, with a summary."""
        severities = [finding.severity for result in self.results for finding in result.findings]
        summary = {
            "packages": len(self.results),
            "verdicts": {label: self.count(label) for label in LABELS},
            "findings": {severity: severities.count(severity) for severity in reversed(SEVERITIES)},
            "accepted": sum(len(result.accepted) for result in self.results),
            "verdict": self.verdict,
            "seconds": round(sum(result.seconds for result in self.results), 6),
        }
        return {"success": True, "results": [result.to_json() for result in self.results], "summary": summary}


def reaches(verdict: str, limit: str) -> bool:
    """Return whether the verdict is at least as grave as the limit."""
    labels: tuple[str, ...] = LABELS
    return labels.index(verdict) >= labels.index(limit)


def location(result: ScanResult, file: str, base: str) -> str:
    """Return a file of a package as a path with forward slashes, relative to `base` if it is below it.

    A file inside an archive is reported as the archive, because there is no other file to show.
    """
    inner = file.partition("!/")[0]
    full = os.path.abspath(result.path)
    if not result.archive and inner:
        full = os.path.join(full, *inner.split("/"))
    relative = os.path.relpath(full, base) if _same_drive(full, base) else ""
    if not relative or relative.split(os.sep)[0] == os.pardir:
        relative = result.skill if result.archive else f"{result.skill}/{inner}"
    return relative.replace(os.sep, "/")


def _same_drive(one: str, other: str) -> bool:
    return os.path.splitdrive(one)[0].lower() == os.path.splitdrive(os.path.abspath(other))[0].lower()
