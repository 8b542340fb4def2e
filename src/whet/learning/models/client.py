"""A real model, asked through pydantic-ai's agents.

For an answer by a schema, the agent validates the answer and asks once more if it does not fit. For a turn with tools,
it stops at the response: the caller makes the calls, one after the other, and records each of them. A request is
repeated after a rate limit, a failure of the server or a lost connection. No agent is instrumented: requests do not
appear in the traces of a program that uses Whet.

Each request has its own connection and event loop: callers are plain functions, may run in threads, and may themselves
be called from a running loop. Next to the time a model takes, a connection costs nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from whet.extras import missing_extra
from whet.learning.models.model import Call, Completion, Message, Model, ModelError, clean, clean_value, estimated
from whet.skill.schema import check_schema, describe_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from pydantic_ai.capabilities import Hooks
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse
    from pydantic_ai.models import Model as TheirModel
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.usage import RunUsage

    from whet.errors import UsageError
    from whet.learning.models.model import Request, Tool

    Opener: TypeAlias = Callable[[], AbstractAsyncContextManager[TheirModel]]

TIMEOUT = 120.0
"""Seconds until the whole answer to a request must arrive."""
RETRIES = 3
"""Number of repetitions; the waits are one second, two and four, unless the provider asks for others."""
LONGEST_WAIT = 60.0
"""Longest wait in seconds; a provider that asks for more is not asked again."""
ANSWER = "answer"
"""The name of the answer, and of the tool whose call is the answer."""
_TRIPPED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions of libraries for unexpected JSON."""


class Client(Model):
    """A model of a provider. Its opener has the key, which is never shown."""

    def __init__(
        self,
        name: str,
        opener: Opener,
        *,
        packages: Sequence[str] = (),
        secrets: tuple[str, ...] = (),
        timeout: float = TIMEOUT,
    ) -> None:
        super().__init__(name)
        self._open, self._packages = opener, packages
        self._secrets, self._timeout = secrets, timeout
        self._first = 0
        """The first way to ask for a schema that the model has not rejected."""

    def ask(self, request: Request) -> Completion:
        """Return the answer, with the cost of all requests."""
        if request.schema is not None:
            check_schema(request.schema)
        try:
            from pydantic_ai.exceptions import AgentRunError, UserError
            from pydantic_ai.settings import ModelSettings
            from pydantic_ai.usage import RunUsage, UsageLimits

            usage = RunUsage()
            settings = ModelSettings(max_tokens=request.max_tokens, request_timeout=self._timeout, max_retries=0)
            how = {"model_settings": settings, "usage": usage, "usage_limits": UsageLimits(request_limit=request.tries)}
            answer = run(lambda: self._answer(request, how))
        except ImportError as error:
            raise missing(self.name, self._packages) from error
        except (AgentRunError, UserError, *_TRIPPED) as error:
            raise _paid(self._failure(error), usage) from None
        except ModelError as error:
            raise _paid(error, usage) from None
        said = [Message("assistant", answer.text, answer.calls)]
        return answer._replace(
            tokens_in=usage.input_tokens or estimated(request.messages, request.schema),
            tokens_out=usage.output_tokens or estimated(said),
            cost=None if usage.cost is None else float(usage.cost),
        )

    async def _answer(self, request: Request, how: dict[str, Any]) -> Completion:
        """Return the answer to a request with this usage, these settings and limits."""
        how["message_history"] = _theirs(request.messages, self._secrets)
        async with self._open() as model:
            if request.schema is not None:
                return await self._fill_schema(model, request.schema, how)
            return await self._take_turn(model, request.tools, how)

    async def _take_turn(self, model: TheirModel, offered: Sequence[Tool], how: dict[str, Any]) -> Completion:
        """Return the next turn of a conversation, with the model's calls. No call is made here."""
        from pydantic_ai import Agent, DeferredToolRequests, ExternalToolset
        from pydantic_ai.tools import ToolDefinition

        tools = [
            ToolDefinition(name=name, parameters_json_schema=_copy(parameters), description=description)
            for name, description, parameters in offered
        ]
        output = [str, DeferredToolRequests]
        agent = Agent(model, output_type=output, toolsets=[ExternalToolset(tools)], capabilities=[self._hooks()])
        agent.instrument = False
        async with agent.iter(**how) as nodes:
            async for node in nodes:
                if Agent.is_call_tools_node(node):
                    return self._read_turn(node.model_response)
        raise AssertionError  # a response is raised or read

    def _read_turn(self, response: ModelResponse) -> Completion:
        calls = []
        for part in response.tool_calls:
            try:
                calls.append(Call(part.tool_call_id, part.tool_name, part.args_as_dict(raise_if_invalid=True)))
            except (ValueError, AssertionError):
                problem = f"{self.name} calls {part.tool_name} with arguments that are not a JSON object."
                hint = "Try another model, or allow more tokens."
                raise ModelError("model-bad-answer", problem, hint=hint) from None
        answered = response.model_name or self.name
        return Completion(response.text or "", None, tuple(calls), 0, 0, answered, response.finish_reason == "length")

    async def _fill_schema(self, model: TheirModel, schema: Mapping[str, Any], how: dict[str, Any]) -> Completion:
        """Return an answer that fits a schema, requested in the best way that the model accepts.

        Some providers hold a model to a schema themselves, some only know tools, and a small server at home may know
        neither. A way that is rejected is not tried again.
        """
        from pydantic_ai import Agent, ModelRetry, NativeOutput, PromptedOutput, StructuredDict, ToolOutput
        from pydantic_ai.exceptions import ModelRequestRejectedError, UserError

        async def check(value: dict[str, Any]) -> dict[str, Any]:  # a plain function would get a thread
            if problems := describe_problems(value, schema, "the answer"):
                raise ModelRetry(f"{'; '.join(problems)}.")
            return value

        form = StructuredDict(_copy(schema), name=ANSWER)
        ways = NativeOutput(form), ToolOutput(form, name=ANSWER), PromptedOutput(form)
        for place in range(self._first, len(ways)):
            agent = Agent(model, output_type=ways[place], capabilities=[self._hooks(whole=True)])
            agent.instrument = False
            agent.output_validator(check)
            try:
                result = await agent.run(**how)
            except (ModelRequestRejectedError, UserError) as error:
                if self._failure(error).code != "model-rejected" or place == len(ways) - 1:
                    raise
            else:
                self._first = place
                text = json.dumps(result.output, ensure_ascii=False)
                return Completion(text, result.output, model=result.response.model_name or self.name)
        raise AssertionError  # the last way returns or raises

    def _hooks(self, *, whole: bool = False) -> Hooks:
        """Return the hooks for responses and failures: a refusal is raised, a temporary failure is retried.

        With `whole`, an answer that was cut off is raised, too.
        """
        import asyncio

        from pydantic_ai import RetryModelRequest
        from pydantic_ai.capabilities import Hooks

        from whet.learning.models.failures import passes, quoted

        hooks: Hooks = Hooks()

        @hooks.on.after_model_request
        async def check(_: Any, *, request_context: ModelRequestContext, response: ModelResponse) -> ModelResponse:
            if response.finish_reason == "content_filter":
                said = (response.provider_details or {}).get("refusal") or response.text or ""
                words = quoted(str(said), self._secrets)
                message = f"{self.name} refuses to answer{f': {words}' if words else '.'}"
                raise ModelError("model-refused", message, hint="Ask differently, or continue without a model.")
            if whole and response.finish_reason == "length":
                limit = (request_context.model_settings or {}).get("max_tokens")
                message = f"{self.name} was cut off at {limit} tokens."
                raise ModelError("model-bad-answer", message, hint="Allow more tokens.")
            return response

        @hooks.on.model_request_error
        async def wait(_: Any, *, request_context: ModelRequestContext, error: Exception) -> ModelResponse:
            pause = getattr(error, "retry_after", None)
            if pause is None:
                pause = float(1 << (request_context.attempt - 1))
            if not passes(error) or request_context.attempt > RETRIES or pause > LONGEST_WAIT:
                raise error
            await asyncio.sleep(pause)
            raise RetryModelRequest

        return hooks

    def _failure(self, error: Exception) -> ModelError:
        from whet.learning.models.failures import failure

        return failure(error, self.name, self._secrets, self._timeout)


