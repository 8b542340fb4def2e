"""Text on a terminal."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.interfaces.cli.text import (
    clean,
    clean_block,
    clean_json,
    join_numbers,
    name_several,
    pad,
    plural,
    short_revision,
    shorten,
    width,
    wrap,
    wrap_markdown,
)

TEXT = st.text(st.characters(codec=None), max_size=60)
ONE_WAY = st.text(
    st.characters(codec=None).filter(lambda character: not "\ud800" <= character <= "\udbff"), max_size=20
)
"""Without the first halves of pairs: JSON cannot tell two lone halves from the pair."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("two\nlines\tand  more", "two lines and more"),
        ("\x1b]0;title\x07\x1b[2J", "\\x1b]0;title\\x07\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("gnp\u202eexe", "gnp\\u202eexe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("undecodable \udc80", "undecodable \\udc80"),
        ("family 👨\u200d👩", "family 👨\u200d👩"),
        ("naïve 日本", "naïve 日本"),
    ],
)
def test_clean_makes_one_harmless_line(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_a_block_keeps_its_lines_and_tabs() -> None:
    assert clean_block("a\r\n\tb\x1b[1m\rc\n") == "a\n\tb\\x1b[1m\\x0dc\n"


@given(TEXT)
@settings(max_examples=200, deadline=None)
def test_nothing_harmful_is_left(text: str) -> None:
    for shown, allowed in ((clean(text), ""), (clean_block(text), "\n\t")):
        left = {character for character in shown if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")}
        assert left <= set(allowed)


@given(TEXT)
@settings(max_examples=200, deadline=None)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.dictionaries(ONE_WAY, ONE_WAY | st.lists(ONE_WAY, max_size=3), max_size=4), st.sampled_from([None, 2]))
@settings(max_examples=200, deadline=None)
def test_a_document_means_the_same_and_is_harmless(value: dict[str, object], indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    shown = clean_json(text)
    assert json.loads(shown) == json.loads(text)
    assert shown.encode().decode() == shown
    assert {character for character in shown if unicodedata.category(character) in ("Cc", "Cs", "Zl")} <= {"\n"}


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("“x”", 3), ("", 0), ("ｆ", 2), ("👍", 2)]
)
def test_width_counts_columns(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("ab cdefg", 4, "ab…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_shorten_cuts_with_an_ellipsis(text: str, limit: int, expected: str) -> None:
    assert shorten(text, limit) == expected


@given(TEXT, st.integers(0, 40))
@settings(max_examples=200, deadline=None)
def test_what_was_shortened_fits(text: str, limit: int) -> None:
    assert width(shorten(text, limit)) <= limit


def test_pad_fills_to_columns() -> None:
    assert pad("日", 4) == "日  "
    assert pad("longer", 3) == "longer"


def test_wrap_breaks_between_words() -> None:
    assert wrap("one two  three incomprehensibilities x", 9) == ["one two", "three", "incomprehensibilities", "x"]
    assert wrap("", 9) == []


@given(st.text("ab 日", max_size=60), st.integers(2, 20))
@settings(max_examples=100, deadline=None)
def test_wrapping_keeps_every_word(text: str, limit: int) -> None:
    lines = wrap(text, limit)
    assert " ".join(lines).split() == text.split()
    assert all(width(line) <= limit or " " not in line for line in lines)


def test_plural_counts() -> None:
    assert [plural(count, "skill") for count in (0, 1, 2, 1234)] == ["0 skills", "1 skill", "2 skills", "1,234 skills"]


def test_numbers_that_follow_each_other_are_a_range() -> None:
    assert [join_numbers(numbers) for numbers in ((), (7,), (3, 1, 2, 2), (1, 2, 5, 8, 9))] == [
        "",
        "7",
        "1-3",
        "1-2, 5, 8-9",
    ]


def test_of_many_names_the_first_are_named() -> None:
    assert [name_several("abba", 2), name_several("abc", 3), name_several("abcd", 3)] == [
        "a, b",
        "a, b, c",
        "a, b and 2 more",
    ]


def test_long_lines_of_markdown_are_wrapped_but_not_code_and_tables() -> None:
    text = (
        "one two three four five\n- one two three four five\n> one two three four five\n"
        "```\none two three four five\n```\n"
        "| one two three four five |\n    one two three four five\nshort\n"
    )
    assert wrap_markdown(text, 22) == (
        "one two three four\nfive\n- one two three four\n  five\n> one two three four\n> five\n```\n"
        "one two three four five\n```\n| one two three four five |\n    one two three four five\nshort\n"
    )


def test_a_paragraph_that_was_wrapped_for_wider_pages_is_wrapped_as_a_whole() -> None:
    text = "one two three four five\nsix seven\n\n1. one two three four five\n   six\nseven  \nbreak\n# one two\nfour\n"
    assert wrap_markdown(text, 22) == (
        "one two three four\nfive six seven\n\n1. one two three four\n   five six seven\nbreak\n# one two\nfour\n"
    )


def test_a_line_far_to_the_right_goes_on_with_its_entry_and_is_code_elsewhere() -> None:
    code = "    code that is longer than the lines\n"
    text = f"1. one\n   - one two three four five six\n     seven eight\n\n{code}# one\n{code}"
    assert wrap_markdown(text, 30) == (
        f"1. one\n   - one two three four five\n     six seven eight\n\n{code}# one\n{code}"
    )


def test_an_empty_line_before_a_long_paragraph_stays() -> None:
    assert wrap_markdown("# one\n\none two three four five\n", 22) == "# one\n\none two three four\nfive\n"


def test_a_command_in_a_sentence_stays_whole() -> None:
    assert wrap("Run `whet guard trust --yes` (or `x y`) now.", 20) == [
        "Run",
        "`whet guard trust --yes`",
        "(or `x y`) now.",
    ]
    assert wrap("(`a b`/`c`) and `--x`,`--y`", 80) == ["(`a b`/`c`) and `--x`,`--y`"]


@pytest.mark.parametrize(
    ("revision", "short"),
    [
        ("sha256:" + "ab" * 32, "ababababab"),
        ("0123456789abcdef0123456789abcdef01234567", "0123456789"),
        ("1.2.0-beta.10", "1.2.0-beta.10"),
        ("1.2.3+build", "1.2.3+build"),
        ("20261118", "20261118"),
    ],
)
def test_a_hash_is_shortened_and_a_version_is_not(revision: str, short: str) -> None:
    assert short_revision(revision) == short
