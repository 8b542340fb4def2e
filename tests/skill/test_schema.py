"""The checker of schemas: it finds what the reference validator finds, and says it in words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.skill.schema import TYPES, Problem, check_schema, describe_problems, find_problems

NUMBERS = st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=4)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)


VALUES = st.recursive(LEAVES, nested, max_leaves=8)

SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.deferred(
    lambda: (
        st.fixed_dictionaries({"type": st.sampled_from([*TYPES, ["string", "null"]])})
        | st.fixed_dictionaries({"enum": st.lists(LEAVES, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"const": LEAVES})
        | st.fixed_dictionaries({"minimum": st.integers(-2, 2), "maxLength": st.integers(0, 3), "minItems": st.just(1)})
        | st.fixed_dictionaries({"type": st.just("array"), "items": SCHEMAS, "maxItems": st.integers(0, 3)})
        | st.fixed_dictionaries({"anyOf": st.lists(SCHEMAS, min_size=1, max_size=2)})
        | st.fixed_dictionaries(
            {
                "properties": st.dictionaries(st.text(max_size=2), SCHEMAS, max_size=2),
                "required": st.lists(st.text(max_size=2), max_size=2, unique=True),
                "additionalProperties": st.booleans() | SCHEMAS,
            }
        )
    )
)


@settings(max_examples=200, deadline=None)
@given(SCHEMAS, VALUES)
def test_the_validator_says_what_the_reference_says(schema: dict[str, Any], value: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="the reference validator is not installed")
    assert (list(find_problems(value, schema)) == []) == jsonschema.Draft202012Validator(schema).is_valid(value)
    check_schema({"type": "object", "properties": {"inner": schema}})


def test_problems_are_told_in_words_and_at_most_ten_of_them() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", 1]},
            "list": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert describe_problems({"kind": True, "list": [1, "x", True], "more": 1}, schema, "the answer") == [
        "the answer must have 'name'",
        'the answer.kind must be one of ["a", 1]',
        "the answer.list must be at most 2 items, not 3",
        "the answer.list[1] must be integer, not string",
        "the answer.list[2] must be integer, not boolean",
        "the answer.more is not expected",
    ]
    assert describe_problems({"list": "\ud800"}, {"properties": {"list": {}}}, "the answer") == [
        "the answer.list contains half of a surrogate pair"
    ]
    assert len(describe_problems([0] * 99, {"items": {"const": 1}}, "it")) == 10


def test_a_problem_names_the_keyword_and_the_path() -> None:
    schema = {
        "properties": {"a": {"items": {"required": ["b"], "additionalProperties": False}}, "n": {"minimum": 1}},
    }
    assert list(find_problems({"a": [{"c": 1}], "n": -(10**5000)}, schema, "it")) == [
        Problem("required", ("a", 0, "b"), "it.a[0] must have 'b'"),
        Problem("additionalProperties", ("a", 0, "c"), "it.a[0].c is not expected"),
        Problem("minimum", ("n",), "it.n must be at least 1, not that"),
    ]
