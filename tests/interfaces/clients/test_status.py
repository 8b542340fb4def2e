"""How clients stand to Whet, and what the doctor hears of connections."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clients.configurations import BROKEN, write
from clients.world import MOVED, NAMES, World
from whet.errors import FailedError
from whet.interfaces.clients.known import CONNECTIONS, connection_named
from whet.interfaces.clients.locations import Program, file_path, running_program
from whet.interfaces.clients.status import examine_connections, overview


def test_the_overview_tells_how_each_client_stands(world: World) -> None:
    write(world.home, {"".join(BROKEN["cursor"][:1]): BROKEN["cursor"][1]})
    (world.home / ".claude").mkdir()
    world.connect("claude-code", hooks=False, writes=True)
    world.connect("gemini")
    found = {one.client: one for one in overview(world.place, world.connections)}
    keys = ("installed", "connected", "writes", "hooks")
    assert {name: tuple(getattr(one, key) for key in keys) for name, one in found.items()} == {
        "claude-code": (True, True, "allow", False),
        "codex": (False, False, None, False),
        "cursor": (True, False, None, False),
        "vscode": (False, False, None, False),
        "gemini": (False, True, "propose", True),
        "opencode": (False, False, None, None),
        "hermes": (False, False, None, False),
        **dict.fromkeys(("copilot", "qwen"), (False, False, None, False)),
        **dict.fromkeys(("cline", "windsurf", "zed", "amp", "goose", "kiro"), (False, False, None, None)),
    }
    assert [name for name, one in found.items() if one.note] == ["cursor"]


def test_the_overview_of_a_project(world: World) -> None:
    world.connect("claude-code")
    world.connect("cursor", here=True)
    found = overview(world.place, world.connections, here=True)
    assert [(one.client, one.connected, one.writes, one.hooks) for one in found] == [
        (name, name == "cursor", "propose" if name == "cursor" else None, None)
        for name in (client.name for client in CONNECTIONS if client.project)
    ]
    assert found[2].path == str(world.home / "shop" / ".cursor" / "mcp.json")


@pytest.mark.parametrize("name", NAMES)
def test_what_whet_made_is_no_sign_of_a_client(world: World, name: str) -> None:
    def installed() -> bool:
        return any(one.installed for one in overview(world.place, world.connections) if one.client == name)

    world.connect(name)
    assert not installed()
    assert world.plan(name).notes[0] == f"{connection_named(name).title} does not seem to be installed here."
    main = Path(file_path(connection_named(name).file, world.place))
    text = main.read_text()
    main.write_text(f"{text}\n")  # as the client would
    assert installed()
    main.write_text(text)
    assert not installed()
    (main.parent / "log").write_text("")
    # Claude Code's file lies in the home, and VS Code's hooks lie in the directory of Copilot CLI
    assert installed() == (name not in ("claude-code", "copilot"))


def test_a_broken_record_hides_nothing(world: World) -> None:
    world.connect("cursor")
    world.spoil("cursor")
    cursor = next(one for one in overview(world.place, world.connections) if one.client == "cursor")
    assert (cursor.installed, cursor.connected) == (True, True)
    assert cursor.note.startswith("The record of the connection ")


def test_hooks_that_codex_skips_are_named_until_the_user_trusts_them(world: World) -> None:
    world.connect("codex", running_program())
    events = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"]
    hooks, settings = world.home / ".codex" / "hooks.json", world.home / ".codex" / "config.toml"
    (note,) = examine_connections(world.place, world.connections)
    assert (note.code, note.severity, note.path) == ("hooks-untrusted", "warning", str(hooks))
    assert f"({', '.join(events)})" in note.message and "`/hooks`" in note.hint
    names = ("session_start", "user_prompt_submit", "post_tool_use", "pre_compact", "stop", "session_end")
    for name in names[:-1]:
        with settings.open("a") as file:
            file.write(f'[hooks.state."{hooks}:{name}:0:0"]\ntrusted_hash = "sha256:0"\n')
    (note,) = examine_connections(world.place, world.connections)
    assert "(SessionEnd)" in note.message
    with settings.open("a") as file:
        file.write(f'[hooks.state."{hooks}:session_end:0:0"]\ntrusted_hash = "sha256:0"\n')
    assert examine_connections(world.place, world.connections) == ()
    assert not [text for text in world.plan("codex", running_program()).notes if "hooks of both files" in text]


def test_the_doctor_hears_of_connections_that_lead_nowhere(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert examine_connections(world.place, world.connections) == ()
    program = tmp_path / "bin" / "whet"
    program.parent.mkdir()
    program.write_text("")
    monkeypatch.setattr("whet.interfaces.clients.status.running_program", lambda: Program((str(program),)))
    for name, how in (("codex", {}), ("cursor", {"hooks": False}), ("gemini", {"here": True})):
        world.connect(name, Program((str(program),)), **how)
    place = world.place._replace(env={"PATH": str(tmp_path)})
    assert [(entry.code, entry.severity) for entry in examine_connections(place, world.connections)] == [
        ("hooks-untrusted", "warning"),
        ("connection-broken", "error"),
    ]

    monkeypatch.setattr("whet.interfaces.clients.status.running_program", lambda: MOVED)
    place = world.place._replace(env={"PATH": os.environ["PATH"]})
    outdated = [entry for entry in examine_connections(place, world.connections) if entry.code == "connection-outdated"]
    assert [entry.hint for entry in outdated] == [
        "`whet connect codex` renews it.",
        "`whet connect cursor` renews it.",
    ]
    program.unlink()
    (world.home / ".cursor" / "mcp.json").write_text("{}")
    (world.home / "shop" / ".gemini" / "settings.json").write_text("{")
    found = {entry.code: entry for entry in examine_connections(place, world.connections)}
    assert set(found) == {"connection-broken", "connection-gone", "client-config-broken"}
    assert found["connection-broken"].message == f"codex starts {program}, which does not exist."
    assert found["client-config-broken"].hint == "Fix the file; the client cannot read it either."
    hooks = world.home / ".codex" / "hooks.json"
    hooks.write_text("{")
    assert (str(hooks), "client-config-broken") in [
        (entry.path, entry.code) for entry in examine_connections(place, world.connections)
    ]
    world.spoil("codex")
    assert "connection-record-broken" in {entry.code for entry in examine_connections(place, world.connections)}
    with pytest.raises(FailedError):
        world.plan("codex")
