"""One package: complete entries over the very bytes, verbatim frontmatter, limits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_server.shelves import World, put, refused, resource, verify, world
from whet.errors import InvalidError
from whet.interfaces.mcp import packages
from whet.interfaces.mcp.packages import frontmatter

__all__ = ["world"]


# entries


def test_an_entry_has_the_frontmatter_and_every_file_with_its_digest(world: World) -> None:
    path = world.mine("pdf-tools", more="license: MIT\nmetadata:\n  version: 2.1.0\n")
    put(path, "scripts/extract.py", b"print(1)\n")
    put(path, "assets/logo.png", b"\x89PNG\r\n\x1a\n\0\0")
    put(path, "references/My guide (ü).md", b"# Guide\n")
    put(path, ".hidden", b"dot files count")
    put(path, ".git/config", b"secret")
    put(path, "scripts/__pycache__/extract.pyc", b"compiled")
    served = world.served()
    skill = {
        "uri": "skill://pdf-tools/SKILL.md",
        "frontmatter": {
            "name": "pdf-tools",
            "description": "Does pdf-tools.",
            "license": "MIT",
            "metadata": {"version": "2.1.0"},
        },
        "resources": [
            resource("skill://pdf-tools/SKILL.md", (path / "SKILL.md").read_bytes()),
            resource("skill://pdf-tools/.hidden", b"dot files count"),
            resource("skill://pdf-tools/assets/logo.png", b"\x89PNG\r\n\x1a\n\0\0"),
            resource("skill://pdf-tools/references/My%20guide%20%28%C3%BC%29.md", b"# Guide\n"),
            resource("skill://pdf-tools/scripts/extract.py", b"print(1)\n"),
        ],
    }
    assert served.list_skills() == {"skills": [skill]}
    assert served.get_skill("skill://pdf-tools/SKILL.md") == {"skill": skill}
    verify(served, skill)


@pytest.mark.parametrize(
    "data",
    [
        b"---\r\nname: odd\r\ndescription: Lines end\r\n  as on Windows.\r\n---\r\nBody\r\n",
        b"\xef\xbb\xbf---\nname: odd\ndescription: Lines end as on Windows.\n---\nBody",
        b"---\nname: odd\ndescription: Lines end as on Windows.\n---",
        b"---\nname: odd\ndescription: Lines end as on Windows.\n---\nNot \xff UTF-8.\n",
    ],
    ids=["crlf", "bom", "no-end", "latin-1-body"],
)
def test_digests_cover_the_bytes_as_they_are(world: World, data: bytes) -> None:
    put(world.mine("odd"), "SKILL.md", data)
    served = world.served()
    (skill,) = served.list_skills()["skills"]
    assert skill == {
        "uri": "skill://odd/SKILL.md",
        "frontmatter": {"name": "odd", "description": "Lines end as on Windows."},
        "resources": [resource("skill://odd/SKILL.md", data)],
    }
    verify(served, skill)


ODD = """\
name: odd
description: >-
  Folded
  text.
