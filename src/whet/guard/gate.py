"""The gate: a package is scanned, the policy decides, and the decision is recorded.

Every operation that admits a package asks here: a write, an install, a view, an audit. A scan is cached by the digest
of its content, an override admits one exact content. Scanning and deciding write nothing that matters; `record` stores a
decision, and an operation that cannot be recorded is not performed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import RefusedError, WhetError
from whet.guard.audit import Audit, AuditEntry
from whet.guard.finding import Finding, Scan, verdict
from whet.guard.policy import actor_trust, decide
from whet.guard.scan_cache import ScanCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from whet.guard.policy import Decision, Table
    from whet.skill.tree import Item, Package
    from whet.store.cache import CacheDatabase
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

_ARCHIVE_RULES = {
    "archive-encrypted": "locked-archive",
    "archive-ratio": "archive-bomb",
    "archive-too-large": "archive-bomb",
    "archive-too-many-files": "archive-bomb",
    "archive-unsafe-path": "archive-path",
    "archive-collision": "archive-path",
    "archive-link": "archive-path",
    "archive-special-file": "archive-path",
    "archive-not-readable": "unreadable-archive",
}
"""Maps the error code of an archive to the rule it breaks."""


class Judgement(NamedTuple):
    """The scan of a package and the decision about it."""

    scan: Scan
    decision: Decision


class Gate:
    """Scans, decides and records for one state directory."""

    def __init__(self, state: StateDatabase, cache: CacheDatabase, clock: Clock, policy: Callable[[], Table]) -> None:
        """`policy` returns the table in force."""
        self.audit = Audit(state, clock)
        self._scans = ScanCache(cache, clock)
        self._policy = policy

    def scan(self, files: Mapping[str, Item], origin: str = "") -> Scan:
        """Return the scan of these files, from the cache if possible; for `origin` see `whet.guard.scan`."""
        return self._scans.scan(files, origin)

    def expecting_scans(self) -> AbstractContextManager[None]:
        """Load the scanner in another process because the block will scan packages."""
        return self._scans.expecting()

    def scan_ahead(self, packages: Iterable[tuple[Mapping[str, Item], str]]) -> None:
        """Scan several packages with their origins at once, if that is faster; `scan` then finds them in the cache."""
        self._scans.scan_ahead(packages)

    def scan_package(self, package: Package, origin: str = "") -> Scan:
        """Return the scan of a package as it was read: unreadable files and a failing scanner are findings.

        Files beside the package are scanned too.
        """
        try:
            found = self.scan({**package.tree, **package.aside}, origin)
        except Exception as problem:  # noqa: BLE001  a failure caused by a package is reported, and the others continue
            return _failed(package, f"{type(problem).__name__}: {problem}"[:200])
        return _with_unread(package, found)

    def recall(self, package: Package, origin: str = "") -> Scan | None:
        """Return the cached result of `scan_package` for this content under the current rules; `None` if there is none."""
        found = self._scans.recall({**package.tree, **package.aside}, origin)
        return None if found is None else _with_unread(package, found)

    def decide(self, scan: Scan, trust: str, table: Table | None = None) -> Judgement:
        """Return the decision about a package of this trust after a scan, by `table` or by the policy in force."""
        table = self._policy() if table is None else table
        decision = decide(trust, scan.verdict, table, findings=scan.findings)
        if decision.action != "allow" and (override := self.audit.override(scan.digest)):
            decision = decide(trust, scan.verdict, table, findings=scan.findings, override=override)
        return Judgement(scan, decision)

    def record(self, action: str, skill: str, path: str, judgement: Judgement, actor: str) -> None:
        """Record a decision. Raises FailedError: an operation that cannot be recorded is not performed."""
        self._record(action, skill, path, judgement, actor, judgement.decision.reason)

    def override(self, skill: str, path: str, judgement: Judgement, reason: str, actor: str) -> None:
        """Allow exactly this content from now on, with a reason. Raises RefusedError if nobody may."""
        if judgement.decision.final:
            message = f"No override is possible: {judgement.decision.reason}"
            hint = "`whet guard policy explain` shows the policy of this machine."
            raise RefusedError("machine-policy", message, hint=hint)
        allowed = judgement._replace(decision=judgement.decision._replace(action="allow"))
        self._record("override", skill, path, allowed, actor, reason.strip())

    def revoke(self, skill: str, path: str, judgement: Judgement, reason: str, actor: str) -> None:
        """End the override of this content."""
        self._record("revoke", skill, path, judgement, actor, reason)

    def _record(self, action: str, skill: str, path: str, judgement: Judgement, actor: str, reason: str) -> None:
        trust, verdict, decided = judgement.decision.trust, judgement.decision.verdict, judgement.decision.action
        self.audit.add(
            (AuditEntry(actor, action, skill, path, judgement.scan.digest, trust, verdict, decided, reason),)
        )

    # content that is about to be written

    def check(self, name: str, after: Mapping[str, Item], actor: str) -> Decision:
        """Scan the future content of a skill, decide by its writer, and record the decision."""
        judgement = self.decide(self.scan(after), actor_trust(actor))
        self.record("write", name, "", judgement, actor)
        return judgement.decision

    def accept(self, name: str, after: Mapping[str, Item], actor: str, reason: str) -> None:
        """Override the decision that the check asked about: from now on exactly this content is allowed."""
        self.override(name, "", self.decide(self.scan(after), actor_trust(actor)), reason, actor)


def _with_unread(package: Package, found: Scan) -> Scan:
    findings = (*_unread(package), *(finding for finding in found.findings if not _own_cache(finding)))
    return Scan(found.digest, verdict(findings), findings)


def _unread(package: Package) -> Iterator[Finding]:
    """Yield a finding for everything that could not be read, except escaping links, which the scanner reports itself."""
    for problem in package.problems:
        if problem.code != "link-escape":
            file = str(problem.details.get("file", ""))
            yield _finding(_ARCHIVE_RULES.get(problem.code, "not-analysed"), file, problem.message)


def _own_cache(finding: Finding) -> bool:
    """Return whether this is only the cache of a script that Python ran, made from the source beside it."""
    return finding.rule == "compiled-python" and finding.severity == "warn" and "__pycache__" in finding.file.split("/")


def _failed(package: Package, why: str) -> Scan:
    try:
        name = package.digest
    except WhetError:
        name = ""
    return Scan(name, "dangerous", (_finding("scanner-error", "", why)._replace(severity="critical"),))


def _finding(rule_id: str, file: str, evidence: str) -> Finding:
    """Return a finding about something that is not text: an unreadable file, a refused archive."""
    from whet.guard import rules

    return rules.every()[rule_id].finding(file, 1, evidence.rstrip("."))
