"""How much memory and time does it take to read a session of records that is far too long?

    python benchmarks/transcripts.py [--size 200] [--clients claude-code,codex] [--json]

For each client a session of `size` megabytes is generated: turns of a question, a call and its output, of which every
hundredth is long, with a secret now and then. Each is read in a process of its own. `grown` is what that process needed
beside one that reads a session of a single turn; `events` are those that were kept, the first and the last.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MEGABYTE = 1_000_000
_READ = """
import json, resource, sys, time
from whet.learning.transcripts.reader import read_transcript
began = time.perf_counter()
read = read_transcript(sys.argv[1])
seconds = time.perf_counter() - began
unit = 1 if sys.platform == "darwin" else 1024
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
print(json.dumps([peak, seconds, len(read.events), [f"{entry.code}: {entry.message}" for entry in read.report]]))
"""
_SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG6hJ8"
_HEADS = ("client", "MB", "peak MB", "grown MB", "seconds", "MB/s", "events")


class Turn:
    """A question, a call and what came back."""

    def __init__(self, number: int) -> None:
        self.id = f"toolu_{number:024d}"
        self.asked = f"Step {number}: look at part {number} of the log and tell what is wrong with it."
        self.command = f"grep -n 'part {number}' /var/log/app-{number}.log" + f" # {_SECRET}" * (number % 50 == 0)
        line = f"{number} the quick brown fox jumps over the lazy dog, request {number * 7919} took {number % 977} ms\n"
        self.output = line * (5_000 if number % 100 == 99 else 20)


def claude_code(turn: Turn) -> Iterator[str]:
    use = {"type": "tool_use", "id": turn.id, "name": "Bash", "input": {"command": turn.command}}
    result = {"type": "tool_result", "tool_use_id": turn.id, "content": turn.output}
    for part, (role, content) in enumerate((("user", turn.asked), ("assistant", [use]), ("user", [result]))):
        row = {"parentUuid": None, "isSidechain": False, "sessionId": "s", "cwd": "/srv", "type": role,
               "message": {"role": role, "content": content}, "uuid": f"{turn.id}-{part}"}  # fmt: skip
        yield json.dumps(row) + "\n"


def codex(turn: Turn) -> Iterator[str]:
    arguments = json.dumps({"command": ["bash", "-lc", turn.command]})
    output = json.dumps({"output": turn.output, "metadata": {"exit_code": 0}})
    for payload in (
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": turn.asked}]},
        {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": turn.id},
        {"type": "function_call_output", "call_id": turn.id, "output": output},
    ):
        yield json.dumps({"timestamp": "2026-03-01T10:00:00Z", "type": "response_item", "payload": payload}) + "\n"


def messages(turn: Turn) -> list[dict[str, Any]]:
    function = {"name": "bash", "arguments": json.dumps({"command": turn.command})}
    return [
        {"role": "user", "content": turn.asked},
        {"role": "assistant", "content": None, "tool_calls": [{"id": turn.id, "function": function}]},
        {"role": "tool", "tool_call_id": turn.id, "content": turn.output},
    ]


def openai(turn: Turn) -> Iterator[str]:
    return (json.dumps(message) + "\n" for message in messages(turn))


def anthropic(turn: Turn) -> Iterator[str]:
    use = {"type": "tool_use", "id": turn.id, "name": "bash", "input": {"command": turn.command}}
    result = {"type": "tool_result", "tool_use_id": turn.id, "content": turn.output}
    for role, content in (("user", turn.asked), ("assistant", [use]), ("user", [result])):
        yield json.dumps({"role": role, "content": content}) + "\n"


def recorded(turn: Turn) -> Iterator[str]:
    for event in (
        {"kind": "user", "text": turn.asked},
        {"kind": "call", "tool": "Bash", "id": turn.id, "given": {"command": turn.command}},
        {"kind": "result", "tool": "Bash", "id": turn.id, "text": turn.output},
    ):
        yield json.dumps(event) + "\n"


CLIENTS: dict[str, tuple[str, Callable[[Turn], Iterable[str]], str]] = {
    "claude-code": ("", claude_code, ""),
    "codex": ('{"type": "session_meta", "payload": {"id": "c", "cwd": "/srv"}}\n', codex, ""),
    "openai": ("", openai, ""),
    "anthropic": ("", anthropic, ""),
    "whet": ('{"whet-transcript": 1, "client": "whet", "session": "w", "project": "/srv"}\n', recorded, ""),
}
"""For each format: how its file begins, what a turn is in it, how it ends."""


def write(path: str, client: str, size: float) -> int:
    """A session of at least so many bytes; gives how many it has."""
    first, turn, last = CLIENTS[client]
    with open(path, "w", encoding="utf-8") as file:
        file.write(first)
        number = 0
        while number == 0 or file.tell() < size:
            for _ in range(100 if size else 1):
                file.writelines(turn(Turn(number)))
                number += 1
        file.write(last)
    return os.path.getsize(path)


def read(path: str) -> tuple[int, float, int, list[str]]:
    """The peak of memory, the seconds, the events and the report of a process that reads the file."""
    done = subprocess.run([sys.executable, "-c", _READ, path], stdout=subprocess.PIPE, check=True, text=True)
    peak, seconds, events, report = json.loads(done.stdout)
    return peak, seconds, events, report


def measure(client: str, size: float) -> dict[str, Any]:
    """What it takes to read a session of one client."""
    with tempfile.TemporaryDirectory() as top:
        path = os.path.join(top, "session.jsonl")
        write(path, client, 0)
        bare = read(path)[0]
        whole = write(path, client, size * MEGABYTE)
        peak, seconds, events, report = read(path)
    return {
        "client": client,
        "MB": whole / MEGABYTE,
        "peak MB": peak / MEGABYTE,
        "grown MB": (peak - bare) / MEGABYTE,
        "seconds": seconds,
        "MB/s": whole / MEGABYTE / seconds,
        "events": events,
        "report": report,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=200, help="megabytes of each session")
    parser.add_argument("--clients", default=",".join(CLIENTS), help="which ones, with commas between")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = [measure(client, options.size) for client in options.clients.split(",")]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print("| " + " | ".join(_HEADS) + " |\n|" + "---|" * len(_HEADS))
    for row in rows:
        print(
            "| "
            + " | ".join(f"{row[head]:,.1f}" if isinstance(row[head], float) else str(row[head]) for head in _HEADS)
            + " |"
        )
    for row in rows:
        print(f"\n{row['client']}:", *(f"- {line}" for line in row["report"]), sep="\n")


if __name__ == "__main__":
    main()
