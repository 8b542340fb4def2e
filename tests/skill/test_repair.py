"""Frontmatter that is not YAML: what is mended, what is left alone, what is rescued."""

from __future__ import annotations

from typing import Any

import pytest

from whet.skill.block import Block
from whet.skill.frontmatter import read_document, read_repaired, repair
from whet.skill.repair import rescue


def repaired(block: str) -> dict[str, Any]:
    """The values of a block that must need, and survive, a repair."""
    document = read_document(f"---\n{block}\n---\nbody\n")
    assert (document.step, [note.code for note in document.diagnostics]) == ("repaired", ["yaml-repaired"])
    return document.values


# --- the behaviours of Codex's parser ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("description: Build for AWS: ECS", "Build for AWS: ECS"),
        ("description: What's included: builds and tests", "What's included: builds and tests"),
        ("description: Ends with a colon:", "Ends with a colon:"),
        ("description: `code` first", "`code` first"),
        ("description: @mention first", "@mention first"),
        ("description: [WIP] not a list", "[WIP] not a list"),
        ("description: {{name}} is a template", "{{name}} is a template"),
        ("description: *emphasis* first", "*emphasis* first"),
        ("description: & so on", "& so on"),
        ("description: !important: read: this", "!important: read: this"),
        ("description: % of users", "% of users"),
        ("description: , after a comma", ", after a comma"),
        ('description: "quoted" and more', "quoted and more"),
        ('description: "never closed: at all', "never closed: at all"),
        ("description: 'single' and: more", "single and: more"),
        ('description: "one" and: "two"', '"one" and: "two"'),
        ("description: - one item", "- one item"),
        ("description: [a, @b]", "[a, @b]"),
        ("description:no space after the colon", "no space after the colon"),
        ('description:"quoted without a space"', "quoted without a space"),
        ('description:"\\"it\'s\\" as it stands"', '\\"it\'s\\" as it stands'),
        ("description: first\n  second: with a colon\n\n  third", "first second: with a colon third"),
    ],
)
def test_a_scalar_yaml_misreads_is_quoted(line: str, value: str) -> None:
    assert repaired(f"name: a\n{line}\nlicense: MIT") == {"name": "a", "description": value, "license": "MIT"}


def test_a_broken_field_nobody_needs_does_not_lose_the_skill() -> None:
    block = "name: a\ndescription: d\nargument-hint: <duration: e.g. 7d, 2w>\ntags: [next,@supabase/ssr]"
    assert repaired(block) == {
        "name": "a",
        "description": "d",
        "argument-hint": "<duration: e.g. 7d, 2w>",
        "tags": ["next", "@supabase/ssr"],
    }


def test_a_text_block_keeps_its_colons_while_another_field_is_repaired() -> None:
    block = "name: a\ndescription: |\n  Use when: x\n\n  @y: z # not a comment\nargument-hint: [a] [b]"
    assert repaired(block) == {
        "name": "a",
        "description": "Use when: x\n\n@y: z # not a comment\n",
        "argument-hint": "[a] [b]",
    }


def test_a_text_block_below_the_top_is_not_touched_either() -> None:
    block = "name: a\nm:\n  t: |\n    one\n\n    Note: two: three\n  b: @x"
    assert repaired(block) == {"name": "a", "m": {"t": "one\n\nNote: two: three\n", "b": "@x"}}


def test_a_long_description_of_emoji_is_kept_whole() -> None:
    assert read_document(f"---\nname: a\ndescription: {'🦀' * 1025}\n---\n").values["description"] == "🦀" * 1025


# --- only what is broken is touched -----------------------------------------------------------------------------------


def test_entries_that_yaml_reads_are_left_as_they_are() -> None:
    sound = [
        "tags: [a, 'b: c']",
        "metadata: {hermes: {tags: [x]}}",
        'quoted: "say \\"hi\\": now"',
        "hash: a # a comment",
        "number: 1.10",
        "nested: # a comment\n  key: value",
        "anchor: &a x",
        "'odd key': y",
    ]
    text = "\n".join([*sound, "broken: a: b"])
    assert repair(text) == "\n".join([*sound, "broken: 'a: b'"])


def test_siblings_below_a_broken_line_are_left_as_they_are() -> None:
    block = (
        "m:\n  labels: [x, y]\n  files: ['**/*.ts']\n  n: 1.10\n  keywords: [@if, for]\n  list:\n    - ok\n    - @no"
    )
    assert repaired(block) == {
        "m": {
            "labels": ["x", "y"],
            "files": ["**/*.ts"],
            "n": 1.1,
            "keywords": ["@if", "for"],
            "list": ["ok", "@no"],
        }
    }


