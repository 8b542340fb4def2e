"""How clients stand to Whet, and what the doctor hears of connections."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clients.configurations import BROKEN, write
from clients.world import MOVED, World
from whet.errors import FailedError
from whet.interfaces.clients.examining import examine_connections, overview
from whet.interfaces.clients.locating import Program


def test_the_overview_tells_how_each_client_stands(world: World) -> None:
    write(world.home, {"".join(BROKEN["cursor"][:1]): BROKEN["cursor"][1]})
    world.connect("claude-code", hooks=False)
    world.connect("gemini")
    found = {one["client"]: one for one in overview(world.place)}
    keys = ("installed", "connected", "hooks")
    assert {name: tuple(one[key] for key in keys) for name, one in found.items()} == {
        "claude-code": (True, True, False),
        "codex": (False, False, False),
        "cursor": (True, False, False),
        "vscode": (False, False, False),
        "gemini": (True, True, True),
        "opencode": (False, False, None),
        "hermes": (False, False, False),
    }
    assert [name for name, one in found.items() if one["note"]] == ["cursor"]


def test_the_doctor_hears_of_connections_that_lead_nowhere(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert examine_connections(world.place) == ()
    program = tmp_path / "bin" / "whet"
    program.parent.mkdir()
    program.write_text("")
    monkeypatch.setattr("whet.interfaces.clients.examining.running_program", lambda: Program((str(program),)))
    for name, how in (("codex", {}), ("cursor", {"hooks": False}), ("gemini", {"here": True})):
        world.connect(name, Program((str(program),)), **how)
    place = world.place._replace(env={"PATH": str(tmp_path)})
    assert [(entry.code, entry.severity) for entry in examine_connections(place)] == [("connection-broken", "error")]

    monkeypatch.setattr("whet.interfaces.clients.examining.running_program", lambda: MOVED)
    place = world.place._replace(env={"PATH": os.environ["PATH"]})
    outdated = [entry for entry in examine_connections(place) if entry.code == "connection-outdated"]
    assert [entry.hint for entry in outdated] == [
        "`whet connect codex` renews it.",
        "`whet connect cursor --no-hooks` renews it.",
    ]
    program.unlink()
    (world.home / ".cursor" / "mcp.json").write_text("{}")
    (world.home / "shop" / ".gemini" / "settings.json").write_text("{")
    record = next(Path(world.place.state, "connections").glob("codex-*.json"))
    found = {entry.code: entry for entry in examine_connections(place)}
    assert set(found) == {"connection-broken", "connection-gone", "client-config-broken"}
    assert found["connection-broken"].message == f"codex starts {program}, which is not there."
    record.write_text("{")
    assert "connection-record-broken" in {entry.code for entry in examine_connections(place)}
    with pytest.raises(FailedError):
        world.plan("codex")
