"""Sessions become skills: from the files of clients, twice for one kind of task, and in four rounds at a terminal."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from learning.episodes import bash, database_migration, release_notes, rollout, says, session, user
from learning.recordings import claude_code, codex, messages

from journeys.machines import Machine, main
from journeys.terminals import DOWN, ENTER, Terminal
from whet import Library
from whet.library.visibility import PERSON

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.transcripts.events import Transcript

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG6hJ8"
posix = pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
NOTES = "write-release-notes"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


def exporting(table: str, day: str, number: str, *more: Any) -> Transcript:
    """One of many sessions of the same kind."""
    return session(
        user(
            f"Export the table {table} of the warehouse as a CSV file to /srv/out/{table}-{day}.csv and check its size."
        ),
        says("Let me export it."),
        bash(
            f"GITHUB_TOKEN={TOKEN} warehouse export {table} --date {day} --output /srv/out/{table}-{day}.csv",
            f"exported {number} rows",
        ),
        says("Next, I'll check the size."),
        bash(f"wc -l /srv/out/{table}-{day}.csv", f"{number} /srv/out/{table}-{day}.csv"),
        *more,
        says("Done. The export is complete."),
        project="/srv",
        name=f"export-{day}",
    )


def test_sessions_of_three_clients_become_skills(machine: Machine, tmp_path: Path) -> None:
    files = [
        claude_code(tmp_path / "a.jsonl", release_notes()),
        codex(tmp_path / "b.jsonl", rollout()),
        tmp_path / "c.json",
    ]
    files[2].write_text(json.dumps(messages(database_migration())), encoding="utf-8")
    for file, client in zip(
        files, ("claude-code session release-notes", "codex session rollout", "openai session"), strict=True
    ):
        answer = machine.ask("distill", str(file), "--yes")
        name = answer["skill"]
        assert (answer["version"], answer["created"], answer["path"]) == ("1", True, str(machine.root / name))
        assert [item["code"] for item in answer["findings"] if item["severity"] != "info"] == ["leftover-marker"]
        assert answer["evidence"]["steps"]
        checked = machine.ask("validate", name, "--profile", "quality")
        assert checked["valid"] is True
        (entry,) = machine.ask("history", name)["entries"]
        assert (entry["actor"], entry["origin"], entry["action"]) == ("user", "foreground", "create")
        assert entry["reason"].startswith(f"distilled from {client}")
        shown = machine.ask("show", name)
        assert "> **Draft.**" in shown["content"]
    assert machine.names() == [
        "add-nullable-column",
        "find-roll-image",
        NOTES,
    ]


def test_the_second_session_of_a_kind_improves_the_same_skill(machine: Machine, tmp_path: Path) -> None:
    one = claude_code(tmp_path / "one.jsonl", exporting("orders", "2026-01-03", "8812"))
    correction = (user("No, always pass --compress for large tables."), says("I'll keep to that."))
    other = claude_code(tmp_path / "other.jsonl", exporting("invoices", "2026-02-07", "12", *correction))
    first = machine.ask("distill", str(one), "--yes")
    again = machine.ask("distill", str(one), "--yes")
    second = machine.ask("distill", str(other), "--yes")
    assert [answer["version"] for answer in (first, again, second)] == ["1", "1", "2"]
    assert {answer["skill"] for answer in (first, again, second)} == set(machine.names())
    text = machine.text(first["skill"])
    assert "--compress" in text
    assert 'distilled-sessions: "2"' in text
    assert TOKEN not in text
    assert TOKEN not in json.dumps([first, second])
    assert "8812" not in text.partition("## Steps")[0]
    assert [entry["reason"] for entry in machine.ask("history", first["skill"])["entries"]] == [
        "distilled from claude-code session export-2026-01-03",
        "distilled from claude-code session export-2026-02-07",
    ]


def test_a_date_of_the_case_is_an_input_and_no_part_of_name_and_description(machine: Machine, tmp_path: Path) -> None:
    file = claude_code(tmp_path / "one.jsonl", exporting("orders", "2026-01-03", "8812"))
    answer = machine.ask("distill", str(file), "--yes")
    assert "2026-01-03" not in answer["skill"] + answer["description"]
    assert {"kind": "file", "text": "/srv/out/orders-2026-01-03.csv"} in answer["evidence"]["inputs"]


def test_a_session_in_other_words_improves_the_skill_that_is_there(machine: Machine, tmp_path: Path) -> None:
    events = list(release_notes().events)
    said = (
        "Tag our command line client and write its release notes for version 4.3.0 into docs/releases/notes-4.3.0.md."
    )
    events[0] = events[0]._replace(text=f"{said} Every entry must link its pull request. Do not push anything.")
    reworded = release_notes()._replace(events=tuple(events), session="reworded")
    machine.ask("distill", str(claude_code(tmp_path / "a.jsonl", release_notes())), "--yes")
    answer = machine.ask("distill", str(claude_code(tmp_path / "b.jsonl", reworded)), "--yes")
    assert (answer["skill"], answer["version"], machine.names()) == (NOTES, "2", [NOTES])
    kept_apart = machine.ask("distill", str(claude_code(tmp_path / "b.jsonl", reworded)), "--yes", "--name", "tagging")
    assert (kept_apart["skill"], kept_apart["version"], kept_apart["created"]) == ("tagging", "1", True)


def test_what_a_person_wrote_under_the_name_only_gains(machine: Machine, tmp_path: Path) -> None:
    body = "## Steps\n\n1. Ask Ida.\n\n## Rules\n\n- Be brief.\n"
    (machine.root / NOTES).mkdir(parents=True)
    (machine.root / NOTES / "SKILL.md").write_text(main(NOTES, "Writes notes.", body), encoding="utf-8")
    answer = machine.ask("distill", str(claude_code(tmp_path / "a.jsonl", release_notes())))
    said = "No, group the entries by kind: Added, Fixed, Changed. Always put breaking changes first."
    rules = f'- Be brief.\n- "{said}"\n'
    text = machine.text(NOTES)
    assert answer["created"] is False
    assert f"\n## Rules\n\n{rules}" in text
    assert "## Steps\n\n1. Ask Ida.\n\n## Further steps\n" in text
    assert "git tag -a v4.2.0" in text.partition("\n## Further steps\n")[2].partition("## Rules")[0]
    assert "description: Writes notes.\n" in text


def test_flags_are_answers_and_a_dry_run_writes_nothing(machine: Machine, tmp_path: Path) -> None:
    file = str(claude_code(tmp_path / "a.jsonl", release_notes()))
    flags = ("--name", "Our Notes", "--trigger", "changelog", "--allow", "Bash(git tag:*)", "--fork")
    tried = machine.ask("distill", file, *flags, "--dry-run")
    assert (tried["skill"], tried["created"], tried["path"], machine.names()) == ("our-notes", True, "", [])
    assert "context: fork" in tried["text"]
    code, out, said = machine.says("distill", file, *flags)
    assert (code, out, said.split("\n")[0]) == (
        0,
        f"{machine.root / 'our-notes'}\n",
        "Created our-notes, version 1.",
    )
    text = machine.text("our-notes")
    assert "allowed-tools: Bash(git tag:*)\n" in text
    assert 'mentions "changelog"' in text


def test_messages_in_memory_and_rounds_from_another_process(machine: Machine) -> None:
    with Library.open(home=machine.state, env=machine.env, project=machine.work) as library:
        begun = library.learning.begin_distillation(messages(database_migration()))
        carried = json.dumps(begun.answer({"name": "add-column"}).to_json())
    with Library.open(home=machine.state, env=machine.env, project=machine.work) as library:
        answer = library.learning.finish_distillation(type(begun).from_json(json.loads(carried))).to_json()
        assert (answer["skill"], answer["version"]) == ("add-column", "1")
        assert library.find("add a nullable column to a table", caller=PERSON)[0].name == "add-column"
        (note,) = library.find("add a nullable column to a table").notes  # no model is offered a draft
        assert (note.code, note.skill) == ("fits-but-hidden", "add-column")


@posix
def test_one_screen_at_a_terminal_on_which_every_answer_can_be_changed(machine: Machine, tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text("import sys\nopen(sys.argv[1], 'w').write('changelog\\nwhat is new\\n')\n", encoding="utf-8")
    machine.env["EDITOR"] = f"{shlex.quote(sys.executable)} {shlex.quote(str(editor))}"
    file = str(claude_code(tmp_path / "a.jsonl", release_notes()))
    with Terminal(machine, "distill", file) as terminal:

        def change(number: int) -> Terminal:
            return terminal.until(ASKED).types(str(number))

        terminal.until(" 3  Steps                       - Write /home/ida/cli/docs/releases/notes-4.2.0.md\r\n")
        change(1).until("What it does:").types("Write notes of a release.")
        terminal.until(" 2  Name                        write-notes-release")
        change(2).until("Name:").types("---").until("cannot be a name").types("notes")
        change(3).until("2. Check the links").until("4. git tag --list").types("-2").until("1. Write", times=2)
        terminal.types("3 Look at the tag").until("3. Look at the tag").types("+Tell them").until("4. Tell them")
        terminal.types("4 Tell the team").until("4. Tell the team").types("9 x")
        terminal.until("'9 x' is not an answer here.").types("-1, -2, -3, -4")
        terminal.until("'-1, -2, -3, -4' is not an answer here.").types("")
        change(4).until("Not included, add with +: VERSION (4.2.0)").types("VERSION (4.2.0), 2 words")
        terminal.until("cannot be the arguments").types("+VERSION (4.2.0)")
        change(5).until("Argument hint, shown after its name:\r\n    [VERSION]").types("[version to release]")
        change(6).until("Words that trigger it:").types("e")
        change(7).until('"changelog", "what is').types("b")
        change(8).until("When else to use it:\r\n    (none)").types("Before a tag is set.")
        change(9).until("Tools used: ").types("-Write, +Read")
        change(9).until("Bash(git tag:*), Read").types("-Nothing")
        terminal.until("is not in the list").types("n").until("'n' is not an answer here.").types("y")
        change(10).until("Run separately:").types("yes")
        change(11).until("Save it in this repository:").types("y")
        change(12).until("Press Enter, or type n, s or a number from 1 to 11.")
        terminal.until(ASKED).types("s").until("\r\n# Write notes of a release\r\n")
        shown = terminal.now()
        assert max(map(len, shown[shown.index("---") :])) <= 100
        change(10).until("Run separately:\r\n    yes").types("no")
        terminal.until(ASKED).types("")
        code, lines = terminal.end()
    assert (code, lines[-1].startswith("Created notes, version 1.") or "Created notes, version 1." in lines) == (
        0,
        True,
    )
    assert machine.names() == []
    text = (machine.work / ".agents/skills/notes/SKILL.md").read_text()
    assert "allowed-tools: Bash(git tag:*) Read\n" in text
    said = 'when_to_use: Before a tag is set.\nargument-hint: "[version to release]"\narguments:\n  - VERSION\n'
    assert said in text and "Tools: " not in text
    assert "- `VERSION`: `$VERSION`; in this case `4.2.0`\n" in text
    steps = text.partition("\n## Steps\n")[2].partition("\n## ")[0]
    assert [line for line in steps.split("\n") if line[:1].isdigit()] == [
        "1. Write `/home/ida/cli/docs/releases/notes-4.2.0.md`. Regroup the entries.",
        "2. Run:",
        "3. Look at the tag:",
        "4. Tell the team.",
    ]
    assert "markdown-link-check" not in steps and "   git tag --list v4.2.0\n" in steps
    assert "context: fork" not in text
    assert '"changelog", "what is new"' in text
    assert waiting(machine) == []


ASKED = "Write it? [Y/n/s/number] "


def waiting(machine: Machine) -> list[str]:
    """The distillations that were interrupted."""
    with closing(sqlite3.connect(machine.state / "state.db")) as connection:
        return [id_ for (id_,) in connection.execute("SELECT id FROM distillations")]


@posix
def test_an_interrupt_keeps_the_answers(machine: Machine, tmp_path: Path) -> None:
    file = str(claude_code(tmp_path / "a.jsonl", release_notes()))
    with Terminal(machine, "distill", file) as terminal:
        terminal.until(ASKED).types("2").until("Name:").types("notes").until(ASKED, times=2)
        code, lines = terminal.interrupt()
    assert (code, lines[-1]) == (130, "Your answers are kept; `whet distill --resume` continues.")
    assert machine.names() == []
    assert len(waiting(machine)) == 1 and (machine.state / "state.db").stat().st_mode & 0o077 == 0
    with Terminal(machine, "distill", "--resume") as terminal:
        terminal.until("Name                        notes\r\n").until(ASKED).types("")
        assert terminal.end()[0] == 0
    assert (machine.names(), waiting(machine)) == (["notes"], [])
    assert machine.ask("distill", "--resume", code=1)["code"] == "nothing-to-resume"


@posix
def test_a_wizard_that_was_killed_goes_on_where_it_was(machine: Machine, tmp_path: Path) -> None:
    file = str(claude_code(tmp_path / "a.jsonl", release_notes()))
    with Terminal(machine, "distill", file) as terminal:
        terminal.until(ASKED).types("2").until("Name:").types("notes").until(ASKED).types("6")
        terminal.until("Words that trigger it:").types("changelog").until(ASKED).types("7").until("Description:")
        terminal.process.send_signal(signal.SIGKILL)
        assert terminal.process.wait() == -signal.SIGKILL
    assert machine.names() == []
    with Terminal(machine, "distill", "--resume") as terminal:
        terminal.until("Words that trigger it       changelog\r\n").until(ASKED).types("")
        assert terminal.end()[0] == 0
    assert (machine.names(), waiting(machine)) == (["notes"], [])


@posix
def test_two_terminals_at_once_do_not_get_into_each_others_way(machine: Machine, tmp_path: Path) -> None:
    one = str(claude_code(tmp_path / "a.jsonl", release_notes()))
    other = str(claude_code(tmp_path / "b.jsonl", rollout()))
    with (
        Terminal(machine, "distill", one) as first,
        Terminal(machine, "distill", other) as second,
        Terminal(machine, "distill", one) as third,
    ):
        for terminal in (first, second, third):  # nobody has answered yet
            terminal.until(ASKED)
        for terminal, name in ((first, "notes"), (second, "rollback"), (third, "notes")):
            terminal.types("2").until("Name:").types(name).until(ASKED, times=2)
        for terminal in (second, first, third):
            terminal.types("")
            assert terminal.end()[0] == 0
    assert (machine.names(), waiting(machine)) == (["notes", "rollback"], [])
    assert [machine.ask("show", name)["version"] for name in machine.names()] == ["1", "1"]


def shown(machine: Machine, file: Path, **more: str) -> list[str]:
    """The lines of a distillation whose every proposal is kept."""
    with Terminal(machine, "distill", str(file), "--name", "notes", **more) as terminal:
        code, lines = terminal.until(ASKED).types("").end()
    assert (code, machine.names()) == (0, ["notes"])
    return lines


@posix
@pytest.mark.parametrize(
    "more", [{"NO_COLOR": "1"}, {"NO_COLOR": "", "COLUMNS": "40"}, {"NO_COLOR": "", "TERM": "dumb"}]
)
def test_the_wizard_is_plain_text_at_any_terminal(machine: Machine, tmp_path: Path, more: dict[str, str]) -> None:
    lines = shown(machine, claude_code(tmp_path / "a.jsonl", release_notes()), **more)
    assert [line for line in lines if "\x1b" in line] == []
    labels = [line for line in lines if line[:2].strip().isdigit() and line[2:4] == "  "]
    assert [line[:21].rstrip() for line in labels] == [
        " 1  What it does",
        " 2  Name",
        " 3  Steps",
        " 4  Arguments",
        " 5  Argument hint",
        " 6  Words that trigge",
        " 7  Description",
        " 8  When else to use",
        " 9  Allowed tools",
        "10  Run separately",
        "11  Save it in this r",
    ]


@posix
def test_the_wizard_keeps_to_the_width_of_a_narrow_terminal(machine: Machine, tmp_path: Path) -> None:
    lines = shown(machine, claude_code(tmp_path / "a.jsonl", release_notes()), COLUMNS="40")
    asked = lines[lines.index(" 1  What it does") : lines.index("11  Save it in this repository")]
    assert [line for line in asked if len(line) > 40] == []


@posix
def test_a_no_writes_nothing_and_yes_goes_on_later(machine: Machine, tmp_path: Path) -> None:
    file = str(claude_code(tmp_path / "a.jsonl", release_notes()))
    with Terminal(machine, "distill", file, "--name", "notes") as terminal:
        code, lines = terminal.until(ASKED).types("n").end()
    assert (code, lines[-1:], machine.names()) == (
        3,
        ["Your answers are kept; `whet distill --resume` continues."],
        [],
    )
    assert machine.ask("distill", "--resume", "--yes")["skill"] == "notes"


@posix
def test_the_sessions_that_wait_are_offered(machine: Machine, tmp_path: Path) -> None:
    with Library.open(home=machine.state, env=machine.env, project=machine.work) as library:
        for transcript in (rollout(), release_notes()):
            path = claude_code(tmp_path / f"{transcript.session}.jsonl", transcript)
            name = transcript.session
            library.learning.sessions.note("claude-code", name, transcript=str(path), tools=8, prompts=1, ended=True)
    kept = machine.home / ".claude" / "projects" / "work" / "a-session.jsonl"  # no hook told of it
    kept.parent.mkdir(parents=True)
    claude_code(kept, database_migration())
    with Terminal(machine, "distill") as terminal:
        terminal.until("Esc leaves")
        assert [line[2:].split()[2:5] for line in terminal.now()[1:-1]] == [
            ["claude-code", "Add", "a"],
            ["claude-code", "Hi!", "Please"],
            ["claude-code", "The", "checkout"],
        ]
        terminal.press(DOWN, DOWN, ENTER).until(ASKED).types("")
        assert terminal.end()[0] == 0
    assert machine.names() == ["find-roll-image"]
    with Library.open(home=machine.state, env=machine.env, project=machine.work) as library:
        assert [seen.id for seen in library.learning.sessions.waiting()] == ["release-notes"]
    answer = machine.ask("distill", code=2)
    assert answer["error"] == "SESSION is missing."


@posix
def test_of_two_that_were_interrupted_each_can_be_gone_on_with(machine: Machine, tmp_path: Path) -> None:
    files = [str(claude_code(tmp_path / f"{one.session}.jsonl", one)) for one in (release_notes(), rollout())]
    for file, name in zip(files, ("notes", "rollback"), strict=True):
        with Terminal(machine, "distill", file) as terminal:
            terminal.until(ASKED).types("2").until("Name:").types(name).until(ASKED, times=2)
            assert terminal.interrupt()[0] == 130
    with Terminal(machine, "distill", files[0]) as terminal:
        terminal.until("You stopped halfway through this session.").types("n").until(ASKED)
        terminal.process.send_signal(signal.SIGKILL)
        assert terminal.process.wait() == -signal.SIGKILL
    with Terminal(machine, "distill", files[1]) as terminal:
        terminal.until("You stopped halfway through this session.").types("y").until("rollback\r\n").until(ASKED)
        assert terminal.interrupt()[0] == 130
    assert machine.ask("distill", files[1], "--resume", "--yes")["skill"] == "rollback"
    assert machine.ask("distill", files[1], "--resume", "--yes", code=1)["code"] == "nothing-to-resume"


def test_an_empty_answer_is_none(machine: Machine) -> None:
    assert machine.ask("distill", "a.jsonl", "--description", "", code=2)["error"] == "--description is empty."
