"""Editing YAML: entries come and go as whole lines, and nothing else moves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.editing import containers, taken_back
from whet.errors import InvalidError, RefusedError, UsageError, WhetError
from whet.interfaces.clients.editor import editor
from whet.skill.text_edit import value_at as at

yaml = editor("yaml")
SERVER = {"command": "/usr/bin/whet", "args": ["mcp"]}
LINES = "  whet:\n    command: /usr/bin/whet\n    args:\n      - mcp\n"

# What a file is, and what it is with a server in it.
PUTS = {
    "nothing": ("", f"mcp_servers:\n{LINES}"),
    "only remarks": ("# mine\n\n", f"# mine\n\nmcp_servers:\n{LINES}"),
    "no line break at the end": ("model: x # y", f"model: x # y\nmcp_servers:\n{LINES}".rstrip()),
    "a document mark": ("\ufeff---\n", f"\ufeff---\nmcp_servers:\n{LINES}"),
    "an end mark": ("a: 1\n...\n", f"a: 1\nmcp_servers:\n{LINES}...\n"),
    "an empty table": ("mcp_servers: {}\nmodel: x\n", f"mcp_servers:\n{LINES}model: x\n"),
    "a null": ("mcp_servers:\nmodel: x\n", f"mcp_servers: \n{LINES}model: x\n"),
    "a null with a blank": ("mcp_servers: \nmodel: x\n", f"mcp_servers:    \n{LINES}model: x\n"),
    "a null in words": ("mcp_servers: null\nmodel: x\n", f"mcp_servers:  \n{LINES}model: x\n"),
    "a null as a sign": ("mcp_servers: ~\n", f"mcp_servers:   \n{LINES}"),
    "a null with a remark": ("mcp_servers: # none\nmodel: x\n", f"mcp_servers: # none \n{LINES}model: x\n"),
    "an empty table with a remark": (
        "mcp_servers: {} # none\n",
        "mcp_servers: {whet: {command: /usr/bin/whet, args: [mcp]}} # none\n",
    ),
    "siblings with remarks below them": (
        "mcp_servers:\n  a:\n    command: x # y\n    # args: []\n\n# end\nmodel: x\n",
        f"mcp_servers:\n  a:\n    command: x # y\n    # args: []\n{LINES}\n# end\nmodel: x\n",
    ),
    "a text of several lines before": (
        "mcp_servers:\n  a: |\n    x\n\nb: 1\n",
        f"mcp_servers:\n  a: |\n    x\n{LINES}\nb: 1\n",
    ),
    "a text that keeps its line breaks": (
        "mcp_servers:\n  a: |+\n    x\n\nb: 1\n",
        f"mcp_servers:\n  a: |+\n    x\n\n{LINES}b: 1\n",
    ),
    "an alias before": ("a: &a 1\nmcp_servers:\n  b: *a\n", f"a: &a 1\nmcp_servers:\n  b: *a\n{LINES}"),
    "flow style": (
        "mcp_servers: {a: {x: 1}}\n",
        "mcp_servers: {a: {x: 1}, whet: {command: /usr/bin/whet, args: [mcp]}}\n",
    ),
    "JSON": (
        '{\n  "mcp_servers": {\n    "a": 1,\n  }\n}\n',
        '{\n  "mcp_servers": {\n    "a": 1,\n    whet: {command: /usr/bin/whet, args: [mcp]},\n  }\n}\n',
    ),
}


@pytest.mark.parametrize(("text", "expected"), PUTS.values(), ids=PUTS.keys())
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_server_is_put_in_the_way_the_file_is_written_and_taken_out_again(
    text: str, expected: str, newline: str
) -> None:
    if "\n" in text:
        text, expected = text.replace("\n", newline), expected.replace("\n", newline)
    path = ("mcp_servers", "whet")
    assert yaml.put(text, path, SERVER) == expected
    assert taken_back(yaml, text, expected, path) == text


def test_four_blanks_of_indentation_are_kept() -> None:
    text = "a:\n    b: 1\nmcp_servers: {}\n"
    expected = (
        "a:\n    b: 1\nmcp_servers:\n    whet:\n        command: /usr/bin/whet\n        args:\n            - mcp\n"
    )
    assert yaml.put(text, ("mcp_servers", "whet"), SERVER) == expected


@pytest.mark.parametrize(
    ("text", "path", "value", "expected"),
    [
        ("a: 1 # b\n", ("a",), 2, "a: 2 # b\n"),
        ("a: 'x'\n", ("a",), "y z", "a: 'y z'\n"),
        ("a:\nb: 1\n", ("a",), "x", "a: x\nb: 1\n"),
        ("a: [1, 2]\n", ("a", 1), "x", "a: [1, x]\n"),
        ("a:\n- 1\n- 2 # two\n", ("a", 1), {"b": 1}, "a:\n- 1\n- {b: 1} # two\n"),
        ("a: # of a\n  b: 1\n  c: 2\nd: 3\n", ("a",), {"e": [1]}, "a: # of a\n  e:\n    - 1\nd: 3\n"),
        ("a:\n  - 1\n  - 2\nd: 3\n", ("a",), ["x"], "a:\n  - x\nd: 3\n"),
        ("a:\n  b: 1\nd: 3\n", ("a",), [], "a: []\nd: 3\n"),
        ("a: |\n  x\n  y\nd: 3\n", ("a",), "z", "a: |-\n  z\nd: 3\n"),
        ("- a: 1\n  b: 2\n", (0, "c"), True, "- a: 1\n  b: 2\n  c: true\n"),
        ("'a b': 1\n", ("a b",), None, "'a b': null\n"),
    ],
)
def test_a_value_is_replaced_or_added_at_any_depth(text: str, path: Any, value: Any, expected: str) -> None:
    assert yaml.put(text, path, value) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a: 1\nb: 2 # two\n# of c\nc: 3\n", ("b",), "a: 1\n# of c\nc: 3\n"),
        ("a: 1\nb: 2\n", ("a",), "b: 2\n"),
        ("a: 1\nb: 2", ("b",), "a: 1"),
        ("a:\n  b: 1\n", ("a", "b"), "a: {}\n"),
        ("a: # of a\n  b: 1\n", ("a", "b"), "a: {} # of a\n"),
        ("a:\n- 1\n", ("a", 0), "a: []\n"),
        ("a:\n  - x: 1\n    y: 2\n  - z\n", ("a", 0), "a:\n  - z\n"),
        ("a:\n  - x: 1\n    y: 2\n", ("a", 0, "x"), "a:\n  - y: 2\n"),
        ("a:\n  - x: 1\n", ("a", 0, "x"), "a:\n  - {}\n"),
        ("a: {b: 1, c: 2}\n", ("a", "b"), "a: {c: 2}\n"),
        ("a: |\n  x\n\nb: 1\n", ("a",), "\nb: 1\n"),
        ("a: 1\n", ("b", "c"), "a: 1\n"),
        ("a:\n", ("a", "b"), "a:\n"),
        ("", ("a",), ""),
    ],
)
def test_an_entry_goes_with_its_lines(text: str, path: Any, expected: str) -> None:
    assert yaml.take(text, path) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "hooks:\n  start:\n    - command: x y\n      timeout: 5\n"),
        ("hooks:\n  start:\n  - a\n", "hooks:\n  start:\n  - a\n  - command: x y\n    timeout: 5\n"),
        ("hooks:\n  start: []\n", "hooks:\n  start:\n    - command: x y\n      timeout: 5\n"),
        ("hooks:\n  start:\n", "hooks:\n  start: \n    - command: x y\n      timeout: 5\n"),
        ("hooks:\n  start: [a]\n", "hooks:\n  start: [a, {command: x y, timeout: 5}]\n"),
        ("hooks: {start: []}\n", "hooks: {start: [{command: x y, timeout: 5}]}\n"),
    ],
)
def test_an_item_goes_behind_the_others(text: str, expected: str) -> None:
    assert yaml.append(text, ("hooks", "start"), {"command": "x y", "timeout": 5}) == expected
    assert taken_back(yaml, text, expected, ("hooks", "start"), item=True) == text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("yes", '"yes"'),
        ("1", '"1"'),
        ("", '""'),
        ("C:\\x", "C:\\x"),
        ("C:\\x: y", "'C:\\x: y'"),
        ("a\x7f\u2028\ufeff", '"a\\x7f\\u2028\\ufeff"'),
        ("/usr/bin/whet", "/usr/bin/whet"),
        (1e16, "1.0e+16"),
        (float("-inf"), "-.inf"),
        (float("nan"), ".nan"),
        (None, "null"),
        (False, "false"),
        ({}, "{}"),
    ],
)
def test_scalars_are_written_so_that_they_come_back(value: Any, written: str) -> None:
    assert yaml.put("", ("a",), value) == f"a: {written}\n"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: [1", 1, 6),
        ("a: 1\n b: 2\n", 2, 3),
        ("a: 1\n\tb: 2\n", 2, 1),
        ("a: *x\n", 1, 4),
        ("a: 2001-99-99\n", 1, 4),
        ("a: !!bool x\n", 1, 4),
        ("a: !!timestamp x\n", 1, 4),
        ("a: !!int x\n", 1, 4),
        ("a: !python/object:os.system x\n", 1, 4),
        ("a: 1\n? [b]\n: 1\n", 2, 3),
        ("---\na: 1\n---\nb: 1\n", 3, 1),
        ("a: \x00", 1, 4),
        ("a: 1\nb: \ud800", 2, 4),
        ("\ufeffa: 'x", 1, 6),
        ("a: " + "1" * 5000, 1, 4),
    ],
)
def test_a_broken_file_is_named_with_line_and_column(text: str, line: int, column: int) -> None:
    for call in (lambda: yaml.read(text), lambda: yaml.put(text, ("a",), 1), lambda: yaml.take(text, ("a",))):
        with pytest.raises(InvalidError) as caught:
            call()
        assert (caught.value.code, caught.value.details) == ("client-config-broken", {"line": line, "column": column})


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a: &x {b: 1}\nc: *x\n", ("c", "d")),
        ("a: &x {b: 1}\nc: *x\n", ("a", "d")),
        ("a: &x\n  b: 1\nc:\n  <<: *x\n", ("c", "b")),
        ("a:\n  b: 1\n  b: 2\n", ("a", "b")),
        ("a: x\n", ("a", "b")),
        ("a: [1]\n", ("a", "b")),
        ("- 1\n", ("a",)),
        ("x\n", ("a",)),
        ("? a\n: {}\n", ("b", "c")),
        ("a: null # b\n", ("a", "c")),
    ],
)
def test_what_cannot_be_edited_is_refused_with_the_words_to_add(text: str, path: Any) -> None:
    with pytest.raises(RefusedError) as caught:
        yaml.put(text, path, {"x": 1})
    assert caught.value.code == "client-config-unusual"
    assert "x: 1" in caught.value.hint


def test_what_cannot_be_taken_is_refused() -> None:
    with pytest.raises(RefusedError) as caught:
        yaml.take("a:\n  - - 1\n    - 2\n", ("a", 0, 0))
    assert caught.value.hint == "Nothing was changed. Remove a.0.0 by hand."


@pytest.mark.parametrize("value", ["\ud800", {"\udc00": 1}, ["x", ["\ud800"]]])
def test_a_text_without_utf8_is_refused(value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        yaml.put("", ("a",), value)
    assert caught.value.code == "client-config-value"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 100_000,
        "{a: " * 201 + "1" + "}" * 201,
        "a: &a ["
        + "1," * 20
        + "]\n"
        + "".join(f"b{at}: &b{at} [{f'*b{at - 1},' * 20}]\n" for at in range(1, 9)).replace("*b0", "*a"),
        "a: &a {x: 1}\n"
        + "".join(f"b{at}: &b{at}\n  <<: [{f'*b{at - 1},' * 20}]\n" for at in range(1, 9)).replace("*b0", "*a"),
        "a: &a\n  b: *a\n",
        "x" * (8 * 1024 * 1024 + 1),
    ],
    ids=["brackets", "dashes", "flow", "aliases", "merges", "itself", "size"],
)
def test_what_is_built_to_be_too_large_ends_the_reading(text: str) -> None:
    with pytest.raises(InvalidError) as caught:
        yaml.read(text)
    assert caught.value.code == "client-config-too-large"


def test_a_large_file_is_edited() -> None:
    text = "".join(f"text_{at}: |\n  {'words and more words ' * 500}\n" for at in range(300)) + "mcp_servers: {}\n"
    assert len(text) > 3_000_000
    new = yaml.put(text, ("mcp_servers", "x"), 1)
    assert new == text[:-4] + "\n  x: 1\n"
    assert yaml.take(new, ("mcp_servers", "x")) == text


words = st.sampled_from(
    [
        "a",
        "'b c'",
        '"d"',
        "1",
        "true",
        "",
        "~",
        "ü",
        "x # y",
        "[1, a]",
        "{}",
        "[]",
        "{b: 1}",
        "{ }",
        "|\n{i}  t\n",
        ">-\n{i}  t\n\n",
        "|+\n{i}  t\n\n",
    ]
)
remarks = st.sampled_from(["", "", "", "", "\n", "# r\n", "  # s\n", "\n\n# t\n", "      # u\n"])
keys = st.lists(st.sampled_from(["a", "b", "c", "'d e'", '"f"', "ü"]), min_size=1, max_size=3, unique=True)


@st.composite
def blocks(draw: st.DrawFn, indent: str, depth: int) -> str:
    """A table in block style with remarks and empty lines in it."""
    text = ""
    for key in draw(keys):
        text += draw(remarks)
        kind = draw(st.sampled_from(["word", "word", "table", "list"])) if depth else "word"
        deeper = indent + draw(st.sampled_from(["  ", "    ", " "]))
        remark = draw(st.sampled_from(["", "", " # v", "  # w "]))
        if kind == "table":
            text += f"{indent}{key}:{remark}\n{draw(blocks(deeper, depth - 1))}"
        elif kind == "list":
            dashes = draw(st.sampled_from([indent, deeper]))
            text += f"{indent}{key}:{remark}\n"
            for _ in range(draw(st.integers(1, 2))):
                if draw(st.booleans()):
                    text += f"{dashes}- {draw(blocks(dashes + '  ', 0)).lstrip(' #rstuv' + chr(10))}"
                else:
                    text += f"{dashes}- x{remark}\n"
        else:
            word = draw(words).replace("{i}", indent)
            text += f"{indent}{key}: {word}".rstrip(" ") + ("" if word.endswith("\n") else f"{remark}\n")
    return text


@st.composite
def texts(draw: st.DrawFn) -> str:
    text = draw(blocks("", 2)) + draw(remarks)
    text = draw(st.sampled_from(["", "", "# top\n", "---\n"])) + text
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return draw(st.sampled_from(["", "", "\ufeff"])) + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def text_ran_on(text: str) -> bool:
    """Whether a text of several lines could swallow what follows it: a remark, or the line break it lacks."""
    return "|" in text or ">" in text


@settings(max_examples=100, deadline=None)
@given(texts(), st.sampled_from([("new",), ("new", "deep")]), st.data())
def test_what_is_added_anywhere_is_taken_away_to_the_byte(text: str, made: Any, data: st.DataObject) -> None:
    try:
        value = yaml.read(text)
    except InvalidError:
        return
    path = data.draw(st.sampled_from(containers(value, null=True)))
    item = data.draw(st.sampled_from([SERVER, "x", None, [1], [], {"a": [{"b": 1, "c": [2]}, {}]}]))
    try:
        if isinstance(at(value, path), list):
            full = path
            new = yaml.append(text, path, item)
        else:
            full = (*path, *made)
            new = yaml.put(text, full, item)
    except RefusedError as error:
        known = ("is neither a" in error.message, "dashes" in error.message, text_ran_on(text))
        assert any(known)
        return
    assert taken_back(yaml, text, new, full, item=full == path) == text


@settings(max_examples=80, deadline=None)
@given(texts(), st.data())
def test_anything_can_be_taken_or_replaced(text: str, data: st.DataObject) -> None:
    try:
        value = yaml.read(text)
    except InvalidError:
        return
    path = data.draw(st.sampled_from([path for path in containers(value, null=True) if at(value, path)]))
    parent = at(value, path)
    full = (*path, data.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else list(range(len(parent))))))
    item = data.draw(st.sampled_from([SERVER, "x", None, [1], [], {"a": [{"b": 1}]}]))
    for edit in ("take", "put"):
        try:
            new = yaml.take(text, full) if edit == "take" else yaml.put(text, full, item)
        except RefusedError as error:
            message = error.message
            assert "unusual way" not in message or text_ran_on(text)
            continue
        lines = set(text.splitlines())
        assert [line for line in new.splitlines() if line.startswith("#") and line not in lines] == []


@settings(max_examples=100, deadline=None)
@given(st.text("ab:-? #{}[],&*!|>'\"%@`\n\r\t \x85\u2028\x00\ud800\ufeff1~<", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        yaml.put(text, ("a", "b"), 1)
        yaml.append(text, ("a",), 1)
        yaml.take(text, ("a",))
    except WhetError as error:
        code = error.code
        assert code in ("client-config-broken", "client-config-unusual", "client-config-too-large")
