"""Skills that lie there already, taken charge of with whatever can be known of where they come from."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from sources.repositories import serving_git
from sources.world import BODY, DANGER, World, main, refused, told, world
from whet.authoring.trees import digest
from whet.library.package import read_tree
from whet.sources.lock.foreign import computed_hash
from whet.sources.refs.parse import read_ref, shown

if TYPE_CHECKING:
    from pathlib import Path

    from sources.repositories import Repository
    from whet import Library

__all__ = ["world"]

NEWER = BODY.replace("Last", "Newer")
NO_SOURCE = "It has no source; updates skip it."


def foreign_lock(top: Path, **skills: dict[str, Any]) -> Path:
    """The lock of another tool in a project, or in the home."""
    path = top / "skills-lock.json"
    path.write_text(json.dumps({"version": 1, "skills": skills}))
    return path


def from_git(repository: Repository, path: Path, **more: str) -> dict[str, Any]:
    """What that tool says of a skill from a repository, as it lies at a path now."""
    tree = read_tree(str(path))
    assert tree is not None
    return {"source": repository.url, "sourceType": "git", "computedHash": computed_hash(tree), **more}


def reasons(library: Library, **how: Any) -> dict[str, str]:
    return {step.name: step.reason for step in library.sources.plan_adopt(**how).steps}


def test_what_comes_from_nowhere_is_known_from_now_on(world: World) -> None:
    world.offer("deploy", where=world.root, more="metadata:\n  version: '3'\n")
    (world.offer("mine", where=world.root) / "SKILL.md").write_text(main("PDF Tools"))
    library = world.library()
    plan = library.sources.plan_adopt()
    assert told(plan) == {"deploy": ("adopt", "ready", ""), "PDF Tools": ("adopt", "ready", "")}
    assert {step.reason for step in plan.steps} == {NO_SOURCE}
    library.sources.apply(plan)
    entries = world.locked()
    assert {path: (entry.name, entry.source, entry.trust, entry.version) for path, entry in entries.items()} == {
        "skills/deploy": ("deploy", "", "local", "3"),
        "skills/mine": ("PDF Tools", "", "local", ""),
    }
    assert library.sources.verify().valid
    assert library.sources.plan_adopt().steps == ()
    assert told(library.sources.plan_update()) == {
        "deploy": ("keep", "nothing", ""),
        "PDF Tools": ("keep", "nothing", ""),
    }
    shutil.rmtree(world.root / "mine")
    library.sources.apply(library.sources.plan_restore())
    assert library.sources.verify().valid


def test_skills_are_named_by_their_name_or_their_directory(world: World) -> None:
    (world.offer("mine", where=world.root) / "SKILL.md").write_text(main("PDF Tools"))
    world.offer("deploy", where=world.root)
    library = world.library()
    for name in ("pdf tools", "mine", "skills/mine"):
        assert list(told(library.sources.plan_adopt(name))) == ["PDF Tools"]
    error = refused(lambda: library.sources.plan_adopt("deplyo"), "skill-not-found")
    assert error.details["suggestions"] == ["deploy"]


def test_a_link_is_left_to_whom_it_belongs(world: World) -> None:
    world.root.mkdir(parents=True)
    target = world.offer("deploy", where=world.root.parent.parent / ".claude" / "skills")
    (world.root / "deploy").symlink_to(target)
    library = world.library()
    assert told(library.sources.plan_adopt()) == {"deploy": ("adopt", "nothing", "fixed-directory")}
    assert told(library.sources.plan_adopt("deploy")) == {"deploy": ("adopt", "conflict", "fixed-directory")}


def test_a_skill_that_cannot_be_read_stops_no_other(world: World) -> None:
    for name in ("deploy", "pdf"):
        world.offer(name, where=world.root)
    os.mkfifo(world.root / "deploy" / "pipe")
    assert told(world.library().sources.plan_adopt()) == {
        "deploy": ("keep", "failed", "special-file"),
        "pdf": ("adopt", "ready", ""),
    }


# --- from where the user says ---------------------------------------------------------------------------------------


def test_a_skill_that_comes_from_where_the_user_says(world: World) -> None:
    world.offer("deploy", BODY.replace("First", "My"), where=world.root)
    world.offer("deploy")
    world.offer("pdf")
    library = world.library()
    plan = library.sources.plan_adopt("deploy", source=str(world.shelf))
    place = f"path:{world.shelf}#path=deploy"
    assert [step.reason for step in plan.steps] == [f"It comes from {place}. The differences are your edits."]
    library.sources.apply(plan)
    entry = world.locked()["skills/deploy"]
    assert (entry.source, entry.digest) == (place, digest(read_tree(str(world.shelf / "deploy"))))
    assert [item.status for item in library.sources.verify().skills] == ["edited"]
    world.offer("deploy", NEWER)
    library.sources.update()
    assert world.text("deploy") == main("deploy", NEWER.replace("First", "My"))


def test_a_source_is_for_one_skill_and_has_to_have_it(world: World) -> None:
    for name in ("deploy", "pdf"):
        world.offer(name, where=world.root)
    world.offer("deploy")
    library = world.library()
    refused(lambda: library.sources.plan_adopt(source=str(world.shelf)), "usage")
    plan = library.sources.plan_adopt("pdf", source=str(world.shelf))
    assert told(plan) == {"pdf": ("keep", "failed", "skill-not-in-source")}
    library.sources.apply(plan)
    assert not world.lock().exists()


def test_what_is_adopted_from_a_source_is_judged_and_stays(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy", DANGER)})
    world.offer("deploy", DANGER, where=world.root)
    library = world.library()
    plan = library.sources.plan_adopt("deploy", source=repository.url)
    assert told(plan) == {"deploy": ("adopt", "ready", "")}
    library.sources.apply(plan)
    entry = world.locked()["skills/deploy"]
    assert (entry.trust, entry.verdict) == ("community", "dangerous")
    (found,) = (item for item in library.guard.audit().to_json()["results"] if item["name"] == "deploy")
    assert (found["trust"], found["decision"]) == ("community", "block")


# --- from where another tool says -----------------------------------------------------------------------------------


def test_what_another_tool_installed_is_known_by_its_hash(world: World) -> None:
    repository = world.repository({"skills/deploy/SKILL.md": main("deploy")})
    path = world.offer("deploy", where=world.here)
    foreign_lock(world.project, deploy=from_git(repository, path, skillPath="skills/deploy/SKILL.md"))
    shutil.rmtree(repository.path)
    library = world.library()
    plan = library.sources.plan_adopt(here=True)
    source = f"git:{repository.url}#path=skills/deploy"
    assert told(plan) == {"deploy": ("adopt", "ready", "")}, "its source need not be asked"
    assert plan.steps[0].reason == f"It comes from {shown(read_ref(source, library.workspace.place))}."
    library.sources.apply(plan)
    entry = world.locked(world.here)["skills/deploy"]
    assert (entry.source, entry.trust) == (source, "community")


def test_where_the_skill_is_in_its_source_is_found_by_its_name_later(world: World) -> None:
    files = {"a/deploy/SKILL.md": main("deploy"), "b/pdf/SKILL.md": main("pdf")}
    repository = world.repository(files)
    foreign_lock(world.home, deploy=from_git(repository, world.offer("deploy", where=world.root)))
    world.offer("pdf", where=world.root)
    library = world.library()
    library.sources.apply(library.sources.plan_adopt("deploy"))
    assert world.locked()["skills/deploy"].source == f"git:{repository.url}"
    assert told(library.sources.plan_update()) == {"deploy": ("keep", "ready", "")}
    library.sources.update()
    assert world.locked()["skills/deploy"].source == f"git:{repository.url}#path=a/deploy"
    repository.commit({**files, "a/deploy/SKILL.md": main("deploy", NEWER)})
    assert told(library.sources.plan_update()) == {"deploy": ("update", "ready", "")}


def test_edits_are_told_from_what_the_source_still_has(world: World) -> None:
    remote = world.offer("deploy")
    repository = world.repository({"deploy/SKILL.md": main("deploy")})
    world.offer("deploy", BODY.replace("First", "My"), where=world.root)
    foreign_lock(world.home, deploy=from_git(repository, remote, skillPath="deploy/SKILL.md"))
    library = world.library()
    place = shown(read_ref(f"git:{repository.url}#path=deploy", library.workspace.place))
    assert reasons(library) == {"deploy": f"It comes from {place}. The differences are your edits."}
    library.sources.apply(library.sources.plan_adopt())
    repository.commit({"deploy/SKILL.md": main("deploy", NEWER)})
    library.sources.update()
    assert world.text("deploy") == main("deploy", NEWER.replace("First", "My"))


def test_what_can_be_told_from_nothing_gets_no_source(world: World) -> None:
    older = world.offer("deploy")
    repository = world.repository({"deploy/SKILL.md": main("deploy", NEWER)})
    world.offer("deploy", BODY.replace("First", "My"), where=world.root)
    foreign_lock(world.home, deploy=from_git(repository, older, skillPath="deploy/SKILL.md"))
    library = world.library()
    why = "It matches neither its source nor what was installed from there."
    rest = "So its source is not recorded, and updates skip it."
    assert reasons(library) == {"deploy": f"{why} {rest}"}
    library.sources.apply(library.sources.plan_adopt())
    entry = world.locked()["skills/deploy"]
    assert (entry.source, entry.revision, entry.trust) == ("", "", "local")


def test_a_source_that_does_not_answer_is_told(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy")})
    world.offer("deploy", NEWER, where=world.here)
    foreign_lock(world.project, deploy=from_git(repository, world.offer("deploy"), skillPath="deploy/SKILL.md"))
    shutil.rmtree(repository.path)
    (reason,) = reasons(world.library(), here=True).values()
    assert "So its source is not recorded" in reason and "neither what" not in reason


def test_another_tools_lock_does_not_lead_out_of_the_repository(world: World) -> None:
    world.offer("deploy", NEWER, where=world.here)
    outside = os.path.relpath(world.offer("deploy"), world.project)
    foreign_lock(world.project, deploy={"source": outside, "sourceType": "local", "computedHash": "0" * 64})
    (reason,) = reasons(world.library(), here=True).values()
    assert f"is outside {world.project}" in reason


def test_what_is_wrong_with_another_tools_lock_reaches_the_plan(world: World) -> None:
    world.offer("deploy", where=world.here)
    path = foreign_lock(world.project)
    path.write_text('{"version": 1, "skills": {"deploy": 3}}')
    plan = world.library().sources.plan_adopt(here=True)
    assert [(note.code, note.skill, note.path) for note in plan.notes] == [
        ("foreign-lock-damaged", "deploy", str(path))
    ]
    assert told(plan) == {"deploy": ("adopt", "ready", "")}


def test_a_pin_of_another_tool_is_kept(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy")})
    pinned = f"metadata:\n  github-repo: {repository.url}\n  github-path: deploy\n  github-pinned: main\n"
    repository.commit({"deploy/SKILL.md": main("deploy", more=pinned)})
    world.offer("deploy", where=world.root, more=pinned)
    library = world.library()
    library.sources.apply(library.sources.plan_adopt())
    entry = world.locked()["skills/deploy"]
    assert (entry.source, entry.pinned) == (f"git:{repository.url}#ref=main&path=deploy", "main")
    assert told(library.sources.plan_update()) == {"deploy": ("keep", "held", "pinned")}


def test_many_skills_of_one_source_are_asked_for_once(world: World) -> None:
    names = [f"skill-{number}" for number in range(6)]
    repository = world.repository({f"{name}/SKILL.md": main(name) for name in names})
    with serving_git(world.top) as server:
        skills = {}
        for name in names:
            installed = from_git(repository, world.offer(name), skillPath=f"{name}/SKILL.md")
            skills[name] = {**installed, "source": f"{server.url}/repository"}
            world.offer(name, BODY.replace("First", "My"), where=world.here)
        foreign_lock(world.project, **skills)
        plan = world.library().sources.plan_adopt(here=True)
        assert server.fetches == 2
    assert {step.state for step in plan.steps} == {"ready"}
    assert all(step.entry and step.entry.source for step in plan.steps)
