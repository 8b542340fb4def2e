"""Plans that are applied: all or nothing, only onto what they were made for, and everything can come back."""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from sources.repositories import serving_git, wait_until
from sources.world import BODY, DANGER, World, held_contents, main, refused, told, world
from whet.errors import ConflictError, FailedError, RefusedError
from whet.sources.lock.file import lock_file, read, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet import Library
    from whet.notes import Progress
    from whet.sources.install.plan import Plan

__all__ = ["world"]

NEWER = BODY.replace("Last", "Newer")
HOUR = 3600 * 10**9


def installed(world: World, *names: str, **more: Any) -> Library:
    """A library in which these skills of the shelf are installed."""
    for name in names:
        world.offer(name, **more)
    library = world.library()
    library.sources.install(str(world.shelf), skills=names)
    return library


def state(world: World) -> tuple[dict[str, str], bytes]:
    """Everything a failed call must leave as it was."""
    return world.there(), world.lock().read_bytes() if world.lock().exists() else b""


# --- all or nothing -------------------------------------------------------------------------------------------------


def test_a_hundred_skills_are_one_fetch_one_run_and_one_lock(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"skills/s{number:02}/SKILL.md": main(f"s{number:02}", f"Do {number}.\n") for number in range(100)}
    repository = world.repository(files)
    written: list[str] = []
    replace = os.replace

    def counted(old: str, new: str) -> None:
        written.append(new)
        replace(old, new)

    monkeypatch.setattr(os, "replace", counted)
    with serving_git(world.top) as server:
        library = world.library()
        answer = library.sources.install(f"git:{server.url}/{repository.path.name}", every=True)
        assert (len(answer.done), server.fetches) == (100, 1)
        server.bodies.clear()
        assert {state for _, state, _ in told(library.sources.plan_update()).values()} == {"nothing"}
        assert server.fetches == 1, "the names of all files tell that nothing changed"
    assert written.count(str(world.lock())) == 1
    entries = library.edit.history.entries().to_json()["entries"]
    assert (len(entries), len({entry["run"] for entry in entries})) == (100, 1)
    assert library.sources.verify().valid
    assert len(library.history.undo(entries[0]["run"]).to_json()["skills"]) == 100
    assert (world.there(), world.locked()) == ({}, {})


def test_installing_raises_for_what_cannot_be_done_and_does_nothing(world: World) -> None:
    repository = world.repository({"good/SKILL.md": main("good"), "bad/SKILL.md": main("bad", DANGER)})
    world.offer("mine", "Mine.\n", where=world.root)
    world.offer("mine")
    library = world.library()
    before = state(world)
    error = refused(lambda: library.sources.install(repository.url, every=True), "policy-blocks")
    assert isinstance(error, RefusedError)
    assert isinstance(refused(lambda: library.sources.install(str(world.shelf)), "skill-exists"), ConflictError)
    assert state(world) == before
    assert library.sources.install(repository.url, every=True, override="I read it.").done == ("bad", "good")
    library.settings.pin("good")
    repository.commit({"good/SKILL.md": main("good", NEWER)})
    assert isinstance(refused(lambda: library.sources.install(repository.url), "pinned"), ConflictError)


def test_a_step_that_is_not_ready_is_not_done_and_stops_nobody(world: World) -> None:
    library = installed(world, "one", "two", "three")
    world.edit("one", "Last", "Mine")
    for name in ("one", "two"):
        world.offer(name, NEWER)
    shutil.rmtree(world.shelf / "three")
    answer = library.sources.update()
    assert (answer.done, answer.to_json()["counts"]) == (("two",), {"conflict": 1, "failed": 1, "ready": 1})
    assert [world.text(name) for name in ("one", "two", "three")] == [
        main("one", BODY.replace("Last", "Mine")),
        main("two", NEWER),
        main("three"),
    ]


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda world, _: world.edit("deploy", "First", "My"),
        lambda world, _: shutil.rmtree(world.root / "deploy"),
        lambda _, other: other.sources.uninstall("deploy"),
        lambda _, other: other.sources.update("deploy"),
        lambda _, other: other.settings.pin("deploy"),
    ],
    ids=["edited", "gone", "uninstalled", "updated", "pinned"],
)
def test_a_plan_for_something_that_is_different_by_now(
    world: World, meanwhile: Callable[[World, Library], object]
) -> None:
    library = installed(world, "deploy", "pdf")
    for name in ("deploy", "pdf"):
        world.offer(name, NEWER)
    plan = library.sources.plan_update()
    meanwhile(world, world.library())
    before = state(world)
    assert isinstance(refused(lambda: library.sources.apply(plan), "skill-changed"), ConflictError)
    assert state(world) == before


