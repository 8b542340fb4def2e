"""What the adapters of agent libraries share: the tools of each conversation, and the texts for its prompt.

An agent object serves many conversations at a time. Libraries compact a conversation without telling, so the sessions
give every skill in full each time it is viewed.
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
    """The tools as they are defined in every conversation, and those of each: the same where `skills` are tools."""
    if isinstance(skills, Tools):
        return skills, SessionPool(_opens_none, shared=skills)
    example = skills.tools(writes=writes, only=only)
    tokenizer = tokenizer_for(skills.workspace.config().settings)
    return example, SessionPool(lambda _: skills, writes=writes, only=only, tokenizer=tokenizer)


def _opens_none(_: str | None) -> Library:
    raise AssertionError("Shared tools cannot start a session.")


def instructions(tools: Tools, budget: int | None) -> str:
    """The part of the system prompt that lists the skills, or says why it cannot: the agent goes on without them."""
    try:
        return tools.instructions(budget)
    except WhetError as error:
        return f"The skills cannot be listed now. {error.message} {error.hint}"


def offer(tools: Tools, message: str, *, again: bool = False) -> str:
    """What goes beside a message of the user, or why nothing does."""
    try:
        return tools.offer(message, again=again)
    except WhetError as error:
        return f"Whet could not search for skills. {error.message} {error.hint}"
