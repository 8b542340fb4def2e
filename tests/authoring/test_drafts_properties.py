"""What holds for every change of a skill, whatever the skill and whatever is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from whet.authoring.drafts import Draft, create, edit, improve, patch, remove_file, rename, write_file
from whet.errors import WhetError
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import find_fences, read_document
from whet.skill.tree import Item, Tree
from whet.skill.validate import ValidationInput, valid, validate

if TYPE_CHECKING:
    from collections.abc import Callable

ABOUT = 'Writes release notes from commits. Use when the user says "release notes" or "what changed".'
NOTHING = "No change: the skill already says this."


def tree(main: str | bytes) -> Tree:
    return {"SKILL.md": Item(main.encode() if isinstance(main, str) else main)}


def text(draft: Draft) -> str:
    return draft.tree["SKILL.md"].data.decode()


def assert_helpful(error: WhetError) -> None:
    assert error.code and error.message and error.hint


TEXT = st.text(st.sampled_from("ab: \n-#'\"|>{}[]\r\ufeff\0\ud800é"), max_size=12)
ROW = st.sampled_from(
    [
        "name: a",
        "description: b",
        "description: 'b",
        "version: 1",
        "license: MIT",
        "metadata:",
        "  version: '2'",
        "  author: me",
        "tags: [x]",
        "---",
        "",
        "# c",
        "- d",
        "x: y: z",
        "\t",
        "'",
        "description: |",
        "  text",
    ]
)
BLOCK = st.lists(ROW, max_size=8).map("\n".join)
PIECE = st.one_of(TEXT, ROW, BLOCK)
DOCUMENT = st.tuples(
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["", "name: a\ndescription: b c\n"]),
    BLOCK,
    st.sampled_from(["\n", "\r\n"]),
).map(lambda parts: parts[0] + f"---\n{parts[1]}{parts[2]}\n---\n\nRead.\n".replace("\n", parts[3]))
MAIN = st.one_of(DOCUMENT.map(str.encode), DOCUMENT.map(str.encode), st.binary(max_size=20))
PATH = st.sampled_from(["", "SKILL.md", "references/a.md", "references/A.md", "references/b", "../x", "assets/l"])
VERSION = st.sampled_from(["", "", "major", "3", "keep", "a b"])


def operations(before: Tree) -> st.SearchStrategy[Callable[[], Draft]]:
    """Calls of every operation with all kinds of arguments."""
    main = before["SKILL.md"].data.decode("utf-8", "replace")
    places = st.integers(0, len(main))
    part = st.builds(lambda one, other: main[min(one, other) : max(one, other)], places, places)
    return st.one_of(
        st.builds(lambda d, b, v: lambda: improve(before, description=d, body=b, version=v), PIECE, PIECE, VERSION),
        st.builds(lambda t, v: lambda: edit(before, t, version=v), st.one_of(PIECE, DOCUMENT), VERSION),
        st.builds(lambda n: lambda: rename(before, n), TEXT),
        st.builds(
            lambda f, r, p, e, t, v: lambda: patch(before, f, r, path=p, every=e, tolerant=t, version=v),
            st.one_of(part, PIECE),
            PIECE,
            st.one_of(st.just(""), PATH),
            st.booleans(),
            st.booleans(),
            VERSION,
        ),
        st.builds(lambda p, d, v: lambda: write_file(before, p, d, version=v), PATH, st.binary(max_size=3), VERSION),
        st.builds(lambda p, v: lambda: remove_file(before, p, version=v), PATH, VERSION),
    )


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_change_is_refused_or_numbered_and_no_worse_than_before(data: st.DataObject) -> None:
    main = data.draw(MAIN)
    before = {**tree(main), "references/a.md": Item(b"a b\n"), "assets/l": Item(b"../x", link=True)}
    copy = dict(before)
    try:
        draft = data.draw(operations(before))()
    except WhetError as error:
        assert_helpful(error)
        return
    finally:
        assert before == copy
    old, new = (read_skill(read_document(files["SKILL.md"].data)) for files in (before, draft.tree))
    assert draft.version == new.version
    if draft.tree == before:
        assert draft.warnings[-1] == NOTHING
    else:
        assert old.version != new.version or any(" stays " in warning for warning in draft.warnings)
        changed = [path for path in {**before, **draft.tree} if before.get(path) != draft.tree.get(path)]
        assert len([path for path in changed if path != "SKILL.md"]) <= 1
    if valid(validate(ValidationInput("", main))):
        findings = validate(ValidationInput("", draft.tree["SKILL.md"].data))
        assert [found for found in findings if found.severity == "error" and found.code != "unknown-key"] == []


def improve_both(before: Tree) -> Draft:
    return improve(before, description="Use when: asked", body="Other.\n")


def rename_it(before: Tree) -> Draft:
    return rename(before, "other")


def add_file(before: Tree) -> Draft:
    return write_file(before, "references/a.md", b"a")


def new_body(before: Tree) -> Draft:
    return edit(before, "Other.\n")


ENTRIES = st.permutations(
    [
        "# above",
        "license:   'MIT' # free",
        "allowed-tools: >-\n  Read\n  Grep",
        "",
        '"odd key": [x, "y"]',
        "metadata:\n    author: me # who\n    # below",
        "name: notes",
        "description: |\n  Use when\n  asked.",
        "version: v1.0",
    ]
)


@given(ENTRIES, st.sampled_from(["\n", "\r\n"]), st.sampled_from([improve_both, rename_it, add_file, new_body]))
@settings(max_examples=100, deadline=None)
def test_entries_of_the_frontmatter_that_are_not_concerned_stay(
    entries: list[str], end: str, change: Callable[[Tree], Draft]
) -> None:
    frontmatter = "\n".join(("---", *entries, "---", "")).replace("\n", end)
    after = text(change(tree(f"{frontmatter}Read.{end}")))
    said = {"name: other": "name: notes", "description: |-": "description: |", "version: v1.1": "version: v1.0"}
    mine = after[: find_fences(after).body].replace(f"  Use when: asked{end}", f"  Use when{end}  asked.{end}")
    assert end.join(said.get(row, row) for row in mine.split(end)) == frontmatter


@given(st.text(max_size=20), st.text(max_size=40), PIECE)
@settings(max_examples=100, deadline=None)
def test_what_is_created_is_valid(name: str, description: str, body: str) -> None:
    try:
        draft = create(name, description=description, body=body)
    except WhetError as error:
        assert_helpful(error)
        return
    findings = validate(ValidationInput("", draft.tree["SKILL.md"].data))
    assert [found for found in findings if found.severity == "error" and found.code != "unknown-key"] == []
    assert read_skill(read_document(text(draft))).version == draft.version != ""


WORDS = st.text(st.sampled_from("abc \n.-#"), min_size=1, max_size=30).filter(str.strip)


@given(WORDS, st.data())
@settings(max_examples=100, deadline=None)
def test_a_patch_and_its_reverse_restore_the_body(body: str, data: st.DataObject) -> None:
    first = create("notes", description=ABOUT, body=body)
    start = data.draw(st.integers(0, len(body) - 1))
    find = body[start : data.draw(st.integers(start + 1, len(body)))]
    assume(find[0] != "\n" and find.strip() and text(first).count(find) == 1)
    second = patch(first.tree, find, "unseen")
    third = patch(second.tree, "unseen", find)
    bodies = [read_document(text(draft)).body for draft in (first, second, third)]
    assert bodies[0] == bodies[2] != bodies[1]
    assert [draft.version for draft in (first, second, third)] == ["1", "2", "3"]
    assert text(third) == text(first).replace('version: "1"', 'version: "3"')
