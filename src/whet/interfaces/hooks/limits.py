"""Limits of a session: the `allowed-tools` of loaded skills, applied to tool calls.

The limits are recorded when a skill is loaded, so later edits change nothing, and a check reads no skill. A call is
allowed if one of the skills allows it: each names the tools for its own work, and the agent works for all of them. A
skill without `allowed-tools` neither limits nor widens anything. A tool that one of them disallows is always refused.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.permissions.decision import Policy, declared_value, permits, read_grants
from whet.guard.permissions.grants import tools_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.library.card import Card
    from whet.skill.model import Skill

_INNER = re.compile(
    "activateskill|askuser|askuserquestion|bashoutput|enterplanmode|exitplanmode|listbash|readbash|reportintent"
    "|requestuserinput|skill|stopbash|killshell|taskcreate|taskget|tasklist|taskoutput|taskupdate|todoread|todowrite"
    "|toolsearch|updateplan|updatetopic|waitformcpservers|writetodos"
)
"""Tools that load a skill, talk to the user or keep notes; they reach nothing outside the conversation."""
_OWN = "mcp__whet__"
_READ = frozenset(("Read", "Glob", "Grep", "LS"))
_PATHS = ("file_path", "filePath", "path", "absolute_path", "target_file")
_SHOWN = 8
"""Number of grants that a refusal names."""


class Limit(NamedTuple):
    """The limits of one skill, as of when it was loaded."""

    skill: str
    directory: str
    allowed: Any
    """The value of `allowed-tools`; None if it is missing."""
    disallowed: Sequence[str]


def limit_of(skill: Skill, card: Card) -> Limit:
    """Return the limits of a skill."""
    return Limit(card.full_name, card.directory, declared_value(skill), list(skill.disallowed_tools))


def refuse(limits: Sequence[Limit], tool: str, given: Mapping[str, Any], cwd: str, home: str) -> str:
    """Return why a tool call is not allowed, for the model; "" if it is."""
    if _is_free(limits, tool, given, cwd):
        return ""
    if tool == "apply_patch" and isinstance(given.get("command"), str):  # Codex
        given = {**given, "input": given["command"]}
    denied = Policy(deny=tuple(grant for limit in limits for grant in read_grants(list(limit.disallowed))))
    if denied.deny:
        answer = permits(None, tool, dict(given), cwd=cwd, home=home, policy=denied)
        if answer.decision == "deny":
            return _explain([limit for limit in limits if limit.disallowed], "does not allow this", answer.reason)
    limiting = [limit for limit in limits if limit.allowed is not None]
    reason = ""
    for limit in reversed(limiting):
        grants = read_grants(limit.allowed)
        answer = permits(grants, tool, dict(given), cwd=cwd, skill_dir=limit.directory, home=home)
        if answer.decision != "deny":  # where a person should decide, the client asks
            return ""
        reason = reason or answer.reason
    if not limiting:
        return ""
    texts = list(dict.fromkeys(grant.text for limit in limiting for grant in read_grants(limit.allowed)))
    more = ", ..." if len(texts) > _SHOWN else ""
    return _explain(limiting, f"allows only {', '.join(texts[:_SHOWN]) or 'nothing'}{more}", reason)


def _is_free(limits: Sequence[Limit], tool: str, given: Mapping[str, Any], cwd: str) -> bool:
    """Return whether the call needs no grant: Whet's own tools, tools within the conversation, or reading the skill."""
    if tool.startswith(_OWN) or _INNER.fullmatch(re.sub(r"[-_\s]", "", tool).lower()):
        return True
    if not set(tools_named(tool)) <= _READ:
        return False
    path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), "")
    real = os.path.realpath(os.path.join(cwd, path)) if path else ""
    return any(real.startswith(os.path.realpath(limit.directory) + os.sep) for limit in limits if real)


def _explain(limits: Sequence[Limit], says: str, reason: str) -> str:
    names = ", ".join(dict.fromkeys(limit.skill for limit in limits))
    what = "The loaded skill" if "," not in names else "Each of the loaded skills"
    return (
        f"{what} {names} {says}. {reason} "
        "Continue with what is allowed, or tell the user what is missing. Do not look for a way around it."
    )
