"""The tools a distilled skill asks for: those its steps use, to the sub-command, and only what does no harm.

A grant holds for any arguments, so it is proposed only for what is harmless with all of them. What deletes, overwrites,
publishes, changes a system that others use or shows secrets stays a step that the client asks for; whoever answers the
rounds may allow it. What starts anything at all, or runs on another machine, is not even offered.
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
"""The words of a table."""
_OURS = {"Search": ("Grep", "Glob"), "Web": ("WebFetch", "WebSearch"), "NotebookEdit": ("NotebookEdit",)}
_KNOWN = frozenset(("Read", "Write", "Edit", "MultiEdit", "Task", *_OURS))
"""Tools of the client itself, which has its own care for them."""
_LOOKS = frozenset(("head", "tail", "true", "false", "wait"))
_ANYTHING = SHELLS | INTERPRETERS.keys() | _known("anything")
"""Commands that start whatever stands behind them: without that they stand for anything."""
_EVERYWHERE = (LOOKING - _known("installed")) | _known("everywhere")
"""Programs that every system has."""
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


class Grants(NamedTuple):
    """The tools of some steps, as `allowed-tools` spells them, in the order of use."""

    proposed: tuple[str, ...]
    asked: tuple[str, ...]
    """Those that could be allowed, and are better asked for each time."""
    never: tuple[str, ...] = ()
    """Commands that stand for anything: the client asks for them, too."""


def grants_of(evidence: Evidence, steps: Sequence[Step]) -> Grants:
    """What to allow for the steps, and what the client is to ask for."""
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
    """May a program with its sub-command be run with any arguments, and nothing is lost or seen by others?"""
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
    """Does the name of a connected tool say that it looks something up?"""
    words = {part.lower() for part in _PARTS.findall(tool.rpartition("__")[2])}
    looks, changes = (_known(kind) for kind in ("looking", "changing"))
    return bool(words & looks) and not words & changes


def _was_used(command: str, used: Collection[str]) -> bool:
    """Did the session run it? What followed a program that has no sub-commands may have become an input since."""
    return command in used or (command not in COMMANDED and any(one.startswith(f"{command} ") for one in used))


def _tools(steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """The tools that steps need on this machine; what another one runs is behind `ssh`."""
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
    """What a command runs on other machines; None when it goes to none."""
    if "ssh" not in text:
        return None
    found: set[str] | None = None
    for command in parse(text[:LONGEST]).commands:
        if command.argv and name_of(unwrapped(command.argv)) == "ssh":
            found = (found or set()) | {ran.label for one in inner(command) for ran in programs(one.text)}
    return found


def programs_of(steps: Sequence[Step]) -> tuple[str, ...]:
    """The programs that have to be installed for the steps, without those of every system and of the project."""
    own = {ran.label for step in steps if step.tool == "Bash" for ran in programs(step.action) if ran.own}
    names = (label.partition(" ")[0] for tool, label in _tools(steps) if tool == "Bash" and label not in {"", *own})
    return tuple(name for name in dict.fromkeys(names) if name not in _EVERYWHERE)[:20]
