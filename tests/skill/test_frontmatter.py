"""Reading a SKILL.md: fences, steps, lines, and every remark the reader can make."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whet.notes import Note
from whet.skill.frontmatter import (
    BOM,
    MAX_FRONTMATTER,
    Document,
    Fences,
    decode,
    find_fences,
    read_document,
    read_repaired,
)


def said(source: bytes | str) -> tuple[str, dict[str, Any], str]:
    """The step, the values and the body of a document."""
    document = read_document(source)
    return document.step, document.values, document.body


def noted(source: bytes | str) -> list[tuple[str, int | None]]:
    """Code and line of every diagnostic."""
    return [(note.code, note.line) for note in read_document(source).diagnostics]


# --- fences -----------------------------------------------------------------------------------------------------------


def test_a_whole_document() -> None:
    text = "---\nname: a\nmetadata:\n  version: 1.10\n---\n# Title\n\nBody.\n"
    assert read_document(text) == Document(
        values={"name": "a", "metadata": {"version": 1.1}},
        body="# Title\n\nBody.\n",
        step="strict",
        lines={"name": 2, "metadata": 3, "metadata.version": 4},
        texts={"metadata.version": "1.10"},
        diagnostics=(),
        body_line=6,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nname: a\n---\nbody", ("strict", {"name": "a"}, "body")),
        ("---\nname: a\n---", ("strict", {"name": "a"}, "")),
        ("---\nname: a\n---\n", ("strict", {"name": "a"}, "")),
        ("---\nname: a\n---\r", ("strict", {"name": "a"}, "")),
        ("---\r\nname: a\r\n---\r\nb\r\n", ("strict", {"name": "a"}, "b\r\n")),
        ("---\r\nname: a\n---\r\nmixed", ("strict", {"name": "a"}, "mixed")),
        ("---  \t\nname: a\n---\t \nb", ("strict", {"name": "a"}, "b")),
        (BOM + "---\nname: a\n---\nb", ("strict", {"name": "a"}, "b")),
        ("---\n---\nb", ("strict", {}, "b")),
        ("---\n---", ("strict", {}, "")),
        ("---\n\n# only a comment\n---\nb", ("strict", {}, "b")),
        ("---\n{name: a}\n---\nb", ("strict", {"name": "a"}, "b")),
        ("---\nname: a --- b\n---\nb", ("strict", {"name": "a --- b"}, "b")),
        ("---\nname: '---'\n---\nb", ("strict", {"name": "---"}, "b")),
        ("---\nd: |\n  x\n  ---\n  y\n---\nb", ("strict", {"d": "x\n---\ny\n"}, "b")),
        ("---\nd: |\n  x\n ---\n---\nb", ("rescued", {"d": "x ---"}, "b")),
        ("---\nname: a\n----\n---\nb\n---\n", ("rescued", {"name": "a"}, "b\n---\n")),
        ("body only", ("none", {}, "body only")),
        (BOM + "body only", ("none", {}, "body only")),
        ("", ("none", {}, "")),
        ("\n---\nname: a\n---\n", ("none", {}, "\n---\nname: a\n---\n")),
        (" ---\nname: a\n---\n", ("none", {}, " ---\nname: a\n---\n")),
        ("----\nname: a\n----\n", ("none", {}, "----\nname: a\n----\n")),
        ("---\rname: a\r---\rb", ("none", {}, "---\rname: a\r---\rb")),
        (BOM + BOM + "---\nname: a\n---\n", ("none", {}, BOM + "---\nname: a\n---\n")),
    ],
)
def test_where_the_frontmatter_ends(text: str, expected: tuple[str, dict[str, Any], str]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---", ("strict", {}, "")),
        ("---\n", ("strict", {}, "")),
        ("---\nname: a", ("strict", {"name": "a"}, "")),
        ("---\nname: a\n\nbody", ("strict", {"name": "a"}, "\nbody")),
        ("---\nname: a\n# Title\nbody", ("strict", {"name": "a"}, "# Title\nbody")),
        ("---\r\nname: a\r\n\r\nbody", ("strict", {"name": "a"}, "\r\nbody")),
    ],
)
def test_an_unclosed_block_ends_at_a_blank_line_or_a_heading(
    text: str, expected: tuple[str, dict[str, Any], str]
) -> None:
    assert said(text) == expected
    assert noted(text) == [("unclosed-frontmatter", 1)]


def test_fences_are_offsets_into_the_text() -> None:
    assert find_fences("---\na: b\n---\nc") == Fences(4, 9, 13, closed=True)
    assert find_fences(BOM + "---\na: b\n---\nc") == Fences(5, 10, 14, closed=True)
    assert find_fences("---\na: b\n\nc") == Fences(4, 9, 9, closed=False)
    assert find_fences("c") == Fences(-1, -1, 0, closed=True)


# --- every diagnostic, with its line ----------------------------------------------------------------------------------


def test_invalid_utf8_is_replaced_and_reported() -> None:
    document = read_document(b"---\nname: a\ndescription: caf\xe9\n---\nb\xff")
    assert document.values == {"name": "a", "description": "caf\ufffd"}
    assert document.body == "b\ufffd"
    assert document.diagnostics == (
        Note("invalid-utf8", "warning", "Byte 0xe9 is not UTF-8 and is replaced.", "Save the file as UTF-8.", line=3),
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_another_encoding_is_a_document_without_frontmatter(encoding: str) -> None:
    data = "---\nname: ä\n---\nbody\n".encode(encoding)
    text, notes = decode(data)
    assert said(data) == ("none", {}, text)
    assert noted(data) == [*((note.code, note.line) for note in notes), ("no-frontmatter", 1)]


def test_a_missing_opening_fence_is_reported() -> None:
    assert noted("# Title\n") == [("no-frontmatter", 1)]


def test_a_missing_closing_fence_is_reported() -> None:
    assert noted("---\nname: a\n") == [("unclosed-frontmatter", 1)]


def test_frontmatter_beyond_the_bound_is_cut_and_reported() -> None:
    filler = "".join(f"key{n}: [a, b]\n" for n in range(5000))
    text = f"---\nname: a\ndescription: d\n{filler}last: x\n---\nbody"
    document = read_document(text)
    assert len(filler) > MAX_FRONTMATTER
    assert (document.step, document.body) == ("rescued", "body")
    assert document.values["name"] == "a" and document.values["description"] == "d"
    assert document.values["key7"] == ["a", "b"] and document.lines["key7"] == 11
    assert "last" not in document.values
    assert noted(text) == [("frontmatter-too-large", 1)]


def test_one_value_beyond_the_bound_keeps_its_beginning() -> None:
    text = f"---\nname: a\ndescription: {'word ' * 20_000}\n---\nbody"
    values = read_document(text).values
    assert values["name"] == "a"
    assert str(values["description"]).startswith("word word")
    assert noted(text) == [("frontmatter-too-large", 1)]


def test_frontmatter_up_to_the_bound_is_read_whole() -> None:
    text = f"---\nname: a\ndescription: {'x' * 60_000}\n---\nbody"
    assert said(text) == ("strict", {"name": "a", "description": "x" * 60_000}, "body")


def test_duplicate_keys_are_reported_at_the_later_one() -> None:
    assert said("---\nname: a\nname: b\n---\n")[1] == {"name": "b"}
    assert noted("---\nname: a\nname: b\nm:\n  k: 1\n  k: 2\n---\n") == [("duplicate-key", 3), ("duplicate-key", 6)]


def test_a_value_that_yaml_takes_for_a_comment_is_put_back() -> None:
    text = "---\nname: a\ndescription: #1 tool for x\n---\n"
    assert said(text)[1] == {"name": "a", "description": "#1 tool for x"}
    assert noted(text) == [("comment-as-value", 3)]
    assert read_document(text).texts == {}


def test_a_value_cut_short_by_a_comment_is_reported() -> None:
    text = "---\nname: a\ndescription: Fix issue #42 at once\n---\n"
    assert said(text)[1] == {"name": "a", "description": "Fix issue"}
    (note,) = read_document(text).diagnostics
    assert note == Note(
        "comment-as-value",
        "warning",
        "YAML reads the end of the description as a comment: #42 at once",
        "Put the description in quotes.",
        line=3,
    )


@pytest.mark.parametrize("value", ["C#", "'a #b'", '"a" ', "a#b", "|\n  a #b"])
def test_a_hash_that_begins_no_comment_is_not_reported(value: str) -> None:
    assert noted(f"---\nname: a\ndescription: {value}\n---\n") == []


def test_a_comment_in_a_flow_mapping_is_no_reason_to_fail() -> None:
    assert said("---\n{name: a, description: # b\n}\n---\n")[1] == {"name": "a", "description": None}


def test_a_repair_is_reported_at_the_line_yaml_stumbled_over() -> None:
    text = "---\nname: a\ndescription: Use when: asked\n---\n"
    assert said(text)[:2] == ("repaired", {"name": "a", "description": "Use when: asked"})
    assert noted(text) == [("yaml-repaired", 3)]


def test_a_rescue_is_reported_at_the_line_yaml_stumbled_over() -> None:
    text = "---\nname: a\nwhat is this\n---\n"
    assert said(text)[:2] == ("rescued", {"name": "a"})
    assert noted(text) == [("yaml-rescued", 4)]


# --- values that are not text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", None),
        ("null", None),
        ("42", 42),
        ("true", True),
        ("yes", "yes"),
        ("2026-01-01", "2026-01-01"),
        ("[a, b]", ["a", "b"]),
        ("{a: b}", {"a": "b"}),
        ("1.10", 1.1),
        ("!!python/object/apply:os.system [x]", ["x"]),
    ],
)
@pytest.mark.parametrize("key", ["name", "description"])
def test_typed_values_are_read_as_yaml_says(key: str, written: str, value: Any) -> None:
    assert said(f"---\n{key}: {written}\n---\n") == ("strict", {key: value}, "")


@pytest.mark.parametrize(
    ("block", "values"),
    [
        ("- a\n- b", {}),
        ("just text", {}),
        ("42", {}),
        ("'quoted'", {}),
        ("[a, b]", {}),
        ("? [a, b]\n: c\nname: n", {"name": "n"}),
        ("name: n\n--- \nother: x", {"name": "n"}),
        ("name: n\n...\nother: x", {"name": "n", "other": "x"}),
        ("name: n\nx: *nowhere", {"name": "n", "x": "*nowhere"}),
        ("name: n\nx: \0", {"name": "n", "x": None}),
        ("name: n\nx: a\0b", {"name": "n", "x": "a\0b"}),
    ],
)
def test_what_is_no_mapping_still_gives_what_it_can(block: str, values: dict[str, Any]) -> None:
    assert said(f"---\n{block}\n---\n")[1] == values


def test_lines_count_from_the_top_of_the_file_whatever_the_line_ends() -> None:
    unix = "---\n# c\n\nname: a\nm:\n  k: v\n---\nbody"
    expected = {"name": 4, "m": 5, "m.k": 6}
    for text in (unix, unix.replace("\n", "\r\n"), BOM + unix):
        document = read_document(text)
        assert (document.lines, document.body_line) == (expected, 8)


def test_line_breaks_only_yaml_knows_do_not_shift_the_lines() -> None:
    document = read_document("---\na: 'x\u2028\u2028\u2028'\nname: # n\n---\nb")
    assert document.lines == {"a": 2, "name": 3}
    assert document.values["name"] == "# n"


# --- what users of other readers complain about -----------------------------------------------------------------------


def test_frontmatter_longer_than_4000_characters_is_read() -> None:
    text = f"---\nnotes: {'n ' * 3000}\nname: late\ndescription: found\n---\nbody\n"
    assert said(text)[1]["name"] == "late"


def test_a_closing_fence_at_the_end_of_the_file_closes() -> None:
    assert said("---\nname: a\ndescription: b\n---") == ("strict", {"name": "a", "description": "b"}, "")


def test_text_and_bytes_are_read_the_same() -> None:
    text = BOM + "---\nname: ünï\n---\nbody"
    assert read_document(text) == read_document(text.encode())


# --- properties -------------------------------------------------------------------------------------------------------

pieces = st.sampled_from(
    [
        *(
            "---\n",
            "---",
            "--- \n",
            "\n",
            "\r\n",
            "\r",
            BOM,
            "name: ",
            "description: ",
            "a: ",
            "  k: ",
            "- ",
            "  - ",
            "#",
        ),
        *("x", "word word", ": ", " #", "'", '"', "|\n", ">-\n", "  text\n", "[a, ", "]", "{", "}", "*a", "&a ", "@b"),
        *(
            "\t",
            "\0",
            "\x85",
            "\u2028",
            "\ud800",
            "😀",
            "<<<<<<< x\n",
            "key:value\n",
            "!!python/name:os.system ",
            "1.10",
        ),
    ]
)
glued = st.lists(pieces, max_size=20).map("".join)
documents = st.one_of(glued, glued.map(lambda text: f"---\nname: {text}\n---\nbody"), st.text(max_size=60))


def check(text: str, document: Document) -> None:
    start = len(text) - len(document.body)
    assert text[start:] == document.body
    assert text[:start] + document.body == text
    if document.step == "none":
        assert start == (1 if text.startswith(BOM) else 0)
    assert document.body_line == text.count("\n", 0, start) + 1
    rows = text.split("\n")
    for path, line in document.lines.items():
        assert 1 < line < max(document.body_line, len(rows) + 1)
        if path in ("name", "description", "a"):
            assert path in rows[line - 1]
    for note in document.diagnostics:
        assert note.line is None or 1 <= note.line <= len(rows) + 1
    json.dumps(document.values, allow_nan=False)


@given(documents)
@settings(max_examples=200, deadline=None)
@example("---\na: x\u2028\u2028\nname: #\n---\n")
@example("---\na: " + "[" * 5000 + "\nb: '" + '{"a":' * 5000 + "'\n---\n")
def test_any_text_is_read_and_its_parts_fit_together(text: str) -> None:
    check(text, read_document(text))


@given(st.one_of(st.binary(max_size=80), documents.map(lambda text: text.encode("utf-8", "surrogatepass"))))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_and_their_parts_fit_together(data: bytes) -> None:
    check(data.decode("utf-8", "replace"), read_document(data))


@given(glued)
@settings(max_examples=150, deadline=None)
def test_a_repair_keeps_every_line_in_its_place(text: str) -> None:
    found = read_repaired(text)
    if found is not None:
        assert found[0].count("\n") == text.count("\n")
