"""The YAML between the fences: two lanes, one answer, and bounds that hold."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from whet.skill import block
from whet.skill.block import MAX_DEPTH, MAX_NODES, Block, BlockError, read_block, resolve_plain

# --- strategies: frontmatter assembled from pieces --------------------------------------------------------------------

ODD = ["\x85", "\u2028", "\u2029", "\ufeff", "\t", "\xa0", "\u3000", "\x7f", "\ufffe", "\r", "\x1c"]
WORDS = [
    "a",
    "Use",
    "when",
    "x1",
    "it's",
    "C#",
    "a:b",
    "https://x.y/z",
    "(1)",
    "é",
    "日本",
    "😀",
    "$HOME",
    "-",
    "b-",
    "1,5",
]
TYPED = ["null", "true", "False", "~", "1.10", "0x1f", "0o17", "1e3", "1e999", "-7", "+.5", "007", "yes", "no", "on"]
DATES = ["2026-01-01", "12:30:45", ".inf", ".nan", "1_000", "<<", "..."]
MARKS = [*" ,;:!?#&*|>'\"%@`[]{}=~\\^", ": ", " #", "# ", "--- ", "- ", "? ", "{{x}}", '"q"', ":", "  "]
tame = st.sampled_from([*WORDS, *WORDS, *TYPED, *DATES])
PIECES = [*WORDS, *TYPED, *DATES, *MARKS, *ODD]
words = st.lists(tame, min_size=1, max_size=4).map(" ".join)
wild = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
plain = st.one_of(words, words, tame, st.tuples(words, wild).map("".join), wild)
KEYS = st.sampled_from(
    ("name", "description", "a", "b-c", "_d", "E9", "true", "null", "tags", "k") * 3
    + ("1", "a.b", "k k", '"q"', "'s'", "é", "<<", "", "-x")
)
gap = st.sampled_from([" ", " ", " ", "  ", ""])
spaces = st.sampled_from(["", "", " ", "  ", "    "])
quoted = st.one_of(plain.map(lambda text: f'"{text}"'), plain.map(lambda text: f"'{text}'"))
scalar = st.one_of(plain, plain, quoted, st.sampled_from(["&x a", "*x", "!t b", "!!str 1", "|", ">", "[", "{}"]))
flow = st.one_of(
    st.lists(plain, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
    st.lists(scalar, max_size=3).map(lambda items: "[" + ",".join(items) + ",]"),
    st.lists(st.tuples(KEYS, scalar), max_size=3).map(
        lambda pairs: "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    ),
)


@st.composite
def text_block(draw: st.DrawFn) -> str:
    """A literal or folded block, with rows that are indented too little or too much now and then."""
    header = draw(st.sampled_from(["|", ">", "|-", ">-"] * 3 + ["|+", ">+", "|2", ">1-", "| # note"])) + draw(spaces)
    indent = draw(st.sampled_from([" ", "  ", "    "]))
    content = plain.map(lambda text: indent + text)
    odd = st.sampled_from(
        ["", "", " ", "      ", "  # like a comment", "     # deeper", "# at the edge", " ---", "..."]
    )
    return "\n".join([header, draw(content), *draw(st.lists(st.one_of(content, odd), max_size=3))])


@st.composite
def nested(draw: st.DrawFn) -> str:
    """A list or a mapping below its key."""
    indent = draw(spaces)
    item = st.one_of(scalar, scalar, scalar, flow)
    if draw(st.booleans()):
        rows = [f"{indent}-{draw(gap)}{text}{draw(spaces)}" for text in draw(st.lists(item, max_size=4))]
    else:
        pairs = draw(st.lists(st.tuples(KEYS, item), max_size=4))
        rows = [f"{indent}{key}:{draw(gap)}{text}{draw(spaces)}" for key, text in pairs]
    return "\n".join([draw(spaces), *rows])


@st.composite
def deeper(draw: st.DrawFn) -> str:
    """Mappings and lists in mappings, indented as most people do, and otherwise now and then."""
    rows, indent = [], 2
    for _ in range(draw(st.integers(1, 6))):
        step = draw(st.sampled_from([0, 0, 2, 2, -2, -2, 1]))
        indent = max(0, indent + step)
        opening = st.sampled_from(
            ["k:", "name:", "a:  ", "- x", "- 1", "a: b", "b: 1.10", "c: [x, 2]", "d: 'e'", "k: v # c"]
        )
        rows.append(
            " " * indent + draw(st.one_of(opening, opening, scalar.map("- {}".format), scalar.map("z: {}".format)))
        )
    return "\n".join(["", *rows])


@st.composite
def entry(draw: st.DrawFn) -> str:
    """One key with any kind of value, and sometimes a row that continues it."""
    value = draw(st.one_of(scalar, plain, flow, text_block(), nested(), st.just("")))
    more = draw(st.lists(plain.map(lambda text: f"  {text}"), max_size=1 if draw(st.booleans()) else 0))
    return "\n".join([f"{draw(KEYS)}:{draw(gap)}{value}{draw(spaces)}", *more])


junk = st.sampled_from(["", " ", "# comment", "  # comment", "---", "...", "- item", "}", "%YAML 1.1", "\t", "word"])
rows = st.one_of(entry(), entry(), entry(), entry(), junk)
assembled = st.lists(rows, min_size=1, max_size=3).map(lambda rows: "\n".join([*rows, ""]))
letters = st.one_of(st.sampled_from([*" :#-|>[],'\"\n", *ODD]), st.characters())
random_text = st.text(letters, max_size=40)


def outcome(text: str) -> Block | str:
    """What the event lane makes of a text."""
    try:
        return block._read_events(text)
    except BlockError as error:
        return str(error)


def check_lanes(text: str) -> None:
    fast = block._read_simple(text)
    if fast is not None:
        assert fast == outcome(text)
        slow = block._read_events(text)
        assert repr(fast.values) == repr(slow.values)  # True is not 1, and the order counts


class TestTheLanesAgree:
    @given(assembled)
    @settings(max_examples=200, deadline=None)
    @example("a: |\n  text\n   # not a comment\nb: c\n")
    @example("a: |\n  text\n\n  # not a comment\n")
    @example("a: >\n  text\n      \nb: c\n")
    @example("a: |-\n  text\n\n\n# a comment\nb: c\n")
    @example("a: 1\n  2\n")
    @example("a: [x, 1.10, true]\nb:\n- 007\n- ~\n")
    def test_on_frontmatter_assembled_from_pieces(self, text: str) -> None:
        check_lanes(text)

    @given(text_block(), st.sampled_from(["", "b: c\n", "# c\n", "\n\nb: c\n", "  \n", "  more\n"]))
    @settings(max_examples=200, deadline=None)
    def test_on_text_blocks(self, text: str, after: str) -> None:
        check_lanes(f"a: {text}\n{after}")

    @given(nested(), st.sampled_from(["", "b: c\n", "- x\n", "  - x\n", "  k: v\n", "    more\n", "\n  # c\n"]))
    @settings(max_examples=200, deadline=None)
    def test_on_lists_and_mappings(self, text: str, after: str) -> None:
        check_lanes(f"a:{text}\n{after}")

    @given(deeper(), st.sampled_from(["", "b: c\n", "  - x\n", "  k: v\n"]))
    @settings(max_examples=300, deadline=None)
    @example("\n  hermes:\n    tags: [a, 1.0]\n    category: b\n  other:\n    - true\n    - c", "b: c\n")
    @example("\n  k:\n    - x\n   a: b", "")
    @example("\n  k:\n  - x\n  a: b", "")
    def test_on_what_is_deeper(self, text: str, after: str) -> None:
        check_lanes(f"a:{text}\n{after}")

    @given(random_text)
    @settings(max_examples=200, deadline=None)
    def test_on_random_text(self, text: str) -> None:
        check_lanes(text)
        check_lanes(f"key: {text}\n")
        check_lanes(f"key: |\n  {text}\n")

    def test_the_fast_lane_answers_for_the_forms_nearly_everyone_uses(self) -> None:
        text = """\
