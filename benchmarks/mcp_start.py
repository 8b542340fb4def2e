"""How long does a client wait for `whet mcp`? From starting the process to its tools, and to the first list of skills.

    python benchmarks/mcp_start.py [--sizes 10,1000,10000] [--rounds 7] [--peer-python PATH] [--json]

For each size a tree of skills is generated and looked at once, as it is on a machine in use. Measured in turns, each in
a process of its own that is spoken to line by line on its standard streams (`initialize`, `notifications/initialized`,
then the first list): a loop in Python that answers with fixed JSON; a server of the official SDK whose one tool does
nothing; `whet mcp`, and the skills provider of FastMCP, which has resources instead of tools, where the Python of
`--peer-python` has it. All are medians; `load` is that of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from trees import make_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

_SETTLING = 3.0
"""Seconds between writing the trees and measuring: a file touched a moment ago is not believed yet."""
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
_TOOL = ("tools/call", {"name": "skills_list", "arguments": {}})
_RESOURCES: tuple[str, dict[str, Any]] = ("resources/list", {})
_ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
"""
_SDK = """
import anyio, mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
async def call(ctx, params):
    return types.CallToolResult(content=[])
async def tools(ctx, params):
    return types.ListToolsResult(tools=[])
async def run():
    server = Server("empty")
    server.add_request_handler("tools/list", types.PaginatedRequestParams, tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
anyio.run(run)
"""
_FASTMCP = """
import sys
from pathlib import Path
from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
FastMCP("skills", providers=[SkillsDirectoryProvider(roots=[Path(sys.argv[1])])]).run(show_banner=False)
"""


class World:
    """A machine with so many skills."""

    def __init__(self, top: str, size: int) -> None:
        home, state, self.work = (os.path.join(top, name) for name in ("home", "state", "work"))
        self.root = os.path.join(home, ".agents", "skills")
        make_tree(self.root, size, flat=True)
        os.makedirs(self.work)
        os.makedirs(state)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WHET_"))}
        self.env = {**kept, "HOME": home, "WHET_HOME": state}

    def wait(self, command: Sequence[str], first: tuple[str, dict[str, Any]]) -> tuple[float, float]:
        """Seconds from the start of a server to its tools, and to its first answer."""
        began = time.perf_counter()
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, env=self.env, cwd=self.work, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        ) as server:
            _ask(server, 1, "initialize", _HELLO)
            _send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            _ask(server, 2, "tools/list", {})
            listed = time.perf_counter() - began
            _ask(server, 3, *first)
            answered = time.perf_counter() - began
            server.kill()
        return listed, answered


def start_bare() -> float:
    """Seconds that a Python takes that does nothing."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def _send(server: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert server.stdin
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def _ask(server: subprocess.Popen[str], number: int, method: str, params: dict[str, Any]) -> None:
    assert server.stdout
    _send(server, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    while (answer := json.loads(server.stdout.readline())).get("id") != number:
        pass
    if "result" not in answer or answer["result"].get("isError"):
        raise RuntimeError(f"{method}: {answer}")


def measure(size: int, rounds: int, peer_python: str) -> dict[str, Any]:
    """The medians of everybody at one size, in milliseconds."""
    with tempfile.TemporaryDirectory() as top:
        world = World(top, size)
        contenders: dict[str, tuple[list[str], tuple[str, dict[str, Any]]]] = {
            "echo": ([sys.executable, "-c", _ECHO], _TOOL),
            "sdk": ([sys.executable, "-c", _SDK], _TOOL),
            "whet": ([sys.executable, "-P", "-m", "whet", "mcp"], _TOOL),
        }
        if peer_python and not subprocess.run([peer_python, "-c", "import fastmcp"], capture_output=True).returncode:
            contenders["fastmcp"] = ([peer_python, "-c", _FASTMCP, world.root], _RESOURCES)
        time.sleep(_SETTLING)
        for command, first in contenders.values():  # what is compiled and remembered once
            world.wait(command, first)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        bare = []
        for _ in range(rounds):
            bare.append(start_bare())
            for name, (command, first) in contenders.items():
                times[name].append(world.wait(command, first))
    told: dict[str, Any] = {"skills": size}
    for name, runs in times.items():
        listed, answered = (statistics.median(column) * 1e3 for column in zip(*runs, strict=True))
        told[name] = {"tools_ms": round(listed, 1), "first_list_ms": round(answered, 1)}
        told[name]["times_bare"] = round(listed / (statistics.median(bare) * 1e3), 2)
    for name in times:
        told[name]["times_echo"] = round(told[name]["first_list_ms"] / told["echo"]["first_list_ms"], 2)
        told[name]["times_sdk"] = round(told[name]["first_list_ms"] / told["sdk"]["first_list_ms"], 2)
    return told


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10,1000,10000")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peer-python", default="", help="A Python with fastmcp; left out where it has none.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    found = [measure(int(size), options.rounds, options.peer_python) for size in options.sizes.split(",")]
    if options.json:
        print(json.dumps({"load": load, "results": found}))
        return 0
    print(f"load {load}, medians of {options.rounds} rounds, milliseconds from the start of the process")
    print(f"{'skills':>7}  {'server':8} {'tools':>10} {'x bare':>7} {'first list':>11} {'x echo':>7} {'x sdk':>6}")
    for row in found:
        for name, told in row.items():
            if name != "skills":
                print(
                    f"{row['skills']:>7}  {name:8} {told['tools_ms']:>10} {told['times_bare']:>7}"
                    f" {told['first_list_ms']:>11} {told['times_echo']:>7} {told['times_sdk']:>6}"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
