"""What does a hook cost? It runs at every prompt, so it is measured beside the bare start of Python.

    python benchmarks/hook_latency.py [--sizes 10,1000] [--rounds 30] [--json]

For each size a tree of skills is generated. Measured in turns, each in a process of its own: Python that does nothing;
`whet hook prompt` with a process at hand that answers it; the same with none, so that it does everything alone; a tool
call that concerns no skill, both ways; and routing alone, in a process that is warm. All are medians. The goal: a hook
that takes at most 1.5 times the bare start and the routing, where a process is at hand. `load` is that of the machine;
where it is high, the CPU time of a process tells more than how long it took.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Self

from trees import make_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GOAL = 1.5
"""Times the bare start of Python, beside the routing."""
_CLIENT = "claude-code"
_SCRIPT = "import sys\nfrom whet.interfaces.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
_MEASURED = ("bare", "routing", "hook", "alone", "tool", "tool alone")
_HEADS = ("skills", "bare ms", "routing ms", "hook ms", "goal ms", "goal", "hook alone ms", "tool ms", "tool alone ms")


class World:
    """A machine with so many skills, and the messages that are asked."""

    def __init__(self, top: str, size: int) -> None:
        home, self.state, self.work = (os.path.join(top, name) for name in ("home", "state", "work"))
        tree = make_tree(os.path.join(home, ".agents", "skills"), size)
        os.makedirs(self.work)
        os.makedirs(self.state)
        self.script = os.path.join(top, "whet-script")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(_SCRIPT)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WHET_"))}
        self.env = {**kept, "HOME": home, "WHET_HOME": self.state}
        self.messages = [f"help me with {name.replace('-', ' ')}" for name in tree.names[:100]]
        self._asked = 0
        self.cpu = 0.0
        """CPU seconds of the process that ran last."""

    def prompt(self) -> bytes:
        """A message in a session of its own."""
        return self._payload("UserPromptSubmit", prompt=self.message())

    def message(self) -> str:
        """The next message."""
        self._asked += 1
        return self.messages[self._asked % len(self.messages)]

    def tool(self) -> bytes:
        """A tool call that concerns no skill."""
        self._asked += 1
        return self._payload("PostToolUse", tool_name="Bash", tool_input={"command": "make"}, tool_response={})

    def _payload(self, event: str, **fields: Any) -> bytes:
        session = {"session_id": f"session-{self._asked}", "transcript_path": "", "cwd": self.work}
        return json.dumps({**session, "hook_event_name": event, **fields}).encode()

    def run(self, command: Sequence[str], payload: bytes = b"") -> tuple[float, bytes]:
        """The seconds a process takes, and what it prints."""
        began, before = time.perf_counter(), children_cpu()
        done = subprocess.run(
            [sys.executable, *command], input=payload, env=self.env, cwd=self.work, stdout=subprocess.PIPE, check=True
        )
        seconds = time.perf_counter() - began
        self.cpu = children_cpu() - before
        return seconds, done.stdout

    def hook(self, event: str, payload: bytes) -> tuple[float, bytes]:
        """The seconds a hook takes, and what it prints."""
        return self.run([self.script, "hook", event, "--client", _CLIENT], payload)


def children_cpu() -> float:
    """CPU seconds of all processes that this one started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Helper:
    """This program in another role, in a process of its own, while it is entered."""

    def __init__(self, world: World, *role: str) -> None:
        self._world, self._role = world, role

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), *self._role],
            env=self._world.env,
            cwd=self._world.work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._heard() != "ready":
            raise SystemExit("No socket can be had here, so there is nothing to measure.")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, message: str) -> float:
        """The seconds that a message takes."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{message}\n")
        self._process.stdin.flush()
        return float(self._heard())

    def _heard(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def serve(state: str) -> None:
    """Answer hooks until standard input ends."""
    from whet.api import Library
    from whet.interfaces.hooks.handler import Hooks
    from whet.interfaces.hooks.service import Service

    libraries: dict[str, Library] = {}

    def opened(directory: str) -> Library:
        if directory not in libraries:
            libraries[directory] = Library.open(project=directory)
        return libraries[directory]

    hooks = Hooks(state, opened)
    service = Service(state, hooks.answer)
    print("ready" if service.start() else "no socket", flush=True)
    sys.stdin.read()
    service.close()


def route() -> None:
    """Time, for each message on standard input, how long a warm library takes to tell which skills it is for."""
    from whet import Library

    with Library.open() as library:
        library.detect("warm up")
        print("ready", flush=True)
        for message in sys.stdin:
            began = time.perf_counter()
            library.detect(message)
            print(time.perf_counter() - began, flush=True)


def measure(size: int, rounds: int) -> dict[str, Any]:
    """Everything about one size."""
    with tempfile.TemporaryDirectory(prefix="whet-hooks-", ignore_cleanup_errors=True) as top:
        world = World(top, size)
        world.run([world.script, "find", world.messages[0]])  # makes the index
        time.sleep(2.5)  # a file touched a moment ago is not believed yet
        times: dict[str, list[float]] = {name: [] for name in _MEASURED}
        offered = 0
        cpu: dict[str, list[float]] = {"bare": [], "alone": []}
        for _ in range(rounds):
            times["bare"].append(world.run(["-c", "pass"])[0])
            cpu["bare"].append(world.cpu)
            times["alone"].append(world.hook("prompt", world.prompt())[0])
            cpu["alone"].append(world.cpu)
            times["tool alone"].append(world.hook("tool", world.tool())[0])
        with Helper(world, "--serve", world.state), Helper(world, "--route") as router:
            world.hook("prompt", world.prompt())
            for _ in range(rounds):
                times["bare"].append(world.run(["-c", "pass"])[0])
                times["routing"].append(router.ask(world.message()))
                seconds, output = world.hook("prompt", world.prompt())
                times["hook"].append(seconds)
                offered += bool(output)
                times["tool"].append(world.hook("tool", world.tool())[0])
    found = {name: round(1e3 * statistics.median(values), 2) for name, values in times.items()}
    goal = GOAL * found["bare"] + found["routing"]
    return {
        "milliseconds": found,
        "offered": offered / rounds,
        "goal": round(goal, 2),
        "met": found["hook"] <= goal,
        "times_bare": {name: round(found[name] / found["bare"], 2) for name in found if name != "bare"},
        "cpu_alone_times_bare": round(statistics.mean(cpu["alone"]) / statistics.mean(cpu["bare"]), 2),
    }


def shown(document: Mapping[str, Any]) -> str:
    """The report for a person, as Markdown."""
    lines = [f"| {' | '.join(_HEADS)} |", f"|{'---:|' * len(_HEADS)}"]
    for size, found in document["sizes"].items():
        taken = found["milliseconds"]
        cells = [f"{int(size):,}", *(f"{taken[name]:.1f}" for name in ("bare", "routing", "hook"))]
        cells += [f"{found['goal']:.1f}", "met" if found["met"] else "missed"]
        cells += [f"{taken[name]:.1f}" for name in ("alone", "tool", "tool alone")]
        lines.append(f"| {' | '.join(cells)} |")
    for size, found in document["sizes"].items():
        lines += [
            "",
            f"With {int(size):,} skills, a prompt alone took {found['cpu_alone_times_bare']} x the CPU time of Python.",
        ]
    lines += ["", f"Load of the machine before and after: {document['load'][0]:.1f} and {document['load'][1]:.1f}."]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="10,1000", help="numbers of skills, separated by commas")
    parser.add_argument("--rounds", type=int, default=30, help="how often each is measured")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--serve", metavar="DIRECTORY", help=argparse.SUPPRESS)
    parser.add_argument("--route", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(options.serve)
        return 0
    if options.route:
        route()
        return 0
    before, sizes = os.getloadavg()[0], {}
    for size in sorted({int(size) for size in options.sizes.split(",")}):
        print(f"{size:,} skills ...", file=sys.stderr, flush=True)
        sizes[str(size)] = measure(size, options.rounds)
    document = {"success": True, "python": sys.version.split()[0], "load": [before, os.getloadavg()[0]], "sizes": sizes}
    print(json.dumps(document, indent=1) if options.json else shown(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
