"""Choosing at a terminal: arrow keys, a filter, marks, Esc; and nothing is asked where nobody can answer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from journeys.machines import Machine, main
from journeys.terminals import DOWN, ENTER, ESC, TAB, UP, Terminal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
LEFT = (3, ["Nothing was changed."])
NAMES = ("docx", "notes", "pdf", "review")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


@pytest.fixture
def shop(tmp_path: Path) -> str:
    for name in NAMES:
        path = tmp_path / "shop" / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(main(name, f"Works with {name} files."), encoding="utf-8")
    return str(tmp_path / "shop")


def test_several_skills_of_a_repository_are_chosen(machine: Machine, shop: str) -> None:
    with Terminal(machine, "install", shop) as terminal:
        terminal.until("Esc leaves")
        assert terminal.now() == [
            "Which skills?",
            "> [ ] docx    Works with docx files.",
            "  [ ] notes   Works with notes files.",
            "  [ ] pdf     Works with pdf files.",
            "  [ ] review  Works with review files.",
            "arrows move, type to filter, space marks, Enter chooses, Esc leaves",
        ]
        terminal.press(DOWN, " ", DOWN, " ").until("2 of 4 marked").press(ENTER).until("[Y/n] ").types("y")
        code, lines = terminal.end()
    assert (code, machine.names()) == (0, ["notes", "pdf"])
    assert not [line for line in lines if "marked" in line]


def test_skills_of_the_gallery_are_chosen(machine: Machine) -> None:
    with Terminal(machine, "gallery", "add") as terminal:
        terminal.until("Esc leaves").press(*"postmortem").until("filter: postmortem")
        terminal.press(ENTER).until("[Y/n] ").types("y")
        assert terminal.end()[0] == 0
    assert machine.names() == ["incident-postmortems"]


def test_skills_to_scan_are_chosen(machine: Machine, shop: str) -> None:
    machine.ask("install", shop, "--all", "--override", "They are ours.")
    with Terminal(machine, "scan") as terminal:
        terminal.until("Esc leaves").press(*"notes").until("filter: notes").press(ENTER)
        assert terminal.end() == (0, ["~/.agents/skills/notes: safe", "1 skill: 1 safe."])
    with Terminal(machine, "scan") as terminal:
        assert terminal.until("Esc leaves").press(ESC).end() == LEFT
    assert machine.ask("scan", code=2)["error"] == "PATH|NAME is missing; --all scans every skill."


def test_skills_to_remove_are_chosen(machine: Machine, shop: str) -> None:
    machine.ask("install", shop, "--all", "--yes")
    with Terminal(machine, "remove") as terminal:
        terminal.until("Remove which skills?").until("Esc leaves").press(" ", DOWN, " ").until("2 of 4 marked")
        terminal.press(ENTER).until("Remove 2 skills? [Y/n] ").types("y")
        assert terminal.end()[0] == 0
    assert machine.names() == ["pdf", "review"]
    assert machine.ask("remove", code=2)["error"] == "NAME is missing."


def test_the_skill_of_a_decision_is_chosen_among_those_it_changes(machine: Machine, shop: str) -> None:
    machine.ask("install", shop, "--all", "--yes")
    for verb, name, before in (
        ("disable", "docx", NAMES),
        ("enable", "docx", ("docx",)),
        ("pin", "notes", NAMES),
        ("unpin", "notes", ("notes",)),
    ):
        with Terminal(machine, verb) as terminal:
            lines = terminal.until("Esc leaves").now()
            assert (lines[0], [line[2:].split()[0] for line in lines[1:-1]]) == (
                f"{verb.capitalize()} which skill?",
                [*before],
            )
            code, lines = terminal.press(*name).until(f"filter: {name}").press(ENTER).end()
        assert (code, lines[0].split()[0]) == (0, name)
        assert machine.ask("skill", verb, code=2)["error"] == "NAME is missing."
        assert machine.ask("show", "notes").get("pinned") == ("" if verb == "pin" else None)
    for verb, told in (("enable", "No skill is disabled."), ("unpin", "No skill is pinned.")):
        with Terminal(machine, verb) as terminal:
            assert terminal.end() == (1, [f"error: {told}", "hint: `whet list --all` shows every skill."])


def test_what_is_typed_filters_and_the_cursor_is_enough(machine: Machine, shop: str) -> None:
    with Terminal(machine, "install", shop) as terminal:
        terminal.until("Esc leaves").press("r", "e", "v").until("filter: rev")
        terminal.press(UP, ENTER).until("[Y/n] ").types("y")
        assert terminal.end()[0] == 0
    assert machine.names() == ["review"]


def test_esc_leaves_everything_as_it_was(machine: Machine, shop: str) -> None:
    with Terminal(machine, "install", shop) as terminal:
        assert terminal.until("Esc leaves").press(ESC).end() == LEFT
    assert (machine.names(), machine.left()) == ([], [])


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_the_end_of_the_input_leaves_even_before_the_list_is_there(machine: Machine, shop: str, term: str) -> None:
    with Terminal(machine, "install", shop, TERM=term) as terminal:
        code, lines = terminal.press("\x04").end()
    assert (code, lines[-1], machine.names(), machine.left()) == (3, "Nothing was changed.", [], [])


@pytest.mark.deep
def test_a_dumb_terminal_asks_for_numbers(machine: Machine, shop: str) -> None:
    with Terminal(machine, "install", shop, TERM="dumb") as terminal:
        terminal.until("empty: none) ").types("3, 9").until("empty: none) ").types("3, 1").until("[Y/n] ").types("")
        assert terminal.end()[0] == 0
    assert machine.names() == ["docx", "pdf"]


def test_nothing_is_asked_where_nobody_is(machine: Machine, shop: str) -> None:
    with Terminal(machine, "install", shop, CI="true") as terminal:
        assert terminal.end() == (
            1,
            [
                "error: The source has 4 skills: docx, notes, pdf, review.",
                "hint: Name those you want, such as `--skill docx`, or use `--all`.",
            ],
        )


@pytest.mark.deep
@pytest.mark.parametrize("more", [("--no-input",), ("--yes",), ("--json",), ("--quiet",)])
def test_nothing_is_asked_where_that_is_said(machine: Machine, shop: str, more: tuple[str, ...]) -> None:
    with Terminal(machine, "install", shop, *more) as terminal:
        code, lines = terminal.end()
    assert code == 1 and "The source has 4 skills" in " ".join(lines)


def test_a_name_that_means_several_skills_is_chosen(machine: Machine) -> None:
    for kind in ("a", "b"):
        path = machine.work / "root" / kind / "same" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(main(f"{kind}-one", body=f"This is {kind}.\n"), encoding="utf-8")
    with Terminal(machine, "--root", str(machine.work / "root"), "show", "same") as terminal:
        terminal.until("Esc leaves")
        assert terminal.now()[0] == "Which same?"
        code, lines = terminal.press(DOWN, ENTER).end()
    assert code == 0 and "This is b." in lines


def test_undo_offers_the_last_changes_with_the_difference_folded(machine: Machine) -> None:
    for words in (
        ("create", "report", "--description", "Writes reports.", "--body", "Write it.", "--reason", "Asked for."),
        ("skill", "patch", "report", "--find", "Write it.", "--replace", "Write it well."),
        ("create", "other", "--description", "Does it.", "--body", "Do it."),
    ):
        assert machine.run(*words).returncode == 0
    with Terminal(machine, "undo") as terminal:
        terminal.until("Esc leaves")
        title, first, second, third, keys = terminal.now()
        assert title == "Undo which change?"
        assert (first[:2], first.split()[4:]) == ("> ", ["user", "create", "other"])
        assert second.split()[3:] == ["user", "patch", "report"]
        assert third.split()[3:] == ["user", "create", "report", "Asked", "for."]
        assert keys == "arrows move, type to filter, Tab shows the change, Enter chooses, Esc leaves"
        terminal.press(DOWN, TAB).until("+Write it well.").until("Esc leaves")
        terminal.press(ENTER).until("Undo change 2 (patch): report? [Y/n] ").types("y")
        code, lines = terminal.end()
    assert code == 0 and "+Write it well." in lines
    assert "Write it.\n" in machine.run("show", "report").stdout
    with Terminal(machine, "undo") as terminal:
        assert terminal.until("Esc leaves").press(ESC).end() == LEFT
    with Terminal(machine, "undo") as terminal:  # an answer to a question that was not asked undoes nothing by itself
        terminal.until("Esc leaves").press("k").until("filter: k").press(ENTER)
        terminal.until("Undo change 1 (create): report? [Y/n] ").types("n")
        assert terminal.end()[0] == 3
    assert machine.names() == ["other", "report"]
    with Terminal(machine, "undo", "--no-input") as terminal:
        assert terminal.end()[0] == 0
    assert machine.names() == ["report"]
    with Terminal(machine, "undo") as terminal:  # Enter again goes one more change back: the undos are not offered
        offered = terminal.until("Esc leaves").now()[1:-1]
        assert [(line[2:].split()[0], line.split(" user  ")[1].split()) for line in offered] == [
            ("1", ["create", "report", "Asked", "for."])
        ]
        terminal.press(ESC).end()
    assert machine.run("redo").returncode == 0
    assert machine.names() == ["other", "report"]
    with Terminal(machine, "undo") as terminal:  # what is redone can be undone as it could before, in one line
        offered = terminal.until("Esc leaves").now()[1:-1]
        assert [line[2:].split()[0] for line in offered] == ["3", "1"]
        terminal.press(ESC).end()
    with Terminal(machine, "undo", "3", "--dry-run") as terminal:
        code, lines = terminal.end()
    assert (code, lines[-3:]) == (
        0,
        [
            "other/evals/triggers.generated.json  -58",
            "Would undo change 3 (create): other.",
            "hint: -v shows every line.",
        ],
    )
    preview = machine.run("undo", "3", "--dry-run").stdout.splitlines()
    assert preview[:3] == ["--- other/SKILL.md", "+++ /dev/null", "@@ -1,8 +0,0 @@"]


def test_a_change_of_many_skills_is_one_line_of_the_list_and_its_question_is_wrapped(machine: Machine) -> None:
    names = [f"a-skill-with-a-long-name-{number}" for number in range(6)]
    for name in names:
        (machine.home / "shop" / name).mkdir(parents=True)
        (machine.home / "shop" / name / "SKILL.md").write_text(main(name, "Works."), encoding="utf-8")
    machine.ask("install", str(machine.home / "shop"), "--all", "--yes")
    with Terminal(machine, "undo", COLUMNS="80") as terminal:
        line = terminal.until("Esc leaves").press("n", "a", "m", "e", "-", "4").until("filter: name-4").now()[2]
        assert [line.split()[:2], line.split()[5:]] == [[">", "1-6"], ["install", "6", "skills", "From", "~/shop."]]
        lines = terminal.press(ENTER).until("[Y/n] ").now()
        assert " ".join(lines) == f"Undo changes 1-6 (install): {', '.join(names[:4])} and 2 more? [Y/n]"
        assert max(map(len, lines)) <= 80
        terminal.types("n").end()
    with Terminal(machine, "history", COLUMNS="80") as terminal:
        assert terminal.end()[1][-2].endswith("  From ~/shop.")


def test_connect_offers_the_clients_and_shows_the_change_when_asked(machine: Machine) -> None:
    (machine.home / ".cursor").mkdir()
    with Terminal(machine, "connect") as terminal:
        terminal.until("Esc leaves")
        title, first, *_ = terminal.now()
        assert (title, first.split()) == (
            "Connect which clients?",
            [">", "[", "]", "Cursor", "installed", "~/.cursor/mcp.json"],
        )
        terminal.press(ENTER).until("Connect Cursor? [Y/n, d shows the difference] ").types("d").until('"whet"')
        code, lines = terminal.until("shows the difference] ").types("n").end()
    assert (code, list((machine.home / ".cursor").iterdir())) == (3, [])
    assert lines[-1].endswith("Nothing was changed.")
    assert lines[0] == "create ~/.cursor/mcp.json  +11  the MCP server"
    assert lines[1].startswith("create ~/.cursor/hooks.json  +") and lines[1].endswith(" hooks")
    for words in (["connect"], ["connect", "--no-hooks"]):
        with Terminal(machine, *words) as terminal:
            assert terminal.until("Esc leaves").press(ESC).end() == LEFT
    with Terminal(machine, "connect", "--list") as terminal:
        code, lines = terminal.end()
    assert (code, lines[0].split()[0]) == (0, "CLIENT")


def test_disconnect_offers_the_clients_that_are_connected(machine: Machine) -> None:
    with Terminal(machine, "disconnect") as terminal:
        assert terminal.end() == (1, ["error: No client is connected.", "hint: `whet connect` connects one."])
    for client in ("cursor", "codex"):
        assert machine.run("connect", client, "--yes").returncode == 0
    with Terminal(machine, "disconnect") as terminal:
        terminal.until("Esc leaves")
        assert [line.split("] ")[-1].split()[0] for line in terminal.now()[:-1]] == ["Disconnect", "Codex", "Cursor"]
        code, lines = terminal.press(DOWN, ENTER).until("Disconnect Cursor? [Y/n").types("y").end()
    assert (code, "Cursor is no longer connected." in lines) == (0, True)
    missing = machine.run("disconnect")
    assert (missing.returncode, missing.stderr) == (
        2,
        "error: Name the client to disconnect.\nhint: `whet disconnect codex` disconnects it.\n",
    )


def test_proposals_are_decided_one_by_one(machine: Machine) -> None:
    for name in ("one", "two"):
        words = ("create", name, "--description", "Does it.", "--body", f"Do {name}.", "--stage")
        assert machine.run(*words).returncode == 0
    with Terminal(machine, "proposals", "approve") as terminal:
        terminal.until("Esc leaves").press(DOWN, TAB).until("+Do two.").until("Esc leaves").press(ENTER)
        code, lines = terminal.end()
    assert (code, lines[-1], machine.names()) == (0, "Applied proposal 2 (entry 1).", ["two"])
    with Terminal(machine, "proposals", "reject") as terminal:
        assert terminal.until("Reject which proposal?").press(ESC).end() == LEFT
    missing = machine.run("proposals", "reject")
    assert (missing.returncode, missing.stderr.split("\n")[0]) == (2, "error: ID is missing.")


@pytest.mark.deep
def test_without_an_editor_in_the_environment_a_terminal_opens_one_of_the_machine(machine: Machine) -> None:
    programs = machine.work / "programs"
    programs.mkdir()
    (programs / "editor").write_text('#!/bin/sh\necho "Do it well." >> "$1"\n', encoding="utf-8")
    (programs / "editor").chmod(0o755)
    machine.env["PATH"] = f"{programs}{os.pathsep}{machine.env['PATH']}"
    assert machine.run("new", "report", "--description", "Writes reports.", "--body", "Do it.").returncode == 0
    with Terminal(machine, "edit", "report") as terminal:
        assert terminal.end()[0] == 0
    assert machine.text("report").endswith("Do it.\nDo it well.\n")
    assert machine.ask("edit", "report", code=2)["code"] == "no-editor"


def test_new_alone_asks_for_the_name_and_the_description(machine: Machine) -> None:
    with Terminal(machine, "new") as terminal:
        terminal.until("Name of the skill: ").types("Release Notes").until("[release-notes]: ").types("")
        terminal.until("later) ").types("Writes the notes. Use it to release.")
        code, lines = terminal.end()
    assert (code, lines[:6]) == (
        0,
        [
            "Name of the skill: Release Notes",
            "A name has lowercase letters, digits and single hyphens.",
            "Name of the skill [release-notes]:",
            (
                "What does it do, and when should it be used? (Enter: write this later) "
                "Writes the notes. Use it to release."
            ),
            "~/.agents/skills/release-notes/SKILL.md",
            "release-notes is a draft: fill in each TODO with `whet edit release-notes`.",
        ],
    )
    assert "description: Writes the notes. Use it to release.\n" in machine.text("release-notes")
    with Terminal(machine, "new") as terminal:
        terminal.until("Name of the skill: ")
        code, lines = terminal.interrupt()
    assert (code, lines[-1], machine.names()) == (130, "Nothing was changed.", ["release-notes"])


def test_edit_and_show_alone_offer_the_skills(machine: Machine) -> None:
    for name in ("first", "second"):
        words = ("--description", f"Does the {name}.", "--body", "Do it.", "--no-triggers")
        assert machine.run("new", name, *words).returncode == 0
    assert machine.run("new", "third", "--description", "Does the third.").returncode == 0
    machine.env["EDITOR"] = "sed -i s/it/that/"
    with Terminal(machine, "edit") as terminal:
        offered = terminal.until("Esc leaves").now()
        assert offered[:4] == [
            "Edit which skill?",
            "> first   user  Does the first.",
            "  second  user  Does the second.",
            "  third   user  [draft] Does the third.",
        ]
        assert terminal.press(DOWN, ENTER).end() == (
            0,
            ["~/.agents/skills/second", "Changed second; SKILL.md now says version 2."],
        )
    with Terminal(machine, "show") as terminal:
        terminal.until("Show which skill?").until("Esc leaves").press("s", "e", "c").until("filter: sec")
        code, lines = terminal.press(ENTER).end()
    assert (code, lines[0], lines[-1]) == (0, "second", "Do that.")
    missing = machine.run("show")
    assert missing.stderr == "error: NAME is missing.\nhint: `whet show --help` explains it.\n"
