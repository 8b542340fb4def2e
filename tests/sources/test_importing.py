"""A library in a file, and that file in another library."""

from __future__ import annotations

import json
import os
import zipfile
from typing import TYPE_CHECKING

import pytest

from sources.world import BODY, DANGER, World, main, refused, told, world
from whet.authoring.trees import digest
from whet.skill.tree import Item
from whet.sources.install.plan import files_of
from whet.sources.lock.file import Installed
from whet.sources.publish.snapshots import Exported, export_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from whet import Library

__all__ = ["world"]

NEWER = BODY.replace("Last", "Newer")


@pytest.fixture
def exported(world: World) -> Path:
    """A snapshot with an installed skill that was edited, one as it was installed, and one without a source."""
    for name in ("deploy", "pdf"):
        world.offer(name)
    library = world.library()
    library.sources.install(str(world.shelf), every=True)
    world.edit("deploy", "First", "My")
    world.offer("category/own", where=world.root)
    path = world.top / "library.zip"
    answer = library.sources.export_snapshot(str(path))
    assert (answer.skills, answer.contents, answer.left_out) == (("own", "deploy", "pdf"), 4, ())
    return path


def other(world: World) -> tuple[World, Library]:
    """Another machine."""
    made = World(world.top / "other")
    return made, made.library()


def test_a_library_comes_out_as_it_went_in_and_can_still_be_updated(world: World, exported: Path) -> None:
    there, library = other(world)
    plan = library.sources.plan_import(str(exported))
    assert told(plan) == dict.fromkeys(("own", "deploy", "pdf"), ("install", "ready", ""))
    library.sources.apply(plan)
    assert there.there() == world.there()
    kept = ("name", "source", "revision", "marker", "digest", "files")
    for path, entry in world.locked().items():
        assert {field: getattr(there.locked()[path], field) for field in kept} == {
            field: getattr(entry, field) for field in kept
        }
    assert {entry.trust for entry in there.locked().values()} == {"community"}
    world.offer("deploy", NEWER)
    assert told(library.sources.plan_update()) == {
        "deploy": ("merge", "ready", ""),
        "own": ("keep", "nothing", ""),
        "pdf": ("keep", "nothing", ""),
    }
    library.sources.update()
    assert there.text("deploy") == main("deploy", NEWER.replace("First", "My"))
    there.close()


def test_importing_twice_changes_nothing(world: World, exported: Path) -> None:
    there, library = other(world)
    library.sources.apply(library.sources.plan_import(str(exported)))
    before = there.there(), there.locked()
    plan = library.sources.plan_import(str(exported))
    assert told(plan) == dict.fromkeys(("own", "deploy", "pdf"), ("keep", "nothing", ""))
    library.sources.apply(plan)
    assert (there.there(), there.locked()) == before
    there.close()


def test_what_is_there_already_is_not_replaced(world: World, exported: Path) -> None:
    there, library = other(world)
    there.offer("deploy", "Mine.\n", where=there.root)
    there.offer("pdf", where=there.root)
    (there.offer("OWN", where=there.root) / "SKILL.md").write_text(main("own"))
    plan = library.sources.plan_import(str(exported))
    assert told(plan) == {
        "own": ("install", "conflict", "skill-exists"),
        "deploy": ("install", "conflict", "skill-exists"),
        "pdf": ("adopt", "ready", ""),
    }
    library.sources.apply(plan)
    assert list(there.locked()) == ["skills/pdf"]
    there.close()


def test_a_snapshot_is_trusted_by_nobodys_word(world: World) -> None:
    content = {"SKILL.md": Item(main("deploy", DANGER).encode())}
    forged = Installed(
        "skills/deploy",
        "deploy",
        "git:https://github.com/anthropics/skills#path=deploy",
        *("a" * 40, "b" * 40, "1", digest(content), "builtin", "safe", "1"),
        files_of(content),
        *("2026-01-01T00:00:00Z",) * 2,
    )
    path = str(world.top / "forged.zip")
    export_snapshot([Exported("user", "deploy", "deploy", content, forged)], (), path)
    library = world.library()
    plan = library.sources.plan_import(path)
    assert told(plan) == {"deploy": ("install", "blocked", "policy-blocks")}
    library.sources.apply(plan, override="I read it.")
    entry = world.locked()["skills/deploy"]
    assert (entry.trust, entry.verdict) == ("community", "dangerous")
    (found,) = (item for item in library.guard.audit().to_json()["results"] if item["name"] == "deploy")
    assert found["trust"] == "community"


