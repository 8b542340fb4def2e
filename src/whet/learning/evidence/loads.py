"""The skills of a session, and its work with each: only later events say something about a skill.

A skill is loaded when its text comes into the conversation: by a tool of the client, by `skill_view` of an MCP server,
by a slash command, or because its SKILL.md was read. A skill that a hook offered, and nobody opened, is not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.evidence.shell import only_looks
from whet.learning.evidence.tool_calls import acts, working
from whet.learning.transcripts.events import Event
from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.evidence.tool_calls import Act
    from whet.learning.transcripts.events import Transcript

_SLASH = re.compile(r"/(?:mcp__\w{1,60}?__)?([A-Za-z0-9][\w:.-]{0,79})(?=\s|\Z)")
_MAIN = re.compile(r"([^\s/\\'\"`]{1,80})[/\\]SKILL\.md\b")
_SHOWS = re.compile(r"\s*(?:sed -n|nl|bat|awk)\b[^<>|;&]{0,400}")
"""Commands that print a file, besides those that only look."""
_MOST = 40
_FEW = 3
"""Number of words of a message that requests nothing."""
_BLANK = Event("note", about="before")
"""Replaces events before a skill was loaded; the others keep their numbers."""


class Load(NamedTuple):
    """A skill that came into the conversation."""

    skill: str
    at: int
    """Number of the event that loaded it."""
    text: str = ""
    """Its text, if the session has it."""
    asked: bool = False
    """Whether the user asked for it by name."""


def loads_of(events: Sequence[Event]) -> tuple[Load, ...]:
    """Return every loading of a skill, in order."""
    found: list[Load] = []
    for act in acts(events):
        name = "" if act.failed else _loaded_by(act)
        if name:
            found.append(Load(name, act.at, act.output))
    for at, event in enumerate(events):
        if event.about.startswith("skill:"):
            found.append(Load(event.about.partition(":")[2], at, event.text))
        elif event.kind == "user" and (slash := _SLASH.match(event.text.lstrip())):
            found.append(Load(slash[1], at, "", asked=True))
    return tuple(sorted((load for load in found if load.skill), key=lambda load: load.at))


def _loaded_by(act: Act) -> str:
    """Return the skill that a call loaded, or ""."""
    if act.tool == "Skill":
        return act.text("skill")
    if act.tool.rpartition("__")[2] == "skill_view":
        return "" if act.text("file_path") else act.text("name") or act.text("skill")
    command = act.text("command") if act.tool == "Bash" else ""
    shows = command and (only_looks(command) or _SHOWS.fullmatch(command))
    found = _MAIN.search(act.text("path") if act.tool == "Read" else command if shows else "")
    return found[1] if found and act.answered else ""


def skills_of(events: Sequence[Event]) -> tuple[str, ...]:
    """Return the names of the loaded skills, in the order of their first loading."""
    return tuple(dict.fromkeys(load.skill for load in loads_of(events)))[:_MOST]


def short_name(skill: str) -> str:
    """Return a skill's name without its plugin, in the form for comparison."""
    return key(skill.rpartition(":")[2])


def with_skill(transcript: Transcript, skill: str) -> Transcript:
    """Return the part of a session that was work with this skill: the request, and everything after its loading.

    If another skill is loaded after some work, the rest is work with that one. Everything else is blanked out.
    """
    events, skill = transcript.events, short_name(skill)
    loads = {load.at: short_name(load.skill) for load in loads_of(events)}
    work = {act.at for act in working(acts(events))}
    kept: list[Event] = []
    held: set[str] = set()
    busy = False
    for at, event in enumerate(events):
        if at in loads:
            held = {loads[at]} if busy else held | {loads[at]}
            busy = False
        busy = busy or at in work
        kept.append(event if skill in held else _BLANK)
    first = next((at for at, name in loads.items() if name == skill), 0)
    asked = _request_before(events, first)
    if asked >= 0:
        kept[asked] = events[asked]
    return transcript._replace(events=tuple(kept))


def _request_before(events: Sequence[Event], end: int) -> int:
    """Return the index of the last message before an event that is longer than thanks; -1 if there is none."""
    users = [at for at, event in enumerate(events[: end + 1]) if event.kind == "user" and event.text.strip()]
    asking = [at for at in users if len(events[at].text.split()) > _FEW]
    return (asking or users or [-1])[-1]
