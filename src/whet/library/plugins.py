"""The skills of plugins that are installed in other clients, found in the files of these clients.

    Claude Code   ~/.claude/plugins/{installed_plugins,known_marketplaces}.json; `enabledPlugins` in its settings files
    Codex         ~/.codex/config.toml: [plugins."NAME@MARKETPLACE"]; ~/.codex/plugins/cache/MARKETPLACE/NAME/VERSION
    Gemini CLI    ~/.gemini/extensions/NAME, switched on and off in extension-enablement.json

Measured with Claude Code 2.1, Codex 0.166 and Gemini CLI 0.61: a plugin is named by its manifest; its skills are in
`skills/` and in the directories that its manifest or its marketplace entry names, each a skill or a directory of
skills; without these, the plugin itself is the skill for Claude Code. In Codex the folders that the manifest names
replace `skills/`, and commands become skills when the plugin is installed; Gemini CLI reads `skills/` only. Claude Code
reads a plugin of a local marketplace in place, not the copy that it made. A project's settings can only enable plugins
that the user installed: a stranger may have written them. Nothing here is ever written.
"""

from __future__ import annotations

import os

from whet.library.files import Signature, inside, raw_signature, read_file, signature
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill.finder import MAIN_FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.library.roots import Place
    from whet.store.clock import Clock

_MAX_FILE = 16 * 1024 * 1024
_MANIFESTS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json")
_LOCAL = ("directory", "file")
"""Kinds of marketplaces whose plugins are read in place."""


class PluginFolder(NamedTuple):
    """A directory of a plugin that holds skills."""

    path: str
    client: str
    namespace: str
    kind: str
    """`skills`: a folder of skills; `skill`: one skill; `commands`: Markdown files that are commands."""


class Plugins(NamedTuple):
    """The skill directories of the plugins of all clients, and problems of their files."""

    folders: tuple[PluginFolder, ...] = ()
    notes: tuple[Note, ...] = ()


