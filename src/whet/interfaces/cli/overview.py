"""`whet --help`: every command in a line, grouped, without importing any of them."""

from __future__ import annotations

from whet.interfaces.cli.parser import GLOBAL_OPTIONS, option_rows
from whet.interfaces.cli.verbs import VERBS


def overview() -> str:
    """The whole text."""
    lines = [
        "Usage: whet COMMAND [OPTIONS]",
        "",
        "The skill system for AI agents: SKILL.md packages on this machine.",
        "",
    ]
    group = ""
    for name, verb in VERBS.items():
        if verb.group != group:
            group = verb.group
            lines.append(f"{group}:")
        lines.append(f"  {name:<16}{verb.summary}")
    lines += ["", "Everywhere:", *option_rows(GLOBAL_OPTIONS), "", "`whet COMMAND --help` explains a command."]
    return "\n".join(lines) + "\n"
