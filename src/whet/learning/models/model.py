"""The interface of models: messages in, a completion or a `ModelError` out.

The limits are a `Budget`: tokens, calls, seconds. It belongs to a piece of work, not to a model; several models and
threads may share one. A call beyond the budget is not made. The length of an answer is limited to the rest of the
budget, and then an answer that does not fit is not requested again: a budget is exceeded by little more than the error
of the estimated input, and by running calls of other threads.

`clean` is the last filter for secrets: the keys of the environment are removed, and everything that looks like a secret
is hidden as in transcripts. Callers hide secrets before that.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.errors import FailedError, UsageError
from whet.guard.secrets.hide import hide_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

Role = Literal["system", "user", "assistant", "tool"]

MAX_TOKENS = 2000
"""Tokens of an answer, including the model's reasoning, by default."""


class ModelError(FailedError):
    """A model gave no usable answer. The work can always be done without it."""

    def __init__(self, code: str, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(code, message, hint=hint, **details)
        self.tokens_in = 0
        self.tokens_out = 0
        self.cost: float | None = None
        """Tokens and cost of the failed requests."""


class Call(NamedTuple):
    """A tool call that the model requests."""

    id: str
    name: str
    arguments: Mapping[str, Any]


class Message(NamedTuple):
    """One turn of a conversation."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    """The assistant's tool calls."""
    call: str = ""
    """For a tool's message: the id of the call that it answers."""


class Completion(NamedTuple):
    """The answer of a model, and its cost."""

    text: str
    value: Any = None
    """The validated answer for the schema; None without a schema."""
    calls: tuple[Call, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    """Tokens of all requests; estimated if the provider does not report them."""
    model: str = ""
    """The provider's name of the model that answered."""
    cut: bool = False
    """Whether the answer reached `max_tokens`."""
    cost: float | None = None
    """Dollars; None if the price of the model is unknown."""


class Tool(NamedTuple):
    """A tool that is offered to a model."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class Request(NamedTuple):
    """One complete request to a model."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    schema: Mapping[str, Any] | None = None
    max_tokens: int = MAX_TOKENS
    tries: int = 2
    """Number of attempts at an answer that fits the schema."""


class Model:
    """A language model. Thread-safe, with or without a running event loop.

    Subclasses implement `ask`; a model may wrap another one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        """The name it was opened with, which never contains a secret."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = MAX_TOKENS,
    ) -> Completion:
        """Return the next turn. Raises `ModelError`. With a schema, `value` fits it, and no tools are offered."""
        if max_tokens < 1:
            raise UsageError(
                "bad-budget", f"The token limit must be at least 1, not {max_tokens}.", hint="Allow at least 1 token."
            )
        return self.ask(Request(tuple(messages), tuple(tools), schema, max_tokens))

    def ask(self, request: Request) -> Completion:
        """Answer a valid request."""
        raise NotImplementedError


_PER_MESSAGE = 4
"""Tokens that a provider adds around each message."""


class Spent(NamedTuple):
    """Used resources."""

    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    """Dollars, as far as known."""
    steps: int = 0
    """Number of tool calls."""


class Budget:
    """Limits, and the rest of them. None is no limit; seconds count from its creation.

    `cost` is in dollars, `steps` counts tool calls. `spent` is earlier use.
    """

    __slots__ = ("_begun", "_clock", "_lock", "_spent", "calls", "cost", "seconds", "steps", "tokens")

    def __init__(
        self,
        tokens: int | None = None,
        calls: int | None = None,
        seconds: float | None = None,
        *,
        cost: float | None = None,
        steps: int | None = None,
        spent: Spent = Spent(),  # noqa: B008 (an immutable value)
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        limits = (tokens, "tokens"), (calls, "calls"), (seconds, "seconds"), (cost, "dollars"), (steps, "tool calls")
        for limit, what in limits:
            if limit is not None and limit <= 0:
                hint = "Use a number above zero, or leave it out."
                raise UsageError("bad-budget", f"The budget must be above zero, not {limit} {what}.", hint=hint)
        self.tokens, self.calls, self.seconds, self.cost, self.steps = tokens, calls, seconds, cost, steps
        self._spent = spent
        self._clock, self._begun = clock, clock() - spent.seconds
        self._lock = threading.Lock()

    def spent(self) -> Spent:
        """Return the use so far."""
        with self._lock:
            return self._spent._replace(seconds=self._clock() - self._begun)

    def begin(self, tokens_in: int, max_tokens: int) -> int:
        """Begin a call of about `tokens_in` tokens; return the limit of its answer. Raises `model-budget`."""
        with self._lock:
            if self.calls is not None and self._spent.calls >= self.calls:
                raise _over("calls", self.calls)
            self._check()
            if self.tokens is not None:
                left = self.tokens - self._spent.tokens - tokens_in
                if left < 1:
                    raise _over("tokens", self.tokens)
                max_tokens = min(max_tokens, left)
            self._spent = self._spent._replace(calls=self._spent.calls + 1)
            return max_tokens

    def end(self, tokens: int, cost: float | None = None) -> None:
        """Record the real cost of the call."""
        with self._lock:
            spent = self._spent
            self._spent = spent._replace(tokens=spent.tokens + tokens, cost=spent.cost + (cost or 0.0))

    def step(self) -> None:
        """Begin a tool call. Raises `model-budget`."""
        with self._lock:
            self._check()
            if self.steps is not None and self._spent.steps >= self.steps:
                raise _over("tool calls", self.steps)
            self._spent = self._spent._replace(steps=self._spent.steps + 1)

    def _check(self) -> None:
        if self.seconds is not None and self._clock() - self._begun >= self.seconds:
            raise _over("seconds", self.seconds)
        if self.cost is not None and self._spent.cost >= self.cost:
            raise _over("dollars", self.cost)


def _over(what: str, limit: float) -> ModelError:
    return ModelError(
        "model-budget",
        f"The budget of {limit:g} {what} for models is used up.",
        hint="Use a larger budget, or continue without a model.",
        budget=what,
        limit=limit,
    )


class Budgeted(Model):
    """A model that stops when the budget is used up."""

    def __init__(self, model: Model, budget: Budget) -> None:
        super().__init__(model.name)
        self._model, self._budget = model, budget

    def ask(self, request: Request) -> Completion:
        """Ask the model; raise `model-budget` if that would exceed the budget."""
        cost = estimated(request.messages, request.schema, request.tools)
        allowed = self._budget.begin(cost, request.max_tokens)
        tries = request.tries if allowed == request.max_tokens else 1
        try:
            answer = self._model.ask(request._replace(max_tokens=allowed, tries=tries))
        except ModelError as error:
            self._budget.end(error.tokens_in + error.tokens_out, error.cost)
            raise
        self._budget.end(answer.tokens_in + answer.tokens_out, answer.cost)
        return answer


def estimated(messages: Sequence[Message], schema: Mapping[str, Any] | None = None, tools: Sequence[Tool] = ()) -> int:
    """Return the estimated tokens of a request."""
    from whet.prompt.tokens import estimate

    total = 0
    for message in messages:
        total += _PER_MESSAGE + estimate(message.text)
        total += sum(estimate(call.name) + estimate(json.dumps(dict(call.arguments))) for call in message.calls)
    for extra in (schema, *(tool._asdict() for tool in tools)):
        total += estimate(json.dumps(dict(extra), default=str)) if extra else 0
    return total


HIDDEN = "[secret]"


def clean(text: str, secrets: Collection[str] = ()) -> str:
    """Return the text without these secrets and without anything that looks like a secret."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return hide_secrets(text)[0]


def clean_value(value: Any, secrets: Collection[str] = ()) -> Any:
    """Return a JSON value with every text cleaned; tuples become lists."""
    if isinstance(value, str):
        return clean(value, secrets)
    if isinstance(value, list | tuple):
        return [clean_value(item, secrets) for item in value]
    if hasattr(value, "items"):
        return {str(key): clean_value(item, secrets) for key, item in value.items()}
    return value
