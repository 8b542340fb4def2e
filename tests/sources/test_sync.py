"""One root, every client: what sync makes, what it leaves alone, and that undo takes back exactly what it made."""

from __future__ import annotations

import json
import os
import re
from shutil import rmtree
from typing import Any, Literal

import pytest

from sources.sync_world import World, outcomes, refused, shape, states, world
from whet.errors import NotFoundError, UsageError, WhetError
from whet.library.clients import DIRECTORIES
from whet.library.roots import user_root
from whet.sources.sync.apply import SyncReport, apply_sync, synced, undo_sync
from whet.sources.sync.plan import Step, known_clients, plan_sync, present_clients
from whet.sources.sync.record import Record, begin, read_record, write_record
from whet.store.clock import system_clock
from whet.store.intents import SYNC, Intents
from whet.store.locks import FileLock, lock_path
from whet.store.schema import STATE_MIGRATIONS
from whet.store.state import StateDatabase

__all__ = ["world"]

# --- links ----------------------------------------------------------------------------------------------------------


def test_every_client_gets_a_relative_link_to_every_skill(world: World) -> None:
    before = shape(world.home)
    report = world.sync("claude-code", "junie")
    made = {key: value for key, value in shape(world.home).items() if key not in before}
    assert {key: value[1] for key, value in made.items() if value[0] == "link"} == {
        ".claude/skills/alpha": "../../.agents/skills/alpha",
        ".claude/skills/beta": "../../.agents/skills/group/beta",
        ".junie/skills/alpha": "../../.agents/skills/alpha",
        ".junie/skills/beta": "../../.agents/skills/group/beta",
    }
    assert {key for key, value in made.items() if value[0] != "link"} == {
        ".claude/skills",
        ".junie",
        ".junie/skills",
    }
    assert set(outcomes(report).values()) == {("make", "done")}
    assert (world.home / ".claude/skills/beta/scripts/run.sh").read_text() == "#!/bin/sh\n"


def test_a_skill_for_users_only_goes_to_clients_that_hide_it_from_models(world: World) -> None:
    world.sync("claude-code", "junie")
    path = world.home / ".agents" / "skills" / "alpha" / "SKILL.md"
    path.write_text(path.read_text().replace("\n---", "\ndisable-model-invocation: true\n---", 1))
    plan = states(world.plan("claude-code", "junie"))
    assert plan["claude-code", "alpha"] == "fine"
    steps = [step.state for step in world.plan("junie").steps if step.name == "alpha"]
    assert steps == ["users-only", "remove"]
    assert states(world.plan("junie", names=("alpha",))) == {("junie", "alpha"): "fine"}


def test_a_template_is_not_given_to_clients_until_it_is_finished(world: World) -> None:
    draft = world.skill("draft", "TODO: say what to do.\n")
    assert states(world.plan("claude-code"))["claude-code", "draft"] == "draft"
    assert states(world.plan("claude-code", names=("draft",))) == {("claude-code", "draft"): "make"}
    (draft / "SKILL.md").write_text((draft / "SKILL.md").read_text().replace("TODO: say what", "Know what"))
    world.sync("claude-code")
    (draft / "SKILL.md").write_text((draft / "SKILL.md").read_text() + "TODO: more.\n")
    assert states(world.plan("claude-code"))["claude-code", "draft"] == "fine"


def test_a_manual_skill_goes_to_clients_only_by_name_unless_they_hide_it(world: World) -> None:
    world.sync("claude-code", "junie")
    manual = (str(world.mine / "alpha"), str(world.mine / "group" / "beta"))
    beta = world.mine / "group" / "beta" / "SKILL.md"
    beta.write_text(beta.read_text().replace("\n---", "\ndisable-model-invocation: true\n---", 1))
    plan = world.plan("claude-code", "junie", manual=manual)
    assert [(step.client, step.name, step.state) for step in plan.steps] == [
        ("claude-code", "alpha", "manual"),
        ("claude-code", "beta", "fine"),
        ("claude-code", "alpha", "remove"),
        ("junie", "alpha", "manual"),
        ("junie", "beta", "users-only"),
        ("junie", "alpha", "remove"),
        ("junie", "beta", "remove"),
    ]
    named = world.plan("claude-code", manual=manual, names=("alpha",))
    assert states(named) == {("claude-code", "alpha"): "fine"}
    apply_sync(plan, world.place, world.database)
    left = {key for key in shape(world.home) if "/skills/" in key and not key.startswith(".agents")}
    assert left == {".claude/skills/beta"}


