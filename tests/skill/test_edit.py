"""Surgical edits: one entry changes, every other byte stays, and the result reads back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from whet.errors import InvalidError, UsageError
from whet.skill.edit import Value, move_key, remove_key, replace_body, set_value
from whet.skill.frontmatter import read_document
from whet.skill.text_edit import value_at
from whet.skill.yaml_edit import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCUMENT = """\
---
# About this skill
name: demo   # the name
description: >-
  Reads files
  of all kinds.

tags:
- a
- b
version: 1.10
"quoted key": 'it''s'
metadata:
    author: "me"  # who
    # inside
    list: [x, y]
---

# Body
"""


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items, or characters, two sequences begin with in common."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def changed(text: str) -> tuple[list[str], list[str]]:
    """The rows of the document that are gone, and those that are new."""
    old, new = DOCUMENT.split("\n"), text.split("\n")
    start = shared(old, new)
    end = shared(old[start:][::-1], new[start:][::-1])
    return old[start : len(old) - end], new[start : len(new) - end]


# --- what an edit looks like ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "gone", "new"),
    [
        ("name", "other", ["name: demo   # the name"], ["name: other   # the name"]),
        ("name", "1.0", ["name: demo   # the name"], ['name: "1.0"   # the name']),
        ("description", "Short.", ["  Reads files", "  of all kinds."], ["  Short."]),
        (
            "description",
            "Two\nlines.\n",
            ["description: >-", "  Reads files", "  of all kinds."],
            ["description: |", "  Two", "  lines."],
        ),
        ("tags", ["c: d", "no"], ["- a", "- b"], ['- "c: d"', '- "no"']),
        ("tags", [], ["tags:", "- a", "- b"], ["tags: []"]),
        ("tags", "a", ["tags:", "- a", "- b"], ["tags: a"]),
        ("tags", "a\n\n\nb", ["tags:", "- a", "- b"], ["tags: |-", "  a", "", "", "  b"]),
        ("version", True, ["version: 1.10"], ["version: true"]),
        ("version", 3, ["version: 1.10"], ["version: 3"]),
        ("quoted key", "it", ["\"quoted key\": 'it''s'"], ["\"quoted key\": 'it'"]),
        ("quoted key", "a\tb", ["\"quoted key\": 'it''s'"], ['"quoted key": "a\\tb"']),
        ("metadata.author", "you", ['    author: "me"  # who'], ['    author: "you"  # who']),
        ("metadata.list", ["a, b", "c"], ["    list: [x, y]"], ['    list: ["a, b", c]']),
        ("metadata.version", "2.0", [], ['    version: "2.0"']),
        ("license", "MIT", [], ["license: MIT"]),
        ("other.child", ["a"], [], ["other:", "    child:", "        - a"]),
        ("metadata.hermes.tags", ["a"], [], ["    hermes:", "        tags:", "            - a"]),
    ],
)
def test_an_edit_changes_the_rows_of_its_entry_only(key: str, value: Value, gone: list[str], new: list[str]) -> None:
    assert changed(set_value(DOCUMENT, key, value)) == (gone, new)


@pytest.mark.parametrize(
    ("key", "gone"),
    [
        ("name", ["name: demo   # the name"]),
        ("description", ["description: >-", "  Reads files", "  of all kinds."]),
        ("tags", ["tags:", "- a", "- b"]),
        ("metadata.author", ['    author: "me"  # who']),
        ("metadata", DOCUMENT.split("\n")[12:16]),
        ("absent", []),
        ("metadata.absent", []),
        ("absent.child", []),
    ],
)
def test_a_removed_entry_takes_its_own_rows_and_no_others(key: str, gone: list[str]) -> None:
    assert changed(remove_key(DOCUMENT, key)) == (gone, [])


def test_the_last_child_takes_its_parent_with_it() -> None:
    assert remove_key("---\na: b\nmetadata:\n  x: y\n---\n", "metadata.x") == "---\na: b\n---\n"


def test_a_description_goes_behind_the_name_and_other_keys_to_the_end() -> None:
    text = "---\nname: a\nlicense: MIT\n# the end\n---\n"
    assert set_value(text, "description", "x") == "---\nname: a\ndescription: x\nlicense: MIT\n# the end\n---\n"
    assert set_value(text, "version", "x") == "---\nname: a\nlicense: MIT\nversion: x\n# the end\n---\n"


def test_a_new_entry_goes_behind_comments_that_belong_to_the_one_before() -> None:
    text = "---\na:\n  b: c\n  # of a\n---\n"
    assert set_value(text, "new", "x\ny") == "---\na:\n  b: c\n  # of a\nnew: |-\n  x\n  y\n---\n"
    assert set_value(text, "a.b", "x\ny") == "---\na:\n  b: |-\n    x\n    y\n  # of a\n---\n"


def test_a_comment_does_not_become_part_of_a_text() -> None:
    assert set_value("---\na: b\n    # deep\n---\n", "a", "x\ny") == '---\na: "x\\ny"\n    # deep\n---\n'


def test_an_empty_parent_gets_its_first_child() -> None:
    assert set_value("---\nmetadata: # ours\n---\n", "metadata.a", "b") == "---\nmetadata: # ours\n  a: b\n---\n"
    assert set_value("---\nmetadata: {} # ours\n---\n", "metadata.a", "b") == "---\nmetadata: {a: b} # ours\n---\n"
    assert set_value("---\nm:\n  n:\n---\n", "m.n.o.p", "b") == "---\nm:\n  n:\n    o:\n      p: b\n---\n"


def test_what_stands_in_braces_is_edited_there() -> None:
    assert set_value("---\n{name: a, x: y}\n---\n", "name", "z") == "---\n{name: z, x: y}\n---\n"
    assert set_value("---\nm: {a: b} # c\n---\n", "m.d", "e") == "---\nm: {a: b, d: e} # c\n---\n"
    assert set_value("---\nm: {a: {b: 'c'}}\n---\n", "m.a.b", "d") == "---\nm: {a: {b: 'd'}}\n---\n"
    assert remove_key("---\nm: {a: b, c: d}\n---\n", "m.a") == "---\nm: {c: d}\n---\n"
    assert remove_key("---\nm: {a: b}\nx: y\n---\n", "m.a") == "---\nx: y\n---\n"


def test_indented_frontmatter_keeps_its_indentation() -> None:
    assert set_value("---\n  name: a\n---\n", "x", "b") == "---\n  name: a\n  x: b\n---\n"
    assert set_value("---\n  name: a\n---\n", "x.z", "b") == "---\n  name: a\n  x:\n    z: b\n---\n"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", "---\nname: a\n---\n"),
        ("Body.", "---\nname: a\n---\nBody."),
        ("\ufeffBody.\r\nMore.", "\ufeff---\r\nname: a\r\n---\r\nBody.\r\nMore."),
        ("---\n---\n", "---\nname: a\n---\n"),
        ("---", "---\nname: a\n"),
        ("---\n# nothing yet\n---", "---\n# nothing yet\nname: a\n---"),
        ("---\r\nx: y", "---\r\nx: y\r\nname: a"),
        ("---\nname: b", "---\nname: a"),
        ("\ufeff---\r\nname: b\r\n---\r\nBody", "\ufeff---\r\nname: a\r\n---\r\nBody"),
        ("---\nname: # an old name\n---\n", "---\nname: a\n---\n"),
        ("---\nname: a: b\nx: c: d\n---\n", "---\nname: a\nx: c: d\n---\n"),
        ("---\nname: a: b\n  and more\nx: y\n---\n", "---\nname: a\nx: y\n---\n"),
    ],
)
def test_a_name_is_set_in_whatever_there_is(text: str, result: str) -> None:
    assert set_value(text, "name", "a") == result


def test_a_moved_key_takes_its_comment_and_its_quotes_along() -> None:
    text = "---\nversion: '2'  # x-release\nname: a\n---\n"
    assert move_key(text, "version", "metadata", "2") == "---\nname: a\nmetadata:\n  version: '2'  # x-release\n---\n"
    assert move_key(text, "absent", "metadata", "2") == text


def test_long_folded_text_is_wrapped() -> None:
    text = set_value("---\ndescription: >\n  x\n---\n", "description", "word " * 40 + "end\n")
    assert max(len(row) for row in text.split("\n")) <= 100
    assert read_document(text).values == {"description": "word " * 40 + "end\n"}


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("---\nmetadata: text\n---\n", "metadata.c"),
        ("---\nmetadata: [a]\n---\n", "metadata.c"),
        ("---\n[broken\nx: 'y\n---\n", "x"),
        ("---\n? name\n: a\n---\n", "name"),
        ("---\na: &x b\nc: *x\n---\n", "a"),
        ("---\na: b\nmetadata:\n  x: &m c\nd: *m\n---\n", "metadata.x"),
    ],
)
def test_what_cannot_be_done_safely_is_refused(text: str, key: str) -> None:
    with pytest.raises(InvalidError) as caught:
        set_value(text, key, "z")
    assert caught.value.code == "cannot-edit"
    assert caught.value.hint


def test_removing_what_cannot_be_cut_out_is_refused() -> None:
    for text, key in (("---\na: b\na: c\n---\n", "a"), ("---\n? a\n: b\n---\n", "a")):
        with pytest.raises(InvalidError, match="cannot be edited"):
            remove_key(text, key)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidError) as caught:
        set_value(DOCUMENT, "name", "a\ud800")
    assert caught.value.code == "cannot-edit"


@pytest.mark.parametrize("key", ["", ".a", "a.", "metadata..tags"])
def test_keys_that_name_nothing_are_a_usage_error(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        set_value(DOCUMENT, key, "x")
    assert caught.value.code == "key-unusable"


# --- the body ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "body", "result"),
    [
        ("---\nname: a\n---\nOld.\n", "New.\n", "---\nname: a\n---\nNew.\n"),
        ("---\nname: a\n---\nOld.\n", "New.", "---\nname: a\n---\nNew.\n"),
        ("---\nname: a\n---\nOld.", "New.", "---\nname: a\n---\nNew."),
        ("---\nname: a\n---", "New.", "---\nname: a\n---\nNew."),
        ("---\nname: a\n---\nOld.\n", "", "---\nname: a\n---\n"),
        ("\ufeff---\r\nname: a: b\r\n---\r\nOld.\r\n", "A\n\r\nB", "\ufeff---\r\nname: a: b\r\n---\r\nA\r\n\r\nB\r\n"),
        ("Old.\n", "New.\n", "New.\n"),
        ("---\nname: a\n---\n", "---\nb: c\n---\n", "---\nname: a\n---\n---\nb: c\n---\n"),
        ("---\nname: [broken\n---\nOld.", "New.", "---\nname: [broken\n---\nNew."),
        ("---\nname: a\n\nOld.", "# New", "---\nname: a\n# New"),
    ],
)
def test_a_body_is_replaced_below_the_same_frontmatter(text: str, body: str, result: str) -> None:
    assert replace_body(text, body) == result


@pytest.mark.parametrize(("text", "body"), [("Old.", "---\nname: a\n---\n"), ("---\nname: a\n\nOld.", "b: c")])
def test_a_body_that_would_become_frontmatter_is_refused(text: str, body: str) -> None:
    with pytest.raises(InvalidError) as caught:
        replace_body(text, body)
    assert caught.value.code == "cannot-edit"


# --- spelling ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "spelling"),
    [
        ("plain text", "plain text"),
        ("1.2.3", "1.2.3"),
        ("a:b #c"[:3], "a:b"),
        ("Use when: asked", '"Use when: asked"'),
        ("a #b", '"a #b"'),
        ('say "x": y', "'say \"x\": y'"),
        ("it's: a", '"it\'s: a"'),
        ("", '""'),
        ("no", '"no"'),
        ("1.10", '"1.10"'),
        ("2026-01-01", '"2026-01-01"'),
        ("12:30:45", '"12:30:45"'),
        ("<<", '"<<"'),
        (" a", '" a"'),
        ("a\nb", '"a\\nb"'),
        ("\x85\u2028\ufeff\x07", '"\\x85\\u2028\\ufeff\\x07"'),
        ("ünïcödé 😀", "ünïcödé 😀"),
    ],
)
def test_text_is_quoted_only_where_it_must_be(value: str, spelling: str) -> None:
    assert quote(value) == spelling


texts = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    [
        "yes",
        "~",
        "0x1F",
        "1e3",
        ".5",
        "-",
        "---",
        "a: b",
        "a #b",
        "'",
        '"',
        "\\",
        "|",
        "*x",
        "12:30",
        "=",
        "1_000",
        "+1",
    ]
)


@given(texts)
@settings(max_examples=200, deadline=None)
def test_every_text_reads_back_from_its_spelling(value: str) -> None:
    spelled = quote(value)
    assert read_document(f"---\nkey: {spelled}\n---\n").values == {"key": value}
    assert yaml.safe_load(f"key: {spelled}\n") == {"key": value}


# --- any edit on any frontmatter --------------------------------------------------------------------------------------

FORMS = [
    ["{}: word"],
    ["{}:   spaced out   # comment"],
    ['{}: "double: quoted"  # comment'],
    ["{}: 'single ''quoted'''"],
    ["{}: 1.10"],
    ["{}: true # comment"],
    ["{}:"],
    ["{}: ~"],
    ["{}: # nothing but a comment"],
    ["{}: |", "  literal", "", "    deeper", "  # no comment"],
    ["{}: |- # comment", "  literal"],
    ["{}: |+", "  kept", "", ""],
    ["{}: >", "  folded", "  text"],
    ["{}: continued", "  plain text", "  over rows"],
    ["{}:", "  below", "  the key"],
    ['{}: "quoted', "", '  over rows" # comment'],
    ["{}:", "- a", "- b"],
    ["{}: # comment", "  - a", "", "  # inside", "  - b: c", "    d: e"],
    ["{}: [a, 'b, c']"],
    ["{}: [a,", "  b]"],
    ["{}: {{a: b}}"],
    ["{}: &anchor x"],
    ["{}: !!str 5"],
]
SEPARATORS = [[], [], [""], ["# a comment"], ["", "# --- section", ""]]


class Piece(NamedTuple):
    """Some rows of a frontmatter block; those of an entry know its key."""

    key: str
    rows: list[str]


@st.composite
def pieces(draw: st.DrawFn, prefix: str = "", depth: int = 0) -> list[Piece]:
    """The rows of a block: entries of every form, four levels deep, and what stands between them."""
    found: list[Piece] = []
    for number in range(draw(st.integers(1, 4 if depth < 2 else 2))):
        key = f"{prefix}k{number}"
        if depth < 3 and draw(st.booleans()):
            indent = " " * draw(st.sampled_from([1, 2, 4]))
            children = draw(pieces(f"{key}.", depth + 1))
            found.append(Piece("", [f"{key.rpartition('.')[2]}:"]))
            found += [Piece(child.key, [indent + row if row else "" for row in child.rows]) for child in children]
            continue
        rows = [row.format(key.rpartition(".")[2]) for row in draw(st.sampled_from(FORMS))]
        found.append(Piece(key, rows))
        if "|+" not in rows[0]:
            found.append(Piece("", draw(st.sampled_from(SEPARATORS))))
    return found


class Text(NamedTuple):
    """A document of which it is known where its entries stand."""

    text: str
    spans: dict[str, tuple[int, int]]


@st.composite
def documents(draw: st.DrawFn) -> Text:
    """Documents with LF or CRLF, with and without a byte order mark, a body and a last line end."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = draw(st.sampled_from(["", "\ufeff"])) + f"---{end}"
    spans: dict[str, tuple[int, int]] = {}
    for piece in draw(pieces()):
        start = len(text)
        text += "".join(row + end for row in piece.rows)
        if piece.key:
            spans[piece.key] = (start, len(text))
    closing = draw(st.sampled_from(["---", f"---{end}", f"---{end}{end}# Body{end}", f"---{end}---{end}text"]))
    return Text(text + closing, spans)


