"""The tools a distilled skill asks for: those its steps use, to the sub-command, and none that stands for anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.shell.commands import SHELLS
from whet.learning.facts.labels import COMMANDED
from whet.learning.facts.steps import tools_in

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.learning.facts.model import Facts, Step

MOST = 40
_OURS = {"Search": ("Grep", "Glob"), "Web": ("WebFetch", "WebSearch"), "NotebookEdit": ("NotebookEdit",)}
_LOOKS = frozenset(("head", "tail", "true", "false", "tee", "wait"))
_ANYTHING = SHELLS | {
    *("npx", "bunx", "uvx", "pnpx", "pipx", "npm run", "pnpm run", "yarn run", "bun run", "docker exec", "docker run"),
    *("uv run", "poetry run", "pipenv run", "pdm run", "hatch run", "env", "xargs", "sudo", "ssh"),
}
"""Commands that start whatever stands behind them: without that they stand for anything."""


def grants_of(facts: Facts, steps: Sequence[Step]) -> tuple[str, ...]:
    """Grants as `allowed-tools` spells them, in the order of use; what cannot be narrowed down is asked for instead."""
    used = {(one.tool, one.command) for one in facts.tools}
    commands = {command for tool, command in used if tool == "Bash"}
    found: dict[str, None] = {}
    if any(tool == "Read" for tool, _ in used):
        found["Read"] = None
    for tool, command in tools_in(steps):
        if tool == "Bash":
            if command not in _LOOKS | _ANYTHING and "{" not in command and _was_used(command, commands):
                found.setdefault(f"Bash({command}:*)")
        elif (tool, "") in used:
            found.update(dict.fromkeys(_OURS.get(tool, (tool,))))
    return tuple(found)[:MOST]


def _was_used(command: str, used: Collection[str]) -> bool:
    """Did the session run it? What followed a program that has no sub-commands may have become an input since."""
    return command in used or (command not in COMMANDED and any(one.startswith(f"{command} ") for one in used))


def programs_of(steps: Sequence[Step]) -> tuple[str, ...]:
    """The programs that have to be installed for the steps, those of every system left out."""
    from whet.learning.facts.shell import LOOKING

    plain = LOOKING | {
        "mkdir",
        "rm",
        "cp",
        "mv",
        "ln",
        "touch",
        "chmod",
        "sed",
        "awk",
        "tr",
        "tee",
        "xargs",
        "sh",
        "bash",
    }
    names = (command.partition(" ")[0] for tool, command in tools_in(steps) if tool == "Bash" and command)
    return tuple(name for name in dict.fromkeys(names) if name not in plain)[:20]
