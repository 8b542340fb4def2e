"""What every change of a skill keeps to: the version goes up, limits hold, nothing that was whole is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whet.authoring.drafts import (
    LIMITS,
    Draft,
    Limits,
    create,
    edit,
    improve,
    patch,
    remove_file,
    write_file,
)
from whet.errors import InvalidError, UsageError, WhetError
from whet.skill.tree import Item, Tree

if TYPE_CHECKING:
    from collections.abc import Callable

ABOUT = 'Writes release notes from commits. Use when the user says "release notes" or "what changed".'
SKILL = f"""\
---
# kept
name: notes
description: {ABOUT}
license: 'MIT'  # free
metadata:
    author: "me"  # who
    version: 1.2.9
---

# Notes

Read the commits.

Write the notes.
"""
BROKEN = "the frontmatter cannot be edited: its YAML is too damaged to tell the entries apart"


def tree(text: str | bytes = SKILL, /, **files: bytes) -> Tree:
    data = text.encode() if isinstance(text, str) else text
    return {"SKILL.md": Item(data)} | {f"references/{name}.md": Item(content) for name, content in files.items()}


def text(draft: Draft) -> str:
    return draft.tree["SKILL.md"].data.decode()


def rows(draft: Draft, before: str = SKILL) -> tuple[list[str], list[str]]:
    """The rows of the main file that are gone, and those that are new."""
    old, new = before.split("\n"), text(draft).split("\n")
    return [row for row in old if row not in new], [row for row in new if row not in old]


def refused(call: Callable[[], Draft], kind: type[WhetError], code: str) -> WhetError:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.hint
    return caught.value


# --- the version ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frontmatter", "version", "row"),
    [
        ("version: 3", "4", 'version: "4"'),
        ("version: 1.10 # one", "1.11", 'version: "1.11" # one'),
        ("version: 'v2'\nmetadata:\n  version: other", "v3", "version: 'v3'"),
        ("metadata: {version: '1'}\nversion: '1'", "2", "version: '2'"),
        ("version: '1'\nmetadata:\n  version: '1'", "2", "  version: '2'"),
        ("metadata:\n  version: '0.9.9'", "0.9.10", "  version: '0.9.10'"),
        ("metadata:\n  author: me", "2", '  version: "2"'),
        ("license: MIT", "2", '  version: "2"'),
        ("version: [1]", "2", '  version: "2"'),
    ],
)
def test_the_version_goes_up_where_the_skill_keeps_it(frontmatter: str, version: str, row: str) -> None:
    before = f"---\nname: notes\ndescription: {ABOUT}\n{frontmatter}\n---\nRead.\n"
    draft = write_file(tree(before), "references/a.md", b"a")
    assert draft.version == version
    assert rows(draft, before)[1][-1] == row


def test_the_caller_decides_on_the_version() -> None:
    for told, version in (("major", "2.0.0"), ("minor", "1.3.0"), ("patch", "1.2.10"), ("7", "7"), ("keep", "1.2.9")):
        assert edit(tree(), "Other.", version=told).version == version
    assert edit(tree(), "Other.", version="keep").warnings == ("The version stays '1.2.9': you asked for.",)
    refused(lambda: edit(tree(), "Other.", version="a b"), UsageError, "bad-version")


@pytest.mark.parametrize(
    ("before", "version", "warning"),
    [
        ("Read.\n", "", "The skill stays without a version: it has no frontmatter."),
        (
            "---\nname: a\ndescription: b\nmetadata:\n  ? version\n  : '1'\n---\nRead.\n",
            "1",
            "The version stays '1': the frontmatter cannot be edited: 'version' has its value on another line.",
        ),
        (
            "---\nname: a\n- b\n---\nRead.\n",
            "",
            f"The skill stays without a version: {BROKEN}.",
        ),
    ],
)
def test_a_version_that_cannot_be_written_is_reported(before: str, version: str, warning: str) -> None:
    draft = write_file(tree(before), "references/a.md", b"a")
    assert draft == Draft(tree(before, a=b"a"), version, 0, (warning,))


def test_a_version_that_was_asked_for_and_cannot_be_written_is_an_error() -> None:
    before = "---\nname: a\ndescription: b\nmetadata:\n  ? version\n  : '1'\n---\nRead.\n"
    refused(lambda: edit(tree(before), "Do.", version="2"), InvalidError, "cannot-edit")


# --- limits and rules -------------------------------------------------------------------------------------------------


def test_the_limits_are_those_of_the_specification() -> None:
    assert Limits() == LIMITS == (100_000, 1_048_576, 64, 8_388_608)


def test_a_skill_that_grows_too_large_is_refused() -> None:
    files = {f"references/{number}.md": Item(b"") for number in range(63)}
    large = {f"assets/{number}": Item(bytes(1 << 20)) for number in range(7)}
    cases: list[tuple[Callable[[], Draft], str, dict[str, Any]]] = [
        (lambda: edit(tree(), "a" * 100_000), "body-too-long", {"size": 100_002, "limit": 100_000}),
        (lambda: create("notes", description=ABOUT, body="a" * (1 << 20)), "body-too-long", {}),
        (lambda: edit(tree(), "a" * ((1 << 20) + 1)), "file-too-large", {"limit": 1 << 20}),
        (lambda: write_file(tree(), "assets/a", bytes((1 << 20) + 1)), "file-too-large", {"size": (1 << 20) + 1}),
        (lambda: write_file({**tree(), **files}, "assets/a", b""), "too-many-files", {"size": 65, "limit": 64}),
        (lambda: write_file({**tree(), **large}, "assets/a", bytes(1 << 20)), "skill-too-large", {"limit": 8 << 20}),
        (
            lambda: patch(tree(a=b"aaaa"), "a", "b" * (1 << 19), path="references/a.md", every=True),
            "file-too-large",
            {},
        ),
    ]
    for call, code, details in cases:
        assert refused(call, InvalidError, code).details.items() >= details.items()


def test_a_skill_that_is_too_large_may_become_smaller() -> None:
    before = {**tree(SKILL + "a\n" * 60_000), **{f"assets/{number}": Item(bytes(2 << 20)) for number in range(70)}}
    draft = remove_file(before, "assets/7")
    assert len(draft.tree) == 70
    smaller = edit(draft.tree, "b" * 100_001)
    assert len(write_file(smaller.tree, "assets/1", b"small").tree) == 70


def test_a_skill_that_was_invalid_may_be_changed_but_not_get_worse() -> None:
    before = "---\nname: Bad Name\nplatforms: [linux]\ndescription: Use when: asked\n---\nRead.\n"
    draft = patch(tree(before), "Read.", "See.")
    assert rows(draft, before)[1] == ["metadata:", '  version: "2"', "See."]
    refused(lambda: patch(tree(before), "Use when: asked", "''"), InvalidError, "would-break")
    assert patch(tree(before), "Use when: asked", "Use when asked").version == "2"


def test_a_skill_that_could_not_be_read_may_be_mended() -> None:
    before = "---\nname: Bad Name\n- b\ndescription: x\n---\nRead.\n"
    assert patch(tree(before), "- b\n", "").version == "2"


def test_bytes_that_are_not_utf8_survive() -> None:
    before = SKILL.encode().replace(b"commits.\n\n", b"commits\xff.\n\n")
    draft = write_file(tree(before), "references/a.md", b"\xff")
    assert draft.tree == {
        "SKILL.md": Item(before.replace(b"1.2.9", b"1.2.10")),
        "references/a.md": Item(b"\xff"),
    }


@pytest.mark.parametrize("wrong", ["a\0b", "a\ud800b"])
def test_what_no_text_file_can_hold_is_refused(wrong: str) -> None:
    for call in (
        lambda: create("notes", description=ABOUT, body=wrong),
        lambda: improve(tree(), body=wrong),
        lambda: edit(tree(), wrong),
        lambda: patch(tree(), "Read", wrong),
    ):
        refused(call, UsageError, "bad-text")


def test_a_tree_without_a_main_file_is_no_skill() -> None:
    refused(lambda: edit({"references/SKILL.md": Item(b"")}, "x"), UsageError, "not-a-package")
