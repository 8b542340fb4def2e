"""A change is killed halfway; hooks and servers, as the processes that clients start, show it as old or as new."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from journeys.machines import WHET, Machine, main
from journeys.payloads import as_bytes, context, payload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

KILLED = """
import os, signal, sys
from whet.authoring.writer import Writer
from whet.interfaces.cli import main
from whet.store.atomic import Swap
left = int(sys.argv[1])

def counted(real):
    def call(*args):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)
    return call

Swap.apply, Writer._settle = counted(Swap.apply), counted(Writer._settle)
main(sys.argv[2:])
"""
"""Runs a command that is killed before the step of that number that others can see; the last is the entry."""
BACKPORT = "Backports a fix to a release branch. Use when asked to backport."
CHARTS = "Draws charts from a CSV file. Use when asked for a plot."
CHANGES: dict[str, tuple[tuple[str, ...], str, set[str]]] = {
    "rename": (("rename", "backport", "porting"), "please backport this fix to the release branch", {"porting"}),
    "install": (
        ("install", "{source}", "--all", "--yes"),
        "draw charts from this csv file",
        {"backport", "charts", "tables", "lists"},
    ),
}
"""The command, a prompt that a skill which it changes is for, and the skills that are there afterwards."""
OLD = {"backport"}
STEPS = [("rename", 1), ("rename", 2), ("install", 1), ("install", 2), ("install", 3)]
QUICK = {("rename", 1, "hook"), ("install", 2, "server")}
DEEP = [(*step, first) for step in STEPS for first in ("hook", "server", "late server")]
LAST = {"rename": 2, "install": 3}


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose state has a short path, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="whet-", dir="/tmp" if os.path.isdir("/tmp") else None) as directory:
        made = Machine(Path(directory) / "m")
        made.ask("create", "backport", "--description", BACKPORT, "--body", "Do it.\n")
        yield made


def kill(machine: Machine, change: str, step: int) -> None:
    """Begin a change that is killed at that step."""
    source = machine.work / "source"
    for name in ("charts", "tables", "lists"):
        (source / name).mkdir(parents=True)
        text = main(name, CHARTS if name == "charts" else f"Makes {name}. Use it for {name}.", "Do it.\n")
        (source / name / "SKILL.md").write_text(text, encoding="utf-8")
    words = [word.format(source=source) for word in CHANGES[change][0]]
    command = [sys.executable, "-c", KILLED, str(step), *words]
    done = subprocess.run(command, env=machine.env, cwd=machine.work, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def prompted(machine: Machine, text: str) -> str:
    """The skill that a hook names for a prompt; "" for none."""
    sent = as_bytes(payload("claude-code", "prompt", prompt=text, cwd=str(machine.work)))
    command = [*WHET, "hook", "prompt", "--client", "claude-code"]
    done = subprocess.run(command, input=sent, env=machine.env, cwd=machine.work, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    told = context(done.stdout)
    name = told.removeprefix("The skill ").partition(" is for this request.")[0] if told else ""
    assert not name or str(machine.root / name) in told
    return name


@contextmanager
def server(machine: Machine) -> Iterator[Callable[[], set[str]]]:
    """A server as a process of one client; what it lists whenever it is asked."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*WHET, "mcp"], env=machine.env, cwd=machine.work, text=True, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        number = 0

        def ask(method: str, **params: Any) -> dict[str, Any]:
            nonlocal number
            number += 1
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            print(json.dumps(request), file=process.stdin, flush=True)
            for line in process.stdout or ():
                if (answer := json.loads(line)).get("id") == number:
                    found: dict[str, Any] = answer["result"]
                    return found
            raise AssertionError("the server is gone")

        def listed() -> set[str]:
            answer = ask("tools/call", name="skills_list", arguments={})
            return {skill["name"] for skill in answer["structuredContent"]["skills"]}

        ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), file=process.stdin, flush=True)
        yield listed
        process.stdin.close()


@pytest.mark.parametrize(
    ("change", "step", "first"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.deep) for case in DEEP],
)
def test_whoever_comes_after_a_kill_shows_all_of_a_change_or_nothing(
    machine: Machine, change: str, step: int, first: str
) -> None:
    """The hook alone; a server that was there before the kill, and its hook; a server that comes afterwards."""
    _, text, new = CHANGES[change]
    wanted = new if step == LAST[change] else OLD
    if first == "server":
        with server(machine) as listed:
            assert listed() == OLD
            kill(machine, change, step)
            named, seen = prompted(machine, text), listed()
    else:
        kill(machine, change, step)
        named = prompted(machine, text) if first == "hook" else ""
        with server(machine) as listed:
            seen = listed()
            named = named or prompted(machine, text)
    assert seen == wanted == {name for name in machine.names() if name[0] != "."}
    fits = ({"charts"} if change == "install" else {"porting", "backport"}) & wanted
    if named or not fits:
        assert {named} - {""} == fits
    else:  # a client is not kept waiting on a machine that is busy
        assert "too-slow" in machine.run("doctor", "--json").stdout
    assert machine.ask("verify-history")["problems"] == []
