"""One reader for the eval files people have: every shape, every container, and nothing odd makes it fail."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whet.errors import InvalidError
from whet.routing.evals.formats import MAX_CASES, MAX_MESSAGE, Case, Cases, find_files, plain_key, read_cases


def brief(read: Cases) -> list[tuple[str, str, bool]]:
    return [(case.message, case.skill, case.fits) for case in read.cases]


YES_NO = [("Fill the form", "pdf", True), ("Bake a cake", "pdf", False)]


@pytest.mark.parametrize(
    "value",
    [
        [{"query": "Fill the form", "should_trigger": True}, {"query": "Bake a cake", "should_trigger": False}],
        {
            "skill_name": "pdf",
            "evals": [
                {"id": 1, "prompt": "Fill the form", "should_trigger": "yes"},
                {"id": 2, "question": "Bake a cake", "shouldTrigger": 0},
            ],
        },
        {"should_trigger": ["Fill the form"], "should_not_trigger": ["Bake a cake"]},
        {"shouldTrigger": [{"prompt": "Fill the form"}], "shouldNotTrigger": [{"query": "Bake a cake"}]},
        {"description": "Both.", "task": "x", "positive": ["Fill the form"], "negative": ["Bake a cake"]},
        {"skills": {"pdf": {"should": ["Fill the form"], "should_not": ["Bake a cake"]}}},
        {"pdf": {"positive": ["Fill the form"], "near_miss": ["Bake a cake"]}},
        {"trigger_eval": {"should_trigger": ["Fill the form"], "should_not_trigger": ["Bake a cake"]}},
        [{"query": "Fill the form", "expected_skill": "pdf"}, {"query": "Bake a cake", "expected_skill": None}],
        {"cases": [{"prompt": "Fill the form", "expect": "pdf"}, {"prompt": "Bake a cake", "expect": "none"}]},
        {"cases": [{"prompt": "Fill the form", "expect": "activate"}, {"prompt": "Bake a cake", "expect": "skip"}]},
        {"cases": [{"prompt": "Fill the form", "route": "PDF"}, {"prompt": "Bake a cake", "reject": ["pdf"]}]},
        [
            {"input": "Fill the form", "skill-invocation": "required"},
            {"input": "Bake a cake", "skill-invocation": "disallowed"},
        ],
        {
            "scenarios": [
                {"prompt": "Fill the form", "expect_activation": True},
                {"prompt": "Bake a cake", "expect_activation": False},
            ]
        },
        {
            "stimuli": [{"text": "Fill the form", "expect": {"skill-invocation": "required"}}],
            "negative": ["Bake a cake"],
        },
        [
            {"utterance": "Fill the form", "expected_skills": ["/pdf"]},
            {"utterance": "Bake a cake", "expected_skills": [], "notes": "no match"},
        ],
        [{"query": "Fill the form", "skill": "pdf"}, {"query": "Bake a cake", "skill": None}],
        [
            {"messages": [{"role": "user", "content": "Fill the form"}], "type": "should_trigger"},
            {"input": {"prompt": "Bake a cake"}, "type": "should_not_trigger"},
        ],
    ],
)
def test_every_shape_says_the_same(value: Any) -> None:
    read = read_cases(value, "pdf")
    assert [(message, skill.lower(), fits) for message, skill, fits in brief(read)] == YES_NO
    assert read.report == ()
    assert read_cases(json.dumps(value).encode(), "pdf") == read


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("should_trigger:\n  - Fill the form\nshould_not_trigger:\n  - Bake a cake\n", "t.yaml"),
        ("- prompt: Fill the form\n  expect_activation: yes\n- prompt: Bake a cake\n  expect_activation: no\n", ""),
        ('\ufeff// both\n[{"query": "Fill the form", "expect": 1},\n{"query": "Bake a cake", "expect": 0},]', "t.json"),
    ],
)
def test_every_container_is_read(text: str, where: str) -> None:
    assert brief(read_cases(text.encode(), "pdf", where)) == YES_NO


def test_a_row_can_be_about_several_skills() -> None:
    value = {"cases": [{"prompt": "Merge them", "expected_skills": ["pdf", "docx"], "not_expected_skills": ["xlsx"]}]}
    everything = [("Merge them", "pdf", True), ("Merge them", "docx", True), ("Merge them", "xlsx", False)]
    assert brief(read_cases(value)) == everything
    assert brief(read_cases(value, "slides")) == [*everything, ("Merge them", "slides", False)]


def test_what_is_expected_elsewhere_is_not_for_this_skill() -> None:
    value = [{"query": "Write a letter", "expected_skill": "docx"}]
    assert brief(read_cases(value, "pdf")) == [("Write a letter", "docx", True), ("Write a letter", "pdf", False)]
    assert brief(read_cases([{"query": "Sing", "expected_skill": None}])) == [("Sing", "", False)]


def test_places_tell_where_a_case_stands() -> None:
    value = {"skills": {"pdf": {"should_trigger": ["a b"]}}, "more": [{"prompt": "c d", "expect": "docx"}]}
    assert [case.place for case in read_cases(value).cases] == ["skills.pdf.should_trigger[0]", "more[0]"]


def test_what_is_left_out_is_reported() -> None:
    value = {
        "evals": [
            {"prompt": "Only an output is checked", "expected_output": "A file."},
            {"query": 7, "should_trigger": True},
            {"query": "Fill it", "should_trigger": True},
            {"query": "Fill it", "should_trigger": False},
            {"query": "Fill it", "should_trigger": True},
            "a text",
            {"query": "x" * (MAX_MESSAGE + 5), "should_trigger": False},
        ]
    }
    read = read_cases(value, "pdf", "evals/evals.json")
    assert [(case.message[:8], case.fits) for case in read.cases] == [("Fill it", True), ("x" * 8, False)]
    assert len(read.cases[1].message) == MAX_MESSAGE
    assert [(entry.code, entry.severity, entry.path, entry.message) for entry in read.report] == [
        ("case-unlabelled", "info", "evals/evals.json", "evals[0] has no verdict."),
        ("case-without-message", "warning", "evals/evals.json", "evals[1] has no message, or one that is not text."),
        ("case-contradicted", "warning", "evals/evals.json", "evals[3] contradicts evals[2], which takes precedence."),
        ("case-unlabelled", "warning", "evals/evals.json", "evals[5] is not a mapping with a message and a verdict."),
        ("message-cut", "info", "evals/evals.json", "evals[6] was cut at 8,000 characters."),
    ]
    assert all(entry.hint for entry in read.report)


def test_cases_and_remarks_are_bounded() -> None:
    rows: list[Any] = [{"query": f"message {number}", "should_trigger": True} for number in range(MAX_CASES + 3)]
    read = read_cases(rows, "pdf")
    assert len(read.cases) == MAX_CASES and [entry.code for entry in read.report] == ["too-many-cases"]
    read = read_cases([*rows[:1], *[5] * 300], "pdf")
    assert (len(read.report), read.report[-1].code, read.report[-1].message) == (
        101,
        "more-remarks",
        "200 more remarks are not shown.",
    )


@pytest.mark.parametrize(
    ("data", "code", "sentence"),
    [
        (b"", "not-trigger-evals", "t.json is empty."),
        (b"Just some prose.", "not-trigger-evals", "t.json is neither JSON nor YAML with a list or a mapping."),
        (b'[{"query": "a",]\n', "not-trigger-evals", "t.json is not JSON on line 1: "),
        (b"[" * 100_000, "not-trigger-evals", "t.json is n"),
        (b"{}", "not-trigger-evals", "t.json has no labelled messages."),
        (b'{"name": "x", "version": [1, 2]}', "not-trigger-evals", "t.json has no labelled messages."),
        (b"\xff\xfe\x00", "not-trigger-evals", "t.json is neither"),
        (b"x" * 2_000_001, "evals-too-large", "t.json is larger than 2,000,000 bytes."),
    ],
)
def test_what_is_no_eval_file_is_an_error(data: bytes, code: str, sentence: str) -> None:
    with pytest.raises(InvalidError) as caught:
        read_cases(data, "pdf", "t.json")
    assert (caught.value.code, caught.value.message[: len(sentence)]) == (code, sentence)
    assert caught.value.message.endswith(".") and caught.value.hint


def test_nesting_and_aliases_are_no_burden() -> None:
    bomb = "a: &a [x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(22)
    )
    deep: Any = {"query": "down here", "should_trigger": True}
    for _ in range(50):
        deep = {"evals": [deep]}
    for data in (bomb, deep):
        with pytest.raises(InvalidError):
            read_cases(data, "pdf", "t.yaml")


def test_the_files_of_a_package() -> None:
    names = [
        *("SKILL.md", "triggers.json", "trigger-evals.json", "eval_queries.json", "references/triggers.json"),
        *("evals/evals.json", "evals/triggers.json", "evals/trigger_eval.json", "evals/Trigger-Evals.yaml"),
        *("evals/triggers.csv", "evals/triggers.md", "evals/files/triggers.json", "tests/triggers.jsonl", "evals.json"),
    ]
    assert find_files(names) == [
        "evals/Trigger-Evals.yaml",
        "evals/trigger_eval.json",
        "evals/triggers.json",
        "evals/evals.json",
        "trigger-evals.json",
        "eval_queries.json",
    ]


def test_fields_are_listed_as_they_are_compared_each_once() -> None:
    fields = tomllib.loads(files("whet.routing.evals").joinpath("fields.toml").read_text(encoding="utf-8"))
    assert all(word == plain_key(word) for words in fields.values() for word in words)
    assert all(len(words) == len({*words}) for words in fields.values())
    assert {*fields["yes"]}.isdisjoint(fields["no"]) and {*fields["fitting"]}.isdisjoint(fields["unfitting"])


PLAIN = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).map(str.strip).filter(bool)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.tuples(PLAIN, st.sampled_from(["pdf", "docx", "code review"])), st.booleans(), min_size=1))
def test_every_row_with_a_skill_of_its_own_is_read(labels: dict[tuple[str, str], bool]) -> None:
    cases = tuple(
        Case(message, skill, fits, f"[{number}]") for number, ((message, skill), fits) in enumerate(labels.items())
    )
    rows = [{"query": case.message, "should_trigger": case.fits, "skill": case.skill} for case in cases]
    for skill in ("pdf", ""):
        assert read_cases(json.dumps(rows).encode(), skill) == Cases(cases, ())


FIELDS = st.sampled_from(
    [
        *(
            "query",
            "prompt",
            "should_trigger",
            "shouldNotTrigger",
            "expected_skill",
            "expect",
            "route",
            "skill",
            "evals",
        ),
        *("skills", "cases", "messages", "reject", "skill-invocation", "type", "negative", "should", "name", "", "x"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.sampled_from(["yes", "none"]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=25,
)


@settings(max_examples=200, deadline=None)
@given(VALUES, st.sampled_from(["pdf", ""]))
@example({"": {"should_trigger": ["0"]}}, "pdf")
def test_no_value_makes_it_fail(value: Any, skill: str) -> None:
    try:
        read = read_cases([value], skill)
    except InvalidError:
        return
    assert all(case.message.strip() == case.message != "" and len(case.message) <= MAX_MESSAGE for case in read.cases)
    assert all(case.skill or not case.fits or not skill for case in read.cases)
    assert all(entry.code and entry.message.endswith(".") and entry.hint for entry in read.report)
    assert len({(case.message, case.skill.casefold()) for case in read.cases}) == len(read.cases)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")), st.booleans())
def test_no_bytes_make_it_fail(data: bytes, as_lines: bool) -> None:
    head = b'{"query": "a", "should_trigger": true}\n' if as_lines else b""
    for where in ("t.json", "t.yaml"):
        with suppress(InvalidError):
            read_cases(head + data, "pdf", where)