@pytest.mark.parametrize("how", ["link", "copy"])
def test_disabling_a_skill_takes_it_from_clients_until_it_is_enabled(world: World, how: str) -> None:
    world.sync("claude-code", "cursor", how=how, force=True)
    (world.home / ".kiro").rmdir()
    after = shape(world.home)
    with world.library() as library:
        done = library.settings.disable("alpha")
        what = "links to" if how == "link" else "copies of"
        assert done.notes == (
            f"Removed the {what} alpha for claude-code, cursor.",
            f"Cursor reads {world.mine} directly and still loads it.",
            f"To hide it from Cursor, move it out of {world.mine}.",
        )
        assert {*world.states()} == {".claude/skills/beta", ".cursor/skills/beta"}
        plan = library.sources.plan_sync("claude-code", how="copy" if how == "copy" else "link")
        assert states(plan) == {("claude-code", "alpha"): "disabled", ("claude-code", "beta"): "fine"}
        assert states(library.sources.plan_sync("claude-code", names=("alpha",))) == {
            ("claude-code", "alpha"): "disabled"
        }, "not even by name"
        notes = [note for note in library.doctor() if note.code in ("disabled", "client-elsewhere")]
        assert [(note.code, note.severity, note.message) for note in notes] == [
            ("disabled", "warning", "Disabled by whet disable. Cursor still loads this skill.")
        ], "it does not recommend a sync that gives the skill to nobody"
        library.edit.apply([{"action": "delete", "name": "alpha"}])
        library.history.undo()
        assert {*world.states()} == {".claude/skills/beta", ".cursor/skills/beta"}, "it is still disabled"
        assert library.settings.enable("alpha").notes == (f"Made the {what} alpha for claude-code, cursor.",)
        assert shape(world.home) == after
        library.settings.disable("alpha", "cursor")
        assert {*world.states()} == {".claude/skills/alpha", ".claude/skills/beta", ".cursor/skills/beta"}
        library.settings.disable("alpha", "mcp")
        library.settings.disable("alpha")
        library.settings.enable("alpha", "cursor")
        assert {*world.states()} == {".claude/skills/beta", ".cursor/skills/beta"}, "it is disabled everywhere"
        library.settings.enable("alpha")
        assert shape(world.home) == after


def test_undoing_a_removal_restores_exactly_the_links_that_it_removed(world: World) -> None:
    world.sync("claude-code", "kiro", names=("alpha", "beta"))
    after = shape(world.home)
    with world.library() as library:
        editor, history = library.edit, library.history
        editor.apply([{"action": "delete", "name": "alpha"}])
        history.undo()
        assert shape(world.home) == after
        for again in range(2):  # another skill of the name, that no client has a link to
            editor.apply([{"action": "delete", "name": "alpha"}])
            editor.apply([{"action": "create", "name": "alpha", "body": "Do it.", "description": f"Does it {again}."}])
            without = shape(world.home)
            editor.apply([{"action": "delete", "name": "alpha"}])
            history.undo()
            assert shape(world.home) == without
        world.sync("kiro", names=("alpha", "beta"))
        editor.apply([{"action": "delete", "name": "alpha"}])
        history.undo()
        assert {*world.states()} == {".claude/skills/beta", ".kiro/skills/alpha", ".kiro/skills/beta"}


ABOUT = "Does gamma for everybody who needs it. Use when asked for gamma."
NEW = {"action": "create", "name": "gamma", "body": "Do it.", "description": ABOUT}
_TEMPLATE = "TODO: the first action, with the exact command and one default."


def test_a_client_that_was_synced_gets_skills_that_come_later(world: World) -> None:
    world.sync("claude-code")
    before, elsewhere = shape(world.home), world.skill("delta", where=world.top / "source")
    with world.library() as library:
        assert library.edit.apply([NEW]).notes == ("Made the link to gamma for claude-code.",)
        installed = library.sources.install(str(elsewhere), override="It is ours.")
        assert installed.warnings == ("Made the link to delta for claude-code.",)
        links = {key: value[1] for key, value in shape(world.home).items() if value[0] == "link"}
        assert links == {
            f".claude/skills/{name}": f"../../.agents/skills/{place}"
            for name, place in (("alpha", "alpha"), ("beta", "group/beta"), ("delta", "delta"), ("gamma", "gamma"))
        }
        library.history.undo(str(library.history.entries("gamma").entries[-1].id))
        library.sources.uninstall("delta")
    assert {key for key in shape(world.home) if "/skills/" in key} == {key for key in before if "/skills/" in key}


