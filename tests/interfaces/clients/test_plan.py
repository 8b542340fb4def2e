"""Connecting clients, on configurations as people have them."""

from __future__ import annotations

import os
import stat
from difflib import ndiff
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clients.configurations import BROKEN, LIVED_IN, contents, write
from clients.world import HOOKED, MOVED, NAMES, PROGRAM, World
from whet.errors import ConflictError, FailedError, InvalidError, UsageError, WhetError
from whet.extras import how_to_install
from whet.interfaces.clients import plan as applying
from whet.interfaces.clients.known import CONNECTIONS, connection_named
from whet.interfaces.clients.locations import Program
from whet.interfaces.clients.plan import Connecting, LeftOut, apply, plan_undo

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.interfaces.clients.plan import Plan

posix = pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")


@pytest.mark.parametrize("name", NAMES)
def test_everything_else_stays_and_undo_brings_back_every_byte(world: World, name: str) -> None:
    before = write(world.home, LIVED_IN[name])
    backups = world.connect(name)
    after = contents(world.home)
    assert len(backups) == len(before)
    for path, data in before.items():
        old, new = (text.decode().splitlines(keepends=True) for text in (data, after[path]))
        removed = [line for line in ndiff(old, new) if line.startswith("- ")]
        assert old != new
        assert len(removed) <= 2, removed  # a comma behind the line before, an empty table that is no longer empty
        assert (b"\r\n" in data) == (b"\r\n" in after[path])
    assert world.plan(name).is_empty
    world.undo(name)
    assert contents(world.home) == before
    assert world.kept == []


@pytest.mark.parametrize("name", NAMES)
def test_files_that_were_not_there_are_made_and_go_again(world: World, name: str) -> None:
    before = contents(world.home), sorted(world.home.rglob("*"))
    assert world.connect(name) == ()
    made = contents(world.home)
    row = connection_named(name)
    assert len(made) == (1 if row.hooks is None or row.hooks.file == row.file else 2)
    assert all(data.endswith(b"\n") for data in made.values())
    world.undo(name)
    assert (contents(world.home), sorted(world.home.rglob("*"))) == before


def test_what_stands_in_each_client(world: World) -> None:
    for name in NAMES:
        world.connect(name)
    server = {"command": "/opt/whet/bin/whet", "args": ["mcp"]}
    stdio = {"type": "stdio", **server}
    assert world.read(".claude.json") == {"mcpServers": {"whet": stdio}}
    assert world.read(".codex/config.toml") == {"mcp_servers": {"whet": server}}
    assert world.read(".cursor/mcp.json") == {"mcpServers": {"whet": stdio}}
    assert world.read(".config/Code/User/mcp.json") == {"servers": {"whet": stdio}}
    assert world.read(".config/opencode/opencode.json") == {
        "mcp": {"whet": {"type": "local", "command": ["/opt/whet/bin/whet", "mcp"], "enabled": True}}
    }
    assert world.read(".claude/settings.json")["hooks"]["PostToolUse"] == [
        {
            "matcher": "Skill|Read|mcp__whet__.*",
            "hooks": [
                {
                    "type": "command",
                    "command": "/opt/whet/bin/whet hook tool --client claude-code",
                    "timeout": 10,
                    "async": True,
                }
            ],
        }
    ]
    assert world.read(".codex/hooks.json")["hooks"]["SessionEnd"] == [
        {
            "hooks": [
                {"type": "command", "command": "/opt/whet/bin/whet hook end --client codex", "timeout": 3},
            ]
        }
    ]
    assert world.read(".cursor/hooks.json") == {
        "version": 1,
        "hooks": {
            theirs: [{"command": f"/opt/whet/bin/whet hook {ours} --client cursor", "timeout": 10}]
            for theirs, ours in (
                ("sessionStart", "start"),
                ("beforeSubmitPrompt", "prompt"),
                ("postToolUse", "tool"),
                ("preCompact", "compact"),
                ("stop", "stop"),
                ("sessionEnd", "end"),
            )
        },
    }
    assert world.read(".copilot/hooks/whet.json")["hooks"]["UserPromptSubmit"] == [
        {"type": "command", "command": "/opt/whet/bin/whet hook prompt --client vscode", "timeout": 10}
    ]
    gemini = world.read(".gemini/settings.json")
    assert gemini["mcpServers"] == {"whet": server}
    assert gemini["hooks"]["BeforeAgent"] == [
        {
            "hooks": [
                {
                    "name": "whet",
                    "type": "command",
                    "command": "/opt/whet/bin/whet hook prompt --client gemini",
                    "timeout": 10000,
                }
            ]
        }
    ]
    hermes = world.read(".hermes/config.yaml")
    assert hermes["mcp_servers"] == {"whet": server}
    assert hermes["hooks"]["pre_llm_call"] == [
        {"command": "/opt/whet/bin/whet hook prompt --client hermes", "timeout": 10}
    ]
    assert sorted(hermes["hooks"]) == [
        *("on_session_end", "on_session_finalize", "on_session_start", "post_tool_call", "pre_llm_call"),
    ]


