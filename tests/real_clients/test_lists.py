"""What real clients list of the skills they disagree about, compared with what Whet says and with what is recorded.

When a new version of a client lists something else, change its row or its reader until Whet says the same, and then
`edge_cases.json`.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest

from real_clients.clients import ClaudeCode, Codex, Gemini
from real_clients.edge_cases import PLUGINS, build_market, build_world, foreseen, recorded, shorten
from whet.library.clients import client_named

if TYPE_CHECKING:
    from pathlib import Path

    from real_clients.clients import RealClient
    from real_clients.edge_cases import Rows

pytestmark = pytest.mark.deep

_CLAUDE = "The following skills are available for use with the Skill tool:\n\n"
_MARKS = {"claude-code": _CLAUDE, "codex": "<skills_instructions>"}
_CLAUDE_ROW = re.compile(r"^- ([^\n:]+(?::[^\n: ]+)*): (.*?)(?=\n- |\Z)", re.DOTALL | re.MULTILINE)
_CODEX_ROW = re.compile(r"^- (.+?): (.*) \(file: .*\)$", re.MULTILINE)
_XML_ROW = re.compile(r"<skill>\s*<name>(.*?)</name>\s*<description>(.*?)</description>", re.DOTALL)


def rows(client: RealClient, text: str) -> Rows:
    """The skills that stand in a request."""
    if client.name == "claude-code":
        text = text.split(_CLAUDE, 1)[1].partition("</system-reminder>")[0].rstrip()
        return [*map(tuple, _CLAUDE_ROW.findall(text))]
    if client.name == "codex":
        return [*map(tuple, _CODEX_ROW.findall(text.partition("</skills_instructions>")[0]))]
    found = _XML_ROW.findall(text[text.rindex("<available_skills>\n") :])
    if client.name == "copilot":
        return [(html.unescape(name), html.unescape(description)) for name, description in found]
    return [*map(tuple, found)]


def listed(client: RealClient) -> Rows:
    """What the client lists when it is started in its working directory."""
    client.model.play([])
    assert client.prompt("hello").returncode == 0
    mark = _MARKS.get(client.name, "<available_skills>\n")
    return rows(client, next(request.text for request in client.model.requests if mark in request.text))


@pytest.mark.parametrize("directory", ["work", "sub"])
def test_whet_says_what_the_client_lists(client: RealClient, directory: str) -> None:
    kind = client_named(client.name)
    own = {*listed(client)}  # the client comes with some skills
    build_world(client.home, client.work, kind)
    give_room(client)
    if directory == "sub":
        client.work /= "sub"
    found = shorten(kind, [row for row in listed(client) if row not in own])
    assert found == foreseen(kind, client.home, client.work)
    assert found == recorded(kind, directory)


@pytest.mark.parametrize("client", [ClaudeCode, Codex, Gemini], indirect=True, ids=lambda kind: kind.name)
def test_whet_says_what_the_client_lists_of_plugins(client: RealClient, tmp_path: Path) -> None:
    kind = client_named(client.name)
    own = {*listed(client)}
    build_market(tmp_path / "market", (client.home, client.work), kind)
    for plugin in PLUGINS:
        client.install(tmp_path / "market", plugin)
    give_room(client)
    found = shorten(kind, [row for row in listed(client) if row not in own])
    assert found == foreseen(kind, client.home, client.work)
    assert found == recorded(kind, "plugins")


def give_room(client: RealClient) -> None:
    """Let the client list everything: by default a long list is shortened to a share of the context window."""
    client.env["SLASH_COMMAND_TOOL_CHAR_BUDGET"] = "1000000"
    config = client.home / ".codex" / "config.toml"
    if config.exists():
        config.write_text("model_context_window = 10000000\n" + config.read_text(encoding="utf-8"), encoding="utf-8")
