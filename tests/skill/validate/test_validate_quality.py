"""The profile `quality`: what it says about good skills, poor ones, and ones it must leave in peace."""

from __future__ import annotations

import os
from typing import Any

import pytest

from whet.library.roots import gallery_directory
from whet.notes import Note
from whet.skill.template import MARKERS, OUTLINE, PHRASES, may_be_draft
from whet.skill.validate import ValidationInput, validate

DESCRIPTION = "Extracts text and tables from PDF files. Use when the user mentions a PDF, a form or a '.pdf' file."
COMPLETE = """
# PDF

## Overview

Reads PDF files.

## Usage

1. Run `scripts/read.py FILE`. Success: it prints the number of pages.
2. Look at the output.
   Done when every page is there.

```bash
1. Not a step, but code. TODO
```

## Examples

- "Read this PDF"
- "Fill in the form"

## Dependencies

None. See [the guide](references/guide.md#start) and [a page](https://example.org/x.md).

## Limitations

No scans.

## Changelog

- 1.0: first.
"""
FILES = ("SKILL.md", "scripts/read.py", "references/guide.md")


def lint(body: str = COMPLETE, *, description: str = DESCRIPTION, extra: str = "", **fields: Any) -> list[Note]:
    text = f'---\nname: pdf\ndescription: "{description}"\n{extra}---\n{body}'
    package = ValidationInput("pdf", text, "SKILL.md", FILES)._replace(**fields)
    return list(validate(package, "quality"))


def codes(findings: list[Note]) -> list[str]:
    return [finding.code for finding in findings]


def test_a_complete_skill_has_no_findings() -> None:
    assert lint(published=True) == []
    assert lint(COMPLETE.replace("\n", "\r\n"), published=True) == []


def test_the_specification_comes_first() -> None:
    assert codes(lint(extra="colour: red\n")) == ["unknown-key"]
    assert codes(lint(directory="other")) == ["name-directory-mismatch"]


# --- the description --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "found"),
    [
        ("Reads PDF files", ["description-short", "description-says-no-when", "description-no-triggers"]),
        ("Reads and writes PDF files of every kind and size.", ["description-says-no-when", "description-no-triggers"]),
        ("Use this skill when the user asks for a PDF, or a form.", ["description-says-no-what"]),
        ("Merges PDF files. Use when combining reports, or scans.", []),
        ("Merges PDF files. Apply whenever the user says 'combine'.", []),
        ("Merges PDF files. Should be used for requests such as joining reports.", []),
        ("提取 PDF 文件中的文本和表格，填写表单，合并文档，适用于用户提到“PDF”的场景，例如读取合同、发票和报告。", []),
        (
            "A comprehensive, world-class and powerful tool. Use when asked for 'pdf' things.",
            ["description-vague", "description-marketing"],
        ),
    ],
)
def test_a_description_says_what_and_when_in_concrete_words(description: str, found: list[str]) -> None:
    assert codes(lint(description=description)) == found


def test_words_are_named_once_each() -> None:
    [finding] = lint(description="A powerful reader. Powerful and robust. Use when asked for 'pdf' files.")
    assert finding == Note(
        "description-marketing",
        "warning",
        "In the description, 'powerful', 'robust' is praise; say what the skill does instead.",
        line=3,
    )


def test_when_and_triggers_may_stand_in_fields_of_their_own() -> None:
    findings = lint(description="Reads PDF files of every kind and any size.", extra="when_to_use: A PDF is in play.\n")
    assert codes(findings) == ["dialect-key"]


def test_the_fallback_to_the_body_is_told() -> None:
    findings = validate(ValidationInput("pdf", f"---\nname: pdf\n---\n{COMPLETE}", "SKILL.md", FILES), "quality")
    assert [(f.code, f.severity) for f in findings] == [
        ("description-missing", "error"),
        ("description-from-body", "warning"),
    ]


# --- the body ---------------------------------------------------------------------------------------------------------