def test_opencode_two_gets_its_own_shape_where_the_file_has_it(world: World) -> None:
    path = ".config/opencode/opencode.json"
    before = write(world.home, {path: '{"mcp": {"timeout": {"startup": 9}, "servers": {}}}\n'})
    world.connect("opencode")
    assert world.read(path)["mcp"]["servers"] == {"whet": {"type": "local", "command": ["/opt/whet/bin/whet", "mcp"]}}
    world.undo("opencode")
    assert contents(world.home) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_moved_program_is_an_update(world: World, name: str) -> None:
    before = write(world.home, LIVED_IN[name])
    world.connect(name)
    old = contents(world.home)
    world.connect(name, MOVED)
    moved = {path: data.replace(b"/opt/whet/bin/whet", b"/usr/local/bin/whet") for path, data in old.items()}
    assert contents(world.home) == moved
    assert world.plan(name, MOVED).is_empty
    world.undo(name)
    assert contents(world.home) == before


def test_a_server_of_that_name_that_is_not_ours_is_left_alone(world: World) -> None:
    before = write(world.home, {".cursor/mcp.json": '{"mcpServers": {"whet": {"command": "whetstone"}}}'})
    with pytest.raises(ConflictError) as caught:
        world.plan("cursor")
    path = world.home / ".cursor" / "mcp.json"
    assert (caught.value.code, caught.value.message) == (
        "client-entry-taken",
        f"{path} has an MCP server named 'whet' that is not Whet's.",
    )
    assert contents(world.home) == before and world.kept == []


def test_a_server_that_somebody_declared_by_hand_is_taken_over_with_its_arguments(world: World) -> None:
    text = '{"mcpServers": {"whet": {"command": "uvx", "args": ["whet", "mcp", "--read-only", "--root", "/skills"]}}}'
    write(world.home, {".gemini/settings.json": text})
    world.connect("gemini", hooks=False, writes=True)
    assert world.read(".gemini/settings.json") == {
        "mcpServers": {
            "whet": {"command": "/opt/whet/bin/whet", "args": ["mcp", "--root", "/skills", "--allow-writes"]},
        }
    }


def test_writes_stay_as_they_are_unless_said(world: World) -> None:
    arguments = []
    for writes in (None, True, None, False, None):
        world.connect("codex", hooks=False, writes=writes)
        arguments.append(world.read(".codex/config.toml")["mcp_servers"]["whet"]["args"])
    assert arguments == [["mcp"], ["mcp", "--allow-writes"], ["mcp", "--allow-writes"], ["mcp"], ["mcp"]]