def test_a_skill_without_a_source_from_a_snapshot_stays_a_strangers(world: World, exported: Path) -> None:
    there, library = other(world)
    library.sources.apply(library.sources.plan_import(str(exported)))
    (found,) = (item for item in library.guard.audit().to_json()["results"] if item["name"] == "own")
    assert found["trust"] == "community"
    there.close()


@pytest.mark.usefixtures("exported")
def test_the_projects_skills_are_taken_along_when_asked_for(world: World) -> None:
    world.offer("ours", where=world.here)
    library = world.library()
    path = str(world.top / "both.zip")
    assert library.sources.export_snapshot(path, here=True).skills == ("own", "deploy", "pdf", "ours")
    refused(lambda: library.sources.export_snapshot(path), "file-exists")
    there, elsewhere = other(world)
    assert list(told(elsewhere.sources.plan_import(path))) == ["own", "deploy", "pdf"]
    plan = elsewhere.sources.plan_import(path, here=True)
    elsewhere.sources.apply(plan)
    assert (list(told(plan)), list(there.there(there.here))) == (["ours"], ["ours"])
    there.close()


def test_a_skill_that_cannot_be_read_is_left_out_and_told(world: World, exported: Path) -> None:
    os.mkfifo(world.root / "pdf" / "pipe")
    answer = world.library().sources.export_snapshot(str(exported), overwrite=True)
    assert answer.skills == ("own", "deploy")
    assert [(note.code, note.skill) for note in answer.left_out] == [("special-file", "pdf")]


def test_a_file_that_is_no_snapshot(world: World) -> None:
    library = world.library()
    refused(lambda: library.sources.plan_import(str(world.top / "nothing.zip")), "path-not-found")
    (world.top / "other.zip").write_bytes(b"nothing of the kind")
    refused(lambda: library.sources.plan_import(str(world.top / "other.zip")), "snapshot-damaged")


def test_taps_come_along_and_replace_nobodys(world: World) -> None:
    library = world.library()
    library.sources.add_tap("team", str(world.shelf))
    library.sources.add_tap("other", str(world.shelf))
    path = str(world.top / "taps.zip")
    assert library.sources.export_snapshot(path).taps == 2
    there, elsewhere = other(world)
    elsewhere.sources.add_tap("other", str(there.shelf))
    plan = elsewhere.sources.plan_import(path)
    assert plan.to_json()["taps"] == [{"name": "team", "source": f"path:{world.shelf}"}]
    assert [(note.code, note.path) for note in plan.notes] == [("tap-exists", "other")]
    assert "team" not in {tap.name for tap in elsewhere.sources.list_taps()}, "a plan changes nothing"
    elsewhere.sources.apply(plan)
    elsewhere.sources.apply(plan)
    added = {tap.name: tap.source for tap in elsewhere.sources.list_taps() if not tap.default}
    assert added == {"other": f"path:{there.shelf}", "team": f"path:{world.shelf}"}
    assert elsewhere.sources.plan_import(path, here=True).taps == ()
    there.close()


def test_taps_that_cannot_be_are_told(world: World) -> None:
    path = str(world.top / "odd.zip")
    odd = [{"name": "user", "source": "owner/repo"}, {"name": "team", "source": "\0"}, {"name": 3}, {}]
    export_snapshot([], [], path)
    with zipfile.ZipFile(path) as made:
        manifest = json.loads(made.read("snapshot.json"))
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("snapshot.json", json.dumps({**manifest, "taps": odd}))
    plan = world.library().sources.plan_import(path)
    assert plan.taps == ()
    assert [note.code for note in plan.notes] == ["bad-tap-name", "bad-source", "bad-tap-name", "bad-tap-name"]
