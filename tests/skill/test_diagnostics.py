"""The list of diagnostics in the documentation is the list in the code."""

from __future__ import annotations

import re
from pathlib import Path

import whet.skill
from whet.skill.diagnostics import Diagnostic

READERS = ("block", "body", "coerce", "dialects", "frontmatter", "heading", "repair")
RAISED = re.compile(r'(?:Diagnostic|\.note)\(\s*f?"([^"]+)",\s*"(\w+)"')
ROW = re.compile(r"\| `([a-z0-9-]+)` \| (\w+) \| ([^|]+) \| ([^|]+) \|")


def test_the_documentation_lists_every_diagnostic_of_reading() -> None:
    room = Path(whet.skill.__path__[0])
    source = "".join((room / f"{name}.py").read_text(encoding="utf-8") for name in READERS)
    raised = {
        (code.replace("{key}", key), severity)
        for code, severity in RAISED.findall(source)
        for key in (("name", "description") if "{key}" in code else ("",))
    }
    manual = (Path(__file__).parents[2] / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    table = manual.partition("## Diagnostics of reading\n")[2].partition("\n## ")[0]
    rows = ROW.findall(table)
    assert {(code, severity) for code, severity, _, _ in rows} == raised
    assert [code for code, *_ in rows] == sorted(code for code, _ in raised)


def test_a_diagnostic_as_json() -> None:
    note = Diagnostic("no-frontmatter", "warning", "A sentence.", 1, "A hint.")
    assert note.to_json() == {
        "code": "no-frontmatter",
        "severity": "warning",
        "message": "A sentence.",
        "line": 1,
        "hint": "A hint.",
    }
