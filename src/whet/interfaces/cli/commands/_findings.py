"""How findings of the guard are shown: the grave ones with what stands there and what to do, the others counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.interfaces.cli.output import Screen, Style

SEVERITIES: dict[str, Style] = {"critical": "red", "warn": "yellow", "info": "cyan"}
VERDICTS: dict[str, Style] = {"dangerous": "red", "caution": "yellow", "safe": "green"}
DECISIONS: dict[str, Style] = {"block": "red", "ask": "yellow", "allow": "green"}
_INDENT = 4


def show_findings(findings: Sequence[dict[str, Any]], path: str, screen: Screen, *, every: bool = False) -> None:
    """Every finding that matters; on a pipe a line for each, with its place in front."""
    for finding in findings:
        if finding["severity"] == "info" and not every:
            continue
        (_block if screen.tty else _line)(finding, path, screen)


def _block(finding: dict[str, Any], _path: str, screen: Screen) -> None:
    severity = screen.paint(f"{finding['severity']:<8}", SEVERITIES[finding["severity"]])
    place = f"{finding['file']}:{finding['line']}" if finding["line"] else finding["file"]
    screen.line(f"  {severity}  {screen.paint(screen.fit(place, 14), 'bold')}")
    screen.paragraph(f"{finding['message']} [{finding['rule']}]", _INDENT)
    if finding["evidence"]:
        screen.line(" " * _INDENT + screen.paint(f"> {screen.fit(finding['evidence'], _INDENT + 2)}", "dim"))
    screen.paragraph(finding["remedy"], _INDENT)


def _line(finding: dict[str, Any], path: str, screen: Screen) -> None:
    line = f":{finding['line']}" if finding["line"] else ""
    severity = screen.paint(finding["severity"], SEVERITIES[finding["severity"]])
    place = screen.place(f"{path}/{finding['file']}")
    screen.line(f"{place}{line}: {severity}: {clean(finding['message'])} [{finding['rule']}]")
