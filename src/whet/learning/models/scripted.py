"""A function as a model: for tests, and for trying out what would be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.learning.models.answers import Structured
from whet.learning.models.model import MAX_TOKENS, Completion, Message, Request, Tool, estimated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Scripted:
    """A model that answers what a function says: a text, or a `Completion`. Schemas are checked as with any other."""

    __slots__ = ("_answer", "_model", "name", "requests")

    def __init__(self, answer: Callable[[Request], str | Completion], name: str = "scripted") -> None:
        self.name = name
        self.requests: list[Request] = []
        """Everything it was asked."""
        self._answer = answer
        self._model = Structured(self)

    def send(self, request: Request) -> Completion:
        """One request; tokens are estimated where the function does not say."""
        self.requests.append(request)
        given = self._answer(request)
        answer = given if isinstance(given, Completion) else Completion(given)
        if answer.tokens_in or answer.tokens_out:
            return answer._replace(model=answer.model or self.name)
        said = [Message("assistant", answer.text, answer.calls)]
        tokens_in = estimated(request.messages, request.schema)
        return answer._replace(tokens_in=tokens_in, tokens_out=estimated(said), model=answer.model or self.name)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = MAX_TOKENS,
    ) -> Completion:
        """The next turn."""
        return self._model.complete(messages, schema=schema, tools=tools, max_tokens=max_tokens)
