"""Skills for agents of pydantic-ai: a toolset with the tools and the index of skills.

    from pydantic_ai import Agent
    from whet import Library
    from whet.adapters.pydantic_ai import SkillsToolset

    agent = Agent("openai:gpt-5", toolsets=[SkillsToolset(Library.open())])

A conversation is that of pydantic-ai: a run and those that continue its messages. Every call of a model gets an answer;
even a call with arguments that are not JSON is answered, and uses none of the agent's retries.
"""

from __future__ import annotations

import asyncio
import copy
import json
from typing import TYPE_CHECKING, Any, Literal

from whet.adapters.shared import instructions, offer, open_pool
from whet.api.session_pool import SessionKey
from whet.extras import missing_extra

try:
    from pydantic_ai.messages import InstructionPart
    from pydantic_ai.tools import AgentDepsT, RunContext, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ImportError as error:
    raise missing_extra("Skills for pydantic-ai need the extra `pydantic-ai`.", "pydantic-ai") from error

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pydantic_ai.messages import UserContent

    from whet.api.library import Library
    from whet.api.tool_definitions import Writes
    from whet.api.tools import Tools

_UNREAD = "unread arguments"
"""Key for the whole text that a model sent if it is not a JSON object."""


class SkillsToolset(AbstractToolset[AgentDepsT]):
    """The tools, the index of skills as instructions, and the few skills that fit the prompt of a run.

    Pass a `Library`, and each conversation has its own session; pass `Library.tools(session)`, and all runs share that
    one. `writes` and `only` are as in `Library.tools`, `budget` is that of the index in characters.
    """

    def __init__(
        self,
        skills: Library | Tools,
        *,
        writes: Writes = "allow",
        only: Collection[str] | None = None,
        offer: bool = True,
        budget: int | None = None,
        id: str | None = "whet",  # noqa: A002  pydantic-ai's name
    ) -> None:
        self._example, self._sessions = open_pool(skills, writes=writes, only=only)
        self._offers = offer
        self._budget = budget
        self._id = id
        self._tools: Tools | None = None
        self._offer = ""

    @property
    def id(self) -> str | None:
        """Identifies this toolset among others of the same agent."""
        return self._id

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Return the toolset of one run: with the session of its conversation, and the offer for its prompt."""
        tools, message = await asyncio.to_thread(self._of, ctx), _text(ctx.prompt)
        offered = await asyncio.to_thread(offer, tools, message, again=True) if self._offers and message else ""
        run = copy.copy(self)
        vars(run).update(_tools=tools, _offer=offered)
        return run

    def _of(self, ctx: RunContext[AgentDepsT]) -> Tools:
        return self._tools or self._sessions.get(SessionKey(ctx.conversation_id or ctx.run_id or ""))

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> list[InstructionPart]:
        """Return the index, which stays the same from turn to turn, and after it the offer for this run's prompt."""
        index = await asyncio.to_thread(lambda: instructions(self._of(ctx), self._budget))
        parts = [InstructionPart(content=index)]
        return [*parts, InstructionPart(content=self._offer, dynamic=True)] if self._offer else parts

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """Return the tools; one that changes skills runs alone, in the order in which the model called."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.parameters,
                    sequential=not tool.read_only,
                ),
                max_retries=ctx.max_retries,
                args_validator=_Arguments(),
            )
            for tool in self._example.definitions()
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDepsT],
        tool: ToolsetTool[AgentDepsT],  # noqa: ARG002  the name says enough
    ) -> dict[str, Any]:
        """Return the answer of the tool, without blocking the event loop."""
        tools = await asyncio.to_thread(self._of, ctx)
        return await tools.acall(name, tool_args.get(_UNREAD, tool_args))


class _Arguments:
    """Accepts everything that a model sends; problems are reported in the answer."""

    def validate_json(
        self,
        input: str | bytes | bytearray,  # noqa: A002  pydantic's name
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,  # noqa: ARG002  pydantic's parameter
        **_: Any,
    ) -> dict[str, Any]:
        try:
            given = json.loads(input)
        except (ValueError, RecursionError):
            given = None
        text = input if isinstance(input, str) else input.decode(errors="replace")
        return given if isinstance(given, dict) else {_UNREAD: text}

    def validate_python(
        self,
        input: Any,  # noqa: A002  pydantic's name
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,  # noqa: ARG002  pydantic's parameter
        **_: Any,
    ) -> dict[str, Any]:
        return input if isinstance(input, dict) else {_UNREAD: json.dumps(input, default=repr)}


def _text(prompt: str | Sequence[UserContent] | None) -> str:
    """Return the text of a prompt, which may also have pictures and other content."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(part if isinstance(part, str) else getattr(part, "content", "") for part in prompt)
