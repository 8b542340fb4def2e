"""The front door as a program uses it: open, look, decide, ask what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import whet
from whet import MODEL, Caller, Library
from whet.api import Reload
from whet.errors import NotFoundError, RefusedError, UsageError, WhetError
from whet.guard.permissions.decision import Policy, read_grants
from whet.library.loaded import Loaded
from whet.library.workspace import Workspace
from whet.prompt.views import view

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def change(added: list[str], removed: list[str], edited: list[str], unchanged: int, total: int) -> Reload:
    return Reload(tuple(added), tuple(removed), tuple(edited), unchanged, total)


class World:
    """A machine in a temporary directory: a home, a project, roots, and a library of them."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.home, self.state, self.project = top / "home", top / "state", top / "project"
        self.made: list[Library] = []
        for path in (self.home, self.project / ".git", self.state):
            path.mkdir(parents=True)
        self.config()

    def config(self, text: str = "") -> None:
        (self.state / "config.toml").write_text(text)

    def skill(self, place: str, *, description: str = "", body: str = "Body.\n", more: str = "") -> str:
        path = self.top / place / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        name = path.parent.name
        path.write_text(f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n{more}---\n{body}")
        return str(path.parent)

    def library(self, *roots: str, **more: Any) -> Library:
        more = {"home": self.state, "project": self.project, "env": {"HOME": str(self.home), "PATH": ""}, **more}
        library = Library.open([self.top / root for root in roots] or None, **more)
        self.made.append(library)
        return library


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: ())
    made = World(tmp_path)
    yield made
    for library in made.made:
        library.close()


def names(library: Library, **more: Any) -> list[str]:
    return [item["name"] for item in library.skills(**more).to_json()["skills"]]


# opening


def test_opening_reads_and_writes_nothing(world: World) -> None:
    before = sorted(os.listdir(world.home)), sorted(os.listdir(world.state))
    world.library()
    world.library("missing")
    assert (sorted(os.listdir(world.home)), sorted(os.listdir(world.state))) == before


def test_the_first_look_on_a_fresh_machine_makes_no_directory_and_finds_nothing(world: World) -> None:
    library = world.library()
    answer = library.skills().to_json()
    assert (answer["success"], answer["skills"]) == (True, [])
    assert os.listdir(world.home) == []
    assert names(world.library("missing")) == []
    assert not (world.top / "missing").exists()


def test_a_home_that_cannot_be_written_is_no_reason_to_fail(world: World) -> None:
    (world.home / ".agents").write_text("a file in the way")
    assert names(world.library()) == []


def test_the_environment_says_where_things_are(world: World, tmp_path: Path) -> None:
    world.skill("home/.agents/skills/mine")
    env = {"HOME": str(world.home), "WHET_HOME": str(tmp_path / "elsewhere"), "PATH": ""}
    library = world.library(home=None, env=env)
    assert "mine" in names(library)
    assert library.workspace.place.state == str(tmp_path / "elsewhere")
    (tmp_path / "mine.toml").write_text('disabled = ["mine"]')
    assert "mine" not in names(world.library(env={**env, "WHET_CONFIG": str(tmp_path / "mine.toml")}))


def test_one_root_may_be_given_without_a_list(world: World) -> None:
    world.skill("skills/one")
    for root in (str(world.top / "skills"), world.top / "skills"):
        library = Library.open(root, home=world.state, project=world.project, env={"HOME": str(world.home)})  # type: ignore[arg-type]  # a path is a list of one
        assert names(library) == ["one"]
        library.close()


def test_relative_roots_are_taken_from_the_project(world: World) -> None:
    world.skill("project/skills/one")
    library = Library.open(["skills"], home=world.state, project=world.project, env={"HOME": str(world.home)})
    assert names(library) == ["one"]
    library.close()


