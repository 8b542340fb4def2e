"""Output evals."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning.evaluated import NAME, one_eval, subject
from whet.errors import InvalidError, NotFoundError
from whet.learning.evals.checks import Check
from whet.learning.evals.formats import Eval, Expectation, find_file, read_evals

COMMON = {
    "skill_name": "pdf",
    "evals": [
        {
            "id": 1,
            "prompt": " Fill the form ",
            "expected_output": "A filled form",
            "files": ["evals/files/form.pdf"],
            "expectations": ["The name is filled in", {"type": "file_exists", "path": "./out.pdf"}],
        }
    ],
}
WANTED = Expectation("The name is filled in")
CHECK = Expectation("file exists: out.pdf", Check("file_exists", file="out.pdf"))


def test_the_common_form() -> None:
    found = read_evals(json.dumps(COMMON).encode(), "evals.json")
    one = Eval("1", "Fill the form", (WANTED, CHECK), "A filled form", ("evals/files/form.pdf",))
    assert found == ("pdf", (one,), ())


def test_a_list_alone_and_assertions_are_read() -> None:
    row = {"prompt": "Do it", "assertions": ["It is done", "It is done"]}
    for shape in ([row], {"evals": [row]}, {"Evals": [{"Prompt": "Do it", "expectations": [{"text": "It is done"}]}]}):
        (one,) = read_evals(shape).evals
        assert (one.id, one.prompt, one.expectations) == ("1", "Do it", (Expectation("It is done"),))


def test_yaml_is_read_and_names_are_told_apart() -> None:
    row = "  - id: a\n    prompt: Do it\n    expectations: [It is done]\n"
    first = Eval("a", "Do it", (Expectation("It is done"),))
    assert read_evals(f"evals:\n{row}{row}", "evals.yaml").evals == (first, first._replace(id="a-2"))


def test_an_expected_output_alone_is_the_expectation() -> None:
    wanted = Expectation("The output is or does this: 42", derived=True)
    assert one_eval(expected_output="42").expectations == (wanted,)


def test_what_cannot_be_used_is_reported() -> None:
    rows = [
        "text",
        {"expectations": ["x"]},
        {"prompt": "x", "rubric": ["x"]},
        {"prompt": "x", "should_trigger": True},
        {"prompt": "x", "assertions": [{"type": "odd"}, {"type": "regex", "value": "("}, "good"]},
        {"prompt": "x", "assertions": ["good"], "files": ["../../etc/passwd"]},
    ]
    found = read_evals(rows, "evals.json")
    assert [one.expectations for one in found.evals] == [(Expectation("good"),)] * 2
    assert [note.code for note in found.report] == [
        *("eval-unreadable", "eval-without-prompt", "eval-without-expectations"),
        *("check-unusable", "check-unusable", "eval-file-unusable"),
    ]
    assert all(note.message.endswith(".") and note.hint for note in found.report)


@pytest.mark.parametrize("data", [b"", b"{", b"42", b'{"a": 1}', b'[{"prompt": "x"}]', b"\xff\xfe"])
def test_what_is_no_such_file_is_an_error(data: bytes) -> None:
    with pytest.raises(InvalidError) as caught:
        read_evals(data, "evals.json")
    assert caught.value.code == "not-output-evals"


def test_a_check_of_another_program_is_named_with_the_checks_that_exist() -> None:
    with pytest.raises(InvalidError) as caught:
        read_evals([{"prompt": "x", "assertions": [{"type": "icontains", "value": "x"}]}], "evals.json")
    assert "evals[0].expectations[0] is left out: There is no check 'icontains'." in caught.value.message
    assert caught.value.hint.startswith("Use contains with `ignore_case: true`. The checks are contains, not_contains,")


def test_the_file_of_a_package() -> None:
    assert find_file(["SKILL.md", "evals.json", "evals/evals.yaml", "evals/triggers.json"]) == "evals/evals.yaml"
    assert find_file(["SKILL.md", "evals/triggers.json"]) == ""


def test_a_skill_without_evals_says_so() -> None:
    bare = subject()
    bare = bare._replace(tree={"SKILL.md": bare.tree["SKILL.md"]})
    triggers = subject(evals=[{"prompt": "x", "should_trigger": True}])
    for tried in (bare, triggers):
        with pytest.raises(NotFoundError) as caught:
            tried.evals()
        assert caught.value.code == "no-output-evals"


def test_files_of_a_task_come_from_the_package() -> None:
    item = one_eval(expectations=["x"], files=["evals/files/a.csv", "gone.csv"])
    held = subject(evals__files__a=b"")._replace(name=NAME)
    files = {**held.tree, "evals/files/a.csv": held.tree["evals/files/a"]._replace(data=b"1,2")}
    assert held._replace(tree=files).files_for(item._replace(files=item.files[:1])) == {"a.csv": b"1,2"}
    with pytest.raises(NotFoundError) as caught:
        held._replace(tree=files).files_for(item)
    assert caught.value.code == "eval-file-missing"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["prompt", "evals", "files", "expectations", "type", "id", "x"]), inner)
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_nothing_breaks_the_reader(value: object) -> None:
    try:
        ids = [one.id for one in read_evals(value).evals]
    except InvalidError:
        return
    assert len({*ids}) == len(ids)