@pytest.mark.parametrize("name", HOOKED)
def test_hooks_can_be_taken_out_and_put_in_again(world: World, name: str) -> None:
    before = write(world.home, LIVED_IN[name])
    world.connect(name)
    world.connect(name, hooks=False)
    assert [data for data in contents(world.home).values() if b"--client" in data] == []
    assert world.plan(name, hooks=False).is_empty and world.plan(name).is_empty
    left = LeftOut("hooks", "You left them out; `--hooks` adds them.")
    assert left in world.plan(name).left_out
    world.connect(name, MOVED)
    assert [data for data in contents(world.home).values() if b"--client" in data] == []
    world.connect(name, hooks=True)
    row = connection_named(name)
    assert row.hooks is not None
    wanted = len(row.hooks.each) - len(row.enforced_by)
    assert sum(data.count(b"--client") for data in contents(world.home).values()) == wanted
    world.undo(name)
    assert contents(world.home) == before


def test_what_is_left_out_is_told_with_the_reason(world: World) -> None:
    def left(name: str, **options: Any) -> list[tuple[str, str]]:
        return [(one.what, one.why) for one in world.plan(name, **options).left_out]

    assert left("claude-code") == []
    only = "A project's configuration gets only the MCP server; `whet connect claude-code` adds hooks for you."
    assert left("claude-code", here=True) == [("hooks", only)]
    none = "Zed has no hooks that Whet can use; skills are offered through the MCP server only."
    assert left("zed") == [("hooks", none)]
    late = "Cursor accepts no context from a prompt hook; skills that fit are offered with the next tool call."
    enforcement = ("enforcement", "Cursor has no hook with which Whet can refuse a tool call.")
    assert left("cursor") == [("skills with your message", late), enforcement]
    world.connect("codex")
    (world.home / ".codex" / "hooks.json").unlink()
    config = str(world.home / ".codex" / "config.toml")
    assert left("codex", hooks=True) == [(config, "It already has what Whet would add.")]


def test_hooks_that_were_not_wanted_stay_away_when_the_entry_is_renewed(world: World) -> None:
    world.connect("codex", hooks=False)
    (world.home / ".codex" / "config.toml").write_text("")
    assert [change.path for change in world.plan("codex").changes] == [str(world.home / ".codex" / "config.toml")]


def test_hooks_go_without_a_record_and_changed_ones_stay_and_are_told(world: World) -> None:
    world.connect("cursor")
    path = world.home / ".cursor" / "hooks.json"
    path.write_text(
        path.read_text().replace(
            'hook stop --client cursor",\n        "timeout": 10', 'hook stop --client cursor",\n        "timeout": 77'
        )
    )
    world.forget()
    plan = world.plan("cursor", hooks=False)
    assert (plan.after.connected, plan.after.hooks) == (True, True)
    assert plan.notes[-1] == (
        f"{path}: hooks.stop stays: it has changed since, or was there before. Remove it by hand."
    )
    apply(plan, world.connections)
    assert {name: len(hooks) for name, hooks in world.read(".cursor/hooks.json")["hooks"].items() if hooks} == {
        "stop": 1
    }


def test_a_file_that_the_client_may_not_read_is_told(world: World) -> None:
    write(
        world.home, {".claude.json": '{"a": 1,}\n', ".claude/settings.json": "{} // mine\n", ".cursor/mcp.json": "{,}"}
    )
    assert world.plan("claude-code").notes == tuple(
        f"{world.home / path} has comments or trailing commas; Claude Code may not read such a file."
        for path in (".claude.json", ".claude/settings.json")
    )
    write(world.home, LIVED_IN["claude-code"])
    assert world.plan("claude-code").notes == ()


@pytest.mark.parametrize("name", [name for name in NAMES if connection_named(name).project])
def test_the_project_gets_the_server_by_name(world: World, name: str) -> None:
    world.connect(name, here=True)
    (path,) = contents(world.home)
    assert path == str(Path("shop", *connection_named(name).project.split("/")))
    text = (world.home / path).read_text()
    assert '"whet"' in text and "/opt" not in text and "hook" not in text
    assert world.plan(name, here=True).is_empty
    world.undo(name, here=True)
    assert contents(world.home) == {}


