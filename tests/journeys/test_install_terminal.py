"""Installing at a terminal: the plan is shown and asked about, progress is a line that goes away, Ctrl-C is obeyed."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import tarfile
import time
from typing import TYPE_CHECKING

import pytest
from sources.loopback import Route, serving, stall
from sources.repositories import Repository, running, serving_git, wait_until

from journeys.machines import Machine, main
from journeys.terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX"),
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
]
PORTS = main("ports", "Opens ports.", "Run this:\n\n```bash\nsudo ufw disable\n```\n")
ASKED = (
    "Community skills with a warning need your approval: a protection of the machine is turned off (SKILL.md, line 9)."
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


@pytest.fixture
def team(tmp_path: Path) -> Repository:
    repository = Repository.new(tmp_path / "team.git")
    repository.commit({"notes/SKILL.md": main("notes"), "review/SKILL.md": main("review")})
    return repository


def tar(files: Mapping[str, str]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return target.getvalue()


def test_the_plan_is_shown_and_nothing_is_done_without_a_yes(machine: Machine, team: Repository) -> None:
    head = team.git("rev-parse", "main")[:10]
    shown = [
        f"install notes, revision {head}  safe",
        "  from a community source, into ~/.agents/skills/notes",
        f"install review, revision {head}  safe",
        "  from a community source, into ~/.agents/skills/review",
    ]
    words = ("install", team.url, "--all")
    with Terminal(machine, *words) as terminal:
        assert terminal.until("[Y/n] ").types("n").end() == (
            3,
            [*shown, "Install 2 skills? [Y/n] n", "Nothing was changed."],
        )
    assert (machine.names(), machine.lock.exists(), machine.left()) == ([], False, [])
    assert machine.ask("guard", "log")["records"] == []

    with Terminal(machine, *words) as terminal:
        assert terminal.until("[Y/n] ").types("").end() == (
            0,
            [
                *shown,
                "Install 2 skills? [Y/n]",
                f"Installed notes, revision {head}  safe",
                f"Installed review, revision {head}  safe",
            ],
        )
    assert machine.names() == ["notes", "review"]

    team.commit(
        {"notes/SKILL.md": main("notes", more="allowed-tools: Bash(git:*)\n"), "review/SKILL.md": main("review")}
    )
    new = team.git("rev-parse", "main")[:10]
    with Terminal(machine, "update") as terminal:
        review = [
            f"update notes, revision {head} -> {new}  safe",
            "  from a community source, in ~/.agents/skills/notes",
            "  new: asks for the tool Bash(git:*)",
            "  changed SKILL.md",
        ]
        question = "Update 1 skill? [Y/n, d shows the difference]"
        assert terminal.until("difference] ").types("d").until("difference] ", 2).types("y").end() == (
            0,
            [
                *review,
                f"{question} d",
                "--- notes before/SKILL.md",
                "+++ notes after/SKILL.md",
                "@@ -1,6 +1,7 @@",
                " ---",
                " name: notes",
                " description: Does one thing.",
                "+allowed-tools: Bash(git:*)",
                " ---",
                "",
                " Do it.",
                f"{question} y",
                f"Updated notes, revision {head} -> {new}  safe",
                "review: Up to date. The lock records its new revision.",
            ],
        )
    with Terminal(machine, "remove", "notes", "--yes") as terminal:
        assert terminal.end() == (0, ["Removed notes; `whet undo notes` brings it back."])


def test_a_skill_that_is_not_installed_is_removed_with_a_question_too(machine: Machine) -> None:
    path = machine.root / "mine"
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(main("mine"), encoding="utf-8")
    asked = ["remove mine, your own skill", "  in ~/.agents/skills/mine", "Remove 1 skill? [Y/n]"]
    no = ["Nothing was changed."]
    with Terminal(machine, "remove", "mine") as terminal:
        terminal.until("[Y/n] ").types("x")
        again = [*asked[:2], f"{asked[2]} x", "Type y or n.", f"{asked[2]} n", *no]
        assert terminal.until("Type y or n.\r\nRemove 1 skill? [Y/n] ").types("n").end() == (3, again)
    assert path.exists()
    with Terminal(machine, "remove", "mine") as terminal:
        code, lines = terminal.until("[Y/n] ").types("y").end()
    removed = "Removed mine; `whet undo mine` brings it back."
    assert (code, lines, path.exists()) == (0, [*asked[:2], f"{asked[2]} y", removed], False)


def test_skills_that_came_in_different_ways_are_removed_with_one_question(machine: Machine, tmp_path: Path) -> None:
    team = Repository.new(tmp_path / "team.git")
    head = team.commit({"notes/SKILL.md": main("notes")})[:10]
    machine.ask("install", team.url, "--yes")
    path = machine.root / "mine"
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(main("mine"), encoding="utf-8")
    asked = [
        f"remove notes, revision {head}",
        "  in ~/.agents/skills/notes",
        "remove mine, your own skill",
        "  in ~/.agents/skills/mine",
        "Remove 2 skills? [Y/n]",
    ]
    no = ["Nothing was changed."]
    with Terminal(machine, "remove", "mine", "notes") as terminal:
        assert terminal.until("[Y/n] ").types("n").end() == (3, [*asked[:4], f"{asked[4]} n", *no])
    assert machine.names() == ["mine", "notes"]
    with Terminal(machine, "remove", "mine", "notes") as terminal:
        code, lines = terminal.until("[Y/n] ").types("y").end()
    done = ["Removed mine, notes; `whet undo` brings them back."]
    assert (code, lines, machine.names()) == (0, [*asked[:4], f"{asked[4]} y", *done], [])
    machine.ask("undo")
    assert machine.names() == ["mine", "notes"]


def test_what_the_policy_asks_about_needs_a_reason(machine: Machine, tmp_path: Path) -> None:
    machine.settings('[policy.community]\ncaution = "ask"\n')
    shop = Repository.new(tmp_path / "shop.git")
    head = shop.commit({"ports/SKILL.md": PORTS})[:10]
    shown = [
        f"install ports, revision {head}  caution",
        "  from a community source, into ~/.agents/skills/ports",
        "  warn      SKILL.md:9",
        "    A protection of the machine is turned off. [protection-off]",
        "    > sudo ufw disable",
    ]
    needed, question = "The policy needs your approval for ports.", "Reason to do it anyway (leave empty to skip): "
    with Terminal(machine, "install", shop.url) as terminal:
        code, lines = terminal.until("leave empty to skip): ").types("n").end()
    assert (code, lines[:7], machine.names()) == (3, [*shown, needed, f"{question}n"], [])
    with Terminal(machine, "install", shop.url) as terminal:
        terminal.until("leave empty to skip): ").types("y").until("leave empty to skip): ", 2).types("Read it.")
        terminal.until("[Y/n] ").types("y")
        assert terminal.end() == (
            0,
            [
                *shown,
                needed,
                f"{question}y",
                f"{question}Read it.",
                "Install 1 skill? [Y/n] y",
                f"Installed ports, revision {head}  caution",
                "  Allowed by override: Read it.",
            ],
        )
    records = machine.ask("guard", "log")["records"]
    assert ("override", "Read it.") in [(record["action"], record["reason"]) for record in records]


def test_the_review_names_what_the_policy_blocks(machine: Machine, tmp_path: Path) -> None:
    shop = Repository.new(tmp_path / "shop.git")
    head = shop.commit({"notes/SKILL.md": main("notes"), "ports/SKILL.md": PORTS})[:10]
    found = [
        f"leave out ports, revision {head}  caution",
        "  warn      SKILL.md:9",
        "    A protection of the machine is turned off. [protection-off]",
        "    > sudo ufw disable",
    ]
    with Terminal(machine, "install", shop.url, "--all") as terminal:
        code, lines = terminal.until("[Y/n] ").types("").end()
    assert (code, lines[2:8]) == (3, [*found, "Install 1 skill? [Y/n]", f"Installed notes, revision {head}  safe"])
    with Terminal(machine, "install", shop.url, "--skill", "ports") as terminal:
        code, lines = terminal.end()
    assert (code, lines[:4]) == (3, [found[0].replace("leave out", "Left out"), *found[1:]]), "nothing to ask about"


def test_progress_is_a_line_that_goes_away(machine: Machine) -> None:
    body = tar({"notes/SKILL.md": main("notes"), "notes/references/words.txt": os.urandom(60_000).hex()})
    size = len(body) // 6 + 1

    def pieces() -> Iterator[bytes]:
        return (body[at : at + size] for at in range(0, len(body), size))

    with serving({"/notes.tar.gz": Route(length=str(len(body)), pieces=pieces, interval=0.2)}) as server:
        with Terminal(machine, "install", f"{server.url}/notes.tar.gz", "--yes") as terminal:
            code, lines = terminal.end()
        assert (code, len(lines), lines[0].split()[:2]) == (0, 1, ["Installed", "notes,"])
        drawn = re.findall(
            r"\r(\[#+ *\] +\d+ %  http://127\.0\.0\.1:\d+/notes\.tar\.gz: \d+ kB of \d+ kB)", terminal.raw
        )
        assert drawn
        with Terminal(machine, "outdated", "--quiet") as terminal:
            assert terminal.end() == (0, [])
            assert "\r" not in terminal.raw


def test_ctrl_c_during_a_slow_download_leaves_nothing_behind(machine: Machine) -> None:
    body = tar({"notes/SKILL.md": main("notes", body="Do it.\n" * 1000)})
    with (
        serving({"/notes.tar.gz": stall(body[:100], len(body) - 100)}) as server,
        Terminal(machine, "install", f"{server.url}/notes.tar.gz") as terminal,
    ):
        terminal.until("notes.tar.gz: ")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == (130, ["error: Interrupted.", "hint: Run the command again."])
    assert (machine.names(), machine.lock.exists(), machine.left()) == ([], False, [])


def test_ctrl_c_ends_git_too(machine: Machine, team: Repository, tmp_path: Path) -> None:
    with serving_git(tmp_path) as server:
        server.behaviour["team.git"] = "drip"
        with Terminal(machine, "install", f"{server.url}/team.git", "--all") as terminal:
            wait_until(lambda: server.fetches > 0)
            time.sleep(0.3)
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.end() == (130, ["error: Interrupted.", "hint: Run the command again."])
        wait_until(lambda: not running(server.url))
    assert (machine.names(), machine.lock.exists(), machine.left()) == ([], False, [])
    assert team.has("main")