name: x
description: Use when so
quoted: "a: b"
note: 'c # d'
# comment

tags: [a, b c, 1]
list:
  - x
  - y
meta:
  version: 1.10
  author: me
long: first
  second
text: |
  a: b
  # c
fold: >-
  d
  e
none:
"""
        assert block._read_simple(text) == Block(
            values={
                "name": "x",
                "description": "Use when so",
                "quoted": "a: b",
                "note": "c # d",
                "tags": ["a", "b c", 1],
                "list": ["x", "y"],
                "meta": {"version": 1.1, "author": "me"},
                "long": "first second",
                "text": "a: b\n# c\n",
                "fold": "d e",
                "none": None,
            },
            lines={
                "name": 1,
                "description": 2,
                "quoted": 3,
                "note": 4,
                "tags": 7,
                "list": 8,
                "meta": 11,
                "meta.version": 12,
                "meta.author": 13,
                "long": 14,
                "text": 16,
                "fold": 19,
                "none": 22,
            },
            texts={"tags.2": "1", "meta.version": "1.10", "none": ""},
        )


# --- against PyYAML ---------------------------------------------------------------------------------------------------

untyped = st.one_of(words, wild).map(lambda text: f"w {text}")
trees = st.dictionaries(
    untyped,
    st.recursive(
        untyped,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(untyped, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def spelled(value: Any, path: str, texts: dict[str, str]) -> Any:
    """The value with every scalar as it is written, the way PyYAML's BaseLoader gives it."""
    if isinstance(value, dict):
        return {key: spelled(item, f"{path}.{key}" if path else key, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [spelled(item, f"{path}.{number}", texts) for number, item in enumerate(value)]
    return value if isinstance(value, str) else texts[path]


class TestPyYAMLAgrees:
    @given(trees, st.sampled_from(["", '"', "'", "|", ">"]), st.booleans(), st.sampled_from([20, 10_000]))
    @settings(max_examples=150, deadline=None)
    def test_on_documents_it_wrote_itself(self, tree: dict[str, Any], style: str, flow: bool, width: int) -> None:
        text = yaml.dump(tree, default_style=style, default_flow_style=flow, width=width, allow_unicode=True)
        expected = yaml.load(text, Loader=yaml.CSafeLoader)
        assert read_block(text).values == expected

    @given(assembled)
    @settings(max_examples=200, deadline=None)
    def test_on_which_text_is_yaml_and_how_each_scalar_is_spelled(self, text: str) -> None:
        try:
            expected = yaml.load(text, Loader=yaml.CBaseLoader)
        except (yaml.YAMLError, TypeError) as error:
            assume("duplicate anchor" not in str(error))  # allowed since YAML 1.2, and by us
            expected = None
        found = outcome(text)
        if isinstance(found, Block):
            assert (expected or {}) == spelled(found.values, "", found.texts)
        else:
            ours = found.startswith(("not a mapping", "a key that is not a plain word"))
            assert ours or expected is None


# --- scalars ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("nULL", "nULL"),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1.10", 1.1),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        ("-1e999", "-1e999"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("2026-01-01", "2026-01-01"),
        ("12:30:45", "12:30:45"),
        ("٣", "٣"),
        ("1.0.0", "1.0.0"),
        ("9" * 301, "9" * 301),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: Any) -> None:
    assert repr(resolve_plain(text)) == repr(value)


def test_a_scalar_that_became_something_else_keeps_its_spelling() -> None:
    found = read_block("version: 1.10\nlist: [007, x]\nempty:\nnothing: null\nquoted: '1.10'\n")
    assert found.texts == {"version": "1.10", "list.0": "007", "empty": "", "nothing": "null"}


def test_an_alias_keeps_the_spelling_of_what_it_names() -> None:
    found = read_block("a: &v 1.10\nb: *v\nc: &m {d: 0.20, e: [1e1]}\nf: [*m]\n")
    assert found.values["f"] == [{"d": 0.2, "e": [10.0]}]
    assert found.texts == {
        "a": "1.10",
        "b": "1.10",
        "c.d": "0.20",
        "c.e.0": "1e1",
        "f.0.d": "0.20",
        "f.0.e.0": "1e1",
    }


def test_a_key_can_carry_an_anchor() -> None:
    assert read_block("&k key: v\nother: *k\n").values == {"key": "v", "other": "key"}


# --- keys, lines, duplicates ------------------------------------------------------------------------------------------


def test_the_later_duplicate_wins_with_its_own_line_and_spelling() -> None:
    assert read_block("version: 1.10\nm:\n  x: 1\n  y: 2\nversion: '2'\nm:\n  y: 3.0\n") == Block(
        values={"version": "2", "m": {"y": 3.0}},
        lines={"version": 5, "m": 6, "m.y": 7},
        texts={"m.y": "3.0"},
        duplicates=(("version", 5), ("m", 6)),
    )


def test_duplicates_below_the_top_are_named_by_their_path() -> None:
    assert read_block("a:\n  b: 1\n  b: x\n").duplicates == (("a.b", 3),)


def test_keys_that_are_not_text_are_read_as_written() -> None:
    assert read_block("1: a\ntrue: b\n~: c\n2026-01-01: d\n").values == {
        "1": "a",
        "true": "b",
        "~": "c",
        "2026-01-01": "d",
    }


def test_an_empty_key_does_not_pass_its_children_off_as_top_level_keys() -> None:
    found = read_block('"": {name: 1}\nname: x\n')
    assert found.lines == {"": 1, ".name": 1, "name": 2}
    assert found.texts == {".name": "1"}


def test_merge_keys_are_ordinary_keys() -> None:
    assert read_block("base: &b {x: y}\nuse:\n  <<: *b\n").values == {"base": {"x": "y"}, "use": {"<<": {"x": "y"}}}


def test_lines_are_those_of_an_editor_also_where_yaml_counts_more() -> None:
    found = read_block("a: 'x\u2028y\u2029z'\nb: 'p\x85q'\nc: 'r\rs'\nname: n\n")
    assert found.lines == {"a": 1, "b": 2, "c": 3, "name": 4}


# --- hostile blocks ---------------------------------------------------------------------------------------------------


def refusal(text: str) -> tuple[str, int | None]:
    with pytest.raises(BlockError) as caught:
        read_block(text)
    assert str(caught.value) == caught.value.message
    return caught.value.message, caught.value.line


def test_billion_laughs_are_not_laughed() -> None:
    rows = ["l0: &l0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    rows += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert refusal("\n".join(rows)) == (f"more than {MAX_NODES:,} values once aliases are followed", 5)


def test_long_text_repeated_by_aliases_counts_by_its_length() -> None:
    text = f"a: &a '{'x' * 30_000}'\nb: [{', '.join(['*a'] * 1000)}]\n"
    assert refusal(text) == (f"more than {MAX_NODES:,} values once aliases are followed", 2)


def test_a_long_key_is_not_repeated_for_every_value_below_it() -> None:
    key = "k" * 1000
    found = read_block(f"{key}: [{', '.join(['1'] * 5000)}]\n")
    assert found.values[key] == [1] * 5000
    assert found.texts == {}


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 10_000,
        "a: " + "[" * 10_000 + "]" * 10_000,
        "a: " + "{a: " * 10_000,
        "a:\n  " + "- " * 10_000 + "x\n",
        "\n".join(" " * n + f"k{n}:" for n in range(300)),
    ],
)
def test_nesting_is_bounded(text: str) -> None:
    assert refusal(text)[0] == f"nested deeper than {MAX_DEPTH} levels"


