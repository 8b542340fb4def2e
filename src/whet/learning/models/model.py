"""What a caller knows of a model: messages go in, a completion comes out, or a `ModelError`.

What may be spent is a `Budget`: tokens, calls, seconds. It belongs to a piece of work, not to a model; several models
and threads may share one. A call that cannot be paid for is not made. The length of an answer is lowered to what is
left, and then an answer that does not fit is not asked for again: a budget is overrun by little more than the error of
the estimate of what goes in, and by calls that other threads have under way.

`clean` is the last door for secrets: the keys of the environment are struck out as they are, and everything that looks
like a secret is hidden as it is in transcripts. Whoever asks a model hides secrets before that.
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
"""Tokens of an answer, the model's thinking included, where the caller does not say."""


class ModelError(FailedError):
    """A model gave no answer that can be used. The work it was asked for can always be done without it."""

    def __init__(self, code: str, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(code, message, hint=hint, **details)
        self.tokens_in = 0
        self.tokens_out = 0
        self.cost: float | None = None
        """What was paid for although nothing came of it."""


class Call(NamedTuple):
    """A tool that the model wants to be called."""

    id: str
    name: str
    arguments: Mapping[str, Any]


class Message(NamedTuple):
    """One turn of a conversation."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    """Of the assistant: the tools it called."""
    call: str = ""
    """Of a tool: the id of the call that this answers."""


class Completion(NamedTuple):
    """What a model answered, and what it cost."""

    text: str
    value: Any = None
    """The answer by the schema, checked; None where no schema was given."""
    calls: tuple[Call, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    """Of all requests this took; estimated where the provider does not say."""
    model: str = ""
    """The model that answered, as the provider calls it."""
    cut: bool = False
    """The answer ended because it reached `max_tokens`."""
    cost: float | None = None
    """In dollars; None where the price of the model is not known."""


class Tool(NamedTuple):
    """A tool that is offered to a model."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class Request(NamedTuple):
    """One question to a model, complete."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    schema: Mapping[str, Any] | None = None
    max_tokens: int = MAX_TOKENS
    tries: int = 2
    """How often an answer by a schema may be asked for, until it fits."""


class Model:
    """A language model. Safe to be used by several threads, with or without an event loop running.

    What answers a request is `ask`; a model may be made of another one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        """How it was named; it never holds a secret."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = MAX_TOKENS,
    ) -> Completion:
        """The next turn; raises `ModelError`. With a schema, `value` fits it, and no tools are offered."""
        if max_tokens < 1:
            raise UsageError(
                "bad-budget", f"The token limit must be at least 1, not {max_tokens}.", hint="Allow at least 1 token."
            )
        return self.ask(Request(tuple(messages), tuple(tools), schema, max_tokens))

    def ask(self, request: Request) -> Completion:
        """What comes of a request that is sound."""
        raise NotImplementedError


_PER_MESSAGE = 4
"""Tokens that a provider adds around each message."""


class Spent(NamedTuple):
    """What has been used up."""

    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    """In dollars, as far as it is known."""
    steps: int = 0
    """Tools that were called."""


class Budget:
    """Limits, and what is left of them. None is no limit; seconds run from the moment it is made.

    `cost` is in dollars, `steps` counts the tools that are called. `spent` is what was used up before.
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
        """What has been used up so far."""
        with self._lock:
            return self._spent._replace(seconds=self._clock() - self._begun)

    def begin(self, tokens_in: int, max_tokens: int) -> int:
        """Take one call of about `tokens_in` tokens; how long its answer may be. Raises `model-budget`."""
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
        """What the call really took."""
        with self._lock:
            spent = self._spent
            self._spent = spent._replace(tokens=spent.tokens + tokens, cost=spent.cost + (cost or 0.0))

    def step(self) -> None:
        """Take one call of a tool. Raises `model-budget`."""
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
        """As the model does it; raises `model-budget` instead where it would cost more than there is."""
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
    """About how many tokens a request costs."""
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
    """The text without these secrets and without what looks like one."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return hide_secrets(text)[0]


def clean_value(value: Any, secrets: Collection[str] = ()) -> Any:
    """A value of JSON, every text in it cleaned; tuples become lists."""
    if isinstance(value, str):
        return clean(value, secrets)
    if isinstance(value, list | tuple):
        return [clean_value(item, secrets) for item in value]
    if hasattr(value, "items"):
        return {str(key): clean_value(item, secrets) for key, item in value.items()}
    return value
