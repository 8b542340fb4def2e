"""The policy: the table, what settings make of it, and the sentence that explains a decision."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.finding import LABELS, Finding
from whet.guard.policy import (
    ACTIONS,
    ROWS,
    Cell,
    Decision,
    Override,
    Setting,
    actor_trust,
    decide,
    default_table,
    gravest,
    looser,
    place_trust,
    stricter,
    table_with,
)

TABLE = default_table()
PIPED = Finding(
    "pipe-shady",
    "critical",
    "remote-execution",
    "scripts/setup.sh",
    3,
    "A download is piped into a shell.",
    "curl",
    "No.",
)
MILD = PIPED._replace(rule="secret-read", severity="warn", file="SKILL.md", line=9, message="Keys are read.")
CELLS = st.tuples(st.sampled_from((*ROWS, "vendor")), st.sampled_from(LABELS), st.sampled_from(ACTIONS))


def test_the_table_is_the_one_of_the_manual() -> None:
    assert ROWS == {
        "trusted": ("allow", "allow", "block"),
        "community": ("allow", "block", "block"),
        "directory": ("allow", "ask", "block"),
        "agent-created": ("allow", "allow", "ask"),
        "org": ("allow", "allow", "block"),
        "local": ("allow", "allow", "ask"),
    }


@pytest.mark.parametrize(("trust", "at"), [*product(ROWS, range(3))])
def test_every_cell_decides(trust: str, at: int) -> None:
    decision = decide(trust, LABELS[at], TABLE)
    assert (decision.action, decision.trust, decision.verdict, decision.source) == (
        *(ROWS[trust][at], trust, LABELS[at]),
        "default",
    )
    assert decision.reason.endswith(".") and decision.reason.count(".") == 1


def test_a_decision_names_the_finding_that_decides() -> None:
    decision = decide("community", "dangerous", TABLE, findings=(MILD, PIPED))
    assert decision == Decision(
        "block",
        "Community skills with a dangerous finding are blocked: a download is piped into a shell "
        "(scripts/setup.sh, line 3).",
        "community",
        "dangerous",
    )
    assert gravest((MILD, PIPED)) == PIPED and gravest(()) is None
    told = decide("agent-created", "caution", TABLE, findings=(MILD,)).reason
    assert told == "Skills written by an agent with a warning are allowed: keys are read (SKILL.md, line 9)."
    assert (
        decide("local", "safe", TABLE).reason == "Skills in your own directories without a serious finding are allowed."
    )
    assert decide(
        "trusted", "dangerous", TABLE, findings=(PIPED._replace(message="SSH keys leave.", line=0),)
    ).reason == ("Trusted skills with a dangerous finding are blocked: SSH keys leave (scripts/setup.sh).")


def test_a_trust_that_nobody_knows_is_the_strictest() -> None:
    assert decide("friend", "caution", TABLE).action == "block"


def test_an_override_lets_one_content_through_and_says_whose_word_it_is() -> None:
    override = Override("sha256:1", "Read by two of us", "user", "2027-01-02T03:04:05Z")
    decision = decide("community", "dangerous", TABLE, findings=(PIPED,), override=override)
    assert decision == Decision(
        "allow",
        "user allowed exactly this content on 2027-01-02: Read by two of us.",
        "community",
        "dangerous",
        "override",
    )
    assert decide("community", "safe", TABLE, override=override).source == "default", "nothing to override"


def test_settings_change_cells_and_add_rows() -> None:
    table = table_with(
        [("community", "caution", "ask"), ("vendor", "dangerous", "ask")], [("trusted", "caution", "ask")]
    )
    assert table["community"] == {
        "safe": Cell("allow"),
        "caution": Cell("ask", "config.toml"),
        "dangerous": Cell("block"),
    }
    assert table["vendor"] == {
        "safe": Cell("allow", "config.toml"),
        "caution": Cell("ask", "config.toml"),
        "dangerous": Cell("ask", "config.toml"),
    }
    assert table["trusted"]["caution"] == Cell("ask", ".whet.toml")
    assert default_table() == TABLE, "nobody's settings are kept"


def test_a_project_can_only_be_stricter() -> None:
    user, project = (
        [("community", "caution", "ask")],
        [("community", "caution", "allow"), ("local", "caution", "block")],
    )
    table = table_with(user, project)
    assert (table["community"]["caution"], table["local"]["caution"]) == (
        Cell("ask", "config.toml"),
        Cell("block", ".whet.toml"),
    )
    assert looser(user, project) == (("community", "caution", "allow"),)


@settings(max_examples=150, deadline=None)
@given(st.lists(CELLS, max_size=8), st.lists(CELLS, max_size=8))
def test_whatever_a_project_says_nothing_is_looser(user: list[Setting], project: list[Setting]) -> None:
    before, after = table_with(user), table_with(user, project)
    for trust, row in before.items():
        for verdict, cell in row.items():
            assert not stricter(cell.action, after[trust][verdict].action)
    for trust in set(after) - set(before):
        for verdict, cell in after[trust].items():
            assert not stricter(before["community"][verdict].action, cell.action)


def test_places_and_writers_have_rows() -> None:
    levels = ("org", "local", "project", "external", "elsewhere")
    assert [place_trust(level, TABLE) for level in levels] == [
        *("org", "local", "trusted", "trusted", "community"),
    ]
    assert place_trust("project", table_with([("project", "caution", "ask")])) == "project"
    assert [actor_trust(actor) for actor in ("user", "agent", "curator", "")] == ["local", *["agent-created"] * 3]
