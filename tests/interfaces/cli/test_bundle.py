"""`whet prompt bundle`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whet.interfaces.cli.text import width

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from whet.interfaces.cli.output import Screen

WORDS = ("prompt", "bundle", "create", "Release day", "--skills", "tag, ship", "--skills", "gone")
SAYS = ("--description", "All for a release.", "--instruction", "Stop first.\nThen ask.")
GONE = "Missing: There is no skill 'gone'. [skill-not-found]\nhint: `whet list` shows every skill.\n"


@pytest.fixture
def file(skill: Callable[..., Path], tmp_path: Path) -> Path:
    """Where the bundle will be; two of its three skills are there."""
    skill("tag")
    skill("ship")
    return tmp_path / "state" / "bundles" / "release-day.yaml"


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_create_prints_the_path_and_what_is_missing(file: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet(*WORDS, *SAYS)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{file}\n", f"Release day names 3 skills.\n{GONE}")
    assert file.is_file()


def test_the_document_of_a_bundle(file: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    bundle = {
        "name": "Release day",
        "slug": "release-day",
        "description": "All for a release.",
        "skills": ["tag", "ship", "gone"],
        "instruction": "Stop first.\nThen ask.",
        "path": str(file),
    }
    missing = [
        {
            "name": "gone",
            "code": "skill-not-found",
            "message": "There is no skill 'gone'.",
            "hint": "`whet list` shows every skill.",
        }
    ]
    created = answer(whet(*WORDS, *SAYS, "--json"))
    assert created == {**answer(whet("prompt", "bundle", "show", "release_DAY", "--json")), "report": []}
    assert created == {"success": True, **bundle, "missing": missing, "report": []}
    assert answer(whet("prompt", "bundle", "list", "--json")) == {
        "success": True,
        "bundles": [bundle],
        "in_use": "",
        "default": "",
        "report": [],
    }
    deleted = answer(whet("prompt", "bundle", "delete", "Release day", "--json"))
    assert deleted == {"success": True, **bundle, "kept": f"{file}.removed"}


def test_show_marks_what_is_missing(file: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    whet(*WORDS, *SAYS)
    run = whet("prompt", "bundle", "show", "release-day")
    assert run.stderr == GONE
    assert run.stdout == (
        f"Release day\nAll for a release.\n\npath      {file}\n"
        "skills    tag\n          ship\n          gone  (missing)\n\nStop first.\nThen ask.\n"
    )


def test_a_second_create_is_a_conflict_unless_forced(file: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    whet(*WORDS)
    before = file.read_bytes()
    run = whet("prompt", "bundle", "create", "release-day", "--skills", "ship", "--json")
    assert (run.returncode, answer(run)["code"], file.read_bytes()) == (1, "bundle-exists", before)
    forced = whet("prompt", "bundle", "create", "release-day", "--skills", "ship", "--force")
    assert (forced.returncode, forced.stderr) == (0, "release-day names 1 skill.\n")
    assert file.with_name("release-day.yaml.before").read_bytes() == before


def test_delete_says_where_the_file_is_kept(file: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    whet(*WORDS)
    run = whet("prompt", "bundle", "delete", "release-day")
    assert (run.stdout, run.stderr) == ("", f"Release day is deleted; its file is kept as {file}.removed.\n")
    assert not file.exists() and file.with_name("release-day.yaml.removed").exists()
    assert whet("prompt", "bundle", "list").stderr == (
        "No bundles yet.\nhint: `whet prompt bundle create NAME --skills A,B` creates one.\n"
    )


def test_on_a_pipe_each_bundle_is_a_line(file: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    whet(*WORDS, "--description", "All\tfor a \x1b[2J release.")
    file.with_name("broken.yaml").write_text("skills: {}\n", encoding="utf-8")
    run = whet("prompt", "bundle", "list")
    assert run.stdout == "Release day\ttag, ship, gone\tAll for a \\x1b[2J release.\n"
    assert run.stderr == (
        f"{file.with_name('broken.yaml')}: error: broken.yaml is left out: it names no skills. [bundle-invalid]\n"
    )


@pytest.mark.parametrize("columns", [60, 120])
def test_a_terminal_gets_a_table_that_fits(
    columns: int, file: Path, whet: Callable[..., CompletedProcess[str]], shown: Callable[..., Screen]
) -> None:
    whet(*WORDS, *SAYS)
    whet("prompt", "bundle", "create", "all", "--skills", ",".join(f"skill-{number}" for number in range(30)))
    screen = shown("prompt", "bundle", "list", columns=columns)
    assert max(map(width, screen.text().splitlines())) <= columns
    if columns == 60:
        assert screen.text() == (
            "NAME         SKILLS                DESCRIPTION\n"
            "all          skill-0, skill-1, s…\n"
            "Release day  tag, ship, gone       All for a release.\n"
        )
    assert file.exists()


def test_here_is_the_trusted_project(file: Path, tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (tmp_path / ".git").mkdir()
    whet("guard", "trust")
    run = whet(*WORDS, "--here")
    assert run.stdout == f"{tmp_path / '.agents' / 'bundles' / 'release-day.yaml'}\n"
    assert not file.exists()
    assert whet(*WORDS).stdout == f"{file}\n"
    assert whet("prompt", "bundle", "list").stderr.endswith(" this one is left out. [bundle-duplicate]\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show"], "The NAME to show is missing."),
        (["create"], "The NAME to create is missing."),
        (["create", "x"], "--skills is missing."),
        (["list", "x"], "'x' is an unexpected argument."),
        (["show", "x", "--here"], "`--here` works only with create and delete."),
        (["odd"], "'odd' is not one of list, show, create, delete."),
        ([], "ACTION is missing."),
    ],
)
def test_what_does_not_go_together_is_said(
    words: list[str], message: str, whet: Callable[..., CompletedProcess[str]]
) -> None:
    run = whet("prompt", "bundle", *words)
    assert (run.returncode, run.stdout, run.stderr.splitlines()[0]) == (2, "", f"error: {message}")
