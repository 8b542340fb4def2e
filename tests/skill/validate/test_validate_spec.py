"""The profiles `spec` and `upload`: what they find, where, and what they would do about it."""

from __future__ import annotations

import pytest

from whet.notes import Note
from whet.skill.validate import ValidationInput, valid, validate


def check(text: str | bytes, directory: str = "demo", main: str = "SKILL.md") -> list[Note]:
    return list(validate(ValidationInput(directory, text, main, (main,))))


def test_a_good_package_has_no_findings_under_spec_and_upload() -> None:
    text = (
        "---\nname: demo\ndescription: Reads PDF files.\nlicense: MIT\ncompatibility: Needs git.\n"
        "metadata:\n  version: '1.0'\nallowed-tools: Read Bash(git:*)\n---\n\n# Demo\n"
    )
    package = ValidationInput("demo", text, "SKILL.md", ("SKILL.md",))
    assert validate(package) == ()
    assert validate(package, "upload") == ()
    assert validate(package._replace(text=text.replace("\n", "\r\n").encode())) == ()


def test_all_problems_are_reported_with_their_lines() -> None:
    text = "---\nname: My_Demo\ncolour: [red]\ndescription:\ncompatibility:\n- git\nmetadata:\n  a: 1\n  b: [c]\n---\n"
    assert check(text) == [
        Note(
            "unknown-key",
            "error",
            "The key 'colour' is not in the specification, which has name, description, license, compatibility,"
            " metadata, allowed-tools.",
            line=3,
        ),
        Note(
            "name-not-lowercase",
            "error",
            "The name 'My_Demo' has capital letters.",
            line=2,
            fix="Sets the name to 'demo'.",
        ),
        Note(
            "name-bad-character",
            "error",
            "The name 'My_Demo' has characters other than letters, digits and hyphens: '_'.",
            line=2,
            fix="Sets the name to 'demo'.",
        ),
        Note(
            "name-directory-mismatch",
            "error",
            "The name 'My_Demo' differs from the directory 'demo'.",
            line=2,
            fix="Sets the name to 'demo'.",
        ),
        Note("description-missing", "error", "There is no description.", line=4),
        Note("compatibility-refused", "error", "The compatibility field is not text.", line=5),
        Note(
            "metadata-not-text",
            "warning",
            "metadata.a is not text; expected a string.",
            line=8,
            fix="Puts the value in quotes.",
        ),
        Note("metadata-not-text", "warning", "metadata.b is a list; expected a string.", line=9),
    ]


def test_optional_keys_are_judged_beside_missing_ones() -> None:
    assert [f.code for f in check("---\nname: demo\nmetadata: [a]\n---\n")] == [
        "description-missing",
        "metadata-not-a-map",
    ]


def test_without_a_directory_the_name_is_not_compared() -> None:
    assert check("---\nname: demo\ndescription: x\n---\n", directory="") == []


def test_a_directory_that_breaks_the_rules_itself_is_no_fix() -> None:
    findings = check("---\nname: demo\ndescription: x\n---\n", directory="My Demo")
    assert [(f.code, f.fix) for f in findings] == [("name-directory-mismatch", "")]


def test_a_main_file_that_only_whet_reads_is_an_error() -> None:
    expected = Note("main-file-name", "error", "The main file is named SKILLS.md, not SKILL.md.")
    assert check("---\nname: demo\ndescription: x\n---\n", main="SKILLS.md") == [expected]


def test_another_main_file_is_none() -> None:
    expected = Note("skill-md-missing", "error", "There is no SKILL.md; README.md is not a main file.")
    assert check("---\nname: demo\ndescription: x\n---\n", main="README.md") == [expected]
    assert validate(ValidationInput("demo", None)) == (Note("skill-md-missing", "error", "There is no SKILL.md."),)


def test_broken_yaml_stands_alone_where_the_values_are_guesses() -> None:
    assert [f.code for f in check("---\nname: [a\nx: 'y\n- z\n---\n")] == ["yaml-rescued"]
    assert [f.code for f in check("Just text.\n")] == ["no-frontmatter"]


