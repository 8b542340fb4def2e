"""Skills as prompts: every slash command of a library, with the arguments it takes.

A client shows prompts in a menu of its own, with the server's name before them, so that no word is reserved here. A
skill's argument hint (`[issue] [priority]`) becomes arguments with these names; any other hint, or none, is one
argument for everything.

Clients treat the text after a slash command differently. Most ask for each argument, or pass the line whole. Claude
Code splits the line at blanks and gives each declared argument one word, so it gets an argument for every word; Gemini
CLI fills required arguments only, and a single one with the whole line. Both get back what was typed.

Another prompt, `distill`, turns the conversation into a skill; a skill of that name replaces it.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from whet.api.tool_definitions import DISTILL as TOOL
from whet.errors import NotFoundError, UsageError
from whet.interfaces.mcp.paging import Bounds, page
from whet.prompt.commands import Command

if TYPE_CHECKING:
    import mcp_types as types

    from whet.api.tools import Tools
    from whet.prompt.requests import Commands
    from whet.values import Json

PAGE = 100
"""Number of prompts per page."""
ALL = "arguments"
"""The name of the argument for everything, if a skill names none."""
DISTILL = "distill"
_SPLITTING, _REQUIRING = frozenset({"claude-code"}), frozenset({"gemini"})
"""Clients that give each argument one word, and clients that fill required arguments only."""
_WORDS = 60
"""Number of words that a client of the first kind can pass on."""
_OWN = Command(DISTILL, "skill", DISTILL, "Turn what was worked out in this conversation into a skill.", "", DISTILL)
_ROUNDS = """\
Turn what was worked out in this conversation into a skill, together with the user.

1. Begin with skill_distill and session "current". If no such session is known, give `transcript` instead: what was
   done that worked, as Markdown, with the headings `## User`, `## Assistant`, `## Tool: Bash` and `## Result`; the
   user's words and corrections and the commands as they were, secrets left out.
2. Write the skill from the evidence, as `write` says, and call skill_distill with `distillation` and `skill`. Fix
   what it does not accept.
3. Show the user the question and the proposed answers; where they can be clearer, suggest it. Call skill_distill with
   `distillation` and, in `answers`, what they want otherwise, or {} to go on. `back` shows the round before, and `ask`
   has the client show all of it in forms.
4. After four rounds `done` is true: show name and description, and call with `finish` when the user agrees.

Then tell them in a sentence what the skill is called, and what is left to do: `hint` says so where it waits for their
approval."""
_DESCRIPTION = 1_024
_MOST = 1_000_000
_NAMED = re.compile(r"[\[<]([A-Za-z][\w-]{0,40})[\]>]")
_PLAIN = re.compile(r"(?!/)[^\s'\"\\$`]+")
"""A word without a special meaning, even at the beginning of a line."""


def list_prompts(tools: Tools, cursor: str | None) -> Json:
    """Return one page of prompts, sorted by name."""
    own = [_OWN] if _distills(tools) else []
    commands = {command.name: command for command in (*own, *_commands(tools))}
    items = ((name, partial(_prompt, commands[name], _client(tools))) for name in sorted(commands))
    made, further = page("prompts", items, cursor, Bounds(PAGE))
    return {"prompts": made, **({"nextCursor": further} if further else {})}


def get_prompt(tools: Tools, params: types.GetPromptRequestParams) -> Json:
    """Return the message that gives the model the skill or bundle."""
    name, given = params.name, params.arguments or {}
    command = next((item for item in _commands(tools) if item.name == name), None)
    own = command is None and name == DISTILL and _distills(tools)
    command = _OWN if own else command
    if command is None:
        raise NotFoundError("prompt-not-found", f"There is no prompt {name!r:.80}.", hint="List the prompts.")
    client = _client(tools)
    known = _arguments(command.hint, client)
    if strange := [key for key in given if key not in known]:
        hint = f"It takes {', '.join(known)}."
        raise UsageError("bad-arguments", f"{name} takes no argument {strange[0]!r:.80}.", hint=hint)
    values = [given.get(key, "") for key in known]
    while values and not values[-1]:
        values.pop()
    is_line = client in _SPLITTING or tuple(known) == (ALL,)
    words = " ".join(values if is_line else map(_quote, values))
    if own:
        message = f"{_ROUNDS}\n\nThe user adds: {words}" if words.strip() else _ROUNDS
    else:
        message = tools.invoke(f"/{name} {words}".rstrip())["message"]
    text = {"type": "text", "text": message}
    return {"description": command.description[:_DESCRIPTION], "messages": [{"role": "user", "content": text}]}


def _commands(tools: Tools) -> Commands:
    from whet.prompt.requests import menu_of

    workspace = tools.session.workspace
    menu = menu_of(workspace.snapshot(), tools.session.caller, reserved=())
    return menu.complete("", _MOST)


def _distills(tools: Tools) -> bool:
    return any(tool.name == TOOL for tool in tools.definitions())


def _client(tools: Tools) -> str:
    return tools.session.caller.surface.partition("/")[2]


def _prompt(command: Command, client: str) -> Json:
    declared = _arguments(command.hint, client)
    required = client in _REQUIRING
    arguments = [{"name": name, "description": about, "required": required} for name, about in declared.items()]
    return {"name": command.name, "description": command.description[:_DESCRIPTION], "arguments": arguments}


def _arguments(hint: str, client: str) -> dict[str, str]:
    """Return the arguments for a client, each with its description."""
    everything = {ALL: hint or "What to do, in your own words."}
    if client in _REQUIRING:
        return everything
    named = _named(hint) or everything
    if client in _SPLITTING:
        named |= {f"word{number}": "" for number in range(len(named) + 1, _WORDS + 1)}
    return named


def _named(hint: str) -> dict[str, str]:
    """Return the arguments that a hint names, if it contains nothing else."""
    names = _NAMED.findall(hint)
    if names and not _NAMED.sub("", hint).strip() and len(set(names)) == len(names):
        return dict.fromkeys(names, hint)
    return {}


def _quote(value: str) -> str:
    """Return the value as one word of an argument line."""
    if _PLAIN.fullmatch(value):
        return value
    return '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"'
