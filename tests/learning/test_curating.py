"""The curator at work on a real library: plans write nothing, a run is one thing to undo, merges wait for a person."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from whet import Library
from whet.authoring.writer import Provenance
from whet.errors import ConflictError, RefusedError
from whet.learning.curator import DAY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEGINNING = 1_800_000_000 * 10**9


class World:
    """A library whose clock is set by hand."""

    def __init__(self, top: Path) -> None:
        self.now = BEGINNING
        self.top = top
        (top / "state").mkdir()
        (top / "project").mkdir()
        env = {"HOME": str(top / "home"), "PATH": ""}
        self.library = Library.open(home=top / "state", project=top / "project", env=env, clock=self.clock)

    def clock(self) -> int:
        self.now += 1000
        return self.now

    def create(self, name: str, description: str = "", body: str = "", actor: str = "agent") -> None:
        operation = {
            "action": "create",
            "name": name,
            "description": description or f"Handles {name} matters. Use when {name} comes up.",
            "body": body or f"# {name}\n\nDo what {name} needs, step by step.\n",
        }
        self.library.edit.apply([operation], by=Provenance(actor))

    def later(self, days: float) -> None:
        self.now += int(days * DAY)

    def names(self) -> list[str]:
        return [card.name for card in self.library.catalogue.cards]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: ())
    made = World(tmp_path)
    yield made
    made.library.close()


def steps(answer: dict[str, object]) -> list[tuple[str, str]]:
    plan = answer["plan"]
    assert isinstance(plan, dict)
    return [(step["name"], step["state"]) for step in plan["steps"]]


def test_a_skill_that_nobody_uses_goes_stale_then_away_and_comes_back_whole(world: World) -> None:
    for name in ("alpha", "bravo"):
        world.create(name)
    before = world.library.workspace.digest()
    world.library.learning.curating.curate(apply=True)
    world.later(40)
    assert steps(world.library.learning.curating.curate(apply=True).to_json()) == [
        ("alpha", "stale"),
        ("bravo", "stale"),
    ]
    world.later(60)
    world.library.learning.record("use", world.library.card("bravo"), "sha256:0")
    answer = world.library.learning.curating.curate(apply=True).to_json()
    assert steps(answer) == [("alpha", "archived")]
    assert (world.names(), answer["run"] != "") == (["bravo"], True)
    world.library.edit.history.undo(answer["run"])
    assert world.library.workspace.digest() == before
    assert world.library.edit.history.verify().valid


def test_looking_at_the_plan_changes_nothing(world: World) -> None:
    world.create("alpha")
    world.library.learning.curating.curate(apply=True)
    world.later(40)
    entries = world.library.edit.history.entries().to_json()["entries"]
    for _ in range(3):
        assert steps(world.library.learning.curating.curate().to_json()) == [("alpha", "stale")]
    assert world.library.edit.history.entries().to_json()["entries"] == entries


def test_what_a_person_wrote_is_never_touched(world: World) -> None:
    world.create("mine", actor="user")
    world.create("pinned")
    world.create("named")
    world.library.settings.pin("pinned", "Once a year.")
    world.library.settings.save_bundle("yearly", ["named"])
    world.library.learning.curating.curate(apply=True)
    for _ in range(4):
        world.later(60)
        assert steps(world.library.learning.curating.curate(apply=True).to_json()) == []
    assert world.names() == ["mine", "named", "pinned"]


def test_a_renamed_skill_is_still_the_agents(world: World) -> None:
    world.create("alpha")
    world.library.edit.apply([{"action": "rename", "name": "alpha", "new_name": "omega"}], by=Provenance("agent"))
    world.library.learning.curating.curate(apply=True)
    world.later(40)
    assert steps(world.library.learning.curating.curate().to_json()) == [("omega", "stale")]


def test_a_schedule_runs_it_only_when_it_is_due(world: World) -> None:
    world.create("alpha")
    assert world.library.learning.curating.curate(if_due=True).to_json()["applied"] is False
    world.later(3)
    assert world.library.learning.curating.curate(if_due=True).to_json()["applied"] is False
    world.later(40)
    assert world.library.learning.curating.curate(if_due=True).to_json()["applied"] is True
    assert world.library.learning.curating.curate(if_due=True).to_json()["applied"] is False


def test_near_duplicates_are_proposed_to_be_merged_and_wait(world: World) -> None:
    text = (
        "# Release notes\n\nCollect merged changes since the last tag, group them by audience, write one line each.\n"
    )
    about = "Writes release notes from merged changes since the last tag. Use when asked for release notes."
    world.create("release-notes", about, text)
    world.create("release-notes-writer", about, f"{text}\nLeave out refactorings.\n")
    answer = world.library.learning.curating.curate(apply=True).to_json()
    assert (world.names(), len(answer["proposals"])) == (["release-notes", "release-notes-writer"], 1)
    assert world.library.learning.curating.curate(apply=True).to_json()["proposals"] == [], (
        "the same one is not proposed twice"
    )
    before = world.library.workspace.digest()
    approved = world.library.edit.proposals.approve(answer["proposals"][0]).to_json()
    assert len(world.names()) == 1
    (card,) = world.library.catalogue.cards
    assert os.listdir(os.path.join(card.directory, "references")) != []
    run = world.library.edit.history.entries().to_json()["entries"][-1]["run"]
    world.library.edit.history.undo(run)
    assert (world.library.workspace.digest(), approved["state"]) == (before, "approved")


def test_archiving_by_hand_respects_pins_and_what_is_not_ones_own(world: World) -> None:
    world.create("alpha")
    world.library.settings.pin("alpha")
    with pytest.raises(ConflictError) as pinned:
        world.library.learning.curating.archive("alpha")
    assert pinned.value.code == "pinned"
    world.library.settings.unpin("alpha")
    world.library.learning.curating.archive("alpha", "Not needed.")
    assert world.names() == []
    world.library.edit.apply([{"action": "restore", "name": "alpha"}])
    assert world.names() == ["alpha"]


def test_what_belongs_to_a_plugin_cannot_be_archived(world: World) -> None:
    (world.top / "plugin" / "alpha").mkdir(parents=True)
    (world.top / "plugin" / "alpha" / "SKILL.md").write_text("---\nname: alpha\ndescription: Does alpha.\n---\n")
    (world.top / "state" / "config.toml").write_text(f"[plugins]\nteam = '{world.top / 'plugin'}'\n")
    with pytest.raises(RefusedError) as caught:
        world.library.learning.curating.archive("team:alpha")
    assert caught.value.code == "protected"


def test_a_skill_that_changed_meanwhile_is_not_archived(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.create("alpha")
    world.library.learning.curating.curate(apply=True)
    for days in (40, 60):
        world.later(days)
        world.library.learning.curating.curate(apply=days == 40)
    curating = world.library.learning.curating
    plan = curating.plan()
    assert [step.state for step in plan.steps] == ["archived"]
    path = os.path.join(world.library.card("alpha").directory, "SKILL.md")
    with open(path, "a", encoding="utf-8") as file:
        file.write("\nOne more thing.\n")
    monkeypatch.setattr(curating, "plan", lambda: plan)
    with pytest.raises(ConflictError) as caught:
        curating.curate(apply=True)
    assert (caught.value.code, world.names()) == ("skill-changed", ["alpha"])


# skills that cost tokens and do nothing


def dead(world: World) -> list[tuple[str, str, int, str]]:
    found = world.library.learning.usage_totals().dead
    return [(skill.name, skill.reason, skill.days, skill.command) for skill in found]


def test_dead_skills_are_named_with_what_they_cost_and_how_to_stop_it(world: World) -> None:
    for name in ("used", "quiet-one", "bad", "manual"):
        world.create(name)
    manual = world.top / "home" / ".agents" / "skills" / "manual" / "SKILL.md"
    head = "---\nname: manual\ndescription: Only by hand.\ndisable-model-invocation: true\n---\n\nDo it.\n"
    manual.write_text(head, encoding="utf-8")
    assert dead(world) == []
    world.library.read("used")
    for _ in range(3):
        world.library.read("bad")
        world.library.learning.note_outcome("bad", "failed")
    assert dead(world) == [("bad", "never-helped", 0, "whet remove bad --archive")]
    world.later(15)
    assert dead(world) == [
        ("quiet-one", "never-loaded", 15, "whet remove quiet-one --archive"),
        ("bad", "never-helped", 15, "whet remove bad --archive"),
    ]
    assert 10 <= world.library.learning.usage_totals().dead[0].tokens <= 25
    world.library.learning.note_outcome("bad", "helped")
    world.library.learning.archive("quiet-one")
    assert dead(world) == []


def test_a_skill_of_somebody_else_is_disabled_and_not_archived(world: World) -> None:
    directory = world.top / "org" / "skills" / "shared"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("---\nname: shared\ndescription: Shared.\n---\n\nDo it.\n", encoding="utf-8")
    world.create("used")
    (world.top / "state" / "config.toml").write_text(f"external = ['{world.top}/org/skills']\n", encoding="utf-8")
    world.library.read("used")
    world.later(20)
    assert dead(world) == [("shared", "never-loaded", 20, "whet disable shared")]
    world.library.settings.disable("shared")
    assert dead(world) == []


def test_of_two_processes_that_find_a_run_due_one_may_run(world: World) -> None:
    first, second = world.library.learning.curating, world.library.learning.curating
    assert [first.last_run(), first.claim(100, 0), second.claim(101, 0), second.last_run()] == [0, True, False, 100]
    assert [second.claim(200, 100), first.claim(201, 100), first.last_run()] == [True, False, 200]
    with world.library.workspace.state.write() as connection:
        connection.execute("UPDATE curator SET value = 'a while ago'")
    assert [first.last_run(), first.claim(5, 0), second.last_run()] == [0, True, 5], "damage has the curator start over"
