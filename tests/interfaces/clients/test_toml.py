"""Editing TOML: tables come and go as blocks, keys as lines, and nothing else moves."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.editing import containers, taken_back
from whet.errors import InvalidError, RefusedError, UsageError, WhetError
from whet.interfaces.clients.editor import editor
from whet.skill.text_edit import value_at as at

toml = editor("toml")
SERVER = {"command": "/usr/bin/whet", "args": ["mcp"], "env": {"A": "b"}}
BLOCK = '[mcp_servers.whet]\ncommand = "/usr/bin/whet"\nargs = ["mcp"]\n\n[mcp_servers.whet.env]\nA = "b"\n'

# What a file is, and what it is with a server in it.
PUTS = {
    "nothing": ("", BLOCK),
    "a byte order mark": ("\ufeff", f"\ufeff{BLOCK}"),
    "only remarks": ("# mine\n\n", f"# mine\n\n\n{BLOCK}"),
    "an empty line": ("\n", f"\n\n{BLOCK}"),
    "no line break at the end": ('model = "x" # y', f'model = "x" # y\n\n{BLOCK}'.rstrip()),
    "other tables": (
        'model = "x"\n\n[mcp_servers.a]\ncommand = "y"\n\n# of b\n[b]\nc = 1\n',
        f'model = "x"\n\n[mcp_servers.a]\ncommand = "y"\n\n# of b\n[b]\nc = 1\n\n{BLOCK}',
    ),
    "a header of its own": ("[mcp_servers]\n", f"[mcp_servers]\n\n{BLOCK}"),
    "a text that looks like it": (
        'a = """\n[mcp_servers.whet]\n"""\n',
        f'a = """\n[mcp_servers.whet]\n"""\n\n{BLOCK}',
    ),
    "a table on one line": (
        "mcp_servers = { a = {} } # all\nb = 1\n",
        (
            'mcp_servers = { a = {}, whet = { command = "/usr/bin/whet", args = ["mcp"], env = { A = "b" } } } # all\n'
            "b = 1\n"
        ),
    ),
}


@pytest.mark.parametrize(("text", "expected"), PUTS.values(), ids=PUTS.keys())
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_server_is_put_in_and_taken_out_again(text: str, expected: str, newline: str) -> None:
    if "\n" in text:
        text, expected = text.replace("\n", newline), expected.replace("\n", newline)
    path = ("mcp_servers", "whet")
    assert toml.put(text, path, SERVER) == expected
    assert taken_back(toml, text, expected, path) == text


@pytest.mark.parametrize(
    ("text", "path", "value", "expected"),
    [
        ("a = 1 # b\n", ("a",), 2, "a = 2 # b\n"),
        ("a = 1979-05-27 07:32:00 # b\n", ("a",), "x", 'a = "x" # b\n'),
        ('a = """x\n# y"""\nb = 1\n', ("a",), True, "a = true\nb = 1\n"),
        ("a.b = 1\n", ("a", "b"), [1, "x"], 'a.b = [1, "x"]\n'),
        ('[t]\n"a b" = {c = 1}\n', ("t", "a b", "c"), 2.5, '[t]\n"a b" = {c = 2.5}\n'),
        ("[t]\na = [\n  1, # one\n  2,\n]\n", ("t", "a", 1), "x", '[t]\na = [\n  1, # one\n  "x",\n]\n'),
        ("[[t]]\na = 1\n[[t]]\na = 2\n", ("t", 1, "a"), 3, "[[t]]\na = 1\n[[t]]\na = 3\n"),
        ("[t]\na = 1\n\n# of u\n[u]\n", ("t",), {"b": 1}, "[t]\nb = 1\n\n# of u\n[u]\n"),
        ("[[t]]\na = 1\n", ("t", 0), {"b": {"c": 1}}, "[[t]]\n\n[t.b]\nc = 1\n"),
        ("b = 1\n[t]\n  a = 1\n\n[u]\n", ("t", "b"), "x", 'b = 1\n[t]\n  a = 1\n  b = "x"\n\n[u]\n'),
        ("a = 1\n\n[t]\n", ("b",), 1, "a = 1\nb = 1\n\n[t]\n"),
        ("# top\n[t]\n", ("b",), 1, "b = 1\n\n# top\n[t]\n"),
        ("[[t]]\na = 1\n[[t]]\n[u]\n", ("t", 0, "b"), 1, "[[t]]\na = 1\nb = 1\n[[t]]\n[u]\n"),
        ("", ("a b", "ü"), {"x": []}, '["a b"."ü"]\nx = []\n'),
        ("", ("a",), [{"b": 1}, {"c": [{"d": 2}]}], "[[a]]\nb = 1\n\n[[a]]\n\n[[a.c]]\nd = 2\n"),
        ("", ("a",), '\x7f\n"\\', 'a = "\\u007f\\n\\"\\\\"\n'),
        ("", ("a",), [float("inf"), 1e16, -0.5], "a = [inf, 1e+16, -0.5]\n"),
    ],
)
def test_a_value_is_replaced_or_added_at_any_depth(text: str, path: Any, value: Any, expected: str) -> None:
    assert toml.put(text, path, value) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a = 1\nb = 2 # two\n# of c\nc = 3\n", ("b",), "a = 1\n# of c\nc = 3\n"),
        ("a = 1\nb = 2", ("b",), "a = 1"),
        ("x = 1\n\n[a]\nb = 1\n# of a\n\n# of c\n[c]\n", ("a",), "x = 1\n# of a\n\n# of c\n[c]\n"),
        ("[a]\nb = 1\n\n[c]\n\n[a.d]\ne = 1\n", ("a",), "\n[c]\n"),
        ("a.b = 1\na.c = 2\n", ("a",), ""),
        ("a.b = 1\nx = 1\na.c = 2\n", ("a", "c"), "a.b = 1\nx = 1\n"),
        ("[[a]]\nb = 1\n\n[[a]]\nb = 2\n\n[[a]]\nb = 3\n", ("a", 1), "[[a]]\nb = 1\n\n[[a]]\nb = 3\n"),
        ("[[a]]\nb = 1\n", ("a", 0), ""),
        ("a = [1, 2]\n", ("a", 0), "a = [2]\n"),
        ("a = {b = 1}\n", ("a", "b"), "a = {}\n"),
        ("[a]\nb = 1\n", ("a", "b"), "[a]\n"),
        ("a = 1\n", ("b",), "a = 1\n"),
        ("", ("a", "b"), ""),
    ],
)
def test_what_is_taken_goes_with_its_lines(text: str, path: Any, expected: str) -> None:
    assert toml.take(text, path) == expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("", {"c": 1}, "[[h.s]]\nc = 1\n"),
        ("[[h.s]]\nc = 0\n\n[x]\n", {"c": 1}, "[[h.s]]\nc = 0\n\n[x]\n\n[[h.s]]\nc = 1\n"),
        ("", {"m": "x", "hooks": [{"c": 1}]}, '[[h.s]]\nm = "x"\n\n[[h.s.hooks]]\nc = 1\n'),
        ("", "x", '[h]\ns = ["x"]\n'),
        ("[h]\ns = []\n", "x", '[h]\ns = ["x"]\n'),
        ("[h]\ns = [\n    1, # one\n]\n", {"c": 1}, "[h]\ns = [\n    1, # one\n    { c = 1 },\n]\n"),
        ("h.s = [1]", 2, "h.s = [1, 2]"),
    ],
)
def test_an_item_goes_behind_the_others(text: str, value: Any, expected: str) -> None:
    assert toml.append(text, ("h", "s"), value) == expected
    assert taken_back(toml, text, expected, ("h", "s"), item=True) == text


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a = [1", 1, 7),
        ("a = 1\nb =\n", 2, 4),
        ("a = 1\r\nb = = 2\r\n", 2, 5),
        ("\ufeffa = 1 b\n", 1, 7),
        ("a = 1\na = 2\n", 2, 6),
        ("a = \x00", 1, 5),
        ("a = 1\nb = '\ud800'", 2, 6),
        ("a = " + "1" * 5000, 1, 5),
        ("[a", 1, 3),
    ],
)
def test_a_broken_file_is_named_with_line_and_column(text: str, line: int, column: int) -> None:
    for call in (lambda: toml.read(text), lambda: toml.put(text, ("a",), 1), lambda: toml.take(text, ("a",))):
        with pytest.raises(InvalidError) as caught:
            call()
        assert (caught.value.code, caught.value.details) == ("client-config-broken", {"line": line, "column": column})


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a.b = 1\n", ("a", "c")),
        ("[t]\na.b = 1\n", ("t", "a", "c")),
        ("a = {b.c = 1}\n", ("a", "b", "d")),
        ("a = 1\n", ("a", "b")),
        ("a = [1]\n", ("a", "b")),
        ("[[a]]\n[[a]]\n", ("a", 0, "b")),
        ("[a.b]\n[c]\n[a.d]\n", ("a",)),
    ],
)
def test_what_cannot_be_edited_is_refused_with_the_words_to_add(text: str, path: Any) -> None:
    with pytest.raises(RefusedError) as caught:
        toml.put(text, path, {"x": 1})
    assert caught.value.code == "client-config-unusual"
    assert "x = 1" in caught.value.hint