class PluginReader:
    """Reads the files that list the plugins of one place, each once until it changes."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self._place = place
        self._clock = clock
        self._known: dict[str, tuple[Signature, dict[str, object] | None]] = {}
        self._notes: list[Note] = []

    def read(self, clients: tuple[str, ...] = (), *, project: bool = True) -> Plugins:
        """Return the plugins that are enabled in these clients, or in all; with `project`, its settings count too."""
        self._notes = []
        found: dict[tuple[str, str], PluginFolder] = {}
        seen: set[str] = set()
        readers: tuple[tuple[str, Callable[[], Iterator[_Installed]]], ...] = (
            ("claude-code", lambda: self._claude(project=project)),
            ("codex", self._codex),
            ("gemini", self._gemini),
        )
        for client, installed in readers:
            if clients and client not in clients:
                continue
            for plugin in installed():
                if plugin.label not in seen:  # the same plugin in another client
                    seen.add(plugin.label)
                    for folder in self._folders(client, plugin):
                        found.setdefault((folder.path, folder.kind), folder)
        return Plugins(tuple(found.values()), tuple(self._notes))

    # clients

    def _claude(self, *, project: bool) -> Iterator[_Installed]:
        base = self._place.env.get("CLAUDE_CONFIG_DIR") or os.path.join(self._place.home, ".claude")
        records = _object(self._load(os.path.join(base, "plugins", "installed_plugins.json")).get("plugins"))
        if not records:
            return
        own = os.path.join(self._place.directory, ".claude")
        files = [os.path.join(base, "settings.json")]
        files += [os.path.join(own, name) for name in ("settings.json", "settings.local.json")] if project else []
        enabled: dict[str, object] = {}
        for file in files:
            enabled |= _object(self._load(file).get("enabledPlugins"))
        markets = self._load(os.path.join(base, "plugins", "known_marketplaces.json"))
        for label in sorted(label for label in records if enabled.get(label) is True):
            name, _, market = label.rpartition("@")
            record = self._record(records[label])
            place = _object(markets.get(market))
            location, entry = _text(place.get("installLocation")), dict[str, object]()
            directory = _text(record.get("installPath"))
            if location:
                file = os.path.join(location, ".claude-plugin", "marketplace.json")
                listed = self._load(file)
                entries = listed.get("plugins")
                same = (_object(item) for item in entries) if isinstance(entries, list) else ()
                entry = next((item for item in same if item.get("name") == name), entry)
                source = entry.get("source")
                if _object(place.get("source")).get("source") in _LOCAL and isinstance(source, str):
                    above = _text(_object(listed.get("metadata")).get("pluginRoot"))
                    directory = os.path.normpath(os.path.join(location, above, source))
            if directory and os.path.isabs(directory):
                yield _Installed(label, name, directory, _paths(entry.get("skills")))

    def _record(self, records: object) -> dict[str, object]:
        """Return the install record for this project, else for the user, else any."""
        found = [_object(item) for item in records] if isinstance(records, list) else []
        here = [item for item in found if item.get("projectPath") == self._place.directory]
        user = [item for item in found if item.get("scope") == "user"]
        return next(iter((*here, *user, *found)), {})

    def _codex(self) -> Iterator[_Installed]:
        base = self._place.env.get("CODEX_HOME") or os.path.join(self._place.home, ".codex")
        for label, said in sorted(_object(self._load(os.path.join(base, "config.toml")).get("plugins")).items()):
            name, _, market = label.rpartition("@")
            if not name or _object(said).get("enabled") is not True or {"..", ".", ""} & {name, market}:
                continue
            versions = os.path.join(base, "plugins", "cache", market, name)
            try:
                newest = max((entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(versions) if entry.is_dir())
            except (OSError, ValueError):
                continue
            yield _Installed(label, name, newest[1], alone=False)

    def _gemini(self) -> Iterator[_Installed]:
        base = os.path.join(self._place.home, ".gemini", "extensions")
        try:
            with os.scandir(base) as entries:
                found = sorted(entry.name for entry in entries if entry.is_dir())
        except OSError:
            return
        rules = self._load(os.path.join(base, "extension-enablement.json"))
        for folder in found:
            directory = os.path.join(base, folder)
            name = _text(self._load(os.path.join(directory, "gemini-extension.json")).get("name"))
            if name and self._is_on(_object(rules.get(name)).get("overrides")):
                yield _Installed(f"{name}@gemini", name, directory, alone=False)

    def _is_on(self, rules: object) -> bool:
        """Return whether a Gemini extension is enabled here. The last matching rule decides; the default is yes."""
        on = True
        here = f"{self._place.directory}/"
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, str):
                place = rule.removeprefix("!")
                if here.startswith(place[:-1]) if place.endswith("*") else here == f"{place.rstrip('/')}/":
                    on = not rule.startswith("!")
        return on

    # one plugin

    def _folders(self, client: str, plugin: _Installed) -> Iterator[PluginFolder]:
        manifest: dict[str, object] = {}
        for name in _MANIFESTS:
            manifest = manifest or self._load(os.path.join(plugin.directory, *name.split("/")))
        namespace = _text(manifest.get("name")) or plugin.name
        if os.sep in namespace or "/" in namespace or ":" in namespace:
            namespace = plugin.name
        real = os.path.realpath(plugin.directory)
        named = (*_paths(manifest.get("skills")), *plugin.skills) if client != "gemini" else ()
        paths = []
        default: tuple[str, ...] = ("skills",)
        if client == "codex":  # the manifest replaces the directory; commands become skills when they are installed
            default = (".codex-plugin/migrated-command-skills", *(() if named else default))
        for path in dict.fromkeys((*default, *named)):
            full = os.path.normpath(os.path.join(plugin.directory, *path.replace("\\", "/").split("/")))
            if not os.path.isdir(full):
                continue
            if inside(os.path.realpath(full), real):
                paths.append(full)
            else:
                message = f"The plugin {plugin.label} names {path}, which is outside its directory; Whet ignores it."
                self._notes.append(Note("plugin-escape", "warning", message, "Tell its author.", path=plugin.directory))
        for full in paths or ([plugin.directory] if plugin.alone and _is_skill(plugin.directory) else ()):
            yield PluginFolder(full, client, namespace, "skill" if _is_skill(full) else "skills")
        commands = os.path.join(plugin.directory, "commands")
        if client == "claude-code" and os.path.isdir(commands) and inside(os.path.realpath(commands), real):
            yield PluginFolder(commands, client, namespace, "commands")

    def _load(self, path: str) -> dict[str, object]:
        """Return the object in a JSON or TOML file; empty if the file is missing, or unreadable, which is noted."""
        try:
            status = os.stat(path)
        except OSError:
            return {}
        known = self._known.get(path)
        if known is None or known[0] != raw_signature(status):
            known = self._known[path] = signature(status, self._clock()), _parse(path)
        if known[1] is None:
            hint = "Repair it with the client that wrote it."
            note = Note(
                "plugin-unreadable", "warning", "Whet cannot read which plugins are installed.", hint, path=path
            )
            self._notes.append(note)
        return known[1] or {}


class _Installed(NamedTuple):
    """An enabled plugin."""

    label: str
    name: str
    directory: str
    skills: tuple[str, ...] = ()
    """The paths in its marketplace entry."""
    alone: bool = True
    """Whether the plugin itself may be a skill."""


def _parse(path: str) -> dict[str, object] | None:
    """Return the object in a file; None if it holds anything else."""
    try:
        text = read_file(path, _MAX_FILE).decode("utf-8-sig")
        if path.endswith(".toml"):
            import tomllib

            return tomllib.loads(text)
        import json

        found = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_skill(directory: str) -> bool:
    return any(os.path.isfile(os.path.join(directory, name)) for name in MAIN_FILES)


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) and "\0" not in value else ""


def _paths(value: object) -> tuple[str, ...]:
    """Return one relative path or several as a tuple."""
    items = value if isinstance(value, list) else [value]
    return tuple(item for item in map(_text, items) if item and not os.path.isabs(item))
