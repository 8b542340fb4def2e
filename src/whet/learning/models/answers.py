"""Answers by a schema, from any model: asked for the best way that works, read leniently, checked, repaired once.

Providers differ in what they take: some hold a model to a schema themselves, some only know tools, a small server at
home may know neither. The ways are tried from the best; one that is not accepted is not tried again. Whatever came
back is read and checked here, because even a provider that promises a schema drops what it does not support.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from whet.learning.models.model import (
    WAYS,
    Completion,
    Message,
    Model,
    ModelError,
    Request,
)
from whet.skill.schema import check_schema, describe_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASKED = "Answer with one JSON object and nothing else: no prose, no fences. It must fit this JSON Schema:\n"
_AGAIN = (
    "That was not the answer that was asked for: {problems}. Answer again with the whole JSON object and nothing else."
)


class Structured(Model):
    """A model that answers by schemas, made of one whose answers nobody has read."""

    def __init__(self, wire: Model) -> None:
        super().__init__(wire.name)
        self._wire = wire
        self._first = 0
        """The best way that has not been turned down, as a place in `WAYS`."""

    def ask(self, request: Request) -> Completion:
        """The answer; with a schema, `value` fits it or `model-bad-answer` is raised."""
        schema = request.schema
        if schema is None:
            return self._wire.ask(request)
        check_schema(schema)
        request, answer = self._try_ways(request)
        value, problems = read(answer, schema)
        if not problems or answer.calls:
            return answer._replace(value=value)
        if answer.cut:
            raise _bad(f"{self.name} was cut off at {request.max_tokens} tokens.", "Allow more tokens.", answer)
        return self._repaired(request, schema, answer, problems)

    def _try_ways(self, request: Request) -> tuple[Request, Completion]:
        """The request in the way it was accepted, and what came back."""
        for place in range(self._first, len(WAYS)):
            attempt = _in_words(request) if WAYS[place] == "text" else request._replace(way=WAYS[place])
            try:
                answer = self._wire.ask(attempt)
            except ModelError as error:
                if error.code != "model-rejected" or place == len(WAYS) - 1:
                    raise
            else:
                self._first = place
                return attempt, answer
        raise AssertionError  # the last way returns or raises

    def _repaired(
        self, request: Request, schema: Mapping[str, Any], first: Completion, problems: list[str]
    ) -> Completion:
        """The second answer, after the model was told what is wrong with the first."""
        said = (Message("assistant", first.text),) if first.text.strip() else ()
        again = Message("user", _AGAIN.format(problems="; ".join(problems)))
        try:
            second = self._wire.ask(request._replace(messages=(*request.messages, *said, again)))
        except ModelError as error:
            error.tokens_in += first.tokens_in
            error.tokens_out += first.tokens_out
            raise
        both = second._replace(
            tokens_in=first.tokens_in + second.tokens_in, tokens_out=first.tokens_out + second.tokens_out
        )
        value, left = read(both, schema)
        if left and not both.calls:
            hint = "Try another model, or ask for less at once."
            raise _bad(
                f"{self.name} twice gave an answer that does not match the schema: {'; '.join(left)[:400]}.", hint, both
            )
        return both._replace(value=value)


def read(answer: Completion, schema: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """The value in an answer and no problems, or None and what is wrong.

    Of an answer that was cut off, only the whole counts: a piece of it may be an example on the way to what is missing.
    """
    everything = whole(answer.text)
    found = candidates(answer.text) if everything or not answer.cut else []
    checked = [(one, describe_problems(one.value, schema, "the answer")) for one in found]
    for one, problems in checked:
        if not problems:
            return one.value, []
    if not checked:
        return None, ["there is no JSON object in it"]
    return None, max(checked, key=lambda pair: pair[0].end - pair[0].start)[1]


def _in_words(request: Request) -> Request:
    """The request with the schema as an instruction, for models that know no other way."""
    asked = Message("system", _ASKED + json.dumps(request.schema, ensure_ascii=False))
    return request._replace(messages=(asked, *request.messages), schema=None, way="text")


def _bad(message: str, hint: str, answer: Completion) -> ModelError:
    error = ModelError("model-bad-answer", message, hint=hint)
    error.tokens_in, error.tokens_out = answer.tokens_in, answer.tokens_out
    return error


BROKEN = 1000
"""Beginnings of something broken that are passed over before the search is given up."""


class Found(NamedTuple):
    """A value and the piece of the text it was read from."""

    value: Any
    start: int
    end: int


def whole(text: str) -> Found | None:
    """The text as one value, of any kind."""
    start = len(text) - len(text.lstrip(_BLANK))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return Found(value, start, end) if not text[end:].strip(_BLANK) else None


def pieces(text: str) -> list[Found]:
    """The objects and lists that stand in the text, first to last; broken ones are passed over, `BROKEN` at most."""
    found: list[Found] = []
    position = broken = 0
    while (begun := _BEGINNING.search(text, position)) is not None and broken < BROKEN:
        start = begun.start()
        try:
            value, position = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated string"):
                break  # the rest of the text lies in the string
            broken += 1
            # Behind what is wrong, not inside: `{"a": {"b": 1}, oops` must not yield what `b` stands in.
            position = max(error.pos, start + 1)
        except (ValueError, RecursionError):
            break  # a number too long, NaN, a depth nobody means: there is no telling where it ends
        else:
            found.append(Found(value, start, position))
    return found


def candidates(text: str) -> list[Found]:
    """What may be meant, likeliest first: the whole text, then the pieces from the last, where conclusions stand."""
    if (everything := whole(text)) is not None:
        return [everything]
    return pieces(text)[::-1]


_BLANK = " \t\r\n\ufeff"
_BEGINNING = re.compile(r"\{[ \t\r\n]*[\"}]|\[")


def _no_constant(name: str) -> NoReturn:
    message = f"{name} is not valid JSON"
    raise ValueError(message)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
