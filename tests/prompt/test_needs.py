"""What skills still need: one list for all of them, asked once, and secrets that pass through our hands unseen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prompt.world import World, card, world_in
from whet import Library, Need
from whet.errors import NotFoundError
from whet.library.readiness import LocalProbe
from whet.prompt.needs import Given, collect_needs
from whet.skill.gates import EnvVar, Gates, Setting, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "hunter2-the-secret"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world_in(tmp_path, monkeypatch) as made:
        yield made


WIKI = """\
required_environment_variables:
  - name: WIKI_TOKEN
    prompt: Token of the wiki
    help: Make one under Settings.
  - name: OPTIONAL_TOKEN
    optional: true
metadata:
  hermes:
    config:
      - key: wiki.path
        description: Where the wiki lies
        prompt: Path of the wiki
      - key: wiki.rows
        description: Rows
        default: 10
"""
BOT = "required_environment_variables: [WIKI_TOKEN, BOT_TOKEN]\nprerequisites:\n  commands: [no-such-program]\n"


def fill(world: World) -> None:
    world.skill("wiki", "Ask in the wiki.\n", WIKI)
    world.skill("bot", "Post with the bot.\n", BOT)
    world.skill("plain")


# one list


def test_each_thing_is_listed_once_with_all_who_want_it(world: World) -> None:
    fill(world)
    assert world.library().needs().to_json() == {
        "success": True,
        "ready": False,
        "needs": [
            {
                "kind": "env",
                "name": "BOT_TOKEN",
                "prompt": "Enter a value for BOT_TOKEN",
                "help": "Enter a value for BOT_TOKEN",
                "secret": True,
                "skills": ["bot"],
            },
            {
                "kind": "env",
                "name": "WIKI_TOKEN",
                "prompt": "Token of the wiki",
                "help": "Make one under Settings.",
                "secret": True,
                "skills": ["bot", "wiki"],
            },
            {
                "kind": "setting",
                "name": "wiki.path",
                "prompt": "Path of the wiki",
                "help": "Where the wiki lies",
                "secret": False,
                "skills": ["wiki"],
            },
            {
                "kind": "command",
                "name": "no-such-program",
                "prompt": "Install no-such-program",
                "help": "Install no-such-program and put it on PATH.",
                "secret": False,
                "skills": ["bot"],
            },
        ],
    }


def test_only_the_named_skills_are_asked_about(world: World) -> None:
    fill(world)
    library = world.library()
    assert [need["name"] for need in library.needs("wiki").to_json()["needs"]] == ["WIKI_TOKEN", "wiki.path"]
    assert [need["skills"] for need in library.needs("wiki", "wiki").to_json()["needs"]] == [["wiki"], ["wiki"]]
    assert library.needs("plain").to_json() == {"success": True, "ready": True, "needs": []}
    with pytest.raises(NotFoundError):
        library.needs("wikki")


def test_what_is_there_is_not_needed(world: World) -> None:
    fill(world)
    world.config('[skill_settings.wiki]\npath = "/srv"')
    library = world.library(env={**world.env, "WIKI_TOKEN": SECRET, "BOT_TOKEN": "x"})
    assert [need["name"] for need in library.needs().to_json()["needs"]] == ["no-such-program"]
    assert SECRET not in json.dumps(library.needs().to_json())


def test_the_platform_does_not_matter_for_what_is_missing() -> None:
    gates = Gates(platforms=("macos",), env=(EnvVar("KEY"),))
    found = collect_needs([card("mac", gates=gates)], LocalProbe({}, "linux"))
    assert [(need.name, need.skills) for need in found] == [("KEY", ("mac",))]


def test_the_first_who_explains_a_thing_is_heard() -> None:
    silent = card("a", gates=Gates(settings=(Setting("path"),), tools=(Tool("search", "mcp"),)))
    wordy = card(
        "b",
        gates=Gates(
            settings=(Setting("path", description="Where", prompt="Path?"),), tools=(Tool("search", "mcp", "Finds."),)
        ),
    )
    found = collect_needs([silent, wordy], LocalProbe({}, "linux", tools=(), settings={}))
    assert found == (
        Need("setting", "path", "Path?", "Where", secret=False, skills=("a", "b")),
        Need("mcp", "search", "Connect search", "Finds.", secret=False, skills=("a", "b")),
    )


def test_what_nobody_can_tell_is_not_needed() -> None:
    gates = Gates(tools=(Tool("search"),), settings=(Setting("path"),))
    assert collect_needs([card("a", gates=gates)], LocalProbe({}, "linux")) == ()


def test_what_was_given_counts_beside_what_is_there() -> None:
    probe = Given(LocalProbe({"THERE": "x"}, "darwin", tools=("search",), settings={"set": 1}), ["KEY"], ["path"])
    assert [probe.has_env(name) for name in ("THERE", "KEY", "GONE")] == [True, True, False]
    assert [probe.has_setting(key) for key in ("set", "path", "gone")] == [True, True, False]
    assert (probe.platform, probe.has_command("no-such-program")) == ("macos", False)
    assert [probe.has_tool(Tool(name)) for name in ("search", "browse")] == [True, False]


# in a session


class Desk:
    """Who asks the user, and where secrets are kept."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers
        self.asked: list[list[str]] = []
        self.kept: list[tuple[str, str]] = []

    def ask(self, needs: tuple[Need, ...]) -> dict[str, str]:
        self.asked.append([need.name for need in needs])
        return self.answers

    def keep(self, name: str, value: str) -> None:
        self.kept.append((name, value))


