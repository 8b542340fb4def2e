"""Skills as prompts: every slash command of a library, with the arguments it takes.

A client shows prompts in a menu of its own, with the server's name before them, so that no word is reserved here. What
a skill says of its arguments (`[issue] [priority]`) becomes arguments with these names; anything else, and nothing, is
one argument for everything that a person wants to add.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError, UsageError
from whet.interfaces.mcp.paging import Bounds, page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.api import Library
    from whet.api.tools import Tools
    from whet.library.visibility import Caller

PAGE = 100
"""Prompts of one answer."""
ALL = "arguments"
"""The name of the argument for everything, where a skill names none."""
_DESCRIPTION = 1_024
_MOST = 1_000_000
_NAMED = re.compile(r"[\[<]([A-Za-z][\w-]{0,40})[\]>]")
_PLAIN = re.compile(r"(?!/)[^\s'\"\\$`]+")
"""A word that means nothing but itself at the beginning of a line, too."""


def list_prompts(library: Library, caller: Caller, cursor: str | None) -> dict[str, Any]:
    """One page of prompts, in the order of their names."""
    commands = {command["name"]: command for command in _commands(library, caller)}
    items = ((name, partial(_prompt, commands[name])) for name in sorted(commands))
    made, further = page("prompts", items, cursor, Bounds(PAGE))
    return {"prompts": made, **({"nextCursor": further} if further else {})}


def get_prompt(tools: Tools, name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """The message with which the model gets the skill or bundle."""
    caller = tools.session.caller
    command = next((item for item in _commands(tools.library, caller) if item["name"] == name), None)
    if command is None:
        raise NotFoundError("prompt-not-found", f"There is no prompt {name!r:.80}.", hint="List the prompts.")
    known = _arguments(command["hint"])
    if strange := [key for key in given if key not in known]:
        hint = f"It takes {', '.join(known)}."
        raise UsageError("bad-arguments", f"{name} takes no argument {strange[0]!r:.80}.", hint=hint)
    if tuple(known) == (ALL,):
        words = given.get(ALL, "")
    else:
        values = [given.get(key, "") for key in known]
        while values and not values[-1]:
            values.pop()
        words = " ".join(map(_quoted, values))
    answer = tools.invoke(f"/{name} {words}".rstrip())
    text = {"type": "text", "text": answer["message"]}
    return {"description": command["description"][:_DESCRIPTION], "messages": [{"role": "user", "content": text}]}


def _commands(library: Library, caller: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = library.commands("", _MOST, reserved=(), caller=caller)["commands"]
    return found


def _prompt(command: dict[str, Any]) -> dict[str, Any]:
    arguments = [
        {"name": name, "description": about, "required": False} for name, about in _arguments(command["hint"]).items()
    ]
    return {"name": command["name"], "description": command["description"][:_DESCRIPTION], "arguments": arguments}


def _arguments(hint: str) -> dict[str, str]:
    """The arguments that a hint names, and what each is about."""
    names = _NAMED.findall(hint)
    if names and not _NAMED.sub("", hint).strip() and len(set(names)) == len(names):
        return dict.fromkeys(names, hint)
    return {ALL: hint or "What to do, in your own words."}


def _quoted(value: str) -> str:
    """The value as one word of an argument line."""
    if _PLAIN.fullmatch(value):
        return value
    return '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"'
