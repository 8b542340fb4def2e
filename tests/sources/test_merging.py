"""Two changes of one skill come together, and what does not fit is shown, not guessed."""

from __future__ import annotations

import os
import random
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.skill.tree import Item
from whet.sources.merge import MAX_LINES, Clash, Merged, Prefer, choose_version, merge

if TYPE_CHECKING:
    from pathlib import Path

    from whet.skill.tree import Tree

PREFERRED: tuple[Prefer, ...] = ("ours", "theirs")


def tree(**files: str | bytes | Item) -> Tree:
    """A tree of files; `a_md` is called a.md."""
    named = {name.replace("_", "."): data for name, data in files.items()}
    return {
        path: data if isinstance(data, Item) else Item(data.encode() if isinstance(data, str) else data)
        for path, data in named.items()
    }


def one(base: str | bytes | Item, local: str | bytes | Item, remote: str | bytes | Item, prefer: Prefer = "") -> Merged:
    """The merge of a single file."""
    return merge(tree(a_md=base), tree(a_md=local), tree(a_md=remote), prefer=prefer)


def text_of(merged: Merged, path: str = "a.md") -> str:
    assert merged.clashes == ()
    return merged.tree[path].data.decode()


def skill(version: str = "", body: str = "One.\n\nTwo.\n\nThree.\n", more: str = "") -> str:
    return f"---\nname: deploy\ndescription: Deploys. Use it.\n{version}{more}---\n\n{body}"


def main(base: str, local: str, remote: str, prefer: Prefer = "") -> Merged:
    """The merge of a main file."""
    return merge(*({"SKILL.md": Item(text.encode())} for text in (base, local, remote)), prefer=prefer)


# --- files ----------------------------------------------------------------------------------------------------------


def test_each_file_goes_to_whoever_alone_changed_it() -> None:
    base = tree(same="s", mine="m", yours="y", gone="g", dropped="d", both="b")
    local = tree(same="s", mine="M", yours="y", gone="g", both="B", own="o")
    remote = tree(same="s", mine="m", yours="Y", dropped="d", both="B", new="n")
    merged = merge(base, local, remote)
    assert merged.tree == tree(same="s", mine="M", yours="Y", both="B", own="o", new="n")
    assert merged.clashes == ()


def test_changes_in_different_places_of_a_text_come_together() -> None:
    merged = one("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\nf\n")
    assert text_of(merged) == "A\nb\nc\nd\nE\nf\n"
    assert merged.clashes == ()


def test_the_same_place_changed_twice_is_shown_with_all_three_states() -> None:
    merged = one("top\na\nend\n", "top\nmine\nend\n", "top\nyours\nend\n")
    text = "line 2:\n<<<<<<< yours\nmine\n||||||| before\na\n=======\nyours\n>>>>>>> theirs\n"
    assert merged == Merged(tree(a_md="top\nmine\nend\n"), (Clash("a.md", "both-changed", text),))
    assert merged.clashes[0].to_json() == {"path": "a.md", "kind": "both-changed", "text": text}


def test_preferring_a_side_decides_the_conflicting_places_only() -> None:
    base, local, remote = "a\n.\n.\nb\n.\n.\nc\n", "A\n.\n.\nmine\n.\n.\nc\n", "a\n.\n.\nyours\n.\n.\nC\n"
    assert [text_of(one(base, local, remote, prefer)) for prefer in PREFERRED] == [
        "A\n.\n.\nmine\n.\n.\nC\n",
        "A\n.\n.\nyours\n.\n.\nC\n",
    ]


def test_what_looks_like_a_conflict_marker_is_text() -> None:
    fence = "<<<<<<< yours\n||||||| before\n=======\n>>>>>>> theirs\n" + "=" * 300 + "\n"
    assert text_of(one(f"a\n{fence}b\n", f"A\n{fence}b\n", f"a\n{fence}B\n")) == f"A\n{fence}B\n"
    merged = one(f"{fence}x\n", f"{fence}mine\n", f"{fence}yours\n")
    assert [clash.kind for clash in merged.clashes] == ["both-changed"]
    assert text_of(one(f"{fence}x\n", f"{fence}mine\n{fence}", f"{fence}yours\n", "ours")) == f"{fence}mine\n{fence}"


