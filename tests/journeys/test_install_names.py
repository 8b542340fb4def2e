"""Skills installed by their names alone: over every tap and hub, in a range of versions, and never a guess."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from sources.repositories import Repository

from journeys.machines import WHET, Machine, main
from journeys.terminals import DOWN, ENTER, Terminal
from whet.sources.taps import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
needs_terminal = pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")


def text(name: str, version: str, body: str = "Do it.\n") -> str:
    return main(name, f"Works with {name} files.", body, more=f'metadata:\n  version: "{version}"\n')


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine without the taps from the start: they are on the network."""
    made = Machine(tmp_path / "machine")
    for name in DEFAULTS:
        assert made.run("sources", "remove", name).returncode == 0
    return made


def tap(machine: Machine, name: str, **skills: str) -> Path:
    """A directory with skills in these versions, as a tap."""
    top = machine.work / name
    for skill, version in skills.items():
        (top / skill).mkdir(parents=True)
        (top / skill / "SKILL.md").write_text(text(skill, version), encoding="utf-8")
    assert machine.run("sources", "add", name, f"./{name}").returncode == 0
    return top


def test_a_name_is_found_in_the_one_source_that_has_it(machine: Machine) -> None:
    shop = tap(machine, "shop", pdf="1.2.0", docx="2.0.0")
    tap(machine, "team", deploy="1.0.0")
    assert machine.says("install", "pdf", "deploy", "--yes") == (
        0,
        "Installed pdf 1.2.0  safe\nInstalled deploy 1.0.0  safe\n",
        "",
    )
    assert {path: entry["source"] for path, entry in machine.locked().items()} == {
        "skills/deploy": f"path:{machine.work / 'team'}#path=deploy",
        "skills/pdf": f"path:{shop}#path=pdf",
    }
    assert machine.says("install", "DOCX@^2", "--yes")[:2] == (0, "Installed docx 2.0.0  safe\n")
    assert machine.says("install", "team/deploy", "--yes")[:2] == (0, "deploy: Up to date.\n")
    (shop / "docx/SKILL.md").write_text(text("docx", "3.0.0"), encoding="utf-8")
    assert machine.says("update", "docx", "--yes")[0] == 1, "the range holds for updates, too"
    wrong = machine.ask("install", "pdf@^2", code=1)
    assert (wrong["code"], wrong["error"]) == (
        "no-such-version",
        f"pdf in {shop} has the version 1.2.0, which is not in the range ^2.",
    )
    missing = machine.ask("install", "pdff", code=1)
    assert (missing["code"], missing["hint"], missing["suggestions"]) == (
        "name-not-found",
        "You already have pdf: `whet show pdf` shows it. Did you mean shop:pdf?",
        ["shop:pdf"],
    )
    nowhere = machine.ask("install", "xyzzy", code=1)
    assert nowhere["error"] == "No skill in the gallery or 2 sources is named xyzzy."
    near = machine.ask("install", "commit-mesages", code=1)
    assert (near["code"], near["suggestions"]) == ("name-not-found", ["gallery:commit-messages"])
    assert machine.ask("install", "commit-messages@^99", code=1)["code"] == "no-such-version"
    assert machine.says("install", "commit-messages", "--yes")[:2] == (0, "Installed commit-messages 1.0.0  safe\n")
    assert machine.locked()["skills/commit-messages"]["source"] == "gallery:whet#path=commit-messages"
    (machine.work / "elsewhere").mkdir()
    assert machine.says("install", "elsewhere")[2].endswith("Write ./elsewhere to use the directory.\n")
    (machine.work / "elsewhere" / "SKILL.md").write_text(text("elsewhere", "1.0.0"), encoding="utf-8")
    for chosen in ("--all", "--skill=elsewhere"):
        assert machine.ask("install", "elsewhere", chosen, "--dry-run")["counts"] == {"ready": 1}
    assert machine.says("install", "elsewhere.d")[2].count("Write ") == 1
    assert machine.says("install", "team/", "deploy", "--yes")[:2] == (0, "deploy: Up to date.\n")


def test_a_name_after_a_source_is_a_skill_of_it(machine: Machine) -> None:
    shop = tap(machine, "shop", pdf="1.2.0", docx="2.0.0", deploy="1.0.0")
    tap(machine, "team", deploy="1.0.0", pdf="3.0.0")
    assert machine.says("install", "./shop", "pdf", "docx", "team", "deploy", "--yes") == (
        0,
        "Installed pdf 1.2.0  safe\nInstalled docx 2.0.0  safe\nInstalled deploy 1.0.0  safe\n",
        "",
    )
    assert {path: entry["source"] for path, entry in machine.locked().items()} == {
        "skills/deploy": f"path:{machine.work / 'team'}#path=deploy",
        "skills/docx": f"path:{shop}#path=docx",
        "skills/pdf": f"path:{shop}#path=pdf",
    }
    assert machine.says("install", "./shop", "deploi") == (
        1,
        "",
        (
            f"error: There is no skill 'deploi' in {shop}.\n"
            "hint: Did you mean deploy? A name after a source is a skill of it; alone, Whet looks for it in every "
            "source.\n"
        ),
    )


