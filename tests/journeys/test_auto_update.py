"""Updates that nobody asks for: only harmless ones, noted for the next session, and reversed in one step."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sources.repositories import Repository, wait_until

from journeys.machines import WHET, Machine, main
from journeys.payloads import as_bytes, context, payload

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
OLD, NEW = "Do it.\n", "Do it twice.\n"
TOOLS = "allowed-tools: Bash(git log:*)\n"
PORTS = "Run this:\n\n```bash\nsudo ufw disable\n```\n"


def skill(name: str, body: str, version: str, more: str = "") -> str:
    return main(name, body=body, more=f'{more}metadata:\n  version: "{version}"\n')


class Shop:
    """Four skills in one version; `move` makes a second one, of which one is harmless."""

    names = ("edited", "plain", "ports", "tools")

    def __init__(self, top: Path) -> None:
        self.repository = Repository.new(top / "skills")
        self.repository.commit({f"{name}/SKILL.md": skill(name, OLD, "1.0") for name in self.names})
        self.machine = Machine(top / "machine")
        assert self.machine.ask("install", self.repository.url, "--all")["installed"] == [*self.names]
        self.machine.edit("edited", "Does one thing.", "Does one thing of mine.")

    def move(self) -> None:
        files = {f"{name}/SKILL.md": skill(name, NEW, "1.1") for name in self.names}
        files["ports/SKILL.md"] = skill("ports", PORTS, "1.1")
        files["tools/SKILL.md"] = skill("tools", NEW, "1.1", TOOLS)
        self.repository.commit(files)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


LEFT = [
    {"name": "edited", "reason": "You edited it."},
    {
        "name": "ports",
        "reason": "Community skills with a warning are blocked: a protection of the machine is turned off "
        "(SKILL.md, line 11).",
    },
    {"name": "tools", "reason": "It can do more than before: asks for the tool Bash(git log:*)."},
]


def test_only_what_is_harmless_is_updated_and_one_step_reverses_it(shop: Shop) -> None:
    machine = shop.machine
    nothing = {"success": True, "updated": [], "left": [], "run": ""}
    shop.move()
    assert machine.ask("update", "--auto") == {**nothing, "mode": "off"}
    machine.settings('auto_update = "safe"\n')
    done = machine.ask("update", "--auto")
    run = done["run"]
    plain = {"name": "plain", "before": "1.0", "after": "1.1"}
    assert done == {"success": True, "mode": "safe", "updated": [plain], "left": LEFT, "run": run}
    assert NEW in machine.text("plain")
    assert all(OLD in machine.text(name) for name in ("edited", "ports", "tools"))
    assert machine.ask("update", "--auto") == {**nothing, "mode": "safe", "left": LEFT}
    log = machine.ask("guard", "log", "plain")["records"]
    assert (log[-1]["actor"], log[-1]["action"]) == ("auto-update", "update")

    assert machine.ask("undo", run)["success"]
    assert (OLD in machine.text("plain"), machine.locked()["skills/plain"]["version"]) == (True, "1.0")
    for words in (("plain",), ("--here",), ("--dry-run",), ("--check",), ("--prefer", "ours")):
        assert machine.ask("update", "--auto", *words, code=2)["code"] == "usage"


def test_notify_changes_nothing(shop: Shop) -> None:
    machine = shop.machine
    shop.move()
    machine.settings('auto_update = "notify"\n')
    left = [{"name": name, "reason": "It is outdated."} for name in shop.names]
    expected = {"success": True, "mode": "notify", "updated": [], "left": left, "run": ""}
    assert machine.ask("update", "--auto") == expected
    assert all(OLD in machine.text(name) for name in shop.names)


def start(machine: Machine, session: str) -> str:
    """What a client is told when a session begins."""
    sent = as_bytes(payload("claude-code", "start", session_id=session, cwd=str(machine.work)))
    command = [*WHET, "hook", "start", "--client", "claude-code"]
    done = subprocess.run(command, input=sent, env=machine.env, cwd=machine.work, capture_output=True, check=True)
    assert done.stderr == b""
    return context(done.stdout) if done.stdout else ""


def kept_news(machine: Machine) -> bool:
    """Has the background process noted what it did?"""
    with closing(sqlite3.connect(machine.state / "state.db")) as database:
        return bool(database.execute("SELECT 1 FROM updates WHERE news <> ''").fetchall())


@pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")
def test_a_session_that_begins_has_it_done_in_the_background_and_the_next_is_told(shop: Shop) -> None:
    machine = shop.machine
    shop.move()
    assert start(machine, "one") == ""
    machine.settings('auto_update = "safe"\n')
    assert start(machine, "two") == ""
    wait_until(lambda: NEW in machine.text("plain"))
    wait_until(lambda: json.loads(machine.lock.read_text())["skills"]["skills/plain"]["version"] == "1.1")
    wait_until(lambda: kept_news(machine))
    first, second = start(machine, "three").splitlines()
    assert first.startswith("Whet updated skills automatically (plain 1.0 to 1.1); `whet undo u")
    assert second == "Updates wait for you (edited, ports, tools): `whet update --dry-run` shows them."
    assert start(machine, "four") == ""