def test_two_new_files_of_one_name_clash_unless_they_are_the_same() -> None:
    merged = merge({}, tree(a_md="same\nmine\n"), tree(a_md="same\nyours\n"))
    shown = "line 2:\n<<<<<<< yours\nmine\n||||||| before\n=======\nyours\n>>>>>>> theirs\n"
    assert merged.clashes == (Clash("a.md", "both-added", shown),)
    assert merge({}, tree(a_md="x"), tree(a_md="x")) == Merged(tree(a_md="x"), ())


def test_a_removed_file_that_the_other_side_changed_clashes() -> None:
    base, changed = tree(a_md="a\nb\n"), tree(a_md="a\nB\n")
    diff = "--- before/a.md\n+++ {}/a.md\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"
    here = merge(base, changed, {})
    text = "You changed it; the source removed it.\n" + diff.format("yours")
    assert here == Merged(changed, (Clash("a.md", "changed-and-removed", text),))
    there = merge(base, {}, changed)
    text = "You removed it; the source changed it.\n" + diff.format("theirs")
    assert there == Merged({}, (Clash("a.md", "removed-and-changed", text),))
    assert merge(base, changed, {}, prefer="ours") == Merged(changed, ())
    assert merge(base, changed, {}, prefer="theirs") == Merged({}, ())
    assert merge(base, {}, changed, prefer="ours") == Merged({}, ())
    assert merge(base, {}, changed, prefer="theirs") == Merged(changed, ())


@pytest.mark.parametrize("data", [(b"\0a", b"\0b", b"\0c"), (b"\xff", b"\xfe", b"\xfd"), (b"a", b"b", b"\0")])
def test_what_is_not_text_is_not_merged(data: tuple[bytes, bytes, bytes]) -> None:
    merged = one(*data)
    sizes = "yours: a file of {} bytes\nbefore: a file of {} bytes\ntheirs: a file of {} bytes"
    shown = sizes.format(len(data[1]), len(data[0]), len(data[2]))
    assert merged.clashes == (Clash("a.md", "binary", f"It is not text and cannot be merged.\n{shown}"),)
    assert [one(*data, prefer=prefer).tree["a.md"].data for prefer in PREFERRED] == [data[1], data[2]]


def test_links_are_merged_by_where_they_point() -> None:
    def link(to: str) -> Item:
        return Item(to.encode(), link=True)

    assert one(link("a"), link("b"), link("a")).tree["a.md"] == link("b")
    assert one(link("a"), link("a"), link("b")).tree["a.md"] == link("b")
    shown = "yours: a link to b\nbefore: a link to a\ntheirs: {}"
    clash = one(link("a"), link("b"), link("c")).clashes
    assert clash == (Clash("a.md", "both-changed", shown.format("a link to c")),)
    clash = one(link("a"), link("b"), "now a file").clashes
    assert clash == (Clash("a.md", "type", shown.format("a file of 10 bytes")),)
    assert one(link("a"), link("b"), "now a file", "theirs").tree == tree(a_md="now a file")
    assert [clash.kind for clash in one(link("a"), "x\n", "y\n").clashes] == ["both-changed"]


def test_the_executable_bit_is_merged_for_itself() -> None:
    def item(text: str, *, executable: bool) -> Item:
        return Item(text.encode(), executable)

    plain = item("a\n", executable=False)
    ran = item("a\n", executable=True)
    assert one(plain, ran, "b\n").tree["a.md"] == item("b\n", executable=True)
    assert one(ran, item("b\n", executable=True), plain).tree["a.md"] == item("b\n", executable=False)
    both = one(item("a\n.\n.\nb\n", executable=True), "A\n.\n.\nb\n", item("a\n.\n.\nB\n", executable=True))
    assert both.tree["a.md"] == item("A\n.\n.\nB\n", executable=False)
    assert merge({}, {"a.md": plain}, {"a.md": ran}).tree == {"a.md": ran}


def test_a_file_and_a_directory_of_one_name_clash() -> None:
    local, remote = {"docs": Item(b"x")}, {"docs/a.md": Item(b"y"), "docs/b.md": Item(b"z")}
    merged = merge({}, local, remote)
    assert merged.tree == local
    assert [(clash.path, clash.kind) for clash in merged.clashes] == [
        ("docs", "type"),
        ("docs/a.md", "type"),
        ("docs/b.md", "type"),
    ]
    assert merge({}, local, remote, prefer="ours").tree == local
    assert merge({}, local, remote, prefer="theirs").tree == remote


