"""What starts Whet is known, and what only looks like it is somebody else's."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.interfaces.clients.entries import Call, has_hook, parse_hook, server_arguments, server_writes
from whet.interfaces.clients.locations import Program

TAIL = "hook prompt --client claude-code"


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("whet", ["whet"]),
        ("/usr/bin/whet", ["/usr/bin/whet"]),
        ("'/opt/a b/whet'", ["/opt/a b/whet"]),
        (r"/opt/a\ b/whet", ["/opt/a b/whet"]),
        ("~/.local/bin/whet", ["~/.local/bin/whet"]),
        ('"C:/a (x86)/WHET.EXE"', ["C:/a (x86)/WHET.EXE"]),
        (r"C:\bin\whet.exe", [r"C:\bin\whet.exe"]),
        (r'"C:\a b\whet.exe"', [r"C:\a b\whet.exe"]),
        ("/usr/bin/python3.12 -m whet", ["/usr/bin/python3.12", "-m", "whet"]),
        ('"C:/Python/python.exe" "-m" "whet"', ["C:/Python/python.exe", "-m", "whet"]),
    ],
)
def test_a_hook_that_is_ours_is_known(program: str, words: list[str]) -> None:
    assert parse_hook(f"{program} {TAIL}") == Call(tuple(words), "prompt", "claude-code")
    assert has_hook(f"{program} {TAIL}", "prompt", "claude-code")
    assert not has_hook(f"{program} {TAIL}", "stop", "claude-code")
    assert not has_hook(f"{program} {TAIL}", "prompt", "claude")


@pytest.mark.parametrize(
    "command",
    [
        f"WHET_HOME=/srv/team timeout 3 nice whet {TAIL}",
        f"nice whet {TAIL}",
        f"uvx whet {TAIL}",
        f"/usr/bin/ruby -m whet {TAIL}",
        f"WHET_HOME=/srv/whet {TAIL}",
        f"a&&/usr/bin/whet {TAIL}",
        f"whet {TAIL} || true",
        f"whet {TAIL}; true",
        f"whet {TAIL} 2>/dev/null",
        f"whet --quiet {TAIL}",
        f"whet {TAIL} --json",
        "whet hook prompt --client=claude-code",
        f"sh -c 'whet {TAIL}'",
        f"cd /x\nwhet {TAIL}",
        f"if true; then whet {TAIL}; fi # it's",
    ],
)
def test_a_hook_with_something_around_it_is_there_and_not_ours(command: str) -> None:
    assert parse_hook(command) is None
    assert has_hook(command, "prompt", "claude-code")


@pytest.mark.parametrize(
    "command",
    [
        f"/home/me/whetstone/agentlog {TAIL}",
        f"/home/me/whet/agentlog {TAIL}",
        f"my-whet {TAIL}",
        f"whet.sh {TAIL}",
        "whet mcp",
        "whet hook prompt",
        "whet hook prompt --client claude-code-next",
        "whet 'hook prompt --client' claude-code",
        "",
        "'",
        None,
        3,
        ["whet", "hook", "prompt", "--client", "claude-code"],
    ],
)
def test_a_command_of_somebody_else_is_not_ours(command: Any) -> None:
    assert not has_hook(command, "prompt", "claude-code")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30), st.sampled_from(["linux", "win32"]))
def test_what_is_written_is_known_again(directory: str, platform: str) -> None:
    directory = "".join(letter for letter in directory if letter.isprintable() and letter not in '"\\')
    call = Program((f"/{directory}/whet",)).call("hook", "stop", "--client", "codex", platform=platform)
    assert parse_hook(call) == ((f"/{directory}/whet",), "stop", "codex")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="whet hok-/\\'\"=;&|cliv\n", max_size=60))
def test_any_text_is_a_call_or_not(command: str) -> None:
    call = parse_hook(command)
    assert call is None or shlex.split(command.replace("\\", "/"))[-4:] == ["hook", call.event, "--client", call.client]
    has_hook(command, "stop", "codex")


@pytest.mark.parametrize(
    ("entry", "arguments"),
    [
        ({"command": "/usr/bin/whet", "args": ["mcp"]}, []),
        ({"command": "whet", "args": ["mcp", "--allow-writes"]}, ["--allow-writes"]),
        ({"command": r"C:\bin\WHET.EXE", "args": ["mcp"]}, []),
        ({"command": "uvx", "args": ["whet", "mcp", "--root", "x"]}, ["--root", "x"]),
        ({"command": "/usr/bin/python3", "args": ["-m", "whet", "mcp"]}, []),
        ({"type": "local", "command": ["/usr/bin/whet", "mcp"]}, []),
        ({"command": "whet", "args": ["serve"]}, None),
        ({"command": "mcp", "args": ["whet"]}, None),
        ({"command": "/usr/bin/whetstone", "args": ["mcp"]}, None),
        ({"url": "https://whet.example/mcp"}, None),
        ({"command": ["whet", 3, "mcp"]}, None),
        ({"command": "whet", "args": "mcp"}, None),
        ("whet mcp", None),
        (None, None),
    ],
)
def test_a_server_that_is_ours_is_known(entry: Any, arguments: list[str] | None) -> None:
    assert server_arguments(entry) == arguments


@pytest.mark.parametrize(
    ("arguments", "writes"),
    [([], "propose"), (["--root", "x", "--allow-writes"], "allow"), (["--read-only"], "read-only")],
)
def test_what_a_server_lets_models_do_is_known(arguments: list[str], writes: str) -> None:
    assert server_writes({"command": "whet", "args": ["mcp", *arguments]}) == writes