def test_a_date_that_is_none_is_broken() -> None:
    with pytest.raises(InvalidError) as caught:
        toml.read("a = 2001-99-99\n")
    assert caught.value.code == "client-config-broken"


def test_a_key_for_a_table_without_a_header_is_refused() -> None:
    with pytest.raises(RefusedError, match="a has no header of its own"):
        toml.put("[a.b]\n", ("a", "c"), 1)


@pytest.mark.parametrize("value", ["\ud800", {"\udc00": 1}, ["x", ["\ud800"]]])
def test_a_text_without_utf8_is_refused(value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        toml.put("", ("a",), value)
    assert caught.value.code == "client-config-value"


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 100_000, "a = " + "[" * 201 + "]" * 201, f"[{'a.' * 5000}a]", "#" * (8 * 1024 * 1024 + 1)],
    ids=["brackets", "lists", "names", "size"],
)
def test_what_is_built_to_be_too_large_ends_the_reading(text: str) -> None:
    with pytest.raises(InvalidError) as caught:
        toml.read(text)
    assert caught.value.code == "client-config-too-large"


def test_a_large_file_is_edited(*, quick: bool) -> None:
    text = "".join(
        f'text_{at} = """\n[{at}]\n{"words and more words " * 500}"""\n' for at in range(30 if quick else 300)
    )
    assert len(text) > (300_000 if quick else 3_000_000)
    new = toml.put(text, ("a", "b"), 1)
    assert new == f"{text}\n[a]\nb = 1\n"
    assert toml.take(new, ("a",)) == text


