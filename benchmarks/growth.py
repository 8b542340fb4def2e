"""What do the main commands cost as a library grows? CPU seconds and peak memory of whole processes; for speed.py.

Every command runs in a process of its own, in a home with so many small skills. CPU seconds are those of the process
and its children: they vary less than the time on the clock when a machine is busy.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from contest import ContenderError
from trees import make_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SETTLING = 3.0
"""Seconds between writing the trees and measuring: a file touched a moment ago is not believed yet."""
_MESSAGE = "backport the login fix to the release branch"
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
_TALK = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
GOALS = {"list, again": (2.0, 200.0), "prompt index": (2.0, 200.0), "doctor": (8.0, None), "find, again": (None, 300.0)}
"""CPU seconds and MB that a command may take at the goal's size."""
_GOAL_SIZE = 100_000
TITLE = "Very large libraries"


class Cost(NamedTuple):
    """What one run of a command took."""

    command: str
    cpu: float
    """Seconds."""
    memory: float
    """MB, at the most."""


def measure(whet: Sequence[str], size: int) -> list[Cost]:
    """What the commands take with so many skills."""
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="whet-growth-", dir=shared) as directory:
        home, state = (os.path.join(directory, name) for name in ("home", "state"))
        tree = make_tree(os.path.join(home, ".agents", "skills"), size, small=True)
        os.mkdir(state)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WHET_"))}
        env = {**kept, "HOME": home, "WHET_HOME": state}
        time.sleep(_SETTLING)
        commands = {
            "list, first": ["list"],
            "list, again": ["list"],
            "show": ["show", tree.names[0]],
            "prompt index": ["prompt", "index"],
            "doctor": ["doctor"],
            "find, first": ["find", _MESSAGE],
            "find, again": ["find", _MESSAGE],
            "mcp, to the list of tools": ["mcp"],
        }
        return [Cost(name, *_run([*whet, *words], env)) for name, words in commands.items()]


def _run(command: list[str], env: Mapping[str, str]) -> tuple[float, float]:
    talks, pipe = command[-1] == "mcp", subprocess.PIPE
    process = subprocess.Popen(command, env=env, cwd=env["HOME"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    assert process.stdin and process.stdout
    for message in _TALK if talks else ():
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        if "id" in message:
            process.stdout.readline()
    process.stdin.close()
    process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ContenderError(f"{' '.join(command)}: exit status {process.returncode}")
    return round(used.ru_utime + used.ru_stime, 2), round(used.ru_maxrss / 1024, 1)


def section(costs: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The costs by size, as a section of a page."""
    sizes = sorted(costs, key=int)
    head = " | ".join(f"{int(size):,} skills" for size in sizes)
    rows = []
    for at, first in enumerate(costs[sizes[0]]):
        cells = [f"{costs[size][at]['cpu']:,.2f} s, {costs[size][at]['memory']:,.0f} MB" for size in sizes]
        rows.append(f"| {first['command']} | {' | '.join(cells)} |\n")
    lines = []
    for cost in costs.get(str(_GOAL_SIZE), ()):
        cpu, memory = GOALS.get(cost["command"], (None, None))
        if cpu is not None:
            lines.append(f"`{cost['command']}` at most {cpu:g} CPU s: {'met' if cost['cpu'] <= cpu else 'missed'}.")
        if memory is not None:
            lines.append(f"`{cost['command']}` below {memory:g} MB: {'met' if cost['memory'] < memory else 'missed'}.")
    goals = f"\nGoals at {_GOAL_SIZE:,} skills: {' '.join(lines)}\n" if lines else ""
    return (
        f"\n## {TITLE}\n\nCPU seconds and peak memory of whole processes, with small skills (a description of 60 to 300"
        f" characters, a body of 200 to\n1,500, three of ten with supporting files). The first `find` makes the index."
        '\n\n<img src="speed-growth.svg" width="860" alt="CPU seconds of each command by the number of skills.'
        ' The table below has the numbers.">'
        f"\n\n| command | {head} |\n|---|{'---:|' * len(sizes)}\n{''.join(rows)}{goals}"
    )
