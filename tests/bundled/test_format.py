"""The bundled skills keep the rules Whet preaches. Plain Python and PyYAML: the validator cannot excuse itself."""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from whet.skill.validate import ValidationInput, validate

BUNDLED = Path(__file__).parents[2] / "src" / "whet" / "bundled"
SKILLS = sorted(path for path in BUNDLED.iterdir() if path.is_dir() and path.name != "__pycache__")
SPEC_KEYS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
SECTIONS = ["Overview", "When to use", "Usage", "Examples", "Dependencies", "Limitations", "Changelog"]
SUPPORT = {"references", "scripts", "templates", "assets"}
PRAISE = re.compile(
    r"\b(?:powerful|seamless(?:ly)?|comprehensive|robust|cutting-edge|effortless(?:ly)?|best-in-class|world-class"
    r"|revolutionary|amazing|blazing(?:ly)?|state-of-the-art|game-changing|leverag(?:e|es|ing)|helps with)\b",
    re.IGNORECASE,
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

each_skill = pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.name)


def files_of(skill: Path) -> list[Path]:
    return sorted(path for path in skill.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


EACH_FILE = [path for skill in SKILLS for path in files_of(skill)]
each_file = pytest.mark.parametrize("path", EACH_FILE, ids=lambda path: path.relative_to(BUNDLED).as_posix())


def split(skill: Path) -> tuple[dict[str, Any], str]:
    """Frontmatter and body of a skill."""
    opening, frontmatter, body = re.split(
        r"^---\n", (skill / "SKILL.md").read_text("utf-8"), maxsplit=2, flags=re.MULTILINE
    )
    assert opening == ""
    values = yaml.safe_load(frontmatter)
    assert isinstance(values, dict)
    return values, body


def without_fences(body: str) -> str:
    """The body with fenced blocks blanked, line by line, so that their content cannot pass for structure."""
    kept, fenced = [], False
    for line in body.splitlines():
        mark = line.lstrip().startswith("```")
        kept.append("" if fenced or mark else line)
        fenced ^= mark
    assert not fenced
    return "\n".join(kept)


def sections(body: str) -> dict[str, str]:
    """Text by level-2 heading, in order."""
    _, *parts = re.split(r"^## (.+)$", without_fences(body), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def items(text: str) -> list[str]:
    return re.findall(r"^- (.+)$", text, flags=re.MULTILINE)


def test_the_twelve_skills_ship() -> None:
    assert [skill.name for skill in SKILLS] == [
        "commit-messages",
        "debugging-systematically",
        "exploring-data-files",
        "incident-postmortems",
        "opening-pull-requests",
        "profiling-python",
        "resolving-conflicts",
        "reviewing-changes",
        "reviewing-migrations",
        "upgrading-dependencies",
        "writing-release-notes",
        "writing-skills",
    ]


@each_skill
def test_frontmatter_has_only_the_portable_keys_with_plain_values(skill: Path) -> None:
    values, _ = split(skill)
    assert set(values) <= SPEC_KEYS
    assert {key: type(value) for key, value in values.items()} == {
        key: dict if key == "metadata" else str for key in values
    }
    assert values["license"] == "MIT"
    assert len(values.get("compatibility", "any")) <= 500
    assert values["metadata"] == {"version": "1.0.0", "author": "Whet"}


@each_skill
def test_metadata_values_are_quoted(skill: Path) -> None:
    text = (skill / "SKILL.md").read_text("utf-8")
    block = re.search(r"^metadata:\n((?:  .+\n)+)", text, flags=re.MULTILINE)
    assert block is not None
    assert re.fullmatch(r'(?:  \w+: "[^"]+"\n)+', block[1])


@each_skill
def test_name_is_the_directory_name(skill: Path) -> None:
    name = split(skill)[0]["name"]
    assert name == skill.name
    assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) and len(name) <= 64


@each_skill
def test_description_says_what_when_and_when_not(skill: Path) -> None:
    description = split(skill)[0]["description"]
    assert len(description) <= 600
    assert not re.search(r"[<>]", description)
    assert not PRAISE.search(description)
    when, when_not = description.index(". Use when "), description.index(". Do NOT use ")
    assert 40 <= when < when_not
    assert len(re.findall(r'"[^"]+"', description[when:when_not])) >= 3
    assert not re.search(r"\b(?:I|you|your|we)\b", description[:when])


@each_skill
def test_granted_tools_are_narrow(skill: Path) -> None:
    for tool in re.findall(r"\S+?(?:\([^)]*\))?(?=\s|$)", split(skill)[0].get("allowed-tools", "")):
        assert tool in {"Read", "Grep", "Glob"} or re.fullmatch(r"Bash\((?:git|gh pr) [a-z-]+:\*\)", tool)


@each_skill
def test_body_has_the_sections_in_order_and_a_length_that_is_read(skill: Path) -> None:
    _, body = split(skill)
    assert [title for title in sections(body) if title in SECTIONS] == SECTIONS
    assert 80 <= len(body.splitlines()) <= 200
    assert len(body) <= 20_000


@each_skill
def test_when_to_use_lists_messages_and_boundaries(skill: Path) -> None:
    use, refuse = sections(split(skill)[1])["When to use"].split("### Do NOT use")
    assert len([item for item in items(use) if re.fullmatch(r'".+"', item)]) >= 3
    assert len(items(refuse)) >= 2


@each_skill
def test_each_step_has_a_success_criterion(skill: Path) -> None:
    usage = sections(split(skill)[1])["Usage"]
    _, *parts = re.split(r"^(\d+)\. ", usage, flags=re.MULTILINE)
    numbers, steps = [int(number) for number in parts[::2]], parts[1::2]
    assert numbers == list(range(1, len(steps) + 1)) and len(steps) >= 3
    assert [step for step in steps if not re.search(r"^ +(?:Success|Done when): \S", step, flags=re.MULTILINE)] == []


@each_skill
def test_examples_show_input_and_output(skill: Path) -> None:
    _, *parts = re.split(r"^### (.+)$", sections(split(skill)[1])["Examples"], flags=re.MULTILINE)
    examples = dict(zip(parts[::2], parts[1::2], strict=True))
    assert len(examples) >= 2
    assert [title for title, text in examples.items() if not ("Input" in text and "Output" in text)] == []


@each_skill
def test_changelog_names_the_version(skill: Path) -> None:
    values, body = split(skill)
    assert items(sections(body)["Changelog"])[0].startswith(f"{values['metadata']['version']}: ")


@each_skill
def test_links_exist_one_level_deep_and_say_when_to_read(skill: Path) -> None:
    body = without_fences(split(skill)[1])
    for paragraph in re.split(r"\n\s*\n|\n(?=\d+\. )", body):
        for target in LINK.findall(paragraph):
            assert target.split("/")[0] in SUPPORT and target.count("/") == 1
            assert (skill / target).is_file()
            assert re.search(r"\b(?:when|before)\b", paragraph)


@each_skill
def test_each_supporting_file_is_mentioned_in_the_body(skill: Path) -> None:
    body = split(skill)[1]
    files = [path.relative_to(skill) for path in files_of(skill) if path.name != "SKILL.md"]
    support = [path.as_posix() for path in files if path.parts[0] != "evals"]  # for authors, not for agents
    assert [path for path in support if path not in body] == []
    assert {path.split("/")[0] for path in support} <= SUPPORT


@each_skill
def test_mentioned_supporting_files_exist(skill: Path) -> None:
    mentioned = set(
        re.findall(r"(?<![\w/])(?:references|scripts|templates|assets)/[\w.-]+\w", (skill / "SKILL.md").read_text())
    )
    examples = {"scripts/backfill.py", "references/lock-times.md"}
    assert {path for path in mentioned if not (skill / path).is_file()} <= examples


@each_skill
def test_references_are_leaves_and_long_ones_have_contents(skill: Path) -> None:
    for path in (skill / "references").glob("*"):
        text = path.read_text("utf-8")
        assert [target for target in LINK.findall(text) if not target.startswith("#")] == []
        headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.+)$", text, flags=re.MULTILINE)}
        listed = {target.removeprefix("#") for target in LINK.findall(text)}
        assert listed == headings if len(text.splitlines()) > 100 else listed <= headings


