"""Whatever is done to a skill, everything that is known about it follows: one event, and every store hears of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import pytest
from learning.episodes import release_notes

from authoring.world import World, created, refused, world
from whet.authoring.writer import Provenance
from whet.learning.usage import counted_as
from whet.library.state import Blocked
from whet.library.visibility import MODEL, hidden

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet import Library

__all__ = ["world"]

DAY = 86_400 * 10**9


class Later:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000 * 10**9

    def __call__(self) -> int:
        self.now += 1000
        return self.now


def offered(library: Library) -> list[str]:
    """The skills that a model gets to see, of those made here."""
    return [item["name"] for item in library.skills(caller=MODEL).to_json()["skills"] if item["scope"] == "user"]


@pytest.fixture
def library(world: World) -> Library:
    """Two skills of the user's; one is pinned and switched off."""
    library = world.machine()
    library.edit.apply([created("a"), created("other")])
    library.settings.pin("a", "Needed once a year.")
    library.settings.disable("a")
    return library


def rename(library: Library, old: str, new: str) -> None:
    library.edit.apply([{"action": "rename", "name": old, "new_name": new}])


def test_a_renamed_skill_stays_switched_off(library: Library) -> None:
    rename(library, "a", "b")
    assert offered(library) == ["other"]
    library.history.undo(library.history.entries(last=1).to_json()["entries"][0]["run"])
    assert library.card("a").name == "a"
    assert offered(library) == ["other"]
    assert library.settings.enable("a").changed is True
    assert offered(library) == ["a", "other"]


def test_a_renamed_skill_stays_pinned(library: Library) -> None:
    rename(library, "a", "b")
    refused(lambda: library.learning.archive("b").to_json(), "pinned")
    library.history.undo(library.history.entries(last=1).to_json()["entries"][0]["run"])
    refused(lambda: library.learning.archive("a"), "pinned")
    assert library.settings.unpin("a").changed is True
    library.learning.archive("a")


def test_a_name_that_somebody_switched_off_before_skills_had_ids_is_kept_by_a_rename(world: World) -> None:
    library = world.machine()
    library.edit.apply([created("a")])
    library.workspace.decisions.disable("a")
    library.workspace.decisions.pin("a", "An older Whet wrote the name.")
    assert offered(library) == []
    rename(library, "a", "b")
    assert offered(library) == []
    refused(lambda: library.learning.archive("b").to_json(), "pinned")


def test_what_was_said_of_a_name_before_skills_had_ids_counts_and_is_taken_over(world: World) -> None:
    library = world.machine()
    library.edit.apply([created("a")])
    library._stores.feedback.record("a", "ship the shop", fits=True)
    library.learning.usage.record("use", "user:a", "sha256:0")
    assert library.learning.list_feedback("a").to_json()["feedback"][0]["skill"] == "a"
    assert not library.learning.feedback("a", "ship the shop", fits=False, origin="agent").to_json()["changed"], (
        "a person has said so"
    )
    rename(library, "a", "b")
    assert library.learning.list_feedback("b").to_json()["count"] == 1
    total = library.learning.usage.of(str(library.card("b").id))
    assert total is not None and total.uses == 1


def test_of_two_skills_of_one_name_the_one_that_is_switched_off_is_meant(world: World) -> None:
    world.skill("same", where=world.mine)
    world.skill("same", where=world.home / ".claude" / "skills")
    library = world.machine()
    library.settings.disable("same")
    rename(library, "same", "new")
    assert offered(library) == ["same"], "the other one was never switched off"


def test_several_renames_at_once_are_told_apart(library: Library) -> None:
    moves = [("a", "b"), ("other", "else")]
    library.edit.apply([{"action": "rename", "name": old, "new_name": new} for old, new in moves])
    assert offered(library) == ["else"]
    refused(lambda: library.learning.archive("b").to_json(), "pinned")
    library.history.undo(library.history.entries(last=1).to_json()["entries"][0]["run"])
    assert offered(library) == ["other"]


def test_everything_read_through_a_library_counts(world: World) -> None:
    world.skill("deploy", where=world.mine)
    library = world.machine()
    library.read("deploy")
    library.invoke("/deploy now")
    library.render("deploy")
    (total,) = library.learning.usage.totals()
    assert (total.views, total.uses) == (1, 2)