def test_a_draft_is_linked_when_it_is_finished(world: World) -> None:
    world.sync("claude-code")
    with world.library() as library:
        assert library.edit.apply([{**NEW, "body": _TEMPLATE}]).notes == ("TODO is left over from a draft.",)
        assert ".claude/skills/gamma" not in world.states()
        finished = library.edit.apply([{"action": "edit", "name": "gamma", "body": "Do it."}])
        assert finished.notes == ("Made the link to gamma for claude-code.",)
    assert world.states()[".claude/skills/gamma"] == "fine"


def test_a_copy_is_updated_with_its_skill(world: World) -> None:
    world.sync("kiro", how="copy")
    with world.library() as library:
        change = {"action": "patch", "name": "alpha", "find": "Body.", "replace": "Text."}
        assert library.edit.apply([change]).notes == ("Updated the copy of alpha for kiro.",)
        assert "Text." in (world.home / ".kiro/skills/alpha/SKILL.md").read_text()
        library.history.undo()
        assert world.states() == {".kiro/skills/alpha": "fine", ".kiro/skills/beta": "fine"}
        assert library.edit.apply([NEW]).notes == ("Made the copy of gamma for kiro.",)


def test_a_client_of_which_single_skills_or_nothing_is_synced_gets_no_others(world: World) -> None:
    world.sync("claude-code", names=("alpha",))
    world.sync("kiro")
    world.undo(clients=("kiro",))
    with world.library() as library:
        assert library.edit.apply([NEW]).notes == ()
    assert {*world.states()} == {".claude/skills/alpha"}


def test_what_is_in_the_way_of_a_new_link_stays(world: World) -> None:
    world.sync("claude-code")
    theirs = world.home / ".claude" / "skills" / "gamma"
    theirs.write_text("Theirs.")
    with world.library() as library:
        assert library.edit.apply([NEW]).notes == ()
    assert (theirs.read_text(), ".claude/skills/gamma" in world.states()) == ("Theirs.", False)


def test_a_project_that_was_synced_gets_skills_that_come_later(world: World) -> None:
    (world.project / ".agents" / "skills").mkdir(parents=True)
    with world.library() as library:
        library.settings.trust()
        library.sources.sync(library.sources.plan_sync("claude-code", here=True))
        assert library.edit.apply([NEW], here=True).notes == ("Made the link to gamma for claude-code.",)
        assert os.readlink(world.project / ".claude/skills/gamma") == "../../.agents/skills/gamma"
        assert library.edit.apply([{**NEW, "name": "delta"}]).notes == (), "which is no skill of the project"


def test_syncing_before_there_is_a_skill_links_the_first_one(world: World) -> None:
    rmtree(world.home / ".agents")
    assert world.sync("claude-code").steps == ()
    with world.library() as library:
        assert library.edit.apply([NEW]).notes == ("Made the link to gamma for claude-code.",)


def test_disabling_a_skill_for_one_surface_restores_no_link_for_another_client(world: World) -> None:
    world.sync("claude-code", "kiro")
    after = shape(world.home)
    with world.library() as library:
        library.settings.disable("alpha")
        for surface in ("cli", "kiro"):
            done = library.settings.disable("alpha", surface)
            assert not [note for note in done.notes if note.startswith(("Made", "Removed"))]
            assert {*world.states()} == {".claude/skills/beta", ".kiro/skills/beta"}
        library.settings.enable("alpha")
    assert shape(world.home) == after


def test_a_skill_that_another_one_shadows_is_disabled_and_manual_for_clients_too(world: World) -> None:
    for name in ("alpha", "beta"):
        world.skill(name, where=world.project / ".agents" / "skills")
    with world.library() as library:
        library.settings.trust()
        library.settings.disable("user:alpha")
        library.settings.list_as("user:beta", "manual")
        assert {loser.name for loser, _ in library.workspace.snapshot().catalogue.shadowed} == {"alpha", "beta"}
        plan = library.sources.plan_sync("claude-code")
    assert states(plan) == {("claude-code", "alpha"): "disabled", ("claude-code", "beta"): "manual"}


def test_a_disabled_skill_that_was_linked_before_is_removed_by_the_next_sync(world: World) -> None:
    world.sync("claude-code")
    (world.top / "state" / "config.toml").write_text('disabled = ["alpha"]\n')
    with world.library() as library:
        report = library.sources.sync(library.sources.plan_sync("claude-code"))
    assert [(done.step.name, done.step.state, done.outcome) for done in report.steps] == [
        ("alpha", "disabled", "left"),
        ("beta", "fine", "left"),
        ("alpha", "remove", "done"),
    ]
    assert {*world.states()} == {".claude/skills/beta"}


