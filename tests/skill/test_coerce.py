"""Small readings of loosely typed values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.skill.coerce import listing, mapping, one_line, split_globs, split_tools, text, truth, unique, words

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


YES: list[Any] = [True, "true", "TRUE", "Yes", " on ", "1", 1, "y"]
NO: list[Any] = [False, "false", "No", "OFF", "0", 0, "n"]
NEITHER: list[Any] = [None, "", "maybe", 2, 1.0, [], {}, [True]]


def test_truth() -> None:
    assert [truth(value) for value in YES] == [True] * len(YES)
    assert [truth(value) for value in NO] == [False] * len(NO)
    assert [truth(value) for value in NEITHER] == [None] * len(NEITHER)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a b,c ,  d\n\te", ("a", "b", "c", "d", "e")),
        ("[a, 'b', \"c\"]", ("a", "b", "c")),
        (["a", " b ", "a", "", None], ("a", "b")),
        (["a b", 1, True, 1.5, ["x"], {"y": 1}], ("a b", "1", "true", "1.5")),
        (("a",), ("a",)),
        (7, ("7",)),
        (False, ("false",)),
        ("", ()),
        (None, ()),
        ({"a": 1}, ()),
    ],
)
def test_words(value: Any, expected: tuple[str, ...]) -> None:
    assert words(value) == expected


def test_words_by_other_separators() -> None:
    assert words("two words ,\tb, ", separators=",") == ("two words", "b")
    assert words("one, two\nthree", separators=r"[,\n]") == ("one", "two", "three")


@pytest.mark.parametrize(
    ("value", "grants"),
    [
        ("Read Write", ("Read", "Write")),
        ("Read, Write,Grep", ("Read", "Write", "Grep")),
        ("Bash(git add:*) Bash(git commit:*), Read", ("Bash(git add:*)", "Bash(git commit:*)", "Read")),
        ("Agent(a, b), Read", ("Agent(a, b)", "Read")),
        ("Bash(echo $(date)) Read", ("Bash(echo $(date))", "Read")),
        ("Bash (git:*)", ("Bash(git:*)",)),
        ("Bash(git add, Read", ("Bash(git add, Read",)),
        ("Read) Write", ("Read)", "Write")),
        ("[Read, 'Write']", ("Read", "Write")),
        ("mcp__x__y*", ("mcp__x__y*",)),
        ("*", ("*",)),
        ("Read\n  Write", ("Read", "Write")),
        (["Bash(git add:*)", "Read"], ("Bash(git add:*)", "Read")),
        ("", ()),
        (None, ()),
    ],
)
def test_tool_grants(value: Any, grants: tuple[str, ...]) -> None:
    assert split_tools(value) == grants


@given(st.text(st.sampled_from("Bash() ,\n'\"[]ab:*"), max_size=30))
@settings(max_examples=200, deadline=None)
def test_a_grant_with_a_limit_never_becomes_one_without(line: str) -> None:
    """`Bash(...)` in any mangled form must not be read as all of `Bash`."""
    assert "Bash" not in split_tools(f"Bash({line}")


@pytest.mark.parametrize(
    ("value", "globs"),
    [
        ("*.py, src/**", ("*.py", "src/**")),
        ("src/{a,b}/*.ts,*.md", ("src/{a,b}/*.ts", "*.md")),
        ("with space/*.md", ("with space/*.md",)),
        ("{never, closed", ("{never, closed",)),
        (["a,b", "c"], ("a,b", "c")),
        (None, ()),
    ],
)
def test_globs(value: Any, globs: tuple[str, ...]) -> None:
    assert split_globs(value) == globs


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": {"b": [1]}}', {"a": {"b": [1]}}),
        ("  {a: 'b', c: [d,],}", {"a": "b", "c": ["d"]}),
        ('{"a": ', {}),
        ('{"a": ' * 10_000, {}),
        ("{" * 10_000, {}),
        ("[1]", {}),
        ("text", {}),
        ("a: b", {}),
        ("", {}),
        (None, {}),
        ([{"a": 1}], {}),
    ],
)
def test_mappings(value: Any, expected: dict[str, Any]) -> None:
    assert mapping(value) == expected


def test_small_ones() -> None:
    assert one_line(" a \n\t b  c\u3000d ") == "a b c d"
    assert unique(["b", "", "a", "b"]) == ("b", "a")
    assert [text(value) for value in (" a ", None, [1], {"a": 1}, True, False, 1.5, 0)] == [
        *("a", "", "", "", "true", "false", "1.5", "0")
    ]
    assert [listing(value) for value in (None, [1], "a", {"a": 1})] == [[], [1], ["a"], [{"a": 1}]]


@given(anything)
@settings(max_examples=150, deadline=None)
def test_anything_can_be_read(value: Any) -> None:
    assert all((*words(value), *split_tools(value), *split_globs(value)))
    assert isinstance(text(value), str)
    assert isinstance(mapping(value), dict)
    if isinstance(value, dict):
        assert mapping(json.dumps(value)) == value
