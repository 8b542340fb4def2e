"""Every code is in the table, every code of the table can be met, and each has its severity."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from whet.errors import UsageError
from whet.notes import Note
from whet.skill.validate import Profile, ValidationInput, valid, validate
from whet.skill.validate.quality import EXAMPLES, example_for

CODES: dict[str, str] = tomllib.loads((Path(__file__).parents[3] / "docs" / "codes.toml").read_text())["findings"]
HEAD = (
    "---\nname: demo\ndescription: Reads PDF files, and fills their forms. Use when the user mentions a '.pdf' file.\n"
)
BODY = "---\n# Demo\n\nText.\n"
GOOD = HEAD + BODY


def spec(text: str | bytes, directory: str = "demo", main: str = "SKILL.md") -> tuple[ValidationInput, Profile]:
    return ValidationInput(directory, text, main, (main,)), "spec"


def upload(text: str, directory: str = "demo") -> tuple[ValidationInput, Profile]:
    return ValidationInput(directory, text, "SKILL.md", ("SKILL.md",)), "upload"


def named(name: str) -> tuple[ValidationInput, Profile]:
    return spec(f"---\nname: {name}\ndescription: x\n{BODY}")


def described(description: str) -> tuple[ValidationInput, Profile]:
    return quality(f"---\nname: demo\ndescription: {description}\n{BODY}")


def quality(text: str, *files: str, published: bool = False) -> tuple[ValidationInput, Profile]:
    return ValidationInput("demo", text, "SKILL.md", ("SKILL.md", *files), published), "quality"


def packaged(
    manifest: str | None, *, example: bytes = b"{}", tools: frozenset[str] | None = frozenset()
) -> tuple[ValidationInput, Profile]:
    beside = {"prompts/examples/one.json": example} | ({"skill.json": manifest.encode()} if manifest else {})
    files = ("SKILL.md", *beside)
    hosts = {"hermes": "0.8.1"}
    return ValidationInput("demo", GOOD, files=files, beside=beside, hosts=hosts, tools=tools), "package"


CASES: dict[str, tuple[ValidationInput, Profile]] = {
    "skill-md-missing": (ValidationInput("demo", None, "SKILL.md", ("README.md",)), "spec"),
    "main-file-name": spec(GOOD, main="skill.md"),
    "invalid-utf8": spec(GOOD.encode() + b"\xff"),
    "byte-order-mark": spec(f"\ufeff{GOOD}"),
    "no-final-newline": quality(f"{GOOD}No end"),
    "no-frontmatter": spec("# Demo\n"),
    "unclosed-frontmatter": spec(f"{HEAD}\n# Demo\n"),
    "frontmatter-too-large": spec(f"{HEAD}license: {'x' * 70_000}\n{BODY}"),
    "yaml-repaired": spec(f"---\nname: demo\ndescription: a: b\n{BODY}"),
    "yaml-rescued": spec(f"---\n- a\n{BODY}"),
    "duplicate-key": spec(f"{HEAD}name: demo\n{BODY}"),
    "comment-as-value": spec(f"---\nname: demo\ndescription: # x\n{BODY}"),
    "unknown-key": spec(f"{HEAD}colour: red\n{BODY}"),
    "dialect-key": spec(f"{HEAD}tags: [a]\n{BODY}"),
    "package-json-missing": packaged(None),
    "package-json-invalid": packaged("[]"),
    "package-field-missing": packaged("{}"),
    "package-id-invalid": packaged('{"id": "No Id"}'),
    "package-version-invalid": packaged('{"version": "1"}'),
    "package-range-invalid": packaged('{"hermes_version": "new"}'),
    "package-range-unmet": packaged('{"hermes_version": ">=2"}'),
    "package-tool-missing": packaged('{"tools_required": ["saw"]}'),
    "package-tool-unchecked": packaged('{"tools_required": ["saw"]}', tools=None),
    "package-file-missing": packaged('{"entry_point": "prompts/system.md"}'),
    "package-example-invalid": packaged("{}", example=b"{"),
    "skill-json-disagrees": packaged('{"description": "Other."}'),
    "name-missing": spec(f"---\ndescription: x\n{BODY}"),
    "name-not-text": named("12"),
    "name-refused": named("[a]"),
    "name-empty": named("''"),
    "name-too-long": named("n" * 65),
    "name-not-lowercase": named("Demo"),
    "name-edge-hyphen": named("a-"),
    "name-double-hyphen": named("a--b"),
    "name-bad-character": named("a_b"),
    "name-directory-mismatch": named("other"),
    "name-not-ascii": upload(f"---\nname: démo\ndescription: x\n{BODY}", "démo"),
    "name-reserved-word": upload(f"---\nname: claude-demo\ndescription: x\n{BODY}", "claude-demo"),
    "description-missing": spec(f"---\nname: demo\ndescription: null\n{BODY}"),
    "description-not-text": spec(f"---\nname: demo\ndescription: 5\n{BODY}"),
    "description-refused": spec(f"---\nname: demo\ndescription: [a]\n{BODY}"),
    "description-too-long": spec(f"---\nname: demo\ndescription: {'d' * 1025}\n{BODY}"),
    "angle-brackets": upload(f"---\nname: demo\ndescription: a <b>\n{BODY}"),
    "compatibility-empty": spec(f"{HEAD}compatibility:\n{BODY}"),
    "compatibility-not-text": spec(f"{HEAD}compatibility: 3\n{BODY}"),
    "compatibility-refused": spec(f"{HEAD}compatibility: [git]\n{BODY}"),
    "compatibility-too-long": spec(f"{HEAD}compatibility: {'c' * 501}\n{BODY}"),
    "license-not-text": spec(f"{HEAD}license: 3\n{BODY}"),
    "license-refused": spec(f"{HEAD}license: [MIT]\n{BODY}"),
    "allowed-tools-not-text": spec(f"{HEAD}allowed-tools: [Read]\n{BODY}"),
    "metadata-not-a-map": spec(f"{HEAD}metadata: [a]\n{BODY}"),
    "metadata-not-text": spec(f"{HEAD}metadata:\n  version: 1.0\n{BODY}"),
    "description-from-body": quality(f"---\nname: demo\n{BODY}"),
    "description-short": described("Reads PDFs when asked."),
    "description-says-no-what": described("Use this skill when the user mentions a PDF file, or a form."),
    "description-says-no-when": described("Reads PDF files such as forms, and fills them with values."),
    "description-no-triggers": described("Reads files and fills their forms whenever that is needed."),
    "description-vague": described("Helps with PDF files and more. Use when asked about '.pdf' files."),
    "description-marketing": described("A powerful reader of PDF files. Use when asked about '.pdf' files."),
    "body-empty": quality(f"{HEAD}---\n"),
    "body-too-long": quality(GOOD + "row\n" * 501),
    "body-too-many-tokens": quality(GOOD + "word " * 4_200),
    "section-missing": quality(GOOD),
    "examples-few": quality(f"{GOOD}\n## Examples\n\nOne.\n"),
    "step-without-check": quality(f"{GOOD}\n## Steps\n\n1. Do it.\n"),
    "reference-dangling": quality(f"{GOOD}\nSee [more](references/more.md).\n"),
    "path-not-portable": quality(GOOD, "references/aux.md"),
    "reference-nested": quality(GOOD, "references/a/b.md"),
    "broad-tool-grant": quality(f"{HEAD}allowed-tools: Read Bash\n{BODY}"),
    "incident-log-shape": quality(f"{GOOD}\nSee PR #11, issue #12, #1234 and pull request 14.\n"),
    "leftover-marker": quality(f"{GOOD}\nTODO: write this.\n"),
}

ERRORS = {
    *("skill-md-missing", "invalid-utf8", "no-frontmatter", "unclosed-frontmatter", "frontmatter-too-large"),
    *("yaml-repaired", "yaml-rescued", "duplicate-key", "comment-as-value", "unknown-key", "name-missing"),
    *("name-refused", "name-empty", "name-too-long", "name-not-lowercase", "name-edge-hyphen", "name-double-hyphen"),
    *("name-bad-character", "name-directory-mismatch", "name-not-ascii", "name-reserved-word", "description-missing"),
    *("description-refused", "description-too-long", "angle-brackets", "compatibility-refused"),
    *("compatibility-too-long", "package-json-missing", "package-json-invalid", "package-field-missing"),
    *("package-id-invalid", "package-version-invalid", "package-range-invalid", "package-range-unmet"),
    *("package-tool-missing", "package-file-missing", "package-example-invalid"),
}


def test_every_code_of_the_table_has_a_case() -> None:
    assert CASES.keys() == CODES.keys()


@pytest.mark.parametrize("code", CASES)
def test_the_case_of_a_code_emits_it_and_only_known_ones(code: str) -> None:
    findings = validate(*CASES[code])
    emitted = {finding.code for finding in findings}
    assert code in emitted
    assert emitted <= CODES.keys()
    assert ("error" in {f.severity for f in findings if f.code == code}) == (code in ERRORS)


@pytest.mark.parametrize("code", sorted(CODES))
def test_codes_and_sentences_have_the_shape_of_the_house(code: str) -> None:
    assert code == code.lower().replace("_", "-").strip("-")
    assert CODES[code][0].isupper() and CODES[code].endswith(".")


def test_messages_are_sentences_about_a_line_of_the_file() -> None:
    for package, profile in CASES.values():
        text = package.text or ""
        lines = (text if isinstance(text, str) else text.decode("utf-8", "replace")).count("\n") + 1
        for finding in validate(package, profile):
            assert finding.message.endswith(".")
            assert finding.line is None or 1 <= finding.line <= lines
            assert not finding.fix or finding.fix.endswith(".")


def test_only_errors_make_a_package_invalid() -> None:
    finding = Note("a", "warning", "A.")
    assert valid([finding, finding._replace(severity="info")])
    assert not valid([finding, finding._replace(severity="error")])
    assert valid([])


def test_a_finding_is_the_same_in_json() -> None:
    finding = Note("a", "warning", "A.", line=3, fix="B.")
    assert finding.to_finding() == {"code": "a", "severity": "warning", "line": 3, "message": "A.", "fix": "B."}


def test_every_quality_finding_has_an_example_of_its_own() -> None:
    found = [note for case, profile in CASES.values() if profile == "quality" for note in validate(case, "quality")]
    of_quality = {note.code for note in found} - {
        note.code for case, _ in CASES.values() for note in validate(case, "spec")
    }
    every = of_quality | {"leftover-marker", "reference-dangling"}  # spec has these, too
    assert {code for code in every if code in CODES} == set(EXAMPLES)
    missing = {example_for(note) for note in found if note.code == "section-missing"}
    assert len(missing) == 6 and all(map(example_for, (note for note in found if note.code in EXAMPLES)))


def test_an_unknown_profile_is_a_usage_error() -> None:
    with pytest.raises(UsageError) as caught:
        validate(ValidationInput("demo", GOOD), "strict")  # type: ignore[arg-type]  # what an untyped caller can pass
    assert caught.value.code == "unknown-profile"
