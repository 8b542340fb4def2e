"""Parts of a user's message that the user did not write.

Clients add their own text in the user's name: the environment, instructions of the project, reminders, the body of a
skill, summaries. `spoken` splits a message: a client's additions become notes, and the rest is the user's. Only
wrappers that no user would type count, and only where a line begins.
"""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.tables import NAMES, load_table, meanings, words_of

if TYPE_CHECKING:
    from whet.learning.transcripts.events import Kind

_TAG = "|".join(map(re.escape, sorted(meanings(NAMES, "tags"), key=len, reverse=True)))
_OPEN = re.compile(rf"(?m)^[ \t]{{0,3}}<({_TAG}|skill(?=>\s*<name>))\b[^>\n]{{0,200}}>")
_SINGLE = re.compile(r"<([A-Za-z][a-z0-9]*(?:[_-][a-z0-9]+)+)(?:\s[^>]{0,200})?>.*</\1>", re.DOTALL)
_COMMAND = re.compile(r"<command-(name|message|args)>(.*?)</command-\1>\s*", re.DOTALL)
_COMMAND_TEXT = 50_000
"""Longest message in characters that may be a command."""
_SKILL_DIRECTORY = re.compile(r"Base directory for this skill: *([^\n]+)")
_SKILL_NAME = re.compile(r"<name>\s*([^<\n]{1,80}?)\s*</name>")
_AGENTS = re.compile(r"# AGENTS\.md instructions\b.*?(?:</INSTRUCTIONS>|\Z)", re.DOTALL)
_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
_TYPED = re.compile(r"\s*<(task|feedback|user_message|answer)>\s*(.*?)\s*</\1>\s*", re.DOTALL)
"""The user's text, as Cline wraps it."""
_BRACKETED = re.compile(r"\s*\[(?:System note|Runtime note|Note to self|SYSTEM):[^\]]{0,4000}\]\s*")
_INVOKED = re.compile(
    r'\[IMPORTANT: (?:The user (?:has invoked|launched this CLI session with)[^"\n]{0,20}|The )"([^"\n]{1,80})"'
)
_ALONGSIDE = "The user has provided the following instruction alongside the skill invocation: "


class Piece(NamedTuple):
    """A part of a message, and its author."""

    kind: Kind
    text: str
    about: str = ""


def spoken(text: str) -> list[Piece]:
    """Split the message into pieces, in order; blank parts are left out."""
    start = text.lstrip()
    if found := _SKILL_DIRECTORY.match(start):
        return [Piece("note", text, f"skill:{os.path.basename(found[1].strip().replace(chr(92), '/').rstrip('/'))}")]
    if found := _INVOKED.match(start):
        return _invoked(text, found[1])
    for about, beginnings in load_table(NAMES)["beginnings"].items():
        if start.startswith(tuple(beginnings)):
            return [Piece("note", text, about)]
    if start.startswith(("<command-name>", "<command-message>", "<command-args>")) and len(text) <= _COMMAND_TEXT:
        return _command(text)
    return _unwrapped(text)


def _invoked(text: str, name: str) -> list[Piece]:
    """Split a message of Hermes with a skill's body; the user's request is at its end."""
    body, mark, asked = text.rpartition(_ALONGSIDE)
    pieces = [Piece("note", body if mark else text, f"skill:{name}")]
    asked = asked.partition("\n\n[Runtime note:")[0].strip() if mark else ""
    return [*pieces, Piece("user", asked)] if asked else pieces


def _command(text: str) -> list[Piece]:
    """Split a slash command of Claude Code. The typed text is the user's, unless it was for the client."""
    parts = {found[1]: found[2].strip() for found in _COMMAND.finditer(text)}
    rest = _COMMAND.sub("", text).strip()
    typed = f"/{parts.get('name', '').lstrip('/')} {parts.get('args', '')}".strip()
    name = typed[1:].partition(" ")[0]
    own = not name or name in words_of(NAMES, "claude-code", "commands")
    pieces = [Piece("note", typed, "command") if own else Piece("user", typed)]
    return pieces + (_unwrapped(rest) if rest else [])


def _unwrapped(text: str) -> list[Piece]:
    pieces: list[Piece] = []
    if typed := _TYPED.fullmatch(text):
        text = typed[2]
    if "# AGENTS.md instructions" in text:
        pieces.extend(Piece("note", found[0].strip(), "context") for found in _AGENTS.finditer(text))
        text = _AGENTS.sub("", text)
    while bracketed := _BRACKETED.match(text):
        pieces.append(Piece("note", bracketed[0].strip(), "system"))
        text = text[bracketed.end() :]
    said: list[str] = []
    done = 0
    while found := _OPEN.search(text, done):
        tag = found[1]
        close = text.find(f"</{tag}", found.end())
        end = len(text) if close < 0 else text.find(">", close) + 1 or len(text)
        inner = text[found.start() : end].strip()
        name = _SKILL_NAME.search(inner) if tag == "skill" else None
        pieces.append(Piece("note", inner, f"skill:{name[1]}" if name else meanings(NAMES, "tags").get(tag, "context")))
        said.append(text[done : found.start()])
        done = end
    left = "".join((*said, text[done:]))
    if request := _REQUEST.search(left):
        if before := left[: request.start()].strip():
            pieces.append(Piece("note", before, "context"))
        left = left[request.end() :]
    left = left.strip()
    if left:
        pieces.append(Piece("note", left, "context") if _SINGLE.fullmatch(left) else Piece("user", left))
    return pieces
