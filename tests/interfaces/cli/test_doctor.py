"""`whet doctor`."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from whet.interfaces.cli.commands.doctor import Diagnosis
from whet.interfaces.cli.commands.doctor import render_doctor as render
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Namespace
from whet.notes import Note
from whet.store.repair import Repaired

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

REPORT = (
    Note("a-bad-thing", "error", "It is bad.", "Mend it.", "ship", "/home/me/x", 3),
    Note("odd", "warning", "It is odd.", path="/y\x1b"),
    Note("odder", "warning", "It is odder."),
)


def test_a_person_reads_groups_worst_first() -> None:
    screen = Screen(tty=True, colour=False, columns=80, home="/home/me")
    render(Diagnosis(REPORT, Repaired(("Mended x.",), ("a row",))), screen, Namespace())
    assert screen.text() == (
        "1 error\n"
        "  a-bad-thing  ship  ~/x:3\n"
        "      It is bad.\n"
        "      hint: Mend it.\n"
        "\n"
        "2 warnings\n"
        "  odd  /y\\x1b\n"
        "      It is odd.\n"
        "  odder\n"
        "      It is odder.\n"
    )
    assert screen.messages == ["Mended x.", "Lost: a row"]


def codes(run: CompletedProcess[str]) -> list[str]:
    """What the doctor tells of the library; the last word is about the machine."""
    found = [entry["code"] for entry in json.loads(run.stdout)["report"]]
    assert len({"sandbox", "no-sandbox"}.intersection(found)) == 1
    return [code for code in found if code not in ("sandbox", "no-sandbox")]


def test_a_healthy_library_gets_only_a_word_about_the_sandbox(
    tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    (tmp_path / "r").mkdir()
    assert codes(whet("--root", str(tmp_path / "r"), "doctor", "--json")) == []
    run = whet("--root", str(tmp_path / "r"), "doctor")
    assert (run.returncode, run.stdout[:2], run.stderr) == (0, "1 ", "No errors or warnings.\n")


def test_only_errors_make_the_check_fail(
    skill: Callable[..., Path], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    root = tmp_path / "r"
    skill("fine", extra="platforms: [nowhere]\n", root=root)
    assert whet("--root", str(root), "doctor", "--check").returncode == 0
    (root / "bad").mkdir()
    (root / "bad" / "SKILL.md").write_text("---\nname: bad\n---\n", encoding="utf-8")
    assert whet("--root", str(root), "doctor").returncode == 0
    run = whet("--root", str(root), "doctor", "--check", "--json")
    report = json.loads(run.stdout)["report"]
    assert run.returncode == 1
    assert {(entry["code"], entry["severity"], entry["skill"]) for entry in report} >= {
        ("description-missing", "error", "bad"),
        ("wrong-platform", "info", "fine"),
    }
    assert all({"code", "severity", "skill", "path", "message", "hint"} <= set(entry) for entry in report)


def test_repairing_cleans_up_after_killed_writers(tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    root = tmp_path / "r"
    leftover = root / ".mine.whet-tmp-0123456789abcdef"
    leftover.mkdir(parents=True)
    assert codes(whet("--root", str(root), "doctor", "--json")) == ["leftover"]
    run = whet("--root", str(root), "doctor", "--repair", "--json")
    after = json.loads(run.stdout)
    assert (codes(run), len(after["repaired"]), after["lost"], leftover.exists()) == ([], 1, [], False)


def test_a_repair_says_that_there_was_nothing_to_repair(
    whet: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    broken = tmp_path / "home" / ".agents" / "skills" / "mine"
    broken.mkdir(parents=True)
    text = "---\nname: mine\ndescription: Mine. Use when asked.\n---\n\nRun `scripts/gone.sh`.\n"
    (broken / "SKILL.md").write_text(text, encoding="utf-8")
    for option in ("--fix", "--repair"):
        run = whet("doctor", option)
        assert run.stderr.splitlines()[0] == (
            "Nothing needs a repair that Whet can make. For what is listed below, follow the hint."
        )
        assert "hint: Restore the file, or remove the reference to it." in run.stdout


def test_a_repair_also_fixes_and_links_skills_and_says_how_to_undo_that(
    whet: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    main = home / ".agents" / "skills" / "mine" / "SKILL.md"
    main.parent.mkdir(parents=True)
    (home / ".claude").mkdir()
    text = "---\nname: mine\ndescription: Use this: now\n---\n\nRun `scripts/go.sh`, then `scripts/go.sh` again.\n"
    main.write_text(text, encoding="utf-8")
    first, undo, linked = json.loads(whet("doctor", "--fix", "--json").stdout)["repaired"]
    assert first == "Fixed mine: Quoted the values as Whet reads them. [yaml-repaired]"
    assert linked == "Linked 1 skill to claude-code; `whet sync --undo` removes the links."
    assert (home / ".claude" / "skills" / "mine" / "SKILL.md").samefile(main)
    command, rest = undo.removeprefix("`whet ").split("` ")
    assert (rest, whet(*command.split()).returncode) == ("undoes these fixes.", 0)
    assert main.read_text(encoding="utf-8") == text


def test_a_file_that_the_instructions_name_and_that_is_gone_is_reported(
    whet: Callable[..., CompletedProcess[str]], skill: Callable[..., Path]
) -> None:
    directory = skill("ship", body="\nRun `scripts/go.sh`.\n")
    (directory / "scripts").mkdir()
    (directory / "scripts" / "go.sh").write_text("echo go\n", encoding="utf-8")
    assert "reference-dangling" not in codes(whet("doctor", "--json"))
    (directory / "scripts" / "go.sh").unlink()
    found = [note for note in json.loads(whet("doctor", "--json").stdout)["report"] if note["skill"] == "ship"]
    assert [(note["code"], note["message"]) for note in found] == [
        ("reference-dangling", "scripts/go.sh does not exist in the skill.")
    ]
    checked = whet("skill", "validate", "ship")
    assert (checked.returncode, "scripts/go.sh does not exist in the skill." in checked.stdout) == (0, True)


HOMES = {
    "no HOME": ("", "", {"HOME": ""}, "no-home"),
    "a relative HOME": ("", "", {"HOME": "here"}, "no-home"),
    "HOME is a file": ("file", "f", {"HOME": "/f"}, "home-not-directory"),
    "the state is a file": ("file", "state", {}, "home-not-directory"),
    "above the state is a file": ("file", "f", {"WHET_HOME": "/f/state"}, "home-not-directory"),
    "the state is a circle": ("link", "state", {}, "home-not-directory"),
    "nothing above the state": ("", "", {"WHET_HOME": "/a/b"}, ""),
    "settings that are a directory": ("directory", "state/config.toml", {}, "bad-config"),
    "settings that are a pipe": ("pipe", "state/config.toml", {}, "bad-config"),
    "settings that are no text": ("bytes", "state/config.toml", {}, "bad-config"),
    "no working directory": ("gone", "work", {}, "no-such-project"),
    "the root is a file": ("file", "home/.agents/skills", {}, "home-not-directory"),
    "contents is a file": ("file", "state/contents", {}, "home-not-directory"),
    "locks is a file": ("file", "state/locks", {}, "home-not-directory"),
}
"""What is made where, what the environment says, and which error is told."""


def obstruct(path: Path, kind: str = "file") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(path)
    elif kind == "gone":
        path.rmdir()
    else:
        path.write_bytes(b"\xff\xfe\0" if kind == "bytes" else b"in the way")


@pytest.mark.skipif(sys.platform == "win32", reason="paths and pipes of POSIX")
@pytest.mark.parametrize("case", HOMES)
def test_the_doctor_never_fails_itself(
    case: str, whet: Callable[..., CompletedProcess[str]], env: dict[str, str], tmp_path: Path
) -> None:
    kind, path, changed, code = HOMES[case]
    if kind:
        obstruct(tmp_path / path, kind)
    env.update({name: f"{tmp_path}{value}" if value.startswith("/") else value for name, value in changed.items()})
    told = whet("doctor", "--json")
    found = [note["code"] for note in json.loads(told.stdout)["report"] if note["severity"] == "error"]
    assert (told.returncode, code in found or not code) == (0, True), found
    assert whet("doctor", "--check").returncode == (1 if code else 0)
    repaired = whet("doctor", "--repair", "--json")
    assert repaired.returncode in (0, 1, 4)
    assert json.loads(repaired.stdout)["success"]


def test_repair_moves_aside_what_is_in_the_way_and_removes_what_commands_left(
    whet: Callable[..., CompletedProcess[str]], skill: Callable[..., Path], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    skill("one")
    assert whet("delete", "one").returncode == 0
    left = [state / f".state.db.whet-tmp-{'0' * 16}", next((state / "contents").iterdir()) / f".x.whet-tmp-{'1' * 16}"]
    for path in left:
        path.touch()
    obstruct(state / "fetching")
    report = json.loads(whet("doctor", "--json").stdout)["report"]
    assert {note["path"] for note in report if note["code"] == "leftover"} == {str(path) for path in left}
    assert whet("doctor", "--repair").returncode == 0
    assert [path.exists() for path in left] == [False, False]
    assert (state / "fetching.broken-1").read_text(encoding="utf-8") == "in the way"
    assert whet("restore", "one").returncode == 0