def test_several_sources_are_named_and_nothing_is_guessed(machine: Machine) -> None:
    tap(machine, "shop", pdf="1.2.0")
    tap(machine, "team", pdf="3.0.0")
    assert machine.says("install", "pdf@>=1", "--yes") == (
        1,
        "",
        (
            "error: 2 sources have a skill named pdf: shop:pdf@>=1, team:pdf@>=1.\n"
            "hint: Name the source: `whet install 'shop:pdf@>=1'`.\n"
        ),
    )
    answer = machine.ask("install", "pdf", code=1)
    assert (answer["code"], answer["candidates"]) == ("several-sources", ["shop:pdf", "team:pdf"])
    assert machine.names() == []
    assert machine.ask("install", "team:pdf@>=1")["installed"] == ["pdf"]


@needs_terminal
def test_at_a_terminal_the_source_is_chosen(machine: Machine) -> None:
    tap(machine, "shop", pdf="1.2.0")
    tap(machine, "team", pdf="3.0.0", docx="1.0.0")
    with Terminal(machine, "install", "pdf") as terminal:
        terminal.until("Esc leaves")
        assert terminal.now()[:3] == [
            "Which pdf?",
            "> shop:pdf  Works with pdf files.",
            "  team:pdf  Works with pdf files.",
        ]
        terminal.press(DOWN, ENTER).until("[Y/n] ").types("y")
        assert terminal.end()[0] == 0
    assert '"3.0.0"' in machine.text("pdf")
    with Terminal(machine, "install", "team") as terminal:  # a tap with several skills
        terminal.until("Which skills?").press(ENTER).until("[Y/n] ").types("y")
        assert terminal.end()[0] == 0
    assert machine.names() == ["docx", "pdf"]


@needs_git
@needs_terminal
def test_a_strangers_name_that_is_nearly_a_known_one_is_said_before_the_question(
    machine: Machine, tmp_path: Path
) -> None:
    repository = Repository.new(tmp_path / "stranger")
    repository.commit({"reveiw/SKILL.md": text("reveiw", "1.0.0"), "notes/SKILL.md": text("notes", "1.0.0")})
    tap(machine, "team", review="1.0.0")
    assert machine.run("sources", "add", "shop", repository.url).returncode == 0
    assert machine.ask("install", "notes", "--dry-run")["notes"] == []
    assert [note["code"] for note in machine.ask("install", "reveiw", "--dry-run")["notes"]] == ["lookalike-name"]
    with Terminal(machine, "install", "reveiw") as terminal:
        terminal.until("[Y/n")
        said = "shop:reveiw comes from an untrusted source, and its name is almost the same as team:review."
        assert terminal.now()[0] == said
        assert terminal.types("n").end()[0] == 3
    assert machine.names() == []


@needs_git
def test_a_range_takes_the_highest_tag_and_updates_stay_in_it(machine: Machine, tmp_path: Path) -> None:
    repository = Repository.new(tmp_path / "team")
    for number in ("1.1.0", "1.2.0", "1.3.0-rc.1", "2.0.0"):
        repository.commit({"skills/pdf/SKILL.md": text("pdf", number, f"Number {number}.\n")})
        repository.git("tag", f"v{number}")
    assert machine.run("sources", "add", "team", repository.url).returncode == 0
    assert machine.says("install", "pdf@^1.1", "--yes") == (0, "Installed pdf 1.2.0  safe\n", "")
    assert machine.locked()["skills/pdf"]["source"] == f"git:{repository.url}#ref=^1.1&path=skills/pdf"
    assert machine.says("update", "--check") == (0, "", "0 skills outdated, 1 current.\n")
    repository.commit({"skills/pdf/SKILL.md": text("pdf", "1.4.0")}, branch="old")
    repository.git("tag", "pdf@1.4.0", "old")
    assert machine.says("update", "--yes")[:2] == (0, "Updated pdf 1.2.0 -> 1.4.0  safe\n  changed SKILL.md\n")
    assert machine.ask("install", "team:pdf@1.1", "--dry-run")["plan"][0]["version"] == "1.1.0"
    assert machine.ask("install", "pdf", "--dry-run")["plan"][0]["version"] == "2.0.0"
    none = machine.ask("install", "pdf@^3", code=1)
    assert none["code"] == "no-such-version"


@needs_git
def test_without_tags_the_default_branch_counts_if_it_is_in_range(machine: Machine, tmp_path: Path) -> None:
    repository = Repository.new(tmp_path / "team")
    repository.commit({"pdf/SKILL.md": text("pdf", "1.2.0")})
    repository.git("tag", "v9.0.0")  # the repository has versions of its own
    assert machine.run("sources", "add", "team", repository.url).returncode == 0
    assert machine.ask("install", "pdf@~1.2")["installed"] == ["pdf"]
    assert machine.ask("install", "pdf@^9", code=1)["code"] == "no-such-version"


