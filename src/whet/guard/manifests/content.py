"""Configurations known by what they say: commands in any data, and manifests shown in a text.

What a skill shows as the package.json, the settings or the workflow of a project is what the project will have, so a
fence is looked at like the file it stands for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whet.guard.finding import Seen
from whet.guard.manifests.reading import Notes, parse, runs_fetched, table, texts, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMAND_KEYS = frozenset(
    {"run", "script", "scripts", "cmd", "cmds", "command", "commands", "entry", "entrypoint", "shell", "exec", "raw",
     "before_script", "after_script", "tasks", "pre", "post", "deps", "execstart", "startcommand", "start", "build",
     "postbuild", "prebuild", "setup", "install", "command_line", "program", "sh", "bash"}
)  # fmt: skip
_HOOK = re.compile(r"^(?:pre|post|on)[-_A-Za-z]{3,40}(?:[cC]ommand|[cC]md|script)?s?$")
_BUSY = re.compile(
    r"\b(?:curl|wget|base64|nc|ncat|bash|sh|powershell|iex|iwr|irm|rm|dd|mkfs|crontab|scp|env|printenv|security"
    r"|osascript"
    r"|python3?|node|perl|ruby|cat|tar)\b|/dev/tcp/"
)
_SERVERS = re.compile(r"[\"']?(?:mcpServers|mcp_servers)[\"']?\s{0,4}[:=\]]")
_LANGUAGES = {
    "json": "json", "jsonc": "json", "json5": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "makefile": "make",
    "make": "make", "dockerfile": "docker", "docker": "docker", "containerfile": "docker", "ini": "ini", "cfg": "ini",
    "conf": "ini", "properties": "ini", "npmrc": "ini", "systemd": "unit", "service": "unit", "cron": "cron",
    "crontab": "cron", "xml": "xml", "plist": "xml", "gemfile": "gem", "just": "make", "justfile": "make",
}  # fmt: skip


def commands(notes: Notes, data: Any) -> None:
    """The commands of a workflow, task or pipeline, whatever it is called."""
    for command in _commands(data):
        notes.command(command)


def _commands(data: Any) -> Iterator[str]:
    count = 0
    for key, value, _ in walk(data):
        if key.lower() not in _COMMAND_KEYS and not _HOOK.match(key):
            continue
        found = texts(value) if not isinstance(value, dict) else [one for one in value.values() if isinstance(one, str)]
        for command in found:
            if len(command) > 6 and _BUSY.search(command) and count < 60:
                count += 1
                yield command


def check_fence(language: str, text: str) -> Seen:
    """What a manifest or configuration brings about that a text shows; the language is that of the fence."""
    kind = _LANGUAGES.get(language.strip().lower(), "")
    if not kind or len(text) > 60_000:
        return Seen()
    notes = Notes(text, kind)
    if kind in ("json", "yaml", "toml"):
        _data(notes, parse(_whole(text) if kind == "json" else text, kind), kind)
    else:
        _rows(notes, kind)
    return notes.seen()


def _whole(text: str) -> str:
    """JSON of which only the members are shown."""
    bare = text.strip()
    return f"{{{bare.rstrip(',')}}}" if bare.startswith('"') else bare


def _data(notes: Notes, data: Any, kind: str) -> None:
    from whet.guard.manifests import agents as manifests_agents
    from whet.guard.manifests import machines as manifests_machines
    from whet.guard.manifests import packages as manifests_packages

    values = table(data)
    if kind == "json":
        hooked = values if not values.keys().isdisjoint({"postinstall", "preinstall", "install"}) else {}
        if "scripts" in values or "dependencies" in values or hooked or data is None:
            manifests_packages.package_json(notes, {"scripts": hooked} if hooked else data)
        if not values.keys().isdisjoint({"hooks", "permissions", "statusLine", "apiKeyHelper", "env"}):
            manifests_agents.settings(notes, data)
        if "tasks" in values:
            manifests_machines.editor_tasks(notes, data)
    if kind == "toml":
        if not values.keys().isdisjoint({"project", "build-system", "tool"}):
            manifests_packages.pyproject(notes, data)
        if not values.keys().isdisjoint({"source", "registries"}):
            manifests_packages.cargo(notes, data)
        if not values.keys().isdisjoint({"approval_policy", "sandbox_mode", "model_providers"}):
            manifests_agents.codex(notes, data)
    if kind == "yaml":
        if "services" in values:
            manifests_machines.compose(notes, data)
        if "jobs" in values:
            manifests_machines.workflow(notes, data)
    if _SERVERS.search(notes.text):
        manifests_agents.servers(notes, data)
    commands(notes, data)


def _rows(notes: Notes, kind: str) -> None:
    from whet.guard.manifests import machines as manifests_machines
    from whet.guard.manifests import make as manifests_make
    from whet.guard.manifests import packages as manifests_packages

    if kind == "make":
        manifests_make.makefile(notes)
    elif kind == "docker":
        manifests_machines.dockerfile(notes)
    elif kind == "ini":
        manifests_packages.registries(notes)
        if "index-url" in notes.text or "trusted-host" in notes.text:
            manifests_packages.requirements(notes)
        manifests_machines.units(notes, sure=False)
    elif kind == "unit":
        manifests_machines.units(notes, sure=False)
    elif kind == "cron":
        manifests_machines.crontab(notes)
    elif kind == "gem":
        manifests_packages.gemfile(notes)
    elif kind == "xml" and "ProgramArguments" in notes.text:
        manifests_machines.plist(notes)


def frontmatter(notes: Notes, values: Any) -> None:
    """Commands and orders in fields of the frontmatter that nobody is shown."""
    from whet.guard.prose import checker as prose

    for key, value, _ in walk({name: one for name, one in table(values).items() if name not in _SHOWN}):
        if not isinstance(value, str) or len(value) < 25 or key in ("install", "url", "homepage", "repository"):
            continue
        if runs_fetched(value):
            for quoted in re.findall(r"`([^`\n]{6,1500})`", value) or [value]:
                if notes.command(quoted):
                    notes.hit("metadata-command", value)
        line = notes.line(value)
        notes.hits += [hit._replace(line=line, steps=min(hit.steps, 0)) for hit in prose.check_hidden(value).hits]


_SHOWN = frozenset(
    {"name", "description", "hooks", "allowed-tools", "allowed_tools", "tools", "license", "compatibility"}
)
