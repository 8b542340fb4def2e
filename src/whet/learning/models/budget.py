"""What may be spent on models: tokens, calls and seconds.

A budget belongs to a piece of work, not to a model; several models and threads may share one. A call that cannot be
paid for is not made. The length of an answer is lowered to what is left, so that a budget is overrun by no more than
the error of the estimate of what goes in, and by calls that other threads have under way.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import UsageError
from whet.learning.models.door import MAX_TOKENS, Completion, Message, Model, ModelError, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PER_MESSAGE = 4
"""Tokens that a provider adds around each message."""


class Spent(NamedTuple):
    """What has been used up."""

    tokens: int
    calls: int
    seconds: float


class Budget:
    """Limits, and what is left of them. None is no limit; seconds run from the moment it is made."""

    __slots__ = ("_begun", "_calls", "_clock", "_lock", "_tokens", "calls", "seconds", "tokens")

    def __init__(
        self,
        tokens: int | None = None,
        calls: int | None = None,
        seconds: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for limit, what in ((tokens, "tokens"), (calls, "calls"), (seconds, "seconds")):
            if limit is not None and limit <= 0:
                hint = "Give a number above zero, or leave it out."
                raise UsageError("bad-budget", f"A budget of {limit} {what} allows nothing.", hint=hint)
        self.tokens, self.calls, self.seconds = tokens, calls, seconds
        self._tokens = self._calls = 0
        self._clock, self._begun = clock, clock()
        self._lock = threading.Lock()

    def spent(self) -> Spent:
        """What has been used up so far."""
        with self._lock:
            return Spent(self._tokens, self._calls, self._clock() - self._begun)

    def begin(self, tokens_in: int, max_tokens: int) -> int:
        """Take one call of about `tokens_in` tokens; how long its answer may be. Raises `model-budget`."""
        with self._lock:
            if self.calls is not None and self._calls >= self.calls:
                raise _over("calls", self.calls)
            if self.seconds is not None and self._clock() - self._begun >= self.seconds:
                raise _over("seconds", self.seconds)
            if self.tokens is not None:
                left = self.tokens - self._tokens - tokens_in
                if left < 1:
                    raise _over("tokens", self.tokens)
                max_tokens = min(max_tokens, left)
            self._calls += 1
            return max_tokens

    def end(self, tokens: int) -> None:
        """What the call really took."""
        with self._lock:
            self._tokens += tokens


def _over(what: str, limit: float) -> ModelError:
    return ModelError(
        "model-budget",
        f"The budget of {limit:g} {what} for models is used up.",
        hint="Give a larger budget, or go on without a model.",
        budget=what,
        limit=limit,
    )


class Budgeted:
    """A model that stops when the budget is used up."""

    __slots__ = ("_budget", "_model", "name")

    def __init__(self, model: Model, budget: Budget) -> None:
        self.name = model.name
        self._model, self._budget = model, budget

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = MAX_TOKENS,
    ) -> Completion:
        """As the model does it; raises `model-budget` instead where it would cost more than there is."""
        allowed = self._budget.begin(estimated(messages, schema, tools), max_tokens)
        try:
            answer = self._model.complete(messages, schema=schema, tools=tools, max_tokens=allowed)
        except ModelError as error:
            self._budget.end(error.tokens_in + error.tokens_out)
            raise
        self._budget.end(answer.tokens_in + answer.tokens_out)
        return answer


def budgeted(model: Model, budget: Budget) -> Model:
    """The model, held to a budget."""
    return Budgeted(model, budget)


def estimated(messages: Sequence[Message], schema: Mapping[str, Any] | None = None, tools: Sequence[Tool] = ()) -> int:
    """About how many tokens a request costs."""
    from whet.prompt.tokens import estimate

    total = 0
    for message in messages:
        total += _PER_MESSAGE + estimate(message.text)
        total += sum(estimate(call.name) + estimate(json.dumps(dict(call.arguments))) for call in message.calls)
    for extra in (schema, *(tool._asdict() for tool in tools)):
        total += estimate(json.dumps(dict(extra), default=str)) if extra else 0
    return total
