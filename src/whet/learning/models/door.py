"""What a caller knows of a model: messages go in, a completion comes out, or a `ModelError`.

There are two protocols. `Model` is what callers hold. `Wire` is what the layers below are made of: it sends one
request and gives back what came, unread, so that retries and repairs of answers are written once for every provider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from whet.errors import FailedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Role = Literal["system", "user", "assistant", "tool"]
ROLES = ("system", "user", "assistant", "tool")
Way = Literal["native", "tool", "text"]
WAYS: tuple[Way, ...] = ("native", "tool", "text")
"""How an answer by a schema is asked for, best first: by the provider itself, as a call of a tool, in words."""

MAX_TOKENS = 2000
"""Tokens of an answer, the model's thinking included, where the caller does not say."""

CODES = (
    "model-bad-answer",
    "model-budget",
    "model-not-recorded",
    "model-refused",
    "model-rejected",
    "model-timeout",
    "model-too-long",
    "model-unavailable",
)
"""Every code that a `ModelError` carries."""


class ModelError(FailedError):
    """A model gave no answer that can be used. The work it was asked for can always be done without it."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        again: bool = False,
        wait: float | None = None,
        **details: Any,
    ) -> None:
        super().__init__(code, message, hint=hint, **details)
        self.again = again
        """Whether the same request may well succeed a little later."""
        self.wait = wait
        """Seconds after which the provider wants to be asked again, where it said so."""
        self.tokens_in = 0
        self.tokens_out = 0
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
    """The answer by the schema, checked; None where no schema was given or tools are called first."""
    calls: tuple[Call, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    """Of all requests this took; estimated where the provider does not say."""
    model: str = ""
    """The model that answered, as the provider calls it."""
    cut: bool = False
    """The answer ended because it reached `max_tokens`."""


class Model(Protocol):
    """A language model. Safe to be used by several threads, with or without an event loop running."""

    @property
    def name(self) -> str:
        """How it was named; it never holds a secret."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = MAX_TOKENS,
    ) -> Completion:
        """The next turn. With a schema, `value` fits it; raises `ModelError`."""
        ...


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
    way: Way = "text"
    max_tokens: int = MAX_TOKENS


class Wire(Protocol):
    """Something that sends a request. It reads no answer by a schema: that is in `text`, whichever way it came."""

    @property
    def name(self) -> str: ...

    def send(self, request: Request) -> Completion: ...


def request_of(
    messages: Sequence[Message],
    schema: Mapping[str, Any] | None,
    tools: Sequence[Tool],
    max_tokens: int,
) -> Request:
    """The arguments of `complete`, checked."""
    if max_tokens < 1:
        raise UsageError("bad-budget", f"An answer of {max_tokens} tokens was asked for.", hint="Allow at least 1.")
    _check(messages)
    return Request(tuple(messages), tuple(tools), schema, max_tokens=max_tokens)


def _check(messages: Sequence[Message]) -> None:
    """A conversation that no provider would take is told here, in our words."""
    hint = "Begin with system and user messages; answer every call of a tool with one message of the role tool."
    open_calls: set[str] = set()
    asked = False
    for number, message in enumerate(messages, 1):
        if message.role not in ROLES:
            raise UsageError("bad-conversation", f"Message {number} has the role {message.role!r}.", hint=hint)
        if message.role == "tool" and message.call not in open_calls:
            raise UsageError("bad-conversation", f"Message {number} answers no call: {message.call!r}.", hint=hint)
        asked = asked or message.role == "user"
        open_calls.discard(message.call)
        open_calls.update(call.id for call in message.calls)
    if not asked or messages[-1].role == "assistant" or open_calls:
        problem = "no user asks" if not asked else "calls are open" if open_calls else "the model had the last word"
        raise UsageError("bad-conversation", f"There is nothing to answer: {problem}.", hint=hint)
