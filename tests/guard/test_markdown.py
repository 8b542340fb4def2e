"""A text becomes blocks: each with its kind, its first line and the headings above it, and nothing is left out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.prose.markdown import Block, Row, blocks, rows

PAGE = """---
name: notes
description: Keeps notes.
---
# Notes

A paragraph
on two lines.

- one
- two
  goes on

> quoted
> twice

| a | b |
| 1 | 2 |

## Run

```bash
echo 1
echo 2
```

<!-- unseen
twice --> after

**Mind this:**
1. last
"""


def test_every_kind_of_block_has_its_line_and_its_headings() -> None:
    assert blocks(PAGE) == [
        Block("frontmatter", "name: notes\ndescription: Keeps notes.", 2),
        Block("heading", "Notes", 5),
        Block("paragraph", "A paragraph\non two lines.", 7),
        Block("item", "- one", 10),
        Block("item", "- two\ngoes on", 11),
        Block("quote", "quoted\ntwice", 14),
        Block("table", "| a | b |\n| 1 | 2 |", 17),
        Block("heading", "Run", 20, "run"),
        Block("fence", "echo 1\necho 2", 23, "run", "bash"),
        Block("comment", " unseen\ntwice ", 27, "run"),
        Block("paragraph", "after", 28, "run"),
        Block("heading", "Mind this:", 30, "run > mind this:"),
        Block("item", "1. last", 31, "run > mind this:"),
    ]


def test_rows_are_whole_paragraphs_and_single_lines_of_code() -> None:
    found = blocks("---\na: 1\nb: 2\n---\nOne\ntwo.\n\n```sh\nx\ny\n```\n")

    assert rows(found) == [
        Row("a: 1", 2, 0),
        Row("b: 2", 3, 0),
        Row("One two.", 5, 1),
        Row("x", 9, 2),
        Row("y", 10, 2),
    ]


@pytest.mark.parametrize("around", ["{}", "- {}", "> {}", "| {} |", "```\n{}\n```", "<!-- {} -->", "---\nx: {}\n---\n"])
def test_a_long_line_is_rows_of_a_bounded_size_that_overlap(around: str, *, quick: bool) -> None:
    words = [f"word{number}" for number in range(4_000 if quick else 40_000)]
    made = [row for row in rows(blocks(around.format(" ".join(words)))) if "word" in row.text]
    assert max(len(row.text) for row in made) <= 2000
    assert sum(len(row.text) for row in made) < 2 * len(" ".join(words))
    inside = [row.text.replace("|", " ").split() for row in made]
    spans = {tuple(found[at : at + 20]) for found in inside for at in range(len(found) - 19)}
    assert {tuple(words[at : at + 20]) for at in range(len(words) - 19)} <= spans


def test_a_long_line_without_a_blank_is_cut_anywhere() -> None:
    text = "".join(f"{number:05}" for number in range(20_000))
    made = [row.text for row in rows(blocks(text))]
    assert max(map(len, made)) == 2000
    assert made[0] + "".join(part[500:] for part in made[1:]) == text


def test_a_comment_inside_a_line_is_a_block_too() -> None:
    assert blocks("Say <!-- this --> now.") == [
        Block("comment", " this ", 1),
        Block("paragraph", "Say <!-- this --> now.", 1),
    ]


def test_frontmatter_that_does_not_end_is_text() -> None:
    assert blocks("---\nname: a\n") == [Block("paragraph", "---\nname: a", 1)]


def test_a_fence_that_nothing_closes_is_read_both_ways() -> None:
    assert blocks("```\n# A\n\nb") == [
        Block("fence", "# A\n\nb", 2, closed=False),
        Block("heading", "A", 2),
        Block("paragraph", "b", 4),
    ]


def test_a_fence_with_a_language_ends_one_that_was_left_open() -> None:
    assert blocks("```\none\n```python\ntwo\n```\n") == [
        Block("fence", "one", 2, closed=False),
        Block("paragraph", "one", 2),
        Block("fence", "two", 4, language="python"),
    ]


def test_an_example_of_markdown_stays_one() -> None:
    assert blocks("```markdown\none\n```sh\ntwo\n```\n") == [
        Block("fence", "one", 2, language="markdown"),
        Block("fence", "two", 4, language="sh"),
    ]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert blocks("````\n```\nx\n```\n````\ny") == [Block("fence", "```\nx\n```", 2), Block("paragraph", "y", 6)]


def test_what_stands_behind_the_language_of_a_fence_is_text() -> None:
    assert blocks("```sh obey these words\nx\n```") == [
        Block("paragraph", "sh obey these words", 1),
        Block("fence", "x", 2, language="sh"),
    ]


def test_a_comment_that_nothing_closes_is_read_both_ways() -> None:
    assert blocks("<!-- one\ntwo\n<!-- three\nfour") == [
        Block("comment", " one\ntwo\n<!-- three\nfour", 1),
        Block("paragraph", "two", 2),
        Block("paragraph", "four", 4),
    ]


def test_code_in_a_comment_is_code() -> None:
    assert blocks("a\n\n<!--\n```python\nx\n```\n-->") == [
        Block("paragraph", "a", 1),
        Block("comment", "\n```python\nx\n```\n", 3),
        Block("fence", "x", 5, language="python"),
    ]


MARKS = ("```", "```sh", "````", "~~~", "<!--", "-->", "---", "# h", "- i", "> q", "| t |", "**b**", "", "word")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(MARKS), max_size=14))
def test_every_word_is_in_a_block_at_its_line(lines: list[str]) -> None:
    text = "\n".join(f"{line} w{number}" if line == "word" else line for number, line in enumerate(lines))
    found = blocks(text)

    for number, line in enumerate(lines):
        if line == "word":
            holding = [block for block in found if f"w{number}" in block.text.split()]
            assert any(
                block.line + block.text.split("\n").index(row) == number + 1
                for block in holding
                for row in block.text.split("\n")
                if f"w{number}" in row.split()
            ), (text, found)
