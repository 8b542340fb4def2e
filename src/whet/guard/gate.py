"""The judge: content in, decision out, and the record of it.

Everything that lets a package in, whichever way it comes, asks here: a scan (remembered by digest), the policy for how
far it is trusted, an override if there is one. Deciding alone writes nothing; `record` keeps a decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.guard.audit import Audit, Note
from whet.guard.policy import decide
from whet.guard.scan_cache import ScanCache

if TYPE_CHECKING:
    from whet.guard.policy import Decision, Table
    from whet.guard.scan_cache import Attestation
    from whet.store.cache import CacheDatabase
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase


class Judgement(NamedTuple):
    """What was found in a package and what that means."""

    scan: Attestation
    decision: Decision


class Judge:
    """Judges packages for one state directory."""

    def __init__(self, state: StateDatabase, cache: CacheDatabase, clock: Clock) -> None:
        self.attestations = ScanCache(cache, clock)
        self.audit = Audit(state, clock)

    def judge(self, scan: Attestation, trust: str, table: Table) -> Judgement:
        """What a package that was scanned may do."""
        decision = decide(trust, scan.verdict, table, findings=scan.findings)
        if decision.action != "allow" and (override := self.audit.override(scan.digest)):
            decision = decide(trust, scan.verdict, table, findings=scan.findings, override=override)
        return Judgement(scan, decision)

    def record(self, action: str, skill: str, path: str, judgement: Judgement, actor: str) -> None:
        """Keep a decision. Raises FailedError: what cannot be recorded is not done."""
        scan, decision = judgement
        note = Note(
            *(actor, action, skill, path, scan.digest, decision.trust),
            *(decision.verdict, decision.action, decision.reason),
        )
        self.audit.add((note,))

    def override(self, skill: str, path: str, judgement: Judgement, reason: str, actor: str) -> None:
        """Let exactly this content through from now on, for a reason."""
        scan, decision = judgement
        note = Note(
            *(actor, "override", skill, path, scan.digest, decision.trust, decision.verdict, "allow"), reason.strip()
        )
        self.audit.add((note,))

    def revoke(self, skill: str, path: str, judgement: Judgement, actor: str, reason: str = "") -> None:
        """End the override of this content."""
        scan, decision = judgement
        note = Note(
            *(actor, "revoke", skill, path, scan.digest, decision.trust, decision.verdict, decision.action), reason
        )
        self.audit.add((note,))
