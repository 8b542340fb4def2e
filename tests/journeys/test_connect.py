"""A person connects the agents they have, sees what that changes, changes their mind, and finds all as it was."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.append(str(Path(__file__).parent.parent / "interfaces"))

from clients.configurations import BROKEN, LIVED_IN, contents, write

from journeys.machines import WHET
from whet.extras import how_to_install
from whet.interfaces.clients.known import connection_named

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

posix = pytest.mark.skipif(os.name != "posix", reason="terminals and links of POSIX")


def answer(run: CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    """The one document of a run that ended with this code."""
    assert (run.returncode, run.stderr) == (code, ""), run
    document = json.loads(run.stdout)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("client", LIVED_IN)
def test_connected_twice_and_taken_back(
    client: str, home: Path, tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    if client == "vscode" and sys.platform != "linux":
        pytest.skip("its configuration is elsewhere here")
    before = write(home, LIVED_IN[client])

    shown = whet("connect", client)
    assert (shown.returncode, contents(home)) == (0, before)
    assert "the MCP server" in shown.stdout and "@@" not in shown.stdout
    whole = whet("connect", client, "-v")
    hidden = re.sub(r"\[secret:\w+\]", "", whole.stdout)
    assert "whet" in hidden and "@@" in hidden and "secret" not in hidden
    assert shown.stderr.endswith("Nothing was changed.\nhint: --yes makes the change; -v shows it in full.\n")

    done = answer(whet("connect", client, "--yes", "--json"))
    assert {key: done[key] for key in ("success", "client", "applied", "connected", "hooks")} == {
        "success": True,
        "client": client,
        "applied": True,
        "connected": True,
        "hooks": connection_named(client).hooks is not None,
    }
    assert [Path(path).read_bytes() for path in done["backups"]] == [before[path] for path in LIVED_IN[client]]
    assert all(change["action"] in ("create", "change") and change["diff"] for change in done["changes"])
    after = contents(home)
    assert set(before) <= set(after) and all(after[path] != before[path] for path in before)

    again = whet("connect", client)
    assert (again.returncode, again.stdout) == (0, "")
    assert again.stderr.endswith("is already connected.\n")
    assert contents(home) == after

    undone = answer(whet("connect", client, "--undo", "--yes", "--json"))
    assert (undone["applied"], undone["connected"], undone["hooks"]) == (True, False, False)
    assert contents(home) == before
    assert contents(tmp_path / "state" / "connections") == {}
    missing = answer(whet("connect", client, "--undo", "--yes", "--json"), 1)
    assert missing["code"] == "not-connected"


@pytest.mark.parametrize("client", BROKEN)
def test_a_broken_file_is_named_with_its_line_and_left_alone(
    client: str, home: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    if client == "vscode" and sys.platform != "linux":
        pytest.skip("its configuration is elsewhere here")
    path, text = BROKEN[client]
    before = write(home, {path: text})
    failed = answer(whet("connect", client, "--yes", "--json"), 1)
    assert failed["code"] == "client-config-broken"
    assert str(home / path) in failed["error"] and failed["hint"]
    assert contents(home) == before


def test_all_clients_are_listed(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    write(home, LIVED_IN["cursor"])
    assert whet("connect", "cursor", "--yes", "--quiet").returncode == 0
    listed = whet("connect")
    heads, *lines = listed.stdout.splitlines()
    assert heads.split() == ["CLIENT", "FOUND", "HERE", "CONNECTED", "WRITES", "HOOKS", "CONFIGURATION"]
    rows = {row.split()[0]: row.split()[1:5] for row in lines}
    assert rows["cursor"] == ["yes", "yes", "propose", "yes"]
    assert rows["codex"] == ["no", "no", "-", "no"]
    assert rows["opencode"] == ["no", "no", "-", "-"]


def test_a_client_with_a_broken_file_is_told_of_and_not_offered(
    home: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    path, text = BROKEN["codex"]
    write(home, {path: text})
    listed = whet("connect")
    assert listed.returncode == 0
    assert listed.stderr.startswith(str(home / path)) and "hint" not in listed.stderr


def test_what_is_connected_in_a_project_is_listed(work: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (work / ".git").mkdir()
    assert whet("connect", "cursor", "--here", "--writes", "allow", "--yes").returncode == 0
    listed = whet("connect", "--here")
    rows = {row.split()[0]: row.split()[1:] for row in listed.stdout.splitlines()[1:]}
    assert rows["cursor"] == ["no", "yes", "allow", "-", str(work / ".cursor" / "mcp.json")]
    assert rows["codex"] == ["no", "no", "-", "-", str(work / ".codex" / "config.toml")]


def test_other_spellings_of_a_client_are_understood(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert answer(whet("connect", "claude", "--json"))["client"] == "claude-code"
    missing = answer(whet("connect", "claud", "--json"), 1)
    assert (missing["code"], missing["hint"]) == ("unknown-client", "Did you mean claude-code?")
    assert contents(home) == {}


def test_hooks_that_were_turned_off_stay_off(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    assert whet("connect", "codex", "--no-hooks", "--yes").returncode == 0
    before = contents(home)
    again = whet("connect", "codex", "--yes")
    assert contents(home) == before and again.stderr.endswith("`--hooks` adds them.\nCodex is already connected.\n")
    changed = answer(whet("connect", "codex", "--writes", "allow", "--yes", "--json"))
    assert (changed["hooks"], sorted(contents(home))) == (False, sorted(before))
    assert answer(whet("connect", "codex", "--hooks", "--yes", "--json"))["hooks"] is True
    both = answer(whet("connect", "codex", "--hooks", "--no-hooks", "--json"), 2)
    assert both["error"] == "--hooks and --no-hooks exclude each other."


def test_an_entry_that_somebody_changed_keeps_the_client_connected(
    home: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    assert whet("connect", "cursor", "--no-hooks", "--yes").returncode == 0
    path = home / ".cursor" / "mcp.json"
    path.write_text(path.read_text().replace('"stdio",', '"stdio", "env": {},'))
    left = f"{path}: mcpServers.whet stays: it has changed since, or was there before. Remove it by hand."
    for _ in range(2):
        undone = whet("connect", "cursor", "--undo", "--yes")
        assert (undone.returncode, undone.stdout, undone.stderr) == (0, "", f"{left}\nCursor is still connected.\n")
    assert answer(whet("connect", "cursor", "--undo", "--yes", "--json"))["connected"] is True


def test_the_project_file_is_fit_for_git(home: Path, work: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (work / ".git").mkdir()
    assert whet("connect", "claude-code", "--here", "--yes").returncode == 0
    assert json.loads((work / ".mcp.json").read_text()) == {
        "mcpServers": {"whet": {"type": "stdio", "command": "whet", "args": ["mcp"]}}
    }
    assert contents(home) == {}
    assert whet("connect", "claude-code", "--here", "--undo", "--yes").returncode == 0
    assert not (work / ".mcp.json").exists()


def test_what_others_wrote_since_stays(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    write(home, LIVED_IN["claude-code"])
    assert whet("connect", "claude-code", "--yes").returncode == 0
    state = home / ".claude.json"
    state.write_text(state.read_text().replace('"numStartups": 41', '"numStartups": 42'))  # as the client does
    undone = whet("connect", "claude-code", "--undo", "--yes")
    assert undone.returncode == 0
    assert state.read_text() == LIVED_IN["claude-code"][".claude.json"].replace("41", "42")
    assert (home / ".claude" / "settings.json").read_text() == LIVED_IN["claude-code"][".claude/settings.json"]


@posix
def test_what_is_wired_runs_and_answers_the_client(
    home: Path, work: Path, env: dict[str, str], whet: Callable[..., CompletedProcess[str]]
) -> None:
    assert whet("gallery", "add", "commit-messages", "--yes").returncode == 0
    assert whet("connect", "codex", "--yes").returncode == 0
    hooks = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]
    for name, groups in hooks.items():
        command = groups[0]["hooks"][0]["command"]
        payload = {"session_id": "s", "hook_event_name": name, "cwd": str(work), "prompt": "write a commit message"}
        run = subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(payload), env=env, capture_output=True, encoding="utf-8"
        )
        assert (run.returncode, run.stderr) == (0, ""), name
        spoken = json.loads(run.stdout)["hookSpecificOutput"]["hookEventName"] if run.stdout else ""
        assert spoken == ("UserPromptSubmit" if name == "UserPromptSubmit" else "")


def at_a_terminal(typed: bytes, env: dict[str, str], work: Path, *words: str) -> tuple[int, str]:
    """Run it at a terminal where a person types this; the exit code and what is to be seen."""
    import pty

    leader, follower = pty.openpty()
    command = [*WHET, *words]
    shown = {**env, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "100"}
    with subprocess.Popen(command, env=shown, cwd=work, stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        os.write(leader, typed)
        seen = b""
        try:
            while piece := os.read(leader, 65536):
                seen += piece
        except OSError:  # the other side is closed
            pass
        finally:
            os.close(leader)
        return process.wait(), seen.decode().replace("\r\n", "\n")


@posix
def test_at_a_terminal_the_change_is_shown_once_and_asked_about(home: Path, work: Path, env: dict[str, str]) -> None:
    before = write(home, LIVED_IN["opencode"])
    code, seen = at_a_terminal(b"n\n", env, work, "connect", "opencode")
    assert (code, contents(home)) == (3, before)
    asked = "Connect OpenCode? [Y/n, d shows the difference] "
    assert "@@" not in seen and seen.endswith(f"{asked}Nothing was changed.\n")
    code, seen = at_a_terminal(b"d\nn\n", env, work, "connect", "opencode")
    assert (code, contents(home), seen.count("@@"), seen.count(asked)) == (3, before, 2, 2)
    code, seen = at_a_terminal(b"\n", env, work, "connect", "opencode")
    assert code == 0 and contents(home) != before
    assert "@@" not in seen and "OpenCode is connected." in seen
    assert seen.endswith("hint: `whet disconnect opencode` undoes it.\n")
    code, seen = at_a_terminal(b"y\n", env, work, "connect", "opencode", "--undo")
    assert code == 0 and contents(home) == before
    assert "Disconnect OpenCode? [Y/n, d shows the difference] " in seen and "OpenCode is no longer connected." in seen


@posix
def test_nothing_is_connected_to_a_server_that_cannot_start(
    home: Path, tmp_path: Path, work: Path, env: dict[str, str]
) -> None:
    before = write(home, LIVED_IN["opencode"])
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n", encoding="utf-8")
    lacking = {**env, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [*WHET, "connect", "opencode", "--yes", "--json"], env=lacking, cwd=work, capture_output=True, encoding="utf-8"
    )
    assert answer(run, 2) == {
        "success": False,
        "error": "Nothing was connected: OpenCode could not start the MCP server.",
        "code": "extra-missing",
        "hint": f"Install it with `{how_to_install('mcp')}`.",
    }
    code, seen = at_a_terminal(b"n\n", lacking, work, "connect", "opencode")
    assert (code, contents(home)) == (2, before)
    assert f"Install it with `{how_to_install('mcp')}`? [Y/n] error: Nothing was connected" in " ".join(seen.split())


@posix
def test_dotfiles_that_are_links_stay_links(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    before = write(home / "dotfiles", {"config.toml": LIVED_IN["codex"][".codex/config.toml"]})
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").symlink_to(Path("..", "dotfiles", "config.toml"))
    assert whet("connect", "codex", "--yes").returncode == 0
    assert (home / ".codex" / "config.toml").is_symlink()
    assert "[mcp_servers.whet]" in (home / "dotfiles" / "config.toml").read_text()
    assert whet("connect", "codex", "--undo", "--yes").returncode == 0
    assert (home / ".codex" / "config.toml").is_symlink()
    assert contents(home / "dotfiles") == before


def test_what_hooks_do_and_how_the_client_finds_your_skills_is_said(
    home: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    (home / ".claude").mkdir()
    linking = "Claude Code does not look in ~/.agents/skills; `whet sync` links your skills"
    assert linking not in whet("connect", "claude-code", "--yes").stderr  # there are none yet
    whet("connect", "claude-code", "--undo", "--yes")
    whet("new", "notes", "--description", "Write notes. Use when asked for notes.", "--body", "Write.")
    done = whet("connect", "claude-code", "--yes")
    assert "The hooks suggest skills that fit each message" in done.stdout and linking in done.stderr
    without = whet("connect", "claude-code", "--no-hooks", "--yes")
    assert "The hooks offer" not in without.stdout
    whet("sync")
    left = whet("disconnect", "claude-code", "--yes").stderr
    assert "The link that `whet sync` made for Claude Code stays; `whet sync claude-code --undo` removes it." in left
    assert whet("disconnect").stderr.startswith("error: No client is connected.\n")


def test_several_clients_are_connected_at_once_or_none(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    before = write(home, LIVED_IN["codex"])
    done = answer(whet("connect", "codex", "cursor", "Codex", "--yes", "--json"))["connections"]
    assert [(one["client"], one["applied"], one["connected"]) for one in done] == [
        ("codex", True, True),
        ("cursor", True, True),
    ]
    after = contents(home)
    refused = answer(whet("disconnect", "codex", "gemini", "--yes", "--json"), 1)
    assert (refused["code"], refused["error"]) == ("not-connected", "Gemini CLI is not connected here.")
    assert contents(home) == after
    shown = whet("disconnect", "codex", "cursor").stderr
    assert shown == "Nothing was changed.\nhint: --yes makes the change; -v shows it in full.\n"
    undone = whet("disconnect", "codex", "cursor", "--yes").stderr
    assert undone.splitlines()[:2] == ["Codex is no longer connected.", "Cursor is no longer connected."]
    assert contents(home) == before


def test_no_input_and_dry_run_only_show(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    for words in (["--no-input"], ["--dry-run"], ["--dry-run", "--yes"], ["--json"]):
        assert whet("connect", "gemini", *words).returncode == 0
        assert contents(home) == {}
    shown = answer(whet("connect", "gemini", "--json"))
    assert (shown["applied"], shown["connected"], shown["hooks"], shown["backups"]) == (False, False, False, [])
    assert shown["notes"][0] == "Gemini CLI does not seem to be installed here."
    assert shown["next"] == "Start Gemini CLI again; `/mcp` shows whet."
