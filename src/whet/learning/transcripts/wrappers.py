"""What is in a message of the user but was not said by the user.

Clients put their own text into the conversation with the user's name on it: the surroundings, instructions of the
project, reminders, the body of a skill, summaries. `spoken` takes a message apart: what the client wrapped becomes
notes, and what is left is the user's. Only wrappers that no user would type count, and only where a line begins.
"""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from whet.learning.transcripts.events import Kind

_TAGS = {
    "context": "environment_context environment_context_delta user_instructions INSTRUCTIONS additional_context"
    " attached_files codex_internal_context goal_context internal_model_context ide_opened_file ide_selection"
    " ide_diagnostics open_files recommended_plugins memory-context system_instruction project_context"
    " user_info git_status workspace_info session_context hook_context environment_details current_datetime",
    "system": "system-reminder system_reminder local-command-caveat apps_instructions"
    " skills_instructions plugins_instructions collaboration_mode personality_spec model_switch token_budget"
    " rollout_budget context_window hook_prompt user-prompt-submit-hook turn_aborted realtime_conversation",
    "command": "local-command-stdout local-command-stderr bash-input bash-stdout bash-stderr user_shell_command"
    " command-contents",
    "summary": "state_snapshot",
    "subagent": "task-notification subagent_notification teammate-message",
}
_ABOUT = {tag: about for about, tags in _TAGS.items() for tag in tags.split()}
_OPEN = re.compile(
    rf"(?m)^[ \t]{{0,3}}<({'|'.join(map(re.escape, sorted(_ABOUT, key=len, reverse=True)))}|skill(?=>\s*<name>))"
    r"\b[^>\n]{0,200}>"
)
_SINGLE = re.compile(r"<([A-Za-z][a-z0-9]*(?:[_-][a-z0-9]+)+)(?:\s[^>]{0,200})?>.*</\1>", re.DOTALL)
_COMMAND = re.compile(r"<command-(name|message|args)>(.*?)</command-\1>\s*", re.DOTALL)
_COMMANDS = (
    "add-dir agents bashes bug clear compact config context copy cost doctor effort exit export feedback"
    " fork help hooks ide login logout mcp memory model new output-style permissions plan plugin quit"
    " release-notes rename resume rewind sandbox session settings skills stats status statusline tasks"
    " terminal-setup theme todos upgrade usage vim voice"
)
_COMMAND_TEXT = 50_000
"""Characters of a message that may be a command."""
_BUILT_IN = frozenset(_COMMANDS.split())
"""Commands that are about the client itself and ask nothing of the model."""
_SKILL_DIRECTORY = re.compile(r"Base directory for this skill: *([^\n]+)")
_SKILL_NAME = re.compile(r"<name>\s*([^<\n]{1,80}?)\s*</name>")
_AGENTS = re.compile(r"# AGENTS\.md instructions\b.*?(?:</INSTRUCTIONS>|\Z)", re.DOTALL)
_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
_BRACKETED = re.compile(r"\s*\[(?:System note|Runtime note|Note to self|SYSTEM):[^\]]{0,4000}\]\s*")
_INVOKED = re.compile(
    r'\[IMPORTANT: (?:The user (?:has invoked|launched this CLI session with)[^"\n]{0,20}|The )"([^"\n]{1,80})"'
)
_ALONGSIDE = "The user has provided the following instruction alongside the skill invocation: "
_WHOLE = (
    ("summary", "This session is being continued from a previous conversation"),
    ("summary", "[CONTEXT COMPACTION"),
    ("summary", "[CONTEXT SUMMARY]"),
    ("summary", "Another language model started to solve this problem"),
    ("interrupted", "[Request interrupted by user"),
    ("system", "Caveat: The messages below were generated"),
    ("system", "[IMPORTANT: Background process "),
    ("system", "[IMPORTANT: MCP servers "),
    ("system", "Warning: The maximum number of unified exec"),
    ("system", "Review the conversation above and update the skill library"),
    ("system", "Review the conversation above and consider saving to memory"),
    ("system", "Stop hook feedback:"),
    ("context", "# Project context\nWorking directory:"),
)
"""Beginnings of messages that are the client's from end to end."""


class Piece(NamedTuple):
    """A part of a message, and whose it is."""

    kind: Kind
    text: str
    about: str = ""


def spoken(text: str) -> list[Piece]:
    """The message taken apart, in order; blank parts are left out."""
    start = text.lstrip()
    if found := _SKILL_DIRECTORY.match(start):
        return [Piece("note", text, f"skill:{os.path.basename(found[1].strip().replace(chr(92), '/').rstrip('/'))}")]
    if found := _INVOKED.match(start):
        return _invoked(text, found[1])
    for about, beginning in _WHOLE:
        if start.startswith(beginning):
            return [Piece("note", text, about)]
    if start.startswith(("<command-name>", "<command-message>", "<command-args>")) and len(text) <= _COMMAND_TEXT:
        return _command(text)
    return _unwrapped(text)


def _invoked(text: str, name: str) -> list[Piece]:
    """Hermes: a skill's body as a message; what the user asked for stands at its end."""
    body, mark, asked = text.rpartition(_ALONGSIDE)
    pieces = [Piece("note", body if mark else text, f"skill:{name}")]
    asked = asked.partition("\n\n[Runtime note:")[0].strip() if mark else ""
    return [*pieces, Piece("user", asked)] if asked else pieces


def _command(text: str) -> list[Piece]:
    """Claude Code: a slash command. What was typed is the user's, unless it was for the client."""
    parts = {found[1]: found[2].strip() for found in _COMMAND.finditer(text)}
    rest = _COMMAND.sub("", text).strip()
    typed = f"/{parts.get('name', '').lstrip('/')} {parts.get('args', '')}".strip()
    name = typed[1:].partition(" ")[0]
    pieces = [Piece("note", typed, "command") if not name or name in _BUILT_IN else Piece("user", typed)]
    return pieces + (_unwrapped(rest) if rest else [])


def _unwrapped(text: str) -> list[Piece]:
    pieces: list[Piece] = []
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
        pieces.append(Piece("note", inner, f"skill:{name[1]}" if name else _ABOUT.get(tag, "context")))
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
