"""Changes as a person reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from whet.interfaces.clients.diff import difference
from whet.interfaces.clients.editor import editor

ENTRY = {"command": "/opt/whet/bin/whet", "args": ["mcp"]}


def shown(format_: Any, text: str, *path: str) -> str:
    """What is to be seen of a text, to the last line of which everything is near, when a server is added."""
    return difference("f", format_, text, editor(format_).put(text, path, ENTRY))


def test_no_difference_is_nothing() -> None:
    assert difference("a.json", "jsonc", "{}\n", "{}\n") == ""


def test_a_change_is_a_unified_diff() -> None:
    assert difference("f", "yaml", "a: 1\r\nb: 2\r\n", "a: 1\r\nb: 2\r\nc: 3\r\n") == (
        "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a: 1\n b: 2\n+c: 3"
    )
    assert difference("f", "jsonc", "", "1\n") == "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+1"
    assert difference("f", "jsonc", "1\n", "") == "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1"


def test_nothing_of_tables_with_secrets_is_shown_in_json() -> None:
    text = """{
  "mcpServers": {
    "gh": {
      "env": {"PGPASS": "SECRET \\"1", "PORT": 80}, "headers": {"X": "SECRET2"}, "on": true, // "api_key": "SECRET3"
      "api_keys": ["SECRET4", {"a": "SECRET7"}], "args": ["-y", "--api-key", "SECRET5", "-p", "80", "--token=SECRET6"]
    }
  }
}
"""
    assert shown("jsonc", text, "mcpServers", "whet").splitlines()[3:6] == [
        '     "gh": {',
        '       "env": {"PGPASS": "…", "PORT": "…"}, "headers": {"X": "…"}, "on": true, // "api_key": "[secret:key]"',
        '       "api_keys": ["…", {"a": "…"}], "args": ["-y", "--api-key", "…", "-p", "80", "…"]',
    ]


def test_nothing_of_tables_with_secrets_is_shown_in_toml() -> None:
    text = """[mcp_servers.gh]
http_headers = { "Authorization" = "Bearer SECRET9", a.b = 1 }
env = { GH_PAT = "SECRET10" }
"""
    assert shown("toml", text, "mcp_servers", "whet").splitlines()[3:6] == [
        " [mcp_servers.gh]",
        ' http_headers = "…"',  # a dotted key: it is not told where the values are
        ' env = { GH_PAT = "…" }',
    ]
    assert "SECRET" not in shown("toml", '[mcp_servers.gh.env]\nA = """\nSECRET\n"""\n', "mcp_servers", "whet")


def test_nothing_of_tables_with_secrets_is_shown_in_yaml() -> None:
    text = """common: &common
  PAT: SECRET7
mcp_servers:
  a: {env: *common, headers: {Authorization: Bearer SECRET6}}
  gh:
    env: {<<: *common, GITHUB_PAT: SECRET8}
    api_keys: [SECRET9]
    note: |
      token: SECRET1
"""
    after = editor("yaml").put(text.replace("PAT", "A"), ("mcp_servers", "whet"), ENTRY)
    assert difference("f", "yaml", text, after).splitlines()[2:] == [
        "@@ -1,8 +1,12 @@",
        " common: &common",
        '-  PAT: "…"',
        '+  A: "…"',
        " mcp_servers:",
        '   a: {env: "…", headers: {Authorization: "…"}}',
        "   gh:",
        '     env: "…"',
        '     api_keys: ["…"]',
        '     note: "…"',
        "+  whet:",
        "+    command: /opt/whet/bin/whet",
        "+    args:",
        "+      - mcp",
    ]


def test_where_it_cannot_be_told_what_is_secret_only_the_change_is_shown() -> None:
    text = "token: SECRET1\ntoken: SECRET2\nmcp_servers:\n  a: 1\n"
    assert shown("yaml", text, "mcp_servers", "whet").splitlines()[2:4] == ["@@ -4,0 +5,4 @@", "+  whet:"]


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("postgres://me:hunter22@db/x", "postgres://me:[secret:password]@db/x"),
        ("sk-abc123def", "…"),
        ("ghp_abc123def", "…"),
        ("github_pat_11AAAA_bbb", "…"),
        ("xoxb-1234-abcd", "…"),
        ("AKIAIOSFODNN7EXAMPLE", "…"),
        ("run --api-key abc", "…"),
        ("Authorization: Bearer abc", "…"),
        ("https://x.example/?api_key=abc", "…"),
        ("press any key to go on", "press any key to go on"),
        ("/opt/keys/whet", "/opt/keys/whet"),
        ("Skill|Read|mcp__whet__.*", "Skill|Read|mcp__whet__.*"),
    ],
)
def test_what_looks_like_a_secret_is_not_shown(value: str, seen: str) -> None:
    text = json.dumps({"a": value, "mcpServers": {}}, indent=2)
    assert shown("jsonc", text, "mcpServers", "whet").splitlines()[4] == f'   "a": "{seen}",'


def test_of_a_file_in_one_line_only_the_part_that_changes_is_shown() -> None:
    servers = {f"server-{number}": {"command": "x" * 30} for number in range(100)}
    before = json.dumps({"mcpServers": servers, "last": "y" * 300})
    after = json.dumps({"mcpServers": {**servers, "whet": {"command": "whet"}}, "last": "y" * 300})
    _, _, _, old, new = difference("a", "jsonc", before, after).splitlines()
    assert '"whet": {"command": "whet"}' in new and len(new) < 250 and len(old) < 250
    assert new.startswith("+…") and new.endswith("…")


def test_a_long_line_that_is_only_added_is_cut() -> None:
    assert difference("a", "yaml", "", "z" * 1000).splitlines()[-1] == f"+{'z' * 239}…"
