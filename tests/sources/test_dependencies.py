"""Skills that need other skills: what comes with them, what is refused, and who is told."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources.world import DANGER, World, main, refused, told, world
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import read_document
from whet.skill.gates import SkillNeed
from whet.sources.install.dependencies import MAX_DEPTH, MAX_NEEDED
from whet.sources.install.plan import Planner
from whet.sources.model import Fetched, Offer, Ref

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from whet.sources.install.plan import Plan

__all__ = ["world"]

READY = ("install", "ready", "")


def needing(*needs: str, version: str = "1.0.0") -> str:
    """Frontmatter of a skill that needs others."""
    listed = "".join(f'\n      - "{need}"' for need in needs)
    return f'metadata:\n  version: "{version}"\n' + (f"  requires:\n    skills:{listed}\n" if needs else "")


def cloned(world: World) -> None:
    """Make the shelf the clone of a stranger's repository."""
    (world.shelf / ".git").mkdir()
    (world.shelf / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    config = '[remote "origin"]\n\turl = https://git.example/team/skills.git\n'
    (world.shelf / ".git" / "config").write_text(config, encoding="utf-8")


def read(more: str) -> tuple[tuple[SkillNeed, ...], list[str]]:
    skill = read_skill(read_document(main("deploy", more=more)), fallback_name="deploy")
    return skill.gates.skills, [note.code for note in skill.diagnostics]


@pytest.mark.parametrize(
    ("more", "needs"),
    [
        ('requires: {skills: ["review >=1.2,<2"]}\n', [("review", ">=1.2,<2", "")]),
        (
            "metadata: {requires: {skills: {review: ^1.2, lint: 1.10}}}\n",
            [("review", "^1.2", ""), ("lint", "1.10", "")],
        ),
        ("metadata: {openclaw: {requires: {skills: [review@2.x, lint]}}}\n", [("review", "2.x", ""), ("lint", "", "")]),
        ('metadata: \'{"requires": {"skills": ["lint>=1"]}}\'\n', [("lint", ">=1", "")]),
        ("requires:\n  skills:\n  - owner/repo:lint ^1.0\n", [("lint", "^1.0", "owner/repo")]),
        ("requires:\n  skills:\n  - owner/repo/skills/lint@v1\n", [("lint", "", "owner/repo/skills/lint@v1")]),
        (
            "requires:\n  skills:\n  - {name: lint, version: ^1, source: owner/repo}\n",
            [("lint", "^1", "owner/repo")],
        ),
        ("requires:\n  skills: lint ^1\n", [("lint", "^1", "")]),
        ("requires: {bins: [git]}\n", []),
    ],
)
def test_every_spelling_says_the_same(more: str, needs: Sequence[tuple[str, str, str]]) -> None:
    assert read(more) == (tuple(SkillNeed(*need) for need in needs), [])


def test_what_cannot_be_read_is_reported() -> None:
    assert read('requires: {skills: ["lint soon", 7, [a], ""]}\n') == (
        (SkillNeed("lint", "soon"), SkillNeed("7")),
        ["dependency-refused"] * 3,
    )


def test_what_a_skill_needs_comes_with_it_in_one_plan(world: World) -> None:
    world.offer("deploy", more=needing("review >=1.2,<2"))
    world.offer("review", more=needing("lint", version="1.4.0"))
    world.offer("lint", more=needing())
    world.offer("other")
    library = world.library()
    plan = library.sources.plan_install(str(world.shelf), skills=["deploy"])
    assert [(step.name, step.action, step.state, step.code, step.reason, step.needed_by) for step in plan.steps] == [
        ("deploy", "install", "ready", "", "", ()),
        ("review", "install", "ready", "", "", ("deploy",)),
        ("lint", "install", "ready", "", "", ("review",)),
    ]
    assert [step.get("needed_by") for step in plan.to_json()["plan"]] == [None, ["deploy"], ["review"]]
    library.sources.apply(plan)
    assert [*world.there()] == ["deploy", "lint", "review"]
    assert {path: entry.dependency for path, entry in world.locked().items()} == {
        "skills/deploy": "",
        "skills/lint": "review",
        "skills/review": "deploy",
    }
    again = library.sources.plan_install(str(world.shelf), skills=["deploy"])
    assert told(again) == {"deploy": ("keep", "nothing", "")}
    library.sources.install(str(world.shelf), skills=["review"])
    assert world.locked()["skills/review"].dependency == "", "somebody wants it for itself now"


def test_what_is_there_in_range_is_kept_and_out_of_range_is_refused(world: World) -> None:
    world.offer("review", where=world.root, more=needing(version="1.3.0"))
    world.offer("deploy", more=needing("review >=1.2,<2"))
    world.offer("audit", more=needing("review ^2"))
    world.offer("review", more=needing(version="2.0.0"))
    library = world.library()
    assert told(library.sources.plan_install(str(world.shelf), skills=["deploy"])) == {"deploy": READY}
    plan = library.sources.plan_install(str(world.shelf), skills=["audit"])
    assert told(plan) == {"audit": ("install", "conflict", "dependency-range")}
    assert plan.steps[0].reason == "It needs review ^2; review 1.3.0 is not in that range."


def test_an_offer_out_of_range_and_a_missing_one_are_refused(world: World) -> None:
    world.offer("deploy", more=needing("review ^2"))
    world.offer("review", more=needing(version="1.3.0"))
    world.offer("audit", more=needing("nowhere"))
    world.offer("plain")
    plan = world.library().sources.plan_install(str(world.shelf), every=True)
    assert told(plan) == {
        "audit": ("install", "conflict", "dependency-missing"),
        "deploy": ("install", "conflict", "dependency-range"),
        "plain": READY,
        "review": READY,
    }
    assert plan.steps[0].reason == f"It needs nowhere. There is no skill 'nowhere' in {world.shelf}."
    alone = world.library().sources.plan_install(str(world.shelf), skills=["deploy"])
    assert {step.name: (step.state, step.reason) for step in alone.steps} == {
        "deploy": ("conflict", "It needs review ^2; review 1.3.0 is not in that range."),
        "review": ("conflict", "Only deploy would need it."),
    }


def test_a_circle_is_refused_with_its_path(world: World) -> None:
    world.offer("a", more=needing("b"))
    world.offer("b", more=needing("c"))
    world.offer("c", more=needing("a"))
    world.offer("d", more=needing("a"))
    plan = world.library().sources.plan_install(str(world.shelf), skills=["d"])
    assert told(plan) == dict.fromkeys("abcd", ("install", "conflict", "dependency-cycle"))
    circle = plan.steps[1].reason.removeprefix("The skills need each other: ").removesuffix(".").split(" -> ")
    assert circle[0] == circle[-1] and sorted(circle[1:]) == ["a", "b", "c"]
    assert all({"a": "b", "b": "c", "c": "a"}[one] == other for one, other in pairwise(circle))


def test_a_need_may_name_another_source(world: World, tmp_path: Path) -> None:
    elsewhere, own = tmp_path / "elsewhere", world.project / "shelf"
    world.offer("lint", where=elsewhere, more=needing())
    world.offer("deploy", where=own, more=needing(f"{elsewhere}:lint ^1.0"))
    library = world.library()
    library.settings.trust(str(own))
    assert told(library.sources.plan_install(str(own))) == {"deploy": READY, "lint": READY}


def test_a_stranger_leads_to_no_place_on_this_machine(world: World, tmp_path: Path) -> None:
    world.offer("lint", where=tmp_path / "elsewhere", more=needing())
    world.offer("deploy", more=needing(f"{tmp_path}/elsewhere:lint"))
    cloned(world)
    plan = world.library().sources.plan_install(str(world.shelf))
    assert told(plan) == {"deploy": ("install", "conflict", "dependency-missing")}
    assert plan.steps[0].reason == f"It needs lint. deploy names {tmp_path}/elsewhere, a place on this machine."


def test_the_policy_decides_about_both(world: World) -> None:
    world.offer("deploy", more=needing("review"))
    world.offer("review", DANGER, more=needing("lint"))
    world.offer("lint")
    cloned(world)
    library = world.library()
    plan = library.sources.plan_install(str(world.shelf), skills=["deploy"])
    states = {step.name: (step.state, step.code) for step in plan.steps}
    assert states == dict.fromkeys(("deploy", "review", "lint"), ("blocked", "policy-blocks"))
    assert library.sources.apply(plan).done == ()
    assert library.sources.apply(plan, override="read it").done == ("deploy", "review", "lint")


def test_a_hostile_source_is_bounded(world: World) -> None:
    world.offer("many", more=needing(*(f"s{number}" for number in range(4000))))
    for number in range(MAX_DEPTH + 3):
        world.offer(f"d{number}", more=needing(f"d{number + 1}"))
    library = world.library()
    plan = library.sources.plan_install(str(world.shelf), skills=["many"])
    assert told(plan) == {"many": ("install", "conflict", "too-many-dependencies")}
    plan = library.sources.plan_install(str(world.shelf), skills=["d0"])
    assert len(plan.steps) == MAX_DEPTH + 1
    assert {(step.state, step.code) for step in plan.steps} == {("conflict", "too-many-dependencies")}
    assert MAX_NEEDED == 100


def test_an_update_brings_what_is_newly_needed_and_keeps_what_others_need(world: World) -> None:
    world.offer("deploy", more=needing("review <2"))
    world.offer("review", more=needing(version="1.0.0"))
    library = world.library()
    library.sources.install(str(world.shelf), skills=["deploy"])
    world.offer("review", "Newer.\n", more=needing(version="2.0.0"))
    assert told(library.sources.plan_update()) == {
        "deploy": ("keep", "nothing", ""),
        "review": ("update", "held", "dependency-range"),
    }
    world.offer("lint", more=needing())
    world.offer("deploy", "Newer.\n", more=needing("review >=2", "lint", version="1.1.0"))
    assert told(library.sources.plan_update()) == {
        "deploy": ("update", "ready", ""),
        "review": ("update", "ready", ""),
        "lint": READY,
    }
    assert set(library.sources.update().done) == {"deploy", "review", "lint"}
    assert world.locked()["skills/lint"].dependency == "deploy"


def test_what_others_need_is_removed_only_with_force(world: World) -> None:
    world.offer("deploy", more=needing("review"))
    world.offer("review")
    library = world.library()
    library.sources.install(str(world.shelf), skills=["deploy"])
    refused(lambda: library.sources.uninstall("review"), "needed-by")
    assert [*world.there()] == ["deploy", "review"]
    assert library.sources.uninstall("review", force=True).done == ("review",)
    plan = library.sources.plan_install(str(world.shelf), skills=["deploy"])
    assert told(plan) == {"deploy": ("keep", "nothing", ""), "review": READY}, (
        "it comes back with the one that needs it"
    )


def test_an_exact_commit_in_a_need_does_not_shorten_the_cooldown(world: World) -> None:
    installer = world.library().sources.installer(min_age=3)
    commit = "a" * 40
    now = installer.workspace.clock() // 10**9
    ref = Ref("git", "https://git.example/team/skills.git", commit, "lint")
    package = Fetched(Offer("lint", "", ref, commit, published=now), {})
    planner = Planner(installer)
    assert planner._too_young(package) == "", "the user asked for exactly that"
    planner.needed = {"lint": "deploy"}
    assert planner._too_young(package).endswith("the minimum is 3 days.")


# --- any graph ------------------------------------------------------------------------------------------------------

NAMES = "abcdefg"
GRAPHS = st.dictionaries(st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES), max_size=3), min_size=1)


