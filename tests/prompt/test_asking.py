"""Who a typed line asks for: commands, mentions, bundles, and why somebody cannot be had."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prompt.world import World, world_in
from whet import MODEL, PERSON, Caller
from whet.errors import AmbiguousError, NotFoundError, RefusedError, WhetError
from whet.prompt.commands import RESERVED
from whet.prompt.requests import Asked, asked_by_name, asked_for, menu_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world_in(tmp_path, monkeypatch) as made:
        yield made


def ask(world: World, text: str, caller: Caller = PERSON) -> Asked:
    workspace = world.library().workspace
    return asked_for(text, workspace.snapshot(), caller, RESERVED)


def names(asked: Asked) -> list[str]:
    return [card.full_name for card in asked.cards]


def refused(world: World, text: str) -> WhetError:
    with pytest.raises(WhetError) as caught:
        ask(world, text)
    return caught.value


def missing(asked: Asked) -> list[tuple[str, str]]:
    return [(item.name, item.code) for item in asked.missing]


# commands


@pytest.mark.parametrize(
    "line", ["/code-review x", "/code_review x", "/Code-Review x", "  /CODE_REVIEW   x", "/code-review@bot x"]
)
def test_hyphen_underscore_and_case_are_alike(world: World, line: str) -> None:
    world.skill("code-review")
    asked = ask(world, line)
    assert (names(asked), asked.request) == (["code-review"], "x")


def test_the_words_behind_a_command_are_kept_as_typed(world: World) -> None:
    world.skill("deploy")
    assert ask(world, "/deploy\n  a  'b\n\n").request == "a  'b\n\n"
    assert ask(world, "/deploy").request == ""


def test_up_to_six_commands_stack_and_share_the_rest(world: World) -> None:
    for letter in "abcdefg":
        world.skill(f"s{letter}")
    asked = ask(world, "/sa /sb /sc do it")
    assert (names(asked), asked.request) == (["sa", "sb", "sc"], "do it")
    asked = ask(world, "/sg /sf /se /sd /sc /sb /sa do it")
    assert (names(asked), asked.request) == (["sg", "sf", "se", "sd", "sc", "sb"], "/sa do it")


@pytest.mark.parametrize("rest", ["/etc/passwd is it", "/sb/file", "/unknown x", "/sa again", "text /sb"])
def test_stacking_stops_at_what_is_no_new_command(world: World, rest: str) -> None:
    for name in ("sa", "sb"):
        world.skill(name)
    asked = ask(world, f"/sa {rest}")
    assert (names(asked), asked.request) == (["sa"], rest)


@pytest.mark.parametrize(
    "text", ["/etc/hosts is wrong", "/ is full", "either /deploy or not", "//deploy", "5/deploy", ""]
)
def test_a_line_that_only_looks_like_a_command_asks_for_nothing(world: World, text: str) -> None:
    world.skill("deploy")
    assert ask(world, text) == Asked((), text)


def test_an_unknown_command_is_an_error_with_the_closest_ones(world: World) -> None:
    world.skill("deploy")
    error = refused(world, "/deplyo now")
    assert isinstance(error, NotFoundError)
    assert error.to_json() == {
        "success": False,
        "error": "There is no command /deplyo.",
        "code": "command-not-found",
        "hint": "Did you mean /deploy?",
        "suggestions": ["/deploy"],
    }
    assert refused(world, "/zzz").hint == "`whet list` shows every skill."


def test_a_disabled_skill_is_refused_by_its_command(world: World) -> None:
    world.skill("deploy")
    world.config('disabled = ["deploy"]')
    for line in ("/deploy", "/DEPLOY x", "/skill deploy"):
        error = refused(world, line)
        assert (type(error), error.code) == (RefusedError, "disabled")
        assert error.message == "deploy is not available: Disabled by config.toml."
        assert error.hint == "Remove it from `disabled` in config.toml to enable it."


def test_who_may_invoke_is_for_the_skill_to_say(world: World) -> None:
    world.skill("quiet", more="user-invocable: false\n")
    world.skill("asked", more="disable-model-invocation: true\n")
    error = refused(world, "/quiet")
    assert (type(error), error.code) == (RefusedError, "model-only")
    assert names(ask(world, "/quiet", MODEL)) == ["quiet"]
    assert names(ask(world, "/asked")) == ["asked"]
    library = world.library()
    assert library.read("quiet", caller=MODEL).content == "Body.\n"
    with pytest.raises(RefusedError) as caught:
        library.read("asked", caller=MODEL)
    assert caught.value.code == "explicit-only"


def test_a_skill_waiting_for_trust_is_refused_until_it_is_trusted(world: World) -> None:
    world.skill("ours", where="project/.agents/skills")
    for line in ("/ours", "/OURS x", "/skill ours", "/skill project:ours"):
        error = refused(world, line)
        assert (type(error), error.code) == (RefusedError, "untrusted")
    assert missing(ask(world, "use $ours")) == [("ours", "untrusted")]
    world.library().settings.trust()
    assert names(ask(world, "/ours")) == ["ours"]
    assert names(ask(world, "use $ours")) == ["ours"]


def test_reserved_words_stay_with_the_client_and_the_skill_within_reach(world: World) -> None:
    world.skill("help")
    assert refused(world, "/help me").code == "command-not-found"
    asked = ask(world, "/skill help me")
    assert (names(asked), asked.request) == (["help"], "me")
    assert names(ask(world, "use $help")) == ["help"]
    workspace = world.library().workspace
    assert names(asked_for("/help me", workspace.snapshot(), PERSON, ("deploy",))) == ["help"]


def test_skill_reaches_the_one_that_is_shadowed(world: World) -> None:
    mine = world.skill("deploy", "Mine.\n")
    ours = world.skill("deploy", "Ours.\n", where="project/.agents/skills")
    world.library().settings.trust()
    assert [card.path for card in ask(world, "/deploy").cards] == [ours]
    assert [card.path for card in ask(world, "/skill user:deploy").cards] == [mine]
    assert [card.path for card in ask(world, "/skill user:deploy /skill deploy x").cards] == [mine, ours]
    assert [card.path for card in ask(world, f"[$deploy]({os.path.dirname(mine)})").cards] == [mine]


def test_skill_takes_names_with_spaces_in_quotes(world: World) -> None:
    path = world.skill("monthly")
    with open(path, "w") as file:
        file.write("---\nname: Monthly Report\ndescription: Reports.\n---\nBody.\n")
    asked = ask(world, '/skill "Monthly Report" for May')
    assert (names(asked), asked.request) == (["Monthly Report"], "for May")
    assert names(ask(world, "/monthly-report")) == ["Monthly Report"]
    assert refused(world, "/skill 'Yearly Report'").code == "skill-not-found"


def test_a_plugins_skill_answers_to_both_its_names(world: World) -> None:
    world.skill("search", where="slack/skills")
    world.config('[plugins]\nslack = "../slack/skills"')
    for text in (
        "/slack:search x",
        "/search x",
        "/skill slack:search x",
        "$slack:search",
        "$search",
        "[$s](skill://slack:search)",
    ):
        assert names(ask(world, text)) == ["slack:search"], text
    world.skill("search", where="wiki")
    world.config('[plugins]\nslack = "../slack/skills"\nwiki = "../wiki"')
    error = refused(world, "/search x")
    assert (error.code, error.details["suggestions"]) == ("command-not-found", ["/wiki:search", "/slack:search"])
    assert names(ask(world, "/wiki:search /slack:search")) == ["wiki:search", "slack:search"]


# mentions


def test_text_that_asks_for_nothing_is_left_alone(world: World) -> None:
    world.skill("deploy")
    for text in (
        "",
        "deploy it",
        "costs $5, see $PATH and $HOME",
        "`$deploy`",
        "```\n$deploy\n```",
        r"\$deploy",
        "${deploy}",
    ):
        assert ask(world, text) == Asked((), text)
    assert ask(world, "$nothing like that and [deploy](/x)").missing == ()


def test_mentions_are_taken_from_anywhere_in_the_text_once_each(world: World) -> None:
    for name in ("deploy", "code-review"):
        world.skill(name)
    text = "first $Code_Review, then ($deploy), then $code-review"
    asked = ask(world, text)
    assert (names(asked), asked.request) == (["code-review", "deploy"], text)
    assert names(ask(world, "/deploy it with $deploy and $code-review")) == ["deploy", "code-review"]


def test_a_name_is_not_the_beginning_of_another(world: World) -> None:
    world.skill("tax-return-forms")
    assert ask(world, "$tax-return-form") == Asked((), "$tax-return-form")


def test_environment_variables_are_not_mentions_even_when_linked(world: World) -> None:
    path = world.skill("path")
    assert ask(world, f"$PATH [$PATH]({path})").cards == ()


def test_a_path_beats_a_name(world: World) -> None:
    other = world.skill("other")
    world.skill("deploy")
    for target in (other, os.path.dirname(other), f" {other} ", f"skill://{other}", "other/SKILL.md"):
        asked = ask(world, f"use [$deploy]({target}), that is, $deploy")
        assert (names(asked), asked.missing) == (["other"], ())


def test_linked_mentions_come_before_plain_ones(world: World) -> None:
    beta = world.skill("beta")
    world.skill("alpha")
    assert names(ask(world, f"use $alpha and [$beta]({beta})")) == ["beta", "alpha"]


def test_a_path_that_leads_nowhere_does_not_fall_back_to_the_name(world: World) -> None:
    world.skill("deploy")
    world.skill("beta")
    asked = ask(world, "use [$deploy](/no/such/place) or $deploy, and $beta")
    assert names(asked) == ["beta"]
    assert [item._asdict() for item in asked.missing] == [
        {
            "name": "deploy",
            "code": "skill-not-found",
            "message": "There is no skill '/no/such/place'.",
            "hint": "`whet list` shows every skill.",
        },
    ]


def test_a_link_without_a_target_is_a_plain_mention(world: World) -> None:
    path = world.skill("deploy")
    for text in ("[$deploy]()", f"[$deploy] {path}", "[$deploy](skill://deploy)", "[$deploy](deploy)"):
        assert names(ask(world, text)) == ["deploy"]


def test_a_disabled_skill_is_reported_and_blocks_its_name(world: World) -> None:
    path = world.skill("deploy")
    world.config('disabled = ["deploy"]')
    for text in ("use $deploy", f"use [$deploy]({path})", f"use [$deploy]({path}) and $deploy"):
        asked = ask(world, text)
        assert (names(asked), missing(asked)) == ([], [("deploy", "disabled")])


def test_a_path_through_a_link_is_the_same_skill(world: World) -> None:
    path = world.skill("deploy", where="shared")
    os.symlink(world.top / "shared" / "deploy", world.mine / "deploy")
    world.config('links = ["../shared"]')
    through = world.mine / "deploy" / "SKILL.md"
    for target in (through, through.parent, path, os.path.dirname(path)):
        asked = ask(world, f"[$deploy]({target})")
        assert [card.path for card in asked.cards] == [str(through)], target
    assert len(ask(world, f"[$deploy]({path}) [$d]({through}) $deploy").cards) == 1


def test_too_many_mentions_are_reported(world: World) -> None:
    for number in range(10):
        world.skill(f"s{number}a")
    asked = ask(world, " ".join(f"$s{number}a" for number in range(10)))
    assert len(asked.cards) == 8
    assert [item._asdict() for item in asked.missing] == [
        {
            "name": "",
            "code": "too-many-mentions",
            "message": "2 more skills were mentioned than can be loaded at once.",
            "hint": "Ask for them again.",
        },
    ]


# bundles


def bundle(directory: Path, name: str, skills: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.yaml").write_text(f"name: {name}\nskills: [{skills}]\n")


def test_a_bundle_comes_before_the_skill_of_its_name(world: World) -> None:
    for name in ("release", "notes", "announce"):
        world.skill(name)
    bundle(world.state / "bundles", "release", "notes, gone, announce")
    for text in ("/release 1.0", "/RELEASE 1.0"):
        asked = ask(world, text)
        assert (names(asked), [item.slug for item in asked.bundles], asked.request) == (
            ["notes", "announce"],
            ["release"],
            "1.0",
        )
        assert missing(asked) == [("gone", "skill-not-found")]
    assert names(ask(world, "/skill release 1.0")) == ["release"]


def test_a_bundle_is_taken_once_and_with_others(world: World) -> None:
    for name in ("notes", "announce", "deploy"):
        world.skill(name)
    bundle(world.state / "bundles", "release", "notes, gone")
    bundle(world.state / "bundles", "party", "announce, notes, gone")
    asked = ask(world, "/deploy /release /party now, as $release says")
    assert names(asked) == ["deploy", "notes", "announce"]
    assert [item.slug for item in asked.bundles] == ["release", "party"]
    assert missing(asked) == [("gone", "skill-not-found")]
    assert asked.request == "now, as $release says"


def test_a_projects_bundles_count_once_it_is_trusted(world: World) -> None:
    world.skill("notes")
    world.skill("ours", where="project/.agents/skills")
    bundle(world.project / ".agents" / "bundles", "release", "ours")
    assert refused(world, "/release").code == "command-not-found"
    world.library().settings.trust()
    assert names(ask(world, "/release")) == ["ours"]
    bundle(world.state / "bundles", "release", "notes")
    assert names(ask(world, "/release")) == ["ours"]


def test_what_a_bundle_names_must_be_visible_to_who_asks(world: World) -> None:
    world.skill("quiet", more="user-invocable: false\n")
    world.skill("off")
    world.skill("macos-only", more="platforms: [macos]\n")
    world.skill("notes")
    world.config('disabled = ["off"]')
    bundle(world.state / "bundles", "release", "quiet, off, macos-only, notes")
    asked = ask(world, "/release")
    assert names(asked) == ["notes"]
    assert missing(asked) == [("quiet", "model-only"), ("off", "disabled"), ("macos-only", "wrong-platform")]


# by name


def by_name(world: World, *wanted: str, **more: Any) -> Asked:
    workspace = world.library().workspace
    return asked_by_name(wanted, "x", workspace.snapshot(), more.get("caller", PERSON))


def test_skills_and_bundles_can_be_named_together(world: World) -> None:
    for name in ("notes", "announce", "deploy"):
        world.skill(name)
    bundle(world.state / "bundles", "release", "announce, gone")
    asked = by_name(world, "deploy", "Release", "notes", "deploy")
    assert names(asked) == ["deploy", "announce", "notes"]
    assert ([item.slug for item in asked.bundles], missing(asked)) == (["release"], [("gone", "skill-not-found")])
    bundle(world.state / "bundles", "deploy", "announce")
    assert names(by_name(world, "deploy")) == ["announce"], "a bundle comes before a skill, as with /deploy"
    assert names(by_name(world, "user:deploy")) == ["deploy"]


def test_a_name_that_is_nobodys_is_an_error(world: World) -> None:
    world.skill("deploy")
    world.skill("off")
    world.config('disabled = ["off"]')
    with pytest.raises(NotFoundError) as caught:
        by_name(world, "deploy", "deplyo")
    assert (caught.value.code, caught.value.details) == ("skill-not-found", {"suggestions": ["deploy"]})
    with pytest.raises(RefusedError) as off:
        by_name(world, "off")
    assert off.value.code == "disabled"


def test_a_name_that_is_twos_is_an_error(world: World) -> None:
    for name, place in (("one", "a/twin"), ("two", "b/twin")):
        path = world.skill(place)
        with open(path, "w") as file:
            file.write(f"---\nname: {name}\ndescription: Does it.\n---\n")
    with pytest.raises(AmbiguousError):
        ask(world, "/skill twin")
    assert missing(ask(world, "[$twin](skill://twin)")) == [("twin", "ambiguous-name")]


def test_the_menu_holds_what_the_caller_may_have(world: World) -> None:
    world.skill("quiet", more="user-invocable: false\n")
    world.skill("asked", more="disable-model-invocation: true\n")
    world.skill("off")
    world.config('disabled_on = { chat = ["off"] }')
    workspace = world.library().workspace
    snapshot = workspace.snapshot()
    menus = {
        caller: [command.name for command in menu_of(snapshot, caller).commands.commands]
        for caller in (PERSON, MODEL, Caller(surface="chat"))
    }
    assert menus == {PERSON: ["asked", "off"], MODEL: ["off", "quiet"], Caller(surface="chat"): ["asked"]}
