"""Every command: where it lives, what it does in a line, and among which others it is shown.

A command's module is imported when it runs, so that a long list costs nothing. A module offers

    configure(parser)                  its arguments and options
    run(context, options) -> Outcome   ask the library; the answer is what `--json` prints
    render(answer, screen, options)    the same answer for a person

and has the name of the command, with underscores for hyphens.
"""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """One row of the table."""

    module: str
    summary: str
    group: str


_HOME = "whet.interfaces.cli.commands"

VERBS: dict[str, Verb] = {
    "list": Verb(f"{_HOME}.list", "List the skills", "Look"),
    "show": Verb(f"{_HOME}.show", "Show a skill's instructions, or one of its files", "Look"),
    "find": Verb(f"{_HOME}.find", "Find the skills that fit a message", "Look"),
    "detect": Verb(f"{_HOME}.detect", "Tell whether a skill should come up for a message", "Look"),
    "roots": Verb(f"{_HOME}.roots", "Show where skills are looked for", "Look"),
    "doctor": Verb(f"{_HOME}.doctor", "Tell what is wrong or surprising, and mend it", "Look"),
    "index": Verb(f"{_HOME}.index", "Print the list of skills that goes into a model's prompt", "Prompt"),
    "render": Verb(f"{_HOME}.render", "Print the message with which a model gets skills", "Prompt"),
    "commands": Verb(f"{_HOME}.commands", "List the slash commands", "Prompt"),
    "bundle": Verb(f"{_HOME}.bundle", "Keep skills that are used together under one name", "Prompt"),
    "needs": Verb(f"{_HOME}.needs", "Tell what skills need and is not set up yet", "Prompt"),
    "new": Verb(f"{_HOME}.new", "Start a skill from a template", "Write"),
    "validate": Verb(f"{_HOME}.validate", "Check skills against the format, or for quality", "Write"),
    "digest": Verb(f"{_HOME}.digest", "Print the digest of a skill's content", "Write"),
    "create": Verb(f"{_HOME}.create", "Create a skill, or improve the one of that name", "Improve"),
    "distill": Verb(f"{_HOME}.distill", "Make a skill of a finished session", "Improve"),
    "edit": Verb(f"{_HOME}.edit", "Change a skill's text, in your editor", "Improve"),
    "patch": Verb(f"{_HOME}.patch", "Replace a piece of a skill's text", "Improve"),
    "rename": Verb(f"{_HOME}.rename", "Give a skill another name", "Improve"),
    "delete": Verb(f"{_HOME}.delete", "Delete a skill; it can be restored", "Improve"),
    "restore": Verb(f"{_HOME}.restore", "Bring back a deleted skill, or all that the lock names", "Improve"),
    "write-file": Verb(f"{_HOME}.write_file", "Add or replace a file of a skill", "Improve"),
    "remove-file": Verb(f"{_HOME}.remove_file", "Remove a file of a skill", "Improve"),
    "archive": Verb(f"{_HOME}.archive", "Put a skill away; it can be restored", "Improve"),
    "curate": Verb(f"{_HOME}.curate", "Plan what to do with skills that nobody uses", "Improve"),
    "pin": Verb(f"{_HOME}.pin", "Leave a skill as it is: no updates, no curator", "Improve"),
    "unpin": Verb(f"{_HOME}.unpin", "Let updates and the curator change a skill again", "Improve"),
    "transcript": Verb(f"{_HOME}.transcript", "Show what is read of a session, secrets hidden", "Improve"),
    "learn": Verb(f"{_HOME}.learn", "Propose skills from sessions that were hard", "Improve"),
    "duplicates": Verb(f"{_HOME}.duplicates", "Find skills that say nearly the same", "Improve"),
    "eval": Verb(f"{_HOME}.eval", "Measure what a skill is worth, or how well skills come up", "Improve"),
    "improve": Verb(f"{_HOME}.improve", "Improve a skill that fails its evals, if that is proved", "Improve"),
    "test": Verb(f"{_HOME}.test", "Run a skill's own tests in the sandbox", "Improve"),
    "feedback": Verb(f"{_HOME}.feedback", "Say whether a message was for a skill", "Improve"),
    "history": Verb(f"{_HOME}.history", "Show who changed what, when and why", "History"),
    "diff": Verb(f"{_HOME}.diff", "Show how a skill's versions differ", "History"),
    "rollback": Verb(f"{_HOME}.rollback", "Go back to an earlier version of a skill", "History"),
    "undo": Verb(f"{_HOME}.undo", "Take back one change, or all of one run", "History"),
    "verify-history": Verb(f"{_HOME}.verify_history", "Prove that the history is whole", "History"),
    "pending": Verb(f"{_HOME}.pending", "List the changes that wait for a decision, or show one", "History"),
    "approve": Verb(f"{_HOME}.approve", "Do what was proposed", "History"),
    "reject": Verb(f"{_HOME}.reject", "Leave undone what was proposed", "History"),
    "usage": Verb(f"{_HOME}.usage", "Tell how often skills are used, and whether they help", "History"),
    "search": Verb(f"{_HOME}.search", "Look for skills in named sources", "Install"),
    "inspect": Verb(f"{_HOME}.inspect", "Show what a source has, before anything is taken in", "Install"),
    "install": Verb(f"{_HOME}.install", "Take skills in from a repository, a path, an address", "Install"),
    "update": Verb(f"{_HOME}.update", "Bring installed skills up to date, keeping your edits", "Install"),
    "outdated": Verb(f"{_HOME}.outdated", "Tell what has something newer at its source", "Install"),
    "uninstall": Verb(f"{_HOME}.uninstall", "Take installed skills away; they can be restored", "Install"),
    "verify": Verb(f"{_HOME}.verify", "Compare installed skills with the lock, file by file", "Install"),
    "why": Verb(f"{_HOME}.why", "Tell where a skill comes from and who let it in", "Install"),
    "adopt": Verb(f"{_HOME}.adopt", "Take charge of skills that are there already", "Install"),
    "tap": Verb(f"{_HOME}.tap", "Give sources names, to search and install from", "Install"),
    "sync": Verb(f"{_HOME}.sync", "Make your skills available to other clients", "Share"),
    "publish": Verb(f"{_HOME}.publish", "Put skills into a git repository, a web directory or a hub", "Share"),
    "snapshot": Verb(f"{_HOME}.snapshot", "Put the whole library into one file, or take it out of one", "Share"),
    "pack": Verb(f"{_HOME}.pack", "Put a skill into one .skill file", "Share"),
    "unpack": Verb(f"{_HOME}.unpack", "Take a skill out of a .skill file", "Share"),
    "connect": Verb(f"{_HOME}.connect", "Connect a client to Whet, or take that back", "Connect"),
    "mcp": Verb(f"{_HOME}.mcp", "Serve the library to clients that speak MCP", "Connect"),
    "hook": Verb(f"{_HOME}.hook", "Answer the hooks of a client that is connected", "Connect"),
    "scan": Verb(f"{_HOME}.scan", "Tell what is dangerous about skills", "Guard"),
    "audit": Verb(f"{_HOME}.audit", "Scan every skill of the library again", "Guard"),
    "policy": Verb(f"{_HOME}.policy", "Show and explain what is let in, and make exceptions", "Guard"),
    "rules": Verb(f"{_HOME}.rules", "List what the guard looks for, or explain one rule", "Guard"),
    "permits": Verb(f"{_HOME}.permits", "Tell whether a skill may make a tool call", "Guard"),
    "trust": Verb(f"{_HOME}.trust", "Load the skills of this repository from now on", "Decide"),
    "untrust": Verb(f"{_HOME}.untrust", "Stop loading the skills of this repository", "Decide"),
    "enable": Verb(f"{_HOME}.enable", "Offer a skill again", "Decide"),
    "disable": Verb(f"{_HOME}.disable", "Stop offering a skill", "Decide"),
    "completion": Verb(f"{_HOME}.completion", "Print a script that completes commands in your shell", "Shell"),
}
ALIASES = {"view": "show"}
COMPLETE = "__complete"
"""The hidden command that the completion scripts call."""
