"""The guard over a library: what skills of a place may do, decided by the policy and kept in the record.

Listing never scans. A repository's skills are scanned when it is trusted and, if their content changed since, before a
model reads them; what the guard keeps back is remembered, so that lists leave it out at no cost. `whet audit` and
trusting again look at everything anew.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import UsageError
from whet.guard.audit import plain
from whet.guard.policy import decide, place_trust, table_with
from whet.library.disclosure import trust as place_of
from whet.library.scanning import read_card, scan_package
from whet.library.visibility import guard_blocked, refusal
from whet.notes import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.guard.gate import Judgement
    from whet.guard.policy import Table
    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.disclosure import Opened
    from whet.library.workspace import ResolvedConfig, Workspace

NO_ORIGINS: Mapping[str, str] = {}
NO_REASON = "An override needs a reason; the record keeps it."


class Judged(NamedTuple):
    """A skill and what the guard says of it."""

    card: Card
    judgement: Judgement

    def to_json(self) -> dict[str, Any]:
        """What is told of it: the verdict, what is done, why, and how much was found."""
        scan, decision = self.judgement
        grave = [finding.to_json() for finding in scan.findings if finding.severity != "info"]
        told = {"name": self.card.full_name, "path": self.card.location, "scope": self.card.scope}
        return {**told, "digest": scan.digest, **decision.to_json(), "findings": grave}


def table_of(config: ResolvedConfig) -> Table:
    """The policy in force."""
    return table_with(config.settings.policy, config.project_policy)


def trust_of(card: Card, table: Table, origins: Mapping[str, str] = NO_ORIGINS) -> str:
    """The row of the policy for a skill; `origins` tells it of directories whose skills the user did not write."""
    if not card.root.trusted:
        return "community"
    level = place_of(card)
    if level == "local" and (origin := origins.get(os.path.realpath(card.directory))):
        return origin
    return place_trust(level, table)


def judged(workspace: Workspace, card: Card, config: ResolvedConfig, *, trust: str = "") -> Judged:
    """What the guard says of a skill as it is on disk now."""
    table = table_of(config)
    scan = scan_package(read_card(card), workspace.judge.attestations)
    return Judged(card, workspace.judge.judge(scan, trust or trust_of(card, table), table))


def admit(workspace: Workspace, opened: Opened, config: ResolvedConfig) -> None:
    """Raise RefusedError for a repository's skill that the policy does not let in, and remember it."""
    found = judged(workspace, opened.card, config)
    if found.judgement.decision.action != "allow":
        _remember(workspace, (found,), "view", "guard")
        raise refusal(opened.card, guard_blocked(opened.card, found.judgement.decision.reason))


def project_cards(catalogue: Catalogue) -> tuple[Card, ...]:
    """Every skill of the repository: those that count, those that wait for trust, those another one shadows."""
    losers = (loser for loser, _ in catalogue.shadowed)
    return tuple(card for card in (*catalogue.cards, *catalogue.waiting, *losers) if card.scope == "project")


def review(workspace: Workspace) -> tuple[Judged, ...]:
    """What the guard will say of the repository's skills once it is trusted."""
    snapshot = workspace.snapshot()
    trust = place_trust("project", table_of(snapshot.config))
    return tuple(judged(workspace, card, snapshot.config, trust=trust) for card in project_cards(snapshot.catalogue))


def remember_review(workspace: Workspace, found: Iterable[Judged]) -> None:
    """Keep back what the guard does not let in, let the rest be, and record all of it."""
    _remember(workspace, found, "trust", "user")


def _remember(workspace: Workspace, found: Iterable[Judged], action: str, actor: str) -> None:
    for card, judgement in found:
        last = workspace.judge.audit.about(card.location, action)
        if last is None or (last.digest, last.decision) != (judgement.scan.digest, judgement.decision.action):
            workspace.judge.record(action, card.full_name, card.location, judgement, actor)
        _keep_back(workspace, card, judgement)


def _keep_back(workspace: Workspace, card: Card, judgement: Judgement) -> None:
    if card.scope != "project":
        return
    decision = judgement.decision
    if decision.action == "allow":
        workspace.decisions.unblock(str(card.id), plain(card.resolved))
    else:
        workspace.decisions.block(str(card.id), plain(decision.reason))