def test_repaired_yaml_is_judged_by_what_was_read() -> None:
    findings = check("---\nname: demo\ndescription: Use when: asked\nextra: x\n---\n")
    assert [(f.code, f.line, f.fix) for f in findings] == [
        ("yaml-repaired", 3, "Quotes the values as Whet reads them."),
        ("unknown-key", 4, "Moves the key to metadata.extra."),
    ]


def test_numbers_count_as_the_text_they_were_written_as() -> None:
    assert [(f.code, f.severity) for f in check("---\nname: 007\ndescription: 1.10\n---\n", directory="007")] == [
        ("name-not-text", "warning"),
        ("description-not-text", "warning"),
    ]


def test_a_comment_beside_a_value_is_a_warning_and_one_in_its_place_an_error() -> None:
    beside = check("---\nname: demo\ndescription: Finds the #1 tool\n---\n")
    assert [(f.code, f.severity, f.fix) for f in beside] == [("comment-as-value", "warning", "")]
    instead = check("---\nname: demo\ndescription: # Finds tools\n---\n")
    assert [(f.code, f.severity, f.fix) for f in instead] == [
        ("comment-as-value", "error", "Puts the value in quotes.")
    ]


@pytest.mark.parametrize(
    ("entry", "fix"),
    [
        ("version: 1.0", "Moves the key to metadata.version."),
        ("some-key: text", "Moves the key to metadata.some-key."),
        ("tags: [a, b]", "Moves the key to metadata.tags."),
        ("tags: ['a, b']", ""),
        ("colours: [a]", ""),
        ("empty:", ""),
        ("disable-model-invocation: true", ""),
        ("category: pdf", ""),
        ("hermes_version: 1.0", "Moves the key to metadata.hermes_version."),
        ("version: 1.0\nmetadata:\n  version: 2.0", ""),
        ("version: 1.0\nmetadata: text", ""),
        ("version: 1.0\nmetadata: {a: b}", ""),
        ("version: 1.0\nversion: 2.0", ""),
    ],
)
def test_an_unknown_key_can_be_moved_where_nothing_is_lost_by_it(entry: str, fix: str) -> None:
    findings = check(f"---\nname: demo\ndescription: x\n{entry}\n---\n")
    assert next(f for f in findings if f.code in ("unknown-key", "dialect-key")).fix == fix


# --- upload -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "main", "code"),
    [
        ("---\nname: demo\ndescription: x\nmetadata:\n  a: 1\n---\n", "SKILL.md", "metadata-not-text"),
        ("---\nname: demo\ndescription: x\nmetadata: [a]\n---\n", "SKILL.md", "metadata-not-a-map"),
        ("---\nname: demo\ndescription: x\nallowed-tools: [Read]\n---\n", "SKILL.md", "allowed-tools-not-text"),
        ("---\nname: demo\ndescription: 5\n---\n", "SKILL.md", "description-not-text"),
        ("---\nname: demo\ndescription: x\ncompatibility: 3\n---\n", "SKILL.md", "compatibility-not-text"),
        ("\ufeff---\nname: demo\ndescription: x\n---\n", "SKILL.md", "byte-order-mark"),
        ("---\nname: demo\ndescription: x\n---\n", "skill.md", "main-file-name"),
    ],
)
def test_what_the_specification_warns_of_a_strict_host_refuses(text: str, main: str, code: str) -> None:
    package = ValidationInput("demo", text, main, (main,))
    assert [(f.code, f.severity) for f in validate(package)] == [(code, "warning")]
    assert [(f.code, f.severity) for f in validate(package, "upload")] == [(code, "error")]
    assert valid(validate(package)) and not valid(validate(package, "upload"))


@pytest.mark.parametrize(
    ("name", "description", "codes"),
    [
        ("demo", "a < b", ["angle-brackets"]),
        ("my-claude", "x", ["name-reserved-word"]),
        ("anthropic-claude", "x", ["name-reserved-word", "name-reserved-word"]),
        ("демо", "x", ["name-not-ascii"]),
        ("demo", "x & y", []),
    ],
)
def test_strict_hosts_have_rules_of_their_own(name: str, description: str, codes: list[str]) -> None:
    package = ValidationInput(name, f"---\nname: {name}\ndescription: {description}\n---\n")
    assert validate(package) == ()
    assert [f.code for f in validate(package, "upload")] == codes
