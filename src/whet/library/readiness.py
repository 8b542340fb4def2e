"""Readiness: whether the environment of a skill has everything that it requires.

The answer comes from a `Probe`, which the caller can replace: an agent that runs commands in a container asks the
container, not the host. Missing setup never hides a skill; it says what to set up.
"""

from __future__ import annotations

import os

from whet.library.roots import platform_name
from whet.records import NamedTuple
from whet.skill.gates import OPEN, Gates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, Protocol

    from whet.skill.gates import Tool
else:
    Protocol = object


class Probe(Protocol):
    """Answers questions about the environment that a skill runs in. None means "unknown", which is not missing.

    Write one to ask a container or another machine instead of this one, and give it to `Library.open`.
    """

    @property
    def platform(self) -> str:
        """`macos`, `linux`, `windows`, or another name."""

    def has_command(self, name: str) -> bool | None:
        """Return whether the program exists."""

    def has_env(self, name: str) -> bool | None:
        """Return whether the environment variable is set and not empty."""

    def has_tool(self, tool: Tool) -> bool | None:
        """Return whether the agent has this tool."""

    def has_setting(self, key: str) -> bool | None:
        """Return whether the setting has a value."""


class LocalProbe:
    """Answers for this machine, from its environment variables and `sys.platform`.

    Tools and settings are known only if the caller names them.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        platform: str,
        *,
        tools: Collection[str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.platform = platform_name(platform)
        """`macos`, `linux`, `windows`, or another name."""
        self._env = env
        self._tools = tools
        self._settings = settings
        self._commands: dict[str, bool] = {}

    def has_command(self, name: str) -> bool:
        """Return whether PATH has a command. The result is cached, because a library creates many probes."""
        if name not in self._commands:
            self._commands[name] = self._which(name)
        return self._commands[name]

    def _which(self, name: str) -> bool:
        endings = self._env.get("PATHEXT", ".EXE").split(os.pathsep) if self.platform == "windows" else [""]
        places = [""] if os.path.dirname(name) else self._env.get("PATH", os.defpath).split(os.pathsep)
        candidates = (os.path.join(place, name + ending) for place in places for ending in endings)
        try:
            return any(os.access(path, os.X_OK) and not os.path.isdir(path) for path in candidates)
        except ValueError:  # characters that no file name can have
            return False

    def has_env(self, name: str) -> bool:
        """Return whether it is set and not empty in the given environment."""
        return bool(self._env.get(name))

    def has_tool(self, tool: Tool) -> bool | None:
        """Return whether the caller named it; unknown if the caller named no tools."""
        return None if self._tools is None else tool.name in self._tools

    def has_setting(self, key: str) -> bool | None:
        """Return whether the caller passed it; unknown if the caller passed no settings."""
        return None if self._settings is None else bool(self._settings.get(key))


class Missing(NamedTuple):
    """One thing to set up before the skill works completely."""

    kind: str
    """`env`, `command`, `tool` or `setting`."""
    name: str
    help: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the item as JSON."""
        return self._asdict()


def wrong_platform(gates: Gates, probe: Probe) -> bool:
    """Return whether the skill is only for other platforms."""
    return bool(gates.platforms) and probe.platform not in gates.platforms


def missing(gates: Gates, probe: Probe) -> tuple[Missing, ...]:
    """Return the requirements of a skill that the environment lacks."""
    if gates is OPEN or gates.always:
        return ()
    found = [
        Missing("env", variable.name, variable.help or variable.prompt)
        for variable in gates.env
        if not variable.optional and probe.has_env(variable.name) is False
    ]
    found.extend(
        Missing("command", name, _install_help(gates, name) or f"Install {name} and put it on PATH.")
        for name in gates.commands
        if probe.has_command(name) is False
    )
    if gates.any_commands and all(probe.has_command(name) is False for name in gates.any_commands):
        text = next(filter(None, (_install_help(gates, name) for name in gates.any_commands)), "Install one of them.")
        found.append(Missing("command", " or ".join(gates.any_commands), text))
    found.extend(
        Missing(tool.kind, tool.name, tool.description or tool.command or tool.url)
        for tool in gates.tools
        if probe.has_tool(tool) is False
    )
    found.extend(
        Missing("setting", setting.key, setting.description or setting.prompt)
        for setting in gates.settings
        if setting.default is None and probe.has_setting(setting.key) is False
    )
    return tuple(found)


def _install_help(gates: Gates, name: str) -> str:
    """Return the skill's own help on installing a program."""
    if not gates.installs:
        return ""
    from whet.skill.recipes import describe

    return next((text for one in gates.installs if (not one.bins or name in one.bins) and (text := describe(one))), "")
