"""Drafts: a skill's files before and after a change, with nothing else touched and nothing broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whet.authoring.drafts import (
    Draft,
    check_category,
    create,
    edit,
    improve,
    patch,
    remove_file,
    rename,
    write_file,
)
from whet.errors import ConflictError, InvalidError, NotFoundError, UsageError, WhetError
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
NOTHING = "No change: the skill already says this."


def tree(text: str | bytes = SKILL, /, **files: bytes) -> Tree:
    data = text.encode() if isinstance(text, str) else text
    return {"SKILL.md": Item(data)} | {f"references/{name}.md": Item(content) for name, content in files.items()}


def text(draft: Draft) -> str:
    return draft.tree["SKILL.md"].data.decode()


def rows(draft: Draft, before: str = SKILL) -> tuple[list[str], list[str]]:
    """The rows of the main file that are gone, and those that are new."""
    old, new = before.split("\n"), text(draft).split("\n")
    return [row for row in old if row not in new], [row for row in new if row not in old]


def refused(call: Callable[[], object], kind: type[WhetError], code: str) -> WhetError:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.hint
    return caught.value


# --- create -----------------------------------------------------------------------------------------------------------


def test_a_bare_body_gets_frontmatter() -> None:
    assert create("notes", description=ABOUT, body="# Notes\n\nRead the commits.") == Draft(
        tree(
            f'---\nname: notes\ndescription: {ABOUT}\nmetadata:\n  version: "1"\n---\n\n# Notes\n\nRead the commits.\n'
        ),
        "1",
    )


def test_a_new_skill_is_called_by_its_slug_and_says_so() -> None:
    draft = create("Release Notes!", description=ABOUT, body="Read.")
    assert text(draft).startswith("---\nname: release-notes\n")
    assert draft.warnings == ("The skill is named release-notes, because 'Release Notes!' is not a valid skill name.",)


def test_a_whole_document_keeps_its_keys() -> None:
    draft = create("notes", description="", body=SKILL)
    assert draft == Draft(tree(), "1.2.9")


def test_a_whole_document_gets_what_it_lacks() -> None:
    draft = create("notes", description=ABOUT, body="\n\n---\nlicense: MIT\n---\nRead.")
    assert text(draft) == (
        f'---\nlicense: MIT\nname: notes\ndescription: {ABOUT}\nmetadata:\n  version: "1"\n---\nRead.\n'
    )


def test_the_given_name_and_description_win_over_those_of_the_document() -> None:
    draft = create("other", description="Use when B.", body=SKILL)
    assert rows(draft) == (
        ["name: notes", f"description: {ABOUT}"],
        ["name: other", "description: Use when B."],
    )
    assert draft.warnings[:2] == (
        "The document has the name 'notes'; the skill is named other.",
        "The description you passed replaces the one in the document.",
    )


def test_values_that_are_not_yaml_are_put_in_quotes() -> None:
    body = "---\nname: notes\ndescription: Use when: notes are due\nlicense: 'MIT'\n---\nRead.\n"
    draft = create("notes", description="", body=body)
    assert rows(draft, body)[1][0] == 'description: "Use when: notes are due"'
    assert draft.warnings[0] == "Frontmatter values were quoted to make them valid YAML."


def test_values_below_metadata_are_put_in_quotes_too() -> None:
    body = "---\nname: notes\ndescription: Notes\na: b\na.b:\nmetadata:\n  note: see: below\n---\nRead.\n"
    draft = create("notes", description="", body=body)
    assert rows(draft, body) == (["  note: see: below"], ['  note: "see: below"', '  version: "1"'])


def test_a_document_that_cannot_be_read_is_refused() -> None:
    error = refused(
        lambda: create("notes", description=ABOUT, body="---\n- a\n- b\n---\nRead."), InvalidError, "would-break"
    )
    assert [finding["code"] for finding in error.details["findings"]] == ["yaml-rescued"]
    error = refused(
        lambda: create("notes", description=ABOUT, body="---\nname: x\n\nRead."), InvalidError, "would-break"
    )
    assert error.hint == (
        "Nothing was changed. See line 1 of the result. Add a --- line after the last frontmatter key."
    )


def test_a_rule_of_dashes_opens_no_frontmatter() -> None:
    assert text(create("notes", description=ABOUT, body="---\n\n# Notes\n")).endswith("---\n\n---\n\n# Notes\n")


def test_crlf_and_a_byte_order_mark_survive() -> None:
    assert b"\n" not in create("notes", description=ABOUT, body="A\r\nB").tree["SKILL.md"].data.replace(b"\r\n", b"")
    marked = create("notes", description=ABOUT, body="\ufeff---\r\nlicense: MIT\r\n---\r\nA\r\n").tree["SKILL.md"].data
    assert marked.startswith(b"\xef\xbb\xbf---\r\nlicense: MIT\r\nname: notes\r\n")
    assert b"\n" not in marked.replace(b"\r\n", b"")


@pytest.mark.parametrize(
    "name", ["", " ", "a\n", "a\x00", " a", "a" * 65, "ﬃ" * 30, "nul", "venv", "a\u200bb", "\ud800"]
)
def test_a_name_is_refused_not_trimmed(name: str) -> None:
    refused(lambda: create(name, description=ABOUT, body="Read."), UsageError, "bad-name")
    refused(lambda: rename(tree(), name), UsageError, "bad-name")


@pytest.mark.parametrize("description", ["", " \n", "a" * 1025, "a\x1bb"])
def test_a_description_is_refused_not_cut(description: str) -> None:
    refused(lambda: create("notes", description=description, body="Read."), UsageError, "bad-description")
    if description:
        refused(lambda: improve(tree(), description=description, body="Read."), UsageError, "bad-description")


@pytest.mark.parametrize("category", ["../x", "/x", ".x", "a//b", "a\\b", "a ", "a" * 65, "con", "a\nb"])
def test_a_category_must_be_fit_for_a_directory(category: str) -> None:
    refused(lambda: check_category(category), UsageError, "bad-category")


# --- improve ----------------------------------------------------------------------------------------------------------


def test_improving_changes_body_description_and_version_only() -> None:
    before = tree(a=b"a")
    draft = improve(before, description="Writes notes. Use when asked.", body="# Better\n\nDo it.\n")
    old = SKILL.partition("\n\n# Notes")[0]
    new = old.replace(ABOUT, "Writes notes. Use when asked.").replace("1.2.9", "1.2.10")
    assert draft.tree == tree(f"{new}\n\n# Better\n\nDo it.\n", a=b"a")
    assert draft.version == "1.2.10"
    assert before == tree(a=b"a")


def test_improving_with_a_whole_document_takes_its_body_and_description() -> None:
    document = "---\nname: other\ndescription: Use when B.\nlicense: MIT\n---\nDo it.\n"
    draft = improve(tree(), body=document)
    assert rows(draft)[1] == ["description: Use when B.", "    version: 1.2.10", "Do it."]
    assert draft.warnings[0] == "Ignored frontmatter keys: name. Use edit to replace the frontmatter."


def test_improving_a_skill_without_frontmatter_begins_one() -> None:
    draft = improve(tree("Read.\n"), description=ABOUT)
    assert text(draft) == f'---\ndescription: {ABOUT}\nmetadata:\n  version: "2"\n---\nRead.\n'
    assert draft.warnings == ("There is no name.",)


def test_improving_with_what_is_there_changes_nothing() -> None:
    before = tree()
    body = SKILL.partition("---\n\n")[2]
    assert improve(before, description=ABOUT, body=body, version="major") == Draft(before, "1.2.9", 0, (NOTHING,))


def test_improving_needs_something_to_improve() -> None:
    refused(lambda: improve(tree(), version="2"), UsageError, "nothing-given")


# --- edit -------------------------------------------------------------------------------------------------------------


def test_a_text_without_frontmatter_is_the_new_body() -> None:
    draft = edit(tree(), "# Other")
    assert rows(draft)[1] == ["    version: 1.2.10", "# Other"]
    assert text(draft).endswith("---\n\n# Other\n")


def test_a_document_replaces_the_old_one_and_inherits_what_it_lacks() -> None:
    draft = edit(tree(), "---\nlicense: Apache-2.0\n---\n\nDo it.")
    assert text(draft) == (
        f"---\nlicense: Apache-2.0\nname: notes\ndescription: {ABOUT}\nmetadata:\n  version: 1.2.10\n---\n\nDo it.\n"
    )
    assert draft.warnings[:3] == (
        "The new document has no name; the old one is kept.",
        "The new document has no description; the old one is kept.",
        "The frontmatter no longer has metadata.author.",
    )


def test_a_version_in_the_new_document_counts() -> None:
    assert edit(tree(), SKILL.replace("1.2.9", '"2.0"')).version == "2.0"
    assert edit(tree(), SKILL.replace("1.2.9", '"2.0"'), version="minor").version == "1.3.0"


def test_a_document_takes_line_ends_and_mark_of_the_file() -> None:
    before = ("\ufeff" + SKILL).replace("\n", "\r\n")
    draft = edit(tree(before), SKILL.replace("Read the", "See the"))
    assert text(draft) == before.replace("Read the", "See the").replace("1.2.9", "1.2.10")
    assert edit(tree(before), SKILL).tree == tree(before)
    assert "\r" not in text(edit(tree(), "A\r\nB\r\n"))


def test_another_name_is_a_rename() -> None:
    refused(lambda: edit(tree(), SKILL.replace("name: notes", "name: other")), UsageError, "rename-by-patch")
    refused(lambda: patch(tree(), "name: notes", "name: other"), UsageError, "rename-by-patch")


def test_a_skill_is_never_left_without_instructions() -> None:
    for call in (
        lambda: edit(tree(), "  \n"),
        lambda: edit(tree(), "---\nname: notes\n---\n"),
        lambda: improve(tree(), body="\n"),
        lambda: create("notes", description=ABOUT, body=""),
    ):
        refused(call, InvalidError, "empty-body")


# --- rename -----------------------------------------------------------------------------------------------------------


def test_renaming_changes_name_and_version() -> None:
    draft = rename(tree(a=b"a"), "News")
    assert rows(draft) == (
        ["name: notes", "    version: 1.2.9"],
        ["name: news", "    version: 1.2.10"],
    )
    assert draft.warnings == ("The skill is named news, because 'News' is not a valid skill name.",)
    assert rename(draft.tree, "news") == Draft(draft.tree, "1.2.10", 0, (NOTHING,))


# --- patch ------------------------------------------------------------------------------------------------------------


def test_a_patch_changes_its_lines_and_the_version() -> None:
    draft = patch(tree(a=b"a"), "Read the commits.", "Read all commits.")
    assert draft.tree == tree(SKILL.replace("Read the", "Read all").replace("1.2.9", "1.2.10"), a=b"a")
    assert draft[1:] == ("1.2.10", 1, ())


def test_a_patch_of_another_file_counts_for_the_version() -> None:
    draft = patch(tree(a=b"one\r\ntwo\r\none\r\n"), "one", "1\n1", path="references/a.md", every=True)
    assert draft.tree == tree(SKILL.replace("1.2.9", "1.2.10"), a=b"1\r\n1\r\ntwo\r\n1\r\n1\r\n")
    assert draft.replacements == 2


def test_the_main_file_can_be_named() -> None:
    for path in ("SKILL.md", ""):
        assert patch(tree(), "Read the", "See the", path=path).replacements == 1
    old = {"skill.md": Item(SKILL.encode())}
    assert [*patch(old, "Read the", "See the", path="SKILL.md").tree] == ["skill.md"]


def test_tolerance_is_reported() -> None:
    draft = patch(tree(), "Read  the commits.", "See the commits.", tolerant=True)
    assert draft.warnings == ("The text to find matched only when ignoring white space.",)


def test_a_patch_that_is_not_found_changes_nothing() -> None:
    refused(lambda: patch(tree(), "Rread", "x"), NotFoundError, "patch-not-found")
    refused(lambda: patch(tree(), "the", "x"), ConflictError, "patch-ambiguous")


@pytest.mark.parametrize(
    ("find", "replace", "said"),
    [
        ("---\n\n# Notes", "\n# Notes", "The frontmatter starts with --- but is never closed."),
        ("name: notes\n", "", "There is no name."),
        (ABOUT, "''", "There is no description."),
        (ABOUT, "a" * 1100, "The description has 1,100 characters; the limit is 1,024."),
        ("license: 'MIT'  # free", "---", "metadata, metadata.author, metadata.version would become unreadable."),
        ("license: 'MIT'  # free", "name: notes", "The key name appears twice; the last one is used."),
        ("# kept\n", "{\n", None),
        (
            "---\n# kept",
            "# kept",
            "The file does not start with a --- line, so it has no name or description.",
        ),
    ],
)
def test_a_patch_never_breaks_the_frontmatter(find: str, replace: str, said: str | None) -> None:
    error = refused(lambda: patch(tree(), find, replace), InvalidError, "would-break")
    assert error.message.startswith("This change would break the skill: ")
    assert said is None or error.message.endswith(said)


def test_a_patch_does_not_swallow_the_next_key() -> None:
    before = SKILL.replace("license: 'MIT'  # free", "license: that of the authors'")
    error = refused(lambda: patch(tree(before), "Writes release", "'Writes release"), InvalidError, "would-break")
    assert (error.message[-33:], error.details["keys"]) == (" license would become unreadable.", ["license"])


def test_a_patch_does_not_make_body_into_frontmatter() -> None:
    before = SKILL.replace("# Notes\n", "# Notes\n---\n")
    error = refused(lambda: patch(tree(before), "---\n\n# Notes", "# Notes"), InvalidError, "would-break")
    assert error.message.endswith("The change would move the start or end of the frontmatter.")


def test_a_patch_may_drop_and_add_keys() -> None:
    dropped = patch(tree(), "license: 'MIT'  # free\n", "")
    assert rows(dropped)[0] == ["license: 'MIT'  # free", "    version: 1.2.9"]
    assert dropped.warnings == ("The frontmatter no longer has license.",)
    listed = SKILL.replace("---\n\n", "tags:\n- a\n- b\n---\n\n")
    assert rows(patch(tree(listed), "- b\n", ""), listed)[0] == ["    version: 1.2.9", "- b"]
    draft = patch(tree(), "  # free", "\nplatforms: [linux]")
    assert draft.warnings[0].startswith("The key 'platforms' is not in the specification")
    both = patch(tree(), "1.2.9\n---\n\n# Notes", '"7"\n---\n\n# News')
    assert (both.version, rows(both)[1]) == ("7", ['    version: "7"', "# News"])


def test_a_patched_value_that_is_not_yaml_is_put_in_quotes() -> None:
    draft = patch(tree(), "commits. Use when", "commits. Use: when")
    assert rows(draft)[1][0] == "description: '" + ABOUT.replace("Use when", "Use: when") + "'"


@pytest.mark.parametrize("item", [Item(b"a\0b"), Item(b"\xff"), Item(b"SKILL.md", link=True)])
def test_only_texts_are_patched(item: Item) -> None:
    refused(lambda: patch({**tree(), "assets/a": item}, "a", "b", path="assets/a"), InvalidError, "not-a-text-file")
    refused(lambda: patch({"SKILL.md": item}, "a", "b"), InvalidError, "not-a-text-file")


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_is_added_replaced_and_removed() -> None:
    one = write_file(tree(), "references/a.md", b"a")
    assert one == Draft(tree(SKILL.replace("1.2.9", "1.2.10"), a=b"a"), "1.2.10")
    two = write_file(one.tree, "references/a.md", b"b", executable=True)
    assert two.tree["references/a.md"] == Item(b"b", executable=True)
    assert write_file(two.tree, "references/a.md", b"c").tree["references/a.md"] == Item(b"c", executable=True)
    assert remove_file(two.tree, "references/a.md") == Draft(tree(SKILL.replace("1.2.9", "1.2.12")), "1.2.12")


def test_writing_what_is_there_changes_nothing() -> None:
    before = tree(a=b"a")
    assert write_file(before, "references/a.md", b"a") == Draft(before, "1.2.9", 0, (NOTHING,))


@pytest.mark.parametrize(
    "path",
    [
        "SKILL.md",
        "skill.MD",
        "x/SKILL.md",
        "skills.md",
        "references/SKILL.md",
        "references/Skills.md",
        "SKILL.md/a.md",
        "references\\SKILL.md",
        "references/SKILL.md.",
        "references/ＳＫＩＬＬ.md",
        "references/SK\u200bILL.md",
        "./SKILL.md",
    ],
)
def test_the_main_file_is_not_touched_through_the_file_calls(path: str) -> None:
    refused(lambda: write_file(tree(), path, b"x"), UsageError, "main-file")
    refused(lambda: remove_file(tree(), path), UsageError, "main-file")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../a", "path-traversal"),
        ("references/../a", "path-traversal"),
        ("/etc/passwd", "path-absolute"),
        ("README.md", "path-not-support"),
        ("references/a\n", "path-control"),
        ("references/con", "path-reserved"),
        ("references/.git/config", "path-ignored"),
        ("scripts/__pycache__/a.pyc", "path-ignored"),
        ("references/.a.whet-tmp-0123456789abcdef", "path-ignored"),
        ("references/" + "a" * 2000, "path-too-long"),
    ],
)
def test_unsafe_paths_are_refused(path: str, code: str) -> None:
    for call in (
        lambda: write_file(tree(), path, b"x"),
        lambda: remove_file(tree(), path),
        lambda: patch(tree(), "a", "b", path=path),
    ):
        refused(call, UsageError, code)


@pytest.mark.parametrize("path", ["references/A.md", "references/a.md/b", "references/link/b", "references/LINK"])
def test_a_path_that_is_in_the_way_on_some_system_is_refused(path: str) -> None:
    before = {**tree(a=b"a"), "references/link": Item(b"a.md", link=True)}
    refused(lambda: write_file(before, path, b"x"), ConflictError, "path-collision")


def test_a_link_is_removed_but_not_written_through() -> None:
    before = {**tree(), "references/link": Item(b"a.md", link=True)}
    refused(lambda: write_file(before, "references/link", b"x"), ConflictError, "path-is-link")
    assert [*remove_file(before, "references/link").tree] == ["SKILL.md"]


def test_a_file_is_found_however_its_name_is_composed() -> None:
    before = {**tree(), "references/e\u0301.md": Item(b"a")}
    assert write_file(before, "references/\u00e9.md", b"b").tree["references/e\u0301.md"] == Item(b"b")
    assert [*remove_file(before, "references/\u00e9.md").tree] == ["SKILL.md"]


def test_a_missing_file_is_named_with_what_there_is() -> None:
    error = refused(lambda: remove_file(tree(guide=b""), "references/giude.md"), NotFoundError, "file-not-found")
    assert error.hint == "Did you mean references/guide.md?"
    assert error.details == {"suggestions": ["references/guide.md"], "files": ["SKILL.md", "references/guide.md"]}
    refused(lambda: patch(tree(), "a", "b", path="references/a.md"), NotFoundError, "file-not-found")


def test_removing_a_file_the_body_points_to_is_said() -> None:
    before = tree(SKILL + "\nSee [a](references/a.md).\n", a=b"a")
    assert remove_file(before, "references/a.md").warnings == ("references/a.md does not exist in the skill.",)