@pytest.mark.parametrize("how", ["link", "copy"])
def test_undo_leaves_everything_as_it_was(world: World, how: str) -> None:
    world.skill("own", where=world.home / ".claude" / "skills")
    before = shape(world.home)
    world.sync("claude-code", "kiro", "junie", how=how)
    assert shape(world.home) != before
    report = world.undo()
    assert shape(world.home) == before
    assert set(outcomes(report).values()) == {("remove", "done")}
    assert world.database.read("SELECT * FROM synced") == []
    assert world.undo() == SyncReport(())


def test_a_second_sync_finds_nothing_to_do(world: World) -> None:
    world.sync("claude-code")
    query = "SELECT * FROM synced"
    after, record = shape(world.home), world.database.read(query)
    report = world.sync("claude-code")
    assert set(outcomes(report).values()) == {("fine", "left")}
    assert (shape(world.home), world.database.read(query)) == (after, record)


def test_skills_that_came_are_added_and_those_that_went_are_removed(world: World) -> None:
    world.sync("claude-code", "kiro")
    rmtree(world.mine / "alpha")
    world.skill("gamma")
    assert world.states()[".claude/skills/alpha"] == "broken"
    assert states(world.plan("claude-code")) == {
        ("claude-code", "alpha"): "remove",
        ("claude-code", "beta"): "fine",
        ("claude-code", "gamma"): "make",
    }
    world.sync("claude-code")
    assert sorted(os.listdir(world.home / ".claude/skills")) == ["beta", "gamma"]
    assert sorted(os.listdir(world.home / ".kiro/skills")) == ["alpha", "beta"]
    assert world.states()[".kiro/skills/alpha"] == "broken"


def test_only_the_named_skills_are_looked_at(world: World) -> None:
    world.sync("claude-code", names=("beta",))
    assert os.listdir(world.home / ".claude/skills") == ["beta"]
    rmtree(world.mine / "group")
    assert states(world.plan("claude-code", names=("beta",))) == {("claude-code", "beta"): "remove"}
    error = refused(lambda: world.plan("claude-code", names=("alpa",)), NotFoundError, "skill-not-found")
    assert error.details["suggestions"] == ["alpha"]


def test_a_link_that_somebody_removed_is_made_again(world: World) -> None:
    world.sync("claude-code")
    os.unlink(world.home / ".claude/skills/alpha")
    assert world.states()[".claude/skills/alpha"] == "gone"
    assert outcomes(world.sync("claude-code"))["claude-code", "alpha"] == ("make", "done")


def test_a_home_that_moves_keeps_its_links(world: World) -> None:
    world.sync("claude-code")
    os.rename(world.home, world.top / "moved")
    assert (world.top / "moved/.claude/skills/alpha/SKILL.md").is_file()


def test_links_are_right_when_the_clients_directory_or_the_home_is_behind_a_link(world: World) -> None:
    (world.home / "dotfiles" / "claude").mkdir(parents=True)
    os.rmdir(world.home / ".claude")
    os.symlink("dotfiles/claude", world.home / ".claude")
    os.symlink("home", world.top / "alias")
    place = world.place._replace(home=str(world.top / "alias"))
    before = shape(world.home)
    plan = plan_sync(place, world.database, user_root(place), ("claude-code",), how="link")
    apply_sync(plan, place, world.database)
    assert os.readlink(world.home / "dotfiles/claude/skills/alpha") == "../../../.agents/skills/alpha"
    assert (world.home / ".claude/skills/alpha/SKILL.md").is_file()
    undo_sync(place, world.database)
    assert shape(world.home) == before


# --- what is left alone ---------------------------------------------------------------------------------------------


def test_what_is_there_already_is_left_alone_and_named(world: World) -> None:
    skills = world.home / ".claude" / "skills"
    world.skill("gamma")
    world.skill("delta")
    world.skill("epsilon")
    world.skill("alpha", "Somebody else's.\n", where=skills)
    world.skill("gamma", where=skills)
    os.symlink("nowhere", skills / "delta")
    os.symlink(world.mine / "epsilon", skills / "epsilon")
    (skills / "beta").write_text("a file")
    before = shape(world.home)
    expected = {"alpha": "in-the-way", "beta": "in-the-way", "gamma": "same", "delta": "broken", "epsilon": "same"}
    assert states(world.plan("claude-code")) == {("claude-code", name): state for name, state in expected.items()}
    assert {outcome for _, outcome in outcomes(world.sync("claude-code")).values()} == {"left"}
    world.undo()
    assert shape(world.home) == before