def test_a_project_that_is_not_there_is_an_error(world: World) -> None:
    with pytest.raises(UsageError) as caught:
        world.library(project=world.top / "gone")
    assert caught.value.code == "no-such-project"
    code = """
import os, sys
from whet import Library, UsageError
os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
try:
    Library.open(home=sys.argv[1])
except UsageError as error:
    print(error.code)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(world.state)], cwd=world.top, capture_output=True, text=True, check=True
    )
    assert done.stdout == "no-such-project\n"


def test_a_closed_library_opens_again(world: World) -> None:
    world.skill("skills/one")
    with world.library("skills") as library:
        assert names(library) == ["one"]
    library.settings.disable("one")
    library.close()
    library.close()
    assert names(library) == []


# looking


def test_unchanged_snapshots_are_the_same_object(world: World) -> None:
    world.skill("skills/one")
    late = [0]
    library = world.library("skills", clock=lambda: 4 * 10**18 + late[0])
    first = library.catalogue
    assert library.catalogue is first
    world.skill("skills/two")
    second = library.catalogue
    assert second is not first
    assert [card.name for card in first.cards] == ["one"]
    assert [card.name for card in second.cards] == ["one", "two"]


def test_reload_tells_what_changed_since_the_last_look(world: World) -> None:
    for name in ("kept", "edited", "removed"):
        world.skill(f"skills/{name}")
    library = world.library("skills")
    assert library.reload() == change(["edited", "kept", "removed"], [], [], 0, 3)
    world.skill("skills/edited", body="New.\n")
    world.skill("skills/added")
    os.unlink(world.top / "skills" / "removed" / "SKILL.md")
    assert library.reload() == change(["added"], ["removed"], ["edited"], 1, 3)
    assert library.reload() == change([], [], [], 3, 3)


def test_a_skill_as_a_typed_value(world: World) -> None:
    world.skill("skills/one", more="version: 2\ntags: [a, b]\n")
    skill = world.library("skills").read("one").skill
    assert (skill.name, skill.version, skill.tags, skill.body) == ("one", "2", ("a", "b"), "Body.\n")


def test_the_library_has_a_digest_of_its_own(world: World) -> None:
    world.skill("skills/one")
    directory = world.skill("skills/two")
    library = world.library("skills")
    first = library.workspace.digest()
    assert first == library.workspace.digest() == world.library("skills").workspace.digest()
    with open(f"{directory}/notes.txt", "w") as file:
        file.write("more")
    assert library.workspace.digest() != first
    os.unlink(f"{directory}/notes.txt")
    assert library.workspace.digest() == first


def test_roots_are_told_in_order_with_what_they_hold(world: World) -> None:
    world.skill("home/.agents/skills/one")
    world.skill("home/.claude/skills/two")
    world.config(f"external = ['{world.top}/gone']")
    roots = world.library().settings.roots().to_json()["roots"]
    assert [(root["client"], root["scope"], root["exists"], root["skills"]) for root in roots] == [
        ("agents", "user", True, 1),
        ("claude-code", "user", True, 1),
        ("", "external", False, 0),
    ]


def test_where_a_new_skill_goes(world: World) -> None:
    assert world.library().workspace.new_root() == str(world.home / ".agents" / "skills")
    assert world.library().workspace.new_root(project=True) == str(world.project / ".agents" / "skills")
    assert world.library("first", "second").workspace.new_root() == str(world.top / "first")
    with pytest.raises(UsageError) as caught:
        world.library("first").workspace.new_root(project=True)
    assert caught.value.code == "no-project"


# finding


def test_a_change_of_the_roots_is_seen_by_find(world: World) -> None:
    world.skill("home/.agents/skills/same", description="Of the user.")
    library = world.library()
    assert library.card("same").description == "Of the user."
    world.skill("project/.agents/skills/same", description="Of the project.")
    library.settings.trust()
    assert library.card("same").description == "Of the project."
    world.config("project_skills = false")
    assert library.card("same").description == "Of the user."


def test_a_missing_root_does_not_make_finding_expensive_or_wrong(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.skill("second/same", description="Second.")
    library = world.library("first", "second", clock=lambda: 4 * 10**18)
    assert library.card("same").description == "Second."
    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "snapshot", lambda _: pytest.fail("looked at everything"))
        assert library.card("same").description == "Second."
    world.skill("first/same", description="First.")
    assert library.card("same").description == "First."


# trust


def test_trust_is_given_and_taken_back(world: World) -> None:
    world.skill("project/.agents/skills/mine")
    library = world.library()
    assert (names(library), library.skills().to_json()["waiting"]) == ([], 1)
    expected = {"success": True, "project": str(world.project), "skills": ["mine"]}
    first, again = library.settings.trust().to_json(), library.settings.trust().to_json()
    assert [(item["name"], item["verdict"], item["decision"]) for item in first["verdicts"]] == [
        ("mine", "safe", "allow")
    ]
    assert first == {**expected, "trusted": True, "changed": True, "verdicts": first["verdicts"]}
    assert again == {**first, "changed": False}
    assert names(library) == ["mine"]
    assert [item["path"] for item in library.settings.trusted().to_json()["trusted"]] == [str(world.project)]
    assert library.settings.untrust().to_json() == {**expected, "trusted": False, "changed": True}
    assert library.settings.untrust().to_json() == {**expected, "trusted": False, "changed": False}
    assert names(library) == []


def test_trust_can_be_taken_from_a_repository_that_is_gone(world: World) -> None:
    library = world.library()
    library.settings.trust()
    os.rename(world.project, world.top / "moved")
    other = world.library(project=world.home)
    assert other.settings.untrust(str(world.project)).changed is True
    with pytest.raises(NotFoundError) as caught:
        other.settings.untrust(str(world.project))
    assert caught.value.code == "not-trusted"


def test_trust_needs_a_project(world: World) -> None:
    for library in (world.library("skills"), world.library(project=world.home)):
        with pytest.raises(UsageError) as caught:
            library.settings.trust()
        assert caught.value.code == "no-project"


def test_an_untrusted_project_decides_nothing(world: World) -> None:
    world.skill("home/.agents/skills/mine")
    (world.project / ".whet.toml").write_text("disabled = ['mine']\n")
    library = world.library()
    assert names(library) == ["mine"]
    library.settings.trust()
    assert names(library) == []
    (world.project / ".whet.toml").write_text("not toml")
    with pytest.raises(UsageError):
        library.skills()
    library.settings.untrust()
    assert names(library) == ["mine"]


# switching off and on


def test_a_skill_is_switched_off_and_on_again(world: World) -> None:
    world.skill("home/.agents/skills/My_Skill")
    library = world.library()
    answer = {"success": True, "name": "my-skill", "surface": "", "enabled": False, "changed": True, "hint": ""}
    assert library.settings.disable("my-skill").to_json() == answer
    assert library.settings.disable("MY_SKILL").to_json() == {**answer, "changed": False}
    assert names(library) == []
    assert library.settings.enable("my-skill").to_json() == {**answer, "enabled": True}
    assert library.settings.enable("my-skill").to_json() == {**answer, "enabled": True, "changed": False}
    assert names(library) == ["My_Skill"]


def test_a_skill_is_switched_off_on_one_surface(world: World) -> None:
    world.skill("home/.agents/skills/one")
    library = world.library()
    library.settings.disable("one", "mcp")
    assert names(library) == ["one"]
    assert names(library, caller=Caller(surface="mcp")) == []
    library.settings.enable("one", "mcp")
    assert names(library, caller=Caller(surface="mcp")) == ["one"]


def test_switching_off_by_a_qualified_name_spares_the_others_of_that_name(world: World) -> None:
    world.skill("project/.agents/skills/deploy", description="Of the project.")
    directory = world.skill("home/.agents/skills/deploy", description="Of the user.")
    library = world.library()
    library.settings.trust()
    for name in ("user:deploy", directory):
        assert library.settings.disable(name).name == "user:deploy"
        assert [item["description"] for item in library.skills().to_json()["skills"]] == ["Of the project."]
        with pytest.raises(RefusedError) as caught:
            library.read("user:deploy", caller=MODEL)
        assert caught.value.code == "disabled"
        assert library.settings.enable("user:deploy").changed is True
    library.settings.disable("project:deploy")
    assert names(library) == []
    assert library.settings.enable("deploy").to_json() == {
        "success": True,
        "name": "deploy",
        "surface": "",
        "enabled": True,
        "changed": True,
        "hint": "",
    }
    assert names(library) == ["deploy"]


def test_what_a_file_switches_off_a_command_cannot_switch_on(world: World) -> None:
    world.skill("home/.agents/skills/one")
    world.config('disabled = ["one"]')
    answer = world.library().settings.enable("one").to_json()
    assert (answer["enabled"], answer["hint"]) == (False, "It is still disabled by config.toml.")


def test_a_skill_that_is_gone_can_still_be_switched_on(world: World) -> None:
    directory = world.skill("home/.agents/skills/one")
    library = world.library()
    library.settings.disable("one")
    os.rename(directory, world.top / "gone")
    assert library.settings.enable("one").changed is True
    with pytest.raises(NotFoundError):
        library.settings.disable("one")


# telling


def test_a_tool_call_is_permitted_by_what_the_skill_declares_and_by_a_policy(world: World) -> None:
    world.skill("root/picker", more="allowed-tools: Bash(git log:*) Read(./src/**) Bash($(x))\n")
    world.skill("root/open")
    library = world.library("root")
    call = {"command": "git log -3"}
    problems = ["'Bash($(x))' grants nothing: it has an expansion ($)."]
    reason = "Bash(git log:*) covers `git log -3`."
    assert library.guard.permits("picker", "Bash", call).to_json() == {
        "success": True,
        "decision": "allow",
        "reason": reason,
        "problems": problems,
    }
    assert library.guard.permits("picker", "Read", {"file_path": str(world.project / "src/a.py")}).decision == "allow"
    policy = Policy(deny=read_grants("Bash(git log:*)"))
    assert library.guard.permits("picker", "Bash", call, policy=policy).decision == "deny"
    asked = {"success": True, "decision": "ask", "reason": "The skill declares no tools."}
    assert library.guard.permits("open", "Bash", call).to_json() == asked
    with pytest.raises(NotFoundError):
        library.guard.permits("none", "Bash", call)


def test_the_report_of_a_sound_library_is_empty(world: World) -> None:
    world.skill("home/.agents/skills/one")
    library = world.library()
    assert (library.workspace.report(), library.doctor()) == ((), ())


def test_settings_that_make_no_sense_are_in_the_report(world: World) -> None:
    world.config("depth = 0\ncolour = 'red'\n")
    assert [entry.code for entry in world.library().workspace.report()] == ["bad-setting", "unknown-setting"]


def test_every_answer_is_json(world: World) -> None:
    import json

    world.skill("home/.agents/skills/one", more="metadata: {hermes: {config: [{key: a, default: 2024-01-01}]}}\n")
    world.skill("project/.agents/skills/waiting")
    library, loaded = world.library(), Loaded()
    answers: list[Any] = [
        library.skills(include_hidden=True).to_json(),
        view(library.workspace, "one", loaded=loaded).to_json(),
        view(library.workspace, "one", loaded=loaded).to_json(),
        library.read("one", "SKILL.md").to_json(),
        library.settings.trust().to_json(),
        library.settings.trusted().to_json(),
        library.settings.disable("one").to_json(),
        library.settings.enable("one").to_json(),
        library.settings.roots().to_json(),
        library.reload().to_json(),
        library.repair().to_json(),
        [entry.to_json() for entry in library.doctor()],
    ]
    with pytest.raises(WhetError) as caught:
        library.read("nothing")
    answers.append(caught.value.to_json())
    assert json.loads(json.dumps(answers)) == answers


def test_the_example_in_the_module_works(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    library = world.library()
    library.sources.install("gallery:writing-skills")
    for skill in library.skills().to_json()["skills"]:
        print(skill["name"], "-", skill["description"])
    print(library.read("writing-skills").content)
    assert "writing-skills - " in capsys.readouterr().out
    assert whet.Library is Library


def test_looking_in_between_does_not_hide_a_change_from_reload(world: World) -> None:
    world.skill("skills/one")
    library = world.library("skills")
    library.reload()
    world.skill("skills/two")
    assert [item["name"] for item in library.skills().to_json()["skills"]] == ["one", "two"]
    assert library.reload() == change(["two"], [], [], 1, 2)


def test_whatever_takes_its_time_reports_its_progress(tmp_path: Path) -> None:
    root, groups = tmp_path / "flat", tmp_path / "groups"
    for number in range(250):
        for path in (root / f"s{number}", groups / f"g{number % 2}" / f"t{number}"):
            path.mkdir(parents=True)
            (path / "SKILL.md").write_text(f"---\nname: {path.name}\ndescription: Counts.\n---\nCount.\n")
    for top, reading in (
        (root, [("Reading", 100, 250), ("Reading", 200, 250)]),
        (groups, [("Reading", 100, 0), ("Reading", 200, 250)]),  # the first of two groups: the whole is not known yet
    ):
        told: list[tuple[str, int, int]] = []
        later = time.time_ns() + 60 * 10**9  # so that everything on disk counts as settled
        library = Library.open([top], home=tmp_path / "state" / top.name, clock=lambda: later)  # noqa: B023  read at once
        library.progress = lambda now, told=told: told.append(now[:3])  # type: ignore[misc]  # bound on purpose
        assert len(library.skills()) == 250
        assert told == reading
        assert len(library.skills()) == 250
        assert told == reading  # looking again reads nothing
        told.clear()
        library.doctor()
        assert told == [("Checking", 0, 250), ("Checking", 100, 250), ("Checking", 200, 250)]
        told.clear()
        library.find("count sheep")
        assert told[-1] == ("Indexing", 250, 250)
        library.close()
