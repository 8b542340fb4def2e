"""Taking a connection back: every byte where nobody touched the file, only what is ours where somebody did."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tiers import thinned

from clients.configurations import LIVED_IN, contents, write
from clients.world import HOOKED, MOVED, NAMES, World
from whet.errors import NotFoundError
from whet.interfaces.clients import plan as applying
from whet.interfaces.clients import records
from whet.interfaces.clients.known import connection_named
from whet.interfaces.clients.plan import State, apply, handlers, plan_undo
from whet.interfaces.hooks.clients import native
from whet.store.clock import system_clock
from whet.store.intents import CONNECT, Intents
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable


def stays(path: Path, key: str) -> str:
    """What is said of an entry that undoing leaves."""
    return f"{path}: {key} stays: it has changed since, or was there before. Remove it by hand."


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
    row = connection_named(name)
    assert row.hooks is not None
    path = Path(os.path.relpath(world.plan(name).changes[-1].path, world.home))
    text = (world.home / path).read_text(encoding="utf-8")
    long = 10 * row.hooks.per_second
    first = text.index(f"hook prompt --client {name}")
    at = text.index(str(long), first)
    (world.home / path).write_text(f"{text[:at]}77{text[at + len(str(long)) :]}", encoding="utf-8")
    plan = world.undo(name)
    hook = next(hook for hook in row.hooks.each if hook.event == "prompt")
    assert plan.notes == (stays(world.home / path, f"hooks.{native(row.name, hook.event)}"),)
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
        plan_undo(connection_named("cursor"), world.place, world.connections)


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


@pytest.mark.parametrize("edited", [False, True])
def test_hooks_of_their_own_are_as_they_were_afterwards(world: World, edited: bool) -> None:
    commands = [
        "/home/me/whetstone/agentlog hook prompt --client claude-code",
        "whet hook start --client claude-code",
        "timeout 3 whet hook stop --client claude-code",
    ]
    events = ("UserPromptSubmit", "SessionStart", "Stop")
    theirs = {
        event: [{"hooks": [{"type": "command", "command": command}]}]
        for event, command in zip(events, commands, strict=True)
    }
    before = write(world.home, {".claude/settings.json": json.dumps({"hooks": theirs}, indent=2)})
    world.connect("claude-code")
    world.connect("claude-code", MOVED)
    path = world.home / ".claude" / "settings.json"
    found = world.read(".claude/settings.json")["hooks"]
    assert [[entry["command"] for group in found[event] for entry in group["hooks"]] for event in events] == [
        [commands[0], "/usr/local/bin/whet hook prompt --client claude-code"],
        ["/usr/local/bin/whet hook start --client claude-code"],
        [commands[2]],
    ]
    if edited:
        path.write_text(path.read_text() + "\n")
    plan = world.undo("claude-code")
    assert plan.notes == (stays(path, "hooks.SessionStart"), stays(path, "hooks.Stop"))
    assert (world.read(".claude/settings.json"), world.kept) == ({"hooks": theirs}, [])
    assert edited or contents(world.home) == before


def test_an_entry_with_what_a_record_cannot_hold_stays(world: World) -> None:
    text = "mcp_servers:\n  whet:\n    command: uvx\n    args: [whet, mcp]\n    since: 2026-01-02\n"
    before = write(world.home, {".hermes/config.yaml": text})
    (backup,) = world.connect("hermes", hooks=False)
    assert world.read(".hermes/config.yaml")["mcp_servers"]["whet"]["command"] == "/opt/whet/bin/whet"
    assert Path(backup).read_text() == text
    assert world.undo("hermes").notes == (stays(world.home / ".hermes" / "config.yaml", "mcp_servers.whet"),)
    assert contents(world.home) == before


def test_connecting_what_is_connected_without_a_record_keeps_what_is_there(world: World) -> None:
    world.connect("codex")
    after = contents(world.home)
    world.forget()
    assert [Path(backup).read_bytes() for backup in world.connect("codex")] == list(after.values())
    assert contents(world.home) == after
    assert world.undo("codex").after == State(connected=True, hooks=True)
    world.undo("codex")
    assert "whet" not in str(contents(world.home)) and world.kept == []


def test_a_backup_that_no_record_names_goes(world: World) -> None:
    write(world.home, LIVED_IN["codex"])
    world.connect("codex")
    (id_,) = world.connections.ids()
    for name in (f"{id_}.7.backup", "cursor-0123456789ab.0.backup"):
        (world.backups[0].parent / name).write_text("secret")
    world.connect("codex", MOVED)
    assert len(world.kept) == 4 and f"{id_}.7.backup" not in world.kept
    world.undo("codex")
    assert world.kept == ["cursor-0123456789ab.0.backup"]  # that is for a run on Cursor


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


class Killed(BaseException):
    """The process is gone."""


def die_after(most: int, patched: pytest.MonkeyPatch) -> None:
    """Let this many files be written or removed, or transactions begin, and then nothing any more."""
    left = [most]

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return real(*arguments, **options)

        return step

    steps: tuple[tuple[Any, str], ...] = (
        (applying, "write_bytes"),
        (records, "write_bytes"),
        (os, "unlink"),
        (os, "rmdir"),
    )
    for module, name in (*steps, (StateDatabase, "write")):
        patched.setattr(module, name, dying(getattr(module, name)))


@pytest.mark.parametrize("steps", thinned(range(13), 4))
@pytest.mark.parametrize("first", ["connect", "no hooks", "undo"])
@pytest.mark.parametrize("again", ["connect", "undo"])
@pytest.mark.parametrize("files", [LIVED_IN["codex"], {}], ids=["lived in", "new"])
def test_killed_at_any_step_it_can_be_completed_or_taken_back(
    world: World, monkeypatch: pytest.MonkeyPatch, steps: int, first: str, again: str, files: dict[str, str]
) -> None:
    before = write(world.home, files)
    if first != "connect":
        world.connect("codex")
    plans: dict[str, dict[str, Any]] = {"connect": {}, "no hooks": {"hooks": False}}
    if first in plans:
        plan = world.plan("codex", **plans[first])
    else:
        plan = plan_undo(connection_named("codex"), world.place, world.connections)
    with monkeypatch.context() as patched:
        die_after(steps, patched)
        with suppress(Killed):
            apply(plan, world.connections)
    if again == "connect":
        world.connect("codex", hooks=True)
        assert world.plan("codex").is_empty
    try:
        assert world.undo("codex").notes == ()
    except NotFoundError:
        assert again == "undo" and (first == "undo" or not steps)
    assert contents(world.home) == before and world.kept == []
    assert (world.home / ".codex").exists() == bool(files)


@pytest.mark.parametrize("name", NAMES)
def test_undo_without_a_record_takes_out_what_is_plainly_ours(world: World, name: str) -> None:
    write(world.home, LIVED_IN[name])
    values = {path: world.value(path) for path in LIVED_IN[name]}
    world.connect(name)
    world.forget()
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
        plan_undo(connection_named("gemini"), world.place, world.connections, here=here)
    assert caught.value.code == "not-connected"


@pytest.mark.parametrize("steps", range(13))
@pytest.mark.parametrize("first", ["connect", "undo"])
def test_killed_at_any_step_it_is_finished_or_taken_back_by_whoever_settles(
    world: World, monkeypatch: pytest.MonkeyPatch, steps: int, first: str
) -> None:
    write(world.home, LIVED_IN["codex"])
    untouched = contents(world.home)
    world.connect("codex")
    connected = contents(world.home)
    if first == "connect":
        world.undo("codex")
        plan = world.plan("codex")
    else:
        plan = plan_undo(connection_named("codex"), world.place, world.connections)
    with monkeypatch.context() as patched:
        die_after(steps, patched)
        with suppress(Killed):
            apply(plan, world.connections)
    intents = Intents(world.connections.state, system_clock)
    intents.recover(handlers(world.connections.state))
    assert intents.open(CONNECT) == []
    found = contents(world.home)
    assert found in (untouched, connected)
    assert (world.connections.ids() == []) == (found == untouched)
    if found == connected:
        world.undo("codex")
    assert contents(world.home) == untouched and world.kept == []