def test_a_directory_that_is_the_root_itself_is_said_to_be(world: World) -> None:
    os.symlink("../.agents/skills", world.home / ".claude" / "skills")
    plan = world.plan("claude-code", "kiro")
    assert states(plan)["claude-code", ""] == "same-place"
    before = shape(world.mine)
    world.sync("claude-code", "kiro", how="copy")
    world.undo()
    assert shape(world.mine) == before


def test_clients_that_read_the_root_themselves_get_nothing_unless_forced(world: World) -> None:
    plan = world.plan("codex", "openclaw", "hermes", names=("alpha",))
    assert states(plan) == {
        ("codex", ""): "reads-itself",
        ("openclaw", ""): "reads-itself",
        ("hermes", "alpha"): "make",
    }
    assert plan.steps[0].message == "It reads .agents/skills itself and needs no link."
    assert states(world.plan("codex", names=("alpha",), force=True)) == {("codex", "alpha"): "make"}
    world.sync("codex", force=True)
    world.skill("gamma")
    assert states(world.plan("codex"))["codex", "gamma"] == "make", "what was forced once goes on"
    elsewhere = world.top / "elsewhere"
    world.skill("other", where=elsewhere)
    assert states(world.plan("openclaw", root=elsewhere)) == {("openclaw", "other"): "make"}


def test_a_client_whose_directory_is_a_file_or_a_broken_link_is_left_alone(world: World) -> None:
    (world.home / ".claude" / "skills").write_text("")
    os.symlink("nowhere", world.home / ".kiro" / "skills")
    claude, kiro = (str(world.home / name / "skills") for name in (".claude", ".kiro"))
    file = f"{claude} is not a directory. Move it away, then run `whet sync`."
    link = f"{kiro} is a broken link. Delete it or restore its target, then run `whet sync`."
    assert world.plan("claude-code", "kiro").steps == (
        Step("claude-code", "", claude, "in-the-way", message=file),
        Step("kiro", "", kiro, "in-the-way", message=link),
    )


def test_two_skills_of_one_name_are_not_mixed_up(world: World) -> None:
    world.skill("other/Alpha")
    plan = world.plan("claude-code")
    assert [(step.source, step.state) for step in plan.steps] == [
        ("alpha", "make"),
        ("group/beta", "make"),
        ("other/Alpha", "name-taken"),
    ]


def test_hidden_directories_links_to_categories_and_files_of_skills_are_no_skills(world: World) -> None:
    world.skill(".hidden/x")
    world.skill("node_modules/y")
    world.skill("alpha/references/z")
    world.skill("linked", where=world.top / "outside")
    world.skill("deep/er", where=world.top / "category")
    os.symlink(world.top / "outside" / "linked", world.mine / "linked")
    os.symlink(world.top / "category", world.mine / "category")
    assert [step.source for step in world.plan("claude-code").steps] == ["alpha", "group/beta", "linked"]
    world.sync("claude-code", how="copy")
    assert (world.home / ".claude/skills/linked/SKILL.md").read_text().startswith("---\nname: linked")


@pytest.mark.parametrize("how", ["link", "copy"])
def test_a_skill_that_is_not_loaded_is_not_synced_and_what_was_made_of_it_goes(world: World, how: str) -> None:
    world.skill("own", where=world.home / "dotfiles")
    world.skill("stray", where=world.top / "outside")
    world.skill("main", where=world.top / "outside")
    os.symlink(world.home / "dotfiles" / "own", world.mine / "own")
    os.symlink(world.top / "outside" / "stray", world.mine / "stray")
    (world.mine / "main").mkdir()
    os.symlink(world.top / "outside" / "main" / "SKILL.md", world.mine / "main" / "SKILL.md")
    sources = world.library().sources
    copy: Literal["link", "copy"] = "copy" if how == "copy" else "link"
    plan = sources.plan_sync("claude-code", how=copy)
    assert states(plan) == {
        ("claude-code", "alpha"): "make",
        ("claude-code", "beta"): "make",
        ("claude-code", "own"): "make",
        ("claude-code", "stray"): "refused",
        ("claude-code", "main"): "refused",
    }
    target = world.top / "outside" / "stray"
    assert next(step.message for step in plan.steps if step.name == "stray") == (
        f"Whet does not load this skill, so no client gets it. The link points to {target}, outside every root; Whet "
        f"does not follow it. If you trust what is there, run `whet guard trust {target}`; or copy the skill."
    )
    sources.sync(plan)
    assert sorted(os.listdir(world.home / ".claude" / "skills")) == ["alpha", "beta", "own"]
    os.unlink(world.mine / "own")
    os.symlink(target, world.mine / "own")
    again = sources.sync(sources.plan_sync("claude-code", how=copy))
    assert sorted(os.listdir(world.home / ".claude" / "skills")) == ["alpha", "beta"]
    assert [(done.step.name, done.step.state, done.outcome) for done in again.steps if done.step.name == "own"] == [
        ("own", "refused", "left"),
        ("own", "remove", "done"),
    ]


