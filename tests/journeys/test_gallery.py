"""The gallery: nothing of it is there until it is added; then it is everybody's, and stays current with Whet."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import whet
from journeys.machines import Machine, in_process
from whet.authoring.trees import digest
from whet.library.package import read_tree
from whet.library.roots import gallery_directory, gallery_names

if TYPE_CHECKING:
    from typing import Any

NAME = "commit-messages"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


def states(machine: Machine) -> dict[str, str]:
    """Every skill of the gallery that is not just available."""
    skills: list[dict[str, Any]] = machine.ask("gallery")["skills"]
    assert {skill["name"] for skill in skills} == gallery_names()
    return {skill["name"]: skill["state"] for skill in skills if skill["state"] != "available"}


def test_nothing_is_anywhere_until_it_is_added(machine: Machine) -> None:
    message = "write a commit message for what is staged"
    assert (machine.ask("list", "--all")["skills"], states(machine)) == ([], {})
    assert machine.says("prompt", "index")[1] == ""
    assert machine.ask("find", message)["results"] == []
    assert machine.says("show", NAME) == (
        *(1, "", f"error: There is no skill '{NAME}'.\nhint: It ships with Whet: `whet gallery add {NAME}` adds it.\n"),
    )
    page = machine.ask("gallery", "show", NAME)
    assert (page["state"], page["verdict"], page["version"]) == ("available", "safe", "1.0.0")
    assert page["instructions"].lstrip().startswith("# Commit messages\n")

    assert machine.says("gallery", "add", NAME, "reviewing-changes") == (
        0,
        f"Installed {NAME} 1.0.0  safe\nInstalled reviewing-changes 1.0.0  safe\n",
        "Installed without asking: Trusted skills without a serious finding are allowed.\n",
    )
    assert machine.names() == [NAME, "reviewing-changes"]
    assert [skill["name"] for skill in machine.ask("list")["skills"]] == machine.names()
    assert machine.ask("find", message)["results"][0]["name"] == NAME
    assert states(machine) == {NAME: "added", "reviewing-changes": "added"}
    shipped = digest(read_tree(str(Path(gallery_directory()) / NAME)))
    entry = machine.locked()[f"skills/{NAME}"]
    assert {key: value for key, value in entry.items() if key != "files"} == {
        "name": NAME,
        "source": f"gallery:whet#path={NAME}",
        "revision": shipped,
        "marker": shipped,
        "version": "1.0.0",
        "digest": shipped,
        "trust": "trusted",
        "verdict": "safe",
    }
    assert machine.ask("install", f"gallery:{NAME}")["plan"][0]["reason"] == "Up to date."


def test_other_clients_get_it_and_a_model_only_proposes_changes(machine: Machine) -> None:
    (machine.home / ".claude").mkdir()
    machine.ask("gallery", "add", NAME)
    machine.ask("clients", "sync", "claude")
    assert (machine.home / ".claude" / "skills" / NAME).resolve() == (machine.root / NAME).resolve()
    from whet import Library

    with Library.open(home=machine.state, env=machine.env, project=machine.work) as library:
        call = {"action": "patch", "name": NAME, "find": "# Commit messages", "replace": "# Commits"}
        answer = library.tools().call("skill_manage", call)
    assert (answer["staged"], answer["reason"]) == (True, "It is installed.")


def test_only_what_came_from_the_gallery_is_removed_from_it(machine: Machine) -> None:
    machine.ask("new", NAME, "--description", "Mine.", "--body", "Mine.")
    assert states(machine) == {NAME: "other"}
    refused = machine.ask("gallery", "remove", NAME, code=1)
    assert refused["error"] == f"{NAME} was not added from the gallery."
    assert machine.names() == [NAME]
    assert machine.ask("gallery", "add", NAME, code=1)["plan"][0]["state"] == "conflict"
    machine.ask("remove", NAME)
    machine.ask("gallery", "add", NAME)
    machine.edit(NAME, "# Commit messages", "# Our commits")
    machine.ask("gallery", "remove", NAME)
    assert (machine.names(), states(machine)) == ([], {})
    machine.ask("undo", NAME)
    assert ("# Our commits" in machine.text(NAME), states(machine)) == (True, {NAME: "edited"})
    shutil.rmtree(machine.root / NAME)
    assert states(machine) == {NAME: "missing"}


def newer_whet(top: Path, name: str, old: str, new: str) -> str:
    """A Whet that ships one skill in a newer version: the same program, beside another gallery."""
    package = top / "whet"
    package.mkdir(parents=True)
    for path in Path(whet.__path__[0]).iterdir():
        if path.name != "bundled":
            (package / path.name).symlink_to(path)
    shutil.copytree(gallery_directory(), package / "bundled")
    file = package / "bundled" / name / "SKILL.md"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new).replace('"1.0.0"', '"1.1.0"'), encoding="utf-8")
    return str(top)


def test_a_newer_whet_brings_updates_and_keeps_edits(machine: Machine, tmp_path: Path) -> None:
    token = in_process.set(False)  # each Whet is a process of its own
    machine.ask("gallery", "add", NAME, "reviewing-changes")
    machine.edit(NAME, "# Commit messages", "# Our commit messages")
    machine.env["PYTHONPATH"] = newer_whet(tmp_path / "newer", NAME, "- Never push.", "- Never push or tag.")
    assert states(machine) == {NAME: "outdated", "reviewing-changes": "added"}
    assert machine.ask("update", "--check", code=1)["outdated"] == 1
    assert machine.ask("update", "--yes")["done"] == [NAME]
    text = machine.text(NAME)
    assert ("# Our commit messages" in text, "- Never push or tag." in text) == (True, True)
    assert states(machine) == {NAME: "edited", "reviewing-changes": "added"}
    in_process.reset(token)


def test_a_projects_lock_names_it_for_everybody(machine: Machine, tmp_path: Path) -> None:
    shop = machine.home / "shop"
    (shop / ".git").mkdir(parents=True)
    machine.run("gallery", "add", NAME, "--here", cwd=shop)
    other = Machine(tmp_path / "other")
    theirs = other.home / "shop"
    shutil.copytree(shop, theirs, ignore=shutil.ignore_patterns("skills"))
    assert other.ask("ci", cwd=theirs)["installed"] == [NAME]
    assert digest(read_tree(str(theirs / ".agents" / "skills" / NAME))) == digest(
        read_tree(str(Path(gallery_directory()) / NAME))
    )


def test_each_skill_comes_up_for_its_messages_beside_all_others(machine: Machine) -> None:
    machine.ask("gallery", "add", *sorted(gallery_names()))
    found = machine.ask("learn", "eval", "triggers", "--min-precision", "0.9", "--min-recall", "0.65")
    assert {skill["skill"] for skill in found["skills"]} == gallery_names()
    assert found["cases"] == 12 * len(gallery_names())
    verdicts = {skill["name"]: skill["verdict"] for skill in machine.ask("scan", "--all")["results"]}
    assert verdicts == dict.fromkeys(gallery_names(), "safe")