@each_file
def test_text_is_clean(path: Path) -> None:
    text = path.read_bytes().decode("ascii")
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert "\r" not in text and "\t" not in text
    assert [number for number, line in enumerate(text.split("\n"), 1) if line != line.rstrip()] == []
    about_todos_on_purpose = "writing-skills" in path.parts
    assert about_todos_on_purpose or not re.search(r"\b(?:TODO|FIXME|TBD|lorem ipsum)\b", text)


@each_file
def test_prose_keeps_to_the_point(path: Path) -> None:
    praise_on_purpose = path.name == "description-guide.md"
    assert praise_on_purpose or not PRAISE.search(path.read_text("utf-8"))


@each_skill
def test_body_survives_rendering_untouched(skill: Path) -> None:
    body = split(skill)[1]
    assert re.findall(r"\$\w|\$\{|!`", body) == []


@pytest.mark.parametrize(
    "path", [path for path in EACH_FILE if path.parent.name == "scripts"], ids=lambda path: path.name
)
def test_scripts_are_executable_self_contained_and_documented(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith(
        '#!/usr/bin/env python3\n# /// script\n# requires-python = ">=3.11"\n# dependencies = []\n# ///\n"""'
    )
    assert "Exit codes: " in (ast.get_docstring(ast.parse(text)) or "")
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names
    assert sys.platform == "win32" or os.access(path, os.X_OK)


def test_the_template_becomes_a_skill_by_filling_it_in() -> None:
    text = (BUNDLED / "writing-skills" / "templates" / "SKILL.template.md").read_text("utf-8")
    _, frontmatter, body = re.split(r"^---\n", text, maxsplit=2, flags=re.MULTILINE)
    assert set(yaml.safe_load(frontmatter)) == SPEC_KEYS - {"allowed-tools", "compatibility"}
    assert [title for title in sections(body) if title in SECTIONS] == SECTIONS


@each_skill
def test_a_bundled_skill_has_nothing_to_be_warned_about(skill: Path) -> None:
    files = tuple(path.relative_to(skill).as_posix() for path in skill.rglob("*") if path.is_file())
    package = ValidationInput(skill.name, (skill / "SKILL.md").read_bytes(), files=files, published=True)
    assert validate(package, "upload") == ()
    assert validate(package, "quality") == ()