# --- copies ---------------------------------------------------------------------------------------------------------


def test_copies_follow_the_skill_unless_they_were_edited(world: World) -> None:
    world.sync("claude-code", "kiro", how="copy")
    copy = world.home / ".claude/skills/beta"
    assert shape(copy) == shape(world.mine / "group/beta")
    world.skill("group/beta", "Better.\n")
    (world.mine / "group/beta/scripts/run.sh").unlink()
    (world.home / ".kiro/skills/beta/SKILL.md").write_text("mine")
    assert world.states() == {
        ".claude/skills/alpha": "fine",
        ".claude/skills/beta": "stale",
        ".kiro/skills/alpha": "fine",
        ".kiro/skills/beta": "edited",
    }
    report = world.sync("claude-code", "kiro", how="copy")
    assert outcomes(report) == {
        ("claude-code", "alpha"): ("fine", "left"),
        ("claude-code", "beta"): ("refresh", "done"),
        ("kiro", "alpha"): ("fine", "left"),
        ("kiro", "beta"): ("edited", "left"),
    }
    assert (copy / "SKILL.md").read_text() == (world.mine / "group/beta/SKILL.md").read_text()
    assert not (copy / "scripts").exists()
    rmtree(world.mine / "group")
    assert outcomes(world.sync("claude-code", "kiro", how="copy")) == {
        ("claude-code", "alpha"): ("fine", "left"),
        ("claude-code", "beta"): ("remove", "done"),
        ("kiro", "alpha"): ("fine", "left"),
        ("kiro", "beta"): ("edited", "left"),
    }
    assert outcomes(world.undo())["kiro", "beta"] == ("edited", "left")
    assert sorted(shape(world.home / ".kiro")) == [
        "skills",
        "skills/beta",
        "skills/beta/SKILL.md",
        "skills/beta/scripts",
        "skills/beta/scripts/run.sh",
    ]
    assert not (world.home / ".claude/skills").exists()


def test_an_edited_copy_that_became_the_skill_is_the_same(world: World) -> None:
    world.sync("claude-code", how="copy")
    for path in (world.home / ".claude/skills/alpha/SKILL.md", world.mine / "alpha/SKILL.md"):
        path.write_text("---\nname: alpha\ndescription: Both.\n---\n")
    assert states(world.plan("claude-code", how="copy"))["claude-code", "alpha"] == "same"


def test_links_become_copies_and_copies_links_when_they_are_wanted(world: World) -> None:
    before = shape(world.home)
    world.sync("claude-code")
    assert set(outcomes(world.sync("claude-code", how="copy")).values()) == {("replace", "done")}
    assert not (world.home / ".claude/skills/alpha").is_symlink()
    (world.home / ".claude/skills/beta/SKILL.md").write_text("edited")
    assert outcomes(world.sync("claude-code")) == {
        ("claude-code", "alpha"): ("replace", "done"),
        ("claude-code", "beta"): ("edited", "left"),
    }
    assert (world.home / ".claude/skills/alpha").is_symlink()
    rmtree(world.home / ".claude/skills/beta")
    world.undo()
    assert shape(world.home) == before


