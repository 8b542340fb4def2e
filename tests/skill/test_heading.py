"""The quick reading of ordinary headings: what it takes, what it leaves, and that it agrees with the full one."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whet.skill.dialects import Heading, read_heading
from whet.skill.frontmatter import read_document
from whet.skill.gates import OPEN, Gates, Tool
from whet.skill.heading import quick_heading

BASE = "name: a-b\ndescription: Does it.\n"


def quick(block: str, name: str = "a-b") -> Heading | None:
    return quick_heading(f"---\n{block}---\nBody\n".encode(), name)


def full(head: bytes, name: str) -> Heading:
    return read_heading(read_document(head), fallback_name=name)


@pytest.mark.parametrize(
    ("block", "description", "category"),
    [
        (BASE, "Does it.", ""),
        ("name: 'a-b'\ndescription: \"Does: it\" \n", "Does: it", ""),
        ("name: a-b\ndescription: Does  it, a:b and c#d.  \n", "Does it, a:b and c#d.", ""),
        ("name: a-b\ndescription: >\n  Does\n  it.\n", "Does it.", ""),
        ("name: a-b\ndescription: |-\n  # Does \n  it: all\n", "# Does it: all", ""),
        ("name: a-b\ndescription: Räumt auf – schnell 🚀\n", "Räumt auf – schnell 🚀", ""),
        (f"license: MIT\n{BASE}version: 1.10\n", "Does it.", ""),
        (f"{BASE}category: dev tools\n", "Does it.", "dev tools"),
        (f"{BASE}tags: [a, b c]\nallowed-tools:\n  - Read\n  - Bash(git:*)\ntriggers:\n- x\n", "Does it.", ""),
        (f'{BASE}metadata:\n  author: me\n  version: "1"\n', "Does it.", ""),
        ("name: a-b\nsummary: >-\n  More\ndescription: Does it.\n", "Does it.", ""),
    ],
)
def test_ordinary_headings_are_read(block: str, description: str, category: str) -> None:
    assert quick(block) == Heading("a-b", description, category, OPEN, (), "", "")


@pytest.mark.parametrize(
    ("block", "when", "hint"),
    [
        (f"{BASE}when_to_use: It is  due. \n", "It is due.", ""),
        (f"{BASE}when_to_use: ' It is:  due.'\n", "It is: due.", ""),
        (f"argument-hint: <file>  <mode>\n{BASE}", "", "<file>  <mode>"),
        (f'{BASE}argument-hint: " [file]"\n', "", "[file]"),
        ("name: a-b\nwhen_to_use: Now.\ndescription: Does it.\nargument-hint: file\n", "Now.", "file"),
    ],
)
def test_when_to_use_it_and_what_to_type_are_read(block: str, when: str, hint: str) -> None:
    assert quick(block) == Heading("a-b", "Does it.", "", OPEN, (), when, hint)
    assert quick(block) == full(f"---\n{block}---\n".encode(), "a-b")


@pytest.mark.parametrize(
    ("rows", "category", "gates"),
    [
        ("hermes:\n    tags: [a]\n    category: web", "web", OPEN),
        ("author: me\n  hermes:\n    tags:\n      - a\n    category: 1.10", "1.10", OPEN),
        ("hermes:\n    requires_tools: [terminal]", "", OPEN._replace(tools=(Tool("terminal"),))),
        ("openclaw:\n    requires:\n      bins:\n        - git", "", OPEN._replace(commands=("git",))),
        ("whet: {}\n  a: {b: [c]}", "", OPEN),
    ],
)
def test_what_agents_look_for_in_metadata_is_read(rows: str, category: str, gates: Gates) -> None:
    block = f"{BASE}metadata:\n  {rows}\nlicense: MIT\nwhen_to_use: Now.\n"
    assert quick(block) == Heading("a-b", "Does it.", category, gates, (), "Now.", "")
    assert quick(block) == full(f"---\n{block}---\n".encode(), "a-b")


@pytest.mark.parametrize(
    "block",
    [
        "",
        "name: a-b\n",
        "description: Does it.\nname: a-b\n",
        "name: other\ndescription: Does it.\n",
        "name: a-b\ndescription: 3.14\n",
        "name: a-b\ndescription: ''\n",
        'name: a-b\ndescription: "a\\tb"\n',
        "name: a-b\ndescription: Does it: all\n",
        "name: a-b\ndescription: Does it # all\n",
        "name: a-b\ndescription: Does\n  it\n",
        "name: a-b\ndescription: a\tb\n",
        "name: a-b\ndescription: a\x85b\n",
        "name: a-b\ndescription: a\u2028b\n",
        f"{BASE}description: Again.\n",
        f"{BASE}license: MIT\nlicense: MIT\n",
        f"{BASE}category: [a]\n",
        f"{BASE}category: 3\n",
        f"{BASE}category:\n  - a\n",
        f"{BASE}when_to_use: ''\n",
        f"{BASE}when_to_use: 3\n",
        f"{BASE}when_to_use: >\n  It is due.\n",
        f"{BASE}when_to_use:\n  - It is due.\n",
        f"{BASE}when-to-use: It is due.\n",
        f"{BASE}argument-hint:\n",
        f"{BASE}argument-hint: [file]\n",
        f"{BASE}argument-hint: [file] [mode]\n",
        f"{BASE}argument-hint: true\n",
        f"{BASE}argument_hint: file\n",
        f"{BASE}platforms: [linux]\n",
        f"{BASE}metadata: text\n",
        f"{BASE}metadata:\n  - a\n",
        f"{BASE}metadata:\n  a: 1\n  a: 2\n",
        f"{BASE}metadata:\n  openclaw: '{{}}'\n",
        f"{BASE}metadata:\n  hermes: [a]\n",
        f"{BASE}metadata:\n  hermes:\n    tags: *a\n",
        f"{BASE}metadata:\n  hermes:\n    tags: [a]\n    tags: [b]\n",
        f"{BASE}metadata:\n  text\n  more text\n",
        f"{BASE}metadata: >\n  a: b\n",
    ],
)
def test_everything_else_is_left_to_the_full_reader(block: str) -> None:
    assert quick(block) is None


def test_the_head_of_a_file_must_hold_both_fences_and_be_text() -> None:
    whole = f"---\n{BASE}---\n".encode()
    assert quick_heading(whole, "a-b") is not None
    assert [quick_heading(head, "a-b") for head in (b"", whole[:-1], whole[4:], b"\xff" + whole)] == [None] * 4
    assert quick_heading(whole.replace(b"Does", b"\xff"), "a-b") is None


WORDS = st.sampled_from(
    ["a-b", "x", "Does it.", "1.0", "true", "~", "a: b", "a #b", "a:b", "é", "🚀", "\u3000", "\ufeff"]
)
MARKS = st.sampled_from(
    [" ", "  ", "\n", "\n  ", "\n    ", "- ", "'", '"', "|", ">-", "[", "]", ",", "{", "\\", "\t", "#"]
)
TEXT = st.lists(WORDS | MARKS, max_size=5).map("".join)
SAID = ("category", "when_to_use", "when-to-use", "argument-hint", "argument_hint")
KEYS = st.sampled_from(["name", "description", "license", "tags", "metadata", "platforms", "hermes", "Odd_key", *SAID])
NAMED = st.sampled_from(
    ["name: a-b", "name: 'a-b' ", "name: 1.0", "description: Does it.", "description: >-\n  Does\n  it."]
)
LISTED = st.sampled_from(["tags:\n  - a\n  - b", "tags: [a, b]", "metadata:\n  a: b", "metadata:\n  whet: x"])
ASKED = st.sampled_from(
    [
        *("hermes:", "openclaw:", "whet:", "hermes: x", "tags: [a, b]", "category: web", "category:", "category: 1.10"),
        *("requires:", "bins:", "- git", "- a: b", "requires_tools: [x]", "emoji: '🚀'", "author: me", "{a: b}", "# c"),
        *("platforms: [linux]", "always: true", "tools_required: x", "*a", "&a b", "text", '{"a": [1]}', "--- ", "..."),
    ]
)
NESTED = st.lists(
    st.builds("{}{}".format, st.sampled_from(["  ", "    ", "      ", "        "]), ASKED), min_size=1, max_size=6
)
ENTRY = NAMED | LISTED | st.builds("{}: {}".format, KEYS, TEXT) | st.builds("{}:\n  {}".format, KEYS, TEXT)


@settings(max_examples=200, deadline=None)
@given(st.lists(ENTRY, max_size=5), st.sampled_from(["a-b", "x", "1.0", "a  b", ""]))
@example(["name: a  b", "description: Does it."], "a  b")
@example(["name:", "- a", "description: Does it."], "")
def test_wherever_the_quick_reader_answers_the_full_one_says_the_same(entries: list[str], name: str) -> None:
    for rows in (entries, [f"name: {name}", "description: Does it.", *entries]):
        head = ("---\n" + "".join(f"{row}\n" for row in rows) + "---\nBody\n").encode()
        found = quick_heading(head, name)
        assert found is None or found == full(head, name)


@settings(max_examples=300, deadline=None)
@given(NESTED, st.sampled_from(["", "category: dev", "argument-hint: file"]))
def test_the_two_say_the_same_of_what_metadata_says(rows: list[str], more: str) -> None:
    block = "\n".join((BASE + "metadata:", *rows, *([more] if more else []), ""))
    head = f"---\n{block}---\nBody\n".encode()
    found = quick_heading(head, "a-b")
    assert found is None or found == full(head, "a-b")


VALUES = st.sampled_from(["Now.", "a  b ", "' a  b '", '"[a]" ', "<a>", "ä 🚀", "a:b", "it's", "3", "true", "''"])
LESS_PLAIN = st.sampled_from(["[a]", "[a, b]", "[a] [b]", ">-\n  a\n  b", "\n  - a\n  - b", "'a''b'", "a\n  b", ""])
SAYING = st.builds("{}: {}".format, st.sampled_from(SAID), VALUES | VALUES | LESS_PLAIN)


@settings(max_examples=200, deadline=None)
@given(st.lists(SAYING | LISTED, max_size=3, unique_by=lambda row: row.partition(":")[0]), st.integers(0, 3))
def test_the_two_say_the_same_of_what_ordinary_headings_say(entries: list[str], place: int) -> None:
    rows = [*entries[:place], "name: a-b", "description: Does it.", *entries[place:]]
    head = ("---\n" + "".join(f"{row}\n" for row in rows) + "---\nBody\n").encode()
    found = quick_heading(head, "a-b")
    assert found is None or found == full(head, "a-b")