atoms = st.sampled_from(
    [
        "1",
        '"x"',
        "'y'",
        '"""\n[a]\n#"""',
        "'''[b]\n'''",
        "[1, 2]",
        "[\n  1, # c\n  2\n]",
        "[\n]",
        "[]",
        "{}",
        "{ q = 1 }",
        "{q.r = 1}",
        "[{q = 1}]",
        "true",
        "1979-05-27 07:32:00",
        '"""""a""b"""""',
        "[ [ 1 ], [ ], ]",
        "[ # ]\n]",
    ]
)
remarks = st.sampled_from(["", "", "", "", "\n", "# r\n", "  # [s]\n", "\n\n# t = 1\n", "   \n"])
names = st.lists(st.sampled_from(["a", "b", "c", "'d e'", '"f"', "g.h", "g . i"]), max_size=3, unique=True)
headers = st.lists(
    st.sampled_from(["[t]", "[t.u]", "[[v]]", "[[v]]", "[v.w]", "[[v.x]]", '["y z"]', "[ t . 's' ]", "[k.l.m]"]),
    max_size=4,
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    text = draw(remarks)
    for header in ["", *draw(headers)]:
        text += f"{header}{draw(st.sampled_from(['', ' # u']))}\n" if header else ""
        indent = draw(st.sampled_from(["", "", "  ", "\t"]))
        for name in draw(names):
            text += f"{draw(remarks)}{indent}{name} = {draw(atoms)}{draw(st.sampled_from(['', '  # v ']))}\n"
        text += draw(remarks)
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return draw(st.sampled_from(["", "", "\ufeff"])) + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def parsed(text: str) -> Any:
    """The value, or None for a text that is broken: headers may be drawn that cannot stand together."""
    try:
        return toml.read(text)
    except InvalidError:
        return None


@settings(max_examples=100, deadline=None)
@given(texts(), st.sampled_from([("new",), ("new", "deep")]), st.data())
def test_what_is_added_anywhere_is_taken_away_to_the_byte(text: str, made: Any, data: st.DataObject) -> None:
    value = parsed(text)
    if value is None:
        return
    path = data.draw(st.sampled_from(containers(value)))
    item = data.draw(st.sampled_from([SERVER, "x", 1, [1], [], {}, {"a": [{"b": 1, "c": [2]}, {}]}]))
    full = path if isinstance(at(value, path), list) else (*path, *made)
    try:
        new = toml.append(text, path, item) if full == path else toml.put(text, full, item)
    except RefusedError as error:
        message = error.message
        assert any(reason in message for reason in ("dotted", "header of its own", "items of", "unusual way"))
        assert "unusual way" not in message or any(isinstance(step, int) for step in full)
        return
    assert tomllib.loads(new.removeprefix("\ufeff")) == toml.read(new)
    assert taken_back(toml, text, new, full, item=full == path) == text


@settings(max_examples=80, deadline=None)
@given(texts(), st.data())
def test_anything_can_be_taken_or_replaced(text: str, data: st.DataObject) -> None:
    value = parsed(text)
    if not value:
        return
    path = data.draw(st.sampled_from([path for path in containers(value) if at(value, path)]))
    parent = at(value, path)
    full = (*path, data.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else list(range(len(parent))))))
    item = data.draw(st.sampled_from([SERVER, "x", 1, [1], [], {}, {"a": [{"b": 1}]}]))
    for edit in ("take", "put"):
        try:
            new = toml.take(text, full) if edit == "take" else toml.put(text, full, item)
        except RefusedError as error:
            message = error.message
            assert any(reason in message for reason in ("dotted", "several places", "is a table", "unusual way"))
            continue
        before = text.splitlines()
        assert [line for line in new.splitlines() if line.startswith("#") and line not in before] == []


@settings(max_examples=100, deadline=None)
@given(st.text("ab=.[]{}#'\"\\,\n\r\t 1-:T\x00\ud800\ufeff_", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        toml.put(text, ("a", "b"), 1)
        toml.append(text, ("a",), 1)
        toml.take(text, ("a",))
    except WhetError as error:
        code = error.code
        assert code in ("client-config-broken", "client-config-unusual")
