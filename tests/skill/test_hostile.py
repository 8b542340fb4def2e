"""Documents made to hurt: each is read, none takes long, and nothing in them runs.

The time limits here are not measurements. A regular expression that backtracks, or a loop in a loop, would take minutes
on these inputs; a reader in proportion to its input takes a small part of a second.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from whet.skill.dialects import read_skill
from whet.skill.frontmatter import MAX_FRONTMATTER, read_document

SAFETY_LIMIT = 200
"""Seconds for all the inputs of one shape together, in a process of its own."""

PIECES = [
    *(
        "a: ",
        " ",
        "'",
        '"',
        "#",
        " #",
        "a(",
        "[",
        "{a: ",
        ", ",
        "- ",
        "&a ",
        "\t",
        "\xa0",
        "\u2028",
        "\r",
        "a\n ",
        "\n\n",
    ),
    *(
        "- a\n",
        "a: b\n",
        "  a: b: c\n",
        "a: [b\n",
        "x: @y\n",
        '{"a":',
        "\n a: x\n  b: @z",
        "# when to use\n",
        "```",
        "<!--",
    ),
]

SHAPES = {
    "lines of the frontmatter": "---\nname: x\n{}\n---\nbody\n",
    "a description with a stumbling block behind it": "---\nname: x\ndescription: {}: b: c\n---\nb",
    "a value below the top": "---\nmeta:\n  k: {}: x\n---\n",
    "a list": "---\nx: @\nlist:\n  - {}: x: y\n---\n",
    "a text block": "---\nmeta:\n  a: |\n    {}\n  b: @x\n---\n",
    "tools, tags and globs": "---\nallowed-tools: &a a{}b\ntags: *a\npaths: *a\ntriggers: *a\n---\n",
    "metadata as JSON": "---\nmetadata: '{{{}'\n---\n",
    "an unclosed block": "---\n{}",
    "a body": "{}",
    "a heading": "# a{}b\n\n#{}\n",
    "a section": "---\nname: x\n---\n# When to use {}b\n{}",
}

SCRIPT = """
import sys
from whet.skill.dialects import read_heading, read_skill
from whet.skill.frontmatter import read_document

shape, size = eval(sys.stdin.readline()), int(sys.stdin.readline())
for piece in eval(sys.stdin.readline()):
    filler = (piece * (size // len(piece) + 1))[:size]
    document = read_document(shape.format(filler, filler))
    read_skill(document, fallback_name="x")
    read_heading(document, fallback_name="x")
"""


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_no_pattern_makes_reading_slow(shape: str, *, quick: bool) -> None:
    size = MAX_FRONTMATTER - 200 if shape.startswith("---") else 200_000
    if quick:
        size //= 40
    subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=f"{shape!r}\n{size}\n{PIECES!r}\n".encode(),
        check=True,
        timeout=SAFETY_LIMIT,
    )


@pytest.mark.deep
def test_ten_megabytes_are_read_and_the_body_is_whole() -> None:
    text = "---\nname: a\ndescription: d\n---\n" + "A line of prose.\n" * 620_000
    document = read_document(text)
    assert len(document.body) > 10_000_000
    assert (document.values, document.body_line) == ({"name": "a", "description": "d"}, 5)


@pytest.mark.parametrize("lines", [20_000, pytest.param(1_300_000, marks=pytest.mark.deep)])
def test_megabytes_without_a_closing_fence_are_read(lines: int) -> None:
    document = read_document("---\n" + "name: a\n" * lines)
    assert document.values == {"name": "a"}
    assert document.body == ""
    assert {note.code for note in document.diagnostics} == {
        "unclosed-frontmatter",
        "frontmatter-too-large",
        "duplicate-key",
    }


BOMBS = {
    "billion laughs": "\n".join(
        ["l0: &l0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
        + [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)]
    ),
    "a long text, often": f"t: &t {'x' * 20_000}\nu: [{', '.join(['*t'] * 9000)}]",
    "an alias of itself": "a: &a [*a, *a]",
    "open brackets": "a: " + "[" * 10_000,
    "closed brackets": "a: " + "[" * 10_000 + "]" * 10_000,
    "open braces": "a: " + "{a: " * 10_000,
    "JSON": "a: " + '{"a": ' * 9_000 + "1" + "}" * 9_000,
    "JSON in quotes": "metadata: '" + '{"a": ' * 9_000 + "1" + "}" * 9_000 + "'",
    "nested lists": "a:\n  " + "- " * 10_000 + "x",
    "nested mappings": "\n".join(" " * n + f"k{n}:" for n in range(300)),
    "spaces below a key": f"x:\n  y:{' ' * 25_000}z: 1",
    "spaces after a quote": f"x:\n  y:\n    z: 'a'{' ' * 25_000}b",
    "question marks": "x:\n  " + "? " * 10_000,
    "a long key": "k" * 60_000 + ": [1, 2]",
    "many keys": "\n".join(f"k{n}: {n}" for n in range(5000)),
    "many values": f"a: [{'1, ' * 20_000}1]",
    "a long number": "version: " + "9" * 60_000,
    "NUL": "a: \0\0\0",
    "tags": "a: !!python/object/apply:os.system [exit]\nb: !!python/name:os.system\nc: !!python/object/new:os.x {}",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_costs_only_itself(bomb: str) -> None:
    skill = read_skill(read_document(f"---\nname: alive\ndescription: well\n{bomb}\n---\nbody\n"), fallback_name="x")
    assert (skill.name, skill.description, skill.body) == ("alive", "well", "body\n")


@pytest.mark.deep
def test_a_bomb_in_front_costs_only_itself() -> None:
    for bomb in BOMBS.values():
        document = read_document(f"---\n{bomb}\nname: alive\n---\nbody\n")
        assert document.values["name"] == "alive"
