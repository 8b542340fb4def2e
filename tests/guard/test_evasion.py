"""Forty-four ways to get a danger past a scanner, each in several spellings: none of them does."""

from __future__ import annotations

import pytest

from guard import evasions_placed, evasions_written
from guard.packages import FETCH, OVERRIDE, Least, Technique, package, padded
from whet.guard.finding import LABELS, Finding
from whet.guard.scan import scan
from whet.skill.tree import Item, Tree

TECHNIQUES = sorted((*evasions_written.TECHNIQUES, *evasions_placed.TECHNIQUES))
VARIANTS = [
    pytest.param(tree, "caution" if name in technique.softer else technique.least, id=f"{technique.id}-{name}")
    for technique in TECHNIQUES
    for name, tree in technique.packages.items()
]


@pytest.mark.parametrize(("tree", "least"), VARIANTS)
def test_no_spelling_gets_past(tree: Tree, least: Least) -> None:
    found = scan(tree)

    assert LABELS.index(found.verdict) >= LABELS.index(least), found.findings
    assert [finding for finding in found.findings if finding.rule == "scanner-error"] == []


def test_every_technique_has_three_spellings() -> None:
    names = [technique.id.partition("-")[0] for technique in TECHNIQUES]
    padding = "p31"

    assert sorted((*names, padding)) == sorted((*(f"p{number:02}" for number in range(42)), "p15b", "p20b"))
    assert {technique.id: len(technique.packages) for technique in TECHNIQUES if len(technique.packages) < 3} == {}
    assert all(technique.softer <= set(technique.packages) for technique in TECHNIQUES)


def test_an_honest_package_is_safe_without_any_finding() -> None:
    script = "#!/usr/bin/env python3\nimport sys\n\nprint(sys.stdin.read().strip())\n"
    tree = package(
        "Run `scripts/tidy.py` over a note, then read `references/style.md`.",
        {"scripts/tidy.py": Item(script.encode(), executable=True), "references/style.md": "# Style\n\nBe brief.\n"},
    )

    assert (scan(tree).verdict, scan(tree).findings) == ("safe", ())


@pytest.mark.parametrize("technique", [one for one in TECHNIQUES if one.id.startswith("p28")], ids=lambda one: one.id)
def test_tools_without_limits_are_told_and_no_more(technique: Technique) -> None:
    for name, tree in technique.packages.items():
        assert [(one.rule, one.severity) for one in scan(tree).findings] == [("wide-tools", "info")], name


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [("assets/a.txt", 1, 1), ("scripts/a.sh", 1, 0), ("references/a.md", 0, 1)],
    ids=["p31-middle-of-a-text", "p31-end-of-a-script", "p31-begin-of-a-page"],
)
def test_padding_hides_nothing(path: str, before: int, after: int, *, quick: bool) -> None:
    size = MEGABYTE // 5 if quick else MEGABYTE
    payload = FETCH if path.endswith(".sh") else f"\n{OVERRIDE}\n"
    if path.endswith(".sh"):
        data = b"#!/bin/sh\n" + b"# nothing to see\n" * (before * size // 17) + payload.encode() + b"\n"
    else:
        data = padded(payload, before * size, after * size)
    found = scan(package(f"Read `{path}`.", {path: data}))

    def at(finding: Finding) -> tuple[str, str]:
        return finding.file, finding.severity

    assert found.verdict == "dangerous"
    assert (path, "critical") in set(map(at, found.findings))
