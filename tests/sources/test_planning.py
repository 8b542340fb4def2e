"""What becomes of each skill, given what lies there, what the lock says and what the source has."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from sources.world import BODY, DANGER, World, main, told, world
from whet.authoring.trees import digest
from whet.library.package import read_tree
from whet.skill.tree import Item
from whet.sources.lock.file import lock_file, read, write

if TYPE_CHECKING:
    from whet import Library
    from whet.sources.merge import Prefer

__all__ = ["world"]

NEWER = BODY.replace("Last", "Newer")
MINE = ("First", "My")


def installed(world: World, *names: str, **more: Any) -> Library:
    """A library in which these skills of the shelf are installed."""
    for name in names:
        world.offer(name, **more)
    library = world.library()
    library.sources.install(str(world.shelf), skills=names)
    return library


# --- install --------------------------------------------------------------------------------------------------------


def test_a_plan_tells_everything_about_a_new_skill(world: World) -> None:
    path = world.offer("deploy", more="metadata:\n  version: '2'\n", guide="How.\n")
    library = world.library()
    plan = library.sources.plan_install(str(world.shelf))
    content = digest(read_tree(str(path)))
    source = f"path:{world.shelf}#path=deploy"
    assert plan.to_json() == {
        "root": str(world.root),
        "plan": [
            {
                "action": "install",
                "state": "ready",
                "name": "deploy",
                "path": "skills/deploy",
                "directory": str(world.root / "deploy"),
                "reason": "",
                "code": "",
                "hint": "",
                "before": "",
                "after": content,
                "source": source,
                "revision": content,
                "version": "2",
                "from": None,
                "files": [{"path": path, "change": "added"} for path in ("SKILL.md", "references/guide.md")],
                "powers": [],
                "clashes": [],
                "notes": [],
                "trust": "directory",
                "verdict": "safe",
                "decision": "allow",
                "why": "Skills from an untrusted directory without a serious finding are allowed.",
                "findings": [],
            }
        ],
        "counts": {"ready": 1},
        "refused": [],
        "notes": [],
    }
    assert (world.there(), world.lock().exists()) == ({}, False), "a plan changes nothing"
    json.dumps(plan.to_json())


@pytest.mark.parametrize(
    ("name", "directory"),
    [("PDF Tools", "pdf-tools"), ("Übersetzen", "ubersetzen"), ("日本語", "skill-77710aed"), ("a_b", "a-b")],
)
def test_a_skill_lies_where_its_name_says(world: World, name: str, directory: str) -> None:
    path = world.offer("deploy")
    (path / "SKILL.md").write_text(main(name), encoding="utf-8")
    library = world.library()
    library.sources.install(str(world.shelf))
    assert {path: entry.name for path, entry in world.locked().items()} == {f"skills/{directory}": name}
    assert (
        library.sources.verify(name).skills
        == library.sources.verify(directory).skills
        == library.sources.verify().skills
    )
    assert told(library.sources.plan_update(name)) == {name: ("keep", "nothing", "")}


def test_a_name_that_no_directory_may_have_is_a_conflict(world: World) -> None:
    path = world.offer("deploy")
    (path / "SKILL.md").write_text(main("nul"), encoding="utf-8")
    assert told(world.library().sources.plan_install(str(world.shelf))) == {
        "nul": ("install", "conflict", "path-reserved")
    }


def test_a_skill_that_is_asked_for_twice_is_taken_once(world: World) -> None:
    world.offer("deploy")
    world.offer("pdf")
    plan = world.library().sources.plan_install(str(world.shelf), str(world.shelf), skills=["deploy"])
    assert told(plan) == {"deploy": ("install", "ready", "")}
    assert len(plan.steps) == 1


def test_two_skills_of_one_plan_that_want_one_directory(world: World) -> None:
    world.offer("one/pdf-tools")
    path = world.offer("two/other", "Another body.\n")
    (path / "SKILL.md").write_text(main("PDF Tools", "Another body.\n"), encoding="utf-8")
    library = world.library()
    plan = library.sources.plan_install(str(world.shelf), every=True)
    assert told(plan) == {"pdf-tools": ("install", "ready", ""), "PDF Tools": ("install", "conflict", "same-name")}
    library.sources.apply(plan)
    assert list(world.there()) == ["pdf-tools"]
    assert "Another" not in world.text("pdf-tools")


def test_what_somebody_wrote_is_never_replaced(world: World) -> None:
    world.offer("deploy", "Mine.\n", where=world.root)
    world.offer("deploy")
    plan = world.library().sources.plan_install(str(world.shelf))
    assert told(plan) == {"deploy": ("install", "conflict", "skill-exists")}
    assert plan.steps[0].reason == (
        f"{world.root}/deploy is a skill of your own, with different content. `whet skill rename deploy NEW` keeps it "
        "under another name; `whet remove deploy` removes it."
    )


def test_what_somebody_wrote_and_adopted_is_never_replaced(world: World) -> None:
    world.offer("deploy", "Mine.\n", where=world.root)
    world.offer("deploy")
    library = world.library()
    library.sources.apply(library.sources.plan_adopt())
    assert told(library.sources.plan_install(str(world.shelf))) == {"deploy": ("install", "conflict", "skill-exists")}
    assert told(library.sources.plan_update()) == {"deploy": ("keep", "nothing", "")}


def test_the_same_content_that_lies_there_already_gets_a_source(world: World) -> None:
    world.offer("deploy", where=world.root)
    world.offer("deploy")
    library = world.library()
    plan = library.sources.plan_install(str(world.shelf))
    assert told(plan) == {"deploy": ("adopt", "ready", "")}
    library.sources.apply(plan)
    assert world.locked()["skills/deploy"].source == f"path:{world.shelf}#path=deploy"
    entries = library.edit.history.entries().entries
    assert [(entry.action, entry.after == entries[0].after) for entry in entries] == [("found", True), ("adopt", True)]
    world.offer("deploy", NEWER)
    world.edit("deploy", *MINE)
    assert told(library.sources.plan_update()) == {"deploy": ("merge", "ready", "")}, "what was adopted is kept"


@pytest.mark.parametrize("what", ["file", "dangling", "link", "special"])
def test_whatever_is_in_the_way_is_a_conflict_of_this_skill_alone(world: World, what: str) -> None:
    world.root.mkdir(parents=True)
    target = world.root / "deploy"
    codes = {"file": "not-a-package", "dangling": "not-a-package", "link": "fixed-directory", "special": "special-file"}
    if what == "file":
        target.write_text("A file.")
    elif what == "dangling":
        target.symlink_to(world.top / "nowhere")
    elif what == "link":
        target.symlink_to(world.offer("deploy", where=world.top / "elsewhere"))
    else:
        target.mkdir()
        os.mkfifo(target / "pipe")
    world.offer("deploy")
    world.offer("pdf")
    plan = world.library().sources.plan_install(str(world.shelf), every=True)
    action = "adopt" if what == "link" else "install"
    assert told(plan) == {"deploy": (action, "conflict", codes[what]), "pdf": ("install", "ready", "")}


@pytest.mark.parametrize("here", ["Deploy", "DEPLOY"])
def test_directories_that_some_systems_cannot_tell_apart(world: World, here: str) -> None:
    (world.offer(here, where=world.root) / "SKILL.md").write_text(main("something-else"), encoding="utf-8")
    world.offer("deploy")
    plan = world.library().sources.plan_install(str(world.shelf))
    assert told(plan) == {"deploy": ("install", "conflict", "skill-exists")}
    assert plan.steps[0].reason == (
        f"{world.root}/{here} already exists, and some systems cannot tell it apart from skills/deploy. "
        "Rename or delete it."
    )


def test_a_skill_of_that_name_that_lies_elsewhere_in_the_root(world: World) -> None:
    (world.offer("mine", where=world.root) / "SKILL.md").write_text(main("Deploy"), encoding="utf-8")
    world.offer("deploy")
    plan = world.library().sources.plan_install(str(world.shelf))
    assert told(plan) == {"deploy": ("install", "conflict", "skill-exists")}
    assert plan.steps[0].reason == (
        f"{world.root}/mine is already named deploy. `whet skill rename Deploy NEW` keeps it under another name; "
        "`whet remove Deploy` removes it."
    )


def test_a_skill_from_another_source_stays(world: World) -> None:
    library = installed(world, "deploy")
    world.offer("deploy", "Another one.\n", where=world.top / "other")
    plan = library.sources.plan_install(str(world.top / "other"))
    assert told(plan) == {"deploy": ("install", "conflict", "other-source")}
    assert plan.steps[0].reason == (
        f"{world.root}/deploy is installed from {world.shelf}/deploy. To replace it, run `whet remove deploy` first."
    )


def test_a_directory_is_the_same_source_however_it_is_written(world: World) -> None:
    library = installed(world, "deploy")
    before = world.locked()
    os.symlink(world.shelf, world.top / "link")
    relative = os.path.relpath(world.shelf, library.workspace.place.directory)
    for text in (f"{world.shelf}/", f"{world.shelf}/deploy", f"./{relative}", f"./{relative}/deploy/", "link"):
        source = str(world.top / text) if text == "link" else text
        plan = library.sources.plan_install(source, skills=["deploy"])
        assert (told(plan), plan.steps[0].notes) == ({"deploy": ("keep", "nothing", "")}, ()), text
    world.offer("deploy", NEWER)
    library.sources.install(str(world.top / "link" / "deploy"))
    assert world.locked()["skills/deploy"].source == before["skills/deploy"].source


def test_installing_again_follows_the_source_and_the_ref_that_is_named(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy")})
    repository.commit({"deploy/SKILL.md": main("deploy", NEWER)}, branch="next")
    library = world.library()
    library.sources.install(repository.url)
    assert told(library.sources.plan_install(repository.url)) == {"deploy": ("keep", "nothing", "")}
    world.edit("deploy", *MINE)
    library.sources.install(f"git:{repository.url}#ref=next")
    assert world.text("deploy") == main("deploy", NEWER.replace(*MINE))
    assert world.locked()["skills/deploy"].source == f"git:{repository.url}#ref=next&path=deploy"


def test_a_skill_under_another_directory_is_known_by_its_source(world: World) -> None:
    library = installed(world, "deploy")
    library.edit.apply([{"action": "rename", "name": "deploy", "new_name": "ship"}])
    world.offer("deploy", NEWER)
    plan = library.sources.plan_install(str(world.shelf))
    assert [(step.path, step.action, step.state) for step in plan.steps] == [("skills/ship", "merge", "ready")]
    library.sources.apply(plan)
    assert (list(world.there()), "Newer line." in world.text("ship")) == (["ship"], True)


def test_what_is_pinned_stays_also_when_it_is_installed_again(world: World) -> None:
    library = installed(world, "deploy")
    library.settings.pin("deploy", "It works.")
    assert told(library.sources.plan_install(str(world.shelf))) == {"deploy": ("keep", "nothing", "")}
    world.offer("deploy", NEWER)
    for plan in (library.sources.plan_install(str(world.shelf)), library.sources.plan_update()):
        assert told(plan) == {"deploy": ("keep", "held", "pinned")}
        assert plan.steps[0].reason == "It is pinned. `whet skill unpin deploy` lets updates change it again."


def test_a_lock_entry_whose_skill_is_gone_is_installed_again(world: World) -> None:
    library = installed(world, "deploy")
    before = world.locked()
    (world.root / "deploy" / "SKILL.md").unlink()
    (world.root / "deploy").rmdir()
    assert told(library.sources.plan_update()) == {"deploy": ("keep", "conflict", "locked-missing")}
    library.sources.install(str(world.shelf))
    assert library.sources.verify().valid
    assert world.locked()["skills/deploy"].installed == before["skills/deploy"].installed


# --- update ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("local", "remote", "prefer", "step", "text"),
    [
        (None, None, "", ("keep", "nothing", ""), BODY),
        (MINE, None, "", ("keep", "nothing", ""), BODY.replace(*MINE)),
        (None, ("Last", "Newer"), "", ("update", "ready", ""), NEWER),
        (("Last", "Newer"), ("Last", "Newer"), "", ("update", "ready", ""), NEWER),
        (MINE, ("Last", "Newer"), "", ("merge", "ready", ""), NEWER.replace(*MINE)),
        (
            ("Last", "Mine"),
            ("Last", "Newer"),
            "",
            ("merge", "conflict", "update-conflict"),
            BODY.replace("Last", "Mine"),
        ),
        (("Last", "Mine"), ("Last", "Newer"), "ours", ("merge", "ready", ""), BODY.replace("Last", "Mine")),
        (("Last", "Mine"), ("Last", "Newer"), "theirs", ("merge", "ready", ""), NEWER),
    ],
)
def test_an_update_by_who_changed_what(
    world: World,
    local: tuple[str, str] | None,
    remote: tuple[str, str] | None,
    prefer: Prefer,
    step: tuple[str, str, str],
    text: str,
) -> None:
    library = installed(world, "deploy")
    if local:
        world.edit("deploy", *local)
    if remote:
        world.edit("deploy", *remote, root=world.shelf)
    before = world.locked()
    plan = library.sources.plan_update(prefer=prefer)
    assert told(plan) == {"deploy": step}
    library.sources.apply(plan)
    assert world.text("deploy") == main("deploy", text)
    taken = remote is not None and step[1] == "ready"
    theirs = digest(read_tree(str(world.shelf / "deploy")))
    assert world.locked()["skills/deploy"].digest == (theirs if taken else before["skills/deploy"].digest)
    again = told(library.sources.plan_update(prefer=prefer))
    assert again == ({"deploy": ("keep", "nothing", "")} if step[1] != "conflict" else told(plan))


def test_a_clash_is_told_and_changes_nothing(world: World) -> None:
    library = installed(world, "deploy", guide="How.\n")
    world.edit("deploy", "Last", "Mine")
    world.offer("deploy", NEWER, guide="How else.\n")
    plan = library.sources.plan_update()
    (step,) = plan.to_json()["plan"]
    assert step["reason"] == "Your edits conflict with the source's changes in SKILL.md."
    assert step["clashes"] == [
        {
            "path": "SKILL.md",
            "kind": "both-changed",
            "text": "line 10:\n<<<<<<< yours\nMine line.\n||||||| before\nLast line.\n=======\nNewer line.\n"
            ">>>>>>> theirs\n",
        }
    ]
    before = world.there(), world.locked()
    assert library.sources.apply(plan).done == ()
    assert (world.there(), world.locked()) == before


@pytest.mark.parametrize("prefer", ["", "ours", "theirs"])
def test_without_what_was_installed_a_person_decides(world: World, prefer: Prefer) -> None:
    library = installed(world, "deploy", guide="How.\n")
    world.edit("deploy", "Last", "Mine")
    world.offer("deploy", NEWER, guide="How else.\n", more_="More.\n")
    entry = world.locked()["skills/deploy"]
    lock = read(lock_file(str(world.root)))
    write(lock_file(str(world.root)), lock._replace(entries=(entry._replace(digest=f"sha256:{'0' * 64}"),)))
    plan = library.sources.plan_update(prefer=prefer)
    if not prefer:
        assert told(plan) == {"deploy": ("merge", "conflict", "no-base")}
        return
    assert told(plan) == {"deploy": ("merge", "ready", "")}
    library.sources.apply(plan)
    assert world.text("deploy") == main("deploy", BODY.replace("Last", "Mine") if prefer == "ours" else NEWER)
    assert world.text("deploy", "references/more_.md") == "More.\n"
    assert told(library.sources.plan_update()) == {"deploy": ("keep", "nothing", "")}


def test_a_main_file_that_was_taken_away_stops_nobody(world: World) -> None:
    library = installed(world, "deploy", "pdf", guide="How.\n")
    (world.root / "deploy" / "SKILL.md").unlink()
    world.offer("deploy", guide="How else.\n")
    world.offer("pdf", NEWER, guide="How.\n")
    plan = library.sources.plan_update()
    assert told(plan) == {"deploy": ("merge", "ready", ""), "pdf": ("update", "ready", "")}
    library.sources.apply(plan)
    assert sorted(os.listdir(world.root / "deploy")) == ["references"]


def test_a_skill_that_cannot_be_read_fails_alone(world: World) -> None:
    library = installed(world, "deploy", "pdf")
    os.mkfifo(world.root / "deploy" / "pipe")
    for name in ("deploy", "pdf"):
        world.offer(name, NEWER)
    for plan in (library.sources.plan_update(), library.sources.plan_restore()):
        assert told(plan)["deploy"] == ("keep", "failed", "special-file")
    assert told(library.sources.plan_update())["pdf"] == ("update", "ready", "")
    assert [item.status for item in library.sources.outdated().skills] == ["newer", "newer"]
    assert [item.status for item in library.sources.verify().skills] == ["unreadable", "ok"]


def test_a_linked_skill_is_not_changed_through_the_link(world: World) -> None:
    library = installed(world, "deploy")
    (world.root / "deploy").rename(world.top / "elsewhere")
    (world.root / "deploy").symlink_to(world.top / "elsewhere")
    world.offer("deploy", NEWER)
    assert told(library.sources.plan_update()) == {"deploy": ("update", "conflict", "fixed-directory")}
    plan = library.sources.plan_uninstall("deploy")
    assert told(plan) == {"deploy": ("uninstall", "conflict", "fixed-directory")}
    library.sources.apply(plan)
    assert (world.top / "elsewhere" / "SKILL.md").read_text() == main("deploy")


def test_only_the_revision_moves_on_when_something_else_changed(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy"), "README.md": "One."})
    library = world.library()
    library.sources.install(repository.url)
    first = world.locked()["skills/deploy"]
    second = repository.commit({"deploy/SKILL.md": main("deploy"), "README.md": "Two."})
    for plan in (library.sources.plan_install(repository.url), library.sources.plan_update()):
        assert told(plan) == {"deploy": ("keep", "ready", "")}
        assert plan.steps[0].reason == "Up to date. The lock records its new revision."
    library.sources.apply(plan)
    assert world.locked()["skills/deploy"] == first._replace(revision=second)
    for plan in (library.sources.plan_install(repository.url), library.sources.plan_update()):
        assert told(plan) == {"deploy": ("keep", "nothing", "")}


def test_a_skill_that_moved_at_its_source_is_found_by_its_name(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy"), "pdf/SKILL.md": main("pdf")})
    library = world.library()
    library.sources.install(repository.url, every=True)
    repository.commit({"skills/deploy/SKILL.md": main("deploy", NEWER)})
    plan = library.sources.plan_update()
    assert told(plan) == {"deploy": ("update", "ready", ""), "pdf": ("keep", "failed", "gone-from-source")}
    assert [note.message for note in plan.steps[0].notes] == ["The source moved it from deploy to skills/deploy."]
    hint = f"`whet show {repository.url}` shows what is there now; `whet skill pin pdf` keeps your copy."
    assert plan.steps[1].hint == hint
    library.sources.apply(plan)
    assert world.locked()["skills/deploy"].source == f"git:{repository.url}#path=skills/deploy"
    assert told(library.sources.plan_update("deploy")) == {"deploy": ("keep", "nothing", "")}


def test_what_a_later_whet_wrote_into_an_entry_is_kept(world: World) -> None:
    library = installed(world, "deploy")
    document = json.loads(world.lock().read_text())
    document["skills"]["skills/deploy"]["signed"] = {"by": "somebody"}
    world.lock().write_text(json.dumps(document))
    world.offer("deploy", NEWER)
    library.sources.update()
    assert json.loads(world.lock().read_text())["skills"]["skills/deploy"]["signed"] == {"by": "somebody"}


# --- the policy -----------------------------------------------------------------------------------------------------


def test_what_an_update_can_do_that_was_not_possible_before(world: World) -> None:
    library = installed(world, "deploy", more="allowed-tools: Read\n")
    world.offer("deploy", "Run `sudo systemctl restart app`.\n", more="allowed-tools: Read Bash(git:*)\n")
    (step,) = library.sources.plan_update().steps
    assert step.powers[0] == "asks for the tool Bash(git:*)"
    assert step.judgement is not None
    assert step.powers[1:] == tuple(dict.fromkeys(finding.rule for finding in step.judgement.scan.findings))


def test_a_dangerous_update_waits_and_the_skill_stays(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy")})
    library = world.library()
    library.sources.install(repository.url)
    repository.commit({"deploy/SKILL.md": main("deploy", BODY + DANGER)})
    before = world.there(), world.locked()
    plan = library.sources.plan_update()
    assert told(plan) == {"deploy": ("update", "blocked", "policy-blocks")}
    assert library.sources.apply(plan).done == ()
    assert (world.there(), world.locked()) == before
    assert library.sources.apply(plan, override="I read it.").done == ("deploy",)
    assert (DANGER in world.text("deploy"), world.locked()["skills/deploy"].verdict) == (True, "dangerous")
    assert told(library.sources.plan_update()) == {"deploy": ("keep", "nothing", "")}


def test_what_is_merged_is_judged_as_it_will_be(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy")})
    library = world.library()
    library.sources.install(repository.url)
    world.edit("deploy", "First line.\n", f"First line.\n\n{DANGER}")
    repository.commit({"deploy/SKILL.md": main("deploy", NEWER)})
    plan = library.sources.plan_update()
    assert told(plan) == {"deploy": ("merge", "blocked", "policy-blocks")}


def test_notes_of_a_source_reach_the_plan(world: World) -> None:
    world.offer("deploy")
    world.offer("pdf")
    (world.shelf / "pdf" / "away").symlink_to("/etc/passwd")
    library = world.library()
    plan = library.sources.plan_install(str(world.shelf), every=True)
    assert [(note.code, note.skill, note.severity) for note in plan.notes] == [("link-escape", "pdf", "error")]
    assert told(plan) == {"deploy": ("install", "ready", "")}
    assert library.sources.plan_install(str(world.shelf), skills=["deploy"]).notes == (), (
        "nobody asked for the other one"
    )


def test_every_content_of_a_plan_is_in_it(world: World) -> None:
    library = installed(world, "deploy")
    world.edit("deploy", *MINE)
    world.offer("deploy", NEWER)
    plan = library.sources.plan_update()
    (step,) = plan.steps
    assert step.entry is not None
    assert set(plan.trees) == {step.after, step.entry.digest}
    assert plan.trees[step.after] == {"SKILL.md": Item(main("deploy", NEWER.replace(*MINE)).encode())}
