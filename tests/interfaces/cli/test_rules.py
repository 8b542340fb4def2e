"""`whet guard rules`: what the guard looks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from whet.guard import rules
from whet.guard.finding import CATEGORIES, Rule, Rules
from whet.interfaces.cli.commands.guard import render_rule, render_rules
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Namespace

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    Whet = Callable[..., CompletedProcess[str]]

ONE = Rule(
    id="a-danger",
    severity="critical",
    category="hiding",
    title="Something is hidden",
    why="Nobody can see it.",
    remedy="Remove it.",
    references=("CWE-506",),
)


def test_every_rule_is_listed(whet: Whet) -> None:
    run = whet("guard", "rules")
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    known = rules.every()
    assert [(name, severity) for name, severity, _ in rows] == [(rule.id, rule.severity) for rule in known.values()]
    assert (run.returncode, run.stderr) == (0, f"{len(known)} rules; `whet guard rules ID` explains one.\n")


def test_the_document(whet: Whet) -> None:
    answer = json.loads(whet("guard", "rules", "--json").stdout)
    assert (answer["success"], answer["count"], len(answer["rules"])) == (True, len(rules.every()), answer["count"])
    assert {tuple(rule) for rule in answer["rules"]} == {
        ("id", "severity", "category", "title", "why", "remedy", "references")
    }
    assert [rule["id"] for rule in answer["rules"] if not rule["title"].endswith(".")] == []


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_has_rules(category: str, whet: Whet) -> None:
    found = json.loads(whet("guard", "rules", "--category", category, "--json").stdout)["rules"]
    assert found
    assert {rule["category"] for rule in found} == {category}


def test_one_rule_is_explained(whet: Whet) -> None:
    rule = rules.every()["pipe-shady"]
    expected = {**rule._asdict(), "title": f"{rule.title.rstrip('.')}.", "references": list(rule.references)}
    del expected["mention"]
    assert json.loads(whet("guard", "rules", "pipe-shady", "--json").stdout) == {"success": True, "rule": expected}
    run = whet("guard", "rules", "pipe-shady")
    assert run.stdout.startswith("pipe-shady  critical  remote-execution\n")
    assert f"What to do: {rule.remedy}" in run.stdout


def test_a_terminal_gets_a_table_or_paragraphs() -> None:
    screen = Screen(tty=True, colour=False, columns=60)
    render_rules(Rules([ONE]), screen, Namespace())
    assert screen.text() == (
        "ID        SEVERITY  TITLE\n"  # the headings, then the rule
        "a-danger  critical  Something is hidden.\n"
    )
    assert screen.messages == ["1 rule; `whet guard rules ID` explains one."]
    screen = Screen(tty=True, colour=False, columns=60)
    render_rule(ONE, screen, Namespace())
    assert screen.text() == (
        "a-danger  critical  hiding\n"
        "  Something is hidden.\n"
        "  Why: Nobody can see it.\n"
        "  What to do: Remove it.\n"
        "  See: CWE-506\n"
    )


def test_an_unknown_rule_is_told_with_what_comes_close(whet: Whet) -> None:
    run = whet("guard", "rules", "pipe-shadi", "--json")
    answer = json.loads(run.stdout)
    assert (run.returncode, answer["code"], answer["suggestions"][0]) == (1, "rule-not-found", "pipe-shady")
    assert answer["hint"].startswith("Did you mean pipe-shady")
    assert json.loads(whet("guard", "rules", "§§", "--json").stdout)["hint"] == "`whet guard rules` lists them."


def test_a_rule_and_a_category_do_not_go_together(whet: Whet) -> None:
    run = whet("guard", "rules", "pipe-shady", "--category", "hiding", "--json")
    assert (run.returncode, json.loads(run.stdout)["code"]) == (2, "usage")