def test_names_that_some_systems_take_for_one_clash() -> None:
    local, remote = tree(README_md="x"), tree(readme_md="y")
    merged = merge({}, local, remote)
    assert [(clash.path, clash.kind) for clash in merged.clashes] == [
        ("README.md", "both-added"),
        ("readme.md", "both-added"),
    ]
    assert merge({}, local, remote, prefer="theirs") == Merged(remote, ())
    both = {**local, **remote}
    assert merge({}, {}, both).tree == both, "whoever has both lives with it"
    folders = merge({}, {"Docs/a": Item(b"a")}, {"docs/b": Item(b"b"), "docs/c": Item(b"c")}, prefer="ours")
    assert folders.tree == {"Docs/a": Item(b"a")}


# --- line ends and such ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "local", "remote", "expected"),
    [
        ("a\nb\n", "a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n"),
        ("a\nb\n", "a\nB\n", "a\r\nb\r\n", "a\nB\n"),
        ("a\n.\nb\n", "A\r\n.\r\nb\r\n", "a\n.\nB\n", "A\r\n.\r\nB\r\n"),
        ("a\r\n.\r\nb\r\n", "A\n.\nb\n", "a\r\n.\r\nB\r\n", "A\n.\nB\n"),
        ("a", "b", "a\r\nc\r\n", None),
        ("a", "a\nb", "x\r\na", "x\na\nb"),
        ("a\r\n", "\ufeffa\r\n", "a\nb\n", "\ufeffa\r\nb\r\n"),
        ("\ufeffa\n.\nb\n", "\ufeffA\n.\nb\n", "a\n.\nB\n", "\ufeffA\n.\nB\n"),
        ("a\n.\nb", "A\n.\nb", "a\n.\nb\n", "A\n.\nb\n"),
        ("a\n.\nb\n", "A\n.\nb", "a\n.\nB\n", "A\n.\nB"),
        ("a\n.\nb", "A\n.\nb", "a\n.\nb\nc", "A\n.\nb\nc"),
        ("a\r\n.\nb\n", "A\r\n.\nb\n", "a\r\n.\nB\n", "A\r\n.\nB\n"),
        ("a\rx\n.\nb\n", "A\rx\n.\nb\n", "a\rx\n.\nB\rx\n", "A\rx\n.\nB\rx\n"),
        ("a\n", "", "a\nb\n", None),
        ("a\n", "", "", ""),
    ],
)
def test_line_ends_marks_and_last_lines_do_not_clash(base: str, local: str, remote: str, expected: str | None) -> None:
    merged = one(base, local, remote)
    if expected is None:
        assert [clash.kind for clash in merged.clashes] == ["both-changed"]
    else:
        assert text_of(merged) == expected


# --- the main file --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "local", "remote", "expected"),
    [
        ('version: "1.0.0"\n', 'version: "1.0.1"\n', 'version: "1.1.0"\n', 'version: "1.1.0"\n'),
        ('version: "1.0.0"\n', 'version: "1.0.10"\n', 'version: "1.0.9"\n', 'version: "1.0.10"\n'),
        ("version: 3\n", 'version: "4"\n', "version: 5\n", 'version: "5"\n'),
        ("version: 1.2\n", 'version: "1.3"\n', "version: 1.10\n", 'version: "1.10"\n'),
        ("version: 1.2\n", "version: 1.2\n", "version: 1.10 # new\n", "version: 1.10 # new\n"),
        ("version: 1.0.0 # raised\n", "version: 1.0.1 # raised\n", "version: 1.0.2\n", "version: 1.0.2\n"),
        (
            'metadata:\n  version: "1"\n',
            'metadata:\n  version: "2"\n',
            'metadata:\n  version: "3"\n',
            'metadata:\n  version: "3"\n',
        ),
        ("", 'metadata:\n  version: "1"\n', 'metadata:\n  version: "2"\n', 'metadata:\n  version: "2"\n'),
        ("", 'version: "1"\n', "", 'version: "1"\n'),
        ('version: "1"\n', "", 'version: "1"\n', ""),
        ("version: spring\n", "version: spring.1\n", "version: summer\n", "version: summer\n"),
    ],
)
def test_a_version_that_both_sides_raised_is_the_higher_one(base: str, local: str, remote: str, expected: str) -> None:
    merged = main(
        skill(base),
        skill(local, "First.\n\nTwo.\n\nThree.\n"),
        skill(remote, "One.\n\nTwo.\n\nThird.\n"),
    )
    assert text_of(merged, "SKILL.md") == skill(expected, "First.\n\nTwo.\n\nThird.\n")


