"""MCP servers as tools of a run: only those that are granted, under the same rules as everything else."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from runtime.worlds import World, play, replies
from whet.errors import FailedError, InvalidError, RefusedError
from whet.guard.sandbox.levels import levels
from whet.runtime.servers import read_servers

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("mcp")
pytestmark = pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")
WIKI = """
import os, sys
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
open(sys.argv[1], "a").write("started\\n")
server = MCPServer("wiki")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def search(query: str) -> str:
    "Search the wiki."
    return f"{os.environ['GREETING']} {query}"

@server.tool()
def publish(text: str) -> str:
    "Publish a page."
    open(sys.argv[1], "a").write(f"published {text}\\n")
    return "published"

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def breaks() -> str:
    "Fail."
    raise ValueError("no page")

server.run("stdio")
"""


def _world(top: Path, *, file: str = "servers.json") -> World:
    world = World(top)
    (top / "wiki.py").write_text(WIKI)
    entry = {
        "command": sys.executable,
        "args": [str(top / "wiki.py"), str(top / "log")],
        "env": {"GREETING": "${GREET}"},
    }
    servers = {"wiki": entry, "idle": {**entry, "args": [str(top / "wiki.py"), str(top / "idle")]}}
    (world.home / file).write_text(json.dumps({"mcpServers": servers}))
    (world.state / "config.toml").write_text(f'mcp_servers = ["~/{file}"]\n')
    world.env["GREET"] = "found"
    return world


def test_a_granted_server_answers_and_what_acts_needs_approval(tmp_path: Path) -> None:
    world = _world(tmp_path)
    world.skill("mcp__wiki__search mcp__wiki__publish mcp__wiki__br*")
    calls = [
        ("mcp__wiki__search", {"query": "x"}),
        ("mcp__idle__search", {"query": "x"}),
        ("mcp__wiki__breaks", {}),
        ("mcp__wiki__publish", {"text": "y"}),
    ]
    model = play(calls, "Done.")
    with world.library() as library:
        stopped = library.run("worker", model=model)
        offered = [tool.name for tool in model.requests[0].tools]
        assert offered == ["Read", "mcp__wiki__search", "mcp__wiki__publish", "mcp__wiki__breaks"]
        assert (stopped.run.status, (tmp_path / "log").read_text()) == ("waiting", "started\n")
        waits = [(one.tool, one.reason, one.answer) for one in stopped.report.approvals]
        assert waits == [("mcp__wiki__publish", "The MCP server wiki acts outside the sandbox.", "waiting")]
        assert stopped.report.sandbox.gaps[-1] == "The MCP server wiki runs outside the sandbox, with your rights."
        done = library.runs.resume(stopped.run.id, approve=[1], model=model)
    said = replies(model)
    assert (said[0], said[3]) == ("found x", "published")
    assert said[1].startswith("Denied: There is no tool mcp__idle__search.") and "breaks" in said[2]
    assert (tmp_path / "log").read_text().splitlines() == ["started", "started", "published y"]
    assert not (tmp_path / "idle").exists()  # what is not granted is not started
    assert [(one.tool, one.failed) for one in done.report.servers] == [
        *(("mcp__wiki__search", False), ("mcp__wiki__breaks", True), ("mcp__wiki__publish", False))
    ]
    assert json.loads(json.dumps(done.to_json()))["report"]["servers"][0]["given"] == {"query": "x"}


@pytest.mark.deep
def test_a_run_does_not_start_without_its_servers(tmp_path: Path) -> None:
    world = _world(tmp_path)
    world.skill("mcp__wiki mcp__other__tool")
    world.skill("mcp__broken", name="broken")
    content = json.loads((world.home / "servers.json").read_text())
    content["mcpServers"]["broken"] = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}
    (world.home / "servers.json").write_text(json.dumps(content))
    model = play("Done.")
    with world.library() as library:
        with pytest.raises(RefusedError) as missing:
            library.run("worker", model=model)
        assert missing.value.details == {"tools": ["mcp__other__tool"]}
        with pytest.raises(FailedError) as failed:
            library.run("broken", model=model)
        assert (failed.value.code, library.runs.list().runs) == ("mcp-server-failed", ())
        assert [*(world.state / "runs").iterdir()] == []
        assert library.run("worker", model=model, without=["mcp__other"]).run.status == "done"
        assert library.run("broken", model=model, without=["mcp__broken"]).run.status == "done"


def test_the_files_of_clients_are_read(tmp_path: Path) -> None:
    files = {
        "a.json": '{"mcpServers": {"one": {"command": "x", "args": ["${A:-b}", 1]}, '
        '"off": {"command": "x", "disabled": true}}}',
        "b.json": '{"servers": {"one": {"command": "other"}, "two": {"type": "http", "url": "https://h.example/mcp", '
        '"headers": {"Authorization": "Bearer ${TOKEN}"}}, "odd": {"kind": "x"}}}',
        "c.toml": '[mcp_servers.three]\ncommand = "y"\nenv = { K = "v" }\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = read_servers([str(tmp_path / name) for name in files], {"TOKEN": "t"})
    assert [(one.name, one.command, one.arguments, one.url) for one in found.values()] == [
        ("one", "x", ("b", "1"), ""),
        ("two", "", (), "https://h.example/mcp"),
        ("three", "y", (), ""),
    ]
    assert (found["two"].headers, found["three"].env) == ({"Authorization": "Bearer t"}, {"K": "v"})
    for text in ("[]", "{", '{"other": {}}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InvalidError, match=r"bad\.json"):
            read_servers([str(tmp_path / "bad.json")], {})