def test_nesting_up_to_the_bound_is_read() -> None:
    deep = "[" * (MAX_DEPTH - 2) + "x" + "]" * (MAX_DEPTH - 2)
    value = read_block(f"a: {deep}\n").values["a"]
    for _ in range(MAX_DEPTH - 2):
        assert isinstance(value, list)
        (value,) = value
    assert value == "x"


def test_the_number_of_values_is_bounded_in_both_lanes() -> None:
    assert refusal(f"a: [{'x,' * (MAX_NODES + 1)}x]\n")[0].startswith("more than")
    assert refusal("a:\n" + "- x\n" * (MAX_NODES + 1))[0].startswith("more than")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: !!python/object/apply:os.system [touch, x]\n", ["touch", "x"]),
        ("a: !!python/object:os.PathLike {x: y}\n", {"x": "y"}),
        ("a: !!python/name:os.system\n", ""),
        ("a: !!int '3'\n", "3"),
        ("a: !!str 3\n", "3"),
        ("a: !!binary aGk=\n", "aGk="),
        ("a: ! 3\n", "3"),
        ("a: !!timestamp 2026-01-01\n", "2026-01-01"),
        ("a: !custom x\n", "x"),
    ],
)
def test_tags_never_construct_anything(text: str, value: Any) -> None:
    assert read_block(text).values == {"a": value}


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: b: c\n", "mapping values are not allowed in this context", 1),
        ("x: y\na: [b\n", "did not find expected ',' or ']'", 3),
        ("a: *nowhere\n", "alias *nowhere has no anchor before it", 1),
        ("a: &a [*a]\n", "alias *a has no anchor before it", 1),
        ("? [a, b]\n: c\n", "a key that is not a plain word", 1),
        ("a: b\n{c: d}: e\n", "a key that is not a plain word", 2),
        ("a: b\n--- \nc: d\n", "a second YAML document", 2),
        ("- a\n- b\n", "not a mapping of keys to values", 1),
        ("just words\n", "not a mapping of keys to values", 1),
        ("42\n", "not a mapping of keys to values", 1),
        ("a: b\nc: \x00\n", "a character that YAML does not allow", 2),
        ("a: b\n\nc: \ud800\n", "a character that YAML does not allow", 3),
        ("a: 'x\u2028y'\nb: c: d\n", "mapping values are not allowed in this context", 2),
    ],
)
def test_what_is_not_a_mapping_is_refused_with_its_line(text: str, message: str, line: int) -> None:
    assert refusal(text) == (message, line)


@pytest.mark.parametrize("text", ["", "\n", "  \n\n", "# only a comment\n", "~\n", "null\n", "{}\n", "---\n"])
def test_nothing_is_an_empty_block(text: str) -> None:
    assert read_block(text).values == {}


@pytest.mark.parametrize("text", ["a: |\n  x", "a: >\n  x"])
def test_a_missing_last_line_end_makes_no_difference(text: str) -> None:
    assert read_block(text) == read_block(text + "\n") == Block({"a": "x\n"}, {"a": 1}, {})
