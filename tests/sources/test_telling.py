"""What is told of installed skills without changing anything."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from sources.world import BODY, DANGER, World, main, refused, world
from whet.authoring.trees import digest
from whet.library.package import read_tree
from whet.sources.install.report import VerifiedSkill
from whet.sources.lock.file import Lock, lock_file, write

if TYPE_CHECKING:
    from whet import Library

__all__ = ["world"]

NEWER = BODY.replace("Last", "Newer")


@pytest.fixture
def library(world: World) -> Library:
    """A library in which `deploy`, `notes` and `pdf` are installed."""
    for name in ("deploy", "notes", "pdf"):
        world.offer(name, guide="How.\n", table="One.\n")
    made = world.library()
    made.sources.install(str(world.shelf), every=True)
    return made


def test_verifying_tells_every_difference(world: World, library: Library) -> None:
    entries = world.locked()
    world.offer("own", where=world.root)
    world.offer("category/other", where=world.root)
    world.edit("deploy", "First", "My")
    (world.root / "deploy" / "references" / "guide.md").unlink()
    (world.root / "deploy" / "references" / "new.md").write_text("New.")
    os.chmod(world.root / "notes" / "references" / "guide.md", 0o755)
    shutil.rmtree(world.root / "pdf")

    def told(name: str, status: str, reason: str, **files: str) -> dict[str, object]:
        there = world.root / name
        return {
            "name": name,
            "path": f"skills/{name}",
            "digest": entries[f"skills/{name}"].digest,
            "status": status,
            "now": digest(read_tree(str(there))),
            "files": [{"path": path.replace("__", "/") + ".md", "change": files[path]} for path in files],
            "reason": reason,
        }

    assert library.sources.verify().to_json() == {
        "success": True,
        "valid": False,
        "root": str(world.root),
        "skills": [
            told("deploy", "edited", "", SKILL="changed", references__guide="removed", references__new="added"),
            told("notes", "edited", "Only execute permissions differ."),
            told("pdf", "missing", "It no longer exists."),
        ],
        "unmanaged": ["category/other", "own"],
    }
    assert library.sources.verify("deploy").unmanaged == ()
    error = refused(lambda: library.sources.verify("own"), "not-installed")
    assert (error.message, error.hint) == (
        "'own' is a skill of your own: it has no source.",
        "`whet skill validate own` checks it.",
    )


def test_a_digest_that_was_edited_in_the_lock_is_not_taken_for_permissions(world: World, library: Library) -> None:
    entry = world.locked()["skills/pdf"]._replace(digest=f"sha256:{'0' * 64}")
    write(lock_file(str(world.root)), Lock((entry,)))
    reason = "The files are the same, but the digest is not: execute permissions differ, or the lock was edited."
    now = digest(read_tree(str(world.root / "pdf")))
    assert library.sources.verify("pdf").skills == (
        VerifiedSkill("pdf", "skills/pdf", entry.digest, "edited", now, (), reason),
    )


def test_a_fresh_machine_has_nothing_to_verify(world: World) -> None:
    told = world.library().sources.verify().to_json()
    assert told == {"success": True, "valid": True, "root": str(world.root), "skills": [], "unmanaged": []}


def test_what_is_outdated_is_told_with_what_is_there(world: World, library: Library) -> None:
    entries = world.locked()
    world.edit("deploy", "First", "My")
    world.offer("deploy", NEWER, guide="How.\n", table="One.\n")
    library.settings.pin("deploy")
    shutil.rmtree(world.shelf / "notes")
    world.offer("own", where=world.root)
    library.sources.apply(library.sources.plan_adopt("own"))
    newest = digest(read_tree(str(world.shelf / "deploy")))

    def told(name: str, **changes: object) -> dict[str, object]:
        plain = {"outdated": False, "edited": False, "missing": False, "pinned": "", "latest": None, "reason": ""}
        entry = entries[f"skills/{name}"]
        shown = str(world.shelf / name)
        known = {"name": name, "path": entry.path, "source": entry.source, "shown": shown, "revision": entry.revision}
        return {**known, "version": "", **plain, "status": "current", "code": "", "held": "", "notes": [], **changes}

    nothing = {"name": "own", "path": "skills/own", "source": "", "shown": "", "revision": ""}
    nothing |= {"status": "no-source"}
    gone = f"path:{world.shelf}#path=notes no longer has this skill."
    latest = {"revision": newest, "version": ""}
    assert library.sources.outdated().to_json() == {
        "success": True,
        "root": str(world.root),
        "outdated": 1,
        "skills": [
            told("deploy", status="newer", outdated=True, edited=True, pinned="yes", latest=latest),
            told("notes", status="gone", reason=gone, code="gone-from-source"),
            told("pdf") | nothing | {"reason": "It has no source."},
            told("pdf"),
        ],
    }
    assert [item.name for item in library.sources.outdated("pdf").skills] == ["pdf"]


def test_why_a_skill_is_there(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy", DANGER)})
    library = world.library()
    library.sources.install(repository.url, override="I read it.")
    world.edit("deploy", "Run", "Never run")
    entry = world.locked()["skills/deploy"]
    told = library.sources.why("deploy").to_json()
    decision, history = told.pop("decision"), told.pop("history")
    assert told == {
        "success": True,
        "name": "deploy",
        "path": str(world.root / "deploy"),
        "scope": "user",
        "installed": {**entry._asdict(), "files": 1, "edited": True, "shown": f"git:{repository.url}#path=deploy"},
        "trust": "community",
    }
    (audited,) = library.guard.audit().results
    assert (library.read("deploy").trust, audited.skill.decision.trust) == ("community", "community")
    assert [(item["actor"], item["action"]) for item in history] == [("user", "install")]
    assert (decision["action"], decision["decision"], decision["reason"]) == ("override", "allow", "I read it.")
    assert (decision["trust"], decision["verdict"]) == ("community", "dangerous")


def test_why_a_skill_is_there_that_nobody_installed(world: World) -> None:
    world.offer("own", where=world.root)
    library = world.library()
    assert library.sources.why("own").to_json() == {
        "success": True,
        "name": "own",
        "path": str(world.root / "own"),
        "scope": "user",
        "installed": None,
        "history": [],
        "decision": None,
        "trust": "local",
    }
    assert library.read("own").trust == "local"
    refused(lambda: library.sources.why("nothing"), "skill-not-found")


def test_the_projects_skills_are_told_of_their_own_lock(world: World) -> None:
    world.offer("deploy")
    library = world.library()
    library.sources.install(str(world.shelf), here=True)
    library.settings.trust()
    assert library.sources.why("deploy").to_json()["installed"]["path"] == "skills/deploy"
    assert library.sources.verify().skills == ()
    assert [item.status for item in library.sources.verify(here=True).skills] == ["ok"]
