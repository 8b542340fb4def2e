"""Changes as a person reads them."""

from __future__ import annotations

import json

import pytest

from whet.interfaces.clients.showing import difference


def test_no_difference_is_nothing() -> None:
    assert difference("a.json", "{}\n", "{}\n") == ""


def test_a_change_is_a_unified_diff() -> None:
    assert (
        difference("a.json", "1\r\n2\r\n", "1\r\n2\r\n3\r\n") == "--- a.json\n+++ a.json\n@@ -1,2 +1,3 @@\n 1\n 2\n+3"
    )
    assert difference("a.json", "", "1\n") == "--- /dev/null\n+++ a.json\n@@ -0,0 +1 @@\n+1"
    assert difference("a.json", "1\n", "") == "--- a.json\n+++ /dev/null\n@@ -1 +0,0 @@\n-1"


def test_secrets_beside_the_change_are_not_shown() -> None:
    before = '"GITHUB_TOKEN": "ghp_x",\napi_key = \'y z\'\nAuthorization: Bearer-z\n"args": ["a"]\n"PASSWORD":"p\\"q"\n'
    assert difference("a", before, f"{before}new\n").splitlines()[3:] == [
        ' Authorization: "…"',
        ' "args": ["a"]',
        ' "PASSWORD":"…"',
        "+new",
    ]
    assert difference("a", before, f"new\n{before}").splitlines()[3:] == [
        "+new",
        ' "GITHUB_TOKEN": "…",',
        ' api_key = "…"',
        ' Authorization: "…"',
    ]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('"url": "postgres://me:hunter22@db/x"', '"url": "postgres://me:***@db/x"'),
        ('"args": ["-e", "sk-abc123def", "x"]', '"args": ["-e", "sk-…", "x"]'),
        ("- ghp_abc123def", "- ghp_…"),
        ("- github_pat_11AAAA_bbb", "- github_pat_…"),
        ("x = 'xoxb-1234-abcd'", "x = 'xoxb-…'"),
        ('"AKIAIOSFODNN7EXAMPLE"', '"AKIA…"'),
        ('"args": ["--api-key", "abc", "x"]', '"args": ["--api-key", "…", "x"]'),
        ('"args": ["--token=abc", "x"]', '"args": ["--token="…", "x"]'),
        ('["--header", "Authorization: Bearer abc"]', '["--header", "Authorization: "…"]'),
        ("password: a,b c", 'password: "…"'),
        ('"command": "/opt/keys/whet", "args": ["mcp"]', '"command": "/opt/keys/whet", "args": ["mcp"]'),
        ('"matcher": "Skill|Read|mcp__whet__.*"', '"matcher": "Skill|Read|mcp__whet__.*"'),
    ],
)
def test_what_looks_like_a_secret_is_not_shown(line: str, shown: str) -> None:
    assert difference("a", f"{line}\n", f"{line}\nnew\n").splitlines()[3:] == [f" {shown}", "+new"]


@pytest.mark.parametrize(
    ("option", "value", "shown"),
    [
        ('  "--api-key",', '  "abc"', '  "…"'),
        ("  - --api-key", "  - abc", '  - "…"'),
        ('  "--port",', '  "80"', '  "80"'),
    ],
)
def test_the_value_of_an_option_in_the_line_before_is_not_shown(option: str, value: str, shown: str) -> None:
    before = f"{option}\n{value}\n2\n3\n"
    assert difference("a", before, f"{before}new\n").splitlines()[3:] == [f" {shown}", " 2", " 3", "+new"]


def test_of_a_file_in_one_line_only_the_part_that_changes_is_shown() -> None:
    servers = {f"server-{number}": {"command": "x" * 30} for number in range(100)}
    before = json.dumps({"mcpServers": servers, "last": "y" * 300})
    after = json.dumps({"mcpServers": {**servers, "whet": {"command": "whet"}}, "last": "y" * 300})
    _, _, _, old, new = difference("a", before, after).splitlines()
    assert '"whet": {"command": "whet"}' in new and len(new) < 250 and len(old) < 250
    assert new.startswith("+…") and new.endswith("…")


def test_a_long_line_that_is_only_added_is_cut() -> None:
    assert difference("a", "", "z" * 1000).splitlines()[-1] == f"+{'z' * 239}…"