def test_a_client_without_project_configuration_says_so(world: World) -> None:
    with pytest.raises(UsageError) as caught:
        world.plan("hermes", here=True)
    assert caught.value.code == "no-project-config"


@pytest.mark.parametrize("name", NAMES)
def test_broken_files_are_refused_and_untouched(world: World, name: str) -> None:
    path, text = BROKEN[name]
    before = write(world.home, {path: text})
    plans: tuple[Callable[[], Plan], ...] = (
        lambda: world.plan(name),
        lambda: plan_undo(connection_named(name), world.place, world.connections),
    )
    for plan in plans:
        with pytest.raises(InvalidError) as caught:
            plan()
        assert caught.value.code == "client-config-broken"
        assert str(world.home / path) in caught.value.message
        assert caught.value.hint
    assert contents(world.home) == before and world.kept == []


def test_a_file_that_is_no_utf8_is_refused(world: World) -> None:
    (world.home / ".cursor").mkdir()
    (world.home / ".cursor" / "mcp.json").write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(InvalidError) as caught:
        world.plan("cursor")
    assert caught.value.details["line"] == 2


def test_a_directory_in_the_place_of_a_file_is_refused(world: World) -> None:
    (world.home / ".cursor" / "mcp.json").mkdir(parents=True)
    with pytest.raises(ConflictError) as caught:
        world.plan("cursor")
    assert caught.value.code == "client-config-not-a-file"


@posix
def test_a_read_only_file_is_left_alone(world: World) -> None:
    before = write(world.home, LIVED_IN["codex"])
    (world.home / ".codex" / "hooks.json").chmod(0o444)
    with pytest.raises(FailedError) as caught:
        world.connect("codex")
    assert caught.value.code == "permission-denied"
    assert contents(world.home) == before and world.kept == []


@posix
def test_links_stay_links_and_modes_stay_modes(world: World) -> None:
    dotfiles = world.home / "dotfiles"
    before = write(dotfiles, {"settings.json": LIVED_IN["gemini"][".gemini/settings.json"]})
    (dotfiles / "settings.json").chmod(0o640)
    (world.home / ".gemini").mkdir()
    link = world.home / ".gemini" / "settings.json"
    link.symlink_to(dotfiles / "settings.json")
    world.connect("gemini")
    assert link.is_symlink() and b"--client gemini" in (dotfiles / "settings.json").read_bytes()
    assert stat.S_IMODE((dotfiles / "settings.json").stat().st_mode) == 0o640
    world.undo("gemini")
    assert link.is_symlink() and contents(dotfiles) == before
    assert stat.S_IMODE((dotfiles / "settings.json").stat().st_mode) == 0o640


@posix
def test_what_is_kept_is_for_the_owner_only(world: World) -> None:
    write(world.home, LIVED_IN["claude-code"])
    world.connect("claude-code")
    kept = [*world.backups, Path(world.connections.state.path)]
    assert [stat.S_IMODE(path.stat().st_mode) for path in kept] == [0o600] * 3
    assert stat.S_IMODE(kept[0].parent.stat().st_mode) == 0o700
    world.connect("codex")
    assert stat.S_IMODE((world.home / ".codex" / "config.toml").stat().st_mode) == 0o600


def test_a_file_that_changed_since_it_was_shown_is_not_written(world: World) -> None:
    write(world.home, LIVED_IN["codex"])
    plan = world.plan("codex")
    (world.home / ".codex" / "hooks.json").write_text("{}")
    before = contents(world.home)
    with pytest.raises(ConflictError) as caught:
        apply(plan, world.connections)
    assert caught.value.code == "client-config-changed"
    assert contents(world.home) == before and world.kept == []