def test_lines_around_the_version_are_merged_as_usual() -> None:
    base = 'metadata:\n  author: a\n  version: "1"\n  tags: x\n'
    local = 'metadata:\n  author: b\n  version: "2"\n  tags: x\n'
    remote = 'metadata:\n  author: a\n  version: "1.5"\n  tags: y\n'
    expected = 'metadata:\n  author: b\n  version: "2"\n  tags: y\n'
    assert text_of(main(skill(base), skill(local), skill(remote)), "SKILL.md") == skill(expected)


def test_a_version_removed_on_one_side_and_raised_on_the_other_clashes() -> None:
    merged = main(skill('version: "1"\n'), skill('version: "2"\n', "Mine.\n"), skill("", "Mine.\n"))
    assert [clash.kind for clash in merged.clashes] == ["both-changed"]


def test_a_clash_shows_each_sides_own_version() -> None:
    def text(version: str, word: str) -> str:
        return f'---\ndescription: {word}.\nversion: "{version}"\nname: {word}\n---\n'

    merged = main(text("1", "a"), text("2", "mine"), text("3", "yours"))
    assert [clash.kind for clash in merged.clashes] == ["both-changed"]
    assert "whet-version" not in merged.clashes[0].text
    assert text_of(main(text("1", "a"), text("2", "mine"), text("3", "yours"), "ours"), "SKILL.md") == text("3", "mine")


def test_a_version_in_braces_is_merged_like_any_other() -> None:
    def text(version: str) -> str:
        return skill(f"metadata: {{version: '{version}'}}\n")

    merged = main(text("1"), text("2"), text("3"))
    assert (list(merged.clashes), text_of(merged, "SKILL.md")) == ([], text("3"))


def test_a_version_that_cannot_be_edited_is_merged_like_any_text() -> None:
    def text(version: str) -> str:
        return skill(f"metadata:\n  ? version\n  : '{version}'\n")

    merged = main(text("1"), text("2"), text("3"))
    assert [(clash.kind, ": '2'" in clash.text) for clash in merged.clashes] == [("both-changed", True)]


def test_a_version_that_the_text_itself_mentions_is_not_touched() -> None:
    body = "Write whet-version-0 and version: 1.\n"
    merged = main(
        skill("version: v1\n", body), skill("version: v2\n", body), skill("version: v3\n", f"{body}\nMore.\n")
    )
    assert text_of(merged, "SKILL.md") == skill("version: v3\n", f"{body}\nMore.\n")


def test_a_version_that_fell_out_of_the_frontmatter_is_not_written_anew() -> None:
    """One side puts a blank row before it and the other leaves the fence open: together the block ends at the row."""

    def text(version: str, row: str = "", fence: str = "---\n") -> str:
        return f"---\nname: a\ndescription: b\n{row}author: c\nmetadata:\n  version: '{version}'\n{fence}\nText.\n"

    merged = main(text("1"), text("2", row="\n"), text("3", fence=""))
    assert [clash.kind for clash in merged.clashes] == ["both-changed"]
    for prefer in PREFERRED:
        merged = main(text("1"), text("2", row="\n"), text("3", fence=""), prefer)
        assert b"whet-version" not in merged.tree["SKILL.md"].data
        assert merged.tree["SKILL.md"].data.count(b"version:") == 1


def test_a_main_file_that_could_no_longer_be_read_clashes() -> None:
    base = skill("a: 1\nb: 2\nc: 3\nd: 4\ne: 5\n")
    local = skill("license: MIT\na: 1\nb: 2\nc: 3\nd: 4\ne: 5\n")
    remote = skill("a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nlicense: Apache-2.0\n")
    merged = main(base, local, remote)
    text = "The changes merge line by line, but then the key license appears twice; the last one is used."
    assert merged == Merged({"SKILL.md": Item(local.encode())}, (Clash("SKILL.md", "unreadable", text),))
    assert main(base, local, remote, "ours") == Merged({"SKILL.md": Item(local.encode())}, ())
    assert main(base, local, remote, "theirs").tree == {"SKILL.md": Item(remote.encode())}


