"""Every command: in which file it lives, what it does in a line, and among which others it is listed.

"How to add a command" in `docs/architecture.md` has the steps. A command's file is imported only
when one of its commands runs, so a long table costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError
from whet.interfaces.cli.parser import GLOBAL_OPTIONS, Parser, option_rows

if TYPE_CHECKING:
    from whet.interfaces.cli.context import Command


class Verb(NamedTuple):
    """One row of the table."""

    module: str
    """A file of `whet.interfaces.cli.commands`."""
    summary: str
    group: str


VERBS: dict[str, Verb] = {
    "list": Verb("skills", "List the skills", "Look"),
    "show": Verb("skills", "Show a skill's instructions, or one of its files", "Look"),
    "find": Verb("match", "Find the skills that fit a message", "Look"),
    "detect": Verb("match", "Tell whether a skill should come up for a message", "Look"),
    "roots": Verb("skills", "Show where skills are looked for", "Look"),
    "doctor": Verb("doctor", "Tell what is wrong or surprising, and mend it", "Look"),
    "index": Verb("prompt", "Print the list of skills that goes into a model's prompt", "Prompt"),
    "render": Verb("prompt", "Print the message with which a model gets skills", "Prompt"),
    "commands": Verb("prompt", "List the slash commands", "Prompt"),
    "bundle": Verb("prompt", "Keep skills that are used together under one name", "Prompt"),
    "needs": Verb("doctor", "Tell what skills need and is not set up yet", "Prompt"),
    "new": Verb("write", "Start a skill from a template", "Write"),
    "validate": Verb("doctor", "Check skills against the format, or for quality", "Write"),
    "digest": Verb("share", "Print the digest of a skill's content", "Write"),
    "create": Verb("write", "Create a skill, or improve the one of that name", "Improve"),
    "distill": Verb("learn", "Make a skill of a finished session", "Improve"),
    "edit": Verb("write", "Change a skill's text, in your editor", "Improve"),
    "patch": Verb("write", "Replace a piece of a skill's text", "Improve"),
    "rename": Verb("write", "Give a skill another name", "Improve"),
    "delete": Verb("write", "Delete a skill; it can be restored", "Improve"),
    "restore": Verb("write", "Bring back a deleted skill, or all that the lock names", "Improve"),
    "write-file": Verb("write", "Add or replace a file of a skill", "Improve"),
    "remove-file": Verb("write", "Remove a file of a skill", "Improve"),
    "archive": Verb("write", "Put a skill away; it can be restored", "Improve"),
    "curate": Verb("learn", "Plan what to do with skills that nobody uses", "Improve"),
    "pin": Verb("decisions", "Leave a skill as it is: no updates, no curator", "Improve"),
    "unpin": Verb("decisions", "Let updates and the curator change a skill again", "Improve"),
    "transcript": Verb("learn", "Show what is read of a session, secrets hidden", "Improve"),
    "learn": Verb("learn", "Propose skills from sessions that were hard", "Improve"),
    "duplicates": Verb("match", "Find skills that say nearly the same", "Improve"),
    "eval": Verb("evals", "Measure what a skill is worth, or how well skills come up", "Improve"),
    "improve": Verb("evals", "Improve a skill that fails its evals, if that is proved", "Improve"),
    "test": Verb("evals", "Run a skill's own tests in the sandbox", "Improve"),
    "feedback": Verb("match", "Say whether a message was for a skill", "Improve"),
    "history": Verb("history", "Show who changed what, when and why", "History"),
    "diff": Verb("history", "Show how a skill's versions differ", "History"),
    "rollback": Verb("history", "Go back to an earlier version of a skill", "History"),
    "undo": Verb("history", "Take back the last change, another one, or all of one run", "History"),
    "verify-history": Verb("history", "Prove that the history is whole", "History"),
    "backup": Verb("history", "Put the history, all state and your skills into one file", "History"),
    "pending": Verb("proposals", "List the changes that wait for a decision, or show one", "History"),
    "approve": Verb("proposals", "Do what was proposed", "History"),
    "reject": Verb("proposals", "Leave undone what was proposed", "History"),
    "usage": Verb("usage", "Tell how often skills are used, and whether they help", "History"),
    "search": Verb("sources", "Look for skills in named sources", "Install"),
    "inspect": Verb("sources", "Show what a source has, before anything is taken in", "Install"),
    "install": Verb("install", "Take skills in from a repository, a path, an address", "Install"),
    "update": Verb("install", "Bring installed skills up to date, keeping your edits", "Install"),
    "outdated": Verb("install", "Tell what has something newer at its source", "Install"),
    "uninstall": Verb("install", "Take installed skills away; they can be restored", "Install"),
    "verify": Verb("install", "Compare installed skills with the lock, file by file", "Install"),
    "why": Verb("install", "Tell where a skill comes from and who let it in", "Install"),
    "adopt": Verb("install", "Take charge of skills that are there already", "Install"),
    "tap": Verb("sources", "Give sources names, to search and install from", "Install"),
    "sync": Verb("share", "Make your skills available to other clients", "Share"),
    "publish": Verb("share", "Put skills into a git repository, a web directory or a hub", "Share"),
    "snapshot": Verb("share", "Put the whole library into one file, or take it out of one", "Share"),
    "pack": Verb("share", "Put a skill into one .skill file", "Share"),
    "unpack": Verb("share", "Take a skill out of a .skill file", "Share"),
    "connect": Verb("connect", "Connect a client to Whet, or take that back", "Connect"),
    "mcp": Verb("connect", "Serve the library to clients that speak MCP", "Connect"),
    "hook": Verb("connect", "Answer the hooks of a client that is connected", "Connect"),
    "scan": Verb("guard", "Tell what is dangerous about skills", "Guard"),
    "audit": Verb("guard", "Scan every skill of the library again", "Guard"),
    "policy": Verb("guard", "Show and explain what is let in, and make exceptions", "Guard"),
    "rules": Verb("guard", "List what the guard looks for, or explain one rule", "Guard"),
    "permits": Verb("guard", "Tell whether a skill may make a tool call", "Guard"),
    "trust": Verb("decisions", "Load the skills of this repository from now on", "Decide"),
    "untrust": Verb("decisions", "Stop loading the skills of this repository", "Decide"),
    "enable": Verb("decisions", "Offer a skill again", "Decide"),
    "disable": Verb("decisions", "Stop offering a skill", "Decide"),
    "completion": Verb("shell", "Print a script that completes commands in your shell", "Shell"),
}
ALIASES = {"view": "show"}
COMPLETE = "__complete"
"""The hidden command that the completion scripts call."""
_TAKES_VALUE = ("--root", "--project")


def parser_of(word: str) -> tuple[Parser, Command]:
    """The parser of a command, and the command. Raises UsageError with the closest name."""
    name = ALIASES.get(word, word)
    if name not in VERBS:
        from whet.skill.names import closest

        near = closest(word, [*VERBS, *ALIASES], 3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`whet --help` lists the commands."
        raise UsageError("unknown-command", f"There is no command {word!r}.", hint=hint, suggestions=list(near))
    verb = VERBS[name]
    command: Command = import_module(f"whet.interfaces.cli.commands.{verb.module}").COMMANDS[name]
    parser = Parser(name, verb.summary)
    command.configure(parser)
    return parser, command


def split_verb(arguments: list[str]) -> tuple[str, list[str]]:
    """The verb and every other word; the global options may stand before it."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "--":
        at += 2 if arguments[at] in _TAKES_VALUE else 1
    if at >= len(arguments) or arguments[at] == "--":
        return "", arguments
    return arguments[at], arguments[:at] + arguments[at + 1 :]


def overview() -> str:
    """`whet --help`: every command in a line, by group."""
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