values = texts | st.booleans() | st.integers() | st.lists(texts, max_size=3) | st.text("ab :#\n'\"-", max_size=30)


def expected(values: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The values with one of them replaced; Ellipsis takes it away, and every parent that would be empty."""
    first, _, rest = key.partition(".")
    new = expected(values.get(first) or {}, rest, value) if rest else value
    if new is ... or (value is ... and rest and not new):
        return {k: v for k, v in values.items() if k != first}
    return {**values, first: new}


def is_there(values: Any, key: str) -> bool:
    """Is there still an entry of this name, "" being the document?"""
    for part in key.split(".") if key else []:
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


@given(documents(), st.data(), values)
@settings(max_examples=200, deadline=None)
def test_setting_an_entry_leaves_every_other_byte_alone(document: Text, data: st.DataObject, value: Value) -> None:
    before = read_document(document.text)
    assert before.step == "strict"
    key = data.draw(st.sampled_from(sorted(document.spans)))
    start, end = document.spans[key]
    result = set_value(document.text, key, value)
    assert result.startswith(document.text[:start])
    assert result[start:].endswith(document.text[end:])
    after = read_document(result)
    assert repr(after.values) == repr(expected(before.values, key, value))
    assert (after.step, after.body) == ("strict", before.body)


@given(documents(), st.data())
@settings(max_examples=100, deadline=None)
def test_removing_an_entry_leaves_every_other_byte_alone(document: Text, data: st.DataObject) -> None:
    before = read_document(document.text)
    key = data.draw(st.sampled_from(sorted(document.spans)))
    start, end = document.spans[key]
    if "|+" in document.text[:start]:  # a text that keeps blank rows would take in those behind the removed entry
        assume(document.text[end : end + 1] not in "\r\n")
    result = remove_key(document.text, key)
    after = read_document(result)
    assert repr(after.values) == repr(expected(before.values, key, ...))
    if is_there(after.values, key.rpartition(".")[0]):
        assert result == document.text[:start] + document.text[end:]


NEW = ["new", "new.child", "new.a.b.c", "k0.new", "k0.k0.new", "k0.k0.k0.new", "description"]


@given(documents(), st.sampled_from(NEW), values)
@settings(max_examples=100, deadline=None)
def test_a_new_entry_is_put_between_bytes_that_stay(document: Text, key: str, value: Value) -> None:
    before = read_document(document.text)
    if key.startswith("k0"):
        parent = value_at(before.values, tuple(key.split(".")[:-1]))
        assume(isinstance(parent, dict) and parent != {"a": "b"})
    result = set_value(document.text, key, value)
    start = shared(document.text, result)
    rest = shared(document.text[start:][::-1], result[start:][::-1])
    assert start + rest == len(document.text)
    assert repr(read_document(result).values) == repr(expected(before.values, key, value))