def test_frontmatter_that_neither_side_could_read_does_not_clash_for_that() -> None:
    def text(first: str, last: str) -> str:
        return f"---\nname: x\ndescription: a: b: c\n---\n{first}\n.\n.\n{last}\n"

    assert text_of(main(text("a", "b"), text("A", "b"), text("a", "B")), "SKILL.md") == text("A", "B")


@pytest.mark.parametrize(
    ("before", "yours", "theirs", "expected"),
    [
        ("1.0.0", "1.0.0", "0.9.0", "0.9.0"),
        ("1.0.0", "1.0.1", "1.0.0", "1.0.1"),
        ("1.0.0", "1.0.1", "2.0.0-rc.1", "2.0.0-rc.1"),
        ("1.0.0", "2.0.0", "2.0.0-rc.1", "2.0.0"),
        ("1.0.0", "2.0.0-rc.2", "2.0.0-rc.10", "2.0.0-rc.10"),
        ("1", "v2", "1.9", "v2"),
        ("", "1.0", "1.0.0", "1.0.0"),
        ("2026-01-01", "2026-01-01.1", "2026-02-01", "2026-02-01"),
        ("1", "9" * 6000, "2", "2"),
    ],
)
def test_the_higher_version_wins(before: str, yours: str, theirs: str, expected: str) -> None:
    assert choose_version(before, yours, theirs) == expected
    assert choose_version(before, theirs, yours) == expected


# --- bounds --------------------------------------------------------------------------------------------------------


def test_no_git_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert text_of(one("a\n.\nb\n", "A\n.\nb\n", "a\n.\nB\n")) == "A\n.\nB\n"


def test_texts_that_are_too_large_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    large = "x\n" * (MAX_LINES + 1)
    text = "It is larger than 1,048,576 bytes or 50,000 lines, too large to merge. Choose a side."
    assert one("a\n", "b\n", large).clashes == (Clash("a.md", "both-changed", text),)
    assert one("a\n", "b\n", "x" * (1 << 20 | 1)).clashes == (Clash("a.md", "both-changed", text),)
    monkeypatch.setattr("whet.sources.merge.MAX_TEXT", 10)
    assert one("a\n", "b\n", "c\n").clashes[0].text == "line 1:\n<<\n[... 56 more characters]"


# --- what always holds ----------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from("abcdef"), max_size=7).map(lambda rows: "".join(f"{row}\n" for row in rows))
CONTENTS = LINES | st.sampled_from(["", "a", "a\r\nb\r\n", "\ufeffa\n", "\0"])
ITEMS = st.builds(Item, CONTENTS.map(str.encode), st.booleans()) | st.sampled_from([Item(b"x", link=True)])
TREES = st.dictionaries(st.sampled_from(["SKILL.md", "a", "b/c", "B/c"]), ITEMS, max_size=4)
MAINS = st.builds(
    lambda version, author, rows: skill(
        f"version: {version}\n" if version else "", rows or "Text.\n", f"author: {author}\n"
    ),
    st.sampled_from(["", "1", "1.2.0", "'3'", "spring"]),
    st.sampled_from("ab"),
    LINES,
)


@settings(max_examples=200, deadline=None)
@given(TREES, TREES)
def test_one_change_alone_is_that_change(base: Tree, changed: Tree) -> None:
    assert merge(base, base, changed)[:2] == (changed, ())
    assert merge(base, changed, base)[:2] == (changed, ())
    assert merge(base, changed, changed)[:2] == (changed, ())


@settings(max_examples=150, deadline=None)
@given(TREES, TREES, TREES)
def test_preferring_leaves_no_clash_and_changes_nothing_else(base: Tree, local: Tree, remote: Tree) -> None:
    merged = merge(base, local, remote)
    assert merge(base, local, remote) == merged
    clashing = {clash.path for clash in merged.clashes}
    taken = {path.casefold() for path in clashing}
    """Where a file of the other side may come to lie, and what is spelled alike must make way."""
    for prefer in PREFERRED:
        preferred = merge(base, local, remote, prefer=prefer)
        assert preferred.clashes == ()
        for path in {*base, *local, *remote}:
            if path.casefold() not in taken:
                assert preferred.tree.get(path) == merged.tree.get(path)
    for path in clashing:
        assert merged.tree.get(path) == local.get(path)