def test_everything_is_asked_in_one_go_and_only_once(world: World) -> None:
    fill(world)
    session = world.session()
    session.invoke("/wiki /bot")
    desk = Desk(WIKI_TOKEN=SECRET, **{"wiki.path": "/srv", "unasked": "x"})
    names = ["BOT_TOKEN", "WIKI_TOKEN", "wiki.path", "no-such-program"]
    answer = session.collect(desk.ask, desk.keep).to_json()
    assert (answer["given"], answer["skipped"]) == (["WIKI_TOKEN", "wiki.path"], ["BOT_TOKEN", "no-such-program"])
    assert [need["name"] for need in answer["asked"]] == names
    assert (desk.asked, desk.kept) == ([names], [("WIKI_TOKEN", SECRET)])
    again = session.collect(desk.ask, desk.keep).to_json()
    assert again == {"success": True, "asked": [], "given": [], "skipped": []}
    assert (session.needs(), session.needs("bot")) == ((), ())
    assert (len(desk.asked), len(desk.kept)) == (1, 1)


def test_a_skill_that_comes_later_brings_only_its_own_questions(world: World) -> None:
    fill(world)
    session = world.session()
    assert session.needs() == ()
    session.view("wiki")
    desk = Desk()
    assert session.collect(desk.ask, desk.keep).to_json()["skipped"] == ["WIKI_TOKEN", "wiki.path"]
    session.invoke("/bot")
    session.collect(desk.ask, desk.keep)
    assert desk.asked == [["WIKI_TOKEN", "wiki.path"], ["BOT_TOKEN", "no-such-program"]]
    assert desk.kept == []


def test_skills_can_be_asked_about_before_they_are_loaded(world: World) -> None:
    fill(world)
    session, desk = world.session(), Desk(WIKI_TOKEN=SECRET)
    assert session.collect(desk.ask, desk.keep, "wiki").to_json()["given"] == ["WIKI_TOKEN"]
    assert session.active == ()


def test_a_user_who_gives_nothing_is_left_in_peace(world: World) -> None:
    fill(world)
    session = world.session()
    session.invoke("/wiki")
    asked: list[int] = []

    def decline(needs: tuple[Need, ...]) -> None:
        asked.append(len(needs))

    for _ in range(2):
        session.collect(decline, lambda name, value: pytest.fail(f"{name} {value}"))
    assert asked == [2]
    assert not session.invoke("/wiki x").to_json()["skills"][0]["ready"]


