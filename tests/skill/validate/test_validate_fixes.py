"""Fixes change how a skill is written, never what it says; twice is once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whet.errors import InvalidError
from whet.notes import Note
from whet.skill import dialects
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import read_document
from whet.skill.validate import ValidationInput, valid, validate
from whet.skill.validate.fixes import fix


def fixed(text: str, directory: str = "demo") -> str:
    return fix(ValidationInput(directory, text))[0]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("\ufeff---\nname: demo\n---\n", "---\nname: demo\n---\n"),
        ("---\nname: demo\n---\nText", "---\nname: demo\n---\nText\n"),
        ("---\r\nname: demo\r\n---\r\nText", "---\r\nname: demo\r\n---\r\nText\r\n"),
        ("---\nname: demo", "---\nname: demo\n---\n"),
        ("---\r\nname: demo\r\n\r\nText\r\n", "---\r\nname: demo\r\n---\r\n\r\nText\r\n"),
        ("---\nname: demo\n# Title\n", "---\nname: demo\n---\n# Title\n"),
        ("---\nname: Other # x\n---\n", "---\nname: demo # x\n---\n"),
        ("---\ndescription: x\n---\n", "---\ndescription: x\nname: demo\n---\n"),
        (
            "---\nname: demo\ndescription: Use when: asked\nlicense: MIT # free\n---\n",
            "---\nname: demo\ndescription: 'Use when: asked'\nlicense: MIT # free\n---\n",
        ),
        (
            "---\r\nname: demo\r\ndescription: a: b\r\n  and c\r\n---\r\n",
            "---\r\nname: demo\r\ndescription: 'a: b and c'\r\n---\r\n",
        ),
        ("---\nname: demo\ndescription: 1.10 # x\n---\n", '---\nname: demo\ndescription: "1.10" # x\n---\n'),
        ("---\nname: demo\ndescription: # x\n---\n", '---\nname: demo\ndescription: "# x"\n---\n'),
        ("---\nname: demo\nlicense: 3\n---\n", '---\nname: demo\nlicense: "3"\n---\n'),
        (
            "---\nversion: 1.10  # now\nname: demo\nauthor: me\n---\n",
            '---\nname: demo\nmetadata:\n  version: "1.10"  # now\n  author: me\n---\n',
        ),
        (
            "---\nname: demo\nmetadata:\n    a: b\nversion: '2'\n---\n",
            "---\nname: demo\nmetadata:\n    a: b\n    version: '2'\n---\n",
        ),
        (
            "---\nname: demo\nallowed-tools:\n  - Read\n  - Bash(git add:*)\n---\n",
            "---\nname: demo\nallowed-tools: Read Bash(git add:*)\n---\n",
        ),
        (
            "---\nname: demo\nmetadata:\n  version: 1.10 # x\n  on: true\n  none:\n---\n",
            '---\nname: demo\nmetadata:\n  version: "1.10" # x\n  on: "true"\n  none:\n---\n',
        ),
    ],
)
def test_what_is_safe_is_fixed(text: str, result: str) -> None:
    assert fixed(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "Text without frontmatter.\n",
        "---\n- a\n---\n",
        "---\nname: demo\ndescription: [a, b]\n---\n",
        "---\nname: demo\ncolours: [a, b]\n---\n",
        "---\nname: demo\ntags: ['a, b', c]\n---\n",
        "---\nname: demo\ndisable-model-invocation: true\n---\n",
        "---\nname: demo\nversion: 1\nmetadata:\n  version: 2\n---\n".replace("2\n", "'2'\n"),
        "---\nname: demo\nversion: 1\nmetadata: {a: b}\n---\n",
        "---\nname: demo\nallowed-tools: [a b, c]\n---\n",
        "---\nname: demo\nmetadata: {a: 1}\n---\n",
        "---\nname: demo\na: 1\na: 2\n---\n",
        "---\nname: demo\nmetadata:\n  '': 1\n---\n",
        "",
    ],
)
def test_what_is_not_safe_is_left_alone(text: str) -> None:
    assert fixed(text) == text


def test_a_directory_that_breaks_the_rules_names_nothing() -> None:
    assert fixed("---\nname: Other\n---\n", "My Dir") == "---\nname: Other\n---\n"


def test_the_findings_that_are_gone_are_returned() -> None:
    text = "\ufeff---\nname: Demo\ndescription: x\nversion: 1.0\ntags: [a]\n---\n# Demo\n"
    result, gone = fix(ValidationInput("demo", text.encode()))
    assert result == '---\nname: demo\ndescription: x\nmetadata:\n  version: "1.0"\n  tags: a\n---\n# Demo\n'
    assert [finding.code for finding in gone] == [
        "byte-order-mark",
        "dialect-key",
        "dialect-key",
        "name-not-lowercase",
        "name-directory-mismatch",
    ]
    assert gone[0] == Note(
        "byte-order-mark", "warning", "The file starts with a byte order mark.", line=1, fix="Removes the mark."
    )
    assert valid(validate(ValidationInput("demo", fixed("---\nname: Demo\ndescription: a: b\nversion: 1\n---\n"))))


@pytest.mark.parametrize("text", [None, b"---\nname: demo\n---\n\xff"])
def test_what_cannot_be_written_again_is_refused(text: bytes | None) -> None:
    with pytest.raises(InvalidError) as caught:
        fix(ValidationInput("demo", text))
    assert caught.value.code == "cannot-fix"
    assert caught.value.hint


# --- any document -----------------------------------------------------------------------------------------------------

KEYS = sorted(
    {
        *re.findall(r'"([a-z][a-z_-]+)"', Path(dialects.__file__).read_text(encoding="utf-8")),
        *("colour", "x-y", "ein Schlüssel", "on"),
    }
)
"""Every word the dialects know, so that a key read at the top level cannot be forgotten."""

SCALARS = [
    *("word", "two words", "1.10", "true", "no", "~", "", "2026-01-01", "'quoted: text'", '"double"', "a: b", "# c"),
    *(
        "text # comment",
        "macos",
        "fork",
        "@at",
        "[a, b]",
        "{a: b}",
        "[a",
        "*star",
        "|\n  block\n  text",
        ">-\n  folded",
    ),
    *(
        "plain\n  continued",
        "\n  - Read\n  - Bash(git add:*)",
        "\n- x\n- 1",
        "\n  a: 1\n  b: 2026",
        "\n  c: d # e\n  f:",
    ),
]


@st.composite
def packages(draw: st.DrawFn) -> ValidationInput:
    """Frontmatter of known and unknown keys with values of every kind, whole and broken."""
    chosen = draw(st.lists(st.sampled_from(KEYS), max_size=4, unique=True))
    spec = draw(st.lists(st.sampled_from(["name", "description", "license", "allowed-tools", "metadata"]), unique=True))
    keys = draw(st.permutations(list(dict.fromkeys(chosen + spec))))
    rows = [f"{key}: {draw(st.sampled_from(SCALARS))}" for key in keys]
    rows += draw(st.sampled_from([[], [], ["# comment"], ["", "# comment"], ["just text"]]))
    closing = draw(st.sampled_from(["---\n", "---\n", "---", "---\n\n# Title\n\nText", "\n# Title\n", ""]))
    text = "\n".join(["---", *rows, closing])
    text = draw(st.sampled_from(["", "", "\ufeff"])) + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return ValidationInput(draw(st.sampled_from(["demo", "demo", "Bad Name", ""])), text, "SKILL.md", ("SKILL.md",))


def leaves(value: Any, text: str, path: str = "") -> list[str]:
    """Every scalar as its author wrote it."""
    document = read_document(text)
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, text, f"{path}.{key}" if path else key)]
    if isinstance(value, list):
        return [leaf for number, item in enumerate(value) for leaf in leaves(item, text, f"{path}.{number}")]
    return [] if value is None else [document.texts.get(path, str(value))]


def meaning(text: str, *, name: bool) -> tuple[Any, ...]:
    """What the skill says, less what a fix is meant to change: the spelling, and a wrong name."""
    skill = read_skill(read_document(text), fallback_name="")
    plain = skill._replace(step="strict", diagnostics=(), frontmatter={}, body=skill.body.rstrip("\r\n"))
    return plain if name else plain._replace(name="")


@given(packages())
@example(ValidationInput("demo", "---\ntools_optional: [a, b]\nname: word\n---\n", "SKILL.md", ("SKILL.md",)))
@settings(max_examples=200, deadline=None)
def test_a_fix_loses_nothing_keeps_its_promises_and_is_done_once(package: ValidationInput) -> None:
    assert isinstance(package.text, str)
    before, text = read_document(package.text), package.text
    result, gone = fix(package)
    after = package._replace(text=result)
    # nothing is lost, nothing means something else
    renamed = before.values.get("name") != read_document(result).values.get("name")
    assert meaning(result, name=not renamed) == meaning(text, name=not renamed)
    lost = set(leaves(before.values, text)) - set(leaves(read_document(result).values, result))
    words = ("allowed-tools", "tags", "tools_required", "tools_optional")
    lists = [value for key in words if isinstance(value := before.values.get(key), list)]
    for leaf in lost - {str(before.texts.get("name", before.values.get("name")))}:  # a list of names becomes one text
        assert any(leaf in value and re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", result) for value in lists)
    # what was promised is done, and done for good
    left = {(finding.code, finding.message) for finding in validate(after, "quality")}
    assert not [f for f in validate(package, "quality") if f.fix and (f.code, f.message) in left]
    assert all((finding.code, finding.message) not in left for finding in gone)
    assert fix(after) == (result, ())
    assert ("\r\n" in result) == ("\r\n" in text)
