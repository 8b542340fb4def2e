"""Tiers 2 and 3 as they are given out: rendered for who looks, refused where hidden, a stub where loaded already."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prompt.world import Recorder, World, world_in
from whet import MODEL, PERSON, Caller
from whet.errors import NotFoundError, RefusedError, UsageError
from whet.library.loaded import Loaded
from whet.library.readiness import LocalProbe
from whet.prompt.views import view, view_card

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world_in(tmp_path, monkeypatch) as made:
        yield made


def test_a_body_is_rendered_and_places_for_arguments_stay(world: World) -> None:
    path = world.skill("deploy", "In ${WHET_SKILL_DIR}, for $ARGUMENTS and $0, as ${HERMES_SESSION_ID}; \\$1.\n")
    directory = os.path.dirname(path)
    library = world.library()
    for caller in (Caller(), MODEL):
        assert view(library.workspace, "deploy", caller=caller, session_id="s9").content == (
            f"In {directory}, for $ARGUMENTS and $0, as s9; $1.\n"
        )
    answer = library.read("deploy").to_json()
    assert answer["content"] == f"In {directory}, for $ARGUMENTS and $0, as ${{HERMES_SESSION_ID}}; $1.\n"
    assert [note["code"] for note in answer["diagnostics"]] == ["variable-without-value"]


def test_a_file_is_given_as_it_lies_on_disk(world: World) -> None:
    path = world.skill("deploy")
    text = "${WHET_SKILL_DIR} $ARGUMENTS !`touch made`\n"
    with open(os.path.join(os.path.dirname(path), "notes.md"), "w") as file:
        file.write(text)
    world.config('inline_shell = ["local"]')
    answer = world.library().read("deploy", "notes.md", caller=MODEL).to_json()
    assert (answer["content"], answer["file"], answer["pages"]) == (text, "notes.md", 1)
    assert not (world.project / "made").exists()


def test_a_hidden_skill_is_refused_to_a_model_and_marked_for_a_person(world: World) -> None:
    path = world.skill("deploy")
    with open(os.path.join(os.path.dirname(path), "notes.md"), "w") as file:
        file.write("notes")
    world.config('disabled = ["deploy"]')
    library = world.library()
    for file_path in (None, "notes.md"):
        with pytest.raises(RefusedError) as caught:
            library.read("deploy", file_path, caller=MODEL)
        assert caught.value.code == "disabled"
    assert library.read("deploy").to_json()["hidden"] == {
        "code": "disabled",
        "message": "Disabled by config.toml.",
        "hint": "Remove it from `disabled` in config.toml to enable it.",
    }
    assert library.read("deploy", "notes.md").content == "notes"


def test_what_is_loaded_is_a_stub_until_it_changes(world: World) -> None:
    path = world.skill("deploy", "a" * 100_000 + "b")
    with open(os.path.join(os.path.dirname(path), "notes.md"), "w") as file:
        file.write("notes")
    library, loaded = world.library(), Loaded()
    first = view(library.workspace, "deploy", caller=MODEL, loaded=loaded).to_json()
    assert (first["page"], first["pages"]) == (1, 2)
    assert view(library.workspace, "deploy", caller=MODEL, loaded=loaded).to_json() == {
        "success": True,
        "name": "deploy",
        "file": "",
        "page": 1,
        "digest": first["digest"],
        "already_loaded": True,
        "content": "[deploy is already loaded above and has not changed.]",
        "hint": "Use what is in the context. You can load it again after a compaction.",
    }
    assert view(library.workspace, "deploy", page=2, loaded=loaded).content == "b"
    assert view(library.workspace, "deploy", page=2, loaded=loaded).to_json()["already_loaded"]
    assert view(library.workspace, "deploy", "notes.md", loaded=loaded).content == "notes"
    assert view(library.workspace, "deploy", "notes.md", loaded=loaded).content == (
        "[notes.md of deploy is already loaded above and has not changed.]"
    )
    world.skill("deploy", "Changed.\n")
    assert view(library.workspace, "deploy", caller=MODEL, loaded=loaded).content == "Changed.\n"
    assert view(library.workspace, "deploy", "notes.md", loaded=loaded).to_json()["already_loaded"]
    loaded.clear()
    assert view(library.workspace, "deploy", caller=MODEL, loaded=loaded).content == "Changed.\n"


def test_what_is_refused_is_not_taken_for_loaded(world: World) -> None:
    world.skill("deploy")
    library, loaded = world.library(), Loaded()
    for page in (0, 2):
        with pytest.raises(UsageError) as caught:
            view(library.workspace, "deploy", page=page, loaded=loaded)
        assert caught.value.code == "no-such-page"
    with pytest.raises(NotFoundError):
        view(library.workspace, "deploy", "nothing.md", loaded=loaded)
    assert view(library.workspace, "deploy", loaded=loaded).content == "Body.\n"


def test_skills_that_are_one_file_are_viewed_like_any_other(world: World) -> None:
    (world.mine / "flat.md").write_text("---\nname: flat\ndescription: Does it.\n---\nIn {baseDir}.\n")
    commands = world.home / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "ship.md").write_text("Ship $ARGUMENTS.\n")
    library = world.library()
    assert library.read("flat").content == f"In {world.mine}.\n"
    assert library.read("ship").content == "Ship $ARGUMENTS.\n"
    assert (library.read("flat").to_json()["files"], library.read("ship").to_json()["files"]) == ([], [])
    with pytest.raises(NotFoundError) as caught:
        library.read("flat", "SKILL.md")
    assert caught.value.code == "file-not-found"


def test_a_session_brings_its_own_runner_and_probe(world: World) -> None:
    world.skill("touch", "!`touch made`\n", "required_environment_variables: [KEY]\n")
    world.config('inline_shell = ["local"]')
    workspace, runner = world.library().workspace, Recorder()
    probe = LocalProbe({"KEY": "given"}, "linux")
    card, config = workspace.find("touch")
    answer = view_card(workspace, card, config, None, 1, caller=MODEL, runner=runner, probe=probe).to_json()
    assert (answer["content"], answer["ready"], answer["missing"]) == ("ran\n", True, [])
    assert runner.scripts == ["bash, 10 s, 4000 characters: touch made"]
    assert not view_card(workspace, card, config, None, 1, caller=PERSON, runner=runner).to_json()["ready"]
    assert len(runner.scripts) == 1
    assert not (world.project / "made").exists()


def test_a_skill_that_was_removed_is_not_found(world: World) -> None:
    path = world.skill("deploy")
    library, loaded = world.library(), Loaded()
    view(library.workspace, "deploy", loaded=loaded)
    os.remove(path)
    with pytest.raises(NotFoundError) as caught:
        view(library.workspace, "deploy", loaded=loaded)
    assert caught.value.code == "skill-not-found"
