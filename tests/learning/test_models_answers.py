"""Answers by a schema: found in what a model wrote, checked, never made up."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from whet.errors import UsageError
from whet.learning.models.model import Completion, Message, ModelError, Request
from whet.learning.models.scripted import Scripted

ANY = {"type": "object"}
NAMED = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("answers", "value"),
    [
        (['{"n": 3}'], {"n": 3}),
        (['Sure:\n```json\n{"n": 3}\n```\nIs that what you want?'], {"n": 3}),
        (['Sure: {"n": 3}', '{"n": 3}'], {"n": 3}),
        (["", '{"n": 3}'], {"n": 3}),
        (['{"n": 0}', '{"n": 3}'], {"n": 3}),
        (['{"n": 0}', "[1]"], None),
        (["none", "none"], None),
        (["[" * 100_000, '{"a":' * 50_000], None),
    ],
)
def test_an_answer_that_does_not_fit_is_asked_for_once_more(answers: list[str], value: Any) -> None:
    left = iter(answers)
    model = Scripted(lambda _: next(left))
    found = None
    with contextlib.nullcontext() if value else pytest.raises(ModelError, match="twice gave an answer"):
        found = model.complete([Message("user", "?")], schema=NAMED).value
    assert (found, len(model.requests)) == (value, len(answers))


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "array"}, "does not have the type object"),
        ({}, "does not have the type object"),
        ({"type": "object", "oneOf": []}, "uses the unsupported keyword oneOf at $"),
        ({"type": "object", "properties": {"a": {"pattern": "x"}}}, "uses the unsupported keyword pattern at $.a"),
        ({"type": "object", "properties": {"a": 5}}, "has no schema at $.a"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "names the type 'text' at $.a"),
        ({"type": "object", "required": "a"}, "has no list at $.required"),
        ({"type": "object", "items": {"minimum": "1"}}, "has a limit at $.items.minimum that is not a number"),
    ],
)
def test_a_schema_that_is_not_understood_is_refused_before_anything_is_asked(
    schema: dict[str, Any], problem: str
) -> None:
    model = Scripted(lambda _: "{}")
    with pytest.raises(UsageError) as raised:
        model.complete([Message("user", "?")], schema=schema)
    assert (raised.value.code, raised.value.message) == ("bad-schema", f"The answer schema {problem}.")
    assert model.requests == []


def test_an_error_in_the_second_round_carries_what_the_first_one_cost() -> None:
    def answer(_: Request) -> Completion:
        if len(model.requests) > 1:
            raise ModelError("model-unavailable", "gone")
        return Completion("none", tokens_in=5, tokens_out=6)

    model = Scripted(answer)
    with pytest.raises(ModelError) as raised:
        model.complete([Message("user", "?")], schema=ANY)
    assert (raised.value.tokens_in, raised.value.tokens_out) == (5, 6)


def test_nothing_goes_into_the_traces_of_a_program_that_instruments_its_agents() -> None:
    from unittest.mock import Mock

    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    provider = Mock()
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    try:
        model = Scripted(lambda _: "{}")
        for schema in (None, ANY):
            model.complete([Message("user", "?")], schema=schema)
    finally:
        Agent.instrument_all(False)
    assert provider.get_tracer.return_value.method_calls == []
