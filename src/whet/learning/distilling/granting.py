"""The tools a distilled skill asks for: those its steps use, to the sub-command, and none that stands for anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.shell.commands import SHELLS
from whet.learning.facts.steps import tools_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.facts.model import Facts, Step

MOST = 40
_OURS = {"Search": ("Grep", "Glob"), "Web": ("WebFetch", "WebSearch"), "NotebookEdit": ("NotebookEdit",)}
_LOOKS = frozenset(("head", "tail", "true", "false", "tee", "wait"))


def grants_of(facts: Facts, steps: Sequence[Step]) -> tuple[str, ...]:
    """Grants as `allowed-tools` spells them, in the order of use."""
    used = {(one.tool, one.command) for one in facts.tools}
    found: dict[str, None] = {}
    if any(tool == "Read" for tool, _ in used):
        found["Read"] = None
    for tool, command in tools_in(steps):
        if tool == "Bash":
            program = command.partition(" ")[0]
            if program not in SHELLS and program not in _LOOKS and "{" not in command and ("Bash", command) in used:
                found.setdefault(f"Bash({command}:*)")
        elif (tool, "") in used:
            found.update(dict.fromkeys(_OURS.get(tool, (tool,))))
    return tuple(found)[:MOST]


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
