"""The tools of a distilled skill: those that its steps use, by sub-command, if they are harmless.

A grant holds for any arguments, so it is proposed only for commands that are harmless with all of them. The client asks
for commands that delete, overwrite, publish, change a shared system or show secrets; the user may allow them in the
rounds. Commands that can start anything, or run on another machine, are not even offered.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.shell.commands import parse
from whet.guard.shell.wrappers import INTERPRETERS, SHELLS, inner, name_of, unwrapped
from whet.learning.evidence.shell import COMMANDED, LONGEST, LOOKING, programs
from whet.learning.tables import WORDS, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from whet.learning.evidence.session import Evidence, Step

MOST = 40
_known = partial(words_of, WORDS, "grants")
"""Returns the words of a table."""
_OURS = {"Search": ("Grep", "Glob"), "Web": ("WebFetch", "WebSearch"), "NotebookEdit": ("NotebookEdit",)}
_KNOWN = frozenset(("Read", "Write", "Edit", "MultiEdit", "Task", *_OURS))
"""Tools of the client itself, which checks them itself."""
_LOOKS = frozenset(("head", "tail", "true", "false", "wait"))
_ANYTHING = SHELLS | INTERPRETERS.keys() | _known("anything")
"""Commands that start the command after them: without it they stand for anything."""
_EVERYWHERE = (LOOKING - _known("installed")) | _known("everywhere")
"""Programs that every system has."""
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


class Grants(NamedTuple):
    """The tools of some steps, in the form of `allowed-tools`, in the order of use."""

    proposed: tuple[str, ...]
    asked: tuple[str, ...]
    """Grants that are possible, but better asked for each time."""
    never: tuple[str, ...] = ()
    """Commands that stand for anything: the client asks for them, too."""


def grants_of(evidence: Evidence, steps: Sequence[Step]) -> Grants:
    """Return the grants for the steps, and those that the client should ask for."""
    used = {(one.tool, one.command) for one in evidence.tools}
    commands = {command for tool, command in used if tool == "Bash"}
    found: dict[str, bool] = {"Read": True} if any(tool == "Read" for tool, _ in used) else {}
    never: dict[str, None] = {}
    for tool, command in _tools(steps):
        if tool != "Bash":
            if (tool, "") in used:
                found.update(dict.fromkeys(_OURS.get(tool, (tool,)), tool in _KNOWN or _only_asks(tool)))
        elif command in _ANYTHING:
            never[command] = None
        elif command not in _LOOKS and _was_used(command, commands):
            found.setdefault(f"Bash({command}:*)", is_harmless(command))
    kept = tuple(found.items())[:MOST]
    return Grants(
        tuple(name for name, harmless in kept if harmless),
        tuple(name for name, harmless in kept if not harmless),
        tuple(never),
    )


def is_harmless(command: str) -> bool:
    """Return whether a program with its sub-command is harmless with any arguments."""
    program, *rest = command.split()
    if program in ("uv", "poetry", "pipenv", "pdm", "hatch") and len(rest) > 1 and rest[0] == "run":
        program, *rest = rest[1:]
    words = [part for word in rest for part in re.split(r"[-:_]", word)]
    if program in _known("harmful") or {
        "secret",
        "secrets",
        "password",
        "token",
        "credentials",
    } & set(words):
        return False
    if program == "git":
        return _known("git").isdisjoint(rest)
    if program in _known("systems"):
        return bool(rest) and re.split(r"[-:_]", rest[-1])[0] in _known("looking")
    return _known("changing").isdisjoint(words)


def _only_asks(tool: str) -> bool:
    """Return whether the name of a connected tool says that it only looks something up."""
    words = {part.lower() for part in _PARTS.findall(tool.rpartition("__")[2])}
    looks, changes = (_known(kind) for kind in ("looking", "changing"))
    return bool(words & looks) and not words & changes


def _was_used(command: str, used: Collection[str]) -> bool:
    """Return whether the session ran it. The argument of a program without sub-commands may have become an input."""
    return command in used or (command not in COMMANDED and any(one.startswith(f"{command} ") for one in used))


def _tools(steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """Yield the tools that steps need on this machine; commands on another one are covered by `ssh`."""
    for step in steps:
        if step.tool != "Bash":
            yield step.tool, ""
            continue
        elsewhere = _elsewhere(step.action)
        if elsewhere is not None:
            yield "Bash", "ssh"
        for ran in programs(step.action):
            if ran.label and ran.label not in (elsewhere or ()):
                yield "Bash", ran.label


def _elsewhere(text: str) -> set[str] | None:
    """Return the commands that run on other machines; None if there is no `ssh`."""
    if "ssh" not in text:
        return None
    found: set[str] | None = None
    for command in parse(text[:LONGEST]).commands:
        if command.argv and name_of(unwrapped(command.argv)) == "ssh":
            found = (found or set()) | {ran.label for one in inner(command) for ran in programs(one.text)}
    return found


def programs_of(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the programs that must be installed for the steps, without those of the system and the project."""
    own = {ran.label for step in steps if step.tool == "Bash" for ran in programs(step.action) if ran.own}
    names = (label.partition(" ")[0] for tool, label in _tools(steps) if tool == "Bash" and label not in {"", *own})
    return tuple(name for name in dict.fromkeys(names) if name not in _EVERYWHERE)[:20]