def test_sections_are_asked_of_published_packages_and_suggested_to_others() -> None:
    body = "# PDF\n\nText.\n"
    names = ("Overview", "Usage", "Examples", "Dependencies", "Limitations", "Changelog")
    for published, severity in ((True, "warning"), (False, "info")):
        assert [(f.severity, f.message) for f in lint(body, published=published)] == [
            (severity, f"There is no section {name}.") for name in names
        ]


@pytest.mark.parametrize(
    ("examples", "few"),
    [
        ("## Examples\n\nOne example.\n", True),
        ("## Examples\n\n### A\n\nx\n\n### B\n\ny\n", False),
        ("## Examples\n\n```\na\n```\n\n```\nb\n```\n", False),
        ("## Example 1\n\na\n\n## Example 2\n\nb\n", False),
        ("## Examples\n", True),
    ],
)
def test_two_examples_are_two_however_they_are_set_apart(examples: str, few: bool) -> None:
    body = COMPLETE.replace('## Examples\n\n- "Read this PDF"\n- "Fill in the form"\n', examples)
    assert codes(lint(body)) == ["examples-few"] * few


def test_every_step_says_how_to_tell_that_it_worked() -> None:
    body = COMPLETE.replace("   Done when every page is there.\n", "3. Verify the count.\n")
    assert lint(body) == [
        Note(
            "step-without-check",
            "info",
            "The step '2. Look at the output.' does not say how to tell that it worked.",
            line=15,
        )
    ]
    assert [f.severity for f in lint(body, published=True)] == ["warning"]


def test_numbered_headings_are_steps_too() -> None:
    steps = "### Step 1: Open\n\n1. Click.\n2. Wait until it opens.\n\n### Step 2: Close\n\nClick.\n\n## Examples\n"
    body = COMPLETE.replace("## Examples\n", f"## Workflow\n\n{steps}")
    assert [f.message for f in lint(body)] == ["The step 'Step 2: Close' does not say how to tell that it worked."]


def test_numbered_lists_outside_procedures_are_left_alone() -> None:
    assert lint(COMPLETE.replace("Reads PDF files.", "1. Text\n2. Tables")) == []


def test_the_size_of_the_body_is_bounded() -> None:
    assert lint(COMPLETE + "row\n" * 440) == []
    assert codes(lint(COMPLETE + "row\n" * 500)) == ["body-too-long"]
    assert codes(lint(COMPLETE + "word " * 4_000 + "\n")) == ["body-too-many-tokens"]


def test_a_missing_body_is_told() -> None:
    assert "body-empty" in codes(lint(" \n"))


# --- references -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pointer", "target"),
    [
        ("[a](references/none.md)", "references/none.md"),
        ("[a](./none.md#part)", "./none.md"),
        ("[![b](https://example.org/b.png)](none.md)", "none.md"),
        ("![a](assets/my%20picture.png 'title')", "assets/my picture.png"),
        ("[a](../other/SKILL.md)", "../other/SKILL.md"),
        ("`scripts/none.py`", "scripts/none.py"),
        ("`python3 ./scripts/none.py --all`", "scripts/none.py"),
        ("`${SKILL_DIR}/templates/none.txt`", "templates/none.txt"),
    ],
)
def test_pointers_to_nothing_are_found(pointer: str, target: str) -> None:
    assert lint(f"{COMPLETE}\nSee {pointer}. And {pointer}.\n") == [
        Note("reference-dangling", "warning", f"{target} does not exist in the skill.", line=39)
    ]


@pytest.mark.parametrize(
    "pointer",
    [
        "[a](references/guide.md)",
        "[a](./references/guide.md?x#y)",
        "[a](references/)",
        "[a](https://example.org/a.md)",
        "[a](mailto:a@b.c)",
        "[a](#part)",
        "[a](/etc/hosts)",
        "[a](url)",
        "[a](references/<name>.md)",
        "`references/<name>.md`",
        "`references/a-<name>.md`",
        "`scripts/*.py`",
        "`scripts/`",
        "`src/scripts/none.py`",
        "`[a](none.md)`",
        "scripts/none.py",
        "\n```\n[a](none.md) `scripts/none.py`\n```\n",
        "~~~~\n~~~\n[a](none.md)\n~~~~",
    ],
)
def test_other_pointers_are_left_alone(pointer: str) -> None:
    assert lint(f"{COMPLETE}\n{pointer}\n") == []


