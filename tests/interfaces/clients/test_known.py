"""The table of clients: its rows hold together, and lead to the right files on every machine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, get_args

import pytest

from whet.errors import NotFoundError
from whet.interfaces.clients.known import CONNECTIONS, Event, connection_named
from whet.interfaces.clients.locations import Program, file_path, project_path, running_program
from whet.interfaces.clients.records import is_installed
from whet.interfaces.hooks.clients import native
from whet.library.roots import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

posix = pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")


def place(home: str, env: Mapping[str, str] = {}, platform: str = "linux") -> Place:
    return Place("/work/shop", home, "/state", platform, env)


def test_names_are_those_of_the_documentation() -> None:
    names = [client.name for client in CONNECTIONS]
    assert names == [
        *("claude-code", "codex", "cursor", "vscode", "copilot", "gemini", "opencode", "hermes"),
        *("qwen", "cline", "windsurf", "zed", "amp", "goose", "kiro"),
    ]
    assert all(client.docs.startswith("https://") for client in CONNECTIONS)


def test_no_event_is_wired_twice_and_all_are_ours() -> None:
    for client in CONNECTIONS:
        hooks = client.hooks.each if client.hooks else ()
        events = [hook.event for hook in hooks]
        assert len(set(events)) == len(events) == len({native(client.name, hook.event) for hook in hooks})
        assert set(events) <= set(get_args(Event))


def test_values_hold_no_placeholder_that_nothing_stands_for() -> None:
    known = {"{command}", "{arguments}", "{words}", "{call}", "{timeout}", "{matcher}"}

    def strings(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for item in value.values():
                yield from strings(item)
        elif isinstance(value, list):
            for item in value:
                yield from strings(item)
        elif isinstance(value, str) and value.startswith("{"):
            yield value

    for client in CONNECTIONS:
        assert set(strings([client.server.value, client.hooks.value if client.hooks else None])) <= known


def test_a_client_nobody_knows_is_answered_with_close_ones() -> None:
    with pytest.raises(NotFoundError) as caught:
        connection_named("claud")
    assert (caught.value.code, caught.value.hint) == ("unknown-client", "Did you mean claude-code?")


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        ("claude-code", ["claude-code", "claude", "Claude Code", "claudecode"]),
        ("codex", ["codex", "openai-codex", "codex-cli"]),
        ("vscode", ["vscode", "vs-code", "code", "Visual Studio Code"]),
        ("copilot", ["copilot", "copilot-cli", "github-copilot", "GitHub Copilot CLI"]),
        ("qwen", ["qwen", "qwen-code", "Qwen Code"]),
        ("gemini", ["gemini", "gemini-cli", "gemini_cli"]),
        ("opencode", ["opencode", "open-code", "OpenCode"]),
        ("hermes", ["hermes", "hermes-agent"]),
    ],
)
def test_a_client_has_several_spellings(name: str, spellings: list[str]) -> None:
    assert [connection_named(spelling).name for spelling in spellings] == [name] * len(spellings)


@posix
@pytest.mark.parametrize(
    ("client", "platform", "env", "files"),
    [
        ("claude-code", "linux", {}, ["/h/.claude.json", "/h/.claude/settings.json"]),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/c"}, ["/c/.claude.json", "/c/settings.json"]),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "~/c"}, ["/h/c/.claude.json", "/h/c/settings.json"]),
        ("codex", "darwin", {}, ["/h/.codex/config.toml", "/h/.codex/hooks.json"]),
        ("codex", "darwin", {"CODEX_HOME": "/c/"}, ["/c/config.toml", "/c/hooks.json"]),
        ("cursor", "linux", {}, ["/h/.cursor/mcp.json", "/h/.cursor/hooks.json"]),
        ("vscode", "linux", {}, ["/h/.config/Code/User/mcp.json", "/h/.copilot/hooks/whet.json"]),
        ("vscode", "linux", {"XDG_CONFIG_HOME": "/x"}, ["/x/Code/User/mcp.json", "/h/.copilot/hooks/whet.json"]),
        (
            "vscode",
            "darwin",
            {"COPILOT_HOME": "/c"},
            ["/h/Library/Application Support/Code/User/mcp.json", "/c/hooks/whet.json"],
        ),
        ("vscode", "win32", {"APPDATA": "/a"}, ["/a/Code/User/mcp.json", "/h/.copilot/hooks/whet.json"]),
        ("vscode", "linux", {"VSCODE_PORTABLE": "/p"}, ["/p/user-data/User/mcp.json", "/h/.copilot/hooks/whet.json"]),
        ("gemini", "linux", {"GEMINI_CLI_HOME": "/g"}, ["/g/.gemini/settings.json", "/g/.gemini/settings.json"]),
        ("opencode", "linux", {"XDG_CONFIG_HOME": "/x"}, ["/x/opencode/opencode.json"]),
        ("opencode", "win32", {}, ["/h/.config/opencode/opencode.json"]),
        ("hermes", "linux", {"HERMES_HOME": "/m"}, ["/m/config.yaml", "/m/config.yaml"]),
        ("hermes", "win32", {"LOCALAPPDATA": "/l"}, ["/l/hermes/config.yaml", "/l/hermes/config.yaml"]),
        ("copilot", "linux", {}, ["/h/.copilot/mcp-config.json", "/h/.copilot/settings.json"]),
        ("copilot", "linux", {"COPILOT_HOME": "/c"}, ["/c/mcp-config.json", "/c/settings.json"]),
        ("qwen", "linux", {}, ["/h/.qwen/settings.json", "/h/.qwen/settings.json"]),
        ("qwen", "linux", {"QWEN_HOME": "/q"}, ["/q/settings.json", "/q/settings.json"]),
        ("cline", "linux", {}, ["/h/.cline/data/settings/cline_mcp_settings.json"]),
        ("cline", "linux", {"CLINE_DIR": "/c"}, ["/c/data/settings/cline_mcp_settings.json"]),
        ("cline", "linux", {"CLINE_DATA_DIR": "/d"}, ["/d/settings/cline_mcp_settings.json"]),
        ("cline", "linux", {"CLINE_MCP_SETTINGS_PATH": "/c/mcp.json"}, ["/c/mcp.json"]),
        ("windsurf", "linux", {}, ["/h/.codeium/windsurf/mcp_config.json"]),
        ("zed", "linux", {}, ["/h/.config/zed/settings.json"]),
        ("zed", "linux", {"XDG_CONFIG_HOME": "/x"}, ["/x/zed/settings.json"]),
        ("zed", "darwin", {"XDG_CONFIG_HOME": "/x"}, ["/h/.config/zed/settings.json"]),
        ("zed", "win32", {"APPDATA": "/a"}, ["/a/Zed/settings.json"]),
        ("amp", "linux", {}, ["/h/.config/amp/settings.json"]),
        ("goose", "linux", {}, ["/h/.config/goose/config.yaml"]),
        ("goose", "win32", {"APPDATA": "/a"}, ["/a/Block/goose/config/config.yaml"]),
        ("kiro", "linux", {}, ["/h/.kiro/settings/mcp.json"]),
    ],
)
def test_files_are_where_the_client_looks(client: str, platform: str, env: dict[str, str], files: list[str]) -> None:
    row = connection_named(client)
    found = [row.file, *([row.hooks.file] if row.hooks else [])]
    assert [file_path(file, place("/h", env, platform)) for file in found] == files


def test_an_existing_file_of_another_name_is_used(tmp_path: Path) -> None:
    row, here = connection_named("opencode"), place(str(tmp_path))
    directory = tmp_path / ".config" / "opencode"
    directory.mkdir(parents=True)
    assert file_path(row.file, here) == str(directory / "opencode.json")
    (directory / "opencode.jsonc").write_text("{}")
    assert file_path(row.file, here) == str(directory / "opencode.jsonc")
    (directory / "opencode.json").write_text("{}")
    assert file_path(row.file, here) == str(directory / "opencode.json")


def test_the_project_is_the_repository(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    here = Place(str(tmp_path / "shop" / "src"), str(tmp_path), "/state", "linux", {})
    assert project_path(connection_named("cursor"), here) == str(tmp_path / "shop" / ".cursor" / "mcp.json")
    assert project_path(connection_named("hermes"), here) == ""


def test_signs_of_a_client(tmp_path: Path) -> None:
    here = place(str(tmp_path))
    assert [client.name for client in CONNECTIONS if is_installed(client, here, None)] == []
    (tmp_path / ".claude.json").write_text("{}")
    (tmp_path / ".codex").mkdir()
    assert [client.name for client in CONNECTIONS if is_installed(client, here, None)] == ["claude-code", "codex"]


@posix
def test_the_program_is_the_command_that_runs(tmp_path: Path) -> None:
    command = tmp_path / "a b" / "whet"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    assert running_program(str(command)).words == (str(command),)
    (tmp_path / "link").symlink_to(command.parent)
    assert running_program(str(tmp_path / "link" / "whet")).words == (str(tmp_path / "link" / "whet"),)
    module = str(tmp_path / "whet" / "__main__.py")
    assert running_program(module, str(command.parent / "python")).words == (str(command),)
    assert running_program(module, "/no/python").words == ("/no/python", "-m", "whet")
    assert os.path.isabs(running_program().words[0])


def test_a_command_line_is_quoted_for_the_shell() -> None:
    program = Program(("/opt/a b/whet",))
    assert program.call("hook", "stop", platform="linux") == "'/opt/a b/whet' hook stop"
    windows = Program(("C:\\a b\\whet.exe",))
    assert windows.call("hook", "stop", platform="win32") == '"C:/a b/whet.exe" hook stop'
    assert Program(("/usr/bin/python3", "-m", "whet")).call("mcp", platform="darwin") == "/usr/bin/python3 -m whet mcp"


@pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX")
def test_a_program_that_will_be_thrown_away_is_known() -> None:
    assert Program(("/home/x/.cache/uv/archive-v0/abc/bin/whet",)).passing
    assert not Program(("/home/x/.local/bin/whet",)).passing
