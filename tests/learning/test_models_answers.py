"""Answers by a schema: found in what a model wrote, checked, never made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import UsageError
from whet.learning.models.answers import candidates, pieces, read
from whet.learning.models.model import Call, Completion, Message, ModelError, Request
from whet.learning.models.scripted import Scripted

NUMBERS = st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=4)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)


VALUES = st.recursive(LEAVES, nested, max_leaves=8)
PROSE = st.text(alphabet='{}[]",:\\`\n abnu1-.eNaNtrue', max_size=60) | st.text(max_size=30)
ANY = {"type": "object"}


@settings(max_examples=200, deadline=None)
@given(PROSE, VALUES, PROSE)
def test_what_is_found_is_what_strict_json_reads_from_a_piece_of_the_text(before: str, value: Any, after: str) -> None:
    text = before + json.dumps(value) + after
    for found in candidates(text):
        assert json.loads(text[found.start : found.end]) == found.value
    ends = [0, *(position for found in pieces(text) for position in (found.start, found.end))]
    assert ends == sorted(ends)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4), st.integers(0, 3))
def test_an_object_is_found_alone_in_fences_and_in_prose(value: dict[str, Any], around: int) -> None:
    written = json.dumps(value, indent=around or None)
    frames = ("{}", "```json\n{}\n```", "Here it is:\n\n{}\n\nIs that (1) what you want?", "\ufeff  {}\n")
    text = frames[around].replace("{}", written)
    assert read(Completion(text), ANY) == (value, [])


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4), st.data())
def test_nothing_is_taken_out_of_an_answer_that_is_cut_off(value: dict[str, Any], data: st.DataObject) -> None:
    written = json.dumps({"whole": value})
    text = written[: data.draw(st.integers(0, len(written) - 1))]
    assert read(Completion(text, cut=True), ANY)[0] is None
    assert all(found.value != value for found in pieces(text))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{" * 100_000, '{"a":' * 50_000, '[1,"' * 50_000, "[NaN, {}]", "1" * 9_000]
)
def test_hostile_text_is_read_in_passing(text: str) -> None:
    assert candidates(text) == []


def test_the_last_object_that_fits_is_the_answer() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    text = 'For example {"n": 1}. But see [1] and {"m": 2}: so {"n": 3}, not {"n": "four"}.'
    assert read(Completion(text), schema) == ({"n": 3}, [])
    assert read(Completion('{"n": "a longer one that is wrong"} {}'), schema)[1] == [
        "the answer.n must be integer, not string"
    ]
    assert read(Completion('{"body": "```json\\n{}\\n```", "n": 1}'), schema)[0] == {"body": "```json\n{}\n```", "n": 1}


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


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([], "There is nothing to answer: there is no user message."),
        ([Message("system", "a")], "There is nothing to answer: there is no user message."),
        (
            [Message("user", "a"), Message("assistant", "b")],
            "There is nothing to answer: the last message is the model's.",
        ),
        ([Message("user", "a"), Message("tool", "b", call="1")], "Message 2 answers an unknown call: '1'."),
        ([Message("robot", "a")], "Message 1 has the role 'robot'."),  # type: ignore[arg-type]  # what is refused
        (
            [Message("user"), Message("assistant", "", (Call("1", "x", {}),)), Message("user")],
            "There is nothing to answer: tool calls are unanswered.",
        ),
    ],
)
def test_a_conversation_that_no_provider_takes_is_refused(messages: list[Message], problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        Scripted(lambda _: "").complete(messages)
    assert (raised.value.code, raised.value.message) == ("bad-conversation", problem)


def test_an_empty_answer_is_asked_for_again_without_an_empty_turn() -> None:
    answers = iter(["", '{"a": 1}'])
    model = Scripted(lambda _: next(answers))
    assert model.complete([Message("user", "?")], schema=ANY).value == {"a": 1}
    assert [message.role for message in model.requests[1].messages] == ["user", "user"]


def test_an_error_in_the_second_round_carries_what_the_first_one_cost() -> None:
    def answer(request: Request) -> Completion:
        if len(request.messages) > 1:
            raise ModelError("model-unavailable", "gone")
        return Completion("none", tokens_in=5, tokens_out=6)

    with pytest.raises(ModelError) as raised:
        Scripted(answer).complete([Message("user", "?")], schema=ANY)
    assert (raised.value.tokens_in, raised.value.tokens_out) == (5, 6)


def test_every_code_of_a_model_error_is_in_the_table() -> None:
    import ast
    from pathlib import Path

    from whet.learning import models
    from whet.learning.models.model import CODES

    found: set[str] = set()
    for path in Path(models.__path__[0]).glob("*.py"):
        text = path.read_text(encoding="utf-8")
        found.update(
            node.value
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("model-")
        )
    assert found - {"model-key-missing"} == set(CODES)