def test_where_links_cannot_be_made_there_are_copies(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(1314, "A required privilege is not held by the client")

    before = shape(world.home)
    with monkeypatch.context() as patched:
        patched.setattr(os, "symlink", no_links)
        assert set(outcomes(world.sync("claude-code")).values()) == {("make", "done")}
    assert not (world.home / ".claude/skills/alpha").is_symlink()
    assert set(outcomes(world.sync("claude-code")).values()) == {("fine", "left")}
    world.skill("alpha", "Better.\n")
    assert outcomes(world.sync("claude-code"))["claude-code", "alpha"] == ("refresh", "done")
    world.skill("alpha")
    world.undo()
    assert shape(world.home) == before


def test_a_skill_that_cannot_be_copied_is_named_and_the_others_go_on(world: World) -> None:
    os.symlink("/etc/hostname", world.mine / "alpha" / "leaves")
    report = world.sync("claude-code", how="copy")
    assert outcomes(report) == {
        ("claude-code", "alpha"): ("unreadable", "left"),
        ("claude-code", "beta"): ("make", "done"),
    }
    assert "leaves the skill" in report.steps[0].step.message


def test_a_copy_is_never_taken_for_the_skill_itself(world: World) -> None:
    world.sync("claude-code", how="copy")
    rmtree(world.home / ".claude/skills")
    os.symlink("../.agents/skills", world.home / ".claude/skills")
    kept = shape(world.mine)
    assert {one.state for one in synced(world.database) if one.name == "alpha"} == {"replaced"}
    world.undo()
    assert shape(world.mine) == kept
    os.unlink(world.home / ".claude/skills")
    world.sync("claude-code", how="copy")
    rmtree(world.mine)
    os.symlink("../.claude/skills", world.mine)
    kept = shape(world.home / ".claude")
    world.undo()
    assert shape(world.home / ".claude") == kept


def test_a_repository_in_a_copy_is_not_removed(world: World) -> None:
    world.sync("claude-code", how="copy")
    (world.home / ".claude/skills/alpha/.git").mkdir()
    assert outcomes(world.undo()) == {
        ("claude-code", "alpha"): ("remove", "failed"),
        ("claude-code", "beta"): ("remove", "done"),
    }
    assert (world.home / ".claude/skills/alpha/.git").is_dir()
    assert world.states() == {".claude/skills/alpha": "fine"}


# --- clients, projects ----------------------------------------------------------------------------------------------


def test_what_an_earlier_version_synced_is_still_ours(world: World) -> None:
    world.skill("claude")
    before = shape(world.home)
    world.sync("claude-code", how="copy")
    made = read_record(world.database)
    old = {path: one._replace(client="claude") for path, one in made.made.items()}
    write_record(world.database, made._replace(made=old))
    begin(world.database, Record({}), [*old.values()], work={"base": str(world.home), "undo": ["agent", "claude"]})
    with world.database.write() as connection:
        earlier, later = (
            "".join(step.sql for step in steps) for steps in (STATE_MIGRATIONS[:24], STATE_MIGRATIONS[24:])
        )
        for table in re.findall(r"CREATE TABLE (\w+)", later):
            connection.execute(f"DROP TABLE {table}")
        for table, column in re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", later):
            if f"CREATE TABLE {table} " not in later:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for table in re.findall(r"DROP TABLE (\w+)", later):
            connection.execute(re.findall(rf"CREATE TABLE {table} [^;]*", earlier)[0])
        connection.execute("PRAGMA user_version = 23")
    world.database.close()
    database = StateDatabase(world.place.state)
    record = read_record(database)
    assert {one.client for one in record.made.values()} == {"claude-code"}
    assert {one.name for one in record.made.values()} == {"alpha", "beta", "claude"}
    (intent,) = Intents(database, system_clock).open(SYNC)
    assert intent.payload["work"] == {"base": str(world.home), "undo": ["agent", "claude-code"]}
    database.close()
    assert {client for client, _ in outcomes(world.undo(clients=("claude",)))} == {"claude-code"}
    assert shape(world.home) == before


def test_without_names_the_clients_are_those_this_person_has(world: World) -> None:
    assert present_clients(world.place) == ("claude-code", "kiro")
    assert {step.client for step in world.plan().steps} == {"claude-code", "kiro"}
    assert set(known_clients()) < {one.client for one in DIRECTORIES}
    assert not {"agents"} & set(known_clients())
    error = refused(lambda: world.plan("claud"), NotFoundError, "unknown-client")
    assert "claude-code" in error.details["suggestions"]


def test_a_client_is_known_however_it_is_spelled(world: World) -> None:
    world.sync("claude")
    assert {step.client for step in world.plan("Claude Code", "vscode").steps} == {"claude-code", "copilot"}
    assert world.states() == {".claude/skills/alpha": "fine", ".claude/skills/beta": "fine"}
    world.undo(clients=("claude-code",))
    assert world.states() == {}


def test_undo_for_one_client_leaves_the_others(world: World) -> None:
    world.sync("claude-code", "kiro", "junie")
    before = shape(world.home)
    world.undo(clients=("junie",))
    assert shape(world.home) == {key: value for key, value in before.items() if not key.startswith(".junie")}
    assert {one.client for one in synced(world.database)} == {"claude-code", "kiro"}
    assert {one.client for one in synced(world.database, ("kiro",))} == {"kiro"}


def test_a_projects_skills_stay_in_the_project(world: World) -> None:
    root = world.project / ".agents" / "skills"
    world.skill("local", where=root)
    before, home = shape(world.project), shape(world.home)
    deep = world.place._replace(directory=str(world.project / ".git"))
    plan = plan_sync(
        deep, world.database, str(root), ("claude-code", "junie", "roo", "amp", "hermes"), how="link", project=True
    )
    assert states(plan) == {
        ("claude-code", "local"): "make",
        ("hermes", ""): "reads-itself",
        ("junie", "local"): "make",
        ("roo", ""): "reads-itself",
        ("amp", ""): "no-directory",
    }
    apply_sync(plan, deep, world.database)
    assert os.readlink(world.project / ".claude/skills/local") == "../../.agents/skills/local"
    assert os.readlink(world.project / ".junie/skills/local") == "../../.agents/skills/local"
    assert shape(world.home) == home
    world.sync("claude-code")
    world.undo()
    assert shape(world.home) == home
    assert (world.project / ".claude/skills/local").is_symlink()
    world.undo(project=True)
    assert shape(world.project) == before


def test_a_project_cannot_lead_a_sync_out_of_itself(world: World) -> None:
    root = world.project / ".agents" / "skills"
    world.skill("local", where=root)
    os.symlink(world.home / ".claude", world.project / ".claude")
    assert states(world.plan("claude-code", root=root, project=True)) == {("claude-code", ""): "outside"}
    refused(lambda: world.plan("claude-code", project=True), UsageError, "sync-outside")
    refused(lambda: world.plan("claude-code", root=world.top / "none"), NotFoundError, "path-not-found")


def test_answers_are_json(world: World) -> None:
    plan = world.plan("claude-code", "codex")
    report = apply_sync(plan, world.place, world.database)
    for value in (plan.to_json(), report.to_json(), [one.to_json() for one in synced(world.database)]):
        assert json.dumps(value)
    assert report.to_json()["steps"][0] == {
        "client": "claude-code",
        "name": "alpha",
        "path": str(world.home / ".claude/skills/alpha"),
        "state": "make",
        "how": "link",
        "source": "alpha",
        "target": "../../.agents/skills/alpha",
        "digest": "",
        "message": "It will be made.",
        "outcome": "done",
    }


# --- the library ----------------------------------------------------------------------------------------------------


def test_a_linked_skill_is_one_skill_to_the_library(world: World) -> None:
    with world.library() as library:
        names = [item["name"] for item in library.skills().to_json()["skills"]]
        alone = (names, [item["path"] for item in library.skills().to_json()["skills"]], library.workspace.report())
        world.sync("claude-code", "kiro", "junie", "codex", force=True)
        names = [item["name"] for item in library.skills().to_json()["skills"]]
        assert (
            names,
            [item["path"] for item in library.skills().to_json()["skills"]],
            library.workspace.report(),
        ) == alone
    assert names == ["alpha", "beta"]


# --- changes meanwhile, failures ------------------------------------------------------------------------------------


def test_what_changed_since_the_plan_is_not_touched(world: World) -> None:
    plan = world.plan("claude-code")
    world.skill("alpha", "Somebody was faster.\n", where=world.home / ".claude/skills")
    rmtree(world.mine / "group")
    report = apply_sync(plan, world.place, world.database)
    assert outcomes(report) == {
        ("claude-code", "alpha"): ("make", "changed"),
        ("claude-code", "beta"): ("make", "changed"),
    }
    assert os.listdir(world.home / ".claude/skills") == ["alpha"]
    plan = world.plan("kiro", how="copy")
    world.skill("alpha", "Newer.\n")
    assert set(outcomes(apply_sync(plan, world.place, world.database)).values()) == {("make", "done")}
    assert set(outcomes(apply_sync(plan, world.place, world.database)).values()) == {("fine", "left")}


def test_one_client_that_fails_does_not_stop_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.mkdir

    def mkdir(path: str, *rest: Any, **more: Any) -> None:
        if ".claude" in path:
            raise PermissionError(13, "Permission denied", path)
        real(path, *rest, **more)

    monkeypatch.setattr(os, "mkdir", mkdir)
    report = world.sync("claude-code", "kiro", names=("alpha",))
    assert outcomes(report) == {("claude-code", "alpha"): ("make", "failed"), ("kiro", "alpha"): ("make", "done")}
    assert "Permission denied" in report.steps[0].message
    assert world.states() == {".kiro/skills/alpha": "fine"}


def test_two_syncs_wait_for_each_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whet.sources.sync.record._PATIENCE", 0.05)
    plan = world.plan("claude-code")
    lock = FileLock(lock_path(world.place.state, "sync", ""), timeout=1)
    with lock, pytest.raises(WhetError) as caught:
        apply_sync(plan, world.place, world.database)
    assert caught.value.code == "lock-timeout"
