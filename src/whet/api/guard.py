"""Safety of skills: scanning, the policy, the record of decisions, and permissions.

library.guard.scan("./pdf").verdict
library.guard.explain("pdf").decision.action
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import UsageError, WhetError, path_text
from whet.values import answer_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.guard.audit import Record
    from whet.guard.baseline import Entry as Known
    from whet.guard.permissions.decision import Permission, Policy
    from whet.guard.policy import Decision, MachinePolicy, Table
    from whet.guard.report.results import ScanReport
    from whet.library.card import Card
    from whet.library.config import ResolvedConfig
    from whet.library.trust import SkillDecision
    from whet.library.workspace import Workspace
    from whet.store.chain import Problem
    from whet.values import Json


class Explanation(NamedTuple):
    """The decision of the policy about a skill, or about any skill of a given trust and verdict."""

    decision: Decision
    skill: SkillDecision | None = None
    """The skill with its scan and decision."""
    changed: bool | None = None
    """Whether `revoke` changed anything; None for other calls."""

    def to_json(self) -> Json:
        """Return the explanation as JSON."""
        changed = {} if self.changed is None else {"changed": self.changed}
        return {"success": True, **(self.skill or self.decision).to_json(), **changed}


class PolicyView(NamedTuple):
    """The policy in force."""

    rows: Table
    """A row for each trust, a cell for each verdict: the action, and who set it."""
    trusted_sources: tuple[str, ...]

    def to_json(self) -> Json:
        """Return the policy as JSON."""
        rows = [
            {"trust": trust, **{verdict: cell._asdict() for verdict, cell in row.items()}}
            for trust, row in self.rows.items()
        ]
        return {"success": True, "policy": rows, "trusted_sources": list(self.trusted_sources)}


class MachineView(NamedTuple):
    """The policy that an administrator set for this machine."""

    policy: MachinePolicy
    """Its `path` is the file of the policy, even if the file does not exist."""
    active: bool

    def to_json(self) -> Json:
        """Return the policy as JSON, with the effect of each of its lines."""
        told = fields_json(self.policy)
        cells = [dict(zip(("trust", "verdict", "action"), cell, strict=True)) for cell in told.pop("cells")]
        lines = [{"line": line, "does": does} for line, does in self.policy.lines()]
        return {"success": True, "machine": {"active": self.active, **told, "policy": cells, "lines": lines}}


class AuditResult(NamedTuple):
    """The result of an audit for one skill."""

    skill: SkillDecision
    change: str
    """The difference from the last audit: `new`, `content`, `verdict`, `decision`, or ""."""
    before: Record | None
    """The last audit, if there is a difference."""

    def to_json(self) -> Json:
        """Return the result as JSON."""
        before = self.before and {name: getattr(self.before, name) for name in ("verdict", "decision", "digest")}
        return {**self.skill.to_json(), "change": self.change, "before": before}


class AuditReport(NamedTuple):
    """The results of an audit."""

    results: tuple[AuditResult, ...]

    def count_decisions(self, action: str) -> int:
        """Return the number of skills with this decision."""
        return sum(result.skill.decision.action == action for result in self.results)

    @property
    def new(self) -> int:
        """Number of skills that have never been audited before."""
        return sum(result.change == "new" for result in self.results)

    @property
    def changed(self) -> int:
        """Number of skills that have changed since the last audit."""
        return sum(result.change not in ("", "new") for result in self.results)

    def to_json(self) -> Json:
        """Return the report as JSON, with a summary."""
        from whet.guard.finding import LABELS
        from whet.guard.policy import ACTIONS

        verdicts = [result.skill.decision.verdict for result in self.results]
        summary = {
            "skills": len(self.results),
            "verdicts": {label: verdicts.count(label) for label in LABELS},
            "decisions": {action: self.count_decisions(action) for action in ACTIONS},
            "new": self.new,
            "changed": self.changed,
        }
        return {"success": True, "results": [result.to_json() for result in self.results], "summary": summary}


class AuditLog(NamedTuple):
    """The record of decisions, oldest first."""

    records: tuple[Record, ...]

    def to_json(self) -> Json:
        """Return the record as JSON."""
        return answer_json(self)


class AuditProof(NamedTuple):
    """Whether the record of decisions is complete."""

    valid: bool
    records: int
    """Number of records."""
    head: str
    """The hash of the last record; keep a copy elsewhere."""
    problems: tuple[Problem, ...]
    """The places where the record is not complete."""

    def to_json(self) -> Json:
        """Return the proof as JSON."""
        problems = [{"record": number, "code": code, "message": text} for number, code, text in self.problems]
        return {**answer_json(self), "problems": problems}


class ProjectReview(NamedTuple):
    """Decisions about the skills of a repository or a directory, once you trust it."""

    verdicts: tuple[SkillDecision, ...]

    def to_json(self) -> Json:
        """Return the review as JSON."""
        return answer_json(self)


class SkillGuard:
    """Questions about the safety of packages, in the library or anywhere else."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def scan(
        self,
        *paths: str | os.PathLike[str],
        recursive: bool = False,
        around: bool = False,
        known: Sequence[Known] = (),
        progress: Callable[[int, int], None] | None = None,
    ) -> ScanReport:
        """Scan packages: directories, files or archives. For a directory that is not a skill, scan all skills in it.

        It runs nothing in a package, and the packages do not have to be in the library. With `around`, it scans the
        packages that contain the paths; with `recursive`, a directory without skills is an error. `known` are findings
        that a baseline accepts; `progress` receives the number of packages that are done and the number of all
        packages.
        """
        import time

        from whet.guard.baseline import apply
        from whet.guard.finding import verdict
        from whet.guard.report.results import ScanReport, ScanResult
        from whet.library.standalone import list_packages, read_path, skill_place
        from whet.store.clock import iso

        today = iso(self._workspace.clock())[:10]
        results: list[ScanResult] = []
        packages = tuple(list_packages([path_text(path) for path in paths], recursive=recursive, around=around))
        for path in packages:
            began = time.perf_counter()
            place, package = skill_place(path), read_path(path)
            found = self._workspace.gate.scan_package(package)
            seconds = time.perf_counter() - began
            left, accepted = apply(known, package.name, found.findings, today) if known else (found.findings, ())
            label = verdict(left) if accepted else found.verdict
            archive = not os.path.isdir(os.path.expanduser(place))
            results.append(ScanResult(place, package.name, label, found.digest, left, seconds, accepted, archive))
            if progress is not None:
                progress(len(results), len(packages))
        from contextlib import suppress

        with suppress(WhetError):  # the report still counts; `whet doctor` reports problems of the state
            self._follow({os.path.realpath(os.path.expanduser(result.path)): result.verdict for result in results})
        return ScanReport(tuple(results))

    def _follow(self, verdicts: Mapping[str, str]) -> None:
        """Update the list of blocked skills after a scan of skills in the library, by their directories."""
        workspace = self._workspace
        if not workspace.decisions.blocked() and all(verdict == "safe" for verdict in verdicts.values()):
            return
        snapshot = workspace.snapshot()
        disabled = snapshot.config.disabled
        found = {card.place: card for card in snapshot.catalogue.trusted() if card.place in verdicts}
        news = [card for place, card in found.items() if verdicts[place] != "safe" or disabled.kept_back(card)]
        if news:
            workspace.review(news, snapshot.config)

    def scan_new(self, most: int) -> int:
        """Scan new and changed skills of the library, at most `most`; return how many are left.

        Skills that the policy does not allow are blocked from now on.
        """
        from whet.library.standalone import read_card
        from whet.library.trust import origin_of

        workspace = self._workspace
        snapshot = workspace.snapshot()
        config, origins = snapshot.config, workspace.origins()
        cards = workspace.unreviewed(snapshot.catalogue.trusted(), config)
        found = ((card, origin_of(card, config.policy, origins).place) for card in cards)
        new = [card for card, place in found if workspace.gate.recall(read_card(card), place) is None]
        later = {card.path for card in new[most:]}
        if now := [card for card in cards if card.path not in later]:
            workspace.review(now, config)
        return len(later)

    def audit(self) -> AuditReport:
        """Scan every skill in the library again, apply the policy, and report what changed since the last time."""
        from whet.library.trust import decide_skill, keep_back

        workspace, origins, results = self._workspace, self._workspace.origins(), []
        snapshot = workspace.snapshot()
        config, catalogue = snapshot.config, snapshot.catalogue
        for card in (*catalogue.trusted(), *catalogue.waiting):
            found = decide_skill(workspace.gate, card, config, origins=origins)
            last = workspace.gate.audit.about(card.location, "audit")
            change = _difference(last, found)
            if change:
                workspace.gate.record("audit", card.full_name, card.location, found.judgement, "user")
            if card.root.trusted:
                keep_back(workspace.decisions, found)
            results.append(AuditResult(found, change, last if change else None))
        return AuditReport(tuple(results))

    def audit_log(self, name: str = "", last: int | None = None) -> AuditLog:
        """Return the record of decisions, oldest first, about one skill or all; `last` limits it to the last N."""
        return AuditLog(self._workspace.gate.audit.records(skill=name, last=last))

    def verify_audit(self) -> AuditProof:
        """Verify that the record of decisions is complete: every record carries the hash of the previous one."""
        record = self._workspace.gate.audit
        problems, last = record.verify(), record.records(last=1)
        return AuditProof(not problems, last[-1].id if last else 0, last[-1].hash if last else "", problems)

    @property
    def policy(self) -> PolicyView:
        """The current policy."""
        from whet.guard.trust import VENDORS

        config = self._workspace.config()
        return PolicyView(config.policy, (*VENDORS, *config.settings.trusted_sources))

    def explain(self, name: str = "", *, trust: str = "", verdict: str = "") -> Explanation:
        """Return the policy's decision about a skill, or about a trust and a verdict, with the reason.

        Pass a `name`, or both a trust and a verdict. Raises UsageError for a trust or a verdict that the policy does
        not have.
        """
        if name:
            found = self._decide(*self._workspace.find(name))
            return Explanation(found.decision, found)
        from whet.guard.finding import LABELS
        from whet.guard.policy import decide

        table = self._workspace.config().policy
        if trust not in table:
            raise UsageError(
                "bad-trust", f"The policy has no trust level {trust!r}.", hint=f"Trust levels: {', '.join(table)}."
            )
        label = next((label for label in LABELS if label == verdict), None)
        if label is None:
            raise UsageError("bad-verdict", f"{verdict!r} is not a verdict.", hint=f"Verdicts: {', '.join(LABELS)}.")
        return Explanation(decide(trust, label, table))

    def explain_machine(self) -> MachineView:
        """Return the policy of this machine, which only an administrator can change."""
        from whet.guard.policy import MachinePolicy
        from whet.library.settings import machine_policy_file

        found = self._workspace.config().machine
        return MachineView(found or MachinePolicy(machine_policy_file().path), found is not None)

    def override(self, name: str, reason: str, *, actor: str = "user") -> Explanation:
        """Override the policy for a skill, with a recorded reason, until its content changes.

        Returns the same as `explain`. Raises UsageError `reason-needed` without a reason.
        """
        if not reason.strip():
            message = "An override needs a reason, which Whet records."
            raise UsageError("reason-needed", message, hint="Pass it with `--reason`.")
        found = self._decide(*self._workspace.find(name))
        self._workspace.gate.override(found.card.full_name, found.card.location, found.judgement, reason, actor)
        return self._decide_again(found.card)

    def revoke(self, name: str, reason: str = "", *, actor: str = "user") -> Explanation:
        """End an override. Returns the same as `explain`; `changed` is whether there was an override."""
        found, gate = self._decide(*self._workspace.find(name)), self._workspace.gate
        changed = gate.audit.override(found.scan.digest) is not None
        if changed:
            gate.revoke(found.card.full_name, found.card.location, found.judgement, reason, actor)
        return self._decide_again(found.card)._replace(changed=changed)

    def _decide(self, card: Card, config: ResolvedConfig) -> SkillDecision:
        from whet.library.trust import decide_skill

        return decide_skill(self._workspace.gate, card, config, origins=self._workspace.origins())

    def _decide_again(self, card: Card) -> Explanation:
        from whet.library.trust import keep_back

        found = self._decide(card, self._workspace.config())
        keep_back(self._workspace.decisions, found)
        return Explanation(found.decision, found)

    def review(self, path: str | os.PathLike[str] | None = None) -> ProjectReview:
        """Return the decisions about the skills of the repository, or of the directory `path`, as if you trusted it."""
        from whet.library.trust import link_target, review_directory, review_project

        workspace = self._workspace
        if path is None:
            return ProjectReview(review_project(workspace.gate, workspace.snapshot()))
        directory = link_target(os.path.join(workspace.place.directory, path_text(path)), workspace.place.home)
        return ProjectReview(review_directory(workspace.gate, workspace.config(), directory, workspace.clock()))

    def permits(self, name: str, tool: str, given: Any, *, policy: Policy | None = None) -> Permission:
        """Decide whether this skill may make this tool call: `allow`, `deny` or `ask`, with the reason in a sentence.

        `given` is the tool's input as the client has it; paths are relative to the project directory. A `policy`
        restricts more than the skill's own `allowed-tools`. `problems` names grants that cannot be read and therefore
        grant nothing.
        """
        from whet.guard.permissions.decision import NO_POLICY, skill_permits

        card, place = self._workspace.find(name)[0], self._workspace.place
        return skill_permits(
            self._workspace.open(card).skill,
            tool,
            given,
            cwd=place.directory,
            skill_dir=card.directory,
            home=place.env.get("HOME", ""),
            policy=NO_POLICY if policy is None else policy,
        )


def _difference(last: Record | None, found: SkillDecision) -> str:
    """Return the difference from the last audit: `new`, `content`, `verdict`, `decision`, or ""."""
    if last is None:
        return "new"
    if last.digest != found.scan.digest:
        return "content"
    if last.verdict != found.scan.verdict:
        return "verdict"
    same = (last.decision, last.trust) == (found.decision.action, found.decision.trust)
    return "" if same else "decision"