def test_references_lie_one_level_deep() -> None:
    nested = lint(files=(*FILES, "references/a/b.md", "references/a/c.md"))
    message = "references/a/b.md and 1 more are more than one level below references/."
    assert nested == [Note("reference-nested", "info", message)]


# --- the rest ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "found"),
    [
        ("Read Bash(git:*) Grep", []),
        ("Bash", ["Bash"]),
        ("Read, Bash(*)", ["Bash(*)"]),
        ("Bash(:*) Shell", ["Bash(:*)", "Shell"]),
        ("'*'", ["*"]),
    ],
)
def test_tools_are_granted_within_limits(tools: str, found: list[str]) -> None:
    findings = lint(extra=f"allowed-tools: {tools}\n")
    assert codes(findings) == ["broad-tool-grant"] * len(found)
    assert [f.message.split()[4] for f in findings] == found


def test_a_log_of_incidents_is_not_a_procedure() -> None:
    log = "Fixed in PR #101. See issue 22 and https://example.org/pull/303.\nAlso #4004.\n"
    assert codes(lint(COMPLETE + log)) == ["incident-log-shape"]
    assert lint(COMPLETE + log.replace("#4004", "#4")) == []
    assert lint(COMPLETE + log + "A long text about something else. " * 300 + "\n") == []


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("TODO: more", True),
        ("This part is TBD.", True),
        ("[FIXME] wrong", True),
        ("Lorem ipsum dolor", True),
        ("Find all TODO comments", False),
        ("Look for TODO/FIXME markers", False),
        ("Write to TODO.md", False),
        ('Say "TODO" aloud', False),
        ("Run `grep TODO`", False),
        ("A todo list", False),
    ],
)
def test_leftovers_are_told_from_talk_about_them(row: str, found: bool) -> None:
    assert codes(lint(f"{COMPLETE}\n{row}\n")) == ["leftover-marker"] * found


def test_a_template_in_which_only_the_markers_were_replaced_is_a_draft() -> None:
    with open(
        os.path.join(gallery_directory(), "writing-skills", "templates", "SKILL.template.md"), encoding="utf-8"
    ) as file:
        template = file.read()
    assert all(phrase in template for phrase in PHRASES if phrase != OUTLINE), "the table follows the template"
    package = ValidationInput("name-of-the-folder", template.replace("TODO", "Done"))
    (found,) = (note for note in validate(package, "quality") if note.code == "leftover-marker")
    assert "The template's text" in found.message and found.line == 3
    marked = [line for line in template.splitlines() if "TODO" in line and not line.startswith("#")]
    assert len(marked) - sum(any(phrase in line for phrase in PHRASES) for line in marked) <= 1


@pytest.mark.parametrize("part", [*MARKERS, *PHRASES])
def test_every_part_of_a_draft_is_found_and_nothing_else(part: str) -> None:
    others = "Make a summary with care; some words dwell on DIM XML. "
    assert may_be_draft(part) and may_be_draft(others + part + others)
    assert not may_be_draft(others + part[:-1] + others + part[1:] + part[1:-1])


def test_a_leftover_in_the_description_has_its_line() -> None:
    findings = lint(description=f"{DESCRIPTION} TODO: say more.")
    assert findings == [Note("leftover-marker", "warning", "TODO is left over from a draft.", line=3)]


@pytest.mark.parametrize(
    "piece",
    ["[", "](", "`", "`` ` ", "# ", "“", "TODO ", '"', "issue ", "for , ", "use a ", "1. ", "- ", "\n# a", "~~~\n"],
)
def test_hostile_text_costs_no_more_than_its_length(piece: str, *, quick: bool) -> None:
    hostile = piece * ((10_000 if quick else 100_000) // len(piece))
    row = " ".join(hostile.split("\n")).replace('"', "'")
    assert lint(f"{COMPLETE}{hostile}\n# {hostile}\n")
    assert lint(description=f"{row[:50_000]}")