@contextmanager
def hub_process(machine: Machine) -> Iterator[str]:
    """A real hub on this machine, and the address it listens at; the machine may publish there."""
    made = machine.ask("hub", "init", "hub", "--origin", "hub.example")
    words = [*WHET, "hub", "serve", "hub", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=machine.env, cwd=machine.work) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            machine.env |= {"WHET_HUB": address, "WHET_HUB_TOKEN": made["admin_token"]}
            yield address
        finally:
            server.terminate()


def test_a_hub_is_asked_for_the_name_and_the_range(machine: Machine) -> None:
    with hub_process(machine) as address:
        for number in ("1.1.0", "1.2.0", "2.0.0"):
            (machine.work / "review").mkdir(exist_ok=True)
            body = "# Review\n\n1. Read the change.\n\n2. Say what is wrong.\n"
            (machine.work / "review/SKILL.md").write_text(text("review", number, body), encoding="utf-8")
            published = machine.run("sources", "publish", "./review", "--hub", address, "--owner", "acme")
            assert published.returncode == 0, published
        assert machine.run("sources", "add", "official", f"hub:{address}").returncode == 0
        assert machine.says("install", "review@1.1", "--yes") == (0, "Installed review 1.1.0  safe\n", "")
        assert machine.locked()["skills/review"]["source"] == f"hub:{address}#ref=1.1&path=acme/review"
        assert machine.says("install", "official/review@^1.1", "--yes")[:2] == (
            0,
            "Updated review 1.1.0 -> 1.2.0  safe\n  changed SKILL.md\n",
        )
        assert machine.says("update", "--check") == (0, "", "0 skills outdated, 1 current.\n")
        assert machine.ask("install", "review", "--dry-run")["plan"][0]["version"] == "2.0.0"
        none = machine.ask("install", "review@^3", code=1)
        assert (none["code"], none["hint"]) == ("no-such-version", "It has 2.0.0, 1.2.0, 1.1.0.")
        tap(machine, "team", review="5.0.0")
        assert machine.ask("install", "review", code=1)["candidates"] == [
            f"hub:{address}/acme/review",
            "team:review",
        ]


@needs_git
def test_a_source_of_yours_that_does_not_answer_may_be_the_one_that_is_meant(machine: Machine, tmp_path: Path) -> None:
    tap(machine, "shop", pdf="1.0.0")
    assert machine.run("sources", "add", "team", (tmp_path / "gone").as_uri()).returncode == 0
    answer = machine.ask("install", "pdf", code=4)
    assert (answer["code"], answer["hint"]) == ("source-silent", "To install that one, run `whet install shop:pdf`.")
    assert machine.names() == []


@needs_git
def test_a_file_address_below_a_repository_leads_to_the_one_that_works(machine: Machine) -> None:
    team = Repository.new(machine.work / "team.git")
    team.commit({f"skills/{name}/SKILL.md": text(name, "1.0.0") for name in ("pdf", "docx", "deploy")})
    team.git("clone", "-q", str(machine.work / "team.git"), str(machine.work / "team"))
    address = (machine.work / "team").as_uri()
    plain = machine.work / "plain" / "notes"
    plain.mkdir(parents=True)
    (plain / "SKILL.md").write_text(text("notes", "1.0.0"), encoding="utf-8")
    errors = {
        f"{address}/skills/pdf": f"Write {address}#path=skills/pdf for this directory of the repository.",
        plain.as_uri(): f"To use the directory, write {plain} without file://.",
        f"{address}-no": "Check the path.",
        f"{address}@v1": f"For a revision of a repository, write {address}#v1.",
    }
    for source, hint in errors.items():
        wrong = machine.ask("install", source, code=1)
        assert (wrong["code"], wrong["hint"]) == ("source-not-found", hint)
    for source in (f"{address}#path=skills/pdf", str(plain)):
        assert machine.ask("install", source, "--dry-run")["counts"] == {"ready": 1}


def test_names_can_be_joined_with_commas(machine: Machine) -> None:
    tap(machine, "shop", pdf="1.2.0", docx="2.0.0", deploy="1.0.0")
    for number, chosen in enumerate((["pdf,docx"], ["docx, pdf"], ["pdf", "--skill", "docx"], [",pdf,,docx,"])):
        plan = machine.ask("install", "./shop", "--skill", *chosen, "--dry-run")["plan"]
        assert sorted(step["name"] for step in plan) == ["docx", "pdf"], number
    wrong = machine.ask("install", "./shop", "--skill", "pdf,dcox", code=1)
    assert (wrong["code"], wrong["hint"]) == ("skill-not-in-source", "Did you mean docx?")
