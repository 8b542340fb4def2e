"""Findings as Markdown, for a comment on a change.

Text from a package is quoted as code in which nothing can be a link, a mention or a picture.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.finding import LABELS
from whet.guard.policy import told
from whet.guard.report.results import location

if TYPE_CHECKING:
    from whet.guard.finding import Finding
    from whet.guard.report.results import ScanReport, ScanResult

MOST = 50
"""Largest number of findings that are shown for one package."""
_LONGEST = 160
_MARKS = expression(r"[\\`*_\[\]|~]")
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "&#64;"), ("://", ":&#47;/"), ("www.", "www&#46;"))
_CONTROL = expression(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def markdown(report: ScanReport, *, base: str) -> str:
    """Return the whole comment."""
    counts = ", ".join(f"{report.count(label)} {label}" for label in reversed(LABELS))
    lines = [
        f"## Skill scan: {report.verdict}",
        "",
        f"{_count(len(report.results), 'skill')}: {counts}.",
        "",
        "| skill | verdict | critical | warn | info |",
        "|---|---|---|---|---|",
    ]
    ordered = sorted(report.results, key=lambda result: (-LABELS.index(result.verdict), result.path))
    for result in ordered:
        found = [sum(one.severity == name for one in result.findings) for name in ("critical", "warn", "info")]
        lines.append(f"| {text(result.path)} | {result.verdict} | {' | '.join(map(str, found))} |")
    for result in ordered:
        lines.extend(_package(result, base))
    return "\n".join(lines) + "\n"


def _package(result: ScanResult, base: str) -> list[str]:
    grave = [finding for finding in result.findings if finding.severity != "info"]
    if not grave and not result.accepted:
        return []
    lines = ["", f"### {text(result.path)}: {result.verdict}", ""]
    for finding in grave[:MOST]:
        lines.extend(_finding(finding, location(result, finding.file, base)))
    if len(grave) > MOST:
        lines.append(f"- and {len(grave) - MOST} more")
    for finding, entry in result.accepted:
        lines.append(f"- accepted: {text(told(finding))}. Reason: {text(entry.reason)}")
    return lines


def _finding(finding: Finding, place: str) -> list[str]:
    where = code(f"{place}:{finding.line}" if finding.line else place)
    lines = [f"- **{finding.severity}** {where} {text(finding.message)} [{finding.rule}]"]
    if finding.evidence:
        lines.append(f"  - found: {code(finding.evidence)}")
    lines.append(f"  - remedy: {text(finding.remedy)}")
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def text(words: str) -> str:
    """Return text that Markdown shows as it is."""
    plain = _MARKS.sub(r"\\\g<0>", _plain(words))
    for mark, entity in _ENTITIES:
        plain = plain.replace(mark, entity)
    return plain


def code(words: str) -> str:
    """Return text as code on one line."""
    plain = _plain(words)[:_LONGEST].replace("|", "\N{BROKEN BAR}")
    ticks = "`" * (max((len(run) for run in re.findall("`+", plain)), default=0) + 1)
    return f"{ticks} {plain} {ticks}" if "`" in plain else f"`{plain}`"


def _plain(words: str) -> str:
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", " ".join(words.split()))
