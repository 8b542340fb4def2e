"""Findings as SARIF 2.1.0, which code hosts and editors read.

Paths are relative to a directory, by default the one where the scan ran, so that a code host finds them in the repository.
A finding that a baseline accepts is a suppressed result with its reason; fingerprints let a host recognise a finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from whet.guard.finding import CATEGORIES
from whet.guard.report.results import location

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.guard.finding import Finding, Rule
    from whet.guard.report.results import ScanReport
    from whet.values import Json

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"info": "note", "warn": "warning", "critical": "error"}
_SCORES = {"info": "2.0", "warn": "5.5", "critical": "9.0"}
"""The severity that a host shows, from 0 to 10."""
_HOME = "https://pypi.org/project/whet/"


def sarif(report: ScanReport, rules: Mapping[str, Rule], *, base: str, version: str) -> Json:
    """Return the whole document."""
    found = [(result, finding, None) for result in report.results for finding in result.findings]
    found_too = [(result, finding, entry) for result in report.results for finding, entry in result.accepted]
    used = sorted({finding.rule for _, finding, _ in [*found, *found_too]})
    numbers = {rule: number for number, rule in enumerate(used)}
    seen: dict[str, int] = {}
    listed = []
    for result, finding, entry in [*found, *found_too]:
        place = location(result, finding.file, base)
        item = _result(finding, place, numbers[finding.rule], seen)
        item["properties"]["package"] = result.skill
        if entry is not None:
            item["suppressions"] = [{"kind": "external", "status": "accepted", "justification": entry.reason}]
        listed.append(item)
    driver = {
        "name": "whet",
        "semanticVersion": version,
        "informationUri": _HOME,
        "rules": [_rule(name, rules.get(name)) for name in used],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": listed,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str, rule: Rule | None) -> Json:
    if rule is None:
        return {"id": name}
    title = rule.title.rstrip(".") + "."
    references = f"\n\n{', '.join(rule.references)}" if rule.references else ""
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in name.split("-")),
        "shortDescription": {"text": title},
        "fullDescription": {"text": rule.why},
        "help": {
            "text": f"{rule.why} {rule.remedy}",
            "markdown": f"**Why:** {rule.why}\n\n**What to do:** {rule.remedy}{references}",
        },
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {
            "tags": ["security", rule.category],
            "category": CATEGORIES.get(rule.category, rule.category),
            "security-severity": _SCORES[rule.severity],
            "references": list(rule.references),
        },
    }


def _result(finding: Finding, place: str, number: int, seen: dict[str, int]) -> Json:
    key = f"{place}:{finding.fingerprint}"
    count = seen[key] = seen.get(key, 0) + 1
    evidence = f" Found: {finding.evidence}" if finding.evidence else ""
    region: Json = {"startLine": max(finding.line, 1)}
    if finding.evidence:
        region["snippet"] = {"text": finding.evidence}
    return {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.message}{evidence}"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(place)}, "region": region}}],
        "partialFingerprints": {"whetFinding/v1": f"{finding.fingerprint}:{count}"},
        "properties": {"category": finding.category, "severity": finding.severity, "remedy": finding.remedy},
    }
