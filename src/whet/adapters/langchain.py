"""Skills for agents of LangChain and deepagents: tools, and a middleware that adds the index of skills.

    from langchain.agents import create_agent
    from whet import Library
    from whet.adapters.langchain import SkillsMiddleware

    agent = create_agent("openai:gpt-5", middleware=[SkillsMiddleware(Library.open())])

A conversation is a thread: its name is kept in the agent's state, and so is the offer beside each message. So each
message is sent with the same text every time, which a provider's cache needs, and the messages in the state stay
unchanged. When an offer has left the context, its skills may be offered again.
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
        tool_call_id: str | None,  # noqa: ARG002  LangChain's parameter
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (tool_input,), {}  # in one piece, so that no argument name of a model clashes

    def _run(self, arguments: Any) -> str:
        return _answer_text(self.skills.call(self.name, arguments))

    async def _arun(self, arguments: Any) -> str:
        return _answer_text(await self.skills.acall(self.name, arguments))


def skill_tools(tools: Tools) -> list[BaseTool]:
    """Return the tools of one conversation, for an agent that you build yourself: `skill_tools(library.tools())`."""
    return [
        SkillTool(name=tool.name, description=tool.description, args_schema=tool.parameters, skills=tools)
        for tool in tools.definitions()
    ]


class SkillsState(AgentState[Any]):
    """The middleware's part of the state of an agent."""

    whet_conversation: NotRequired[Annotated[str, PrivateStateAttr]]
    whet_offers: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """Offers by id of the message."""


class SkillsMiddleware(AgentMiddleware[SkillsState, Any, Any]):
    """The tools, the index of skills in the system prompt, and beside a message the few skills that fit it.

    Pass a `Library`, and each thread has its own session; pass `Library.tools(session)`, and all share that one.
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
        """Its name among the middleware of an agent; deepagents has its own `SkillsMiddleware`."""
        return "WhetSkillsMiddleware"

    def before_agent(
        self,
        state: SkillsState,
        runtime: Runtime[Any],  # noqa: ARG002  LangChain's parameter
    ) -> dict[str, Any]:
        """Name the conversation, and search for the skills that fit the user's last message."""
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
        """Add the index and the offers to the request."""
        return handler(self._with_skills(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelCallResult[Any]:
        """Like `wrap_model_call`, without blocking an event loop."""
        return await handler(await asyncio.to_thread(self._with_skills, request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Answer with the tools of this conversation."""
        return handler(self._at_home(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Like `wrap_tool_call`, without blocking an event loop."""
        return await handler(await asyncio.to_thread(self._at_home, request))

    def _of(self, state: Any) -> Tools:
        return self._sessions.get(_key(state))

    def _with_skills(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        state = cast("SkillsState", request.state)
        offers = state.get("whet_offers", {})
        text = instructions(self._of(state), self._budget)
        if gone := offers.keys() - {message.id for message in request.messages}:
            with suppress(WhetError):  # the index reports the error
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


def _answer_text(answer: dict[str, Any]) -> str:
    text = json.dumps(answer, ensure_ascii=False)
    if not answer["success"]:
        raise ToolException(text)
    return text


def _behind(message: SystemMessage | None, text: str) -> SystemMessage:
    """Return the system prompt with a text at its end."""
    return SystemMessage(content=text) if message is None else message.model_copy(update=_longer(message, text))


def _beside(message: AnyMessage, text: str) -> AnyMessage:
    return message.model_copy(update=_longer(message, text)) if text else message


def _longer(message: AnyMessage, text: str) -> dict[str, Any]:
    content = message.content
    if isinstance(content, str):
        return {"content": f"{content}\n\n{text}" if content else text}
    return {"content": [*content, {"type": "text", "text": f"\n\n{text}"}]}
