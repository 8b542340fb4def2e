"""Is it safe: scanning, the policy, the record of decisions, and what a skill may do.

library.guard.scan("./pdf")["results"]
library.guard.explain("pdf")["decision"]
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.guard.baseline import Entry as Known
    from whet.guard.permissions.deciding import Policy
    from whet.guard.report.results import Result
    from whet.library.workspace import Workspace


class SkillGuard:
    """What can be asked about the safety of packages, in the library or anywhere."""

    def __init__(self, workspace: Workspace, origins: Callable[[], Mapping[str, str]]) -> None:
        """`origins` tells how far skills are trusted that the user did not write, by their directories."""
        self._workspace = workspace
        self._place = workspace.place
        self._origins = origins

    def scan_results(
        self,
        paths: Sequence[str | os.PathLike[str]],
        *,
        recursive: bool = False,
        around: bool = False,
        known: Sequence[Known] = (),
        progress: Callable[[int], None] | None = None,
    ) -> tuple[Result, ...]:
        """What `scan` answers, as values: for reports of another form, and for baselines.

        With `around`, the packages that the paths lie in are scanned. `known` are findings that a baseline accepts;
        `progress` is told how many packages are done.
        """
        import time

        from whet.guard.baseline import apply
        from whet.guard.finding import verdict
        from whet.guard.report.results import Result
        from whet.library.scanning import read_path, read_paths, scan_package
        from whet.store.clock import iso

        today = iso(self._workspace.clock())[:10]
        results: list[Result] = []
        for path in read_paths([os.fspath(path) for path in paths], recursive=recursive, around=around):
            began = time.perf_counter()
            where, package, archive = read_path(path)
            found = scan_package(package, self._workspace.judge.attestations)
            seconds = time.perf_counter() - began
            left, accepted = apply(known, package.name, found.findings, today) if known else (found.findings, ())
            label = verdict(left) if accepted else found.verdict
            results.append(Result(where, package.name, label, found.digest, left, seconds, accepted, archive))
            if progress is not None:
                progress(len(results))
        return tuple(results)

    def scan(self, *paths: str | os.PathLike[str], recursive: bool = False) -> dict[str, Any]:
        """What is dangerous about packages: directories, files or archives; with `recursive`, all skills below.

        Nothing of a package is run. `results` are {path, skill, verdict, digest, findings, seconds}, a verdict is
        safe, caution or dangerous, and `summary` counts them. The library need not know the packages.
        """
        from whet.guard.report.results import summary

        results = self.scan_results(paths, recursive=recursive)
        return {"success": True, "results": [result.to_json() for result in results], "summary": summary(results)}

    def audit(self) -> dict[str, Any]:
        """Scan every skill of the library again, decide by the policy, tell what is different from the last time.

        `results` are what `explain` tells of each skill, with {change, before}; `summary` counts verdicts, decisions,
        what is new and what changed.
        """
        from whet.library.guarding import audit

        return audit(self._workspace, self._origins())

    def audit_log(self, name: str = "", last: int | None = None) -> dict[str, Any]:
        """The record of decisions, oldest first: `records` about a skill or about all, the `last` few or all.

        Each has {id, time, actor, action, skill, path, digest, trust, verdict, decision, reason, previous, hash}.
        """
        records = self._workspace.judge.audit.records(skill=name, last=last)
        return {"success": True, "records": [record.to_json() for record in records]}

    def verify_audit(self) -> dict[str, Any]:
        """Prove that the record of decisions is whole: every record carries the hash of the one before it.

        `valid` is whether it is, `problems` where it is not, `head` the hash of the last, to be kept elsewhere.
        """
        record = self._workspace.judge.audit
        problems, last = record.verify(), record.records(last=1)
        return {
            "success": True,
            "valid": not problems,
            "records": last[-1].id if last else 0,
            "head": last[-1].hash if last else "",
            "problems": [problem._asdict() for problem in problems],
        }

    @property
    def policy(self) -> dict[str, Any]:
        """The policy as it stands, as an answer: a row for each trust, a cell for each verdict, where it comes from."""
        from whet.library.guarding import show_policy

        return show_policy(self._workspace)

    def explain(self, name: str = "", *, trust: str = "", verdict: str = "") -> dict[str, Any]:
        """What is done with a skill, or with any of a trust and a verdict, and why in a sentence.

        Give a `name`, or both others. `decision` is allow, ask or block; about a skill, `findings` are what a person
        must look at. Raises UsageError for a trust or a verdict that the policy does not have.
        """
        from whet.library.guarding import explain_cell, explain_skill

        if name:
            return explain_skill(self._workspace, name, self._origins())
        return explain_cell(self._workspace, trust, verdict)

    def override(self, name: str, reason: str, *, actor: str = "user") -> dict[str, Any]:
        """Let a skill through as it is now, for a reason that is recorded, until its content changes.

        It answers like `explain`. Raises UsageError `reason-needed` where there is no reason.
        """
        from whet.library.guarding import override

        return override(self._workspace, name, reason, actor, self._origins())

    def revoke(self, name: str, reason: str = "", *, actor: str = "user") -> dict[str, Any]:
        """End an override. It answers like `explain`; `changed` is whether there was one."""
        from whet.library.guarding import revoke

        return revoke(self._workspace, name, reason, actor, self._origins())

    def review(self) -> dict[str, Any]:
        """What the guard says of the repository's skills, before it is trusted: `verdicts`, each like `explain`."""
        from whet.library.guarding import review

        return {"success": True, "verdicts": [item.to_json() for item in review(self._workspace)]}

    def permits(self, name: str, tool: str, given: Any, *, policy: Policy | None = None) -> dict[str, Any]:
        """May this skill make this tool call? `allow`, `deny` or `ask`, and why in a sentence.

        `given` is the tool's input as the client has it; paths are judged from the project directory. A `policy` cuts
        further than the skill's own `allowed-tools`. `problems` tells of grants that cannot be read and grant nothing.
        """
        from whet.guard.permissions.deciding import NO_POLICY, declared_tools, skill_permits

        card = self._workspace.find(name)[0]
        skill, home = self._workspace.open(card).skill, self._place.env.get("HOME", "")
        decision = skill_permits(
            skill,
            tool,
            given,
            cwd=self._place.directory,
            skill_dir=card.directory,
            home=home,
            policy=NO_POLICY if policy is None else policy,
        )
        problems = [grant.problem for grant in declared_tools(skill) or () if grant.problem]
        return {**decision.to_json(), **({"problems": problems} if problems else {})}
