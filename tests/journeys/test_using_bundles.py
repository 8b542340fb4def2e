"""A project that uses a bundle: only its skills are offered there, to everybody who asks."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from journeys.machines import WHET, Machine, main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
ABOUT = {"api": "Designs HTTP interfaces.", "db": "Writes migrations of databases.", "css": "Lays out web pages."}


def person(top: Path) -> Machine:
    """Somebody with three skills."""
    made = Machine(top)
    made.settings("bundled_skills = false\n")
    for name, description in ABOUT.items():
        (made.root / name).mkdir(parents=True)
        (made.root / name / "SKILL.md").write_text(main(name, description), encoding="utf-8")
    return made


def listed(machine: Machine, project: Path, *more: str) -> list[str]:
    return [skill["name"] for skill in machine.ask("list", *more, cwd=project)["skills"]]


@pytest.fixture
def ada(tmp_path: Path) -> Machine:
    return person(tmp_path / "ada")


@pytest.fixture
def shop(ada: Machine) -> Path:
    """A trusted project with a bundle."""
    project = ada.work / "shop"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    assert ada.run("guard", "trust", cwd=project).returncode == 0
    words = ("prompt", "bundle", "create", "backend", "--skills", "api,db", "--here", "--instruction", "Ask first.")
    assert ada.run(*words, cwd=project).returncode == 0
    return project


def test_only_the_skills_of_the_bundle_are_offered_in_the_project(ada: Machine, shop: Path) -> None:
    assert ada.says("use", cwd=shop)[2] == "This project uses no bundle.\n"
    assert ada.says("use", "Backend", cwd=shop) == (
        0,
        "",
        "This project now uses backend: 2 skills.\nhint: `whet use --none` offers every skill again.\n",
    )
    assert ada.says("list", cwd=shop) == (
        0,
        "api\tDesigns HTTP interfaces.\ndb\tWrites migrations of databases.\n",
        "1 hidden (`whet list --all`).\n",
    )
    assert ada.says("use", cwd=shop)[2] == "This project uses backend.\n"
    assert "css" not in ada.run("prompt", "index", cwd=shop).stdout
    assert ada.ask("find", "lay out a web page", cwd=shop)["results"] == []
    assert ada.ask("use", cwd=shop)["in_use"] == "backend"
    refused = ada.ask("prompt", "render", "css", code=3, cwd=shop)
    assert (refused["code"], refused["error"]) == (
        "not-in-bundle",
        "css is not available: It is not in the bundle backend, which this project uses.",
    )
    assert (
        "hidden         It is not in the bundle backend, which this project uses."
        in ada.says("show", "css", cwd=shop)[1]
    )
    notes = [note for note in ada.ask("doctor", cwd=shop)["report"] if "bundle" in note["code"]]
    assert [(note["code"], note["severity"]) for note in notes] == [("bundle-in-use", "info")]

    assert listed(ada, ada.work) == ["api", "css", "db"], "elsewhere nothing is hidden"
    assert ada.says("use", "--none", cwd=shop)[2] == "Every skill is offered again in this project.\n"
    assert listed(ada, shop) == ["api", "css", "db"]
    assert ada.says("use", "--none", cwd=shop)[2] == "Every skill was already offered in this project.\n"
    assert ada.ask("use", "frontend", code=1, cwd=shop)["code"] == "bundle-not-found"


def test_it_goes_together_with_how_skills_are_listed(ada: Machine, shop: Path) -> None:
    """The bundle says which skills are offered; how each of them is listed is decided as before."""
    for name, mode in (("css", "always"), ("db", "name"), ("api", "always")):
        assert ada.run("prompt", "list-as", name, mode).returncode == 0
    assert ada.run("use", "backend", cwd=shop).returncode == 0
    index = ada.run("prompt", "index", cwd=shop).stdout
    assert [name in index for name in ("api", "Designs", "db", "migrations", "css")] == [True, True, True, False, False]
    assert ada.run("prompt", "list-as", "db", "manual", "--here", cwd=shop).returncode == 0
    assert "db" not in ada.run("prompt", "index", cwd=shop).stdout
    assert listed(ada, shop) == ["api", "db"], "a person still has it"
    assert ada.run("skill", "disable", "api").returncode == 0
    assert listed(ada, shop) == ["db"]


def test_a_colleague_gets_the_bundle_with_the_repository(shop: Path, tmp_path: Path) -> None:
    bob = person(tmp_path / "bob")
    clone = bob.work / "shop"
    shutil.copytree(shop, clone)
    assert (clone / ".agents/bundles/backend.yaml").is_file()
    untrusted = bob.ask("use", "backend", code=1, cwd=clone)
    assert untrusted["code"] == "bundle-not-found"
    assert bob.run("guard", "trust", cwd=clone).returncode == 0
    assert bob.run("use", "backend", cwd=clone).returncode == 0
    assert listed(bob, clone) == ["api", "db"]

    (clone / ".agents/bundles/backend.yaml").write_text("skills: [css, gone]\n", encoding="utf-8")
    assert listed(bob, clone) == ["css"], "the file is the truth"
    said = {note["code"]: note["message"] for note in bob.ask("doctor", cwd=clone)["report"]}
    assert said["bundle-unknown-skill"] == "The bundle backend names gone, which does not exist."
    (clone / ".agents/bundles/backend.yaml").unlink()
    assert listed(bob, clone) == ["api", "css", "db"]
    said = {note["code"]: note["message"] for note in bob.ask("doctor", cwd=clone)["report"]}
    assert (
        said["bundle-in-use"] == "This project uses the bundle backend, which does not exist; every skill is offered."
    )


def test_a_project_names_the_bundle_for_everybody_and_each_may_choose_another(ada: Machine, shop: Path) -> None:
    (shop / ".whet.toml").write_text('use = "Backend"\n', encoding="utf-8")
    words = ("prompt", "bundle", "create", "frontend", "--skills", "css", "--here")
    assert ada.run(*words, cwd=shop).returncode == 0
    assert listed(ada, shop) == ["api", "db"]
    assert ada.says("use", cwd=shop)[2] == "This project uses backend, as its settings say.\n"
    assert ada.says("list", cwd=shop)[2] == "1 hidden (`whet list --all`).\n"
    notes = [note for note in ada.ask("doctor", cwd=shop)["report"] if "bundle" in note["code"]]
    assert [(note["code"], note["severity"]) for note in notes] == [("bundle-in-use", "info")]
    assert ada.ask("use", "backend", cwd=shop)["changed"] is False

    assert ada.run("use", "frontend", cwd=shop).returncode == 0
    assert listed(ada, shop) == ["css"], "what a person chooses counts for more"
    answer = ada.ask("use", cwd=shop)
    assert (answer["in_use"], answer["default"]) == ("frontend", "backend")
    assert ada.says("use", cwd=shop)[2] == "This project uses frontend, not backend.\n"
    assert ada.says("use", "--none", cwd=shop)[2] == "Every skill is offered again in this project.\n"
    assert listed(ada, shop) == ["api", "css", "db"]
    assert ada.says("use", cwd=shop)[2] == "This project uses no bundle, not backend.\n"
    assert ada.run("use", "backend", cwd=shop).returncode == 0
    (shop / ".whet.toml").unlink()
    assert listed(ada, shop) == ["api", "css", "db"], "the default was not copied"
    assert ada.run("guard", "untrust", cwd=shop).returncode == 0
    (shop / ".whet.toml").write_text('use = "frontend"\n', encoding="utf-8")
    assert listed(ada, shop) == ["api", "css", "db"], "nobody trusts it"


def test_a_connected_client_follows_it(ada: Machine, shop: Path) -> None:
    """What a hook tells a model in the project, before and after."""
    event = json.dumps({"session_id": "s1", "cwd": str(shop), "prompt": "Lay out this web page for me, please."})

    def told() -> str:
        words = [*WHET, "hook", "prompt", "--client", "claude-code"]
        done = subprocess.run(words, input=event, env=ada.env, cwd=shop, capture_output=True, text=True)
        return done.stdout

    before = told()
    assert ada.run("use", "backend", cwd=shop).returncode == 0
    assert ("css" in before, "css" in told()) == (True, False)
