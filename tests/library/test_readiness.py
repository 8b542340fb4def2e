from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from whet.library.readiness import LocalProbe, Missing, missing, wrong_platform
from whet.skill.gates import OPEN, EnvVar, Gates, Setting, Tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library
    from whet.library.readiness import Probe

GATES = Gates(
    platforms=("linux", "macos"),
    env=(EnvVar("TOKEN", "Enter it", "From the page."), EnvVar("EXTRA", optional=True), EnvVar("BARE", "Enter it")),
    commands=("git", "jq"),
    any_commands=("brew", "apt"),
    tools=(Tool("search", description="Searches."), Tool("browser", "mcp", url="http://localhost")),
    settings=(Setting("place", "A place."), Setting("day", default="today"), Setting("hour", prompt="Which?")),
)


class Container:
    """The environment of an agent that runs commands somewhere else."""

    platform = "linux"

    def __init__(self, *things: str) -> None:
        self.things = things

    def has_command(self, name: str) -> bool:
        return name in self.things

    def has_env(self, name: str) -> bool:
        return name in self.things

    def has_tool(self, tool: Tool) -> bool:
        return tool.name in self.things

    def has_setting(self, key: str) -> bool:
        return key in self.things


class Clueless:
    """An environment that cannot be asked."""

    platform = "linux"

    def has_command(self, name: str) -> None:
        """Cannot tell."""

    def has_env(self, name: str) -> None:
        """Cannot tell."""

    def has_tool(self, tool: Tool) -> None:
        """Cannot tell."""

    def has_setting(self, key: str) -> None:
        """Cannot tell."""


def test_what_is_missing_is_named_with_what_to_do() -> None:
    assert missing(GATES, Container()) == (
        Missing("env", "TOKEN", "From the page."),
        Missing("env", "BARE", "Enter it"),
        Missing("command", "git", "Install git and put it on PATH."),
        Missing("command", "jq", "Install jq and put it on PATH."),
        Missing("command", "brew or apt", "Install one of them."),
        Missing("tool", "search", "Searches."),
        Missing("mcp", "browser", "http://localhost"),
        Missing("setting", "place", "A place."),
        Missing("setting", "hour", "Which?"),
    )


def test_what_is_there_is_not_missing() -> None:
    everything = ("TOKEN", "BARE", "git", "jq", "apt", "search", "browser", "place", "hour")
    assert missing(GATES, Container(*everything)) == ()


def test_what_cannot_be_told_is_not_missing() -> None:
    assert missing(GATES, Clueless()) == ()


def test_a_skill_that_asks_for_nothing_asks_nobody() -> None:
    assert missing(OPEN, None) == ()  # type: ignore[arg-type]  # nobody to ask


@pytest.mark.parametrize(
    ("platforms", "platform", "expected"),
    [((), "linux", False), (("linux",), "linux", False), (("macos",), "linux", True), (("beos",), "linux", True)],
)
def test_a_skill_for_other_platforms_is_recognised(platforms: tuple[str, ...], platform: str, expected: bool) -> None:
    assert wrong_platform(Gates(platforms=platforms), LocalProbe({}, platform)) is expected


def program(path: Path, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)


def test_commands_are_looked_for_along_the_path_given(tmp_path: Path) -> None:
    program(tmp_path / "one" / "tool")
    program(tmp_path / "two" / "data", 0o644)
    (tmp_path / "two" / "directory").mkdir()
    probe = LocalProbe({"PATH": f"{tmp_path / 'two'}{os.pathsep}{tmp_path / 'one'}"}, "linux")
    names = ("tool", "data", "directory", "absent", str(tmp_path / "one" / "tool"), "", "bad\0name", "bad\ud800name")
    assert [probe.has_command(name) for name in names] == [True, False, False, False, True, False, False, False]


def test_commands_on_windows_have_endings(tmp_path: Path) -> None:
    program(tmp_path / "tool.EXE")
    program(tmp_path / "script.CMD")
    env = {"PATH": str(tmp_path), "PATHEXT": os.pathsep.join((".EXE", ".CMD"))}
    probe = LocalProbe(env, "win32")
    assert [probe.has_command(name) for name in ("tool", "script", "other")] == [True, True, False]
    assert LocalProbe({"PATH": str(tmp_path)}, "win32").has_command("tool")


def test_a_local_probe_knows_the_environment_and_what_it_is_told() -> None:
    probe = LocalProbe({"SET": "1", "EMPTY": ""}, "darwin")
    assert probe.platform == "macos"
    assert [probe.has_env(name) for name in ("SET", "EMPTY", "UNSET")] == [True, False, False]
    assert (probe.has_tool(Tool("search")), probe.has_setting("place")) == (None, None)
    told = LocalProbe({}, "linux", tools=["search"], settings={"place": "here", "empty": ""})
    assert [told.has_tool(Tool(name)) for name in ("search", "browser")] == [True, False]
    assert [told.has_setting(key) for key in ("place", "empty", "other")] == [True, False, False]


# in a library

NEEDS = """metadata:
  openclaw:
    requires: {bins: [frobnicate], env: [FROB_TOKEN]}
"""


def test_missing_setup_never_hides_a_skill(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "frob", more=NEEDS)
    library = opened(root)
    (item,) = library.skills().to_json()["skills"]
    assert (item["name"], item["ready"]) == ("frob", False)
    answer = library.read("frob").to_json()
    assert (answer["ready"], [(entry["kind"], entry["name"]) for entry in answer["missing"]]) == (
        False,
        [("env", "FROB_TOKEN"), ("command", "frobnicate")],
    )


def test_what_is_installed_later_is_noticed_at_the_next_call(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "frob", more=NEEDS)
    env = {"PATH": str(tmp_path / "bin"), "FROB_TOKEN": "x"}
    library = opened(root, env=env)

    def ready() -> list[bool]:
        return [library.skills().to_json()["skills"][0]["ready"], library.read("frob").ready]

    assert ready() == [False, False]
    program(tmp_path / "bin" / "frobnicate")
    assert ready() == [True, True]
    (tmp_path / "bin" / "frobnicate").unlink()
    assert ready() == [False, False]


@pytest.mark.parametrize(
    ("probe", "ready"),
    [(Container("frobnicate", "FROB_TOKEN"), True), (Container("frobnicate"), False), (Clueless(), True)],
)
def test_the_environment_that_will_run_it_is_asked(
    probe: Probe, ready: bool, root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "frob", more=NEEDS)
    library = opened(root, probe=probe)
    assert library.workspace.config().probe is probe
    assert (library.skills().to_json()["skills"][0]["ready"], library.read("frob").ready) == (ready, ready)


def test_characters_that_no_command_has_do_no_harm(root: str, opened: Callable[..., Library]) -> None:
    os.mkdir(f"{root}/odd")
    with open(f"{root}/odd/SKILL.md", "w") as file:
        file.write(
            '---\nname: odd\ndescription: Odd.\nprerequisites: {commands: ["a\\0b", "../x"], env_vars: ["A\\0"]}\n---\n'
        )
    library = opened(root)
    assert [item["name"] for item in library.skills().to_json()["skills"]] == ["odd"]
    assert library.read("odd").ready is False
    assert "not-ready" in {entry.code for entry in library.doctor()}