def test_a_plan_to_install_what_somebody_else_has_put_there_by_now(world: World) -> None:
    world.offer("deploy")
    library, other = world.library(), world.library()
    plan = library.sources.plan_install(str(world.shelf))
    other.sources.install(str(world.shelf))
    before = state(world)
    refused(lambda: library.sources.apply(plan), "skill-changed")
    assert state(world) == before
    other.sources.uninstall("deploy")
    world.offer("deploy", where=world.root)
    refused(lambda: library.sources.apply(plan), "skill-changed")


def test_an_adoption_of_something_that_is_different_by_now(world: World) -> None:
    world.offer("deploy", where=world.root)
    library = world.library()
    plan = library.sources.plan_adopt()
    world.edit("deploy", "First", "My")
    refused(lambda: library.sources.apply(plan), "skill-changed")
    assert not world.lock().exists()


def test_ctrl_c_at_any_step_leaves_the_old_or_the_new(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    library = installed(world, "one", "two", guide="How.\n")
    old = state(world)
    for name in ("one", "two"):
        world.offer(name, NEWER, guide="How else.\n", more_="More.\n")
    left = [0]

    def armed(real: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            return real(*given, **more)

        return call

    for name in ("rename", "replace", "mkdir", "link", "unlink", "chmod", "write"):
        monkeypatch.setattr(os, name, armed(getattr(os, name)))
    plan = library.sources.plan_update()
    outcomes = []
    for step in count(1):
        left[0] = step
        with suppress(KeyboardInterrupt):
            library.sources.apply(plan)
        done, left[0] = left[0] > 0, 0
        library.sources.verify()
        outcomes.append(state(world))
        if done:
            break
        if outcomes[-1] != old:
            library.history.undo(library.edit.history.entries(last=1).to_json()["entries"][0]["run"])
            assert world.there() == old[0]
            old, plan = state(world), library.sources.plan_update()
    assert len(outcomes) > 10
    assert len({*map(str, outcomes)} - {str(old)}) >= 1
    for there, _ in outcomes:
        assert there in (old[0], outcomes[-1][0])
    assert library.edit.history.verify().valid


# --- decisions ------------------------------------------------------------------------------------------------------


def test_every_decision_is_recorded(world: World) -> None:
    repository = world.repository({"good/SKILL.md": main("good"), "bad/SKILL.md": main("bad", DANGER)})
    library = world.library()
    library.sources.apply(library.sources.plan_install(repository.url, every=True))
    library.sources.apply(
        library.sources.plan_install(repository.url, skills=["bad"]), override="I read it.", actor="user"
    )
    library.sources.uninstall("good")
    records = [(item.action, item.skill, item.decision) for item in library.guard.audit_log().records]
    assert records == [
        ("install", "bad", "block"),
        ("install", "good", "allow"),
        ("override", "bad", "allow"),
        ("install", "bad", "block"),
        ("uninstall", "good", "allow"),
    ]
    assert library.guard.verify_audit().valid


# --- uninstall, restore ---------------------------------------------------------------------------------------------


def test_what_is_uninstalled_comes_back_with_its_edits_and_its_entry(world: World) -> None:
    library = installed(world, "deploy", "pdf")
    world.edit("deploy", "First", "My")
    before = world.there(), world.locked()
    plan = library.sources.plan_uninstall("deploy")
    assert [step.reason for step in plan.steps] == ["This includes your edits, which the history keeps."]
    library.sources.apply(plan)
    assert (list(world.there()), list(world.locked())) == (["pdf"], ["skills/pdf"])
    library.history.undo(str(library.edit.history.entries("deploy").to_json()["entries"][-1]["id"]))
    assert (world.there(), world.locked()) == before


def test_names_that_are_not_installed_or_not_clear(world: World) -> None:
    library = installed(world, "deploy")
    (world.offer("two/deploy", "Another.\n", where=world.root)).rename(world.root / "two" / "other")
    library.sources.apply(library.sources.plan_adopt())
    error = refused(lambda: library.sources.plan_uninstall("deplyo"), "not-installed")
    assert error.details["suggestions"] == ["deploy"]
    error = refused(lambda: library.sources.plan_uninstall("deploy"), "ambiguous-skill")
    assert error.details["candidates"] == ["skills/deploy", "skills/two/other"]
    assert told(library.sources.plan_uninstall("skills/two/other")) == {"deploy": ("uninstall", "ready", "")}
    assert told(library.sources.plan_uninstall("two/other")) == {"deploy": ("uninstall", "ready", "")}
    assert library.sources.plan_uninstall().steps == ()


def test_a_lock_entry_without_a_skill_can_be_uninstalled(world: World) -> None:
    library = installed(world, "deploy")
    shutil.rmtree(world.root / "deploy")
    plan = library.sources.plan_uninstall("deploy")
    assert [step.reason for step in plan.steps] == ["It was already gone."]
    library.sources.apply(plan)
    assert world.locked() == {}


def test_everything_comes_back_from_what_is_kept_here(world: World) -> None:
    library = installed(world, "one", "two", "three")
    before = state(world)
    shutil.rmtree(world.root / "one")
    world.edit("two", "First", "My")
    shutil.rmtree(world.shelf)
    plan = library.sources.plan_restore()
    assert told(plan) == {
        "one": ("restore", "ready", ""),
        "three": ("keep", "nothing", ""),
        "two": ("keep", "nothing", ""),
    }
    library.sources.apply(plan)
    library.sources.apply(library.sources.plan_restore(force=True))
    assert state(world) == before
    library.history.rollback("two")
    assert "My line." in world.text("two"), "the edits are in the history"


def test_another_machine_restores_from_the_sources_at_their_revisions(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy"), "pdf/SKILL.md": main("pdf")})
    world.library().sources.install(repository.url, every=True)
    wanted = state(world)
    repository.commit({"deploy/SKILL.md": main("deploy", NEWER)})
    shutil.rmtree(world.root)
    shutil.rmtree(world.state)
    world.state.mkdir()
    library = world.library()
    library.sources.apply(library.sources.plan_restore())
    assert state(world) == wanted
    assert library.sources.verify().valid
    assert told(library.sources.plan_update()) == {
        "deploy": ("update", "ready", ""),
        "pdf": ("keep", "failed", "gone-from-source"),
    }


def test_a_forced_push_of_the_same_content_loses_nothing(world: World) -> None:
    files = {"deploy/SKILL.md": main("deploy"), "pdf/SKILL.md": main("pdf")}
    repository = world.repository(files)
    world.library().sources.install(repository.url, every=True)
    wanted = state(world)

    def forget() -> Library:
        """Another machine, which has only the lock, and a server that has only what its branch leads to."""
        repository.git("reflog", "expire", "--expire=now", "--all")
        repository.git("gc", "-q", "--prune=now")
        shutil.rmtree(world.root)
        shutil.rmtree(world.state)
        world.state.mkdir()
        return world.library()

    new = repository.commit({**files, "README.md": "New."}, orphan=True)
    library = forget()
    plan = library.sources.plan_restore(frozen=True)
    assert told(plan) == {"deploy": ("restore", "ready", ""), "pdf": ("restore", "ready", "")}
    library.sources.apply(plan)
    assert state(world) == wanted, "the lock stays as it is"
    before = world.locked()
    library.sources.apply(library.sources.plan_update())
    assert world.locked() == {path: entry._replace(revision=new) for path, entry in before.items()}
    repository.commit({**files, "pdf/SKILL.md": main("pdf", NEWER)}, orphan=True)
    plan = forget().sources.plan_restore()
    assert told(plan) == {"deploy": ("restore", "ready", ""), "pdf": ("keep", "failed", "no-such-ref")}
    (failed,) = (step for step in plan.steps if step.state == "failed")
    source = f"git:{repository.url}#path=pdf"
    assert (failed.reason, failed.hint) == (
        f"{source} no longer has the revision {new[:12]}, and its content has changed.",
        "To install what it has now, run `whet remove pdf`, then `whet install` with its address.",
    )


def test_a_source_that_has_something_else_now_restores_nothing(world: World) -> None:
    installed(world, "deploy", "pdf")
    shutil.rmtree(world.root)
    shutil.rmtree(world.state)
    world.state.mkdir()
    world.offer("deploy", NEWER)
    library = world.library()
    plan = library.sources.plan_restore()
    assert told(plan) == {"deploy": ("restore", "failed", "digest-mismatch"), "pdf": ("restore", "ready", "")}
    library.sources.apply(plan)
    assert list(world.there()) == ["pdf"]


def test_what_has_no_source_and_is_not_kept_cannot_be_restored(world: World) -> None:
    world.offer("deploy", where=world.root)
    library = world.library()
    library.sources.apply(library.sources.plan_adopt())
    shutil.rmtree(world.root / "deploy")
    assert told(library.sources.plan_restore()) == {"deploy": ("restore", "ready", "")}, "what was adopted is kept"
    entry = world.locked()["skills/deploy"]._replace(digest=f"sha256:{'0' * 64}")
    write(lock_file(str(world.root)), read(lock_file(str(world.root)))._replace(entries=(entry,)))
    assert told(library.sources.plan_restore()) == {"deploy": ("keep", "failed", "no-source")}


def test_what_is_restored_is_judged_again(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy", DANGER)})
    library = world.library()
    library.sources.install(repository.url, override="I read it.")
    shutil.rmtree(world.root / "deploy")
    assert told(library.sources.plan_restore()) == {"deploy": ("restore", "ready", "")}, "the override holds"
    with library.workspace.state.write() as connection:
        connection.execute("DELETE FROM audit")
    assert told(library.sources.plan_restore()) == {"deploy": ("restore", "blocked", "policy-blocks")}


# --- the lock of a repository ---------------------------------------------------------------------------------------


def outside(world: World, kind: str) -> str:
    """A place on this machine that is no part of the project, as a lock names it."""
    if kind == "git":
        return f"git:{world.repository({'deploy/SKILL.md': main('deploy')}).url}#path=deploy"
    path = world.offer("deploy")
    if kind == "archive":
        return f"archive:{shutil.make_archive(str(world.top / 'deploy'), 'zip', path)}"
    if kind == "link":
        (world.project / "inside").symlink_to(world.shelf)
        return "path:../inside#path=deploy"
    return f"path:{path}"


@pytest.mark.parametrize("kind", ["path", "archive", "git", "link"])
def test_the_lock_of_a_repository_does_not_lead_out_of_it(world: World, kind: str) -> None:
    world.offer("deploy", where=world.project / "src")
    library = world.library()
    library.sources.install(str(world.project / "src"), here=True)
    (entry,) = world.locked(world.here).values()
    assert entry.source == "path:../src#path=deploy"
    forged = entry._replace(source=outside(world, kind), marker="another", digest=f"sha256:{'0' * 64}")
    write(str(world.lock(world.here)), read(str(world.lock(world.here)))._replace(entries=(forged,)))
    shutil.rmtree(world.here)
    reads = [library.sources.plan_restore(here=True), library.sources.plan_update(here=True)]
    assert [told(plan) for plan in reads] == [{"deploy": ("keep", "failed", "outside-project")}] * 2
    assert library.sources.outdated(here=True).skills[0].code == "outside-project"


def test_whoever_installed_from_outside_of_a_repository_can_update(world: World) -> None:
    world.offer("deploy")
    library = world.library()
    library.sources.install(str(world.shelf / "deploy"), here=True)
    library.settings.trust()
    world.offer("deploy", NEWER)
    assert told(library.sources.plan_update(here=True)) == {"deploy": ("update", "ready", "")}
    (entry,) = world.locked(world.here).values()
    other = world.offer("deploy", where=world.top / "other")
    forged = read(str(world.lock(world.here)))._replace(entries=(entry._replace(source=f"path:{other}"),))
    write(str(world.lock(world.here)), forged)
    library.settings.pin("deploy")  # the lock is written with what was pulled
    library.settings.unpin("deploy")
    assert told(library.sources.plan_update(here=True)) == {"deploy": ("keep", "failed", "outside-project")}


def trusts(plan: Plan) -> list[str]:
    return [step.judgement.decision.trust for step in plan.steps if step.judgement]


def test_a_clone_on_this_machine_is_named(world: World) -> None:
    path = world.offer("deploy")
    (path / ".git").mkdir()
    (path / ".git" / "config").write_text(
        '[remote "origin"]\n\turl = https://user:secret@example.com/acme/deploy.git\n'
    )
    (note,) = world.library().sources.plan_install(str(path)).notes
    assert note.code == "local-clone" and "secret" not in note.message
    assert "a clone of https://example.com/acme/deploy.git." in note.message


def test_a_strangers_clone_in_a_trusted_directory_is_a_strangers(world: World) -> None:
    path = world.offer("deploy", where=world.project / "vendor")
    library = world.library()
    library.settings.trust()
    assert trusts(library.sources.plan_install(str(path), here=True)) == ["trusted"]
    (path / ".git").mkdir()
    (path / ".git" / "config").write_text('[remote "origin"]\n\turl = https://example.com/acme/deploy.git\n')
    for here in (True, False):
        assert trusts(world.library().sources.plan_install(str(path), here=here)) == ["community"]


def test_the_lock_of_a_repository_may_lead_into_it(world: World) -> None:
    world.offer("deploy", where=world.project / "src")
    library = world.library()
    library.sources.install(str(world.project / "src"), here=True)
    world.offer("deploy", NEWER, where=world.project / "src")
    assert told(library.sources.plan_update(here=True)) == {"deploy": ("update", "ready", "")}


def test_the_users_own_lock_may_lead_anywhere(world: World) -> None:
    library = installed(world, "deploy")
    world.offer("deploy", NEWER)
    assert told(library.sources.plan_update()) == {"deploy": ("update", "ready", "")}


def test_a_lock_cannot_say_that_a_skill_is_trusted(world: World) -> None:
    world.offer("deploy", DANGER, where=world.here)
    library = world.library()
    library.sources.apply(library.sources.plan_adopt(here=True))
    (entry,) = world.locked(world.here).values()
    forged = entry._replace(trust="trusted")
    write(str(world.lock(world.here)), read(str(world.lock(world.here)))._replace(entries=(forged,)))
    shutil.rmtree(world.here / "deploy")
    assert told(library.sources.plan_restore(here=True)) == {"deploy": ("restore", "blocked", "policy-blocks")}


# --- what merges start from -----------------------------------------------------------------------------------------


def test_compacting_keeps_what_merges_start_from(world: World) -> None:
    now = [1_800_000_000 * 10**9]
    world.offer("deploy")
    library = world.library(clock=lambda: now[0])
    library.sources.install(str(world.shelf))
    world.edit("deploy", "First", "My")
    world.offer("deploy", NEWER)
    library.sources.update()
    base = world.locked()["skills/deploy"].digest
    journal = library.edit.journal
    assert base not in held_contents(journal), "what the source had was never on disk"
    now[0] += 2 * HOUR
    library.edit.history.compact()
    assert journal.content(base) == {"SKILL.md": journal.content(base)["SKILL.md"]}  # type: ignore[index]  # kept
    world.offer("deploy", NEWER.replace("Middle", "Other"))
    assert told(library.sources.plan_update()) == {"deploy": ("merge", "ready", "")}
    library.sources.update()
    assert world.text("deploy") == main("deploy", NEWER.replace("Middle", "Other").replace("First", "My"))
    # Back to the first merge: what that one started from is still kept.
    now[0] += 2 * HOUR
    library.history.rollback("deploy")
    library.edit.history.compact()
    assert world.locked()["skills/deploy"].digest == base
    assert told(library.sources.plan_update()) == {"deploy": ("merge", "ready", "")}


def test_uninstalling_lets_go_of_what_merges_start_from(world: World) -> None:
    now = [1_800_000_000 * 10**9]
    world.offer("deploy")
    library = world.library(clock=lambda: now[0])
    library.sources.install(str(world.shelf))
    world.edit("deploy", "First", "My")
    world.offer("deploy", NEWER)
    library.sources.update()
    base = world.locked()["skills/deploy"].digest
    library.sources.uninstall("deploy")
    now[0] += 2 * HOUR
    assert library.edit.history.compact() == 2
    refused(lambda: library.edit.journal.content(base), "no-such-content")


def test_taking_one_update_back_leaves_the_others_of_its_run(world: World) -> None:
    library = installed(world, "one", "two")
    world.edit("one", "First", "My")
    for name in ("one", "two"):
        world.offer(name, NEWER)
    library.sources.update()
    library.history.undo(str(library.edit.history.entries("one").to_json()["entries"][-1]["id"]))
    assert (world.text("one"), world.text("two")) == (main("one", BODY.replace("First", "My")), main("two", NEWER))


# --- ending it ------------------------------------------------------------------------------------------------------


def test_cancelling_ends_every_fetch_and_leaves_nothing(world: World) -> None:
    names = ("one", "two", "three")
    for name in names:
        world.repository({"SKILL.md": main(name)}, name)
    with serving_git(world.top) as server:
        library = world.library()
        sources = [f"git:{server.url}/{name}" for name in names]
        server.behaviour.update(dict.fromkeys(("one", "two"), "hang"))

        def end() -> None:
            wait_until(lambda: len({request.split("/")[1] for request in server.requests}) == 3)
            library.sources.cancel()

        ending = threading.Thread(target=end)
        ending.start()
        assert isinstance(refused(lambda: library.sources.install(*sources), "cancelled"), FailedError)
        ending.join()
        assert (world.left(), world.there()) == ([], {})
        server.ended.set()
        server.behaviour.clear()
        assert library.sources.install(*sources).done == tuple(names), "the next plan is not concerned"
    assert world.left() == []


def test_one_source_that_fails_ends_the_others_and_is_the_one_that_is_told(world: World) -> None:
    for name in ("one", "two"):
        world.repository({"SKILL.md": main(name)}, name)
    with serving_git(world.top) as server:
        library = world.library()
        server.behaviour.update({"one": "hang", "two": "hang"})
        sources = [f"git:{server.url}/{name}" for name in ("one", "two", "nowhere")]
        assert refused(lambda: library.sources.install(*sources), "source-not-found").code != "cancelled"
        assert (world.left(), world.there()) == ([], {})
        server.ended.set()
        server.behaviour.clear()
        assert library.sources.install(*sources[:2]).done == ("one", "two")


def test_fetching_reports_how_far_it_has_come(world: World) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy")})
    world.offer("pdf")
    library = world.library()
    seen: list[Progress] = []
    library.progress = seen.append
    library.sources.install(repository.url)
    library.sources.install(str(world.shelf))
    assert [progress for progress in seen if progress.unit == "skills"] == [
        ("Scan", 1, 1, "skills"),
        ("Write", 0, 1, "skills"),
        ("Write", 1, 1, "skills"),
        (str(world.shelf), 0, 1, "skills"),
        ("pdf", 0, 1, "skills"),
        ("Scan", 1, 1, "skills"),
        ("Write", 0, 1, "skills"),
        ("Write", 1, 1, "skills"),
    ]
