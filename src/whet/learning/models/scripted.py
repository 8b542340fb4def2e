"""A function as a model: for tests, and for trying out requests."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from whet.learning.models.client import Client
from whet.learning.models.model import Completion, Message, Model, estimated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model as TheirModel

    from whet.learning.models.model import Request


class Scripted(Model):
    """A model that answers with a function's text or `Completion`. Schemas are validated as usual.

    It is pydantic-ai's `FunctionModel`, asked as every other model is.
    """

    def __init__(self, answer: Callable[[Request], str | Completion], name: str = "scripted") -> None:
        super().__init__(name)
        self.requests: list[Request] = []
        """All requests."""
        self.answer = answer

    def ask(self, request: Request) -> Completion:
        """Return the answer."""

        async def respond(*_: Any) -> ModelResponse:
            return self._respond(request)

        @asynccontextmanager
        async def opened() -> AsyncIterator[TheirModel]:
            from pydantic_ai.models.function import FunctionModel

            yield FunctionModel(respond, model_name=self.name)

        return Client(self.name, opened).ask(request)

    def _respond(self, request: Request) -> ModelResponse:
        """Return the function's answer; tokens are estimated if it does not say."""
        from decimal import Decimal

        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.usage import RequestUsage

        self.requests.append(request)
        given = self.answer(request)
        answer = given if isinstance(given, Completion) else Completion(given)
        calls = [ToolCallPart(call.name, dict(call.arguments), call.id) for call in answer.calls]
        usage = RequestUsage(input_tokens=answer.tokens_in, output_tokens=answer.tokens_out)
        if not usage.total_tokens:
            usage.input_tokens = estimated(request.messages, request.schema)
            usage.output_tokens = estimated([Message("assistant", answer.text, answer.calls)])
        if answer.cost is not None:
            usage.cost = Decimal(str(answer.cost))
        response = ModelResponse(parts=[TextPart(answer.text), *calls], usage=usage)
        response.finish_reason = "length" if answer.cut else "stop"
        return response
