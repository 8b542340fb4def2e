"""`whet doctor`."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING

from whet.interfaces.cli.commands.doctor import Diagnosis
from whet.interfaces.cli.commands.doctor import render_doctor as render
from whet.interfaces.cli.output import Screen
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
    assert (run.returncode, run.stdout[:2], run.stderr) == (0, "1 ", "")


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
