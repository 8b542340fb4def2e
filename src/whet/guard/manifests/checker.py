"""Files that are run, or that decide what is run, because of their name: manifests, configurations, hooks.

A file is known by its name and path. Commands in it go to the shell's checker, code to the checker of its language;
here is decided what it means that they stand in *this* file: run at installation, at opening, at every start. What a
skill shows as the package.json, the settings or the workflow of a project is what the project will have, so a fence is
looked at like the file it stands for.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from whet.guard.documents import Document
from whet.guard.expression import expression
from whet.guard.finding import Hit, Seen
from whet.guard.manifests import agents, machines, make, packages
from whet.guard.manifests.parsers import Notes, commands, parse, table
from whet.guard.patterns import line_of
from whet.guard.reading.kinds import kind_of

_INSTRUCTIONS = frozenset(
    {"agents.md", "claude.md", "claude.local.md", "gemini.md", "memory.md", "soul.md", ".cursorrules", ".windsurfrules",
     ".clinerules", "copilot-instructions.md"}
)  # fmt: skip
_KNOWN_BY = expression(
    r"^[ \t{]{0,40}[\"']?(?:jobs|services|hooks|permissions|statusLine|apiKeyHelper|env|approval_policy|sandbox_mode|mcpServers|mcp_servers)[\"']?\s{0,4}[:=]"
    r"|[{,]\s{0,40}\"(?:hooks|permissions|statusLine|apiKeyHelper|env|mcpServers|mcp_servers)\"\s{0,4}:|^\[(?:mcp_servers|model_providers)",
    re.MULTILINE,
)
"""Keys by which a configuration of an agent, a forge or a container is known, whatever its file is called."""
_BUSY = expression(r"\b(?:curl|wget|base64|nc|bash|powershell|iex)\s|/dev/tcp/|\bsh\s-c|\brm\s-")
_LARGEST = 200_000
_MOST = 50
"""Here-documents of a text that are looked at."""
_SHOWN_SERVERS = expression(r"[\"']?(?:mcpServers|mcp_servers)[\"']?\s{0,4}[:=\]]")
_LANGUAGES = {
    "json": "json", "jsonc": "json", "json5": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "makefile": "make",
    "make": "make", "dockerfile": "docker", "docker": "docker", "containerfile": "docker", "ini": "ini", "cfg": "ini",
    "conf": "ini", "properties": "ini", "npmrc": "ini", "systemd": "unit", "service": "unit", "cron": "cron",
    "crontab": "cron", "xml": "xml", "plist": "xml", "gemfile": "gem", "just": "make", "justfile": "make",
}  # fmt: skip
_SETTINGS = (".tf", ".hcl", ".nomad", ".pkr", ".gradle", ".nix", ".ini", ".cfg", ".conf")
_ASSIGNED = expression(
    r"^[ \t]{0,40}(?:inline|command|cmd|exec|run|script|program|interpreter|user_data|shellhook|\w{0,20}command)\s{0,4}[=:({]{1,2}\s{0,4}"
    r"(?:\[?\s{0,4}\"((?:[^\"\\\n]|\\.){6,2000})\"|<<[-~]?(?:\w{1,20})\n((?:[^\n]{0,400}\n){1,60}?)[ \t]{0,20}[A-Z]{2,20}$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A command in the settings of a tool that runs it."""
_CARGO = (".cargo/config.toml", ".cargo/config")


def check(document: Document) -> Seen:
    """What a manifest or configuration brings about, and what any text does to the settings of agents or installs."""
    notes = Notes(document.text, document.kind)
    if document.kind not in ("json", "yaml", "toml"):
        agents.edits(notes)
        packages.installs(notes)
        _written(notes)
    seen = _by_name(document)
    return Seen(tuple(dict.fromkeys((*seen.hits, *notes.hits))), (*seen.facts, *notes.facts))


_GOAL = r"[ \t]{0,4}[\"']?([\w$~{}./-]{3,120})[\"']?"
_HERE = expression(
    rf"(?:(?:>|\btee|\btee -a){_GOAL}[ \t]{{0,4}})?<<-?[ \t]{{0,2}}[\"'\\]?([A-Za-z_]\w{{0,40}})[\"']?(?:[ \t|]{{0,4}}(?:>{{1,2}}|tee){_GOAL})?[^\n]{{0,120}}\n"
)


