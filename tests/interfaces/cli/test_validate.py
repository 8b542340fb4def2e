"""`whet skill validate`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whet.interfaces.cli.commands.doctor import render_validate as render
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Namespace
from whet.library.standalone import Validation, check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture
def bad(skill: Callable[..., Path]) -> Path:
    """A skill with a finding that can be fixed."""
    return skill("bad", "Use: it when asked")


def test_the_document(bad: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("skill", "validate", str(bad), "--json")
    found = answer(run)
    finding = found["results"][0]["findings"][0]
    assert (run.returncode, found["success"], found["valid"]) == (1, True, False)
    assert found["results"][0]["path"] == str(bad)
    assert (finding["code"], finding["severity"], finding["line"]) == ("yaml-repaired", "error", 3)
    assert set(finding) == {"code", "severity", "line", "message", "fix"}


def test_a_finding_is_a_line_to_jump_to(bad: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("skill", "validate", "bad")
    assert run.stdout.startswith(f"{bad}/SKILL.md:3: error: ") and run.stdout.endswith(f"{bad}: not valid\n")
    assert run.stderr == "1 skill: 1 error, 0 warnings, 0 info.\nhint: 1 can be fixed with `--fix`.\n"


def test_fixing_writes_and_tells(bad: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("skill", "validate", "bad", "--fix", "--json")
    found = answer(run)
    assert (run.returncode, found["valid"], found["results"][0]["findings"]) == (0, True, [])
    assert [finding["code"] for finding in found["results"][0]["fixed"]] == ["yaml-repaired"]
    assert (bad / "SKILL.md").read_text(encoding="utf-8") == (
        "---\nname: bad\ndescription: 'Use: it when asked'\n---\nDo it.\n"
    )
    assert whet("skill", "validate", "bad", "--fix").stderr == "1 skill: 0 errors, 0 warnings, 0 info.\n"


def test_a_fix_is_in_the_history_and_can_be_undone(bad: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    before = (bad / "SKILL.md").read_bytes()
    fixed = whet("skill", "validate", str(bad), "--fix")
    assert fixed.stderr == (
        "Fixed bad, line 3: Quoted the values as Whet reads them. [yaml-repaired]\n"
        "1 skill: 0 errors, 0 warnings, 0 info, 1 fixed.\n"
        "hint: `whet undo bad` undoes this.\n"
    )
    entries = answer(whet("history", "bad", "--json"))["entries"]
    assert sorted((entry["id"], entry["actor"], entry["action"], entry["reason"]) for entry in entries) == [
        (1, "unknown", "found", "Existed before its history began."),
        (2, "user", "edit", "skill validate --fix"),
    ]
    after = (bad / "SKILL.md").read_bytes()
    assert whet("undo", "bad").returncode == 0 and (bad / "SKILL.md").read_bytes() == before
    assert whet("undo", "bad").stderr == (
        "error: bad has no change left to undo.\nhint: `whet redo bad` makes the last undone change again.\n"
    )
    assert whet("redo", "bad").returncode == 0 and (bad / "SKILL.md").read_bytes() == after


def test_skills_that_were_fixed_together_are_undone_together(
    bad: Path, skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    files = [bad / "SKILL.md", skill("worse", "Use: it, too") / "SKILL.md"]
    before = [file.read_bytes() for file in files]
    fixed = whet("skill", "validate", "bad", "worse", "--fix")
    assert fixed.stderr.splitlines()[-1] == "hint: `whet undo` undoes this."
    assert [file.read_bytes() for file in files] != before
    assert whet("undo").returncode == 0
    assert [file.read_bytes() for file in files] == before


def test_a_skill_outside_the_library_has_no_history(
    skill: Callable[..., Path], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    place = skill("apart", "Use: it when asked", root=tmp_path / "elsewhere")
    found = answer(whet("skill", "validate", str(place), "--fix", "--json"))
    assert ([one["code"] for one in found["results"][0]["fixed"]], found["entries"]) == (["yaml-repaired"], [])
    assert answer(whet("history", "--json"))["entries"] == []


def test_a_fix_waits_where_every_change_does(
    bad: Path, tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    before = (bad / "SKILL.md").read_bytes()
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "config.toml").write_text("stage_writes = true\n", encoding="utf-8")
    found = answer(whet("skill", "validate", "bad", "--fix", "--json"))
    assert (found["valid"], found["results"][0]["fixed"], found["entries"], found["proposals"]) == (False, [], [], [1])
    assert (bad / "SKILL.md").read_bytes() == before
    assert whet("proposals", "approve", "1").returncode == 0
    assert whet("skill", "validate", "bad").returncode == 0


def test_a_fix_of_the_name_is_undone_by_the_new_one(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    file = skill("called") / "SKILL.md"
    before = file.read_bytes().replace(b"name: called", b"name: Another Name")
    file.write_bytes(before)
    fixed = whet("skill", "validate", "Another Name", "--fix")
    assert fixed.stderr.splitlines()[-1] == "hint: `whet undo called` undoes this."
    assert whet("undo", "called").returncode == 0 and file.read_bytes() == before


def test_the_doctor_names_the_skill_to_fix(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    file = skill("odd", "Use: it when asked") / "SKILL.md"
    file.write_bytes(file.read_bytes().replace(b"name: odd", b"name: Odd One"))
    hints = [note["hint"] for note in answer(whet("doctor", "--json"))["report"] if note["code"] == "yaml-repaired"]
    assert hints == ["Quote the value, or run `whet skill validate 'Odd One' --fix`."]


def test_nothing_is_fixed_when_one_path_is_wrong(bad: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    before = (bad / "SKILL.md").read_bytes()
    assert whet("skill", "validate", "bad", "no-such", "--fix").returncode == 1
    assert (bad / "SKILL.md").read_bytes() == before


@pytest.mark.parametrize("form", ["{}", "{}/SKILL.md", "bad", "user:bad"])
def test_a_skill_can_be_named_in_every_way(form: str, bad: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    found = answer(whet("skill", "validate", form.format(bad), "--json"))
    assert [finding["code"] for finding in found["results"][0]["findings"]] == ["yaml-repaired"]


def test_profiles_differ(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    skill("claude-x", "Short.")
    found = {
        profile: answer(whet("skill", "validate", "claude-x", "--profile", profile, "--json"))
        for profile in ("spec", "upload", "quality")
    }
    codes = {profile: {f["code"] for f in each["results"][0]["findings"]} for profile, each in found.items()}
    assert [each["valid"] for each in found.values()] == [True, False, True]
    assert (
        codes["spec"] == set() and codes["upload"] == {"name-reserved-word"} and "description-short" in codes["quality"]
    )


def test_an_archive_is_checked_and_never_changed(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("packed")
    whet("skill", "pack", "packed")
    assert whet("skill", "validate", "packed.skill").stdout == "packed.skill: valid\n"
    run = whet("skill", "validate", "packed.skill", "--fix", "--json")
    assert (run.returncode, answer(run)["code"]) == (2, "cannot-fix-archive")


def test_a_broken_archive_is_not_valid(tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (tmp_path / "x.skill").write_bytes(b"PK\x03\x04 nonsense")
    run = whet("skill", "validate", str(tmp_path / "x.skill"), "--json")
    assert (run.returncode, answer(run)["results"][0]["findings"][0]["code"]) == (1, "archive-not-readable")


def test_a_directory_of_skills(
    skill: Callable[..., Path], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    root = tmp_path / "many"
    one, two = skill("one", root=root), skill("deep/two", root=root)
    flat = whet("skill", "validate", str(root))
    assert flat.returncode == 1 and flat.stderr.endswith("hint: For a directory of skills, add `--recursive`.\n")
    run = whet("skill", "validate", "--recursive", str(root))
    assert (run.returncode, run.stdout) == (0, f"{two}: valid\n{one}: valid\n")
    assert run.stderr == "2 skills: 0 errors, 0 warnings, 0 info.\n"


def test_a_terminal_gets_findings_below_their_skill(bad: Path) -> None:
    found = check(str(bad), "spec")
    first = found.findings[0]._replace(message="A message that is longer than the terminal is wide.")
    found = found._replace(findings=(first, *found.findings[1:]))
    screen = Screen(tty=True, colour=False, columns=50, home=str(bad.parent))
    render(Validation((found,)), screen, Namespace(fix=False, recursive=False, profile="spec"))
    assert screen.hints == ["1 can be fixed with `--fix`."]
    assert screen.text() == (
        "~/bad: not valid\n"
        "    3  error    A message that is longer than the\n"
        "                terminal is wide. [yaml-repaired]\n"
    )
    vague = check(str(bad), "quality")
    few = [finding for finding in vague.findings if finding.code == "section-missing"][:2]
    for verbose, count in ((False, 1), (True, 2)):
        screen = Screen(tty=True, colour=False, columns=80, home="")
        screen.verbose = verbose
        options = Namespace(fix=False, recursive=False, profile="quality")
        render(Validation((vague._replace(findings=tuple(few)),)), screen, options)
        assert screen.text().count("                Example: ## ") == count
    screen = Screen(tty=True, colour=False, columns=80, home="")
    render(Validation((found._replace(findings=()),)), screen, Namespace(fix=False, recursive=False, profile="spec"))
    assert screen.hints == [
        "`--profile quality` also checks the wording, the tools and the files that the skill mentions."
    ]
