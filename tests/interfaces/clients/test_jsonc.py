"""Editing JSON with comments: every byte that is not ours stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.editing import containers, taken_back
from whet.errors import InvalidError, RefusedError, WhetError
from whet.interfaces.clients.editor import editor
from whet.skill.text_edit import value_at as at

jsonc = editor("jsonc")
SERVER = {"command": "/usr/bin/whet", "args": ["mcp"]}

# What a file is, and what it is with a server in it.
PUTS = {
    "nothing": (
        "",
        (
            '{\n  "mcpServers": {\n    "whet": {\n      "command": "/usr/bin/whet",\n      "args": [\n        "mcp"\n'
            "      ]\n    }\n  }\n}\n"
        ),
    ),
    "tabs, comments, trailing commas": (
        '// mine\n{\n\t"mcpServers": {\n\t\t"other": {"command": "x"}, // keep\n\t\t/* none yet */\n\t},\n}\n',
        (
            '// mine\n{\n\t"mcpServers": {\n\t\t"other": {"command": "x"}, // keep\n\t\t"whet": {\n\t\t\t"command": '
            '"/usr/bin/whet",\n\t\t\t"args": [\n\t\t\t\t"mcp"\n\t\t\t]\n\t\t},\n\t\t/* none yet */\n\t},\n}\n'
        ),
    ),
    "minified": (
        '{"a":1,"mcpServers":{"x":{}}}',
        '{"a":1,"mcpServers":{"x":{},"whet":{"command":"/usr/bin/whet","args":["mcp"]}}}',
    ),
    "one line with spaces": (
        '{ "mcpServers": { } }\n',
        '{ "mcpServers": { "whet": {"command": "/usr/bin/whet", "args": ["mcp"]} } }\n',
    ),
    "four spaces, CRLF, byte order mark, no line break at the end": (
        '\ufeff{\r\n    "mcpServers": {}\r\n}',
        (
            '\ufeff{\r\n    "mcpServers": {\r\n        "whet": {\r\n            "command": "/usr/bin/whet",\r\n'
            '            "args": [\r\n                "mcp"\r\n            ]\r\n        }\r\n    }\r\n}'
        ),
    ),
    "a remark behind the last member": (
        '{\n  "mcpServers": {\n    "x": 1 // one\n  }\n}\n',
        (
            '{\n  "mcpServers": {\n    "x": 1, // one\n    "whet": {\n      "command": "/usr/bin/whet",\n      '
            '"args": [\n        "mcp"\n      ]\n    }\n  }\n}\n'
        ),
    ),
    "a remark that looks like the end of one": (
        '{"mcpServers": {"x": 1 // */\n}}',
        (
            '{"mcpServers": {"x": 1, // */\n  "whet": {\n    "command": "/usr/bin/whet",\n    "args": [\n'
            '      "mcp"\n    ]\n  }\n}}'
        ),
    ),
    "a remark in empty brackets": (
        '{\n  "mcpServers": { // soon\n  }\n}\n',
        (
            '{\n  "mcpServers": { // soon\n    "whet": {\n      "command": "/usr/bin/whet",\n      '
            '"args": [\n        "mcp"\n      ]\n    }\n  }\n}\n'
        ),
    ),
}


@pytest.mark.parametrize(("text", "expected"), PUTS.values(), ids=PUTS.keys())
def test_a_server_is_put_in_the_way_the_file_is_written_and_taken_out_again(text: str, expected: str) -> None:
    path = ("mcpServers", "whet")
    assert jsonc.put(text, path, SERVER) == expected
    assert taken_back(jsonc, text, expected, path) == (text or "{}\n")


@pytest.mark.parametrize(
    ("text", "path", "value", "expected"),
    [
        ('{"a": 1} // c', ("a",), 2, '{"a": 2} // c'),
        ('{"a":[1,2]}', ("a", 1), "x", '{"a":[1,"x"]}'),
        ('{\n  "a": ["x"]\n}', ("a",), ["y", "z"], '{\n  "a": ["y", "z"]\n}'),
        ('{\n  "a": {\n    "b": 1\n  }\n}', ("a",), {"c": [1]}, '{\n  "a": {\n    "c": [\n      1\n    ]\n  }\n}'),
        ('{\n\t"a": /* b */ 1 /* c */\n}', ("a",), {}, '{\n\t"a": /* b */ {} /* c */\n}'),
        ('{"a": [{"b": 1}, {"b": 2,}]}', ("a", 1, "c"), None, '{"a": [{"b": 1}, {"b": 2, "c": null,}]}'),
        ('{"a": 1}', ("a",), True, '{"a": true}'),
        ('{"a": "ü"}', ("b",), "é\ud800", '{"a": "ü", "b": "\\u00e9\\ud800"}'),
    ],
)
def test_a_value_is_replaced_or_added_at_any_depth(text: str, path: Any, value: Any, expected: str) -> None:
    assert jsonc.put(text, path, value) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{"a": 1, "b": 2, "c": 3}', ("a",), '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', ("b",), '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', ("c",), '{"a": 1, "b": 2}'),
        ('{\n  "a": 1,\n  "b": 2, // of b\n  // of c\n  "c": 3,\n}', ("b",), '{\n  "a": 1,\n  // of c\n  "c": 3,\n}'),
        ('{\n  "a": 1,\n\n  // of b\n  "b": 2\n}', ("b",), '{\n  "a": 1\n\n  // of b\n}'),
        ('{\n  "a": {\n    "b": 1,\n  },\n}', ("a", "b"), '{\n  "a": {},\n}'),
        ('{\n  "a": 1\n}\n', ("a",), "{}\n"),
        ("[\n  1,\n  2\n]", (0,), "[\n  2\n]"),
        ('{"a": [1, 2,]}', ("a", 1), '{"a": [1,]}'),
        ('{"a": 1 /* x */ , "b": 2}', ("a",), '{/* x */  "b": 2}'),
        ('{\n  // of a\n  "a": 1}', ("a",), "{\n  // of a\n  }"),
        ('{"a": 1}', ("b",), '{"a": 1}'),
        ('{"a": 1}', ("a", "b", 3), '{"a": 1}'),
        ("", ("a",), ""),
    ],
)
def test_a_member_goes_with_its_comma_and_its_line(text: str, path: Any, expected: str) -> None:
    assert jsonc.take(text, path) == expected


@pytest.mark.parametrize(
    ("text", "path", "value", "expected"),
    [
        ('{"a": [1]}', ("a",), 2, '{"a": [1, 2]}'),
        ('{"a":[1]}', ("a",), 2, '{"a":[1,2]}'),
        ('{"a": []}', ("a",), {"b": 1}, '{"a": [{"b": 1}]}'),
        ("{}", ("h", "s"), {"b": 1}, '{\n  "h": {\n    "s": [\n      {\n        "b": 1\n      }\n    ]\n  }\n}'),
        ('{\n  "a": [\n    1, // one\n  ],\n}', ("a",), 2, '{\n  "a": [\n    1, // one\n    2,\n  ],\n}'),
    ],
)
def test_an_item_goes_behind_the_others(text: str, path: Any, value: Any, expected: str) -> None:
    assert jsonc.append(text, path, value) == expected
    assert taken_back(jsonc, text, expected, path, item=True) == text


def test_what_is_there_already_changes_nothing() -> None:
    text = '{"a" : {"b":[1 , 2]}}'
    assert jsonc.put(text, ("a",), {"b": [1, 2]}) == text


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("{", 1, 2),
        ('{"a" 1}', 1, 6),
        ('{\n  "a": 1 // c\n  "b": 2\n}', 3, 3),
        ("[,]", 1, 2),
        ("[1,,]", 1, 4),
        ('{"a": 1,,}', 1, 9),
        ("{} x", 1, 4),
        ("{'a': 1}", 1, 2),
        ('{"a": "x', 1, 7),
        ('{"a": "x\ny"}', 1, 9),
        ('\ufeff{"a": NaN}', 1, 7),
        ('{"a": -Infinity}', 1, 7),
        ('{"a": ' + "1" * 5000 + "}", 1, 7),
        ("/* open", 1, 1),
        ("{}\n/*/", 2, 1),
        ('{"a": "\x00"}', 1, 8),
        ("\x00", 1, 1),
        ('{\n"a": "\ud800"}', 2, 7),
        ('{"a": 1e}', 1, 8),
        ("null x", 1, 6),
    ],
)
def test_a_broken_file_is_named_with_line_and_column(text: str, line: int, column: int) -> None:
    for call in (lambda: jsonc.read(text), lambda: jsonc.put(text, ("a",), 1), lambda: jsonc.take(text, ("a",))):
        with pytest.raises(InvalidError) as caught:
            call()
        assert (caught.value.code, caught.value.details) == ("client-config-broken", {"line": line, "column": column})


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"a": 1, "a": 2}', ("b",)),
        ('{"a": 1, "a": 2}', ("a",)),
        ('{"a": null}', ("a", "b")),
        ('{"a": "x"}', ("a", "b")),
        ('{"a": []}', ("a", "b")),
        ('{"a": [1]}', ("a", 3)),
        ("{}", ("a", 0)),
        ("[]", ("a",)),
        ("null", ("a",)),
        ("7", ("a",)),
    ],
)
def test_what_cannot_be_edited_is_refused_with_the_words_to_add(text: str, path: Any) -> None:
    with pytest.raises(RefusedError) as caught:
        jsonc.put(text, path, {"x": 1})
    assert caught.value.code == "client-config-unusual"
    assert '"x": 1' in caught.value.hint


def test_a_key_that_is_there_twice_elsewhere_is_no_obstacle() -> None:
    text = '{"old": {"a": 1, "a": 2}, "mcpServers": {}}'
    assert jsonc.put(text, ("mcpServers", "x"), 1) == '{"old": {"a": 1, "a": 2}, "mcpServers": {"x": 1}}'
    with pytest.raises(RefusedError, match="a key twice"):
        jsonc.take(text, ("old", "a"))


def test_a_text_without_utf8_is_escaped() -> None:
    assert jsonc.put("{}", ("a",), "\udce9") == '{\n  "a": "\\udce9"\n}'


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 201 + "1" + "}" * 201, "[" * 201 + "]" * 201])
def test_deep_nesting_ends_the_reading(text: str) -> None:
    with pytest.raises(InvalidError) as caught:
        jsonc.read(text)
    assert caught.value.code == "client-config-too-large"
    assert caught.value.details["line"] == 1


def test_two_hundred_levels_are_read() -> None:
    text = "[" * 200 + "]" * 200
    assert jsonc.read(text) == json.loads(text)


def test_too_many_bytes_end_the_reading() -> None:
    with pytest.raises(InvalidError) as caught:
        jsonc.read('"' + "ü" * (4 * 1024 * 1024) + '"')
    assert caught.value.code == "client-config-too-large"


@pytest.mark.parametrize("unit", ['"\\', "/*", "[,", ",", '{"a":1,'])
def test_megabytes_of_nonsense_end_soon(unit: str) -> None:
    with pytest.raises(InvalidError):
        jsonc.read("[" + unit * (500_000 // len(unit)) + "\nx")


def test_a_huge_file_on_one_line_is_edited() -> None:
    projects = {f"/home/me/{at}": ['say "hi" // no comment' * 2, at] for at in range(25_000)}
    text = json.dumps({"projects": projects, "mcpServers": {}}, separators=(",", ":"))
    new = jsonc.put(text, ("mcpServers", "x"), 1)
    assert new == text[:-2] + '"x":1}}'
    assert jsonc.take(new, ("mcpServers", "x")) == text


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-99, 99), st.sampled_from(["", "a", '"', "//", "/*", ",", "ü\n"])
)
keys = st.sampled_from(["a", "b", "c", "", "x y", "//", "ü", '"', "}"])
documents = st.dictionaries(
    keys,
    st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
    ),
    max_size=4,
)
gaps = st.sampled_from(
    [
        "",
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\t",
        "\r\n    ",
        " // c, }\n",
        "/* [ */",
        "\n\n",
        "\n// d \n\t",
        "  \n ",
        "\r",
        " /* e\n */ ",
    ]
)


@st.composite
def odd_texts(draw: st.DrawFn, value: Any) -> str:
    """The value as JSON with anything between its tokens."""
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    members: list[str] = []
    for item in value:
        key = f"{json.dumps(item)}{draw(gaps)}:{draw(gaps)}" if isinstance(value, dict) else ""
        inner = value[item] if isinstance(value, dict) else item
        members.append(draw(gaps) + key + draw(odd_texts(inner)) + draw(gaps))
    comma = draw(st.sampled_from(["", ",", ", ", ",\n", ", // f\n"]))
    inside = ",".join(members) + comma if members else draw(gaps)
    return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"


@st.composite
def texts(draw: st.DrawFn) -> tuple[Any, str]:
    """A document and one way to write it: oddly, or as programs do."""
    value = draw(documents)
    if draw(st.booleans()):
        text = draw(gaps) + draw(odd_texts(value)) + draw(gaps)
    else:
        indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
        separators = draw(st.sampled_from([(",", ":"), (",", ": "), (", ", ": ")]))
        text = json.dumps(value, indent=indent, separators=separators) + draw(st.sampled_from(["", "\n", "\n\n"]))
        text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return value, draw(st.sampled_from(["", "\ufeff"])) + text


def keeps(text: str, new: str) -> bool:
    """Whether every character of the text is still there, in order."""
    rest = iter(new)
    return all(letter in rest for letter in text)


@settings(max_examples=100, deadline=None)
@given(texts(), st.data())
def test_what_is_added_anywhere_is_taken_away_to_the_byte(pair: tuple[Any, str], data: st.DataObject) -> None:
    value, text = pair
    assert jsonc.read(text) == value
    path = data.draw(st.sampled_from(containers(value)))
    new_value = data.draw(documents | scalars)
    if isinstance(at(value, path), dict):
        made = data.draw(st.sampled_from([("new",), ("new", "deep"), ("new", "deep", "er")]))
        full = (*path, *made)
        new = jsonc.put(text, full, new_value)
        assert at(jsonc.read(new), full) == new_value
        assert taken_back(jsonc, text, new, full) == text
    elif path:
        new = jsonc.append(text, path, new_value)
        assert at(jsonc.read(new), path) == [*at(value, path), new_value]
        assert taken_back(jsonc, text, new, path, item=True) == text
    else:
        return
    assert keeps(text, new)


@settings(max_examples=80, deadline=None)
@given(texts(), st.data())
def test_anything_can_be_taken_or_replaced_and_all_else_stays(pair: tuple[Any, str], data: st.DataObject) -> None:
    value, text = pair
    path = data.draw(st.sampled_from([path for path in containers(value) if at(value, path)] or [()]))
    parent = at(value, path)
    if not parent:
        return
    step = data.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else list(range(len(parent)))))
    taken = jsonc.take(text, (*path, step))
    assert keeps(taken, text)
    left = json.loads(json.dumps(value))
    del at(left, path)[step]
    assert jsonc.read(taken) == left
    if path or isinstance(step, str):
        new_value = data.draw(documents)
        replaced = jsonc.put(text, (*path, step), new_value)
        assert at(jsonc.read(replaced), (*path, step)) == new_value


@settings(max_examples=40, deadline=None)
@given(texts(), st.lists(st.sampled_from(["start", "stop"]), min_size=1, max_size=3), st.randoms())
def test_several_hooks_are_taken_in_any_order(pair: tuple[Any, str], events: list[str], random: Any) -> None:
    value, text = pair
    new, added = text, []
    for number, event in enumerate(events):
        new = jsonc.append(new, ("hooks", event), {"command": f"whet {number}"})
        added.append((event, {"command": f"whet {number}"}))
    random.shuffle(added)
    for event, item in added:
        new = jsonc.take(new, ("hooks", event, jsonc.read(new)["hooks"][event].index(item)))
    for event in sorted(set(events)):
        new = jsonc.take(new, ("hooks", event))
    assert jsonc.take(new, ("hooks",)) == text
    assert jsonc.read(new) == {**value, "hooks": {}}


@settings(max_examples=100, deadline=None)
@given(st.text("{}[],:\"'\\/*\n\r\t 1-ex\x00\ud800\ufeffatruenl", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        jsonc.put(text, ("a", "b"), 1)
        jsonc.append(text, ("a",), 1)
        jsonc.take(text, ("a",))
    except WhetError as error:
        code = error.code
        assert code in ("client-config-broken", "client-config-unusual")