def test_a_failed_first_write_leaves_no_record(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = write(world.home, LIVED_IN["codex"])

    def fail(*_: Any, **__: Any) -> None:
        raise FailedError("disk-full", "No space.", hint="Free some.")

    monkeypatch.setattr(applying, "write_bytes", fail)
    with pytest.raises(FailedError):
        world.connect("codex")
    assert contents(world.home) == before and world.kept == []


def test_notes_say_what_stands_in_the_way(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert world.plan("codex").notes == ("Codex does not seem to be installed here.",)
    write(world.home, {".codex/config.toml": "[features]\nhooks = false\n[[hooks.Stop]]\n"})
    assert world.plan("codex").notes == (
        "Its hooks are off: features.hooks is false. They run once you change that.",
        "config.toml has hooks too: Codex runs the hooks of both files and says so at start-up.",
    )
    assert world.plan("codex", hooks=False).notes == ()
    write(world.home, {".cursor/mcp.json": ""})
    left = [one.why for one in world.plan("cursor").left_out]
    assert (world.plan("cursor").notes, left[0]) == ((), *connection_named("cursor").limits)
    passing = Program(("/c/uv/archive-v0/x/bin/whet",))
    assert "may be removed" in world.plan("cursor", passing, hooks=False).notes[0]
    monkeypatch.setenv("PATH", "")
    assert world.plan("cursor", PROGRAM._replace(clone="/src/whet"), hooks=False).notes[0] == (
        "Cursor will run Whet from the clone /src/whet, which fails if you move or delete it. `uv tool install "
        "'/src/whet[mcp,models]'` installs a separate copy; then connect with that `whet`."
    )
    bare = PROGRAM._replace(serves=False)
    assert world.plan("cursor", bare, hooks=False).notes == (
        f"The MCP server needs the extra `mcp`. Install it with `{how_to_install('mcp')}`.",
    )
    elsewhere = world._replace(place=world.place._replace(env={"WHET_HOME": "/state"}))
    shell = "WHET_HOME is set in this shell; start Cursor with the same value."
    assert elsewhere.plan("cursor", hooks=False).notes == (shell,)


def test_the_answer_is_as_it_is_now_until_it_is_applied(world: World) -> None:
    def state(plan: Plan, *, applied: bool) -> tuple[bool, bool]:
        return Connecting(plan, applied).state[:2]

    assert state(world.plan("codex"), applied=False) == (False, False)
    assert state(world.plan("codex"), applied=True) == (True, True)
    world.connect("codex", hooks=False)
    assert state(world.plan("codex", hooks=True), applied=False) == (True, False)
    assert state(world.plan("codex"), applied=False) == (True, False)
    assert state(plan_undo(connection_named("codex"), world.place, world.connections), applied=True) == (False, False)


def test_every_failure_has_a_sentence_and_a_hint(world: World) -> None:
    for name in NAMES:
        path, text = BROKEN[name]
        write(world.home, {path: text})
        with pytest.raises(WhetError) as caught:
            world.plan(name)
        assert caught.value.message.endswith(".") and caught.value.hint.endswith(".")


@pytest.mark.parametrize("name", [client.name for client in CONNECTIONS if client.enforced_by])
def test_enforcement_is_one_hook_more_and_stays_until_it_is_switched_off(world: World, name: str) -> None:
    before = write(world.home, LIVED_IN[name])
    world.connect(name)
    plain = contents(world.home)
    world.connect(name, enforce=True)
    enforced = contents(world.home)
    text = "".join(data.decode() for data in enforced.values())
    assert text.count(f"hook before --client {name}") == 1
    assert "hook before" not in "".join(data.decode() for data in plain.values())
    again = world.plan(name)
    assert again.is_empty and again.after == (True, True, True)
    world.connect(name, enforce=False)
    assert contents(world.home) == plain
    world.connect(name, enforce=True, hooks=None)
    world.connect(name, hooks=False, enforce=False)
    assert "hook" not in world.plan(name).next and world.plan(name).after == (True, False, False)
    world.undo(name)
    assert contents(world.home) == before


def test_a_client_without_such_a_hook_enforces_nothing(world: World) -> None:
    with pytest.raises(UsageError) as caught:
        world.plan("zed", enforce=True)
    assert (caught.value.code, caught.value.hint) == (
        "no-enforcement",
        "These have one: claude-code, codex, copilot, gemini, qwen.",
    )
