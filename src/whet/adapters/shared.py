"""Shared parts of the adapters: the tools of each conversation, and the texts for its prompt.

An agent object serves many conversations at a time. Agent libraries compact a conversation without notice, so the
sessions return every skill in full each time it is viewed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.api.session_pool import SessionPool
from whet.api.tools import Tools
from whet.errors import WhetError
from whet.prompt.tokens import tokenizer_for

if TYPE_CHECKING:
    from collections.abc import Collection

    from whet.api.library import Library
    from whet.api.tool_definitions import Writes


def open_pool(skills: Library | Tools, *, writes: Writes, only: Collection[str] | None) -> tuple[Tools, SessionPool]:
    """Return the tools as defined in every conversation, and a pool with the tools of each."""
    if isinstance(skills, Tools):
        return skills, SessionPool(_opens_none, shared=skills)
    example = skills.tools(writes=writes, only=only)
    tokenizer = tokenizer_for(skills.workspace.config().settings)
    return example, SessionPool(lambda _: skills, writes=writes, only=only, tokenizer=tokenizer)


def _opens_none(_: str | None) -> Library:
    raise AssertionError("Shared tools cannot start a session.")


def instructions(tools: Tools, budget: int | None) -> str:
    """Return the part of the system prompt that lists the skills, or why that failed; the agent continues."""
    try:
        return tools.instructions(budget)
    except WhetError as error:
        return f"The skills cannot be listed now. {error.message} {error.hint}"


def offer(tools: Tools, message: str, *, again: bool = False) -> str:
    """Return the text beside a message of the user, or why the search failed."""
    try:
        return tools.offer(message, again=again)
    except WhetError as error:
        return f"Whet could not search for skills. {error.message} {error.hint}"
