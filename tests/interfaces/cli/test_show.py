"""`whet show`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from sources.repositories import Repository
from sources.repositories import skill as offered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from whet.interfaces.cli.output import Screen

EXTRA = """\
license: MIT
compatibility: Needs a ship.
metadata:
  version: "1.2.0"
  hermes:
    tags: [sea, sails]
    related_skills: [anchor]
prerequisites:
  env_vars: [SHIP_TOKEN]
"""


def test_looking_at_a_skill_is_no_use_of_it(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("ship", "Ships it.")
    assert whet("show", "ship").returncode == 0
    assert whet("learn", "usage").stderr == "Nothing is recorded yet.\n"


@pytest.fixture
def ship(skill: Callable[..., Path]) -> Path:
    """A skill that has and lacks everything."""
    directory = skill("ship", "Ships it.", extra=EXTRA, body="\n# Ship\n\nGo \x1b[31mred\x1b[0m.\r\n")
    (directory / "references").mkdir()
    (directory / "references" / "sea.md").write_text("wet\ttext\x07\n", encoding="utf-8")
    (directory / "assets").mkdir()
    (directory / "assets" / "logo.bin").write_bytes(b"\0\1\2")
    return directory


def answer(whet: Callable[..., CompletedProcess[str]], *words: str) -> dict[str, Any]:
    loaded = json.loads(whet("show", *words, "--json").stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_the_document_has_what_was_promised(ship: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    found = answer(whet, "ship")
    promised = (
        *("name", "description", "content", "files", "digest", "version", "category", "scope", "path", "ready"),
        *("missing", "tags", "related_skills", "origin", "trust"),
    )
    assert [key for key in promised if key not in found] == []
    assert found["content"] == "\n# Ship\n\nGo \x1b[31mred\x1b[0m.\r\n"
    assert (found["version"], found["tags"], found["related_skills"]) == ("1.2.0", ["sea", "sails"], ["anchor"])
    assert [file["path"] for file in found["files"]] == ["SKILL.md", "assets/logo.bin", "references/sea.md"]
    assert (found["ready"], found["missing"][0]["name"], found["path"]) == (False, "SHIP_TOKEN", str(ship))


def test_a_person_reads_head_body_files_and_what_is_missing(
    ship: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    found = answer(whet, "ship")
    run = whet("view", "ship")
    size = (ship / "SKILL.md").stat().st_size
    assert run.stdout == (
        "ship\nShips it.\n\n"
        f"scope          user\npath           {ship}\ndigest         {found['digest']}\n"
        "version        1.2.0\nlicense        MIT\ncompatibility  Needs a ship.\n"
        "tags           sea, sails\nrelated        anchor\nready          no, see below\n"
        f"{'─' * 40}\n"
        "# Ship\n\nGo \\x1b[31mred\\x1b[0m.\n"
        f"{'─' * 40}\n"
        f"Files\n{size:>10,}  SKILL.md\n         3  assets/logo.bin\n        10  references/sea.md\n"
        f"Missing\n  env SHIP_TOKEN  {found['missing'][0]['help']}\n"
    )


def test_a_hidden_skill_says_why(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    skill("mac", extra="platforms: [nowhere]\n")
    assert "hidden         It is for nowhere; this is " in whet("show", "mac").stdout


@pytest.mark.usefixtures("ship")
def test_a_file_is_printed_alone(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("show", "ship", "--file", "references/sea.md")
    assert (run.stdout, run.stderr) == ("wet\ttext\\x07\n", "")
    assert answer(whet, "ship", "--file", "references/sea.md")["content"] == "wet\ttext\x07\n"
    assert "binary file" in whet("show", "ship", "--file", "assets/logo.bin").stdout


def test_long_text_comes_in_pages(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    skill("long", body="a" * 100_000 + "the end\n")
    first = whet("show", "long")
    assert first.stderr.startswith("Page 1 of 2; others with --page.\n")
    assert whet("show", "long", "--page", "2").stdout == "the end\n"


def test_a_terminal_gets_wrapped_text_and_a_rule_across(
    skill: Callable[..., Path], shown: Callable[..., Screen]
) -> None:
    skill("words", "Says one thing and then another thing and then one more.")
    lines = shown("show", "words", columns=30).text().splitlines()
    assert lines[1:3] == ["Says one thing and then", "another thing and then one"]
    assert "─" * 30 in lines


def test_an_installed_skill_names_its_source_and_whether_it_was_edited(
    tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    repository, team = Repository.new(tmp_path / "served"), tmp_path / "team"
    commit = repository.commit({"pdf/SKILL.md": offered("pdf"), "csv/SKILL.md": offered("csv")})
    repository.git("clone", "-q", repository.url, str(team))
    looked = whet("show", str(team))
    assert looked.stderr == f"{team}, main, commit {commit[:10]}, a git repository (community): 2 skills.\n"
    whet("install", str(team), "--skill", "pdf", "--yes")
    whet("install", repository.url, "--skill", "csv", "--yes")
    found = answer(whet, "pdf")
    assert (found["source"], found["revision"], found["edited"]) == (f"{team}/pdf", f"main@{commit}", False)
    assert [line.split(maxsplit=1) for line in whet("show", "pdf").stdout.splitlines()[6:8]] == [
        ["source", f"{team}/pdf, main, commit {commit[:10]}"],
        ["edited", "no"],
    ]
    with open(f"{found['path']}/SKILL.md", "a", encoding="utf-8") as file:
        file.write("More.\n")
    assert answer(whet, "pdf")["edited"] is True
    assert "edited         yes, since it was installed\n" in whet("show", "pdf").stdout
    found = answer(whet, "csv")
    assert (found["source"], found["revision"]) == (f"git:{repository.url}#path=csv", commit)


def test_why_a_skill_is_hidden_is_wrapped_in_colour_too(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]], shown: Callable[..., Screen]
) -> None:
    skill("a-skill-with-quite-a-long-name")
    whet("disable", "a-skill-with-quite-a-long-name")
    screen = shown("show", "a-skill-with-quite-a-long-name", colour=True, columns=60).text()
    assert "Disabled by whet disable. Run\n               `whet enable a-skill-with-quite-a-long-name`\n" in screen