def test_what_was_given_makes_the_skill_ready_in_this_session(world: World) -> None:
    fill(world)
    session = world.session()
    before = session.invoke("/wiki").to_json()
    assert [item["name"] for item in before["skills"][0]["missing"]] == ["WIKI_TOKEN", "wiki.path"]
    assert "[Setup needed: env WIKI_TOKEN. Make one under Settings.]" in before["message"]
    assert "wiki.path = (not set); wiki.rows = 10" in before["message"]
    desk = Desk(WIKI_TOKEN=SECRET, **{"wiki.path": "/srv/wiki"})
    session.collect(desk.ask, desk.keep)
    session.after_compaction(each=1)
    after = session.invoke("/wiki").to_json()
    assert (after["skills"][0]["ready"], after["skills"][0]["missing"]) == (True, [])
    assert "Setup needed" not in after["message"]
    assert "[Settings: wiki.path = /srv/wiki; wiki.rows = 10.]" in after["message"]
    viewed = session.view("bot").to_json()
    assert [item["name"] for item in viewed["missing"]] == ["BOT_TOKEN", "no-such-program"]
    assert session.view("wiki", page=1).to_json()["name"] == "wiki"
    assert not world.library().invoke("/wiki").to_json()["skills"][0]["ready"], "another session knows nothing of it"


def test_a_value_of_the_session_comes_before_that_of_the_settings(world: World) -> None:
    fill(world)
    session, desk = world.session(), Desk(**{"wiki.path": "/mine"})
    session.collect(desk.ask, desk.keep, "wiki")
    world.config('[skill_settings.wiki]\npath = "/theirs"\nrows = 3')
    assert "[Settings: wiki.path = /mine; wiki.rows = 3.]" in session.invoke("/wiki").message


def test_a_secret_is_nowhere_but_with_its_keeper(world: World) -> None:
    fill(world)
    session = world.session()
    answers: list[Any] = [session.invoke("/wiki /bot do it", budget=400).to_json()]
    desk = Desk(WIKI_TOKEN=SECRET, BOT_TOKEN=SECRET, **{"no-such-program": SECRET})
    answers.append(session.collect(desk.ask, desk.keep).to_json())
    answers.append(session.collect(desk.ask, desk.keep).to_json())
    assert desk.kept == [("BOT_TOKEN", SECRET), ("WIKI_TOKEN", SECRET)]
    answers += [
        session.view("wiki").to_json(),
        session.view("bot").to_json(),
        session.invoke("/wiki /bot again").to_json(),
        session.index().to_json(),
    ]
    answers += [
        session.after_compaction().to_json(),
        session.view("wiki").to_json(),
        session.to_json(),
        list(session.needs()),
    ]
    restored = world.library().session(saved=json.loads(json.dumps(session.to_json())))
    answers += [restored.to_json(), restored.invoke("/wiki /bot"), restored.after_compaction(budget=10)]
    told = [json.dumps(answers), repr(session), str(session), repr(restored), repr(session.active), repr(vars(session))]
    assert not [text for text in told if SECRET in text]
    assert not [path for path in world.top.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_an_agent_that_keeps_nothing_is_asked_again_elsewhere(world: World) -> None:
    fill(world)
    first, desk = world.session(), Desk(WIKI_TOKEN=SECRET)
    first.collect(desk.ask, desk.keep, "wiki")
    library = Library.open(home=world.state, project=world.project, env={**world.env, "WIKI_TOKEN": SECRET})
    second = library.session()
    assert [need.name for need in second.needs("wiki")] == ["wiki.path"]
    library.close()
    third = world.session()
    assert [need.name for need in third.needs("wiki")] == ["WIKI_TOKEN", "wiki.path"]