def reach(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Everything that one needs, directly or not."""
    found: set[str] = set()
    pending = [*graph.get(start, ())]
    while pending:
        if (name := pending.pop()) not in found:
            found.add(name)
            pending.extend(graph.get(name, ()))
    return found


def check(plan: Plan, graph: Mapping[str, set[str]], start: str) -> None:
    names = [step.name for step in plan.steps]
    assert len(names) == len({*names}), "no skill twice"
    everything = reach(graph, start) | {start}
    whole = everything <= graph.keys() and not any(name in reach(graph, name) for name in everything)
    assert {step.name for step in plan.ready} == (everything if whole else set())
    if not whole:
        assert {*names} == everything & graph.keys()
        assert next(step for step in plan.steps if step.name == start).code in (
            "dependency-missing",
            "dependency-cycle",
        )


@given(graph=GRAPHS)
@settings(max_examples=25, deadline=None)
def test_a_plan_is_complete_or_refused(tmp_path_factory: pytest.TempPathFactory, graph: dict[str, set[str]]) -> None:
    world = World(tmp_path_factory.mktemp("graph"))
    try:
        for name, needs in graph.items():
            world.offer(name, more=needing(*sorted(needs)))
        start = min(graph)
        check(world.library().sources.plan_install(str(world.shelf), skills=[start]), graph, start)
    finally:
        world.close()
