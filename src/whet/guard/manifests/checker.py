"""Files that are run, or that decide what is run, because of their name: manifests, configurations, hooks.

A file is known by its name and path. Commands in it go to the shell's checker, code to the checker of its language;
here is decided what it means that they stand in *this* file: run at installation, at opening, at every start.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.finding import Hit, Seen
from whet.guard.manifests.reading import Notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.documents import Document

_INSTRUCTIONS = frozenset(
    {"agents.md", "claude.md", "claude.local.md", "gemini.md", "memory.md", "soul.md", ".cursorrules", ".windsurfrules",
     ".clinerules", "copilot-instructions.md"}
)  # fmt: skip
_SERVERS = re.compile(r"\"(?:mcpServers|mcp_servers)\"\s{0,4}:")
_BUSY = re.compile(r"\b(?:curl|wget|base64|nc|bash|powershell|iex)\s|/dev/tcp/|\bsh\s-c|\brm\s-")
_LARGEST = 200_000
_CARGO = (".cargo/config.toml", ".cargo/config")


def check(document: Document) -> Seen:
    """What a manifest or configuration brings about; nothing for every other file."""
    path = document.path.rpartition("!/")[2].replace("\\", "/")
    lowered = path.lower()
    name = lowered.rpartition("/")[2]
    if name in _INSTRUCTIONS:
        return Seen((Hit("agent-instructions-shipped", 1, name, None, path),))
    if name != "skill.md" and document.kind in ("markdown", "html") and not name.endswith(".plist"):
        return Seen()
    notes = Notes(document.text, document.kind)
    from whet.guard.manifests import agents as manifests_agents
    from whet.guard.manifests import machines as manifests_machines
    from whet.guard.manifests import packages as manifests_packages

    if (
        not manifests_agents.read(notes, lowered, name)
        and not manifests_packages.read(notes, name)
        and not manifests_machines.read(notes, lowered, name)
    ):
        _by_content(notes, lowered, document.kind)
    return notes.seen()


def check_fence(language: str, text: str) -> Seen:
    """What a manifest or configuration brings about that a text shows; the language is that of the fence."""
    from whet.guard.manifests import content as manifests_content

    return manifests_content.check_fence(language, text)


def together(documents: Sequence[Document]) -> Iterator[tuple[str, Seen]]:
    """What manifests of a package bring about that take something from each other, each with its path."""
    from whet.guard.manifests import make as manifests_make

    return manifests_make.together(documents)


def _by_content(notes: Notes, path: str, kind: str) -> None:
    """Configurations that are known by what they say."""
    from whet.guard.manifests.agents import servers
    from whet.guard.manifests.content import commands
    from whet.guard.manifests.packages import cargo
    from whet.guard.manifests.reading import parse

    if path.endswith(_CARGO):
        cargo(notes, parse(notes.text, "toml"))
    elif kind in ("json", "yaml", "toml"):
        data = parse(notes.text, kind) if len(notes.text) < _LARGEST and _BUSY.search(notes.text) else None
        commands(notes, data)
        if kind == "json" and _SERVERS.search(notes.text):
            servers(notes, data if data is not None else parse(notes.text, "json"))