def test_the_top_level_is_tried_before_anything_below_it() -> None:
    text = "a: b: c\nm:\n  k: @x\n"
    assert repair(text) == "a: 'b: c'\nm:\n  k: @x\n"
    assert repair(text, deep=True) == "a: 'b: c'\nm:\n  k: '@x'\n"
    assert read_repaired(text) == (
        "a: 'b: c'\nm:\n  k: '@x'\n",
        Block({"a": "b: c", "m": {"k": "@x"}}, {"a": 1, "m": 2, "m.k": 3}, {}),
    )


@pytest.mark.parametrize("text", ["a: b\n", "", "just words\n", "- a: b: c\n"])
def test_what_needs_no_repair_or_none_can_mend_gives_nothing(text: str) -> None:
    assert repair(text) == text
    assert read_repaired(text) is None or "'" in repair(text, deep=True)


# --- structure --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('m: {"a": "\\ud83d\\ude80", "b": [1, true, null]}', {"a": "🚀", "b": [1, True, None]}),
        ('m: {"a": {"b": ["c"]}', {"a": {"b": ["c"]}}),
        ('m: {"a": "\\ud83d\\ude80",\n  "b": 1\n}', {"a": "🚀", "b": 1}),
        ("m: [ray[train], torch]", ["ray[train]", "torch"]),
        ("m: ['a, b', @c, \"d\"]", ["a, b", "@c", "d"]),
        ("m: [a: b, @c,]", ["a: b", "@c"]),
        ("m: [a] [b]", "[a] [b]"),
        ("m: [unclosed", "[unclosed"),
        ("m: {unclosed: @x", "{unclosed: @x"),
        ("m: - a\n- b\n- c: d", ["a", "b", "c: d"]),
        ("m: - a\n  - b", ["a", "b"]),
        ("m:\n\tk: v\n\tl: [a]", {"k": "v", "l": ["a"]}),
    ],
)
def test_a_list_or_mapping_stays_one_where_it_can(line: str, value: Any) -> None:
    document = read_document(f"---\nname: n\n{line}\nend: x\n---\n")
    assert document.values == {"name": "n", "m": value, "end": "x"}
    assert document.lines["end"] == 4 + line.count("\n")


# --- rescue -----------------------------------------------------------------------------------------------------------


def test_each_key_is_rescued_on_its_own() -> None:
    text = "\n".join(
        [
            "stray words",
            "name: a",
            "tags: [x, y]",
            "meta:",
            "  version: 1.10",
            "broken: \x01 control",
            "hint: a: b",
            "description: wrapped",
            "by hand",
            "# a comment",
            "",
            "Prose that follows.",
            "version: 1.20",
        ]
    )
    assert rescue(text) == Block(
        values={
            "name": "a",
            "tags": ["x", "y"],
            "meta": {"version": 1.1},
            "broken": "\x01 control",
            "hint": "a: b",
            "description": "wrapped by hand",
            "version": 1.2,
        },
        lines={
            "name": 2,
            "tags": 3,
            "meta": 4,
            "meta.version": 5,
            "broken": 6,
            "hint": 7,
            "description": 8,
            "version": 13,
        },
        texts={"meta.version": "1.10", "version": "1.20"},
    )


def test_a_merge_conflict_costs_nothing_but_its_marks() -> None:
    text = "---\nname: a\n<<<<<<< HEAD\nversion: 1\n=======\nversion: '2'\n>>>>>>> theirs\nlicense: MIT\n---\n"
    document = read_document(text)
    assert document.step == "rescued"
    assert document.values == {"name": "a", "version": "2", "license": "MIT"}
    assert document.texts == {}
    assert [(note.code, note.line) for note in document.diagnostics] == [("yaml-rescued", 4), ("duplicate-key", 6)]


def test_a_later_duplicate_replaces_all_that_is_known_of_the_first() -> None:
    assert rescue("junk\nm:\n  a: 1\n  b: 2\nm: [3]\nm: x\n") == Block(
        {"m": "x"}, {"m": 6}, {}, duplicates=(("m", 5), ("m", 6))
    )


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("name: \x01a\nwrapped", {"name": "\x01a"}),
        ("description: |\n  \x01a\n  b", {"description": "\x01a b"}),
        ("description: '\x01a'", {"description": "\x01a"}),
        ('"name": \x01a', {"name": "\x01a"}),
        ("name:\x01a", {"name": "\x01a"}),
        ("https://x.y: \x01a", {}),
        ("\x01", {}),
        ("", {}),
    ],
)
def test_the_last_resort_is_the_text_after_the_first_colon(text: str, values: dict[str, Any]) -> None:
    assert rescue(text).values == values