def _written(notes: Notes) -> None:
    """Configurations that a script writes from a here-document."""
    for found in islice(_HERE.finditer(notes.text), _MOST) if "<<" in notes.text else ():
        path, end = found[1] or found[3], notes.text.find(f"\n{found[2]}", found.end() - 1, found.end() + _LARGEST)
        if path and end > 0:
            text = notes.text[found.end() : end + 1]
            seen = _by_name(Document(path, kind_of(path, text), text))
            first = line_of(notes.text, found.end()) - 1
            notes.hits += [hit._replace(line=first + hit.line) for hit in seen.hits]


def _by_name(document: Document) -> Seen:
    path = document.path.rpartition("!/")[2].replace("\\", "/")
    lowered = path.lower()
    name = lowered.rpartition("/")[2]
    if name in _INSTRUCTIONS:
        return Seen((Hit("agent-instructions-shipped", 1, name, None, path),))
    if name != "skill.md" and document.kind in ("markdown", "html") and not name.endswith(".plist"):
        return Seen()
    notes = Notes(document.text, document.kind)
    if (
        not agents.read(notes, lowered, name)
        and not packages.read(notes, name)
        and not machines.read(notes, lowered, name)
    ):
        _by_content(notes, lowered, document.kind)
    return notes.seen()


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
    values = table(data)
    if kind == "json":
        hooked = values if not values.keys().isdisjoint({"postinstall", "preinstall", "install"}) else {}
        if "scripts" in values or "dependencies" in values or hooked or data is None:
            packages.package_json(notes, {"scripts": hooked} if hooked else data)
        if not values.keys().isdisjoint({"hooks", "permissions", "statusLine", "apiKeyHelper", "env"}):
            agents.settings(notes, data)
        if "tasks" in values:
            machines.editor_tasks(notes, data)
    if kind == "toml":
        if not values.keys().isdisjoint({"project", "build-system", "tool"}):
            packages.pyproject(notes, data)
        if not values.keys().isdisjoint({"source", "registries"}):
            packages.cargo(notes, data)
        if not values.keys().isdisjoint({"approval_policy", "sandbox_mode", "model_providers"}):
            agents.codex(notes, data)
    if kind == "yaml":
        if "services" in values:
            machines.compose(notes, data)
        if "jobs" in values:
            machines.workflow(notes, data)
    if _SHOWN_SERVERS.search(notes.text):
        agents.servers(notes, data)
    commands(notes, data)


def _rows(notes: Notes, kind: str) -> None:
    if kind == "make":
        make.makefile(notes)
    elif kind == "docker":
        machines.dockerfile(notes)
    elif kind == "ini":
        packages.registries(notes)
        if "index-url" in notes.text or "trusted-host" in notes.text:
            packages.requirements(notes)
        machines.units(notes, sure=False)
    elif kind == "unit":
        machines.units(notes, sure=False)
    elif kind == "cron":
        machines.crontab(notes)
    elif kind == "gem":
        packages.gemfile(notes)
    elif kind == "xml" and "ProgramArguments" in notes.text:
        machines.plist(notes)


def _by_content(notes: Notes, path: str, kind: str) -> None:
    """Configurations that are known by what they say."""
    if path.endswith(_CARGO):
        packages.cargo(notes, parse(notes.text, "toml"))
    elif kind in ("json", "yaml", "toml"):
        known = _KNOWN_BY.search(notes.text)
        busy = len(notes.text) < _LARGEST and _BUSY.search(notes.text)
        data = parse(notes.text, kind) if known or busy else None
        if data is not None and known:
            _data(notes, data, kind)
        else:
            commands(notes, data)
    elif path.endswith(_SETTINGS) and len(notes.text) < _LARGEST:
        for found in list(_ASSIGNED.finditer(notes.text))[:60]:
            notes.command(found[1].replace('\\"', '"') if found[1] else found[2])