@settings(max_examples=150, deadline=None)
@given(LINES, LINES, LINES)
def test_no_line_of_either_side_is_lost_without_a_clash(base: str, local: str, remote: str) -> None:
    mine, yours = local.replace("a", "mine"), remote.replace("b", "yours")
    merged = one(base, mine, yours)
    if not merged.clashes:
        rows = set(text_of(merged).split("\n"))
        assert rows >= {row for row in mine.split("\n") if row == "mine"}
        assert rows >= {row for row in yours.split("\n") if row == "yours"}
        assert rows <= {*base.split("\n"), *mine.split("\n"), *yours.split("\n")}


@settings(max_examples=100, deadline=None)
@given(LINES, LINES, LINES)
def test_the_sides_can_be_swapped(base: str, local: str, remote: str) -> None:
    one_way, other_way = one(base, local, remote), one(base, remote, local)
    assert bool(one_way.clashes) == bool(other_way.clashes)
    if not one_way.clashes:
        assert one_way.tree == other_way.tree
    assert one(base, local, remote, "ours").tree == one(base, remote, local, "theirs").tree


DEEDS = st.lists(st.sampled_from(["keep", "keep", "keep", "drop", "mine", "both", "insert"]), max_size=12)


def edited(deeds: list[str], size: int, side: str) -> str:
    """The lines 0, 1, 2, ... after one side has edited them; no line appears twice."""
    rows: list[str] = []
    for number in range(size):
        deed = deeds[number] if number < len(deeds) else "keep"
        new = f"both {number}" if deed == "both" else f"{side} {number}"
        rows += [] if deed in ("keep", "drop") else [new]
        rows += [str(number)] if deed in ("keep", "insert") else []
    return "".join(f"{row}\n" for row in rows)


def merged_by_git(base: str, local: str, remote: str, directory: str) -> str | None:
    """What git makes of them; None where it sees a conflict."""
    for name, text in (("l", local), ("b", base), ("r", remote)):
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
    command = ["git", "merge-file", "-p", "-q", "l", "b", "r"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    return None if done.returncode else done.stdout


@settings(max_examples=60, deadline=None)
@given(DEEDS, DEEDS, st.integers(0, 12))
def test_texts_merge_as_git_merges_them(here: list[str], there: list[str], size: int) -> None:
    """Where no line is repeated, it is certain what a side changed."""
    base, local, remote = edited([], size, ""), edited(here, size, "local"), edited(there, size, "remote")
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        expected = merged_by_git(base, local, remote, directory)
    merged = one(base, local, remote)
    assert bool(merged.clashes) == (expected is None)
    if not merged.clashes:
        assert text_of(merged) == expected


def test_texts_with_repeated_lines_merge_as_git_merges_them(tmp_path: Path) -> None:
    """Which of several equal lines a side changed is a choice; it is git's, but for one text in a hundred.

    Where the two choose otherwise one of them sees a conflict. Never do both merge to something else.
    """
    chance = random.Random(5)

    def changed(rows: list[str]) -> list[str]:
        rows = list(rows)
        for _ in range(chance.choice([1, 1, 2])):
            at = chance.randrange(len(rows) + 1)
            rows[at : at + chance.randrange(2)] = chance.sample("abcdXYZ", chance.randrange(2))
        return rows

    apart = 0
    for _ in range(300):
        base = chance.choices("abcd", k=chance.randrange(1, 14))
        before, local, remote = ("".join(f"{row}\n" for row in rows) for rows in (base, changed(base), changed(base)))
        expected = merged_by_git(before, local, remote, str(tmp_path))
        merged = one(before, local, remote)
        if merged.clashes or expected is None:
            apart += bool(merged.clashes) != (expected is None)
        else:
            assert text_of(merged) == expected
    assert apart <= 6


@settings(max_examples=100, deadline=None)
@given(MAINS, MAINS, MAINS)
def test_a_merged_main_file_has_a_version_of_one_side_and_is_readable(base: str, local: str, remote: str) -> None:
    from whet.skill.frontmatter import read_document

    for prefer in ("", *PREFERRED):
        merged = main(base, local, remote, prefer)
        if not merged.clashes:
            document = read_document(merged.tree["SKILL.md"].data)
            assert document.step == "strict"
            versions = [str(read_document(text).values.get("version")) for text in (base, local, remote)]
            assert str(document.values.get("version")) in versions