def audit(workspace: Workspace, origins: Mapping[str, str] = NO_ORIGINS) -> dict[str, Any]:
    """Look at every skill again: verdicts, decisions, and what is different from the last time."""
    snapshot = workspace.snapshot()
    catalogue, config = snapshot.catalogue, snapshot.config
    table = table_of(config)
    results = []
    for card in (*catalogue.cards, *(loser for loser, _ in catalogue.shadowed), *catalogue.waiting):
        found = judged(workspace, card, config, trust=trust_of(card, table, origins))
        judgement = found.judgement
        last = workspace.judge.audit.about(card.location, "audit")
        change = _difference(last, judgement)
        if change:
            workspace.judge.record("audit", card.full_name, card.location, judgement, "user")
        if card.root.trusted:
            _keep_back(workspace, card, judgement)
        before = {"verdict": last.verdict, "decision": last.decision, "digest": last.digest} if last else None
        results.append({**found.to_json(), "change": change, "before": before if change else None})
    counts = {label: sum(item["verdict"] == label for item in results) for label in ("safe", "caution", "dangerous")}
    actions = {action: sum(item["decision"] == action for item in results) for action in ("allow", "ask", "block")}
    new = sum(item["change"] == "new" for item in results)
    changed = sum(item["change"] not in ("", "new") for item in results)
    summary = {"skills": len(results), "verdicts": counts, "decisions": actions, "new": new, "changed": changed}
    return {"success": True, "results": results, "summary": summary}


def _difference(last: Any, judgement: Judgement) -> str:
    """What is different from the last audit: `new`, `content`, `verdict`, `decision`, or nothing."""
    if last is None:
        return "new"
    scan, decision = judgement
    for name, before, now in (
        ("content", last.digest, scan.digest),
        ("verdict", last.verdict, scan.verdict),
        ("decision", (last.decision, last.trust), (decision.action, decision.trust)),
    ):
        if before != now:
            return name
    return ""


def show_policy(workspace: Workspace) -> dict[str, Any]:
    """The policy as it stands, with where each cell comes from."""
    from whet.guard.trust import VENDORS

    config = workspace.config()
    table = table_of(config)
    rows = [
        {"trust": trust, **{verdict: cell._asdict() for verdict, cell in row.items()}} for trust, row in table.items()
    ]
    return {"success": True, "policy": rows, "trusted_sources": [*VENDORS, *config.settings.trusted_sources]}


def explain_cell(workspace: Workspace, trust: str, verdict: str) -> dict[str, Any]:
    """What is done with skills of a trust and a verdict, in a sentence."""
    from whet.guard.finding import LABELS

    table = table_of(workspace.config())
    if trust not in table:
        raise UsageError("bad-trust", f"The policy has no row {trust!r}.", hint=f"Rows: {', '.join(table)}.")
    label = next((label for label in LABELS if label == verdict), None)
    if label is None:
        raise UsageError("bad-verdict", f"{verdict!r} is no verdict.", hint=f"Verdicts: {', '.join(LABELS)}.")
    return {"success": True, **decide(trust, label, table).to_json()}


def explain_skill(workspace: Workspace, name: str, origins: Mapping[str, str] = NO_ORIGINS) -> dict[str, Any]:
    """What is done with one skill, and the finding that decides."""
    found = _found(workspace, name, origins)
    return {"success": True, **found.to_json()}


def override(
    workspace: Workspace, name: str, reason: str, actor: str, origins: Mapping[str, str] = NO_ORIGINS
) -> dict[str, Any]:
    """Let a skill through as it is now, for a reason, until it changes."""
    if not reason.strip():
        raise UsageError("reason-needed", NO_REASON, hint="Say why with --reason.")
    found = _found(workspace, name, origins)
    workspace.judge.override(found.card.full_name, found.card.location, found.judgement, reason, actor)
    return _decided_again(workspace, found.card, origins)


def revoke(
    workspace: Workspace, name: str, reason: str, actor: str, origins: Mapping[str, str] = NO_ORIGINS
) -> dict[str, Any]:
    """End an override."""
    found = _found(workspace, name, origins)
    changed = workspace.judge.audit.override(found.judgement.scan.digest) is not None
    if changed:
        workspace.judge.revoke(found.card.full_name, found.card.location, found.judgement, actor, reason)
    return {**_decided_again(workspace, found.card, origins), "changed": changed}


def _decided_again(workspace: Workspace, card: Card, origins: Mapping[str, str]) -> dict[str, Any]:
    config = workspace.config()
    found = judged(workspace, card, config, trust=trust_of(card, table_of(config), origins))
    _keep_back(workspace, card, found.judgement)
    return {"success": True, **found.to_json()}


def _found(workspace: Workspace, name: str, origins: Mapping[str, str] = NO_ORIGINS) -> Judged:
    card, config = workspace.find(name)
    return judged(workspace, card, config, trust=trust_of(card, table_of(config), origins))


def examine_audit(workspace: Workspace) -> tuple[Note, ...]:
    """What is wrong with the record of decisions."""
    hint = "`whet audit --verify` tells all of it. Restore Whet's state directory from a copy."
    problems = workspace.judge.audit.verify()[:1]
    return tuple(Note("audit-not-whole", "error", item.message, hint, path=workspace.state.path) for item in problems)
