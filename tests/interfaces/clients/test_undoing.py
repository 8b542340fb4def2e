"""Taking a connection back: every byte where nobody touched the file, only what is ours where somebody did."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from clients.configurations import LIVED_IN, contents, write
from clients.world import HOOKED, MOVED, NAMES, World
from whet.errors import NotFoundError
from whet.interfaces.clients import applying
from whet.interfaces.clients.applying import apply
from whet.interfaces.clients.connecting import plan_undo
from whet.interfaces.clients.known import client_named
from whet.interfaces.clients.plans import State


def stays(path: Path, key: str) -> str:
    """What is said of an entry that undoing leaves."""
    return f"{path}: {key} stays: it was changed since, or was there before. Remove it there by hand."


@pytest.mark.parametrize("name", NAMES)
def test_undo_after_edits_by_others_takes_out_only_what_is_ours(world: World, name: str) -> None:
    write(world.home, LIVED_IN[name])
    expected = {path: world.value(path) for path in LIVED_IN[name]}
    world.connect(name)
    for path in LIVED_IN[name]:
        with (world.home / path).open("ab") as file:
            file.write(b"\n# mine\n" if path.endswith((".toml", ".yaml")) else b"\n\n")
    plan = world.undo(name)
    assert plan.notes == ()
    for path, value in expected.items():
        data = (world.home / path).read_bytes()
        assert data.endswith(b"\n# mine\n" if path.endswith((".toml", ".yaml")) else b"\n\n")
        assert world.value(path) == value
    assert world.kept == []


@pytest.mark.parametrize("name", HOOKED)
def test_entries_that_somebody_changed_stay_and_are_told(world: World, name: str) -> None:
    write(world.home, LIVED_IN[name])
    world.connect(name)
    row = client_named(name)
    assert row.hooks is not None
    path = Path(os.path.relpath(world.plan(name).changes[-1].path, world.home))
    text = (world.home / path).read_text(encoding="utf-8")
    long = 10 * row.hooks.per_second
    first = text.index(f"hook prompt --client {name}")
    at = text.index(str(long), first)
    (world.home / path).write_text(f"{text[:at]}77{text[at + len(str(long)) :]}", encoding="utf-8")
    plan = world.undo(name)
    hook = next(hook for hook in row.hooks.each if hook.event == "prompt")
    assert plan.notes == (stays(world.home / path, f"hooks.{hook.name}"),)
    assert plan.after == State(connected=False, hooks=True)
    after = (world.home / path).read_text(encoding="utf-8")
    assert after.count(f"--client {name}") == 1 and "77" in after


def test_a_server_that_somebody_changed_stays_and_is_told(world: World) -> None:
    world.connect("cursor", hooks=False)
    path = world.home / ".cursor" / "mcp.json"
    value = json.loads(path.read_text())
    value["mcpServers"]["whet"]["env"] = {"WHET_HOME": "/elsewhere"}
    path.write_text(json.dumps(value))
    assert world.plan("cursor", hooks=False).is_empty
    for changes in (1, 0):  # the second time there is no record any more
        plan = world.undo("cursor")
        assert (plan.notes, plan.before, plan.after, len(plan.changes)) == (
            (stays(path, "mcpServers.whet"),),
            State(connected=True, hooks=False),
            State(connected=True, hooks=False),
            changes,
        )
    assert json.loads(path.read_text()) == value and world.kept == []
    path.write_text("{}")
    with pytest.raises(NotFoundError):
        plan_undo(client_named("cursor"), world.place)


def test_an_entry_of_their_own_comes_back_and_is_told(world: World) -> None:
    text = '{"mcpServers": {"whet": {"command": "uvx", "args": ["whet", "mcp", "--root", "/skills"]}}}'
    before = write(world.home, {".cursor/mcp.json": text})
    world.connect("cursor")
    for _ in range(2):
        plan = world.undo("cursor")
        assert (plan.notes, plan.after) == (
            (stays(world.home / ".cursor" / "mcp.json", "mcpServers.whet"),),
            State(connected=True, hooks=False),
        )
        assert contents(world.home) == before and world.kept == []


def test_an_update_after_edits_by_others_keeps_them_on_undo(world: World) -> None:
    write(world.home, LIVED_IN["cursor"])
    world.connect("cursor")
    path = world.home / ".cursor" / "hooks.json"
    path.write_text(path.read_text().replace("./hooks/format.sh", "./hooks/other.sh"))
    world.connect("cursor", MOVED)
    world.undo("cursor")
    assert world.read(".cursor/hooks.json") == {
        "version": 1,
        "hooks": {"afterFileEdit": [{"command": "./hooks/other.sh"}]},
    }
    assert world.kept == []


@pytest.mark.parametrize("writes", range(6))
@pytest.mark.parametrize("again", ["connect", "undo"])
def test_killed_at_any_write_it_can_be_completed_or_taken_back(
    world: World, monkeypatch: pytest.MonkeyPatch, writes: int, again: str
) -> None:
    class Killed(BaseException):
        """The process is gone."""

    before = write(world.home, LIVED_IN["codex"])
    left = [writes]
    real = os.replace

    def replace(source: str, target: str) -> None:
        if not left[0]:
            raise Killed
        left[0] -= 1
        real(source, target)

    plan = world.plan("codex")
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replace)
        patched.setattr(applying, "_forget_attempt", lambda *_: None)
        try:
            apply(plan, world.place.state)
        except Killed:
            assert writes < 5
        else:
            assert writes == 5
    if again == "connect":
        world.connect("codex")
        assert world.plan("codex").is_empty
    try:
        world.undo("codex")
    except NotFoundError:
        assert writes < 3 and again == "undo"
    assert contents(world.home) == before


@pytest.mark.parametrize("name", NAMES)
def test_undo_without_a_record_takes_out_what_is_plainly_ours(world: World, name: str) -> None:
    write(world.home, LIVED_IN[name])
    values = {path: world.value(path) for path in LIVED_IN[name]}
    world.connect(name)
    for kept in Path(world.place.state, "connections").iterdir():
        kept.unlink()
    world.undo(name)
    assert [data for data in contents(world.home).values() if b"/opt/whet" in data] == []
    for path, value in values.items():
        for key in value:
            if key not in ("hooks", "mcpServers", "mcp_servers"):
                assert world.value(path)[key] == value[key]


@pytest.mark.parametrize("here", [False, True])
def test_what_is_not_connected_cannot_be_undone(world: World, here: bool) -> None:
    write(world.home, LIVED_IN["gemini"])
    with pytest.raises(NotFoundError) as caught:
        plan_undo(client_named("gemini"), world.place, here=here)
    assert caught.value.code == "not-connected"