@pytest.mark.parametrize("how", ["view", "invoke"])
def test_the_curator_leaves_alone_what_is_read_every_second_day(world: World, how: str) -> None:
    clock = Later()
    library = world.machine(clock=clock)
    library.edit.apply([created("deploy")], by=Provenance("agent"))
    for _ in range(60):
        clock.now += 2 * DAY
        library.read("deploy") if how == "view" else library.invoke("/deploy")
        library.learning.curate(if_due=True)
    assert library.card("deploy")


def test_what_an_agent_wrote_stays_an_agents_whoever_renames_it_or_brings_it_back(world: World) -> None:
    library = world.machine()
    library.edit.apply([created("a")], by=Provenance("agent"))
    library.edit.rename("a", "b")
    assert library.guard.explain("b").decision.trust == "agent-created"
    library.edit.delete("b")
    library.edit.restore("b")
    assert library.guard.explain("b").decision.trust == "agent-created"


# everything, done to a skill that every store knows


class Kept(NamedTuple):
    """What every store says about a skill."""

    off: bool
    pinned: bool
    examples: int
    uses: int
    locked: bool
    bundled: bool
    active: bool
    """In the context of a conversation that is kept."""
    offered: bool
    """Offered in it."""
    made: bool
    """Its first content is in its history."""
    kept_back: bool = False


ALL = Kept(off=True, pinned=True, examples=1, uses=2, locked=True, bundled=True, active=True, offered=True, made=True)
CLIENT = ("claude-code", "conversation")


def known(library: Library, name: str) -> Kept:
    """What every store says about the skill of that name, which is there."""
    card, config = library.workspace.find(name)
    total = library.learning.usage.of(*counted_as(card))
    (bundle,) = library.settings.bundles()
    conversation = library._stores.sessions.state(*CLIENT)
    (active,) = conversation["active"]
    assert os.path.dirname(active["path"]) == active["directory"]
    return Kept(
        off=hidden(card, MODEL, config.disabled, config.probe) is not None,
        pinned=not library.workspace.decisions.pins().keys().isdisjoint(card.known_as),
        examples=library.learning.list_feedback(name).to_json()["count"],
        uses=total.uses if total else 0,
        locked=library.sources.is_locked(name),
        bundled=name in bundle.skills,
        active=(active["id"], active["directory"]) == (str(card.id), card.directory),
        offered=str(card.id) in conversation["offered"],
        made=library.history.entries(name).entries[0].before == "",
        kept_back=bool(config.disabled.kept_back(card)),
    )


@pytest.fixture
def full(world: World, tmp_path: Path) -> Library:
    """A library with one skill that is installed, pinned, switched off, fed back, counted and in a bundle."""
    world.skill("deploy", where=tmp_path / "source")
    library = world.machine()
    library.sources.install(str(tmp_path / "source" / "deploy"))
    library.learning.feedback("deploy", "ship the shop", fits=True)
    for _ in range(2):
        library.learning.record("use", library.card("deploy"), "sha256:0")
    library.settings.save_bundle("release", ["deploy"])
    session = library.session()
    session.view("deploy")
    session.noticed(library.card("deploy"))
    library._stores.sessions.note(*CLIENT, prompts=1)
    library._stores.sessions.keep(*CLIENT, session.to_json())
    library.settings.pin("deploy")
    library.settings.disable("deploy")
    assert known(library, "deploy") == ALL
    return library


def last_run(library: Library) -> str:
    return str(library.history.entries(last=1).to_json()["entries"][0]["run"])


def staged_rename(library: Library) -> None:
    operation = {"action": "rename", "name": "deploy", "new_name": "ship"}
    library.proposals.approve(library.edit.apply([operation], stage=True).proposal or 0)


def renamed_and_back(library: Library) -> None:
    library.edit.rename("deploy", "ship")
    library.edit.history.undo()


def renamed_and_again(library: Library) -> None:
    renamed_and_back(library)
    library.edit.history.undo(library.edit.history.entries(last=1).entries[0].run)


def rolled_back(library: Library) -> None:
    library.edit.patch("deploy", find="Body.", replace="Soul.")
    library.edit.history.rollback("deploy")


def deleted_and_restored(library: Library) -> None:
    library.edit.delete("deploy")
    library.edit.restore("deploy")


def uninstalled_and_undone(library: Library) -> None:
    library.sources.uninstall("deploy")
    library.history.undo(last_run(library))


