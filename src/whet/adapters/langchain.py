"""Skills for agents of LangChain and deepagents: tools, and a middleware that tells the model which skills there are.

    from langchain.agents import create_agent
    from whet import Library
    from whet.adapters.langchain import SkillsMiddleware

    agent = create_agent("openai:gpt-5", middleware=[SkillsMiddleware(Library.open())])

A conversation is a thread: its name is kept in the agent's state, and so is what was offered beside which message. So
each message is sent with the same words every time, which is what a provider's cache lives on, and the messages in the
state stay the user's own. When an offer is gone from the context, its skills may be offered again.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from whet.adapters.shared import instructions, offer, open_pool
from whet.api.session_pool import SessionKey
from whet.errors import WhetError
from whet.extras import missing_extra

try:
    from langchain.agents.middleware.types import AgentMiddleware, AgentState, PrivateStateAttr
    from langchain_core.messages import HumanMessage, SystemMessage
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import Field
except ImportError as error:
    raise missing_extra("Skills for LangChain need the extra `langchain`.", "langchain") from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from langchain.agents.middleware.types import ModelCallResult, ModelRequest, ModelResponse, ToolCallRequest
    from langchain_core.messages import AnyMessage, ToolMessage
    from langgraph.runtime import Runtime
    from langgraph.types import Command

    from whet.api.library import Library
    from whet.api.tool_definitions import Writes
    from whet.api.tools import Tools


class SkillTool(BaseTool):
    """One of the tools, for one conversation. A failure is an answer with the status `error`, never an exception."""

    skills: Any = Field(exclude=True, repr=False)
    handle_tool_error: bool = True

    def _to_args_and_kwargs(
        self,
        tool_input: Any,
        tool_call_id: str | None,  # noqa: ARG002  as LangChain calls it
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (tool_input,), {}  # in one piece: whatever a model calls its arguments, they clash with nothing

    def _run(self, arguments: Any) -> str:
        return _told(self.skills.call(self.name, arguments))

    async def _arun(self, arguments: Any) -> str:
        return _told(await self.skills.acall(self.name, arguments))


def skill_tools(tools: Tools) -> list[BaseTool]:
    """The tools of one conversation, for an agent that you build yourself: `skill_tools(library.tools())`."""
    return [
        SkillTool(name=tool.name, description=tool.description, args_schema=tool.parameters, skills=tools)
        for tool in tools.definitions()
    ]


class SkillsState(AgentState[Any]):
    """What the middleware keeps in the state of an agent."""

    whet_conversation: NotRequired[Annotated[str, PrivateStateAttr]]
    whet_offers: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """What stands beside which message, by its id."""


class SkillsMiddleware(AgentMiddleware[SkillsState, Any, Any]):
    """The tools, the index of skills in the system prompt, and beside a message the few skills that fit it.

    Give a `Library`, and each thread has a session of its own; give `Library.tools(session)`, and all share that one.
    `writes` and `only` are as in `Library.tools`, `budget` is that of the index in characters.
    """

    state_schema = SkillsState

    def __init__(
        self,
        skills: Library | Tools,
        *,
        writes: Writes = "allow",
        only: Collection[str] | None = None,
        offer: bool = True,
        budget: int | None = None,
    ) -> None:
        example, self._sessions = open_pool(skills, writes=writes, only=only)
        self._offers = offer
        self._budget = budget
        self.tools = skill_tools(example)
        self._names = frozenset(tool.name for tool in self.tools)

    @property
    def name(self) -> str:
        """Its name among the middleware of an agent; deepagents has a `SkillsMiddleware` itself."""
        return "WhetSkillsMiddleware"

    def before_agent(
        self,
        state: SkillsState,
        runtime: Runtime[Any],  # noqa: ARG002  as LangChain calls it
    ) -> dict[str, Any]:
        """Name the conversation, and look for the skills that fit what the user just said."""
        conversation = state.get("whet_conversation") or os.urandom(8).hex()
        offers = state.get("whet_offers", {})
        newest = state["messages"][-1] if state["messages"] else None
        if self._offers and isinstance(newest, HumanMessage) and newest.id and newest.id not in offers:
            text = offer(self._sessions.get(SessionKey(conversation)), str(newest.text))
            offers = {**offers, newest.id: text} if text else offers
        return {"whet_conversation": conversation, "whet_offers": offers}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        """Send the index and what was offered along with the messages."""
        return handler(self._with_skills(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelCallResult[Any]:
        """The same without blocking an event loop."""
        return await handler(await asyncio.to_thread(self._with_skills, request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Let the tools of this conversation answer."""
        return handler(self._at_home(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """The same without blocking an event loop."""
        return await handler(await asyncio.to_thread(self._at_home, request))

    def _of(self, state: Any) -> Tools:
        return self._sessions.get(_key(state))

    def _with_skills(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        state = cast("SkillsState", request.state)
        offers = state.get("whet_offers", {})
        text = instructions(self._of(state), self._budget)
        if gone := offers.keys() - {message.id for message in request.messages}:
            with suppress(WhetError):  # what keeps it from looking at the skills, the index tells
                self._sessions.compact(_key(state), gone)
        messages = [_beside(message, offers.get(message.id or "", "")) for message in request.messages]
        return request.override(system_message=_behind(request.system_message, text), messages=messages)

    def _at_home(self, request: ToolCallRequest) -> ToolCallRequest:
        name = request.tool_call["name"]
        if name not in self._names:
            return request
        (tool,) = (tool for tool in skill_tools(self._of(request.state)) if tool.name == name)
        return request.override(tool=tool)


def _key(state: Any) -> SessionKey:
    return SessionKey(state.get("whet_conversation", ""))


def _told(answer: dict[str, Any]) -> str:
    text = json.dumps(answer, ensure_ascii=False)
    if not answer["success"]:
        raise ToolException(text)
    return text


def _behind(message: SystemMessage | None, text: str) -> SystemMessage:
    """The system prompt with a text at its end."""
    return SystemMessage(content=text) if message is None else message.model_copy(update=_longer(message, text))


def _beside(message: AnyMessage, text: str) -> AnyMessage:
    return message.model_copy(update=_longer(message, text)) if text else message


def _longer(message: AnyMessage, text: str) -> dict[str, Any]:
    content = message.content
    if isinstance(content, str):
        return {"content": f"{content}\n\n{text}" if content else text}
    return {"content": [*content, {"type": "text", "text": f"\n\n{text}"}]}
