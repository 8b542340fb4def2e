"""A function as a model: for tests, and for trying out what would be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.learning.models.answers import Structured
from whet.learning.models.model import Completion, Message, Model, estimated

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.learning.models.model import Request


class Scripted(Model):
    """A model that answers what a function says: a text, or a `Completion`. Schemas are checked as with any other."""

    def __init__(self, answer: Callable[[Request], str | Completion], name: str = "scripted") -> None:
        super().__init__(name)
        self.requests: list[Request] = []
        """Everything it was asked."""
        self.answer = answer
        self._model = Structured(_Function(self))

    def ask(self, request: Request) -> Completion:
        """The answer."""
        return self._model.ask(request)


class _Function(Model):
    """The function, once for every request."""

    def __init__(self, script: Scripted) -> None:
        super().__init__(script.name)
        self._script = script

    def ask(self, request: Request) -> Completion:
        """What it says; tokens are estimated where it does not say."""
        self._script.requests.append(request)
        given = self._script.answer(request)
        answer = given if isinstance(given, Completion) else Completion(given)
        if answer.tokens_in or answer.tokens_out:
            return answer._replace(model=answer.model or self.name)
        said = [Message("assistant", answer.text, answer.calls)]
        tokens_in = estimated(request.messages, request.schema)
        return answer._replace(tokens_in=tokens_in, tokens_out=estimated(said), model=answer.model or self.name)