def archived_and_restored(library: Library) -> None:
    refused(lambda: library.learning.archive("deploy"), "pinned")
    library.settings.unpin("deploy")
    library.learning.archive("deploy")
    library.edit.restore("deploy")
    library.settings.pin("deploy")


def archived_and_undone(library: Library) -> None:
    library.settings.unpin("deploy")
    library.learning.archive("deploy")
    library.history.undo()
    library.settings.pin("deploy")


def distilled(library: Library) -> None:
    """A session becomes a new version of it."""
    before = library.read("deploy").digest
    library.learning.distill(release_notes(), name="deploy")
    assert library.read("deploy").digest != before


WAYS: dict[str, tuple[Callable[[Library], object], str]] = {
    "rename": (lambda library: library.edit.rename("deploy", "ship"), "ship"),
    "rename and undo": (renamed_and_back, "deploy"),
    "rename, undo, and undo that": (renamed_and_again, "ship"),
    "approve a rename": (staged_rename, "ship"),
    "patch and rollback": (rolled_back, "deploy"),
    "delete and restore": (deleted_and_restored, "deploy"),
    "uninstall and undo": (uninstalled_and_undone, "deploy"),
    "update": (lambda library: library.sources.update(), "deploy"),
    "archive and restore": (archived_and_restored, "deploy"),
    "archive and undo": (archived_and_undone, "deploy"),
    "curate": (lambda library: library.learning.curate(apply=True), "deploy"),
    "distill": (distilled, "deploy"),
    "adopt": (lambda library: library.sources.apply(library.sources.plan_adopt()), "deploy"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_store_follows(full: Library, way: str) -> None:
    do, name = WAYS[way]
    do(full)
    assert known(full, name) == ALL


def test_what_the_curator_archived_comes_back_with_everything(world: World) -> None:
    clock = Later()
    library = world.machine(clock=clock)
    library.edit.apply([created("deploy")], by=Provenance("agent"))
    library.learning.feedback("deploy", "ship the shop", fits=True)
    library.learning.record("use", library.card("deploy"), "sha256:0")
    library.settings.disable("deploy")
    for _ in range(4):
        clock.now += 100 * DAY
        library.learning.curate(apply=True)
    refused(lambda: library.card("deploy"), "skill-not-found")
    library.history.undo(last_run(library))
    card, config = library.workspace.find("deploy")
    total = library.learning.usage.of(*counted_as(card))
    assert (config.disabled.source(card, "") is not None, total.uses if total else 0) == (True, 1)
    assert len(library._stores.feedback.examples(*card.known_as).examples) == 1


def test_what_is_kept_back_follows_too(full: Library) -> None:
    decisions, old, blocked = (
        full.workspace.decisions,
        full.card("deploy").id,
        Blocked("The guard says no.", "dangerous"),
    )
    new = old._replace(path="ship")
    decisions.block(str(old), blocked)
    decisions.move(old, new)
    assert decisions.blocked() == {str(new): blocked}
    decisions.move(new, old)
    assert full.card("deploy").name == "deploy"
    assert decisions.blocked() == {}, "for its content there is no reason"


def test_a_skill_that_is_gone_is_still_known_when_it_comes_back(full: Library) -> None:
    full.sources.uninstall("deploy")
    assert not full.sources.is_locked("deploy")
    full.edit.apply([created("deploy")])
    assert known(full, "deploy") == ALL._replace(locked=False)


def test_a_project_bundle_is_not_rewritten(full: Library, world: World) -> None:
    full.settings.trust()
    full.settings.save_bundle("team", ["deploy"], project=True)
    change = full.edit.rename("deploy", "ship")
    path = world.project / ".agents" / "bundles" / "team.yaml"
    assert change.notes[-1] == f"The bundle /team still names deploy; write ship into {path}."
    assert "deploy" in path.read_text()


def test_a_writer_that_is_killed_after_the_files_were_moved_leaves_nothing_behind(
    full: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """As if the process had ended."""

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(full.edit.writer, "_settle", kill)
        patch.setattr(full.edit.writer, "_take_back", lambda *_: None)
        with pytest.raises(Killed):
            full.edit.rename("deploy", "ship")
    full.edit.history.recover()
    assert known(full, "ship")._replace(bundled=True, uses=2) == ALL, "the state database is never behind"
