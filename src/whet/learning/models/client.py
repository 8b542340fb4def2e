"""One request to a real model, through the model layer of pydantic-ai: no agent, no loop, no retries of its own.

Each request has its own connection, opened and closed on an event loop of its own: callers are plain functions, may
run in threads, and may themselves be called from a running loop. Next to the time a model takes, a connection costs
nothing.
"""

from __future__ import annotations

import json
import random
import threading
import time
from typing import TYPE_CHECKING, Any, TypeAlias

from whet.extras import missing_extra
from whet.learning.models.answers import whole
from whet.learning.models.model import (
    Call,
    Completion,
    Message,
    Model,
    ModelError,
    Request,
    clean,
    clean_value,
    estimated,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse
    from pydantic_ai.models import Model as TheirModel
    from pydantic_ai.models import ModelRequestParameters

    from whet.errors import UsageError

    Opener: TypeAlias = Callable[[], AbstractAsyncContextManager[TheirModel]]
    from collections.abc import Callable

TIMEOUT = 120.0
"""Seconds until an answer must be there, whole."""
ANSWER = "answer"
"""The tool whose call is the answer, where a model takes schemas for tools only."""
_TRIPPED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What libraries raise when they trip over JSON that is not what they expect."""
_GIVE = "Give the answer by calling this."


class Client(Model):
    """A wire to a provider. The key is in what opens it and is kept out of everything that is shown."""

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

    def ask(self, request: Request) -> Completion:
        """Ask once."""
        try:
            from pydantic_ai.exceptions import AgentRunError, UserError

            from whet.learning.models.failures import failure
        except ImportError as error:
            raise missing(self.name, self._packages) from error
        messages, parameters = _theirs(request.messages, self._secrets), _parameters(request)
        try:
            response = run(lambda: self._request(messages, parameters, request.max_tokens))
        except ImportError as error:
            raise missing(self.name, self._packages) from error
        except (AgentRunError, UserError, *_TRIPPED) as error:
            raise failure(error, self.name, self._secrets, self._timeout) from None
        return self._read(response, request)

    async def _request(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, max_tokens: int
    ) -> ModelResponse:
        from pydantic_ai.direct import model_request
        from pydantic_ai.settings import ModelSettings

        settings = ModelSettings(
            max_tokens=max_tokens, timeout=self._timeout, request_timeout=self._timeout, max_retries=0
        )
        async with self._open() as model:
            return await model_request(
                model, messages, model_settings=settings, model_request_parameters=parameters, instrument=False
            )

    def _read(self, response: ModelResponse, request: Request) -> Completion:
        """A response in our words; a refusal is raised."""
        from whet.learning.models.failures import quoted

        usage = response.usage
        text = "".join(part.content for part in response.parts if part.part_kind == "text")
        calls: list[Call] = []
        problem = ""
        for part in response.parts:
            if part.part_kind != "tool-call":
                continue
            given = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
            arguments = whole(given or "{}")
            if part.tool_name == ANSWER and request.way == "tool":
                text = given
            elif arguments is None or not isinstance(arguments.value, dict):
                problem = f"{self.name} calls {part.tool_name} with arguments that are not a JSON object."
            else:
                calls.append(Call(part.tool_call_id, part.tool_name, arguments.value))
        tokens_in = usage.input_tokens or estimated(request.messages, request.schema)
        said = [Message("assistant", text, tuple(calls))]
        tokens_out = usage.output_tokens or estimated(said)
        error = None
        if response.finish_reason == "content_filter":
            words = quoted(str((response.provider_details or {}).get("refusal") or text), self._secrets)
            message = f"{self.name} refuses to answer{f': {words}' if words else '.'}"
            error = ModelError("model-refused", message, hint="Ask differently, or continue without a model.")
        elif problem:
            hint = "Try another model, or allow more tokens."
            error = ModelError("model-bad-answer", problem, hint=hint)
        if error is not None:
            error.tokens_in, error.tokens_out = tokens_in, tokens_out
            raise error
        cut = response.finish_reason == "length"
        answered = response.model_name or self.name
        return Completion(text, None, tuple(calls), tokens_in, tokens_out, answered, cut, _cost(response))


def _cost(response: ModelResponse) -> float | None:
    """The cost of an answer, from the price list that ships with the library."""
    try:
        return float(response.cost().total_price)
    except (AssertionError, LookupError, ValueError):
        return None


def missing(name: str, packages: Sequence[str]) -> UsageError:
    """The library that speaks to this model is not installed."""
    return missing_extra(f"{name} needs the extra `models`.", "models", *packages)


def run(make: Callable[[], Coroutine[Any, Any, ModelResponse]]) -> ModelResponse:
    """The result of a coroutine, whether or not a loop is running in this thread."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    outcome: list[ModelResponse | BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(make()))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for it
            outcome.append(error)

    thread = threading.Thread(target=work, name="whet-model")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _theirs(messages: tuple[Message, ...], secrets: tuple[str, ...]) -> list[ModelMessage]:
    """The conversation in the library's words: what is said to the model between two of its turns is one request."""
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


def _parameters(request: Request) -> ModelRequestParameters:
    """Tools, and the schema in the way it is asked for."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    tools = [
        ToolDefinition(name=name, parameters_json_schema=_plain(parameters), description=description)
        for name, description, parameters in request.tools
    ]
    if request.schema is None:
        return ModelRequestParameters(function_tools=tools)
    schema = _plain(request.schema)
    if request.way == "native":
        wanted = OutputObjectDefinition(schema, name=ANSWER)
        return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=wanted)
    wanted_tool = ToolDefinition(name=ANSWER, parameters_json_schema=schema, description=_GIVE, kind="output")
    return ModelRequestParameters(
        function_tools=tools, output_mode="tool", output_tools=[wanted_tool], allow_text_output=False
    )


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy: the library rewrites schemas for each provider."""
    copied: dict[str, Any] = json.loads(json.dumps(dict(schema)))
    return copied


ATTEMPTS = 4
FIRST_WAIT = 1.0
"""Seconds before the second attempt; twice as long before each further one."""
LONGEST_WAIT = 60.0
"""Seconds that are waited before one attempt at most, whatever the provider asks for."""
TOTAL = 300.0
"""Seconds after which no further attempt begins."""


class Retrying(Model):
    """A wire that tries again. It waits as long as the provider asks, or else longer and longer."""

    def __init__(
        self,
        wire: Model,
        *,
        attempts: int = ATTEMPTS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(wire.name)
        self._wire, self._attempts = wire, attempts
        self._clock, self._sleep, self._jitter = clock, sleep, jitter

    def ask(self, request: Request) -> Completion:
        """What the wire answers, at the latest at the last attempt."""
        begun = self._clock()
        attempt = 1
        while True:
            try:
                return self._wire.ask(request)
            except ModelError as error:
                wait = self._wait(error, attempt)
                error.details["attempts"] = attempt
                if wait is None or self._clock() + wait - begun > TOTAL:
                    raise
            self._sleep(wait)
            attempt += 1

    def _wait(self, error: ModelError, attempt: int) -> float | None:
        """Seconds until the next attempt; None where there is none.

        Half of our own wait is left to chance, so that many who failed together do not come back together.
        """
        if not error.again or attempt >= self._attempts:
            return None
        if error.wait is not None:
            return error.wait if error.wait <= LONGEST_WAIT else None
        longest = min(FIRST_WAIT * float(1 << (attempt - 1)), LONGEST_WAIT)
        return longest * (0.5 + 0.5 * self._jitter())