def _paid(error: ModelError, usage: RunUsage) -> ModelError:
    """Return the error with the cost of the failed requests."""
    error.tokens_in, error.tokens_out = usage.input_tokens, usage.output_tokens
    error.cost = None if usage.cost is None else float(usage.cost)
    return error


def missing(name: str, packages: Sequence[str]) -> UsageError:
    """Return the error for a missing provider library."""
    return missing_extra(f"{name} needs the extra `models`.", "models", *packages)


def run(make: Callable[[], Coroutine[Any, Any, Completion]]) -> Completion:
    """Run a coroutine, whether or not a loop is running in this thread."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    with ThreadPoolExecutor(1, "whet-model") as pool:
        return pool.submit(lambda: asyncio.run(make())).result()


def _theirs(messages: tuple[Message, ...], secrets: tuple[str, ...]) -> list[ModelMessage]:
    """Convert the conversation for the library: messages between two turns of the model are one request."""
    from pydantic_ai import messages as theirs

    history: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    tools = {call.id: call.name for message in messages for call in message.calls}
    for message in messages:
        text = clean(message.text, secrets)
        if message.role == "assistant":
            history.append(theirs.ModelRequest(parts=parts))
            calls = [
                theirs.ToolCallPart(call.name, clean_value(call.arguments, secrets), call.id) for call in message.calls
            ]
            history.append(theirs.ModelResponse(parts=[*([theirs.TextPart(text)] if text else []), *calls]))
            parts = []
        elif message.role == "tool":
            parts.append(theirs.ToolReturnPart(tools[message.call], text, message.call))
        else:
            part = theirs.SystemPromptPart if message.role == "system" else theirs.UserPromptPart
            parts.append(part(text))
    return [*history, theirs.ModelRequest(parts=parts)]


def _copy(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy: the library rewrites schemas for each provider."""
    copied: dict[str, Any] = json.loads(json.dumps(dict(schema)))
    return copied
