"""The commands that look back, go back, decide on proposals, and tell of use."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from whet.authoring.journal import Entry
from whet.authoring.proposals import PendingProposals, Proposal, Proposed
from whet.authoring.results import Difference, SkillHistory
from whet.interfaces.cli.commands.history import render_diff, render_history
from whet.interfaces.cli.commands.proposals import render_pending
from whet.interfaces.cli.commands.usage import render_usage
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Namespace
from whet.interfaces.cli.text import width
from whet.learning.usage import DeadSkill, Total, UsageTotals

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

TIME = "2026-11-15T06:00:00Z"
AT = 1_794_722_400 * 10**9
"""The same in nanoseconds since 1970."""


@pytest.fixture
def deploy(home: Path, whet: Callable[..., CompletedProcess[str]]) -> Path:
    """A skill with three versions."""
    about = ("--description", "Deploys the site. Use when asked to deploy it.")
    assert whet("create", "deploy", *about, "--body", "One.\n", "--reason", "First.").returncode == 0
    for text in ("Two.\n", "Three.\n"):
        assert whet("edit", "deploy", "--body", text).returncode == 0
    return home / ".agents" / "skills" / "deploy"


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    assert (run.stderr, run.stdout.count("\n")) == ("", 1)
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


def body(directory: Path) -> str:
    return (directory / "SKILL.md").read_text(encoding="utf-8").rpartition("---\n\n")[2]


def screen(*, tty: bool = True, colour: bool = False, columns: int = 60) -> Screen:
    return Screen(tty=tty, colour=colour, columns=columns)


def test_history_is_a_line_for_each_entry(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    everything = answer(whet("history", "--json"))
    times = [entry["time"] for entry in everything["entries"]]
    run = whet("history", "deploy")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == (
        f"3\t{times[2]}\tuser\tedit\t3\t\n2\t{times[1]}\tuser\tedit\t2\t\n1\t{times[0]}\tuser\tcreate\t1\tFirst.\n"
    )
    assert whet("history", "--last", "1").stdout == f"3\t{times[2]}\tuser\tedit\tdeploy\t\n"
    assert {entry["path"] for entry in everything["entries"]} == {str(deploy)}


def test_history_is_a_table_on_a_terminal() -> None:
    entry = Entry(7, AT, "agent", "", "edit", "deploy", "/deploy", "Why " * 20, *[""] * 8)
    view = screen()
    render_history(SkillHistory((entry,)), view, Namespace())
    heads, row = view.text().splitlines()
    assert heads == "ID  WHEN              WHO    WHAT  SKILL   REASON"
    assert row.startswith("7   2026-11-15 06:00  agent  edit  deploy  Why Why") and width(row) <= 60
    named = screen()
    render_history(SkillHistory((entry,), "deploy"), named, Namespace())
    assert named.text().startswith("ID  WHEN              WHO    WHAT  STATE  REASON\n")


def test_nothing_was_changed_yet(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    skill("thing")
    for words, said in (
        (["history"], "The history has no entries yet."),
        (["history", "thing"], "The history has no entries about thing."),
        (["history", "verify"], "The history has no entries yet."),
        (["proposals", "list"], "There are no proposals."),
        (["learn", "usage"], "Nothing is recorded yet."),
        (["learn", "usage", "thing"], "Nothing is recorded about thing yet."),
    ):
        run = whet(*words)
        assert (words, run.returncode, run.stdout, run.stderr) == (words, 0, "", f"{said}\n")


def test_an_export_is_json_with_and_without_asking(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    plain, asked = whet("history", "deploy", "--export"), whet("history", "deploy", "--export", "--json")
    exported = answer(plain)
    assert exported == answer(asked)
    assert (exported["name"], len(exported["entries"]), len(exported["contents"])) == ("deploy", 3, 3)
    assert {entry["path"] for entry in exported["entries"]} == {str(deploy)}


@pytest.mark.usefixtures("deploy")
def test_diff_of_the_last_and_of_any_versions(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("history", "diff", "deploy")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("--- state-2/SKILL.md\n+++ now/SKILL.md\n@@")
    assert run.stdout.endswith("-Two.\n+Three.\n")
    assert whet("history", "diff", "deploy", "3", "1").stdout.endswith("-Three.\n+One.\n")
    told = answer(whet("history", "diff", "deploy", "1", "--json"))
    assert (told["name"], told["from"], told["to"], told["text"]) == (
        *("deploy", 1, None),
        whet("history", "diff", "deploy", "1").stdout,
    )
    same = whet("history", "diff", "deploy", "3")
    assert (same.returncode, same.stdout, same.stderr) == (0, "", "The states are the same.\n")


def test_a_diff_has_colours_and_no_tricks() -> None:
    view = screen(colour=True)
    text = "--- a\n+++ b\n@@ -1 +1 @@\n-old\x1b[2J\n+new\n same\n"
    render_diff(Difference("deploy", 1, None, text), view, Namespace())
    assert view.text() == (
        "\x1b[1m--- a\x1b[0m\n\x1b[1m+++ b\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n"
        "\x1b[31m-old\\x1b[2J\x1b[0m\n\x1b[32m+new\x1b[0m\n same\n"
    )


def test_rollback_and_undo(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("undo", "deploy", "--to", "1", "--reason", "Better.")
    assert (run.returncode, run.stdout, run.stderr) == (
        0,
        f"{deploy}\n",
        "deploy is as it was in state 1.\nhint: `whet undo 4` undoes this.\n",
    )
    assert body(deploy) == "One.\n"
    undone = answer(whet("undo", "4", "--json"))
    assert (undone["name"], undone["path"], undone["entry"], body(deploy)) == ("deploy", str(deploy), 5, "Three.\n")
    assert whet("rollback", "deploy").returncode == 0
    reasons = [entry["reason"] for entry in answer(whet("history", "deploy", "--json"))["entries"]]
    assert reasons[3:5] == ["Better.", "Undo of 4."]


def test_undo_alone_takes_back_the_last_change(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    whet("edit", "deploy", "--body", "Four.\n")
    assert whet("undo").returncode == 0
    assert body(deploy) == "Three.\n"
    assert answer(whet("history", "--json"))["entries"][-1]["reason"] == "Undo of 4."


def test_redo_makes_the_change_again_that_was_undone_last_or_is_named_by_number_or_skill(
    deploy: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    def redo(*words: str) -> tuple[int, str, str]:
        run = whet("redo", *words)
        return run.returncode, body(deploy).strip(), run.stderr.splitlines()[0]

    nothing = "undone, so there is nothing to redo."
    assert redo() == (2, "Three.", f"error: No change is {nothing}")
    assert redo("deploy") == (2, "Three.", f"error: No change to deploy is {nothing}")
    assert redo("3") == (2, "Three.", f"error: Change 3 is not {nothing}"), "and it is not undone instead"
    whet("undo")  # 4, of 3
    whet("undo")  # 5, of 2
    assert body(deploy) == "One.\n"
    assert redo("--dry-run") == (0, "One.", "Would redo change 2 (edit): deploy.")
    assert redo() == (0, "Two.", "Redid change 2 (edit): deploy has the change again.")
    assert redo("3") == (0, "Three.", "Redid change 3 (edit): deploy has the change again.")
    whet("undo", "deploy")
    assert redo("deploy") == (0, "Three.", "Redid change 3 (edit): deploy has the change again.")
    whet("disable", "deploy")
    whet("undo")
    assert redo() == (0, "Three.", "Redid change 10 (disable): deploy is disabled again.")
    assert redo()[0] == 2
    reasons = [entry["reason"] for entry in answer(whet("history", "--json"))["entries"][3:]]
    assert reasons == [
        *("Undo of 3.", "Undo of 2.", "Redo of 2.", "Redo of 3.", "Undo of 3.", "Redo of 3."),
        *("", "Undo of 10.", "Redo of 10."),
    ]


def test_a_redo_is_undone_by_its_number_and_the_change_counts_as_undone(
    deploy: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    def told(*words: str) -> str:
        return whet(*words).stderr.splitlines()[0]

    assert whet("remove", "deploy").returncode == 0
    assert told("undo") == "Undid change 4 (remove): deploy is back."
    assert told("redo") == "Redid change 4 (remove): deploy is gone."
    assert told("undo", "6") == "Undid change 6 (redo): deploy is back."
    assert told("redo") == "Redid change 4 (remove): deploy is gone."
    assert told("undo", "8") == "Undid change 8 (redo): deploy is back."
    assert told("undo") == "Undid change 3 (edit): deploy no longer has it.", "4 is undone already"
    assert body(deploy) == "Two.\n"


def test_disabling_is_in_the_history_and_undone(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet("skill", "disable", "deploy", "--surface", "codex").returncode == 0
    assert whet("history").stdout.splitlines()[0].split("\t")[2:] == ["user", "disable for codex", "deploy", ""]
    run = whet("undo", "--dry-run")
    assert (run.stdout, run.stderr) == ("", "Would undo change 4 (disable for codex): deploy.\n")
    run = whet("undo")
    told = "Undid change 4 (disable for codex): deploy is enabled again for codex.\n"
    told += "hint: `whet redo` makes the change again.\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, "", told)
    run = whet("undo", "--dry-run")
    assert "-Three." in run.stdout and run.stderr == "Would undo change 3 (edit): deploy.\n"
    assert body(deploy) == "Three.\n"


def test_undo_alone_with_nothing_to_take_back(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("undo")
    assert (run.returncode, run.stderr.splitlines()[0]) == (1, "error: The history is empty.")


def test_undoing_a_creation_says_that_the_skill_is_gone(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet("create", "brief", "--description", "Is brief.", "--body", "Be brief.").returncode == 0
    (home / ".agents" / "skills").rename(home / "dotfiles")
    (home / ".agents" / "skills").symlink_to(home / "dotfiles")
    run = whet("undo", "1")
    assert (run.returncode, run.stdout, run.stderr) == (
        0,
        "",
        "Undid change 1 (create): brief is gone.\nhint: `whet redo` makes the change again.\n",
    )
    assert not (home / ".agents" / "skills" / "brief").exists()


@pytest.mark.usefixtures("deploy")
def test_the_history_proves_itself(tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    told = answer(whet("history", "verify", "--json"))
    run = whet("history", "verify")
    assert (run.returncode, run.stdout, run.stderr) == (
        0,
        f"{told['lineage']}\n",
        "The history is intact: 3 entries.\n",
    )
    assert told == {
        "success": True,
        "valid": True,
        "entries": 3,
        "lineage": answer(whet("history", "--json"))["entries"][-1]["lineage"],
        "problems": [],
    }
    connection = sqlite3.connect(tmp_path / "state" / "state.db")
    with connection:
        connection.execute("UPDATE journal SET reason = 'Another.' WHERE id = 1")
    connection.close()
    broken = whet("history", "verify", "--json")
    problems = [(problem["entry"], problem["code"]) for problem in answer(broken)["problems"]]
    assert (broken.returncode, answer(broken)["success"], answer(broken)["valid"]) == (1, True, False)
    assert problems == [(1, "entry-changed")]
    said = whet("history", "verify")
    assert (said.returncode, said.stdout.splitlines()[0]) == (
        1,
        "entry 1: error: Entry 1 is altered. [entry-changed]",
    )
    assert said.stderr.startswith("The history is not intact: 3 entries, ")


def test_proposals_wait_are_shown_and_decided(deploy: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    for text in ("Four.\n", "Five.\n"):
        assert whet("edit", "deploy", "--body", text, "--stage", "--reason", "Shorter.").returncode == 0
    waiting = answer(whet("proposals", "list", "--json"))
    times = [proposal["time"] for proposal in waiting["proposals"]]
    run = whet("proposals", "list")
    assert run.stdout == "".join(f"{n}\t{times[n - 1]}\tuser\tedit\tdeploy\tShorter.\n" for n in (1, 2))
    one = whet("proposals", "show", "1")
    assert one.stdout.startswith(
        f"proposal  1\nskill     deploy\nwhat      edit\nwho       user\nwhen      {times[0]}\nreason    Shorter.\n"
        "waits     Writes are staged.\n\n--- deploy/SKILL.md\n+++ deploy/SKILL.md\n"
    )
    assert one.stdout.endswith("-Three.\n+Four.\n")
    assert one.stderr == "hint: `whet proposals approve 1` applies it; `whet proposals reject 1` rejects it.\n"
    approved = whet("proposals", "approve", "1")
    assert (approved.returncode, approved.stdout, approved.stderr) == (0, "", "Applied proposal 1 (entry 4).\n")
    assert body(deploy) == "Four.\n"
    stale = whet("proposals", "approve", "2", "--json")
    assert (stale.returncode, answer(stale)["code"], body(deploy)) == (1, "proposal-stale", "Four.\n")
    assert whet("edit", "deploy", "--body", "Six.\n", "--stage").returncode == 0
    rejected = whet("proposals", "reject", "3", "--reason", "No.")
    assert (rejected.returncode, rejected.stdout, rejected.stderr) == (0, "", "Rejected proposal 3.\n")
    assert answer(whet("proposals", "list", "--json")) == {"success": True, "proposals": [], "count": 0}
    assert answer(whet("proposals", "approve", "3", "--json"))["code"] == "proposal-decided"


def test_proposals_are_a_table_on_a_terminal() -> None:
    changes = tuple(Proposed("rename", name, name, "", "") for name in ("a", "b"))
    proposal = Proposal(1, AT, "agent", "", "", "It ships with Whet.", changes, "pending", 0, "")
    view = screen(columns=80)
    render_pending(PendingProposals([proposal]), view, Namespace())
    assert view.text() == (
        "ID  WHEN              WHO    WHAT    SKILL  REASON\n"
        "1   2026-11-15 06:00  agent  rename  a, b   It ships with Whet.\n"
    )


def test_usage_is_a_table_on_a_terminal() -> None:
    never = Total("x", views=3, uses=2, patches=1)
    view = screen(columns=80)
    render_usage(UsageTotals((never._replace(skill="deploy", last=AT), never), ()), view, Namespace())
    assert view.text() == (
        "SKILL   VIEWS  USES  PATCHES  HELPED  FAILED  CORRECTED  LAST\n"
        "deploy  3      2     1        0       0       0          2026-11-15 06:00\n"
        "x       3      2     1        0       0       0          never\n"
    )
    gone = DeadSkill("old", "never-loaded", 40, 15, "whet remove old --archive")
    render_usage(UsageTotals((), (), (gone,)), view, Namespace())
    assert view.messages[-2] == "1 skill costs about 40 tokens in every prompt and did not help:"
    render_usage(UsageTotals((), (), (gone, gone._replace(name="bad", reason="never-helped"))), view, Namespace())
    assert view.messages[-3:] == [
        "2 skills cost about 80 tokens in every prompt and did not help:",
        "  old: never loaded, known for 15 days, 40 tokens; `whet remove old --archive` removes it from prompts.",
        "  bad: loaded, and never helped, 40 tokens; `whet remove old --archive` removes it from prompts.",
    ]