date: 2026-01-01
time: 2026-01-01T12:00:00Z
answer: no
on: yes
really: true
version: 1.10
semver: 1.2.3
octal: 0o17
leading: 010
sexagesimal: 12:30:45
big: 123456789012345678901234567890
nothing: ~
empty:
not-a-number: .nan
endless: [.inf, -.inf, 1e999]
binary: !!binary aGk=
tagged: !!int "3"
set: !!set {a, b}
1: one
true: two
null: three
2026-01-01: four
anchor: &a {x: 1}
alias: *a
merge: {<<: *a, y: 2}
emoji: "\\U0001F600 ü"
allowed-tools: Bash(git:*) Read
hooks: {deep: [{er: [1, "2"]}]}
"""


def test_frontmatter_is_what_the_author_wrote_with_yaml_1_2_types() -> None:
    values = frontmatter(f"---\n{ODD}---\n".encode(), "odd")
    assert values == {
        "name": "odd",
        "description": "Folded text.",
        "date": "2026-01-01",
        "time": "2026-01-01T12:00:00Z",
        "answer": "no",
        "on": "yes",
        "really": True,
        "version": 1.1,
        "semver": "1.2.3",
        "octal": 15,
        "leading": 10,
        "sexagesimal": "12:30:45",
        "big": 123456789012345678901234567890,
        "nothing": None,
        "empty": None,
        "not-a-number": ".nan",
        "endless": [".inf", "-.inf", "1e999"],
        "binary": "aGk=",
        "tagged": "3",
        "set": {"a": None, "b": None},
        "1": "one",
        "true": "two",
        "null": "three",
        "2026-01-01": "four",
        "anchor": {"x": 1},
        "alias": {"x": 1},
        "merge": {"<<": {"x": 1}, "y": 2},
        "emoji": "😀 ü",
        "allowed-tools": "Bash(git:*) Read",
        "hooks": {"deep": [{"er": [1, "2"]}]},
    }
    assert list(values) == [line.split(":")[0] for line in ODD.splitlines() if not line.startswith(" ")]
    assert json.loads(json.dumps(values, allow_nan=False)) == values


KEYS = st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True).filter(lambda key: key not in ("name", "description"))
SCALARS = (
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(st.characters(codec="ascii"), max_size=20)
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))


@given(more=st.dictionaries(KEYS, VALUES, max_size=4))
@settings(max_examples=100, deadline=None)
def test_json_written_as_frontmatter_comes_back_as_it_is(more: dict[str, Any]) -> None:
    values = {"name": "odd", "description": "D.", **more}
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())
    assert frontmatter(f"---\n{lines}---\nBody".encode(), "odd") == values


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# Title\n", "The file does not start with a --- line, so it has no name or description."),
        ("---\nname: odd\ndescription: D.\n", "The frontmatter starts with --- but is never closed."),
        (
            "---\nname: odd\ndescription: a: b\n---\n",
            "The frontmatter is not valid YAML (mapping values are not allowed",
        ),
        ("---\n- a\n---\n", "The frontmatter is not valid YAML (not a mapping of keys to values)"),
        ("---\nname: odd\nname: odd\ndescription: D.\n---\n", "The key name appears twice; the last one is used."),
        ("---\nname: other\ndescription: D.\n---\n", "The name in SKILL.md is 'other'."),
        ("---\nname: ' odd '\ndescription: D.\n---\n", "The name in SKILL.md is ' odd '."),
        ("---\ndescription: D.\n---\n", "The name in SKILL.md is 'None'."),
        ("---\nname: odd\n---\nText.\n", "The description is missing, or not text."),
        ("---\nname: odd\ndescription: # D.\n---\n", "The description is missing, or not text."),
        ("---\nname: odd\ndescription: 7\n---\n", "The description is missing, or not text."),
        (
            f"---\nname: odd\ndescription: {'d' * 1025}\n---\n",
            "The description has 1,025 characters; the limit is 1,024",
        ),
        (
            f"---\nname: odd\ndescription: D.\nx: {'d' * 65536}\n---\n",
            "The frontmatter has 65,566 characters; the limit is 65,536.",
        ),
        (
            "---\nname: odd\ndescription: D\udcff.\n---\n",
            "The frontmatter is not valid YAML (a character that YAML does",
        ),
        ('---\nname: odd\ndescription: "\\ud800"\n---\n', "The frontmatter "),
    ],
)
def test_frontmatter_that_does_not_conform_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidError) as caught:
        frontmatter(text.encode("utf-8", "surrogateescape"), "odd")
    assert caught.value.code == "skill-not-served"
    assert caught.value.message.startswith(f"odd is not served over MCP: {reason}")


# limits


def test_a_skill_of_512_files_is_served_and_one_of_513_is_not(world: World) -> None:
    path = world.mine("many")
    for number in range(511):
        put(path, f"assets/{number:03}.txt")
    served = world.served()
    (skill,) = served.list_skills()["skills"]
    assert len(skill["resources"]) == 512
    put(path, "assets/more.txt")
    assert served.list_skills() == {"skills": []}
    message = "many has 513 files; a skill served over MCP has at most 512 files and 16,777,216 bytes."
    for call in (served.get_skill, served.read):
        with pytest.raises(InvalidError) as caught:
            call("skill://many/SKILL.md")
        assert (caught.value.code, caught.value.message) == ("skill-too-large-for-mcp", message)
    assert refused(served.directory, "skill://many") == ("InvalidError", "skill-too-large-for-mcp")


def test_a_skill_of_more_than_16_mib_is_not_served_and_not_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.mine("heavy")
    with (path / "data.bin").open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    served = world.served()
    read: list[str] = []
    monkeypatch.setattr(packages, "open_beneath", lambda _, name, **__: read.append(name))
    assert served.list_skills() == {"skills": []}
    assert refused(served.get_skill, "skill://heavy/SKILL.md") == ("InvalidError", "skill-too-large-for-mcp")
    assert refused(served.read, "skill://heavy/data.bin") == ("InvalidError", "skill-too-large-for-mcp")
    assert read == []


def test_exactly_16_mib_is_served_and_growing_while_it_is_read_is_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = world.mine("heavy")
    with (path / "data.bin").open("wb") as file:
        file.truncate(16 * 1024 * 1024 - (path / "SKILL.md").stat().st_size)
    served = world.served()
    (skill,) = served.list_skills()["skills"]
    assert sum(item["size"] for item in skill["resources"]) == 16 * 1024 * 1024
    listed = packages.members

    def then_it_grows(*given: Any, **more: Any) -> Any:
        found = listed(*given, **more)
        with (path / "data.bin").open("ab") as file:
            file.write(b"x")
        return found

    monkeypatch.setattr(packages, "members", then_it_grows)
    assert refused(served.get_skill, "skill://heavy/SKILL.md") == ("InvalidError", "skill-too-large-for-mcp")
