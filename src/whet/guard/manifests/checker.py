"""Files that are run, or that decide what is run, because of their name: manifests, configurations, hooks.

A file is recognised by its name and path. Its commands go to the shell checker, its code to the checker of the language;
this module decides what it means that they are in *this* file: run at installation, at opening, at every start. When a
skill shows the package.json, the settings or the workflow of a project, the project will have it, so a fence is checked
like the file it stands for.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.documents import Document
from whet.guard.expression import expression
from whet.guard.finding import Hit, Seen
from whet.guard.manifests import agents, machines, make, packages
from whet.guard.manifests.parsers import Notes, commands, parse, table
from whet.guard.patterns import line_of
from whet.guard.reading.kinds import kind_of
from whet.guard.tables import load_toml, shape, words

if TYPE_CHECKING:
    from collections.abc import Callable

_INSTRUCTIONS = words("manifests", "instructions")
_KNOWN_BY = shape("manifests", "known_by", re.MULTILINE)
_BUSY = expression(r"\b(?:curl|wget|base64|nc|bash|powershell|iex)\s|/dev/tcp/|\bsh\s-c|\brm\s-")
_LARGEST = 200_000
_MOST = 50
"""Largest number of here-documents in a text that are checked."""
_SHOWN_SERVERS = expression(r"[\"']?(?:mcpServers|mcp_servers)[\"']?\s{0,4}[:=\]]")
_FORMATS = {"json": "json", "jsonc": "json", "json5": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml"}
_SETTINGS = (".tf", ".hcl", ".nomad", ".pkr", ".gradle", ".nix", ".ini", ".cfg", ".conf")
_ASSIGNED = expression(
    r"^[ \t]{0,40}(?:inline|command|cmd|exec|run|script|program|interpreter|user_data|shellhook|\w{0,20}command)\s{0,4}[=:({]{1,2}\s{0,4}"
    r"(?:\[?\s{0,4}\"((?:[^\"\\\n]|\\.){6,2000})\"|<<[-~]?(?:\w{1,20})\n((?:[^\n]{0,400}\n){1,60}?)[ \t]{0,20}[A-Z]{2,20}$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A command in the settings of a tool that runs it."""


class Reader(NamedTuple):
    """The function that checks a kind of manifest or configuration, and how the kind is recognised."""

    read: Callable[[Notes, Any], None]
    paths: re.Pattern[str]
    """Matches the end of the path in lower case."""
    format: str
    """The format of the text; a reader without a format gets the path instead of parsed data."""
    keys: frozenset[str]
    """Keys that identify data of the format, regardless of the file name."""
    fences: frozenset[str]


def check(document: Document) -> Seen:
    """Check a manifest or configuration, and any text for changes to agent settings and for installations."""
    notes = Notes(document.text, document.kind)
    packages.owners(notes)
    if document.kind not in ("json", "yaml", "toml"):
        agents.edits(notes)
        packages.installs(notes)
        _written(notes)
    if document.kind not in ("markdown", "html"):
        machines.data(notes)
    seen = _by_name(document)
    return Seen(tuple(dict.fromkeys((*seen.hits, *notes.hits))), (*seen.facts, *notes.facts))


_GOAL = r"[ \t]{0,4}[\"']?([\w$~{}./-]{3,120})[\"']?"
_HERE = expression(
    rf"(?:(?:>|\btee|\btee -a){_GOAL}[ \t]{{0,4}})?<<-?[ \t]{{0,2}}[\"'\\]?([A-Za-z_]\w{{0,40}})[\"']?(?:[ \t|]{{0,4}}(?:>{{1,2}}|tee){_GOAL})?[^\n]{{0,120}}\n"
)


def _written(notes: Notes) -> None:
    """Check configurations that a script writes from a here-document."""
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
    reader = next((one for one in readers() if one.paths.search(lowered)), None)
    if reader is None:
        _by_content(notes, lowered, document.kind)
    else:
        reader.read(notes, parse(notes.text, reader.format) if reader.format else lowered)
    return notes.seen()


def check_fence(language: str, text: str) -> Seen:
    """Check a manifest or configuration that a text shows in a fence of this language."""
    language = language.strip().lower()
    kind = _FORMATS.get(language, "")
    reader = next((one for one in readers() if language in one.fences), None)
    if len(text) > 60_000 or not (kind or reader):
        return Seen()
    notes = Notes(text, kind)
    if reader is None:
        _data(notes, parse(_whole(text) if kind == "json" else text, kind), kind)
    else:
        reader.read(notes, "")
    return notes.seen()


def _whole(text: str) -> str:
    """Return complete JSON for a fragment that shows only the members."""
    bare = text.strip()
    return f"{{{bare.rstrip(',')}}}" if bare.startswith('"') else bare


def _data(notes: Notes, data: Any, kind: str) -> None:
    values = table(data)
    hooked = {"scripts": values} if kind == "json" and not _INSTALL_HOOKS.isdisjoint(values) else None
    if hooked or (kind == "json" and (data is None or not {"scripts", "dependencies"}.isdisjoint(values))):
        packages.package_json(notes, hooked or data)
    for reader in readers():
        if reader.format == kind and not reader.keys.isdisjoint(values):
            reader.read(notes, data)
    if _SHOWN_SERVERS.search(notes.text):
        agents.servers(notes, data)
    commands(notes, data)


_INSTALL_HOOKS = frozenset(("postinstall", "preinstall", "install"))


def any_settings(notes: Notes, _path: str) -> None:
    """Check the settings of any program: package registries, and programs that a service starts."""
    packages.registries(notes, "")
    if "index-url" in notes.text or "trusted-host" in notes.text:
        packages.requirements(notes, "")
    machines.units(notes, "")


def _by_content(notes: Notes, path: str, kind: str) -> None:
    """Check configurations that are recognised by their content."""
    if kind in ("json", "yaml", "toml"):
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


READERS: dict[str, Callable[[Notes, Any], None]] = {
    one.__name__: one
    for one in (
        *(agents.codex, agents.editor_settings, agents.server_file, agents.settings_file, agents.skill),
        *(machines.compose, machines.crontab, machines.dev_container, machines.dockerfile, machines.editor_tasks),
        machines.environment,
        *(machines.git_config, machines.git_hook, machines.plist, machines.python_start, machines.shell_start),
        *(machines.units, machines.workflow, make.makefile, packages.cargo, packages.gemfile, packages.go_mod),
        *(packages.package_json, packages.pyproject, packages.registries, packages.requirements, packages.setup_cfg),
        *(agents.settings, any_settings),
    )
}
"""The readers by name; each takes the notes on the text, and its path or its parsed data."""


@cache
def readers() -> tuple[Reader, ...]:
    """Return the rows of `data/manifests.toml`."""
    return tuple(
        Reader(
            READERS[row["read"]],
            expression(rf"(?:^|/)(?:{'|'.join(row.get('paths', ('(?!)',)))})\Z"),
            row.get("format", ""),
            frozenset(row.get("keys", ())),
            frozenset(row.get("fences", ())),
        )
        for row in load_toml("manifests")["reader"]
    )
