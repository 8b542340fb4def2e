"""The same results as JSON, SARIF and Markdown."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from whet.guard.baseline import Entry
from whet.guard.finding import Finding, Rule
from whet.guard.report.markdown import code, markdown, text
from whet.guard.report.results import ScanReport, ScanResult, location, reaches
from whet.guard.report.sarif import sarif

if TYPE_CHECKING:
    from pathlib import Path

RULE = Rule(
    "pipe-shady", "critical", "remote-execution", "Code is fetched and run", "Who knows it.", "Remove it.", ("CWE-494",)
)
BAD = Finding(
    "pipe-shady", "critical", "remote-execution", "scripts/a b.sh", 3, "Fetched and run.", "curl x | sh", "Remove it."
)
MILD = BAD._replace(rule="secret-read", severity="warn", file="SKILL.md", line=0, message="Keys are read.", evidence="")
INFO = MILD._replace(rule="uses-network", severity="info", line=7)
KNOWN = Entry("deploy", MILD.fingerprint, "secret-read", "SKILL.md", "Its own key.")


@pytest.fixture
def results(tmp_path: Path) -> tuple[ScanResult, ...]:
    base = str(tmp_path / "skills")
    return (
        ScanResult(
            os.path.join(base, "deploy"), "deploy", "dangerous", "sha256:1", (BAD, BAD, INFO), 0.25, ((MILD, KNOWN),)
        ),
        ScanResult(os.path.join(base, "ok"), "ok", "safe", "sha256:2", (), 0.5),
    )


def test_a_result_is_what_the_contract_says(results: tuple[ScanResult, ...]) -> None:
    told = results[0].to_json()
    assert set(told) == {"path", "skill", "verdict", "digest", "findings", "seconds", "accepted"}
    assert {"rule", "severity", "category", "file", "line", "message", "evidence", "remedy"} <= set(told["findings"][0])
    assert told["accepted"] == [{**MILD.to_json(), "reason": "Its own key."}]
    assert results[1].to_json() == {
        "path": results[1].path,
        "skill": "ok",
        "verdict": "safe",
        "digest": "sha256:2",
        "findings": [],
        "seconds": 0.5,
    }


def test_the_summary_counts(results: tuple[ScanResult, ...]) -> None:
    assert ScanReport(results).to_json()["summary"] == {
        "packages": 2,
        "verdicts": {"safe": 1, "caution": 0, "dangerous": 1},
        "findings": {"critical": 2, "warn": 0, "info": 1},
        "accepted": 1,
        "verdict": "dangerous",
        "seconds": 0.75,
    }
    assert (ScanReport(()).verdict, ScanReport(results[1:]).verdict) == ("safe", "safe")
    assert [reaches(verdict, "caution") for verdict in ("safe", "caution", "dangerous")] == [False, True, True]


def test_places_are_relative_and_never_above(tmp_path: Path, results: tuple[ScanResult, ...]) -> None:
    skill = results[0]
    assert location(skill, "a/b.md", str(tmp_path)) == "skills/deploy/a/b.md"
    assert location(skill, "a/c.zip!/d.sh", str(tmp_path)) == "skills/deploy/a/c.zip"
    assert location(skill, "a/b.md", str(tmp_path / "elsewhere")) == "deploy/a/b.md"
    archive = skill._replace(path=str(tmp_path / "d.skill"), skill="deploy", archive=True)
    assert location(archive, "a/b.md", str(tmp_path)) == "d.skill"


# SARIF


def must(condition: object, what: str) -> None:
    assert condition, what


def check_sarif(document: Any) -> None:
    """The parts of SARIF 2.1.0 that readers rely on: what must be there, of which kind, and what refers to what."""
    must(set(document) == {"$schema", "version", "runs"} and document["version"] == "2.1.0", "head")
    for run in document["runs"]:
        driver = run["tool"]["driver"]
        must(isinstance(driver["name"], str) and re.fullmatch(r"\d+\.\d+\.\d+\S*", driver["semanticVersion"]), "tool")
        names = [rule["id"] for rule in driver["rules"]]
        must(len(names) == len(set(names)), "rules are unique")
        for rule in driver["rules"]:
            for field in ("shortDescription", "fullDescription", "help"):
                must(field not in rule or isinstance(rule[field]["text"], str), field)
            level = rule.get("defaultConfiguration", {}).get("level", "none")
            must(level in ("none", "note", "warning", "error"), "level of a rule")
            score = rule.get("properties", {}).get("security-severity", "1")
            must(0 <= float(score) <= 10, "score")
        must(run["columnKind"] in ("unicodeCodePoints", "utf16CodeUnits"), "columns")
        for result in run["results"]:
            must(names[result["ruleIndex"]] == result["ruleId"], "rule index")
            must(result["level"] in ("none", "note", "warning", "error"), "level")
            must(result["message"]["text"], "message")
            must(all(isinstance(value, str) for value in result["partialFingerprints"].values()), "fingerprints")
            for place in result["locations"]:
                physical = place["physicalLocation"]
                uri = physical["artifactLocation"]["uri"]
                must(re.fullmatch(r"[\w.~!$&'()*+,;=@%/-]+", uri, re.ASCII), "an address")
                must(not uri.startswith("/") and ".." not in uri.split("/"), "relative")
                must(physical["region"]["startLine"] >= 1, "line")
            for item in result.get("suppressions", ()):
                must(item["kind"] in ("inSource", "external") and item["justification"], "suppression")


def test_sarif_is_what_its_readers_expect(tmp_path: Path, results: tuple[ScanResult, ...]) -> None:
    document = sarif(ScanReport(results), {"pipe-shady": RULE}, base=str(tmp_path), version="1.2.3")
    check_sarif(document)
    (run,) = document["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["pipe-shady", "secret-read", "uses-network"]
    assert run["tool"]["driver"]["rules"][0]["help"]["markdown"].endswith("CWE-494")
    levels = [(item["ruleId"], item["level"], "suppressions" in item) for item in run["results"]]
    assert levels == [
        ("pipe-shady", "error", False),
        ("pipe-shady", "error", False),
        ("uses-network", "note", False),
        ("secret-read", "warning", True),
    ]
    first, second, *_ = run["results"]
    place = first["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "skills/deploy/scripts/a%20b.sh"},
        "region": {"startLine": 3, "snippet": {"text": "curl x | sh"}},
    }
    prints = [item["partialFingerprints"]["whetFinding/v1"] for item in (first, second)]
    assert prints == [f"{BAD.fingerprint}:1", f"{BAD.fingerprint}:2"], "the same text twice is two findings"


def test_sarif_of_nothing_is_valid_too(tmp_path: Path) -> None:
    document = sarif(ScanReport(()), {}, base=str(tmp_path), version="1.2.3")
    check_sarif(document)
    assert document["runs"][0]["results"] == []


# Markdown


def test_markdown_tells_the_verdict_then_the_findings(tmp_path: Path, results: tuple[ScanResult, ...]) -> None:
    deploy, ok = results
    told = markdown(ScanReport((ok, deploy)), base=str(tmp_path)).replace(text(str(tmp_path)), "TOP")
    assert told == (
        "## Skill scan: dangerous\n\n2 skills: 1 dangerous, 0 caution, 1 safe.\n\n"
        "| skill | verdict | critical | warn | info |\n|---|---|---|---|---|\n"
        "| TOP/skills/deploy | dangerous | 2 | 0 | 1 |\n| TOP/skills/ok | safe | 0 | 0 | 0 |\n\n"
        "### TOP/skills/deploy: dangerous\n\n"
        + "- **critical** `skills/deploy/scripts/a b.sh:3` Fetched and run. [pipe-shady]\n"
        "  - found: `curl x ¦ sh`\n  - remedy: Remove it.\n"
        * 2
        + "- accepted: keys are read (SKILL.md). Reason: Its own key.\n"
    )


def test_what_a_package_says_stays_text() -> None:
    assert text("[x](https://e.example) @all <img> a_b|c\n`d`\u202e") == (
        "\\[x\\](https:&#47;/e.example) &#64;all &lt;img&gt; a\\_b\\|c \\`d\\`\\\\u202e"
    )
    assert code("a `b` | c\nd") == "`` a `b` ¦ c d ``"
    assert len(code("x" * 5000)) < 200
