"""Plugins of other clients: the files are as Claude Code 2.1.197, Codex 0.166 and Gemini CLI 0.61 wrote them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library
    from whet.notes import Note


class World:
    """A home in which plugins are installed, and a project."""

    def __init__(self, top: Path, skill: Callable[..., str]) -> None:
        self.home, self.project, self.market = top / "home", top / "project", top / "market"
        self.skill = skill
        self.cache = self.home / ".claude" / "plugins" / "cache" / "mk"
        self.records: dict[str, list[dict[str, str]]] = {}
        self.enabled: dict[str, bool] = {}

    def write(self, path: Path, values: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(values if isinstance(values, str) else json.dumps(values))

    def plugin(self, name: str, *, manifest: Any = None, enabled: bool = True, scope: str = "user") -> Path:
        """Install a plugin of a marketplace that is a repository; gives its directory."""
        directory = self.cache / name / "1.2.0"
        directory.mkdir(parents=True)
        if manifest is not None:
            self.write(directory / ".claude-plugin" / "plugin.json", manifest)
        record = {"scope": scope, "installPath": str(directory), "version": "1.2.0"}
        self.records[f"{name}@mk"] = [record | ({"projectPath": str(self.project)} if scope != "user" else {})]
        if scope == "user":
            self.enabled[f"{name}@mk"] = enabled
        self.settle()
        return directory

    def settle(self, source: str = "github", entries: Any = ()) -> None:
        base = self.home / ".claude"
        self.write(base / "plugins" / "installed_plugins.json", {"version": 2, "plugins": self.records})
        self.write(base / "settings.json", {"enabledPlugins": self.enabled, "model": "x"})
        self.write(self.market / ".claude-plugin" / "marketplace.json", {"name": "mk", "plugins": list(entries)})
        known = {"source": {"source": source, "path": str(self.market)}, "installLocation": str(self.market)}
        self.write(base / "plugins" / "known_marketplaces.json", {"mk": known})


@pytest.fixture
def world(tmp_path: Path, skill: Callable[..., str], config: Callable[..., None]) -> World:
    config()
    (tmp_path / "project").mkdir()
    return World(tmp_path, skill)


def names(library: Library) -> list[str]:
    return [card.full_name for card in library.skills()]


def notes(library: Library) -> list[Note]:
    return [note for note in library.workspace.report() if note.code.startswith("plugin-")]


def test_the_skills_of_a_plugin_have_its_name(world: World, opened: Callable[..., Library]) -> None:
    alpha = world.plugin("alpha", manifest={"name": "alpha", "version": "1.2.0"})
    world.skill(str(alpha / "skills"), "one")
    world.write(alpha / "commands" / "go.md", "---\ndescription: Go.\n---\nGo.\n")
    eps = world.plugin("eps", manifest={"name": "real"})
    world.skill(str(eps / "skills"), "one")
    world.skill(str(world.plugin("bare") / "skills"), "two")
    library = opened()
    assert [(card.full_name, card.scope, card.clients) for card in library.skills()] == [
        ("alpha:go", "plugin", ("claude-code",)),
        ("alpha:one", "plugin", ("claude-code",)),
        ("bare:two", "plugin", ("claude-code",)),
        ("real:one", "plugin", ("claude-code",)),
    ]
    assert library.read("alpha:one").content == "Body.\n"
    assert notes(library) == []
    assert library.sources.why("alpha:one").plugin == "alpha of Claude Code"


def test_what_the_manifest_names_is_found_beside_the_default_folder(
    world: World, opened: Callable[..., Library]
) -> None:
    beta = world.plugin("beta", manifest={"name": "beta", "skills": ["./extra", "./more/solo"]})
    for place, name in (("skills", "default"), ("extra", "extra-one"), ("more", "solo"), ("more/solo/examples", "not")):
        world.skill(str(beta / place), name)
    theta = world.plugin("theta", manifest={"name": "theta", "skills": "./only"})
    world.skill(str(theta), "only")
    assert names(opened()) == ["beta:default", "beta:extra-one", "beta:solo", "theta:only"]


def test_a_plugin_that_is_one_skill(world: World, opened: Callable[..., Library]) -> None:
    """Only where it has no folder of skills; what lies deeper in it is not looked for."""
    gamma = world.plugin("gamma", manifest={"name": "gamma"})
    world.write(gamma / "SKILL.md", "---\nname: root\ndescription: The plugin itself.\n---\nBody.\n")
    world.skill(str(gamma / "examples"), "deep")
    zeta = world.plugin("zeta")
    world.write(zeta / "SKILL.md", "---\nname: root\ndescription: Not listed.\n---\n")
    world.skill(str(zeta / "skills"), "two")
    library = opened()
    assert names(library) == ["gamma:root", "zeta:two"]
    change = library.edit.patch("gamma:root", find="Body.", replace="Changed.")
    assert (gamma / "SKILL.md").read_text().endswith("\nBody.\n")
    assert change.path == str(world.home / ".agents" / "skills" / "root")


def test_a_plugin_that_is_switched_off_or_not_switched_on_is_not_listed(
    world: World, opened: Callable[..., Library]
) -> None:
    for name, enabled in (("on", True), ("off", False), ("unsaid", True)):
        world.skill(str(world.plugin(name, enabled=enabled) / "skills"), "one")
    del world.enabled["unsaid@mk"]
    world.settle()
    library = opened(settled=True)
    assert names(library) == ["on:one"]
    world.enabled = {"on@mk": False, "off@mk": True}
    world.settle()
    assert names(library) == ["off:one"]


def test_a_project_switches_plugins_of_the_user_on_and_off_and_no_others(
    world: World, opened: Callable[..., Library]
) -> None:
    for name, scope in (("mine", "user"), ("shared", "project"), ("quiet", "local")):
        world.skill(str(world.plugin(name, scope=scope) / "skills"), "one")
    world.skill(str(world.market / "plugins" / "stranger" / "skills"), "one")
    stranger = {"name": "stranger", "source": "./plugins/stranger"}
    world.settle("directory", [stranger])
    assert names(opened()) == ["mine:one"]
    own = world.project / ".claude"
    world.write(own / "settings.json", {"enabledPlugins": {"mine@mk": False, "shared@mk": True, "stranger@mk": True}})
    assert names(opened()) == ["shared:one"]
    world.write(own / "settings.local.json", {"enabledPlugins": {"mine@mk": True, "quiet@mk": True}})
    assert names(opened()) == ["mine:one", "quiet:one", "shared:one"]
    (world.project / "sub").mkdir()
    assert names(opened(project=str(world.project / "sub"))) == ["mine:one"]


def test_a_marketplace_that_is_a_directory_is_read_where_it_lies(world: World, opened: Callable[..., Library]) -> None:
    world.skill(str(world.plugin("alpha") / "skills"), "old")
    world.plugin("whole")
    live = world.market / "plugins" / "alpha"
    world.skill(str(live / "skills"), "new")
    world.skill(str(world.market / "all"), "one")
    world.skill(str(world.market / "all"), "two")
    entries = [
        {"name": "alpha", "source": "./plugins/alpha"},
        {"name": "whole", "source": "./", "strict": False, "skills": ["./all/one"]},
    ]
    world.settle("directory", entries)
    assert names(opened()) == ["alpha:new", "whole:one"]
    world.settle("github", entries)
    assert names(opened()) == ["alpha:old"]


def test_codex_and_claude_code_share_a_plugin_and_gemini_has_extensions(
    world: World, opened: Callable[..., Library]
) -> None:
    world.skill(str(world.plugin("alpha") / "skills"), "one")
    codex = world.home / ".codex"
    for name in ("alpha", "beta", "off"):
        world.skill(str(codex / "plugins" / "cache" / "mk" / name / "1.0.0" / "skills"), f"{name}-codex")
    switches = {"alpha@mk": "true", "beta@mk": "true", "off@mk": "false", "../..@x": "true"}
    text = "".join(f'[plugins."{label}"]\nenabled = {on}\n' for label, on in switches.items())
    world.write(codex / "config.toml", text)
    for name in ("gem", "closed"):
        extension = world.home / ".gemini" / "extensions" / name
        world.write(extension / "gemini-extension.json", {"name": name, "version": "1.0.0"})
        world.skill(str(extension / "skills"), f"{name}-one")
    rules = {"gem": {"overrides": [f"!{world.home}/*", f"{world.project}/*"]}, "closed": {"overrides": ["!/*"]}}
    world.write(world.home / ".gemini" / "extensions" / "extension-enablement.json", rules)
    library = opened()
    assert [(card.full_name, card.clients) for card in library.skills()] == [
        ("alpha:one", ("claude-code",)),
        ("beta:beta-codex", ("codex",)),
        ("gem:gem-one", ("gemini",)),
    ]


def test_settings_narrow_the_clients(world: World, opened: Callable[..., Library], config: Callable[..., None]) -> None:
    world.skill(str(world.plugin("alpha") / "skills"), "one")
    config("clients = ['codex']")
    assert names(opened()) == []


def test_a_plugin_cannot_lead_out_of_its_directory(world: World, opened: Callable[..., Library]) -> None:
    world.skill(str(world.home / "private"), "diary")
    up = "../" * 6 + "private"
    beta = world.plugin("beta", manifest={"name": "a/b", "skills": [up, str(world.home / "private"), 7, "./link"]})
    (beta / "link").symlink_to(world.home / "private")
    world.skill(str(beta / "skills"), "one")
    (beta / "skills" / "out").symlink_to(world.home / "private" / "diary")
    library = opened()
    assert names(library) == ["beta:one"]
    message = "The plugin beta@mk names {}, which is outside its directory; Whet ignores it."
    assert [note.message for note in notes(library)] == [message.format(up), message.format("./link")]
    assert [os.path.basename(note.path) for note in library.workspace.report() if note.code == "link-escape"] == ["out"]


@pytest.mark.parametrize("text", ["", "[]", "{", "7", '{"plugins": 7}', '{"plugins": {"a@b": 7}}', "\udcff"])
def test_damaged_files_are_noted_and_hide_nothing_else(text: str, world: World, opened: Callable[..., Library]) -> None:
    world.skill(str(world.plugin("alpha") / "skills"), "one")
    world.skill(str(world.home / ".agents" / "skills"), "mine")
    path = world.home / ".claude" / "plugins" / "installed_plugins.json"
    path.write_bytes(os.fsencode(text))
    library = opened()
    assert names(library) == ["mine"]
    unreadable = [] if text.startswith('{"') else [("plugin-unreadable", str(path))]
    assert [(note.code, note.path) for note in notes(library)] == unreadable
